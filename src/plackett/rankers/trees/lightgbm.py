"""LightGBM's own objective for rankings, so that it can take part in comparisons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from plackett.rankers.boosting.boosting import Rounds
from plackett.rankers.trees.boosted_trees import Lists, whole_labels
from plackett.rankers.trees.lightgbm_trees import LightGBMTrees
from plackett.rankers.trees.package_params import GROWTH, OF_LAMBDARANK

LARGEST_LABEL = 31  # above which a gain of 2**label - 1 is refused by LightGBM, and a gain of label taken instead
MOST_GAINS = 10_000  # in the table of gains, one for every label from 0 on, which LightGBM reads as text


class LightGBMRanker(LightGBMTrees):
    """LightGBM's ``lambdarank``.

    Parameters
    ----------
    n_rounds : int or None, default=None
        Trees at most. None: 300 with a validation set, which ends the fit earlier, and 100 without one.
    learning_rate : float, default=0.1
    num_leaves : int, default=7
        Small trees, which overfit least on sets of some hundred queries; sets of thousands can take 31 and more.
    min_data_in_leaf : int, default=20
    lambda_l2 : float, default=0.0
    patience : int or None, default=50
        With a validation set, growing ends after so many trees without a better value.
    random_state : int, default=0
    n_jobs : int or None, default=1
        Threads of LightGBM; None takes as many as this library does. The trees are the same for any number.
    verbose : bool, default=False
        A progress bar on standard error.
    **others
        Parameters of LightGBM that say how trees grow, by its own names, such as ``bagging_fraction`` or
        ``lambdarank_truncation_level``.

    Attributes
    ----------
    trees_, intercept_, has_base_, base_column_ : as in ``TreeRanker``
    n_rounds_, n_iter_, stop_reason_, history_, best_iteration_, best_score_ : as in ``TreeRanker``
    feature_importances_ : ndarray of shape (n_features,)
    n_queries_, feature_names_, first_index_, n_features_in_, feature_names_in_ : as in ``LinearRanker``
    """

    known_params: ClassVar = GROWTH | OF_LAMBDARANK

    def __init__(
        self,
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

    def _objective(self, training: Lists, rounds: Rounds) -> tuple[dict[str, Any], Callable | None]:
        largest = whole_labels(training.queries.labels, "LightGBM's lambdarank").max()
        if largest >= MOST_GAINS:
            raise ValueError(
                f"LightGBM's lambdarank looks gains up in a table of all labels, of which {MOST_GAINS:,} are taken at "
                f"most; there is a label {largest:g}. Number the labels from 0 on, or take a TreeRanker, whose losses "
                "take any."
            )
        labels = range(int(largest) + 1)
        gains = [2.0**label - 1.0 if largest <= LARGEST_LABEL else float(label) for label in labels]
        given = getattr(self, "label_gain", None)
        return {"objective": "lambdarank", "label_gain": gains if given is None else given}, None
