"""Fusions as requests of search engines, checked by the formulas of the engines."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from plackett.data.trec.pool import PooledRuns
from plackett.evaluation.fusion.learned import parts_of
from plackett.exceptions import DataWarning, warn
from plackett.validation import check_choice, check_positive_int, count_of

if TYPE_CHECKING:
    from plackett.evaluation.fusion.fuse import Fusion

ENGINES = {"elasticsearch": "Elasticsearch", "opensearch": "OpenSearch", "json": "JSON"}
TOP = 10  # documents whose order is checked
LOWEST = np.float32(0.001)  # OpenSearch's min-max score of the last document


def engine_form(fusion: Fusion, engine: str, window: int | None = None) -> str:
    """Return the JSON of a request; see ``Fusion.export``."""
    check_choice(engine, "engine", list(ENGINES))
    if fusion.ranker is not None:
        raise ValueError(
            f"the weights of a {type(fusion.ranker).__name__} depend on the query, but {ENGINES[engine]} takes one "
            'weight for each run. Export the ranker itself, pk.export(fused.ranker, "fusion.json"), or fuse without '
            "method=."
        )
    assert fusion.run_weights is not None
    window = check_positive_int(window or fusion.settings["window"] or int(fusion.pool.lengths.max()), "window")
    weights = {name: round(float(weight), 9) for name, weight in fusion.weights.items()}
    if engine == "json":
        keys = ("k", "normalize", "absent")
        form = {"method": fusion.method, "weights": weights, **{key: fusion.settings[key] for key in keys}}
        return json.dumps({**form, "window": window, "baseline": fusion.baseline}, indent=2)
    family = _family(fusion, ENGINES[engine])
    total = sum(weights.values())
    shares = {name: round(weight / total, 9) for name, weight in weights.items() if weight}
    _check(fusion, engine, family, window, shares)
    constant = int(fusion.settings["k"])
    if engine == "elasticsearch":
        return json.dumps(_elasticsearch(family, shares, constant, window), indent=2)
    return json.dumps(_opensearch(family, shares, constant, window), indent=2)


def _family(fusion: Fusion, engine: str) -> str:
    """Return the family that an engine has; raise for rules that it lacks."""
    settings = fusion.settings
    normalize = settings["normalize"] or "min-max"
    family = "min-max" if fusion.method == "combsum" and normalize == "min-max" else fusion.method
    if family not in ("min-max", "rrf") or settings["absent"] != "zero":
        raise ValueError(
            f"{engine} fuses by weighted sums of min-max scores and by rrf, with nothing for documents that a run "
            f"lacks; this is {fusion.method} with normalize={settings['normalize']!r}, absent={settings['absent']!r}. "
            'Choose method="combsum" or "rrf", or export("json").'
        )
    if family == "rrf" and settings["k"] != int(settings["k"]):
        raise ValueError(f"{engine} takes a whole number as rank constant, not k={settings['k']}.")
    return family


def _elasticsearch(family: str, weights: dict[str, float], constant: int, window: int) -> dict[str, Any]:
    parts: list[dict[str, Any]] = [
        {"retriever": {"standard": {"query": f"QUERY OF {name}"}}, "weight": weight} for name, weight in weights.items()
    ]
    if family == "rrf":
        form = {"retrievers": parts, "rank_constant": constant, "rank_window_size": window}
        return {"retriever": {"rrf": form}}
    parts = [{**part, "normalizer": "minmax"} for part in parts]
    return {"retriever": {"linear": {"retrievers": parts, "rank_window_size": window}}}


def _opensearch(family: str, weights: dict[str, float], constant: int, window: int) -> dict[str, Any]:
    parameters = {"weights": list(weights.values())}
    if family == "rrf":
        combination = {"technique": "rrf", "rank_constant": constant, "parameters": parameters}
        processor: dict[str, Any] = {"score-ranker-processor": {"combination": combination}}
    else:
        combination = {"technique": "arithmetic_mean", "parameters": parameters}
        processor = {"normalization-processor": {"normalization": {"technique": "min_max"}, "combination": combination}}
    queries = [f"QUERY OF {name}" for name in weights]
    return {
        "search_pipeline": {"phase_results_processors": [processor]},
        "search": {"query": {"hybrid": {"queries": queries, "pagination_depth": window}}},
    }


def _check(fusion: Fusion, engine: str, family: str, window: int, weights: dict[str, float]) -> None:
    """Warn of queries whose first documents an engine's formula orders otherwise."""
    pool = fusion.pool
    formula: Callable[..., np.ndarray] = _SCORES[engine, family]
    shares = np.array([weights.get(name, 0.0) for name in pool.names])
    theirs = formula(pool, shares, int(fusion.settings["k"]), window)
    run = fusion.run
    of_row = {(int(q), d): row for row, (q, d) in enumerate(zip(pool.query.tolist(), pool.docid.tolist(), strict=True))}
    place = {qid: number for number, qid in enumerate(pool.ids.tolist())}
    n_other = 0
    for query, (first, last) in zip(run.groups.ids.tolist(), pairwise(run.groups.indptr.tolist()), strict=True):
        rows = np.array([of_row[place[query], doc] for doc in run.docid[first : min(last, first + TOP)].tolist()])
        own = theirs[rows]
        rest = theirs[np.setdiff1d(np.arange(pool.indptr[place[query]], pool.indptr[place[query] + 1]), rows)]
        slack = 1e-6 * float(theirs.max(initial=1.0))  # engines compute in single precision
        n_other += bool((own[1:] > own[:-1] + slack).any() or (rest.size and rest.max() > own.min() + slack))
    if n_other:
        why = (
            " It gives the last document of a list 0.001, not 0."
            if (engine, family) == ("opensearch", "min-max")
            else ""
        )
        warn(
            f"{ENGINES[engine]} orders the first {TOP} documents of {count_of(n_other, 'query', 'queries')} of "
            f"{pool.ids.size:,} otherwise, with the first {window:,} documents of each run.{why}",
            DataWarning,
        )


def _linear(pool: PooledRuns, weights: np.ndarray, _: int, window: int) -> np.ndarray:
    parts = np.nan_to_num(parts_of(pool, "min-max", window)).astype(np.float32)
    return (weights.astype(np.float32)[:, None] * parts).sum(axis=0)


def _arithmetic_mean(pool: PooledRuns, weights: np.ndarray, _: int, window: int) -> np.ndarray:
    parts = parts_of(pool, "min-max", window).astype(np.float32)
    parts = np.where(np.isnan(parts), np.float32(0), np.maximum(parts, LOWEST))
    return (weights.astype(np.float32)[:, None] * parts).sum(axis=0) / np.float32(weights.sum())


def _rrf(pool: PooledRuns, weights: np.ndarray, constant: int, window: int) -> np.ndarray:
    is_counted = (pool.ranks > 0) & (pool.ranks <= window)
    return (weights[:, None] * is_counted / (constant + pool.ranks)).astype(np.float32).sum(axis=0)


_SCORES = {
    ("elasticsearch", "min-max"): _linear,
    ("opensearch", "min-max"): _arithmetic_mean,
    ("elasticsearch", "rrf"): _rrf,
    ("opensearch", "rrf"): _rrf,
}
