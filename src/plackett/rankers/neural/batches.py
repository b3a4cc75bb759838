"""Batches of whole queries for a net: rows of its type on its device, and their lists."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from plackett._arrays import bounds, ranges
from plackett._threads import query_blocks
from plackett.data.queries import Levels, QueryLists
from plackett.scorers.neural import Net, Stacks, stack_lists
from plackett.validation import is_sparse

DOCS_PER_BLOCK = 32_768  # processed at a time where all queries are in one batch, which bounds the memory
SHARE_FOR_ROWS = 0.5  # of a device's free memory, up to which all rows stay there


@dataclass(frozen=True)
class Batch:
    """Queries as a net and a loss take them."""

    X: torch.Tensor
    stacks: Stacks | None
    lists: QueryLists
    weights: np.ndarray | None


def _room(device: torch.device) -> float:
    return SHARE_FOR_ROWS * torch.cuda.mem_get_info(device)[0]


def _tensor(X: Any, net: Net) -> torch.Tensor:
    dense = X.toarray() if is_sparse(X) else np.ascontiguousarray(X)
    if not dense.flags.writeable:  # PyTorch has no read-only tensors
        dense = dense.copy()
    return torch.from_numpy(dense).to(device=net.device, dtype=net.dtype)


class TrainingData:
    """The queries of a fit and their weights; rows are kept in the memory of an accelerator if they fit."""

    def __init__(self, X: Any, lists: QueryLists, weights: np.ndarray | None, net: Net):
        self.lists, self._net, self._X = lists, net, X
        self._resident: torch.Tensor | None = None
        if net.device.type == "cuda" and not is_sparse(X) and X.size * net.dtype.itemsize < _room(net.device):
            self._resident = _tensor(X, net)
        self._weights = None if weights is None else weights * (weights.size / weights.sum())  # 1 on average
        self._bounds = query_blocks(lists.indptr, DOCS_PER_BLOCK)
        self._parts = [lists.part(first, last, lists.rng) for first, last in self._bounds]

    @property
    def n_queries(self) -> int:
        return self.lists.n_queries

    def batch(self, queries: np.ndarray) -> Batch:
        rows, lists = take_queries(self.lists, queries)
        if self._resident is None:
            X = _tensor(self._X[rows], self._net)
        else:
            X = self._resident.index_select(0, torch.from_numpy(rows).to(self._net.device))
        return self._batch(X, lists, None if self._weights is None else self._weights[queries])

    def blocks(self) -> Iterator[Batch]:
        """Yield all queries, a block at a time; lists are the same objects at every call, as they cache results."""
        for (first, last), lists in zip(self._bounds, self._parts, strict=True):
            rows = slice(int(self.lists.indptr[first]), int(self.lists.indptr[last]))
            X = _tensor(self._X[rows], self._net) if self._resident is None else self._resident[rows]
            yield self._batch(X, lists, None if self._weights is None else self._weights[first:last])

    def _batch(self, X: torch.Tensor, lists: QueryLists, weights: np.ndarray | None) -> Batch:
        stacks = stack_lists(lists.indptr, self._net.device) if self._net.shape.attention else None
        return Batch(X, stacks, lists, weights)


def scores_of(net: Net, X: Any, indptr: np.ndarray) -> np.ndarray:
    """Return the scores of all rows, computed a block of whole queries at a time."""
    scores = np.empty(X.shape[0])
    with torch.no_grad():
        for first, last in query_blocks(indptr, DOCS_PER_BLOCK):
            rows = slice(int(indptr[first]), int(indptr[last]))
            part = indptr[first : last + 1] - indptr[first]
            stacks = stack_lists(part, net.device) if net.shape.attention else None
            scores[rows] = net.scores(_tensor(X[rows], net), stacks).cpu().numpy()
    return scores


def take_queries(lists: QueryLists, queries: np.ndarray) -> tuple[np.ndarray, QueryLists]:
    """Return the rows of these queries, one query after the other, and their lists.

    The label order is taken from that of all queries: nothing is sorted again.
    """
    indptr = bounds(np.diff(lists.indptr)[queries])
    rows = ranges(lists.indptr[queries], np.diff(indptr))
    taken = QueryLists(lists.labels[rows], indptr, lists.rng)
    moved = np.repeat(indptr[:-1] - lists.indptr[queries], np.diff(indptr))
    taken.order = lists.order[rows] + moved  # the order of a query holds the numbers of its rows
    level_indptr = bounds(np.diff(lists.levels.indptr)[queries])
    levels = ranges(lists.levels.indptr[queries], np.diff(level_indptr))
    shifts = np.repeat(indptr[:-1] - lists.indptr[queries], np.diff(level_indptr))
    taken.levels = Levels(np.append(lists.levels.bounds[levels] + shifts, indptr[-1]), level_indptr)
    return rows, taken
