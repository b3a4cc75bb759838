"""Vectors of documents beside the postings: exact cosines, alone or added to the scores of words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from plackett.validation import count_of

if TYPE_CHECKING:
    from plackett.text.index import TextIndex

MODES = ("words", "vectors", "hybrid")
WINDOW = 1000  # documents of each list that a hybrid search normalises; the default depth of runs
_QUERIES_AT_ONCE = 64  # memory is needed for their cosines with all documents

Embed = Callable[[list[str]], Any]
Found = tuple[np.ndarray, np.ndarray]  # scores and places, the best first
Query = str | Sequence[str]


def embedded(embed: Embed, texts: list[str], n_columns: int | None = None) -> np.ndarray:
    """Return the vectors of texts as rows of float32 of length 1; a vector of zeros stays."""
    found = embed(texts)
    try:
        rows = np.asarray(found, dtype=np.float64)
    except (TypeError, ValueError):
        rows = np.zeros(0)
    if rows.ndim != 2 or len(rows) != len(texts) or rows.shape[1] != (n_columns or max(1, rows.shape[1])):
        wanted = "one vector" if n_columns is None else f"one vector of {n_columns} numbers"
        raise ValueError(
            f"embed must return {wanted} for each of {count_of(len(texts), 'text')}; it returned "
            f"{type(found).__name__} of shape {rows.shape}."
        )
    if not np.isfinite(rows).all():
        place = int(np.argmin(np.isfinite(rows).all(axis=1)))
        raise ValueError(f"embed returned numbers that are not finite for the text {texts[place][:60]!r}.")
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)


def query_vectors(index: TextIndex, queries: Sequence[Query]) -> np.ndarray:
    """Return the vectors of queries; terms are joined by spaces."""
    if index.vectors is None:
        raise ValueError("this index has no vectors: build_index(texts, embed=...) stores them.")
    if index.embed is None:
        raise ValueError("the vector of a query needs the function of the documents: open_index(path, embed=...).")
    texts = [query if isinstance(query, str) else " ".join(query) for query in queries]
    return embedded(index.embed, texts, index.vectors.shape[1])


def nearest(index: TextIndex, queries: Sequence[Query], k: int) -> list[Found]:
    """Return for each query the documents with the highest cosines; ties in the order of the documents."""
    wanted, answer = query_vectors(index, queries), []
    for first in range(0, len(wanted), _QUERIES_AT_ONCE):
        for cosines in wanted[first : first + _QUERIES_AT_ONCE] @ index.vectors.T:  # type: ignore[union-attr]
            least = np.partition(cosines, -k)[-k] if k < cosines.size else -np.inf
            places = np.flatnonzero(cosines >= least)
            places = places[np.argsort(-cosines[places], kind="stable")][:k]
            answer.append((cosines[places].astype(np.float64), places))
    return answer


def added(words: Found, vectors: Found, weight: float, k: int) -> Found:
    """Return the best of both lists by the weighted sum of their min-max scores, as ``fuse`` computes it."""
    parts = (1.0 - weight) * _min_max(words[0]), weight * _min_max(vectors[0])
    places, where = np.unique(np.concatenate([words[1], vectors[1]]), return_inverse=True)
    scores = np.bincount(where, weights=np.concatenate(parts), minlength=places.size)
    order = np.argsort(-scores, kind="stable")[:k]
    return scores[order], places[order]


def _min_max(scores: np.ndarray) -> np.ndarray:
    spread = np.ptp(scores) if scores.size else 0.0
    return (scores - scores.min()) / spread if spread > 0 else np.ones(scores.size)
