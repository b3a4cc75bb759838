"""All pairs of documents of a list, as PyTorch operations on batches of lists of about the same length.

Lists are padded here, by less than a third. A batch holds at most ``MOST_PAIRS`` pairs, or one list. Matrices of pairs
are made for some rows at a time, so that the memory does not grow with the length of the lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch

from plackett.data.queries import QueryLists
from plackett.losses.backends.segments import to_device

MOST_PAIRS = 2**23
LEAST_SHARE = 0.75  # of the longest list of a batch


class Batch(NamedTuple):
    """Lists as rows of a matrix: the index of each document, and whether there is one."""

    rows: torch.Tensor
    mask: torch.Tensor

    def padded(self, values: torch.Tensor) -> torch.Tensor:
        return torch.where(self.mask, values[self.rows], 0.0)

    @property
    def sizes(self) -> torch.Tensor:
        return self.mask.sum(1, keepdim=True)

    def some_rows(self) -> Iterator[slice]:
        """Slices of the documents of each list whose pairs with all documents are few enough."""
        n_lists, longest = self.mask.shape
        step = max(MOST_PAIRS // (n_lists * longest), 1)
        return (slice(start, start + step) for start in range(0, longest, step))


class Batches:
    """The lists in batches, and the place of each document among the entries of all batches."""

    def __init__(self, lists: QueryLists, device: torch.device):
        sizes = np.diff(lists.indptr)
        by_size = np.argsort(-sizes, kind="stable")
        by_size = by_size[sizes[by_size] > 0]
        place_of_row = np.empty(lists.n_docs, dtype=np.int64)
        self.batches: list[Batch] = []
        first = n_places = 0
        while first < by_size.size:
            longest = int(sizes[by_size[first]])
            most = max(MOST_PAIRS // longest**2, 1)
            last = first + int(np.count_nonzero(sizes[by_size[first : first + most]] >= LEAST_SHARE * longest))
            queries = by_size[first:last]
            mask = np.arange(longest) < sizes[queries, None]
            rows = np.where(mask, lists.indptr[queries, None] + np.arange(longest), 0)
            place_of_row[rows[mask]] = n_places + np.flatnonzero(mask)
            self.batches.append(Batch(to_device(rows, device), to_device(mask, device)))
            first, n_places = last, n_places + mask.size
        self._place_of_row = to_device(place_of_row, device)

    def map(self, work: Callable[[Batch], tuple[torch.Tensor, ...]]) -> tuple[torch.Tensor, ...]:
        """Return what ``work`` returns for each batch, matrices of the shape of its rows, as values of rows."""
        found = [[matrix.reshape(-1) for matrix in work(batch)] for batch in self.batches]
        return tuple(torch.cat(parts)[self._place_of_row] for parts in zip(*found, strict=True))


def in_batches(lists: QueryLists, device: torch.device) -> Batches:
    """Return the lists in batches, cached on the lists."""
    return lists.keep(("torch", "batches", device), lambda: Batches(lists, device))


# ---- approximate ranks ------------------------------------------------------------------------------------------


def approximate_ranks(batch: Batch, scores: torch.Tensor, alpha: float) -> torch.Tensor:
    """Return 1 + Σ 1/(1 + exp(alpha (f_i − f_j))) over the other documents j; a document counts ½ for itself."""
    parts = [
        (torch.sigmoid(alpha * (scores[:, None, :] - scores[:, some, None])) * batch.mask[:, None, :]).sum(2)
        for some in batch.some_rows()
    ]
    return 0.5 + torch.cat(parts, 1)


def pull_back(batch: Batch, scores: torch.Tensor, alpha: float, by_rank: torch.Tensor) -> torch.Tensor:
    """Return alpha Σ_j (c_j − c_i) w_ij, the slope by the scores for the derivatives c by the ranks."""
    parts = []
    for some in batch.some_rows():
        gap = alpha * (scores[:, None, :] - scores[:, some, None])
        weight = torch.sigmoid(gap) * torch.sigmoid(-gap) * batch.mask[:, None, :]
        parts.append((weight * (by_rank[:, None, :] - by_rank[:, some, None])).sum(2))
    return alpha * torch.cat(parts, 1)


def precisions(batch: Batch, ranks: torch.Tensor, relevant: torch.Tensor, beta: float) -> tuple[torch.Tensor, ...]:
    """Return the number of relevant documents up to each relevant one, and the derivative of Σ that / rank by it."""
    found, pulls = [], []
    for some in batch.some_rows():
        gap = beta * (ranks[:, some, None] - ranks[:, None, :])
        others = relevant[:, None, :]
        before = torch.sigmoid(gap)
        found.append(0.5 + (before * others).sum(2))
        apart = 1.0 / ranks[:, some, None] - 1.0 / ranks[:, None, :]
        pulls.append(beta * (before * torch.sigmoid(-gap) * apart * others).sum(2))
    return torch.cat(found, 1), torch.cat(pulls, 1)


# ---- NeuralSort -------------------------------------------------------------------------------------------------


def neural_ndcg(loss: Any, batch: Batch, scores: torch.Tensor, gains: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Return the term of each position and the slope of each document of NeuralNDCG.

    Names are those of ``_native/losses/smooth/neural_sort.hpp``. Lists that have converged keep their vectors.
    """
    scores, order = scores.masked_fill(~batch.mask, -torch.inf).sort(dim=1, descending=True, stable=True)
    scores, gains = scores.masked_fill(~batch.mask, 0.0), gains.gather(1, order)
    K = _matrix(batch, scores, loss.temperature)
    places = torch.arange(scores.shape[1], device=scores.device)
    discount = torch.where(batch.mask, 1.0 / torch.log2(places.double() + 2.0).to(scores.dtype), 0.0)
    if loss.k is not None:
        discount[:, loss.k :] = 0.0
    steps = _scale(batch, K, loss)
    u, v = steps[-1].u, steps[-1].v
    weighted = v * gains
    sorted_gains = _times(K, weighted)
    terms = -discount * u * sorted_gains

    by_u, by_v = -discount * sorted_gains, -gains * _times_transposed(K, discount * u)
    lefts, rights = [-discount * u], [weighted]
    for before, step in zip(steps[-2::-1], steps[:0:-1], strict=True):
        rows = torch.where(step.has_row, -by_u * step.u * step.u, 0.0)
        by_u = torch.where(step.has_row, 0.0, by_u)
        by_v = by_v + _times_transposed(K, rows)
        columns = torch.where(step.has_column, -by_v * step.v * step.v, 0.0)
        by_v = torch.where(step.has_column, 0.0, by_v)
        by_u = by_u + _times(K, columns)
        lefts += [rows, before.u]
        rights += [step.v, columns]
    left, right = torch.stack(lefts, 2), torch.stack(rights, 1)

    slope, by_distance = torch.zeros_like(scores), torch.zeros_like(scores)
    position = (batch.sizes - 1 - 2 * places).to(scores.dtype)
    for some in batch.some_rows():
        entries = K[:, some]
        pulls = torch.bmm(left[:, some], right)
        pulls = entries * (pulls - (entries * pulls).sum(2, keepdim=True)) / loss.temperature
        slope += (pulls * position[:, some, None]).sum(1)
        by_distance -= pulls.sum(1)
    for some in batch.some_rows():
        signs = torch.sign(scores[:, some, None] - scores[:, None, :]) * batch.mask[:, None, :]
        slope[:, some] += signs.sum(2) * by_distance[:, some] + _times(signs, by_distance)
    return terms, torch.empty_like(slope).scatter_(1, order, slope)


