"""NeuralNDCG: minus the NDCG of documents that are sorted approximately."""

from __future__ import annotations

from typing import Any

import numpy as np

from plackett import _native
from plackett.data.queries import QueryLists
from plackett.losses.gains import GainLoss
from plackett.metrics.discounts import discounts
from plackett.validation import check_choice, check_number, check_positive_int


class NeuralNDCG(GainLoss):
    """``−Σ_i (P G)_i / log2(1 + i)``: minus NDCG, of documents sorted by a smooth matrix P (Pobrotyn et al. 2021).

    Row i of P says which document takes position i. By NeuralSort it is the softmax over the documents j of
    ``((n + 1 − 2i) f_j − Σ_l |f_j − f_l|) / temperature``; Sinkhorn's iterations scale columns and rows in turn until
    both sum to 1. G are the gains divided by the ideal DCG. The slope is exact for the iterations that were made. It
    jumps where two scores are equal, by about 1e-6 with the default ``tol`` and not at all once the sums are 1:
    ``is_smooth`` is that of this limit. The loss is not convex. Reference: key ``pobrotyn2021``.

    A pass takes time O(n b max_iter), where b is the number of entries of a row of P above ``exp(-50)`` of its largest:
    n for scores that are nearly tied, and about the square root of ``temperature * n`` for scores that are not. Memory
    is O(n b) up to 128 MiB; rows of larger matrices are computed again in every iteration, with O(n max_iter) memory.

    Parameters
    ----------
    temperature : float, default=1
        Smaller values sort more strictly, and have slopes only between documents with close scores.
    k : int or None, default=None
        Cut-off of NDCG: positions after k do not count. None counts all.
    gain : {"exponential", "linear"}, array-like or callable, default="exponential"
        As for :class:`ApproxNDCG`.
    normalize : bool, default=True
        Divide the gains by the ideal DCG. With False and ``gain="linear"`` the loss is linear in the labels, which may
        be any real numbers, including negative ones.
    transposed : bool, default=False
        Scale the transposed matrix, so that columns come last: the sums over the positions of each document are exact,
        rather than those over the documents of each position. The two agree when the iterations have converged. (The
        transposed loss of allRank transposes after the scaling, which changes nothing.)
    max_iter : int, default=50
        Maximum number of scaling iterations.
    tol : float, default=1e-6
        Stop when no sum of a row or column differs more from 1.

    Examples
    --------
    >>> from plackett.losses import NeuralNDCG
    >>> import plackett as pk
    >>> queries = pk.Queries([[1], [2]], y=[1, 0])
    >>> value, slope = NeuralNDCG().value_and_slope([0.0, 0.0], queries)
    >>> round(value, 4), slope.round(4)  # each document takes each position by half: −(1 + 1/log2(3)) / 2
    (-0.8155, array([-0.0923,  0.0923]))
    """

    name = "neural-ndcg"
    is_convex = False

    def __init__(
        self,
        temperature: float = 1.0,
        k: int | None = None,
        gain: Any = "exponential",
        normalize: bool = True,
        transposed: bool = False,
        max_iter: int = 50,
        tol: float = 1e-6,
    ):
        self.temperature, self.k, self.gain, self.normalize = temperature, k, gain, normalize
        self.transposed, self.max_iter, self.tol = transposed, max_iter, tol

    def check_labels(self, lists: QueryLists) -> None:
        check_number(self.temperature, "temperature", above=0.0)
        if self.k is not None:
            check_positive_int(self.k, "k")
        check_positive_int(self.max_iter, "max_iter")
        check_number(self.tol, "tol", least=0.0)
        check_choice(self.transposed, "transposed", (False, True))
        self.gains(lists)

    def _compiled(self, lists: QueryLists) -> Any:
        longest = int(np.diff(lists.indptr).max(initial=0))
        return _native.losses.neural_ndcg(
            lists.indptr, self.gains(lists), discounts("log2", longest), float(self.temperature),
            longest if self.k is None else min(self.k, longest), bool(self.transposed), int(self.max_iter),
            float(self.tol),
        )  # fmt: skip
