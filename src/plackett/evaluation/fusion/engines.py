"""Fusions as requests of search engines, checked by the formulas of the engines."""

from __future__ import annotations

import json
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
MOST_QUERIES = 5  # of a hybrid query
FLOORED = ("opensearch", "min-max")
LOWEST = np.float32(0.001)  # its score of the last document


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
    own = fusion.settings["window"] or int(fusion.pool.lengths.max())
    window = own if window is None else check_positive_int(window, "window")
    if fusion.settings["window"] is not None and window > own:
        raise ValueError(f"window={window}, but the runs were fused with window={own}. Fuse them with the larger one.")
    weights = {name: round(float(weight), 9) for name, weight in fusion.weights.items()}
    if engine == "json":
        settings = {**fusion.settings, "window": window}
        whole = {"method": fusion.method, "weights": weights, **settings, "baseline": fusion.baseline}
        return json.dumps(whole, indent=2)
    family = _family(fusion, ENGINES[engine])
    parts = zip(fusion.pool.names, fusion.run_weights / fusion.run_weights.sum(), strict=True)
    shares = {name: round(float(weight), 9) for name, weight in parts if weight}
    if engine == "opensearch" and len(shares) > MOST_QUERIES:
        raise ValueError(
            f"an OpenSearch hybrid query takes at most {MOST_QUERIES} queries, but {len(shares)} runs have weights. "
            "Fuse fewer runs."
        )
    if len(shares) == 1:
        raise ValueError(f"all of the weight is on {next(iter(shares))}: send its query alone.")
    _check(fusion, engine, family, window, shares)
    form = _elasticsearch if engine == "elasticsearch" else _opensearch
    return json.dumps(form(family, shares, int(fusion.settings["k"]), window), indent=2)


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
    if family == "rrf" and (settings["k"] != int(settings["k"]) or settings["k"] < 1):
        raise ValueError(f"{engine} takes a whole number of at least 1 as rank constant, not k={settings['k']}.")
    return family


def _elasticsearch(family: str, weights: dict[str, float], constant: int, window: int) -> dict[str, Any]:
    scaled = {} if family == "rrf" else {"normalizer": "minmax"}
    parts = [
        {"retriever": {"standard": {"query": f"QUERY OF {name}"}}, "weight": weight, **scaled}
        for name, weight in weights.items()
    ]
    own = {"rank_constant": constant} if family == "rrf" else {}
    form = {"retrievers": parts, **own, "rank_window_size": window}
    return {"retriever": {"rrf" if family == "rrf" else "linear": form}}


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
    pool = fusion.pool.first(window)
    shares = np.array([weights.get(name, 0.0) for name in pool.names])
    theirs = engine_scores(pool, engine, family, shares, int(fusion.settings["k"]))
    rows, ranks = fusion.pool.best_first(fusion.scores)
    query, theirs, is_top = pool.query[rows], theirs[rows], ranks <= TOP
    slack = 1e-6 * float(theirs.max(initial=0.0))  # engines compute in single precision
    least, rest = np.full(pool.ids.size, np.inf), np.full(pool.ids.size, -np.inf)
    np.minimum.at(least, query[is_top], theirs[is_top])
    np.maximum.at(rest, query[~is_top], theirs[~is_top])
    is_other = rest > least + slack
    is_other[query[1:][(theirs[1:] > theirs[:-1] + slack) & (ranks[1:] > 1) & is_top[1:]]] = True
    n_other = int(is_other.sum())
    if n_other:
        why = " It gives the last document of a list 0.001, not 0." if (engine, family) == FLOORED else ""
        warn(
            f"{ENGINES[engine]} orders the first {TOP} documents of {count_of(n_other, 'query', 'queries')} of "
            f"{pool.ids.size:,} otherwise, with the first {window:,} documents of each run.{why}",
            DataWarning,
        )


def engine_scores(pool: PooledRuns, engine: str, family: str, weights: np.ndarray, constant: int) -> np.ndarray:
    """Return the scores of all rows by an engine's formula, in single precision."""
    parts = parts_of(pool, family, constant).astype(np.float32)
    if (engine, family) == FLOORED:
        parts = np.where(parts == 0, LOWEST, parts)
    return (weights.astype(np.float32)[:, None] * np.nan_to_num(parts)).sum(axis=0)
