"""Sums over runs of a vector and along the label levels of queries, as PyTorch operations on any device.

Lists are not padded. There are no atomic additions, so that results are deterministic. Sums of exponentials are stored
as logarithms, which neither overflow nor cancel.
"""

from __future__ import annotations

import numpy as np
import torch

from plackett._arrays import part_of_place

NOTHING = -float("inf")  # the logarithm of an empty sum


class Runs:
    """Run ``r`` of a vector holds its entries ``offsets[r]:offsets[r + 1]``; runs may be empty."""

    def __init__(self, offsets: np.ndarray, device: torch.device):
        self._offsets = to_device(offsets, device)
        self._run_of_entry = to_index(part_of_place(offsets), device)

    def sums(self, values: torch.Tensor) -> torch.Tensor:
        return self._reduce("sum", values)

    def largest(self, values: torch.Tensor) -> torch.Tensor:
        return self._reduce("max", values)

    def _reduce(self, what: str, values: torch.Tensor) -> torch.Tensor:
        # As a column: for a vector, CUDA uses a whole block of threads per run, which takes up to 40 times as long for
        # short runs. Unsafe: a check of the offsets would wait for the device.
        return torch.segment_reduce(values[:, None], what, offsets=self._offsets, unsafe=True)[:, 0]

    def log_sums(self, logs: torch.Tensor) -> torch.Tensor:
        """Return the logarithm of the sum of exponentials of each run; −∞ for an empty run."""
        top = self.largest(logs)
        return self.sums((logs - self.spread(top)).exp_()).log_().add_(top)

    def spread(self, of_runs: torch.Tensor) -> torch.Tensor:
        """Return the value of its run for each entry."""
        return of_runs.index_select(0, self._run_of_entry)


class Chains:
    """The levels of each query as a chain, the best first: sums over all levels before or after one.

    Vectors hold one logarithm per level and a final −∞, to which the ends of the chains point. A sum over a chain of n
    levels takes log2 n steps, each of which doubles the number of levels that are summed.
    """

    def __init__(self, indptr: np.ndarray, device: torch.device):
        lengths = np.diff(indptr)
        n_levels = int(indptr[-1])
        firsts, lasts = np.repeat(indptr[:-1], lengths), np.repeat(indptr[1:], lengths)
        levels = np.arange(n_levels)
        self._before, self._after = [], []
        steps = 2 ** np.arange(max(int(lengths.max(initial=1)) - 1, 1).bit_length())
        for step in steps.tolist():
            before = np.where(levels - step >= firsts, levels - step, n_levels)
            after = np.where(levels + step < lasts, levels + step, n_levels)
            self._before.append(to_index(np.append(before, n_levels), device))
            self._after.append(to_index(np.append(after, n_levels), device))

    def up_to(self, logs: torch.Tensor) -> torch.Tensor:
        """Return log-sums over each level and those before it."""
        return _join(torch.logaddexp, logs, self._before)

    def from_on(self, logs: torch.Tensor) -> torch.Tensor:
        """Return log-sums over each level and those after it."""
        return _join(torch.logaddexp, logs, self._after)

    def largest_up_to(self, values: torch.Tensor) -> torch.Tensor:
        return _join(torch.maximum, values, self._before)

    def largest_from_on(self, values: torch.Tensor) -> torch.Tensor:
        return _join(torch.maximum, values, self._after)

    def of_before(self, logs: torch.Tensor) -> torch.Tensor:
        """Return the entry of the previous level; −∞ for the first of a query."""
        return logs.index_select(0, self._before[0])

    def of_after(self, logs: torch.Tensor) -> torch.Tensor:
        """Return the entry of the next level; −∞ for the last of a query."""
        return logs.index_select(0, self._after[0])


def _join(join, values: torch.Tensor, partners: list[torch.Tensor]) -> torch.Tensor:
    for partner in partners:
        values = join(values, values.index_select(0, partner))
    return values


class RankedLevels:
    """Documents in label order and their levels, on a device.

    ``order`` holds the row of each position, ``bounds`` the positions at which levels begin.
    """

    def __init__(self, order: np.ndarray, bounds: np.ndarray, chains: Chains, device: torch.device):
        self.chains = chains
        self.runs = Runs(np.append(bounds, bounds[-1]), device)  # an empty run at the end, with log-sum −∞
        self._row_of_place = to_index(order, device)
        place_of_row = np.empty_like(order)
        place_of_row[order] = np.arange(order.size, dtype=order.dtype)
        levels = part_of_place(bounds)
        self._place_of_row = to_index(place_of_row, device)
        self._level_of_row = to_index(levels[place_of_row], device)

    def ranked(self, of_rows: torch.Tensor) -> torch.Tensor:
        """Return values of rows in label order."""
        return of_rows.index_select(0, self._row_of_place)

    def to_rows(self, ranked: torch.Tensor) -> torch.Tensor:
        """Return values in label order in the order of the rows."""
        return ranked.index_select(0, self._place_of_row)

    def for_rows(self, of_levels: torch.Tensor) -> torch.Tensor:
        """Return the value of its level for each document, in the order of the rows."""
        return of_levels.index_select(0, self._level_of_row)


def to_device(values: np.ndarray, device: torch.device, dtype: torch.dtype | None = None) -> torch.Tensor:
    return torch.from_numpy(np.array(values)).to(device=device, dtype=dtype)


def to_index(places: np.ndarray, device: torch.device) -> torch.Tensor:
    """Return indices to gather from, as int32 if possible: they are read as often as the values."""
    largest = int(places.max(initial=0))
    return to_device(places.astype(np.int32 if largest < 2**31 - 1 else np.int64), device)
