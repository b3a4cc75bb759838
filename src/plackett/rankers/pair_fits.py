"""Models of target queries that are preferences between two documents, in the space of a product kernel.

The kernel of two pairs is ``k(x, z) k(x', z')``, as it is of ``"rbf"`` and ``"laplacian"`` kernels of concatenated
documents. With features such that ``k(x, z) = φ(x)·φ(z)``, preferences are ``f(x, x') = φ(x)ᵀ B φ(x') + c`` and the
penalty is the squared length of B. Both orders of a pair count half, so that swapping documents and sign, ``-Bᵀ`` for B
and ``-c`` for c, changes nothing in the objective: it has a minimum at an antisymmetric B and c = 0. Among
antisymmetric functions the kernel is

    ½ [k(a, a') k(b, b') - k(a, b') k(b, a')]

for pairs (a, b) and (a', b'), and each pair has to be met in one order only, with its full weight.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from plackett.rankers.margin_fits import Form, MarginFits, Pairs
from plackett.solvers.margins import MarginProblem
from plackett.solvers.whitening import Whitening, factor, whiten


class PairFits(MarginFits):
    """As ``LocalFits``, for preferences ``f(x, x') = x·B x'`` with an antisymmetric B.

    The coefficients of a model are those of B, row by row.

    Parameters
    ----------
    X : ndarray of shape (n_docs, n_features)
        Features of documents, whose products are kernel values.
    labels, indptr, shares : as in ``LocalFits``
    is_admm : bool, default=False
        The problem as it is printed in Dai and Wang (2019, §3.2): both orders of each pair, an intercept, inexact ADMM.
    max_bytes : float
        Largest matrix of kernel values between pairs.
    """

    def __init__(
        self,
        X: np.ndarray,
        labels: np.ndarray,
        indptr: np.ndarray,
        shares: np.ndarray | None = None,
        *,
        is_admm: bool = False,
        max_bytes: float = np.inf,
    ):
        super().__init__(X, labels, indptr, shares, is_pair=True, is_admm=is_admm, max_bytes=max_bytes)

    @property
    def size(self) -> int:
        return self.X.shape[1] ** 2

    def _form(self, pairs: Pairs) -> Form:
        return OrderedForm(pairs) if self.is_admm else AntisymmetricForm(pairs)

    def _bytes(self, n_pairs: int) -> tuple[int, str]:
        n = 2 * n_pairs if self.is_admm else n_pairs
        return 8 * n * n, f"kernel values of {n:,} {'ordered ' if self.is_admm else ''}pairs with each other"


class AntisymmetricForm(Form):
    """Each pair once, in coefficients w of a factor ``K = Z Zᵀ`` of the kernel matrix above."""

    def __init__(self, pairs: Pairs):
        self.pairs, self.weights = pairs, pairs.weights
        self.rows, pivots = factor(antisymmetric_kernel(pairs.rows @ pairs.rows.T, pairs.better, pairs.worse))
        self.whitening = Whitening(self.rows, pivots, pivots[:0], pairs.n)

    def to_model(self, coef: np.ndarray) -> np.ndarray:
        return bilinear(self.pairs.rows, self.pairs.better, self.pairs.worse, self.whitening.to_coef(coef))

    def from_model(self, model: np.ndarray) -> np.ndarray:
        return projected(self.pairs.rows, self.pairs.better, self.pairs.worse, self.whitening, model)


class OrderedForm(Form):
    """Both orders of each pair, the kernel matrix between all of them and an intercept, as printed; then whitened."""

    def __init__(self, pairs: Pairs):
        self.pairs = pairs
        self.first, self.second, signs, self.weights = pairs.in_both_orders
        kernel = product_kernel(pairs.rows @ pairs.rows.T, self.first, self.second)
        rows = np.hstack([signs[:, None] * kernel, signs[:, None]])
        printed = MarginProblem(rows, self.weights, 1.0, kernel=kernel, n_free=1)
        whitened, self.whitening = whiten(printed)
        self.rows, self.n_free = whitened.rows, whitened.n_free

    def to_model(self, coef: np.ndarray) -> np.ndarray:
        alpha = self.whitening.to_coef(coef)[:-1]
        return bilinear(self.pairs.rows, self.first, self.second, alpha)

    def from_model(self, model: np.ndarray) -> np.ndarray:
        start = np.zeros(self.rows.shape[1])
        held = projected(self.pairs.rows, self.first, self.second, self.whitening, model)
        start[: held.size] = held
        return start


def product_kernel(K: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Kernel values between ordered pairs of documents, from those between documents."""
    values = K[np.ix_(first, first)]
    values *= K[np.ix_(second, second)]
    return values


def antisymmetric_kernel(K: np.ndarray, better: np.ndarray, worse: np.ndarray) -> np.ndarray:
    """The same in the space of antisymmetric functions."""
    values = product_kernel(K, better, worse)
    crossed = K[np.ix_(better, worse)]
    values -= crossed * crossed.T
    values *= 0.5
    return values


def bilinear(rows: np.ndarray, first: np.ndarray, second: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """The antisymmetric part of ``Σ α φ(a) φ(b)ᵀ`` over pairs (a, b), flat."""
    S = np.zeros((len(rows), len(rows)))
    np.add.at(S, (first, second), alpha)
    return (rows.T @ (0.5 * (S - S.T)) @ rows).reshape(-1)


def projected(
    rows: np.ndarray, first: np.ndarray, second: np.ndarray, whitening: Whitening, model: np.ndarray
) -> np.ndarray:
    """The part of a model that lies in the space of some pairs: what agrees with it at the pivots."""
    Z, pivots, *_ = whitening
    if not model.any() or not pivots.size:
        return np.zeros(pivots.size)
    B = model.reshape(rows.shape[1], -1)
    values = np.einsum("ti,ti->t", rows[first[pivots]] @ B, rows[second[pivots]])
    return solve_triangular(Z[pivots], values, lower=True, check_finite=False)
