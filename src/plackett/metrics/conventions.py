"""Conventions: the rules of other tools, nearly all of which compute a different "NDCG@10" from the same scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from plackett._names import unknown_name
from plackett._threads import map_blocks
from plackett.metrics.judged_lists import JudgedLists, thread_scratch

if TYPE_CHECKING:
    from plackett.metrics.measure import Measure

_ALWAYS_AVERAGED = ("kendall", "wpd", "auc")  # unless the rules of a convention name them


@dataclass(frozen=True)
class Convention:
    """The choices of a tool for the parameters of measures.

    A measure with its own convention uses that one.

    Parameters
    ----------
    name, summary : str
    ties : str, default="average"
        The rule that orders equal scores. It does not apply to ``kendall``, ``wpd`` and ``auc``: there equal
        scores are averaged unless ``rules`` or the measure say otherwise.
    empty : {0, 1, "skip"}, default=0
        The value of queries that are too short or have no relevant document.
    rules : dict of str to dict, default={}
        Parameters by measure; those under ``"*"`` apply to every measure that has them.
    cutoffs : dict of str to int, default={}
        The default cut-off, by measure.
    largest_label : int, default=None
        The tool rejects labels that are not integers from 0 (gdeval: also below) to this one; None: it accepts all.
    is_single_precision : bool, default=False
        Whether the tool stores scores as float32, so that close scores tie.
    is_complete : bool, default=True
        With qrels and a run: whether queries without retrieved documents count.

    Examples
    --------
    >>> from plackett.metrics import Convention
    >>> from plackett.metrics import Measure
    >>> mine = Convention("mine", "gain y; ties stable", ties="stable", rules={"*": {"gain": "linear"}})
    >>> Measure("dcg", convention=mine)([3, 0, 1], [0.9, 0.4, 0.1])  # 3 + 1 / log2(4)
    array([3.5])
    """

    name: str
    summary: str
    ties: str = "average"
    empty: str | int = 0
    rules: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    cutoffs: Mapping[str, int] = field(default_factory=dict)
    largest_label: int | None = None
    is_single_precision: bool = False
    is_complete: bool = True

    def rules_for(self, measure: Measure) -> dict[str, object]:
        """Return the parameters of ``measure``, "empty" included; its own take precedence."""
        own = measure.convention or self
        known = (*measure.kind.defaults, "empty")
        rules: dict[str, object] = {"empty": own.empty if measure.kind.empty is None else measure.kind.empty}
        if measure.name not in _ALWAYS_AVERAGED:
            rules["ties"] = own.ties
        for source in () if measure.kind.is_own else ("*", measure.name):
            rules.update(own.rules.get(source, {}))
        return {**{key: value for key, value in rules.items() if key in known}, **measure.parameters}

    def refused_labels(self, lists: JudgedLists) -> str | None:
        """Return a note if the tool itself would reject such labels, or None."""
        if self.largest_label is None:
            return None
        low, labels = -np.inf if self.name == "gdeval" else 0.0, lists.labels
        if ((labels < low) | (labels > self.largest_label) | (labels != np.floor(labels))).any():
            return f"{self.name} itself accepts only integer labels up to {self.largest_label}; some labels are not"
        return None

    def table(
        self, measures: Sequence[Measure], lists: JudgedLists, **changes: object
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return values of several measures, query × measure, and a table of the same shape that marks empty queries.

        It is computed by blocks of queries, so that an order is still in the cache for the next measure.
        """
        values = np.full((lists.n_queries, len(measures)), np.nan)
        is_empty = np.zeros(values.shape, dtype=bool)

        kinds = [measure.kind for measure in measures]
        by_block = [column for column, kind in enumerate(kinds) if not kind.is_own]

        def fill(first: int, last: int) -> None:
            with thread_scratch() as scratch:
                part = lists.block(first, last, scratch)
                for at in by_block:
                    values[first:last, at], is_empty[first:last, at] = self.values(measures[at], part, **changes)

        if by_block:
            map_blocks(fill, lists.blocks())
        for at in (column for column, kind in enumerate(kinds) if kind.is_own):  # functions in Python gain no threads
            values[:, at], is_empty[:, at] = self.values(measures[at], lists, **changes)
        return values, is_empty

    def values(self, measure: Measure, lists: JudgedLists, **changes: object) -> tuple[np.ndarray, np.ndarray]:
        """Return the values of ``measure``, one per query, and which queries were empty for it.

        ``changes`` replace rules of the convention, where the measure has them. A query without retrieved documents
        gets the worst value: 0, or that of the reversed order where lower is better.
        """
        own = measure.convention or self
        known = (*measure.kind.defaults, "empty")
        rules = {**self.rules_for(measure), **{key: one for key, one in changes.items() if key in known}}
        empty = rules.pop("empty")
        if own.is_single_precision:
            lists = lists.in_single_precision
        if measure.kind.cutoff != "none":
            rules["k"] = own.cutoffs.get(measure.name) if measure.k is None else measure.k
        values = measure.kind.compute(lists, **rules)
        is_empty = np.isnan(values)
        if lists.n_retrieved is not None and (lists.n_retrieved == 0).any():
            unanswered = (lists.n_retrieved == 0) & ~is_empty
            values[unanswered] = 0.0
            if not measure.higher_is_better:
                reversed_order = lists.with_scores(-lists.labels, is_complete=True)
                values[unanswered] = measure.kind.compute(reversed_order, **rules)[unanswered]
        if empty != "skip":
            values[is_empty] = float(empty)  # type: ignore[arg-type]
        return values, is_empty


