"""Lists in strict order: LETOR's listwise sets if available, else MQ2008 in the order of 25 systems.

The papers on listwise ranking use MQ2007-list and MQ2008-list, which rank all documents of a query, about a thousand,
without ties. The substitute is MQ2008 with the mean rank of its documents over the systems of MQ2008-agg: the same 46
features, but lists of 5 to 121 documents.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from plackett.data.datasets.published import Fold
from plackett.data.queries import Queries
from plackett.evaluation.evaluate import Evaluation, evaluate
from plackett.exceptions import ConvergenceWarning
from plackett.metrics.measure import Measure
from plackett.reproductions.base import Job, ignored

ORIGINAL, STAND_IN, SYSTEMS = "mq2008-list", "mq2008", "mq2008-agg"
NEEDS, INSTEAD = (ORIGINAL,), (SYSTEMS,)
SHORTEST = 10  # fewest documents of a list
N_FOLDS = 5


class StrictLists(NamedTuple):
    """Folds of lists in strict order, their name, and whether they are those of the papers."""

    folds: list[Fold]
    name: str
    is_original: bool

    @property
    def description(self) -> str:
        return f"on {self.name}" if self.is_original else f"on {self.name}, not on MQ2008-list"


def strict_lists(job: Job, original: str = ORIGINAL) -> StrictLists:
    """Return a set of the papers, or what replaces MQ2008-list; one fold for a quick run."""
    numbers = range(1, 2 if job.is_quick else N_FOLDS + 1)
    if job.has(original):
        folds = [job.load_fold(original, number) for number in numbers]
        return StrictLists(folds, original.upper().replace("LIST", "list"), True)
    systems = job.load(SYSTEMS)
    published = [job.load_fold(STAND_IN, number) for number in numbers]
    folds = [Fold(*(with_strict_order(part, systems) for part in fold if part is not None)) for fold in published]
    return StrictLists(folds, f"MQ2008 in the order of 25 systems, lists of {SHORTEST} documents and more", False)


def values_of_best(
    candidates: Sequence[Any], lists: StrictLists, metrics: Sequence[str], convention: str = "standard"
) -> np.ndarray:
    """Return test lists × metrics, in each fold of the candidate with the best first metric on the validation lists."""
    sign = 1.0 if Measure.parse(metrics[0]).higher_is_better else -1.0

    def measured(fitted: Any, queries: Queries | None) -> Evaluation:
        assert queries is not None
        return evaluate(queries, fitted.predict(queries), metrics=metrics, convention=convention)

    parts = []
    for fold in lists.folds:
        with ignored(ConvergenceWarning):  # the papers use few iterations or loose thresholds
            fitted = [one.fit(fold.train) for one in candidates]
        values = [sign * measured(one, fold.validation).mean()[metrics[0]] for one in fitted]
        parts.append(measured(fitted[int(np.argmax(values))], fold.test).values)
    return np.concatenate(parts)


def with_strict_order(queries: Queries, systems: Queries) -> Queries:
    """Return the long lists of ``queries``, labelled by the order of ``systems``, which has the same document ids."""
    assert queries.docid is not None
    assert systems.docid is not None
    place = {key: row for row, key in enumerate(zip(systems.qid, systems.docid, strict=True))}
    rows = [place[key] for key in zip(queries.qid, queries.docid, strict=True)]
    labels = strict_labels(np.asarray(systems.X)[rows], queries.indptr)
    relabelled = Queries(queries.X, labels, queries.qid, docid=queries.docid, feature_names=queries.feature_names)
    return relabelled[np.diff(queries.indptr) >= SHORTEST]


def strict_labels(ranks: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    """Label each document by its place in the mean order of the systems: n for the best of a list, 1 for the worst.

    ``ranks`` (documents × systems) has 1 for a system's best document and NaN for those it did not find, which count as
    its largest rank in the list + 1. Documents with equal means share the mean of their places. A system without
    documents of a list is ignored.
    """
    labels = np.empty(len(ranks))
    for start, stop in pairwise(indptr):
        own = ranks[start:stop].astype(np.float64)
        last = np.max(own, axis=0, where=~np.isnan(own), initial=0.0)
        # sums of whole numbers, so that equal means are exactly equal
        labels[start:stop] = rankdata(-np.where(np.isnan(own), last + 1.0, own).sum(axis=1))
    return labels
