"""What rankers by boosted trees of other packages share: the door, the validation set, when growing ends.

The number of trees is chosen on the validation queries by the measure given, whatever it is, and not by a package's own
NDCG, so that all rankers are chosen by the same rule.
"""

from __future__ import annotations

import os
import re
from abc import abstractmethod
from collections.abc import Callable
from types import ModuleType
from typing import Any, ClassVar, NamedTuple

import numpy as np

from plackett._optional import import_optional
from plackett._threads import n_threads
from plackett.data.queries import Queries
from plackett.metrics.measure import Measure
from plackett.rankers.base import Interrupted, Ranker
from plackett.rankers.boosting.boosting import ALL_ROUNDS, Rounds
from plackett.rankers.monitor import DEFAULT_METRIC, NO_IMPROVEMENT, Progress, ValidationSet
from plackett.rankers.trees.open_params import OpenParams
from plackett.solvers.base import INTERRUPTED
from plackett.validation import check_number, check_positive_int, check_seed, is_sparse, plain

NO_SPLIT = "no split is left that helps"
ROUNDS, ROUNDS_VALIDATED = 100, 300  # without and with validation queries: nothing else ends a fit that overfits


class Lists(NamedTuple):
    """Queries, what each of them counts (None: all alike), and the score from which each document starts (None: 0)."""

    queries: Queries
    weights: np.ndarray | None = None
    start: np.ndarray | None = None

    def of_rows(self) -> np.ndarray | None:
        """What each document counts."""
        return None if self.weights is None else np.repeat(self.weights, np.diff(self.queries.indptr))


