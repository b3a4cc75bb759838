"""The first lists of judged data, rankings and runs, as notebooks show them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from plackett._tables import Column, Table, notebook_html
from plackett.validation import count_of, is_sparse, plain

if TYPE_CHECKING:
    from plackett.data.queries import Queries

LISTS, DOCUMENTS, FEATURES = 3, 4, 6


def lists_html(about: str, lists: Iterable[tuple[Any, Sequence[tuple[Any, float]]]], docid: str = "document") -> str:
    """Return the best documents of the first queries; ``lists`` has the id of a query and its documents, best first."""
    rows = [
        [str(plain(qid)), rank, str(plain(name)), score]
        for (qid, documents), _ in zip(lists, range(LISTS), strict=False)
        for rank, (name, score) in enumerate(documents[:DOCUMENTS], start=1)
    ]
    columns = [Column("query", "text"), Column("rank", digits=0), Column(docid, "text"), Column("score")]
    return notebook_html(Table(columns, rows), [about], [f"up to {DOCUMENTS} documents of the first {LISTS} queries"])


def queries_html(queries: Queries) -> str:
    """Return the first rows of the first queries."""
    first = queries[: min(LISTS, queries.n_queries)].grouped
    n_shown = min(FEATURES, queries.n_features)
    columns = [Column("query", "text"), *([] if first.docid is None else [Column("document", "text")])]
    columns += [Column("label", digits=None)] if queries.y is not None else []
    columns += [Column(name, digits=None) for name in queries.feature_labels[:n_shown]]
    rows = []
    for start, stop in zip(first.indptr[:-1].tolist(), first.indptr[1:].tolist(), strict=True):
        for row in range(start, min(stop, start + DOCUMENTS)):
            values = first.X[[row], :n_shown].toarray()[0] if is_sparse(first.X) else first.X[row, :n_shown]
            cells: list[float | str] = [float(value) for value in values]
            for place, names in (first.categories or {}).items():
                if place < n_shown and 0 <= values[place] < len(names):
                    cells[place] = str(names[int(values[place])])
            name = [] if first.docid is None else [str(plain(first.docid[row]))]
            label = [] if first.y is None else ["" if first.y[row] != first.y[row] else f"{first.y[row]:g}"]
            rows.append([str(plain(first.qid[row])), *name, *label, *cells])
    notes = [f"up to {DOCUMENTS} documents of the first {LISTS} queries"]
    if n_shown < queries.n_features:
        notes[0] += f", {n_shown} of {count_of(queries.n_features, 'feature')}"
    return notebook_html(Table(columns, rows), [repr(queries)], notes)
