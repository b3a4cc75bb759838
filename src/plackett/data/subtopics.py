"""Labels of documents by subtopic, for measures of diversity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from plackett.data.grouping import as_objects
from plackett.validation import as_csr, is_sparse


class Subtopics:
    """Labels of documents by subtopic (intent, aspect, category), as sparse rows.

    Parameters
    ----------
    labels : array or scipy sparse matrix of shape (n_docs, n_subtopics)
        Larger is better; 0 and, in an array, NaN mean that the document does not belong to the subtopic.
    names : sequence of str, default=None
        Names of the subtopics; None numbers them from 1. Different queries may use the same ones.

    Attributes
    ----------
    indptr : ndarray of shape (n_docs + 1,)
        Document i has the entries ``indptr[i]:indptr[i + 1]``, ordered by subtopic.
    codes : ndarray of int32 and of shape (n_entries,)
        The subtopic of each entry, as a position in ``names``.
    labels : ndarray of shape (n_entries,)
    names : ndarray of shape (n_subtopics,)

    Examples
    --------
    >>> both = Subtopics([[1, 0], [2, 1], [0, 0]], names=["price", "size"])
    >>> both
    Subtopics(3 documents, 2 subtopics, 3 labels)
    >>> both.codes, both.labels
    (array([0, 0, 1], dtype=int32), array([1., 2., 1.]))
    """

    def __init__(self, labels: object, names: Sequence[str] | None = None):
        if is_sparse(labels):
            rows = as_csr(labels).copy()
            rows.sum_duplicates()
            indptr, codes, values = rows.indptr, rows.indices, rows.data.astype(np.float64)
            n_subtopics = rows.shape[1]
        else:
            table = np.asarray(labels, dtype=np.float64)
            if table.ndim != 2:
                raise ValueError(
                    f"subtopics has shape {table.shape}; it must have one row per document and one column per subtopic."
                )
            documents, codes = np.nonzero(np.nan_to_num(table, nan=0.0, posinf=np.inf, neginf=-np.inf))
            values = table[documents, codes]
            indptr = np.searchsorted(documents, np.arange(table.shape[0] + 1))
            n_subtopics = table.shape[1]
        if not np.isfinite(values).all():
            raise ValueError("subtopics has a label that is not a finite number.")
        titles = np.arange(1, n_subtopics + 1).astype(str) if names is None else np.array([str(name) for name in names])
        if titles.size != n_subtopics:
            raise ValueError(f"names has {titles.size} subtopics but subtopics has {n_subtopics} columns.")
        self._set(indptr.astype(np.int64), codes.astype(np.int32), values, titles)

    def _set(self, indptr: np.ndarray, codes: np.ndarray, labels: np.ndarray, names: np.ndarray) -> None:
        self.indptr, self.codes, self.labels, self.names = indptr, codes, labels, names

    @classmethod
    def of_entries(cls, rows: np.ndarray, subtopics: np.ndarray, labels: np.ndarray, n_docs: int) -> Subtopics:
        """Return the subtopics of entries in any order; ``rows`` are the documents, ``subtopics`` the names."""
        names, codes = np.unique(subtopics, return_inverse=True)
        order = np.lexsort((codes, rows))
        found = cls.__new__(cls)
        indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n_docs))]).astype(np.int64)
        found._set(indptr, codes.reshape(-1)[order].astype(np.int32), labels[order].astype(np.float64), names)
        return found

    def to_dict(self) -> dict[str, list]:
        """Return the four arrays as lists, for JSON."""
        return {name: getattr(self, name).tolist() for name in ("indptr", "codes", "labels", "names")}

    @classmethod
    def from_dict(cls, values: Mapping[str, list]) -> Subtopics:
        """Return the subtopics from the values of ``to_dict``."""
        found = cls.__new__(cls)
        types = {"indptr": np.int64, "codes": np.int32, "labels": np.float64, "names": str}
        found._set(*(np.array(values[name], dtype=dtype) for name, dtype in types.items()))
        return found

    def __getitem__(self, rows: slice | np.ndarray) -> Subtopics:
        """Return the subtopics of some documents: a slice, a mask or row numbers; a row of -1 has none."""
        if isinstance(rows, slice):
            places = np.arange(*rows.indices(len(self)))
        else:
            places = np.flatnonzero(rows) if rows.dtype == bool else rows
        starts = np.where(places < 0, 0, self.indptr[places])
        lengths = np.where(places < 0, 0, self.indptr[places + 1] - starts)
        indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        entries = np.repeat(starts - indptr[:-1], lengths) + np.arange(indptr[-1])
        part = Subtopics.__new__(Subtopics)
        part._set(indptr, self.codes[entries], self.labels[entries], self.names)
        return part

    @staticmethod
    def concat(parts: Sequence[Subtopics]) -> Subtopics:
        """Return the documents of all parts, one after the other; equal names are the same subtopic."""
        lengths = np.concatenate([np.diff(part.indptr) for part in parts])
        rows = np.repeat(np.arange(lengths.size), lengths)
        names = as_objects([name for part in parts for name in part.names[part.codes].tolist()]).astype(str)
        labels = np.concatenate([part.labels for part in parts])
        return Subtopics.of_entries(rows, names, labels, lengths.size)

    def __len__(self) -> int:
        return self.indptr.size - 1

    def __repr__(self) -> str:
        return f"Subtopics({len(self):,} documents, {self.names.size:,} subtopics, {self.codes.size:,} labels)"


def as_subtopics(subtopics: object, n_docs: int) -> Subtopics:
    """Return the given subtopics, checked to have one row per document."""
    found = subtopics if isinstance(subtopics, Subtopics) else Subtopics(subtopics)
    if len(found) != n_docs:
        raise ValueError(f"subtopics has {len(found):,} rows but there are {n_docs:,} documents.")
    return found
