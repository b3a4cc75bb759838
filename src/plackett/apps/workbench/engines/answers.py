"""Requests in the formats of the engines, and parsing of the hits in their responses."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np

from plackett.apps.workbench.engines.client import EngineClient, EngineError
from plackett.apps.workbench.engines.settings import EngineSettings
from plackett.apps.workbench.values import MAX_DOCID, MAX_VALUE
from plackett.data.documents.read import as_text

LIST_SECONDS = 60.0  # seconds that a list is cached: an engine may change at any time
MAX_TEXT = 200_000  # characters of a field
TITLES = ("title", "name", "headline")


class EngineHit(NamedTuple):
    """A document as an engine returned it; ``score`` is None if it has none."""

    docid: str
    score: float | None
    title: str
    fields: dict[str, str]
    features: dict[str, float]


class Engine:
    """Searches of one engine. Thread-safe."""

    def __init__(self, settings: EngineSettings):
        self.settings, self.name = settings, settings.name
        self._client = EngineClient(settings)

    def search(self, query: str) -> list[EngineHit]:
        """Return the hits of a query in the engine's order; duplicates of an id are dropped."""
        settings = self.settings
        request = _filled(settings.request or _usual_request(settings), query, settings.size)
        if settings.kind == "solr":
            answer = self._ask_solr({"rows": settings.size, "fl": "*,score", **request})
        elif settings.kind == "json":
            url = _filled_address(settings.url, query=query, size=str(settings.size))
            answer = self._client.ask(url, **({"json": request} if request else {}))
        else:
            answer = self._client.ask(f"{settings.url}/_search", json={"size": settings.size, **request})
        return self._hits(value_at(answer, settings.hits))[: settings.size]

    def document(self, docid: str) -> EngineHit | None:
        """Return a document by its id; None if the engine has none, or no address for single documents."""
        settings = self.settings
        if settings.kind == "json":
            rows = [self._client.ask(_filled_address(settings.document, id=docid))] if settings.document else []
        elif settings.kind == "solr":
            found = {"q": f"{{!term f={settings.id} v=$docid}}", "docid": docid, "rows": 1, "fl": "*"}
            rows = value_at(self._ask_solr(found), settings.hits)
        else:
            body = {"size": 1, "query": {"ids": {"values": [docid]}}}
            rows = value_at(self._client.ask(f"{settings.url}/_search", json=body), settings.hits)
        return next((hit for hit in self._hits(rows) if hit.docid == docid), None)

    def _ask_solr(self, parameters: dict[str, Any]) -> Any:
        return self._client.ask(f"{self.settings.url}/select", data={**parameters, "wt": "json"})

    def _hits(self, rows: Any) -> list[EngineHit]:
        settings = self.settings
        if not isinstance(rows, list):
            raise EngineError(
                f"the response of {self.name} has no list at {settings.hits!r}.",
                "Check its kind and its address." if settings.kind != "json" else "Check the setting hits.",
            )
        hits: dict[str, EngineHit] = {}
        for row in rows:
            if isinstance(row, dict) and (hit := self._hit(row)) is not None:
                hits.setdefault(hit.docid, hit)
        if rows and not hits:
            raise EngineError(f"no hit of {self.name} has an id at {settings.id!r}.", "Check the setting id.")
        return list(hits.values())

    def _hit(self, row: dict[str, Any]) -> EngineHit | None:
        settings = self.settings
        docid = value_at(row, settings.id)
        if isinstance(docid, bool) or not isinstance(docid, (str, int)) or not 0 < len(str(docid)) <= MAX_DOCID:
            return None
        is_elastic = settings.kind not in ("solr", "json")
        source = row.get("_source", {}) if is_elastic else row
        source = source if isinstance(source, dict) else {}
        logged = {**_ltr_log(row), **_solr_features(row)}
        features = {}
        for name in settings.logged:
            value = logged.get(name, _number(value_at(source, name)))
            if value is not None:
                features[name] = value
        texts = self._texts(source)
        title = texts.pop(settings.title or next((name for name in TITLES if name in texts), ""), "")
        score = _number(value_at(row, "_score" if is_elastic else settings.score))
        return EngineHit(as_text(str(docid)).replace("\0", "�"), score, title, texts, features)

    def _texts(self, source: dict[str, Any]) -> dict[str, str]:
        settings = self.settings
        if settings.fields:
            names = dict.fromkeys((*((settings.title,) if settings.title else ()), *settings.fields))
        else:
            hidden = {settings.id, settings.score, "[features]", "_version_"}
            names = dict.fromkeys(name for name in source if name not in hidden)
        found = {name: _text(value_at(source, name)) for name in names}
        return {name: text for name, text in found.items() if text}


