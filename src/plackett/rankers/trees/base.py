"""Base classes of rankers by boosted trees that another package grows.

The number of trees is chosen on the validation queries by the measure given, and not by a package's own NDCG, so that
all rankers are chosen by the same rule.
"""

from __future__ import annotations

import contextlib
import os
import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from plackett._names import did_you_mean, similar_names
from plackett._optional import import_optional
from plackett._threads import n_threads
from plackett.exceptions import UnknownNameError
from plackett.rankers.base import TrainingSet
from plackett.rankers.monitor import FitMonitor, ValidationSet
from plackett.rankers.parameters import param
from plackett.rankers.trees.scores import TreeScores
from plackett.validation import (
    check_finite,
    check_number,
    check_positive_int,
    check_seed,
    plain,
)

NO_SPLIT = "no split improves the objective"
ROUNDS, ROUNDS_VALIDATED = 100, 300  # without and with validation queries: nothing else ends a fit that overfits


class PackageParams(BaseEstimator):
    """A scikit-learn estimator that passes further keyword parameters on to another package.

    They become attributes like the ranker's own parameters. ``get_params``, ``set_params``, ``clone`` and ``repr``
    include them. ``fit`` raises an error if the package does not have them.
    """

    known_params: ClassVar[frozenset[str]]  # names of the package's parameters that are passed on
    aliases: ClassVar[Mapping[str, str]] = {}  # names of the package -> names of the ranker's parameters
    rejected_params: ClassVar[Mapping[str, str]] = {}  # parameters of the package that cannot be passed on -> why

    @classmethod
    def takes_param(cls, name: str) -> bool:
        """Return whether a name that is not one of the ranker's parameters is one of the package's."""
        return name in cls.known_params

    def _keep_params(self, params: Mapping[str, Any]) -> None:
        for name, value in params.items():
            if name.startswith("_") or name.endswith("_") or hasattr(type(self), name):
                raise TypeError(f"{type(self).__name__} cannot have a parameter {name!r}.")
            setattr(self, name, value)

    def _other_params(self) -> dict[str, Any]:
        """Return the parameters for the package."""
        own = self._get_param_names()
        return {
            name: value
            for name, value in vars(self).items()
            if name not in own and not name.startswith("_") and not name.endswith("_")
        }

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all parameters, those for the package after the ranker's own."""
        return {**super().get_params(deep), **self._other_params()}

    def set_params(self, **params: Any) -> Any:
        """Set parameters, the ranker's own or those for the package."""
        own = self._get_param_names()
        others = {name: value for name, value in params.items() if name not in own and "__" not in name}
        super().set_params(**{name: value for name, value in params.items() if name not in others})
        self._keep_params(others)
        return self

    def _check_other_params(self) -> None:
        """Reject unknown names: packages only warn about them, or ignore them."""
        for name in self._other_params():
            if name in self.rejected_params:
                raise ValueError(f"{type(self).__name__} does not take {name!r}: {self.rejected_params[name]}.")
            if name not in self.known_params:
                raise self._unknown(name)

    def _unknown(self, name: str) -> UnknownNameError:
        names = [*self._get_param_names(), *sorted(self.known_params)]
        close = [self.aliases[name]] if name in self.aliases else similar_names(name, names, n=2)
        advice = f".{did_you_mean(close)} It has {', '.join(names)}."
        return UnknownNameError(f"{type(self).__name__} has no parameter {name!r}", advice, names, close)


