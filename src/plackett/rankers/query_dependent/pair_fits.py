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

from plackett.rankers.query_dependent.margin_fits import Form, MarginFits, Pairs
from plackett.scorers.kernel import factor


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

    @property
    def size(self) -> int:
        return self.X.shape[1] ** 2

    def _form(self, pairs: Pairs) -> Form:
        return KernelForm(pairs, is_ordered=self.is_admm)

    def _bytes(self, n_pairs: int) -> tuple[int, str]:
        n = 2 * n_pairs if self.is_admm else n_pairs
        return 8 * n * n, f"kernel values of {n:,} {'ordered ' if self.is_admm else ''}pairs with each other"


class KernelForm(Form):
    """Signed values of a function at some pairs, in coefficients w of a factor ``K = Z Zᵀ`` of their kernel matrix.

    With the kernel's own coefficients α, values are ``K α`` and the penalty is ``αᵀ K α``; with ``w = Zᵀ α`` they are
    ``Z w`` and ``wᵀ w``.
    """

    def __init__(self, pairs: Pairs, *, is_ordered: bool):
        self.docs = pairs.rows
        K = pairs.rows @ pairs.rows.T
        if is_ordered:  # both orders of each pair, and an intercept
            self.n_free = 1
            self.first, self.second, signs, self.weights = pairs.in_both_orders
            Z, self.pivots = factor(product_kernel(K, self.first, self.second))
            self.rows = signs[:, None] * np.hstack([Z, np.ones((signs.size, 1))])
        else:
            self.first, self.second, self.weights = pairs.better, pairs.worse, pairs.weights
            self.rows, self.pivots = factor(antisymmetric_kernel(K, self.first, self.second))
            Z = self.rows
        self._triangle = Z[self.pivots]

    def to_model(self, coef: np.ndarray) -> np.ndarray:
        """Of all α with ``w = Zᵀ α``, the one that is 0 but at the pivots."""
        alpha = np.zeros(self.first.size)
        alpha[self.pivots] = self._solve(coef[: self.pivots.size], transposed=True)
        return bilinear(self.docs, self.first, self.second, alpha)

    def from_model(self, model: np.ndarray) -> np.ndarray:
        """The part of the model that lies in the space of these pairs: what agrees with it at the pivots."""
        coef = np.zeros(self.pivots.size + self.n_free)
        if model.any():
            B = model.reshape(self.docs.shape[1], -1)
            first, second = self.docs[self.first[self.pivots]], self.docs[self.second[self.pivots]]
            values = np.einsum("ti,ti->t", first @ B, second)
            coef[: self.pivots.size] = self._solve(values, transposed=False)
        return coef

    def _solve(self, right: np.ndarray, *, transposed: bool) -> np.ndarray:
        if right.size == 0:
            return right
        return solve_triangular(self._triangle, right, lower=True, trans=int(transposed), check_finite=False)


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
