"""Boosted trees with any loss of this library, grown by LightGBM."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from plackett.losses import get_loss
from plackett.losses.backends.trees import TreeObjective
from plackett.rankers.base import NO_LABELS
from plackett.rankers.monitor import FitMonitor
from plackett.rankers.trees.base import Lists
from plackett.rankers.trees.lightgbm import LightGBMTrees, current_scores
from plackett.validation import count_of

FARTHEST = 2.0  # max_delta_step on top of base scores; ordinary leaves stay below
LARGEST = float(np.finfo(np.float32).max)  # largest slope and curvature that LightGBM takes


class TreeRanker(LightGBMTrees):
    """Ranks by a sum of trees, which LightGBM grows to minimise a loss over judged lists.

    A tree is grown for the slope and the curvature of ``Σ_q s_q loss_q`` at the scores so far, with s_q the weight of a
    query (1 on average): a leaf moves its documents by ``-learning_rate * Σ slope / (Σ curvature + lambda_l2)``. The
    curvature is the exact diagonal of the second derivative, or a constant for losses without one
    (:mod:`plackett.losses.backends.trees`). Trees start at 0, or at the mean label for losses that depend on a constant
    added to all scores; so ``loss="squared"`` is LightGBM's own regression, tree by tree.

    On top of base scores a leaf moves its documents by at most ``2 * learning_rate`` (``max_delta_step=2`` unless
    another is given), except for losses that depend on such a constant. Scores that are far apart have almost no
    curvature, and leaves would otherwise be too large.

    Parameters
    ----------
    loss : str or Loss, default="listmle"
        A name of :func:`plackett.losses.loss_names`, such as ``"listmle"``, ``"softmax"`` or ``"lambdarank"``, or an
        object of :mod:`plackett.losses` with its own parameters; not a random loss.
    n_rounds : int or None, default=None
        Maximum number of trees. None: 300 with an ``eval_set``, which ends the fit earlier, and 100 without one.
    learning_rate : float, default=0.1
    num_leaves : int, default=7
        Small trees overfit least on sets of a few hundred queries; for thousands try 31 and more.
    min_data_in_leaf : int, default=20
    lambda_l2 : float, default=0.0
    patience : int or None, default=50
        With an ``eval_set``, the fit ends after this many trees without a better value of its measure; None never ends
        it early. The trees up to the best one are kept either way.
    random_state : int, default=0
        For random samples in LightGBM, such as the rows of ``bagging_fraction``.
    n_jobs : int or None, default=1
        Threads of LightGBM; None takes as many as this library does. The trees do not depend on it.
    verbose : bool, default=False
        Whether to show a progress bar on standard error.
    **others
        LightGBM's other parameters of tree growth, by its own names, such as ``bagging_fraction``,
        ``feature_fraction``, ``max_depth`` or ``min_sum_hessian_in_leaf`` (which is a sum of curvatures).

    Attributes
    ----------
    trees_ : FlatTrees
        The trees that were kept, as arrays; predicting, saving and loading do not need LightGBM.
    intercept_ : float
        Added to the sum of the trees.
    n_rounds_ : int
        Trees that were kept: those up to the best on the validation set, or all.
    n_iter_ : int
        Trees that were grown.
    stop_reason_ : str
        Why no further tree was grown, such as ``"n_rounds reached"`` or ``"no split improves the objective"``.
    history_ : dict of lists
        After every tree ``"objective"``, the mean loss of the training queries, and the validation measure.
    best_iteration_, best_score_ : int and float, or None without a validation set
        The number of trees with the best value of the validation measure, and that value.
    has_missing_ : bool
        Whether values were missing in the rows of ``fit``.
    has_base_, base_column_ : bool, and int or None
        Whether there were base scores, and the column of X that they are.
    n_queries_, feature_names_, first_index_, n_features_in_, feature_names_in_ : as in ``LinearRanker``
    categories_ : as in ``LinearRanker``

    Examples
    --------
    >>> from plackett import TreeRanker
    >>> import plackett as pk
    >>> data = pk.datasets.make_web_like(80, n_features=8, random_state=0)
    >>> ranker = TreeRanker(loss="listmle", n_rounds=20, num_leaves=7, bagging_fraction=0.8, bagging_freq=1)
    >>> ranker = ranker.fit(data[:60], eval_set=data[60:], eval_metric="err@10")
    >>> ranker.trees_.n_trees == ranker.best_iteration_
    True
    """

    takes_loss_objects = True

    def __init__(
        self,
        loss: Any = "listmle",
        n_rounds: int | None = None,
        learning_rate: float = 0.1,
        num_leaves: int = 7,
        min_data_in_leaf: int = 20,
        lambda_l2: float = 0.0,
        patience: int | None = 50,
        random_state: int = 0,
        n_jobs: int | None = 1,
        verbose: bool = False,
        **others: Any,
    ):
        super().__init__(
            n_rounds, learning_rate, num_leaves, min_data_in_leaf, lambda_l2,
            patience, random_state, n_jobs, verbose, **others,
        )  # fmt: skip
        self.loss = loss

    def _check_parameters(self) -> None:
        TreeObjective(get_loss(self.loss), NO_LABELS)  # checks the parameters of the loss
        super()._check_parameters()

    def _intercept(self, training: Lists) -> float:
        loss = get_loss(self.loss)
        if loss.ignores_shifts:
            return 0.0
        mean = float(np.average(training.queries.labels, weights=training.row_weights()))
        return 1.0 if loss.is_flat_at_zero and mean == 0.0 else mean

    def _objective(self, training: Lists, monitor: FitMonitor) -> tuple[dict[str, Any], Callable | None]:
        loss = get_loss(self.loss)
        if loss.is_flat_at_zero and training.start is not None and not training.start.any():
            raise ValueError(
                f"base_score is 0 for every row, where {loss!r} has no slope. Leave it out, or pass 1 for every row."
            )
        objective = TreeObjective(loss, training.queries, training.weights)
        self._values: dict[int, float] = {}  # mean loss by the number of trees

        def slope_and_curvature(scores: np.ndarray, _: Any) -> tuple[np.ndarray, np.ndarray]:
            value, slope, curvature = objective.evaluate(scores)
            if not (np.abs(slope).max() <= LARGEST and curvature.max() <= LARGEST):
                raise ValueError(
                    f"the slope of {loss!r} overflows in LightGBM after {count_of(monitor.n_iter, 'tree')}. "
                    "Lower learning_rate, or scale down the labels or the base scores."
                )
            self._values[monitor.n_iter] = value / training.queries.n_queries
            return slope, curvature

        is_bounded = loss.ignores_shifts and training.start is not None and "max_delta_step" not in vars(self)
        return {"objective": "none"} | ({"max_delta_step": FARTHEST} if is_bounded else {}), slope_and_curvature

    def _keep(self, training: Lists, monitor: FitMonitor) -> None:
        booster, values, n_trees = self.__dict__.get("_booster"), self.__dict__.pop("_values", {}), monitor.n_iter
        if booster is not None and n_trees and n_trees not in values:  # no tree was tried after the last
            objective = TreeObjective(get_loss(self.loss), training.queries, training.weights)
            value, _, _ = objective.evaluate(current_scores(booster.eval_train))
            values[n_trees] = value / training.queries.n_queries
        monitor.history = {"objective": [values[n] for n in range(1, n_trees + 1)], **monitor.history}
        super()._keep(training, monitor)
