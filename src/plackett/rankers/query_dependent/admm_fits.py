"""Models of target queries by inexact ADMM, the method of Dai and Wang (2019, §3.2), for functions linear in features.

With a kernel the features Z are such that ``K = Z Zᵀ``: coefficients w and the kernel's own α belong together as
``w = Zᵀ α``, and the penalty ``αᵀ K α`` is the squared length of w.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from plackett.rankers.query_dependent.margin_fits import Form, MarginFits, Pairs

VECTORS = 16  # with one number for each pair that ADMM holds, about


class AdmmFits(MarginFits):
    """As ``LocalFits``, and up to the tolerance with the same answers; far slower.

    Score functions have margins ``w·(x_i - x_j)``. Preferences are taken literally: both orders of a pair count half,
    ``f(x, x') = u·x + v·x' + c`` with all of u, v and c looked for. The coefficients given back are ½ (u - v), of
    which the scores are made: the rest of f is the same for all documents of a list.

    Parameters
    ----------
    X, labels, indptr, shares, is_pair : as in ``LocalFits``
    max_bytes : float
        Largest array that is made for one target.
    """

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, is_admm=True, **options)

    def _form(self, pairs: Pairs) -> Form:
        return PreferenceForm(pairs) if self.is_pair else ScoreForm(pairs)

    def _bytes(self, n_pairs: int) -> tuple[int, str]:
        if self.is_pair:  # an intercept has ADMM write the rows out
            n_columns = 2 * self.X.shape[1] + 1
            return 16 * n_pairs * n_columns, f"{2 * n_pairs:,} ordered pairs with {n_columns:,} columns"
        return 8 * VECTORS * n_pairs, f"{VECTORS} numbers for each of {n_pairs:,} pairs"


class ScoreForm(Form):
    """Margins ``w·(x_i - x_j)``, of which only products are computed: through the scores of the documents."""

    def __init__(self, pairs: Pairs):
        self.pairs, self.weights, self.rows = pairs, pairs.weights, self
        self.shape = pairs.n, pairs.rows.shape[1]

    def times(self, coef: np.ndarray) -> np.ndarray:
        scores = self.pairs.rows @ coef
        return scores[self.pairs.better] - scores[self.pairs.worse]

    def back(self, pulls: np.ndarray) -> np.ndarray:
        n_docs = len(self.pairs.rows)
        up = np.bincount(self.pairs.better, pulls, minlength=n_docs)
        return self.pairs.rows.T @ (up - np.bincount(self.pairs.worse, pulls, minlength=n_docs))

    def to_model(self, coef: np.ndarray) -> np.ndarray:
        return coef

    def from_model(self, model: np.ndarray) -> np.ndarray:
        return model


class PreferenceForm(Form):
    """Margins ``±(u·x + v·x' + c)`` of both orders of each pair."""

    n_free = 1

    def __init__(self, pairs: Pairs):
        first, second, signs, self.weights = pairs.in_both_orders
        rows = np.hstack([pairs.rows[first], pairs.rows[second], np.ones((signs.size, 1))])
        rows *= signs[:, None]
        self.rows = rows

    def to_model(self, coef: np.ndarray) -> np.ndarray:
        u, v = np.split(coef[:-1], 2)
        return 0.5 * (u - v)

    def from_model(self, model: np.ndarray) -> np.ndarray:
        return np.concatenate([model, -model, [0.0]])
