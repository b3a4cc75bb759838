"""Describing queries: sizes, labels, list lengths, constant and duplicate columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from plackett._tables import Column, Table, aligned, notebook_html
from plackett._threads import query_blocks
from plackett.data.column_statistics import ColumnStatistics, row_blocks
from plackett.data.description.findings import Finding, concordance, findings
from plackett.validation import check_csr, count_of, feature_label, is_sparse

if TYPE_CHECKING:
    from plackett.data.queries import Queries

LEVELS_SHOWN = 12
DOCS_PER_BLOCK = 1 << 14


@dataclass(frozen=True)
class Description:
    """The result of ``Queries.describe()``.

    Lists of columns hold column numbers of X, from 0. The text shows names if known, otherwise the numbers in the file,
    which begin at ``first_index``; ``to_dict`` has the latter.

    Examples
    --------
    >>> import plackett as pk
    >>> found = pk.datasets.make_web_like(30, 10, 4, random_state=0).describe()
    >>> found.n_queries, found.list_length_max, found.label_histogram[0.0]
    (30, 10, 156)
    """

    n_queries: int
    n_docs: int
    n_features: int
    dtype: str
    is_sparse: bool
    density: float
    n_nan: int
    n_infinite: int
    label_histogram: dict[float, int] | None
    n_unjudged: int
    list_length_min: int
    list_length_median: float
    list_length_mean: float
    list_length_max: int
    n_single_document: int
    n_without_relevant: int | None
    n_single_level: int | None
    constant_columns: list[int]
    query_level_columns: list[int]
    duplicate_columns: list[tuple[int, int]]
    n_duplicate_rows: int
    n_duplicate_docids: int | None
    feature_names: list[str] | None = None
    first_index: int | None = None
    findings: list[Finding] = field(default_factory=list)

    def to_dict(self) -> dict:
        """Return plain values for JSON; labels become text, columns have their numbers in the file."""
        answer = asdict(self)
        first = self.first_index or 0
        for name in ("constant_columns", "query_level_columns"):
            answer[name] = [column + first for column in answer[name]]
        answer["duplicate_columns"] = [[one + first, other + first] for one, other in self.duplicate_columns]
        for one in answer["findings"]:
            one["columns"] = [column + first for column in one["columns"]]
        if self.label_histogram is not None:
            answer["label_histogram"] = {_as_text(label): count for label, count in self.label_histogram.items()}
        return answer

    def rows(self) -> list[tuple[str, str]]:
        """Return pairs of a heading and a value, as ``plackett info`` shows them."""
        kind = "sparse" if self.is_sparse else "dense"
        rows = [
            ("queries", f"{self.n_queries:,}"),
            ("documents", f"{self.n_docs:,}"),
            ("features", f"{self.n_features:,} ({kind} {self.dtype}, {self.density:.1%} non-zero)"),
            ("labels", self._labels()),
            (
                "documents per query",
                f"{self.list_length_min} to {self.list_length_max:,}, median {self.list_length_median:g}, "
                f"mean {self.list_length_mean:.1f}",
            ),
        ]
        if self.n_without_relevant is not None:
            rows.append(("queries without a relevant document", f"{self.n_without_relevant:,}"))
            rows.append(("queries with one label level only", f"{self.n_single_level:,}"))
        rows.append(("queries with one document", f"{self.n_single_document:,}"))
        is_array = self.feature_names is None and self.first_index is None
        from_where = " (from 0)" if is_array else ""
        same = [f"{self._name(later)} = {self._name(earlier)}" for earlier, later in self.duplicate_columns]
        rows.append((f"constant columns{from_where}", _some([self._name(c) for c in self.constant_columns])))
        within = [self._name(column) for column in self.query_level_columns]
        rows.append((f"columns constant within every query{from_where}", _some(within)))
        rows.append((f"duplicate columns{from_where}", _some(same)))
        rows.append(("documents that repeat another of their query", f"{self.n_duplicate_rows:,}"))
        if self.n_duplicate_docids is not None:
            rows.append(("document ids that repeat within their query", f"{self.n_duplicate_docids:,}"))
        if self.n_nan or self.n_infinite:
            rows.append(("missing and infinite values", f"{self.n_nan:,} NaN, {self.n_infinite:,} infinite"))
        return rows

    def _name(self, column: int) -> str:
        return feature_label(column, self.feature_names, self.first_index).removeprefix("column ")

    def _labels(self) -> str:
        if self.label_histogram is None:
            return "none"
        levels = list(self.label_histogram.items())
        if len(levels) <= LEVELS_SHOWN:
            text = ", ".join(f"{_as_text(label)}: {count:,}" for label, count in levels)
        elif levels:
            text = f"{len(levels):,} levels from {levels[0][0]:g} to {levels[-1][0]:g}"
        else:
            text = ""
        return text + (f", not judged: {self.n_unjudged:,}" if self.n_unjudged else "")

    def look_at(self) -> str:
        """Return the findings as a list of lines, or an empty text."""
        return "\n".join(["look at", *(f"- {one}" for one in self.findings)]) if self.findings else ""

    def __str__(self) -> str:
        return "\n".join(filter(None, [aligned(self.rows(), "ll"), self.look_at()]))

    def _repr_html_(self) -> str:
        return notebook_html(Table.of_pairs(self.rows()), self.look_at().splitlines())


def describe(queries: Queries, *, relevant_from: float, with_findings: bool = True) -> Description:
    """Describe ``queries``; ``relevant_from`` is the smallest label that counts as relevant."""
    given, queries = queries, queries.grouped
    lengths = np.diff(queries.indptr)
    X = queries.X
    check_csr(X)
    statistics = ColumnStatistics.of(queries.X)
    n_nan, n_infinite = int(statistics.n_missing.sum()), int(statistics.n_infinite.sum())
    n_nonzero = np.count_nonzero(X.data if is_sparse(X) else X) - n_nan
    constant, query_level = _constant_columns(queries, statistics)
    has_docids = queries.document_ids is not None or queries.comments is not None
    counts = _label_counts(queries, relevant_from)
    return Description(
        n_queries=queries.n_queries,
        n_docs=queries.n_docs,
        n_features=queries.n_features,
        dtype=str(X.dtype),
        is_sparse=is_sparse(X),
        density=n_nonzero / max(1, queries.n_docs * queries.n_features),
        n_nan=n_nan,
        n_infinite=n_infinite,
        list_length_min=int(lengths.min(initial=queries.n_docs)),
        list_length_median=float(np.median(lengths)) if lengths.size else 0.0,
        list_length_mean=float(lengths.mean()) if lengths.size else 0.0,
        list_length_max=int(lengths.max(initial=0)),
        n_single_document=int((lengths == 1).sum()),
        constant_columns=constant,
        query_level_columns=query_level,
        duplicate_columns=_equal_columns(X, constant) if queries.n_docs else [],
        feature_names=queries.feature_names,
        first_index=queries.first_index,
        n_duplicate_rows=_repeats(queries, lambda part: _fingerprints(part.X, axis=1)) if queries.n_features else 0,
        n_duplicate_docids=_repeats(queries, lambda part: part.docid) if has_docids else None,
        findings=findings(given, statistics, constant, counts["n_single_level"]) if with_findings else [],
        **counts,
    )


def columns_table(queries: Queries) -> Table:
    """Return the table of ``Queries.describe_columns``; the last column is the share of pairs of documents in order."""
    columns = [
        Column("column", "text"),
        Column("holds", "text"),
        Column("missing", digits=3),
        Column("least", digits=None),
        Column("most", digits=None),
        Column("ranks alone", digits=3),
    ]
    found, alone, known = ColumnStatistics.of(queries.X), concordance(queries), queries.categories or {}
    has_values = found.minima <= found.maxima
    low, high = (np.where(has_values, ends, np.nan) for ends in (found.minima, found.maxima))
    rows = []
    for column, name in enumerate(queries.feature_labels):
        holds, ends = "numbers", [low[column], high[column], max(alone[column], 1.0 - alone[column])]
        if column in known:
            holds, ends = count_of(known[column].size, "category", "categories"), [np.nan] * 3
        rows.append([name, holds, found.n_missing[column] / max(1, queries.n_docs), *ends])
    return Table(columns, rows)


def _label_counts(queries: Queries, relevant_from: float) -> dict:
    if queries.y is None:
        return {"label_histogram": None, "n_unjudged": 0, "n_without_relevant": None, "n_single_level": None}
    histogram: dict[float, int] = {}
    n_without_relevant = n_single_level = 0
    for first, last in query_blocks(queries.indptr, DOCS_PER_BLOCK):
        indptr = queries.indptr[first : last + 1]
        labels = queries.y[indptr[0] : indptr[-1]]
        judged = np.isfinite(labels)
        for level, count in zip(*np.unique(labels[judged], return_counts=True), strict=True):
            histogram[float(level)] = histogram.get(float(level), 0) + int(count)
        query_of = np.repeat(np.arange(last - first), np.diff(indptr))[judged]
        best, worst = np.full(last - first, -np.inf), np.full(last - first, np.inf)
        np.maximum.at(best, query_of, labels[judged])
        np.minimum.at(worst, query_of, labels[judged])
        n_without_relevant += int((best < relevant_from).sum())
        n_single_level += int((best <= worst).sum())
    return {
        "label_histogram": dict(sorted(histogram.items())),
        "n_unjudged": queries.n_docs - sum(histogram.values()),
        "n_without_relevant": n_without_relevant,
        "n_single_level": n_single_level,
    }


def _constant_columns(queries: Queries, statistics: ColumnStatistics) -> tuple[list[int], list[int]]:
    """Return columns with one value everywhere, and those that vary only between queries."""
    if queries.n_docs == 0:
        return [], []
    within = constant_within(queries)
    has_one_value = (statistics.minima == statistics.maxima) & (statistics.n_missing + statistics.n_infinite == 0)
    constant = within & (has_one_value | (statistics.n_missing == queries.n_docs))
    return np.flatnonzero(constant).tolist(), np.flatnonzero(within & ~constant).tolist()


def constant_within(queries: Queries) -> np.ndarray:
    """Return which columns have one value in each query; NaN counts as a value."""
    within = np.ones(queries.n_features, dtype=bool)
    if is_sparse(queries.X):
        first_of_query = np.repeat(queries.indptr[:-1], np.diff(queries.indptr))
        within[(queries.X[first_of_query] != queries.X).indices] = False
        return within
    for block in row_blocks(queries.X):
        query_of = np.searchsorted(queries.indptr, np.arange(block.start, block.stop), side="right") - 1
        rows, first = queries.X[block], queries.X[queries.indptr[query_of]]
        within &= ((rows == first) | (np.isnan(rows) & np.isnan(first))).all(axis=0)
    return within


def _mixed_bits(values: np.ndarray) -> np.ndarray:
    """Return hashed bits of each value as uint64; 0 for zero of either sign, so that CSR can omit zeros."""
    plain_zero = values + 0.0  # turns -0.0 into 0.0
    bits = plain_zero.view(np.uint32 if values.dtype == np.float32 else np.uint64).astype(np.uint64)
    bits ^= bits >> np.uint64(29)
    bits *= np.uint64(0xBF58476D1CE4E5B9)
    bits ^= bits >> np.uint64(32)
    return bits


def _fingerprints(X, axis: int) -> np.ndarray:
    """Return a 64-bit hash per row (axis=1) or column (axis=0)."""
    n_rows, n_columns = X.shape
    rng = np.random.default_rng(20131)
    answer = np.zeros(n_columns if axis == 0 else n_rows, dtype=np.uint64)
    if is_sparse(X):
        keys = _keys(n_rows if axis == 0 else n_columns, rng)
        row_of = np.repeat(np.arange(n_rows), np.diff(X.indptr))
        where, key_of = (X.indices, row_of) if axis == 0 else (row_of, X.indices)
        np.add.at(answer, where, _mixed_bits(X.data) * keys[key_of])
        return answer
    keys = _keys(n_columns, rng)
    for block in row_blocks(X):
        bits = _mixed_bits(X[block])
        if axis == 0:
            answer += (bits * _keys(len(bits), rng)[:, None]).sum(axis=0, dtype=np.uint64)
        else:
            answer[block] = (bits * keys).sum(axis=1, dtype=np.uint64)
    return answer


def _keys(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return random odd numbers."""
    return rng.integers(1, 2**63, size=n, dtype=np.uint64) * 2 + 1


