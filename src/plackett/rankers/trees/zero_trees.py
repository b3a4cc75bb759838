"""Flat trees by which a 0 goes its own way, as XGBoost grows them on sparse rows, where it takes a 0 as missing."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from plackett import _native
from plackett._threads import deal
from plackett.rankers.trees.flat_trees import ROWS_PER_BLOCK, FlatTrees
from plackett.storage import models
from plackett.validation import is_sparse


@models.register
class ZeroTrees(FlatTrees):
    """A sum of regression trees in which every split says where a 0 goes, whatever the threshold.

    What single precision rounds to 0 is one.

    Attributes
    ----------
    zeros_left_ : ndarray of bool, of shape (n_nodes,)
        Whether a row whose feature is 0 goes left.
    """

    _of_nodes: ClassVar[dict[str, Any]] = {**FlatTrees._of_nodes, "zeros_left_": np.bool_}

    zeros_left_: np.ndarray

    def predict(self, X: Any, start: np.ndarray | float = 0.0) -> np.ndarray:
        """The sum over all trees for each row of a checked X, added to where it starts."""
        scores = np.full(X.shape[0], start, dtype=np.float64) if np.ndim(start) == 0 else np.array(start)
        arrays = (self.starts_, self.features_, self.thresholds_, self.left_, self.right_, self.values_)

        def work(first: int, last: int) -> None:
            if is_sparse(X):
                own = X.indptr[first : last + 1]
                _native.rankers.zero_tree_scores_sparse(
                    X.data, X.indices, own, X.shape[1], *arrays, self.zeros_left_, scores[first:last]
                )
            else:
                _native.rankers.zero_tree_scores(
                    np.ascontiguousarray(X[first:last]), *arrays, self.zeros_left_, scores[first:last]
                )

        deal(work, [(first, first + ROWS_PER_BLOCK) for first in range(0, X.shape[0], ROWS_PER_BLOCK)])
        return scores
