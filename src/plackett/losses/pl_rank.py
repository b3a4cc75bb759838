"""PL-Rank: the expected DCG of rankings that are sampled from the scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from plackett import _native
from plackett.data.queries import QueryLists
from plackett.losses.gains import GainLoss
from plackett.metrics.discounts import discounts
from plackett.validation import check_positive_int, check_seed


class PLRank(GainLoss):
    """Minus the expected DCG@k of rankings drawn from the scores by Plackett-Luce, by PL-Rank-3 (Oosterhuis 2022).

    Rankings are drawn by sorting ``f + Gumbel noise``. The value is minus the mean DCG of ``n_samples`` rankings, and
    the slope an unbiased estimate of the gradient of the expectation. It is not the derivative of the value, which
    changes in steps: fit with ``solver="sgd"``, trees or a net.

    The noise is a function of the seed, the labels of the query, and the positions of its documents by label and score.
    It stays the same for a whole fit and does not depend on threads or the order of rows. Queries with the same labels
    share it. The cost is O(N (n + k log n)) for N samples, besides one sort.

    Parameters
    ----------
    k : int or None, default=10
        Cut-off of DCG. None counts all positions.
    n_samples : int, default=100
        Rankings that are drawn for each query.
    gain : {"exponential", "linear"}, array-like or callable, default="exponential"
        ``2**label - 1``, the label, the gains of the labels 0, 1, 2, …, or a function of the array of labels.
    normalize : bool, default=True
        Whether gains are divided by the ideal DCG@k of the query. With ``gain="linear"`` and False, labels may be any
        real numbers.
    seed : int, default=0

    Examples
    --------
    >>> from plackett.losses import PLRank
    >>> import plackett as pk
    >>> value, slope = PLRank(n_samples=10_000).value_and_slope([0.0, 0.0], pk.Queries([[1], [2]], y=[1, 0]))
    >>> round(value, 2), slope.round(2)  # (1 + 1/log2 3) / 2; a quarter of 1 − 1/log2 3
    (-0.82, array([-0.09,  0.09]))
    """

    name = "pl-rank"
    is_convex = False
    is_smooth = False

    def __init__(
        self, k: int | None = 10, n_samples: int = 100, gain: Any = "exponential", normalize: bool = True, seed: int = 0
    ):
        self.k, self.n_samples, self.gain, self.normalize, self.seed = k, n_samples, gain, normalize, seed

    def check_labels(self, lists: QueryLists) -> None:
        if self.k is not None:
            check_positive_int(self.k, "k")
        check_positive_int(self.n_samples, "n_samples")
        check_seed(self.seed, "seed")
        self.gains(lists)

    def _compiled(self, lists: QueryLists) -> Any:
        longest = int(np.diff(lists.indptr).max(initial=1))
        weights = discounts("log2", longest if self.k is None else min(self.k, longest))
        return _native.losses.pl_rank(
            lists.indptr, lists.order, *lists.levels, lists.labels, self.gains(lists), weights,
            int(self.n_samples), int(self.seed),
        )  # fmt: skip
