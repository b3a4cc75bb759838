"""The ranker by boosted trees: any loss of this library, minimised by LightGBM's trees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from plackett.data.queries import QueryLists
from plackett.losses import get_loss
from plackett.losses.backends.trees import TreeObjective
from plackett.rankers.boosting.boosting import Rounds
from plackett.rankers.trees.boosted_trees import Lists
from plackett.rankers.trees.lightgbm_trees import LightGBMTrees, scores_shown
from plackett.validation import count_of

FARTHEST = 2.0  # learning rates that a leaf moves documents from base scores; ordinary leaves stay below
LARGEST = float(np.finfo(np.float32).max)  # slope and curvature that LightGBM takes
NO_LABELS = QueryLists(np.zeros(0), np.zeros(1, dtype=np.int64))  # so that a loss looks at its parameters alone


class TreeRanker(LightGBMTrees):
    """Ranks by a sum of trees, each of which LightGBM grows to lower a loss over judged lists.

    A tree is grown for the slope and the curvature of ``Σ_q s_q loss_q`` by the scores so far, s being the weight of a
    query (1 on average): a leaf moves its documents by ``-learning_rate * Σ slope / (Σ curvature + lambda_l2)``. The
    curvature is the exact diagonal of the second derivative, or a constant for losses that have none
    (:mod:`plackett.losses.backends.trees`). Trees start at 0, or at the mean label for losses to which a constant
    makes a difference; so ``loss="squared"`` is LightGBM's own regression, tree by tree.

    On top of base scores a leaf moves its documents by ``2 * learning_rate`` at most (``max_delta_step=2``, if no other
    is given), unless a constant makes a difference to the loss: scores that are far apart already have next to no
    curvature, so that leaves would leap.

    Parameters
    ----------
    loss : str or Loss, default="listmle"
        ``"listmle"``, ``"p-listmle"``, ``"listnet"``, ``"rankcosine"``, ``"cs-listmle"``, ``"hinge"``,
        ``"squared-hinge"``, ``"logistic"``, ``"exponential"``, ``"psi"``, ``"squared"``, or an object of
        :mod:`plackett.losses` with parameters of its own, which draws nothing at random.
    n_rounds : int or None, default=None
        Trees at most. None: 300 with a validation set, which ends the fit earlier, and 100 without one.
    learning_rate : float, default=0.1
    num_leaves : int, default=7
        Small trees, which overfit least on sets of some hundred queries; sets of thousands can take 31 and more.
    min_data_in_leaf : int, default=20
    lambda_l2 : float, default=0.0
    patience : int or None, default=50
        With a validation set, growing ends after so many trees without a better value of its measure; None: never. The
        trees up to the best one are kept either way.
    random_state : int, default=0
        For what LightGBM draws, such as the rows of ``bagging_fraction``.
    n_jobs : int or None, default=1
        Threads of LightGBM; None takes as many as this library does. The trees are the same for any number.
    verbose : bool, default=False
        A progress bar on standard error.
    **others
        Other parameters of LightGBM that say how trees grow, by its own names, such as ``bagging_fraction``,
        ``feature_fraction``, ``max_depth`` or ``min_sum_hessian_in_leaf`` (which is a sum of curvatures).

    Attributes
    ----------
    trees_ : FlatTrees
        The trees that were kept, as arrays; predicting, saving and loading need no LightGBM.
    intercept_ : float
        Added to what the trees say.
    n_rounds_ : int
        Trees that were kept: up to the best on the validation set, all without one.
    n_iter_ : int
        Trees that were grown.
    stop_reason_ : str
    history_ : dict of lists
        After every tree ``"objective"``, the mean loss of the training queries, and the validation measure.
    best_iteration_, best_score_ : int and float, or None without a validation set
    feature_importances_ : ndarray of shape (n_features,)
    has_base_, base_column_ : bool, and int or None
        Whether there were base scores, and the column of X that they are.
    n_queries_, feature_names_, first_index_, n_features_in_, feature_names_in_ : as in ``LinearRanker``

    Examples
    --------
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
        self.loss = loss
        self.n_rounds = n_rounds
        self.learning_rate = learning_rate
        self.num_leaves = num_leaves
        self.min_data_in_leaf = min_data_in_leaf
        self.lambda_l2 = lambda_l2
        self.patience = patience
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self._keep_params(others)

    def _check_parameters(self) -> None:
        TreeObjective(get_loss(self.loss), NO_LABELS)
        super()._check_parameters()

    def _intercept(self, training: Lists) -> float:
        loss = get_loss(self.loss)
        if loss.ignores_shifts:
            return 0.0
        mean = float(np.average(training.queries.labels, weights=training.of_rows()))
        return 1.0 if loss.is_flat_at_zero and mean == 0.0 else mean

    def _objective(self, training: Lists, rounds: Rounds) -> tuple[dict[str, Any], Callable | None]:
        loss = get_loss(self.loss)
        if loss.is_flat_at_zero and training.start is not None and not training.start.any():
            raise ValueError(
                f"base_score is 0 for every row, where {loss!r} has no slope. Leave it out, or give 1 for every row."
            )
        objective = TreeObjective(loss, training.queries, training.weights)
        self._values: dict[int, float] = {}  # of the loss, by the number of trees so far

        def slope_and_curvature(scores: np.ndarray, _: Any) -> tuple[np.ndarray, np.ndarray]:
            value, slope, curvature = objective.evaluate(scores)
            if not (np.abs(slope).max() <= LARGEST and curvature.max() <= LARGEST):
                raise ValueError(
                    f"the slope of {loss!r} is beyond LightGBM's numbers after {count_of(rounds.n_rounds, 'tree')}. "
                    "Lower learning_rate, or divide the labels or the base scores by a number."
                )
            self._values[rounds.n_rounds] = value / training.queries.n_queries
            return slope, curvature

        is_bounded = loss.ignores_shifts and training.start is not None and "max_delta_step" not in vars(self)
        return {"objective": "none"} | ({"max_delta_step": FARTHEST} if is_bounded else {}), slope_and_curvature

    def _keep(self, training: Lists, rounds: Rounds) -> None:
        booster = self.__dict__.get("_booster")
        values = self.__dict__.pop("_values", {})
        if (
            booster is not None and rounds.n_rounds and rounds.n_rounds not in values
        ):  # no tree was tried after the last
            objective = TreeObjective(get_loss(self.loss), training.queries, training.weights)
            value, _, _ = objective.evaluate(scores_shown(booster.eval_train))
            values[rounds.n_rounds] = value / training.queries.n_queries
        rounds.history = {"objective": [values[n] for n in range(1, rounds.n_rounds + 1)], **rounds.history}
        super()._keep(training, rounds)