class BoostedTrees(OpenParams, Ranker):
    """A ranker by boosted trees.

    Attributes
    ----------
    n_rounds_ : int
        Trees that are used: those up to the best on the validation queries, or all.
    n_iter_ : int
        Trees that were grown.
    stop_reason_ : str
    best_iteration_, best_score_ : int and float, or None without a validation set
    history_ : dict of lists
        The validation measure after every tree.
    """

    package: ClassVar[str]
    extra: ClassVar[str | None] = None  # of plackett, that brings the package along
    can_be_saved: ClassVar[bool] = True

    n_rounds: int | None
    learning_rate: float
    patience: int | None
    random_state: int
    n_jobs: int | None
    verbose: bool

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        sample_weight: Any = None,
        eval_set: Any = None,
        eval_metric: str | Measure | None = None,
    ) -> Any:
        """Grow the trees; with validation queries, keep those up to the best one.

        Parameters
        ----------
        X, y, qid, sample_weight, eval_set, eval_metric : as in ``LinearRanker.fit``

        Returns
        -------
        self
        """
        return self._fit(X, y, qid, sample_weight, eval_set, eval_metric)

    def _fit(
        self, X: Any, y: Any, qid: Any, sample_weight: Any, eval_set: Any, eval_metric: Any, base_score: Any = None
    ) -> Any:
        self._check_parameters()
        with self._all_or_nothing():
            measure = Measure.parse(DEFAULT_METRIC if eval_metric is None else eval_metric)
            queries = self._check_queries(X, y, qid, reset=True)
            self.n_queries_ = queries.n_queries
            weights = self._check_query_weights(sample_weight, queries)
            if weights is not None:
                weights = weights / weights.mean()  # weights that are all alike change nothing
            held_back = self._check_eval_set(eval_set)
            training = Lists(queries, weights, self._start_of(X, qid, queries, base_score, is_new=True))
            validation = None if held_back is None else ValidationSet(held_back, measure)
            rounds = Rounds(validation, Progress("growing trees", self._most(validation), is_shown=bool(self.verbose)))
            held_start = None
            if held_back is not None:
                rows, ids = (eval_set, None) if isinstance(eval_set, Queries) else (eval_set[0], eval_set[2])
                held_start = self._start_of(rows, ids, held_back, base_score)
            try:
                with rounds.progress:
                    self.stop_reason_ = self._grow(training, held_start, rounds)
            except KeyboardInterrupt:
                self.stop_reason_ = INTERRUPTED
            except Exception as error:
                if not self._is_of_package(error):
                    raise
                raise ValueError(self._in_our_words(error)) from error
            self._keep(training, rounds)
            if self.stop_reason_ == INTERRUPTED:
                raise Interrupted("the fit was interrupted; the trees so far were kept.")
        return self

    def _start_of(
        self, X: Any, qid: Any, queries: Queries, base_score: Any, *, is_new: bool = False
    ) -> np.ndarray | None:
        """The scores from which the trees go on, for grouped rows; ``is_new`` when these are what is learned from."""
        return None

    @abstractmethod
    def _grow(self, training: Lists, held_start: np.ndarray | None, rounds: Rounds) -> str:
        """Work through the rounds; the answer is why they ended. ``held_start`` is that of the validation rows."""

    def _most(self, validation: ValidationSet | None) -> int:
        """Trees at most."""
        if self.n_rounds is not None:
            return self.n_rounds
        return ROUNDS if validation is None else ROUNDS_VALIDATED

    def _in_rounds(self, rounds: Rounds, grow_one: Callable[[], bool], held_scores: Callable[[], np.ndarray]) -> str:
        """Round after round: a tree (``grow_one`` says whether there was one), then what the validation queries say.

        Where rows or columns are drawn, a round without a tree is not the last: the next draw may hold a split.
        """
        for _ in range(self._most(rounds.validation)):
            if not grow_one():
                if self._draws:
                    continue
                return NO_SPLIT
            rounds.n_rounds += 1
            if rounds.validation is None:
                rounds.best_round = rounds.n_rounds
                rounds.progress.advance()
                continue
            rounds.judge_validation(np.asarray(held_scores(), dtype=np.float64))
            if self.patience is not None and rounds.n_rounds - rounds.best_round >= self.patience:
                return NO_IMPROVEMENT
        return ALL_ROUNDS if rounds.n_rounds else NO_SPLIT

    @property
    def _draws(self) -> bool:
        """Whether a round that found no split may be followed by one that does."""
        return False

    def _keep(self, training: Lists, rounds: Rounds) -> None:
        self.history_ = rounds.history
        self.n_iter_, self.n_rounds_ = rounds.n_rounds, rounds.best_round
        has_best = rounds.validation is not None and not np.isnan(rounds.best_value)
        self.best_iteration_ = rounds.best_round if has_best else None
        self.best_score_ = rounds.best_value if has_best else None

    def _check_parameters(self) -> None:
        if self.n_rounds is not None:
            check_positive_int(self.n_rounds, "n_rounds")
        check_number(self.learning_rate, "learning_rate", above=0.0)
        if self.patience is not None:
            check_positive_int(self.patience, "patience")
        _ = self._n_threads
        if self.random_state is not None:
            check_seed(self.random_state, "random_state")
        self._check_other_params()
        self.import_package()

    @classmethod
    def import_package(cls) -> ModuleType:
        """The package that grows the trees; an error that says how to install it where it is missing."""
        return import_optional(cls.package, extra=cls.extra, needed_for=cls.__name__)

    @property
    def _n_threads(self) -> int:
        """No more than there are cores: packages ask the system for as many as they are told, and may die of it."""
        return n_threads() if self.n_jobs is None else min(_checked_jobs(self.n_jobs), os.cpu_count() or 1)

    @property
    def _seed(self) -> int:
        return 0 if self.random_state is None else int(self.random_state)

    def _is_of_package(self, error: Exception) -> bool:
        return type(error).__module__.lstrip("_").split(".")[0] == self.package

    def _in_our_words(self, error: Exception) -> str:
        """What a package says of parameters or rows, without where in its source it says so."""
        said = str(error).split("\nStack trace")[0]
        said = re.sub(r"(\[[\d:]+\] )?\S+\.(cpp|cc|h|cu):\d+: | at \S+, line \d+", "", said).strip(" .\n")
        others = ", ".join(f"{name}={plain(value)!r}" for name, value in self._other_params().items())
        return f"{self.package} refuses this: {said}." + (
            f" Among what is passed on to it is {others}." if others else ""
        )


def whole_labels(labels: np.ndarray, whose: str) -> np.ndarray:
    """Labels that count, for those who look gains up in a table."""
    is_wrong = (labels < 0) | (labels != np.floor(labels))
    if is_wrong.any():
        raise ValueError(
            f"{whose} takes whole labels from 0 on; there is a label {labels[is_wrong][0]:g}. Change the labels, or "
            "take a TreeRanker, whose losses know larger and smaller ones only."
        )
    return labels


def plain_rows(X: Any) -> Any:
    """X as the packages take it: sparse rows as a matrix, which not all of them know as an array."""
    if not is_sparse(X):
        return X
    from scipy import sparse

    return sparse.csr_matrix(X)


def _checked_jobs(n_jobs: int) -> int:
    try:
        return check_positive_int(n_jobs, "n_jobs")
    except ValueError as error:
        raise ValueError(f"{error} None takes as many threads as this library does.") from None