class _Step(NamedTuple):
    """The vectors after an iteration, and which lists have scaled their columns and rows in it."""

    u: torch.Tensor
    v: torch.Tensor
    has_column: torch.Tensor
    has_row: torch.Tensor


def _scale(batch: Batch, K: torch.Tensor, loss: Any) -> list[_Step]:
    mask, dtype = batch.mask, K.dtype
    u = mask.to(dtype)
    v = torch.zeros_like(u)
    is_active = mask.any(1, keepdim=True)
    steps = [_Step(u, v, is_active, is_active)]
    for t in range(1, loss.max_iter + 1):
        has_column = is_active
        sums = _times_transposed(K, u)
        v = torch.where(has_column & mask, 1.0 / sums.masked_fill(~mask, 1.0), v)
        sums = _times(K, v)
        if loss.transposed:
            error = ((u * sums - 1.0) * mask).abs().amax(1, keepdim=True)
            is_active = is_active & ~(error < loss.tol) & (t < loss.max_iter)
            has_row = is_active
        else:
            has_row = has_column
        u = torch.where(has_row & mask, 1.0 / sums.masked_fill(~mask, 1.0), u)
        if not loss.transposed:
            error = ((v * _times_transposed(K, u) - 1.0) * mask).abs().amax(1, keepdim=True)
            is_active = is_active & ~(error < loss.tol)
        steps.append(_Step(u, v, has_column, has_row))
    return steps


def _matrix(batch: Batch, scores: torch.Tensor, temperature: float) -> torch.Tensor:
    """Return NeuralSort's matrix of sorted scores; exponents in double precision, as they are differences of sums."""
    places = torch.arange(scores.shape[1], device=scores.device)
    sizes, exact = batch.sizes, scores.double()
    exact = torch.where(batch.mask, exact - exact.sum(1, keepdim=True) / sizes, 0.0)
    up_to = exact.cumsum(1)
    distances = (up_to - (places + 1) * exact) + (sizes - 1 - places) * exact - (up_to[:, -1:] - up_to)
    K = scores.new_empty((*scores.shape, scores.shape[1]))
    for some in batch.some_rows():
        exponents = (
            (sizes - 1 - 2 * places[some])[:, :, None] * exact[:, None, :] - distances[:, None, :]
        ) / temperature
        shares = exponents.masked_fill_(~batch.mask[:, None, :], -torch.inf).softmax(2)
        K[:, some] = torch.where(batch.mask[:, some, None], shares, 0.0).to(scores.dtype)
    return K


def _times(matrix: torch.Tensor, vector: torch.Tensor) -> torch.Tensor:
    return torch.bmm(matrix, vector[:, :, None])[:, :, 0]


def _times_transposed(matrix: torch.Tensor, vector: torch.Tensor) -> torch.Tensor:
    return torch.bmm(vector[:, None, :], matrix)[:, 0]
