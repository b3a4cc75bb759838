"""Partitions in this process, one after the other: for data that are in parts, or larger than memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from plackett.data.mapped import Spill, is_mapped
from plackett.data.queries import Queries
from plackett.distributed.piece import n_bytes
from plackett.distributed.tree import add_up, leaf, root
from plackett.validation import is_sparse

IN_MEMORY_BYTES = 1 << 28  # rows beyond so many go to a file that is mapped into memory


class Recipe(NamedTuple):
    """How to make a piece: a function and its arguments, to be called wherever the piece is needed."""

    make: Callable[..., Any]
    arguments: tuple


class LocalHolder:
    """Holds pieces, and then partitions, in this process; each is worked through on all cores.

    Rows beyond ``IN_MEMORY_BYTES`` are kept in temporary files, which the system maps into memory as far as there is
    some, and which are gone when the holder is.
    """

    def __init__(self, recipes: Sequence[Recipe]):
        self._parts: list[Any] = []
        self._n_bytes = 0
        for recipe in recipes:
            piece = recipe.make(*recipe.arguments)
            piece.queries = self._settled(piece.queries)
            self._parts.append(piece)

    def change(self, places: Sequence[int], work: Callable[..., Any], *arguments: Any) -> None:
        """Put ``work(part, *arguments)`` in the place of these parts, and forget the others."""
        self._parts = [self._parts[place] for place in places]
        for place, part in enumerate(self._parts):
            before = part.queries.X
            changed = work(part, *arguments)
            if changed.queries.X is not before:
                changed.queries = self._settled(changed.queries)
            self._parts[place] = changed

    def each(self, work: Callable[..., Any], *arguments: Any) -> list:
        return [work(part, *arguments) for part in self._parts]

    def one(self, place: int, work: Callable[..., Any], *arguments: Any) -> Any:
        return work(self._parts[place], *arguments)

    def total(self, work: Callable[..., np.ndarray], *arguments: Any) -> np.ndarray:
        n = len(self._parts)
        sums: dict = {}
        for number, part in enumerate(self._parts):
            sums[leaf(number)] = work(part, *arguments)
            sums = add_up(sums, n)
        return sums[root(n)]

    # rows that do not fit

    def _settled(self, queries: Queries) -> Queries:
        """The same queries, their rows in a mapped file where memory has enough."""
        size = n_bytes(queries)
        if is_mapped(queries.X) or self._n_bytes + size <= IN_MEMORY_BYTES:
            self._n_bytes += 0 if is_mapped(queries.X) else size
            return queries
        X = queries.X
        if is_sparse(X):
            parts = tuple(_mapped(part) for part in (X.data, X.indices, X.indptr))
            X = type(X)(parts, shape=X.shape, copy=False)
        else:
            X = _mapped(X)
        return queries.replace(X=X)


def _mapped(array: np.ndarray) -> np.ndarray:
    """The array in a file without a name, which vanishes with it, or with the process."""
    spill = Spill(array.dtype)
    spill.append(array)
    return spill.finish(array.shape)
