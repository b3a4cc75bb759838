"""What to look at before a fit: columns that are ids, times, constants, copies of the label or leaks, and rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from plackett.data.categories import column_of
from plackett.data.column_statistics import ColumnStatistics
from plackett.data.tables.column_roles import ROWS_EXAMINED, resembles, resembles_text
from plackett.validation import count_of, is_sparse

if TYPE_CHECKING:
    from plackett.data.queries import Queries

LEAK = 0.98  # share of pairs that a single column orders correctly
FEWEST_PAIRS = 100  # fewer are not conclusive
SORTED = 0.95  # share of queries whose rows are in order of their labels
QUERIES_EXAMINED, DOCS_EXAMINED = 500, 40
PAIRS_AT_ONCE = 1 << 12
LARGEST_GAIN = 31  # of 2^label - 1 in 32 bits
COLUMNS_NAMED = 6


@dataclass(frozen=True)
class Finding:
    """One thing that a user should look at.

    Attributes
    ----------
    kind : str
        "missing", "infinite", "label", "leak", "id", "categories", "sorted", "nothing to learn", "labels".
    columns : list of int
        The columns of X concerned, from 0; empty if it concerns rows.
    text : str
        What was found.
    advice : str
        What to do.
    """

    kind: str
    columns: list[int]
    text: str
    advice: str

    def __str__(self) -> str:
        return f"{self.text[:1].upper()}{self.text[1:]} {self.advice}"


def findings(
    queries: Queries, statistics: ColumnStatistics, constant: list[int], n_single_level: int | None
) -> list[Finding]:
    """Return what to look at, the most serious first."""
    found = [*_about_labels(queries, n_single_level), *_about_leaks(queries, constant)]
    return [*found, *_about_values(queries, statistics), *_about_roles(queries), *_about_order(queries)]


# --- Columns ----------------------------------------------------------------------------------------------------------


def _named(queries: Queries, columns: list[int]) -> str:
    labels = queries.feature_labels
    shown = ", ".join(repr(labels[column]) for column in columns[:COLUMNS_NAMED])
    more = f" and {len(columns) - COLUMNS_NAMED} more" if len(columns) > COLUMNS_NAMED else ""
    return f"{'column' if len(columns) == 1 else 'columns'} {shown}{more}"


def _about_leaks(queries: Queries, constant: list[int]) -> Iterator[Finding]:
    if queries.y is None or _pairs(queries.grouped)[0].size < FEWEST_PAIRS:
        return
    alone = concordance(queries)
    known = queries.categories or {}
    suspects = [
        column
        for column in np.flatnonzero(np.maximum(alone, 1.0 - alone) >= LEAK).tolist()
        if column not in constant and column not in known
    ]
    is_judged = np.isfinite(queries.labels)
    copies = [
        column
        for column in suspects
        if np.array_equal(column_of(queries.X, column)[is_judged], queries.labels[is_judged].astype(queries.X.dtype))
    ]
    if copies:
        what, what_to_drop = ("is a copy", "it") if len(copies) == 1 else ("are copies", "them")
        yield Finding("label", copies, f"{_named(queries, copies)} {what} of the label.", f"Drop {what_to_drop}.")
    for column in suspects:
        if column not in copies:
            share = max(alone[column], 1.0 - alone[column])
            yield Finding(
                "leak",
                [column],
                f"{_named(queries, [column])} alone orders {share:.1%} of the pairs of documents correctly.",
                "Drop it if its value comes from the labels, or is not known when the ranking is made.",
            )


def _about_values(queries: Queries, statistics: ColumnStatistics) -> Iterator[Finding]:
    n_nan, n_infinite = statistics.n_missing, statistics.n_infinite
    n_docs = max(1, queries.n_docs)
    infinite, missing = np.flatnonzero(n_infinite).tolist(), np.flatnonzero(n_nan).tolist()
    if infinite:
        has = "has" if len(infinite) == 1 else "have"
        yield Finding(
            "infinite",
            infinite,
            f"{_named(queries, infinite)} {has} infinite values ({int(n_infinite.sum()):,}).",
            "Replace them: rankers reject them.",
        )
    if missing:
        worst = int(np.argmax(n_nan))
        share = n_nan.sum() / (n_docs * queries.n_features)
        yield Finding(
            "missing",
            missing,
            f"{len(missing):,} of {queries.n_features:,} columns have missing values, {share:.1%} of all values; most "
            f"in {_named(queries, [worst])} ({n_nan[worst] / n_docs:.1%}).",
            'Trees and RankBoost take them as they are; other rankers need a rule, such as missing="median".',
        )


def _about_roles(queries: Queries) -> Iterator[Finding]:
    known, labels = queries.categories or {}, queries.feature_names or [""] * queries.n_features
    for column in range(0 if is_sparse(queries.X) else queries.n_features):  # sparse columns are mostly 0
        first = column_of(queries.X[:ROWS_EXAMINED], column)
        if column in known:
            why = resembles_text(first, known[column])
        else:
            values = first[np.isfinite(first)]
            is_whole = values.size > 0 and (values == np.floor(values)).all() and np.abs(values).max() < 2**53
            why = resembles(labels[column], values.astype(np.int64) if is_whole and queries.feature_names else values)
        if why is not None:
            yield Finding("id", [column], f"{_named(queries, [column])} {why}.", "Drop it if it is not a feature.")
    if known:
        yield Finding(
            "categories",
            list(known),
            f"{_named(queries, list(known))} {'holds' if len(known) == 1 else 'hold'} categories.",
            'Trees split on them; other rankers encode them: encoding="one-hot" or "target".',
        )


# --- Pairs of documents -----------------------------------------------------------------------------------------------


def concordance(queries: Queries) -> np.ndarray:
    """Return for each column the share of pairs of different labels in which the better document has the larger value.

    Equal and missing values count one half. The pairs are those of at most 500 queries, evenly chosen, and of at most
    40 documents of each. NaN without labels.
    """
    if queries.y is None:
        return np.full(queries.n_features, np.nan)
    better, worse = _pairs(queries.grouped)
    if not better.size:
        return np.full(queries.n_features, 0.5)
    X, right = queries.grouped.X, np.zeros(queries.n_features)
    for start in range(0, better.size, PAIRS_AT_ONCE):
        some = slice(start, start + PAIRS_AT_ONCE)
        one, other = (X[rows[some]] for rows in (better, worse))
        if is_sparse(X):
            gap = (one - other).tocsr()  # NaN where either is
            signs = np.sign(np.where(np.isnan(gap.data), 0.0, gap.data))
            right += 0.5 * np.bincount(gap.indices, weights=signs, minlength=right.size)
        else:
            right += 0.5 * ((one > other).sum(axis=0) - (one < other).sum(axis=0))
    return 0.5 + right / better.size


def _pairs(queries: Queries) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of the better and the worse document of each pair."""
    labels, indptr = queries.labels, queries.indptr
    better, worse = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    step = max(1, queries.n_queries // QUERIES_EXAMINED)
    for first, last in zip(indptr[:-1:step].tolist(), indptr[1::step].tolist(), strict=True):
        rows = np.arange(first, last, max(1, (last - first) // DOCS_EXAMINED))
        is_better = labels[rows][:, None] > labels[rows][None, :]  # False for NaN
        one, other = np.nonzero(is_better)
        better.append(rows[one])
        worse.append(rows[other])
    return np.concatenate(better), np.concatenate(worse)


# --- Rows -------------------------------------------------------------------------------------------------------------


def _about_labels(queries: Queries, n_single_level: int | None) -> Iterator[Finding]:
    if queries.y is None:
        yield Finding("labels", [], "There are no labels.", "Name their column, or rank with a fitted model.")
        return
    labels = queries.labels[np.isfinite(queries.labels)]
    if n_single_level and 2 * n_single_level >= queries.n_queries:
        yield Finding(
            "nothing to learn",
            [],
            f"{n_single_level:,} of {count_of(queries.n_queries, 'query', 'queries')} have one label level only.",
            "Rankers learn nothing from them. Is qid the column of the queries?",
        )
    if labels.size and labels.max() > LARGEST_GAIN:
        yield Finding(
            "labels",
            [],
            f"The largest label is {labels.max():g}; with NDCG's gain 2^label − 1 it dominates the measure.",
            'Use grades of about 0 to 4, or "ndcg@10(gain=linear)".',
        )
    if queries.n_docs - labels.size:
        yield Finding(
            "labels",
            [],
            f"{count_of(queries.n_docs - labels.size, 'document is', 'documents are')} not judged.",
            "Refiners accept them; drop them for training or evaluation.",
        )


def _about_order(queries: Queries) -> Iterator[Finding]:
    if queries.y is None or not queries.n_docs:
        return
    grouped, query_of = queries.grouped, queries.grouped.query_of_row
    before, after, is_next = grouped.labels[:-1], grouped.labels[1:], query_of[1:] == query_of[:-1]
    steps = (after > before) & is_next, (after < before) & is_next
    n_rises, n_falls = (np.bincount(query_of[1:][one], minlength=queries.n_queries) for one in steps)
    has_levels = (n_rises + n_falls) > 0
    for counts, how in ((n_rises, "best first"), (n_falls, "best last")):
        share = float((counts[has_levels] == 0).mean()) if has_levels.sum() > 1 else 0.0
        if share >= SORTED:
            yield Finding(
                "sorted",
                [],
                f"Rows are sorted by label, {how}, in {share:.0%} of the queries.",
                "Tools that break ties by row order give optimistic values on such data. plackett averages over ties.",
            )
