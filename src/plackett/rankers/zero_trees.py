"""Flat trees by which a 0 goes its own way, as XGBoost grows them on sparse rows, where it takes a 0 as missing."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from plackett import persistence
from plackett._threads import deal
from plackett.rankers import _zero_trees
from plackett.rankers.flat_trees import ROWS_PER_BLOCK, FlatTrees


@persistence.register
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
        from scipy import sparse

        scores = np.full(X.shape[0], start, dtype=np.float64) if np.ndim(start) == 0 else np.array(start)
        ways = (self.starts_, self.features_, self.thresholds_, self.left_, self.right_, self.zeros_left_)

        def work(first: int, last: int) -> None:
            rows = sparse.csr_array(X[first:last])  # dense ones too: one kernel does
            _zero_trees.add_scores_sparse(
                rows.data, rows.indices, rows.indptr, np.zeros(X.shape[1]), *ways, self.values_, scores[first:last]
            )

        deal(work, [(first, first + ROWS_PER_BLOCK) for first in range(0, X.shape[0], ROWS_PER_BLOCK)])
        return scores
