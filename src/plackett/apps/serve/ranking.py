"""Ranking the list of a request: scores, order and explanations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from plackett.apps.access.errors import RequestError, invalid
from plackett.apps.serve.models import ModelTable, ServedModel
from plackett.apps.serve.requests import RankRequest, parse
from plackett.apps.serve.settings import ServingSettings
from plackett.validation import count_of

MAX_EXPLAINED = 100  # documents of a request


@dataclass(frozen=True)
class Ranked:
    """The list of a request with its model, its scores and its order."""

    request: RankRequest
    model: ServedModel
    X: np.ndarray
    scores: np.ndarray
    order: np.ndarray  # rows of X by descending score
    shown: np.ndarray  # rows of X as they are returned, before request.k cuts them
    mixed: dict[str, Any] | None = None  # log attributes of an interleaved list


def rank(body: bytes, table: ModelTable, settings: ServingSettings) -> Ranked:
    """Return the ranked list of a request's body; raise a `RequestError` that says where it is wrong."""
    request = parse(RankRequest, body)
    model = table.get(request.model)
    n_docs = len(request.documents)
    if n_docs > settings.max_docs:
        hint = f"A request has at most {settings.max_docs:,} documents; send several requests."
        raise RequestError(413, "too-large", f"the request has more than {settings.max_docs:,} documents.", hint)
    X = model.schema.rows(request.documents)
    _check_ids(request.ids, n_docs)
    n_returned = n_docs if request.k is None else min(request.k, n_docs)
    if request.explain and n_returned > MAX_EXPLAINED:
        raise invalid(f"explain takes at most {MAX_EXPLAINED} documents; this would explain {n_returned:,}. Set k.")
    scores, order = score(model, X)
    return Ranked(request, model, X, scores, order, order)


def _check_ids(ids: list[str] | None, n_docs: int) -> None:
    if ids is None:
        return
    if len(ids) != n_docs:
        found = count_of(len(ids), "id")
        raise invalid(f"ids must be an array with an id for each of {n_docs:,} documents; found {found}.")
    if len(set(ids)) < n_docs:
        seen: set[str] = set()
        twice = next(one for one in ids if one in seen or seen.add(one))  # type: ignore[func-returns-value]
        raise invalid(f"two documents have the id {twice!r}.")


def score(model: ServedModel, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of a list, and its rows by descending score."""
    try:
        scores = model.scorer.score(X)
    except ValueError as error:
        raise invalid(str(error)) from error
    return scores, np.argsort(-scores, kind="stable")


def rank_by(model: ServedModel, ranked: Ranked) -> np.ndarray:
    """Return the order of the same list by another model; raise a `RequestError` if it does not take the documents."""
    is_same = model.schema.is_same(ranked.model.schema) and not np.isnan(ranked.X).any()
    return score(model, ranked.X if is_same else model.schema.rows(ranked.request.documents))[1]


def answer(ranked: Ranked, request_id: str) -> dict[str, Any]:
    """Return the response to a request as plain values."""
    request, model = ranked.request, ranked.model
    rows = ranked.shown[: request.k].tolist()
    ranking = [{"index": row, "score": score} for row, score in zip(rows, ranked.scores[rows].tolist(), strict=True)]
    if request.ids is not None:
        ranking = [{"index": one["index"], "id": request.ids[one["index"]], "score": one["score"]} for one in ranking]
    if request.explain and rows:
        for one, parts in zip(ranking, _contributions(ranked, rows, request.explain), strict=True):
            one["contributions"] = parts
    response = {"model": model.spec.name, "version": model.version, "request_id": request_id, "ranking": ranking}
    if ranked.mixed is not None:
        response["interleaved"] = [ranker["model"] for ranker in ranked.mixed["rankers"]]
    return response


def _contributions(ranked: Ranked, rows: list[int], n: int) -> list[list[dict[str, Any]]]:
    """Return the largest contributions to the score of each document, relative to the mean of the list."""
    try:
        explained = ranked.model.ranker.explain(ranked.X, qid=np.zeros(len(ranked.X), dtype=np.int64), rows=rows)
    except (AttributeError, NotImplementedError) as error:
        raise invalid(f"{ranked.model.scorer.ranker} has no explanations.", "Leave explain out.") from error
    except ImportError as error:  # scores need no package of the trees, but contributions do
        raise RequestError(409, "off", f"this server cannot explain scores. {error}", "Leave explain out.") from error
    except ValueError as error:
        raise invalid(f"the scores cannot be explained: {error}") from error
    return [[part._asdict() for part in explained.top(row, n)] for row in rows]
