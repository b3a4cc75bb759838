"""Settings of a live engine: a TOML file, or the address of an index.

Secrets come from environment variables, as in ``Authorization = "ApiKey ${ES_API_KEY}"``. They never reach ``repr``,
messages, pages or logs.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from os import PathLike
from typing import Any
from urllib.parse import SplitResult, urlsplit

from plackett.apps.workbench.values import MAX_BASE, MAX_K

KINDS = ("elasticsearch", "opensearch", "solr", "json")
AUTHORIZATION = "PLACKETT_ENGINE_AUTHORIZATION"  # variable with the credentials of engines without a file
MAX_FEATURES, MAX_FIELDS, MAX_EXAMPLES = 500, 50, 50
MAX_TIMEOUT = 15.0  # seconds, below the time that a request to the workbench may take
SCORE, TEXT = "score", "text"  # features that every engine has
_VARIABLE = re.compile(r"\$\{(\w+)\}")
_HEADER = re.compile(r"[A-Za-z0-9-]+")


@dataclass(frozen=True)
class EngineSettings:
    """Settings for querying an engine and for finding the values in its responses.

    Attributes
    ----------
    name : str
        The name of the base ranker.
    kind : {"elasticsearch", "opensearch", "solr", "json"}
    url : str
        The address of an index or core. For "json" the address of the search, with ``{query}`` and ``{size}`` in its
        query string or in ``request``.
    title : str
        The field with the title; empty means the first of title, name and headline.
    fields : tuple of str
        The fields of a document, as paths such as "brand.name"; empty means all fields with text or numbers.
    id, score, hits : str
        For "json", paths of the id and the score within a hit, and of the hits within the answer. An empty ``score``
        means the order of the hits. For "solr", ``id`` is the unique key.
    request : dict
        The body of a request (Elasticsearch, OpenSearch, JSON) or its parameters (Solr). Strings may have ``{query}``
        and ``{size}``; empty means all fields.
    document : str
        For "json" the address of one document, with ``{id}`` in its query string.
    headers : dict
        Headers of every request.
    features : tuple of str
        "score", "text", and names of logged features or numeric fields.
    examples : tuple of str
        Queries to suggest.
    size : int
        Number of documents to request.
    timeout : float
        Seconds to wait for a response.
    """

    name: str
    kind: str
    url: str
    title: str = ""
    fields: tuple[str, ...] = ()
    id: str = "id"
    score: str = "score"
    hits: str = ""
    request: dict[str, Any] = field(default_factory=dict)
    document: str = ""
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    features: tuple[str, ...] = (SCORE, TEXT)
    examples: tuple[str, ...] = ()
    size: int = 100
    timeout: float = 5.0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind is {self.kind!r}; an engine is one of {', '.join(KINDS)}.")
        if not self.name or len(self.name) > MAX_BASE or not self.name.isprintable():
            raise ValueError(f"name must be a line of 1 to {MAX_BASE} characters.")
        address = check_address(self.url, "url")
        if self.document and (other := check_address(self.document, "document"))[:2] != address[:2]:
            raise ValueError(f"document is on {other.netloc} and url on {address.netloc}; both must be on one host.")
        for number, name, low, high in ((self.size, "size", 1, MAX_K), (self.timeout, "timeout", 0.1, MAX_TIMEOUT)):
            if isinstance(number, bool) or not isinstance(number, (int, float)) or not low <= number <= high:
                raise ValueError(f"{name} is {number!r}; give a number from {low:g} to {high:g}.")
        for name, most in (("fields", MAX_FIELDS), ("features", MAX_FEATURES), ("examples", MAX_EXAMPLES)):
            values = getattr(self, name)
            if len(values) > most or len(set(values)) < len(values):
                raise ValueError(f"{name} must be up to {most} different strings.")
        if not self.features:
            raise ValueError('features is empty; give "score", "text", or names of features.')
        if self.kind == "json" and "{query}" not in self.url + str(self.request):
            raise ValueError("neither url nor request has {query}, so every search would be the same.")
        if self.kind == "json" and not self.hits:
            raise ValueError('hits is missing: the path of the hits in an answer, such as "data.items".')
        for name, value in self.headers.items():
            if not _HEADER.fullmatch(name) or not value.isprintable() or not value.isascii():
                raise ValueError(f"the header {name[:60]!r} cannot be sent: it must be one line of ASCII text.")

    @property
    def address(self) -> SplitResult:
        """The parts of ``url``."""
        return urlsplit(self.url)

    @property
    def place(self) -> str:
        """The host, for messages."""
        return self.address.netloc


def check_address(url: str, name: str) -> SplitResult:
    """Return the parts of an address; placeholders and credentials are refused where they are unsafe."""
    if not isinstance(url, str) or not url.isprintable() or " " in url:
        raise ValueError(f"{name} must be an address such as http://127.0.0.1:9200/products.")
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        raise ValueError(f"{name} must begin with http:// or https:// and a host.")
    if "@" in parts.netloc:  # a command line is visible to other users, and addresses are shown in messages
        raise ValueError(f"{name} contains a user name or password. Send it as a header from an environment variable.")
    if "{" in parts.netloc + parts.path or parts.fragment:
        raise ValueError(f"{name} may have {{query}}, {{size}} and {{id}} in its query string only.")
    return parts


def read_engine(path: str | PathLike[str], environment: Mapping[str, str] | None = None) -> EngineSettings:
    """Return the settings in a TOML file; ``environment`` has the values of ``${NAME}`` in headers."""
    try:
        with open(path, "rb") as file:
            values = tomllib.load(file)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path} is not a TOML file: {error}") from None
    known = {one.name: one for one in fields(EngineSettings)}
    for name in values:
        if name not in known:
            raise ValueError(f"{path}: unknown setting {name!r}; the settings are {', '.join(known)}.")
    try:
        _check_types(values)
        values["headers"] = _headers(values.get("headers", {}), os.environ if environment is None else environment)
        for name in ("fields", "features", "examples"):
            if name in values:
                values[name] = tuple(values[name])
        values.setdefault("name", values.get("kind", ""))
        missing = [name for name in ("kind", "url") if name not in values]
        if missing:
            raise ValueError(f"{missing[0]} is missing.")
        return EngineSettings(**values)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def engine_at(kind: str, url: str, environment: Mapping[str, str] | None = None) -> EngineSettings:
    """Return the settings of an index by its address; an environment variable may have its credentials."""
    environment = os.environ if environment is None else environment
    authorization = environment.get(AUTHORIZATION)
    headers = {} if authorization is None else {"Authorization": authorization}
    return EngineSettings(name=kind, kind=kind, url=url.rstrip("/"), headers=headers)


def _check_types(values: dict[str, Any]) -> None:
    for name, value in values.items():
        if name in ("fields", "features", "examples"):
            if not isinstance(value, list) or not all(isinstance(one, str) and one for one in value):
                raise ValueError(f"{name} must be a list of strings.")
        elif name in ("headers", "request"):
            if not isinstance(value, dict):
                raise ValueError(f"{name} must be a table.")
        elif name not in ("size", "timeout") and not isinstance(value, str):
            raise ValueError(f"{name} must be a string.")


def _headers(headers: dict[str, Any], environment: Mapping[str, str]) -> dict[str, str]:
    """Return headers with the values of the variables in them."""
    found = {}
    for name, value in headers.items():
        if not isinstance(value, str):
            raise ValueError(f"the header {name[:60]!r} must be a string.")
        for variable in _VARIABLE.findall(value):
            if variable not in environment:
                raise ValueError(f"the environment variable {variable} is not set; the header {name[:60]!r} needs it.")
        found[name] = _VARIABLE.sub(lambda match: environment[match[1]], value)
    return found
