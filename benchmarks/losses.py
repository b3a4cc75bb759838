"""Every loss with linear scores, boosted trees and nets on MQ2008, and which differences are significant.

Papers that introduce a loss report that it is better than others, mostly on larger sets and with their own scorers.
Here all losses share the scorers, the folds and the rule by which hyperparameters are chosen: on validation queries.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Mapping
from typing import Any

from plackett.evaluation.compare.compare import compare
from plackett.evaluation.compare.comparison import Comparison
from plackett.exceptions import ConvergenceWarning
from plackett.losses import BinaryCrossEntropy, loss_names
from plackett.rankers.registry import ranker
from plackett.reproductions.base import LEVEL, Item, Job, Paper, Row, Table, Verdict
from plackett.validation import count_of

DATA, N_FOLDS = "mq2008", 5
METRIC, BASELINE = "ndcg@10", "listmle"
LIGHTGBM = "LightGBM's lambdarank"
SCORERS: dict[str, tuple[str, dict[str, list[Any]]]] = {  # in words, and the grid of each
    "linear": ("Linear scores", {"l2": [1.0, 1e-1, 1e-2, 1e-3, 1e-4], "patience": [None], "random_state": [0]}),
    "trees": ("Boosted trees", {"num_leaves": [7], "learning_rate": [0.1, 0.03]}),
    "neural": ("Nets", {"l2": [1e-2, 1e-4], "random_state": [0]}),
}
SECONDS, QUICK_SECONDS = {"linear": 120, "trees": 600, "neural": 900}, {"linear": 10, "trees": 25, "neural": 40}
SETTINGS = {"binary-cross-entropy": BinaryCrossEntropy(threshold=1)}  # grades above 1 are not probabilities


def contestants(scorer: str, *, is_quick: bool = False) -> dict[str, Any]:
    """Return every loss with a scorer, and the grid that validation queries choose from; a quick grid has one entry."""
    grid = {name: values[:1] if is_quick else values for name, values in SCORERS[scorer][1].items()}
    if is_quick and scorer == "neural":
        grid["n_epochs"] = [10]
    if is_quick and scorer == "trees":
        grid["n_rounds"] = [30]
    names = [BASELINE, *(name for name in loss_names() if name != BASELINE)]
    every: dict[str, Any] = {name: (ranker(scorer, loss=SETTINGS.get(name, name)), grid) for name in names}
    return {**every, LIGHTGBM: (ranker("lightgbm"), grid)} if scorer == "trees" else every


def compare_losses(scorer: str, job: Job, data: Any = None, cv: Any = None, folder: Any = None) -> Comparison:
    """Return the comparison of all losses with a scorer, on the published folds of MQ2008 or on other data."""
    if cv is None:
        numbers = range(1, 2 if job.is_quick else N_FOLDS + 1)
        cv = [job.load_fold(DATA, number) for number in numbers]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return compare(
            contestants(scorer, is_quick=job.is_quick), data, cv=cv, metrics=METRIC, baseline=BASELINE, folder=folder,
            random_state=job.rng_seed, progress=lambda line: job.progress(f"  {line}"),
        )  # fmt: skip


def table_of(comparison: Comparison, scorer: str) -> Table:
    """Return the losses from best to worst, each with its difference from ListMLE, and the significant pairs."""
    against = {pair.a: pair for pair in comparison.differences(METRIC, against=BASELINE)}
    means = {name: table.mean()[METRIC] for name, table in comparison.tables.items()}
    rows = []
    for name in sorted(means, key=means.__getitem__, reverse=True):
        if name == BASELINE:
            rows.append(Row.not_comparable(name, None, means[name], "the others are compared with it"))
            continue
        pair = against[name]
        verdict = Verdict.UNDECIDED
        if pair.p_random_holm <= LEVEL:
            verdict = Verdict.BETTER if pair.mean > 0 else Verdict.NOT_CONFIRMED
        reason = f"{pair.mean:+.4f} ({pair.low:+.4f} to {pair.high:+.4f}), p {pair.p_random_holm:.2g}"
        rows.append(Row(name, None, means[name], verdict, reason))
    rows += [
        Row.not_comparable(name, None, None, f"failed: {reasons[0]}") for name, reasons in comparison.failures.items()
    ]
    return Table(
        f"{SCORERS[scorer][0]}, {METRIC}",
        f"{count_of(comparison.queries.n_queries, 'test query', 'test queries')} in "
        f"{count_of(comparison.n_folds, 'fold')}; {_grid_in_words(SCORERS[scorer][1])} by {METRIC} on the validation "
        "queries of each fold.",
        f"better or not confirmed: above or below {BASELINE} at {LEVEL:.0%} by the randomisation test, after Holm's "
        "correction for all rows; undecided otherwise. The bootstrap interval is not corrected.",
        tuple(rows),
        (_significant_pairs(comparison),),
    )


def _grid_in_words(grid: Mapping[str, list[Any]]) -> str:
    chosen = {name: values for name, values in grid.items() if len(values) > 1}
    return ", ".join(f"{name} from {', '.join(f'{value:g}' for value in values)}" for name, values in chosen.items())


def _significant_pairs(comparison: Comparison) -> str:
    """Return in words how many pairs of losses differ after correction for all pairs, and which."""
    pairs = comparison.differences(METRIC)
    found = [pair if pair.mean > 0 else pair.reversed() for pair in pairs if pair.p_random_holm <= LEVEL]
    head = f"Significant at {LEVEL:.0%} after Holm's correction: {len(found)} of {count_of(len(pairs), 'pair')}"
    worse: dict[str, list[str]] = {}
    for pair in found:
        worse.setdefault(pair.b, []).append(pair.a)
    return head + "".join(f"; {name} is below {', '.join(sorted(above))}" for name, above in worse.items()) + "."


def _run(scorer: str, job: Job) -> Table:
    return table_of(compare_losses(scorer, job), scorer)


PAPER = Paper(
    "losses",
    "Every loss on MQ2008, with linear scores, trees and nets",
    "wang2018",
    tuple(
        Item(title, functools.partial(_run, scorer), SECONDS[scorer], QUICK_SECONDS[scorer], (DATA,))
        for scorer, (title, _) in SCORERS.items()
    ),
)
