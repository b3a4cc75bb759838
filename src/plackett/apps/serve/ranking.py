"""Ranking the lists of a request: checks, scores, orders and explanations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pydantic_core import from_json

from plackett.apps.access.errors import RequestError
from plackett.apps.serve.models import ModelTable, ServedModel
from plackett.apps.serve.settings import ServingSettings
from plackett.validation import count_of

MAX_ID = 512  # characters of a document's id, a query or a user
MAX_EXPLAINED = 100  # documents of a request
TOP = 5  # contributions of a document
FIELDS = frozenset(("model", "version", "documents", "ids", "lists", "k", "explain", "query", "user"))
LIST_FIELDS = frozenset(("documents", "ids", "query"))


@dataclass(frozen=True)
class AskedList:
    """A list of a request: its rows, the ids of its documents and its query, if given."""

    documents: list[Any]
    X: np.ndarray
    ids: list[str] | None
    query: str | None


@dataclass(frozen=True)
class Ranked:
    """The lists of a request with their model, scores and orders, best first.

    Attributes
    ----------
    model : ServedModel
    lists : list of AskedList
    scores, orders : list of ndarray
    is_single : bool
        Whether the request had one list, without ``lists``.
    k : int or None
        Documents returned of each list.
    n_explained : int
        Contributions returned of each document.
    user : str or None
    names_version : bool
        Whether the request named a version of the model.
    mixed : dict
        Log attributes of interleaved lists, by the number of the list.
    mixed_orders : dict
        The orders that these lists are returned in.
    """

    model: ServedModel
    lists: list[AskedList]
    scores: list[np.ndarray]
    orders: list[np.ndarray]
    is_single: bool
    k: int | None
    n_explained: int
    user: str | None
    names_version: bool = False
    mixed: dict[int, dict[str, Any]] = field(default_factory=dict)
    mixed_orders: dict[int, np.ndarray] = field(default_factory=dict)

    @property
    def shown(self) -> list[np.ndarray]:
        """The orders in which the lists are returned."""
        return [self.mixed_orders.get(number, order) for number, order in enumerate(self.orders)]

    @property
    def n_docs(self) -> int:
        return sum(one.X.shape[0] for one in self.lists)


def rank(body: bytes, table: ModelTable, settings: ServingSettings) -> Ranked:
    """Return the ranked lists of a request's body; raise a `RequestError` that says where it is wrong."""
    request = _parsed(body)
    name, version = _text(request, "model"), _text(request, "version")
    model = table.get(name, version)
    is_single = "lists" not in request
    asked = [request] if is_single else request["lists"]
    if not is_single and ("documents" in request or "ids" in request or "query" in request):
        raise _invalid("a request has either documents, or lists with their own documents, ids and query.")
    if type(asked) is not list or len(asked) > settings.max_lists:
        raise _invalid(f"lists must be an array of at most {settings.max_lists:,} lists.")
    lists, n_docs = [], 0
    for number, one in enumerate(asked):
        where = "" if is_single else f"list {number}, "
        documents = _documents(one, where, is_single)
        n_docs += len(documents)
        if n_docs > settings.max_docs:
            hint = f"A request has at most {settings.max_docs:,} documents; send several requests."
            raise RequestError(413, "too-large", f"the request has more than {settings.max_docs:,} documents.", hint)
        X = model.schema.rows(documents, where)
        lists.append(AskedList(documents, X, _ids(one, len(documents), where), _text(one, "query", where)))
    k, n_explained = _count(request, "k"), _n_explained(request)
    n_returned = sum(len(one.documents) if k is None else min(k, len(one.documents)) for one in lists)
    if n_explained and n_returned > MAX_EXPLAINED:
        raise _invalid(f"explain takes at most {MAX_EXPLAINED} documents; this would explain {n_returned:,}. Set k.")
    scores = score_lists(model, [one.X for one in lists])
    orders = [np.argsort(-one, kind="stable") for one in scores]
    names_version = version is not None or (name is not None and "@" in name)
    return Ranked(model, lists, scores, orders, is_single, k, n_explained, _text(request, "user"), names_version)


def score_lists(model: ServedModel, rows: list[np.ndarray]) -> list[np.ndarray]:
    """Return the scores of each list."""
    indptr = np.cumsum([0, *(X.shape[0] for X in rows)])
    if not indptr[-1]:
        return [np.empty(0) for _ in rows]
    try:
        scores = model.scorer.score(rows[0] if len(rows) == 1 else np.concatenate(rows), indptr)
    except ValueError as error:
        raise _invalid(str(error)) from error
    return [scores[first:last] for first, last in zip(indptr[:-1].tolist(), indptr[1:].tolist(), strict=True)]


def rows_for(model: ServedModel, ranked: Ranked, number: int) -> np.ndarray:
    """Return the rows of a list as another model takes them; raise a `RequestError` if it does not."""
    one, same = ranked.lists[number], model.schema.is_same(ranked.model.schema)
    return one.X if same and not np.isnan(one.X).any() else model.schema.rows(one.documents, f"list {number}, ")


