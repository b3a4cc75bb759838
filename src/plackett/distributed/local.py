"""Partitions in this process, for data in parts or larger than memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from plackett.data.queries import Queries
from plackett.distributed.loading import n_bytes
from plackett.distributed.tree_sum import add_up, leaf, root
from plackett.storage.mapped import Spill, is_mapped
from plackett.validation import is_sparse

IN_MEMORY_BYTES = 1 << 28  # further rows go to memory-mapped temporary files


class DelayedPart(NamedTuple):
    """A function and its arguments, called in the process that will hold the part."""

    make: Callable[..., Any]
    arguments: tuple


class LocalPartitions:
    """Loaded parts, later partitions, in this process; each is processed on all cores.

    Rows beyond ``IN_MEMORY_BYTES`` are kept in memory-mapped temporary files, which are deleted with this object.
    """

    def __init__(self, parts: Sequence[DelayedPart]):
        self._parts: list[Any] = []
        self._n_bytes = 0
        for part in parts:
            part = part.make(*part.arguments)
            part.queries = self._settled(part.queries)
            self._parts.append(part)

    def keep(self, places: Sequence[int]) -> None:
        """Drop all parts but those at these positions."""
        self._parts = [self._parts[place] for place in places]

    def replace(self, work: Callable[..., Any], *arguments: Any) -> None:
        """Replace each part by ``work(part, *arguments)``."""
        for place, part in enumerate(self._parts):
            before = part.queries.X
            changed = work(part, *arguments)
            if changed.queries.X is not before:
                changed.queries = self._settled(changed.queries)
            self._parts[place] = changed

    def map(self, work: Callable[..., Any], *arguments: Any) -> list:
        """Return ``work(part, *arguments)`` of each part."""
        return [work(part, *arguments) for part in self._parts]

    def sum(self, work: Callable[..., np.ndarray], *arguments: Any) -> np.ndarray:
        """Return the sum of ``work(part, *arguments)`` over all parts."""
        n = len(self._parts)
        sums: dict = {}
        for number, part in enumerate(self._parts):
            sums[leaf(number)] = work(part, *arguments)
            sums = add_up(sums, n)
        return sums[root(n)]

    def _settled(self, queries: Queries) -> Queries:
        """Return the queries, with rows in a memory-mapped file once the limit is reached."""
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
    """Return the array in an unlinked file, which is deleted with the array or the process."""
    spill = Spill(array.dtype)
    spill.append(array)
    return spill.finish(array.shape)
