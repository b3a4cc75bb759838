"""Comparisons made up for the tests of this room: quick to build, as awkward as a test wants them."""

from __future__ import annotations

import numpy as np

import plackett as pk
from plackett.evaluation.compare.comparison import Comparison, FoldFit
from plackett.evaluation.compare.insight import Insight, Reason
from plackett.evaluation.evaluate import evaluate
from plackett.evaluation.permutation import FeatureImportance

HOSTILE = [
    "<script>alert(1)</script>",
    "\"quotes\" & 'quotes' </style>",
    "ранкер 排序 🦆 \u202eright to left",
    "x" * 400,
    "a|b \\ $x^2$ {{ 7 * 7 }} {% raw %}",
    "_under & #hash %",
]


def made_up(
    names=("listmle", "ranksvm", "p-listmle"),
    *,
    n_queries=20,
    n_folds=5,
    metrics=("ndcg@10", "map"),
    convention="standard",
    random_state=0,
    labels=None,
    docid=True,
    **changes,
):
    """Contestants whose scores are the labels under noise: the first with the least."""
    rng = np.random.default_rng(random_state)
    sizes = rng.integers(3, 15, size=n_queries)
    n_docs = int(sizes.sum())
    y = rng.integers(0, 3, size=n_docs).astype(float) if labels is None else labels(n_docs)
    queries = pk.Queries(
        rng.normal(size=(n_docs, 4)),
        y,
        np.repeat([f"q{place}" for place in range(n_queries)], sizes),
        docid=[f"GX{row:04d}" for row in range(n_docs)] if docid else None,
    )
    scores = {name: y + rng.normal(size=n_docs) * (1 + place / 2) for place, name in enumerate(names)}
    tables = {
        name: evaluate(queries, values, metrics=list(metrics), convention=convention) for name, values in scores.items()
    }
    fold_of = np.sort(1 + np.arange(n_queries) % n_folds)
    fits = {
        name: [
            FoldFit(
                fold,
                {"l2": 10.0**-fold, "loss": "listmle"},
                float("nan") if fold == 2 else 0.4 + 0.01 * fold,
                0.1 * 3**place * fold,
                4,
                [{"objective": 1 / step, "ndcg@10": 0.5 - 0.1 / step} for step in range(1, 20)]
                if place % 2 == 0
                else None,
            )
            for fold in range(1, n_folds + 1)
        ]
        for place, name in enumerate(names)
    }
    flat = evaluate(queries, np.zeros(n_docs), metrics=list(metrics), convention=convention)
    settings = {
        "cv": "5 folds",
        "select_by": metrics[0],
        "random_state": 0,
        "grids": {"listmle": {"l2": [1.0, 0.1]}},
        "versions": {"plackett": "0.1.0", "python": "3.11"},
    }
    insights = {
        name: Insight(
            reasons={
                row: [Reason("bm25", 1.5, 0.25 * (place + 1)), Reason(HOSTILE[0], "<i>red</i>", -0.1)]
                for row in range(n_docs)
            },
            explained={"bm25": 0.3, HOSTILE[0]: 0.1},
            permuted=[FeatureImportance("bm25", 0.04, 0.01, 0.07), FeatureImportance(HOSTILE[0], 0.0, -0.01, 0.01)],
            n_permuted=n_queries,
        )
        for place, name in enumerate(names)
    }
    values = {
        "insights": insights,
        "metrics": list(metrics),
        "convention": convention,
        "tables": tables,
        "fold_of": fold_of,
        "queries": queries,
        "scores": scores,
        "fits": fits,
        "reference_scores": {"random order": flat, "best feature": flat},
        "description": queries.describe().to_dict(),
        "settings": settings,
    }
    return Comparison(**{**values, **changes})
