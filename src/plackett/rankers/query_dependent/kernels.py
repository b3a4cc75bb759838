"""Similarities of queries by categorical features and by rankings of the same items.

All are between 0 and 1, and 1 between a query and itself, so their product is a weight of queries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from plackett._parameters import Parameters
from plackett.data.grouping import as_objects, is_missing
from plackett.validation import check_number, plain


class Overlap(Parameters):
    """Similarity of categories: 1 where they are equal and ``off`` where they are not.

    Missing values (None, NaN) are one category. A category that was not in training equals no other.

    Parameters
    ----------
    off : float, default=0.0
        Between 0 and 1.
    """

    def __init__(self, off: float = 0.0):
        self.off = off

    def check(self) -> None:
        if check_number(self.off, "off", least=0.0) > 1.0:
            raise ValueError(f"off={plain(self.off)!r}; unequal categories cannot be more similar than equal ones (1).")

    def levels(self, cells: list, where: str) -> np.ndarray:
        """Return the categories in order of appearance."""
        return as_objects(list(dict.fromkeys(_category(cell, where) for cell in cells)))

    def code(self, cells: list, levels: np.ndarray | None, where: str) -> np.ndarray:
        """Return categories as numbers; -1 for one that is not among ``levels``."""
        assert levels is not None
        places = {level: place for place, level in enumerate(levels.tolist())}
        return np.array([places.get(_category(cell, where), -1) for cell in cells], dtype=np.int64)

    def similarity(self, targets: np.ndarray, queries: np.ndarray) -> np.ndarray:
        """Return the similarities between encoded targets (rows) and encoded training queries (columns)."""
        return np.where(targets[:, None] == queries[None, :], 1.0, float(self.off))


class RankingKernel(Parameters):
    """Base of the similarities of cells that hold ranks or scores of the same items, in the same order."""

    def check(self) -> None:
        pass

    def levels(self, cells: list, where: str) -> np.ndarray | None:
        return None

    def code(self, cells: list, levels: np.ndarray | None, where: str) -> np.ndarray:
        """Return rankings as a matrix, one row per query."""
        try:
            rankings = np.array([np.asarray(cell, dtype=np.float64) for cell in cells])
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"{where} must hold rankings: in each cell one rank or score per item, of equal length ({error})."
            ) from error
        if rankings.ndim != 2 or rankings.shape[1] < 1:
            raise ValueError(f"{where} must hold rankings: in each cell one rank or score per item, not {cells[0]!r}.")
        missing = np.isnan(rankings)
        if missing.any():
            row = int(np.argmax(missing.any(axis=1)))
            raise ValueError(f"{where} has a NaN in the ranking of query {row}. Rank every item; items may tie.")
        return rankings


class Kendall(RankingKernel):
    """Similarity of rankings: (C - D) / (C + D), or 0 if that is negative.

    C and D count the pairs of items that both rankings put in the same and in opposite orders; pairs that tie in either
    ranking are ignored. The similarity of two rankings that tie all items is 1, and that of one of them and any other
    ranking is 0.
    """

    def similarity(self, targets: np.ndarray, queries: np.ndarray) -> np.ndarray:
        agreeing, opposed = count_pairs(targets, queries)
        counted = agreeing + opposed
        is_tied = (np.ptp(targets, axis=1) == 0)[:, None] & (np.ptp(queries, axis=1) == 0)[None, :]
        share = np.divide(agreeing - opposed, counted, out=is_tied.astype(np.float64), where=counted > 0)
        return np.maximum(share, 0.0)


class Mallows(RankingKernel):
    """Similarity of rankings: exp(-bandwidth · D), with D the number of pairs of items in opposite orders.

    Parameters
    ----------
    bandwidth : float, default=1.0
        Positive. D may be as large as m(m - 1) / 2 for m items.
    """

    def __init__(self, bandwidth: float = 1.0):
        self.bandwidth = bandwidth

    def check(self) -> None:
        check_number(self.bandwidth, "bandwidth", above=0.0)

    def similarity(self, targets: np.ndarray, queries: np.ndarray) -> np.ndarray:
        _, opposed = count_pairs(targets, queries)
        with np.errstate(under="ignore"):
            return np.exp(-self.bandwidth * opposed)


KERNELS: dict[str, Callable[[], Any]] = {"overlap": Overlap, "kendall": Kendall, "mallows": Mallows}


def get_kernel(kernel: Any) -> Any:
    """Return the kernel with this name, or the given object after a check."""
    if isinstance(kernel, str):
        if kernel not in KERNELS:
            known = ", ".join(map(repr, KERNELS))
            raise ValueError(f"kernel {kernel!r} of query features is not known; choose one of {known}.")
        return KERNELS[kernel]()
    if not isinstance(kernel, (Overlap, RankingKernel)):
        raise ValueError(f"kernel {kernel!r} of query features must be a name, Overlap, Kendall or Mallows.")
    kernel.check()
    return kernel


def count_pairs(one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of pairs in the same and in opposite orders, between the rankings of ``one`` and ``other``.

    Both have one column per item. The order of a pair is a sign, so C - D is the product of two matrices of signs
    and C + D that of their absolute values. Each item is compared with all that follow it at once.
    """
    agreement = np.zeros((one.shape[0], other.shape[0]))
    counted = np.zeros_like(agreement)
    for item in range(one.shape[1] - 1):
        first, second = _orders(one, item), _orders(other, item)
        agreement += first @ second.T
        counted += abs(first) @ abs(second).T
    return (counted + agreement) / 2, (counted - agreement) / 2


def _orders(rankings: np.ndarray, item: int) -> np.ndarray:
    """Return 1 if an item after ``item`` has the larger value, -1 if the smaller one, 0 if they tie."""
    rest, own = rankings[:, item + 1 :], rankings[:, item, None]
    return (rest > own).astype(np.float64) - (rest < own)  # a difference of infinite scores would be NaN


def _category(cell: Any, where: str) -> Any:
    if is_missing(cell):
        return None
    try:
        hash(cell)
    except TypeError as error:
        raise ValueError(
            f"{where} holds a {type(cell).__name__}, which is not a category ({error}). Categories are text, numbers "
            'or tuples; for rankings choose "kendall" or "mallows".'
        ) from error
    return plain(cell)