def scores_of(hits: list[EngineHit]) -> np.ndarray:
    """Return the engine's scores, or the places counted from the end if the scores do not descend."""
    scores = [hit.score for hit in hits]
    given = [score for score in scores if score is not None]
    is_ordered = len(given) == len(scores) and all(one >= two for one, two in pairwise(given))
    return np.array(given if is_ordered else range(len(hits), 0, -1), dtype=np.float64)


def value_at(content: Any, path: str) -> Any:
    """Return the value at a path such as "brand.name" or "images.0.url"; None if there is none.

    A key that contains dots is found as well.

    Examples
    --------
    >>> value_at({"a": [{"b": 3}], "c.d": 4}, "a.0.b"), value_at({"c.d": 4}, "c.d")
    (3, 4)
    """
    if not path or (isinstance(content, dict) and path in content):
        return content[path] if path else content
    for step in path.split("."):
        if isinstance(content, dict):
            content = content.get(step)
        elif isinstance(content, list) and step.isdecimal() and int(step) < len(content):
            content = content[int(step)]
        else:
            return None
    return content


def _usual_request(settings: EngineSettings) -> dict[str, Any]:
    """Return a search of all fields, or of those of the settings."""
    names = [f"{settings.title}^2"] * bool(settings.title) + [one for one in settings.fields if one != settings.title]
    if settings.kind == "solr":
        return {"q": "{query}", **({"defType": "edismax", "qf": " ".join(names)} if names else {})}
    if settings.kind == "json":  # the query is in the address
        return {}
    match = {"query": "{query}", "lenient": True}
    return {"query": {"multi_match": {**match, "fields": names} if names else match}}


def _filled(content: Any, query: str, size: int) -> Any:
    """Return a body with the query in its strings: values of parsed JSON, so that a query cannot add to the request."""
    if isinstance(content, dict):
        return {name: _filled(value, query, size) for name, value in content.items()}
    if isinstance(content, list):
        return [_filled(value, query, size) for value in content]
    if content == "{size}":
        return size
    if isinstance(content, (int, float)):
        return content
    return str(content).replace("{query}", query)  # TOML has dates


def _filled_address(url: str, **values: str) -> str:
    for name, value in values.items():
        url = url.replace(f"{{{name}}}", quote(value, safe="", errors="replace"))
    return url


def _number(value: Any) -> float | None:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return float(value) if isinstance(value, bool) else None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) and abs(number) <= MAX_VALUE else None


def _text(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(filter(None, map(_text, value[:1000])))[:MAX_TEXT]
    if isinstance(value, dict):
        return " ".join(filter(None, map(_text, value.values())))[:MAX_TEXT]
    return "" if value is None else as_text(str(value)[:MAX_TEXT])


def _ltr_log(row: dict[str, Any]) -> dict[str, float]:
    """Return the features that the LTR plugin logged: an entry without a value did not match, which counts as 0."""
    log = value_at(row, "fields._ltrlog.0")
    found: dict[str, float] = {}
    for entries in log.values() if isinstance(log, dict) else ():
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, dict) and isinstance(entry.get("name"), str):
                found[entry["name"]] = _number(entry.get("value", 0.0)) or 0.0
    return found


def _solr_features(row: dict[str, Any]) -> dict[str, float]:
    """Return the features of Solr's transformer, such as "isBook=1.0,originalScore=2.5"."""
    text = row.get("[features]")
    pairs = [one.partition("=") for one in text.split(",")] if isinstance(text, str) else []
    found = {}
    for name, _, value in pairs:
        try:
            found[name] = _number(float(value)) or 0.0
        except ValueError:
            continue
    return found