def answer(ranked: Ranked, request_id: str, query_ids: list[str | None] | None = None) -> dict[str, Any]:
    """Return the response to a request as plain values."""
    lists = []
    for number, (one, scores, order) in enumerate(zip(ranked.lists, ranked.scores, ranked.shown, strict=True)):
        places = order[: ranked.k].tolist()
        shown = scores[order[: ranked.k]].tolist()
        results: list[dict[str, Any]]
        if one.ids is None:
            results = [{"index": place, "score": score} for place, score in zip(places, shown, strict=True)]
        else:
            results = [
                {"index": place, "id": one.ids[place], "score": score}
                for place, score in zip(places, shown, strict=True)
            ]
        if ranked.n_explained and places:
            for result, parts in zip(results, _contributions(ranked, one.X, places), strict=True):
                result["contributions"] = parts
        part: dict[str, Any] = {"ranking": results}
        if query_ids is not None:
            part["query_id"] = query_ids[number]
        if number in ranked.mixed:
            part["interleaved"] = [ranker["model"] for ranker in ranked.mixed[number]["rankers"]]
        lists.append(part)
    about = {"model": ranked.model.spec.name, "version": ranked.model.version, "request_id": request_id}
    return {**about, **lists[0]} if ranked.is_single else {**about, "lists": lists}


def _contributions(ranked: Ranked, X: np.ndarray, places: list[int]) -> list[list[dict[str, Any]]]:
    """Return the largest contributions to the score of each document, relative to the mean of its list."""
    try:
        explained = ranked.model.ranker.explain(X, qid=np.zeros(X.shape[0], dtype=np.int64), rows=places)
    except (AttributeError, NotImplementedError) as error:
        message = f"{ranked.model.scorer.ranker} has no explanations."
        raise RequestError(422, "invalid", message, "Leave explain out.") from error
    except ImportError as error:  # scores need no package of the trees, but contributions do
        raise RequestError(409, "off", f"this server cannot explain scores. {error}", "Leave explain out.") from error
    except ValueError as error:
        raise _invalid(f"the scores cannot be explained: {error}") from error
    return [[part._asdict() for part in explained.top(place, ranked.n_explained)] for place in places]


# the fields of a request


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        request = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        hint = "Numbers are finite; a missing value is null."
        raise RequestError(400, "invalid", f"the body is not JSON: {str(error)[:200]}.", hint) from None
    if type(request) is not dict:
        raise _invalid("the body must be an object with documents or lists.")
    _check_fields(request, FIELDS, "")
    return request


def _check_fields(node: dict[str, Any], known: frozenset[str], where: str) -> None:
    unknown = node.keys() - known
    if unknown:
        hint = f"The fields are {', '.join(sorted(known))}."
        raise _invalid(f"{where}unknown field {min(unknown)[:100]!r}.", hint)


def _documents(node: Any, where: str, is_single: bool) -> list[Any]:
    if type(node) is not dict:
        raise _invalid(f"{where}a list must be an object with documents.")
    if not is_single:
        _check_fields(node, LIST_FIELDS, where)
    documents = node.get("documents")
    if type(documents) is not list:
        raise _invalid(f"{where}documents must be an array of documents.")
    return documents


def _ids(node: dict[str, Any], n_docs: int, where: str) -> list[str] | None:
    ids = node.get("ids")
    if ids is None:
        return None
    if type(ids) is not list or len(ids) != n_docs:
        found = count_of(len(ids), "id") if type(ids) is list else "another value"
        raise _invalid(f"{where}ids must be an array with an id for each of {n_docs:,} documents; found {found}.")
    for place, one in enumerate(ids):
        if not is_text(one) or not one:
            what = f"a string of 1 to {MAX_ID} characters without null characters"
            raise _invalid(f"{where}the id of document {place} must be {what}.")
    if len(set(ids)) < n_docs:
        seen: set[str] = set()
        twice = next(one for one in ids if one in seen or seen.add(one))  # type: ignore[func-returns-value]
        raise _invalid(f"{where}two documents have the id {twice!r}.")
    return ids


def _text(node: dict[str, Any], name: str, where: str = "") -> str | None:
    value = node.get(name)
    if value is not None and not is_text(value):
        raise _invalid(f"{where}{name} must be a string of at most {MAX_ID} characters without null characters.")
    return value


def is_text(value: Any) -> bool:
    """Return whether a value is a string that every log accepts: PostgreSQL refuses null characters."""
    return type(value) is str and len(value) <= MAX_ID and "\0" not in value


def _count(node: dict[str, Any], name: str) -> int | None:
    value = node.get(name)
    if value is not None and (type(value) is not int or value < 1):
        raise _invalid(f"{name} must be a whole number of at least 1.")
    return value


def _n_explained(node: dict[str, Any]) -> int:
    value = node.get("explain")
    if value is None or type(value) is bool:
        return TOP if value else 0
    if type(value) is not int or not 0 <= value <= 1000:
        raise _invalid("explain must be true, false, or a number of contributions up to 1,000.")
    return value


def _invalid(message: str, hint: str | None = None) -> RequestError:
    return RequestError(422, "invalid", message, hint)