def _equal_columns(X, left_out: list[int]) -> list[tuple[int, int]]:
    """Return pairs (earlier, later) of equal columns, without those left out."""
    keys = dict(enumerate(_fingerprints(X, axis=0).tolist()))
    for column in left_out:
        del keys[column]
    first: dict[int, int] = {}
    return [(first[key], column) for column, key in keys.items() if first.setdefault(key, column) != column]


def _repeats(queries: Queries, values_of: Callable[[Queries], np.ndarray | None]) -> int:
    """Count rows whose value occurred earlier in their query, in blocks of queries."""
    n_repeats = 0
    for block in query_blocks(queries.indptr, DOCS_PER_BLOCK):
        part = queries[slice(*block)]
        values = values_of(part)
        if values is None or not part.n_docs:
            continue
        if values.dtype.kind == "O":  # ids of several types cannot be sorted
            values = np.array([str(value) for value in values.tolist()])
        _, codes = np.unique(values, return_inverse=True)
        pairs = part.query_of_row * (int(codes.max()) + 1) + codes.reshape(-1)
        if values.dtype.kind == "U":
            pairs = pairs[values != ""]  # rows without a name are not duplicates
        n_repeats += pairs.size - np.unique(pairs).size
    return n_repeats


def _as_text(label: float) -> str:
    return str(int(label)) if label.is_integer() else repr(label)


def _some(texts: list[str]) -> str:
    """Return the number of texts, and the first of them."""
    if not texts:
        return "none"
    more = f", and {len(texts) - LEVELS_SHOWN} more" if len(texts) > LEVELS_SHOWN else ""
    return f"{len(texts)}: {', '.join(texts[:LEVELS_SHOWN])}{more}"