@dataclass(eq=False, repr=False, kw_only=True)
class BoostedTrees(TreeScores, PackageParams):
    """A ranker by boosted trees that are kept as arrays: predicting and loading do not need the package."""

    n_rounds: int | None = param(None, check_positive_int)
    learning_rate: float = param(0.1, check_number, above=0.0)
    patience: int | None = 50
    random_state: int | None = param(0, check_seed)
    n_jobs: int | None = 1
    verbose: bool = False

    package: ClassVar[str]
    extra: ClassVar[str | None] = None  # extra of plackett that installs the package

    def _learn(
        self,
        training: TrainingSet,
        monitor: FitMonitor,
        start: np.ndarray | None = None,
        validation_start: np.ndarray | None = None,
    ) -> None:
        """Grow the trees; ``start`` are the scores that they add to."""
        weights = training.weights
        self.has_missing_ = check_finite(training.queries.X, allow_missing=True)
        training = training._replace(weights=None if weights is None else weights / weights.mean(), start=start)
        with self._running(monitor):
            self._grow(training, monitor, validation_start)
        self.n_rounds_ = monitor.n_kept
        self._keep(training, monitor)

    @contextlib.contextmanager
    def _running(self, monitor: FitMonitor) -> Iterator[None]:
        """Run the rounds of a fit inside this context."""
        with monitor.run("n_rounds", self._max_rounds(monitor.validation)):
            try:
                yield
            except self._package_error() as error:
                raise ValueError(self._refusal(error)) from error

    @abstractmethod
    def _grow(self, training: TrainingSet, monitor: FitMonitor, validation_start: np.ndarray | None) -> None:
        """Grow and record the trees."""

    @abstractmethod
    def _keep(self, training: TrainingSet, monitor: FitMonitor) -> None:
        """Set the attributes that hold the trees."""

    def _max_rounds(self, validation: ValidationSet | None) -> int:
        if self.n_rounds is not None:
            return self.n_rounds
        return ROUNDS if validation is None else ROUNDS_VALIDATED

    def _grow_rounds(
        self, monitor: FitMonitor, grow_one: Callable[[], bool], validation_scores: Callable[[], np.ndarray]
    ) -> None:
        """Grow tree after tree; ``grow_one`` returns whether it found one.

        Where rows or columns are sampled, a round without a tree is not the last: the next sample may have a split.
        """
        for _ in range(self._max_rounds(monitor.validation)):
            if not grow_one():
                if self._is_sampled:
                    continue
                monitor.stop(NO_SPLIT)
                return
            if monitor.record(lambda: np.asarray(validation_scores(), dtype=np.float64)):
                return
        if not monitor.n_iter:
            monitor.stop(NO_SPLIT)

    @property
    def _is_sampled(self) -> bool:
        """Whether rounds see different samples, so a round without a split may be followed by one with splits."""
        return False

    def _check_parameters(self) -> None:
        _ = self._n_threads
        self._check_other_params()
        self.import_package()

    @classmethod
    def import_package(cls) -> ModuleType:
        """Import the package that grows the trees and return it; if it is missing, the error says how to install it."""
        return import_optional(cls.package, extra=cls.extra, needed_for=cls.__name__)

    @classmethod
    @abstractmethod
    def _package_error(cls) -> type[Exception]:
        """Return the class of the package's errors."""

    @property
    def _n_threads(self) -> int:
        """Threads, at most one per core: packages start as many as they are given, which may exhaust the system."""
        if self.n_jobs is None:
            return n_threads()
        try:
            return min(check_positive_int(self.n_jobs, "n_jobs"), os.cpu_count() or 1)
        except ValueError as error:
            raise ValueError(f"{error} None takes as many threads as this library does.") from None

    @property
    def _seed(self) -> int:
        return 0 if self.random_state is None else int(self.random_state)

    def _refusal(self, error: Exception) -> str:
        """Return the message of a package's error without the position in its source."""
        message = str(error).split("\nStack trace")[0]
        message = re.sub(r"(\[[\d:]+\] )?\S+\.(cpp|cc|h|cu):\d+: | at \S+, line \d+", "", message).strip(" .\n")
        others = ", ".join(f"{name}={plain(value)!r}" for name, value in self._other_params().items())
        return f"{self.package} raised an error: {message}." + (
            f" Parameters passed on to it: {others}." if others else ""
        )

    def check_loaded(self) -> None:
        """Reject attributes of a file that no fit produces."""
        super().check_loaded()
        _ = self._n_threads  # which predictions of XGBoost use
        self._check_other_params()


def names_in(text: str) -> frozenset[str]:
    """Return the words of a text: names of parameters."""
    return frozenset(text.split())


def whole_labels(labels: np.ndarray, objective: str) -> np.ndarray:
    """Return the labels if they are whole numbers of at least 0, as objectives with a table of gains need them."""
    is_wrong = (labels < 0) | (labels != np.floor(labels))
    if is_wrong.any():
        raise ValueError(
            f"{objective} needs labels that are whole numbers of at least 0; found {labels[is_wrong][0]:g}. Change the "
            "labels, or use TreeRanker with a loss of this library, which accepts any labels."
        )
    return labels