_JARVELIN = {"discount": "jarvelin", "short_lists": "zero"}

CONVENTIONS: dict[str, Convention] = {
    convention.name: convention
    for convention in (
        Convention(
            "standard",
            "gain 2^y − 1, discount 1/log2(i + 1); ties averaged over all their orders; empty queries count 0",
        ),
        Convention(
            "paper",
            "the papers' definitions: ties keep the order of the rows, cost nothing in the Kendall distance and count "
            "as wrong in WPD; else as standard",
            ties="stable",
            rules={"kendall": {"ties": "best"}, "wpd": {"ties": "worst"}},
        ),
        Convention(
            "letor3",
            "LETOR 3.0's script: discounts 1, 1, 1/log2 i; NDCG@k and P@k of a list shorter than k count 0; empty 0",
            ties="stable",
            rules={"*": {"discount": "jarvelin"}, "ndcg": _JARVELIN, "p": {"short_lists": "zero"}},
        ),
        Convention(
            "letor4",
            "LETOR 4.0's script: discounts 1, 1, 1/log2 i; NDCG@k of a list shorter than k counts 0; empty 0",
            ties="stable",
            rules={"*": {"discount": "jarvelin"}, "ndcg": _JARVELIN},
        ),
        Convention(
            "trec",
            "trec_eval (ndeval for diversity): gain y; scores as float32, ties by document id, descending; only "
            "queries that the run answers",
            ties="trec",
            rules={"*": {"gain": "linear"}, "err-ia": {"is_graded": False, "normalize": True}},
            is_single_precision=True,
            is_complete=False,
        ),
        Convention(
            "sklearn",
            "scikit-learn: gain y; ties averaged, in average precision retrieved together; empty 0",
            rules={"*": {"gain": "linear"}, "map": {"ties": "together"}},
        ),
        Convention(
            "lightgbm",
            "LightGBM: gain 2^y − 1; ties stable; MAP@k divides by at most k; empty queries count 1",
            ties="stable",
            empty=1,
            largest_label=30,
            rules={"map": {"denominator": "reachable"}},
        ),
        Convention(
            "xgboost",
            "XGBoost: gain 2^y − 1; scores as float32, ties stable; MAP@k divides by at most k, P@k by at most n; "
            "without a cut-off the first 32 documents count; empty queries count 1 (P: 0)",
            ties="stable",
            empty=1,
            cutoffs={"ndcg": 32, "map": 32, "p": 32},
            largest_label=31,
            rules={"map": {"denominator": "reachable"}, "p": {"short_lists": "cut", "empty": 0}},
            is_single_precision=True,
        ),
        Convention(
            "gdeval",
            "TREC's gdeval.pl: gain 2^y − 1, ERR with largest label 4; ties by document id, descending; queries "
            "without a relevant document, or without retrieved documents, are left out",
            ties="trec",
            empty="skip",
            largest_label=4,
            rules={"err": {"max_label": 4}},
            is_complete=False,
        ),
        Convention(
            "ranx",
            "ranx: gain y; ties stable, where ranx itself has the order of an unstable sort; empty 0",
            ties="stable",
            rules={"*": {"gain": "linear"}},
        ),
    )
}


def get_convention(name: str | Convention) -> Convention:
    """Return the convention of that name, or the convention itself."""
    if isinstance(name, Convention):
        return name
    if name not in CONVENTIONS:
        advice = f"; choose one of {', '.join(CONVENTIONS)}."
        raise unknown_name("convention", name, advice, CONVENTIONS)
    return CONVENTIONS[name]
