"""Search strategies: the whole grid, random candidates, or candidates proposed by Optuna."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping
from typing import Any

from plackett._lazy import importing
from plackett._optional import import_optional
from plackett.evaluation.select.grids import Grid, candidates_of, check_names, is_list, parts_of
from plackett.exceptions import ParameterError
from plackett.metrics.measure import Measure
from plackett.validation import check_choice, check_positive_int, plain

METHODS = ("grid", "random", "optuna")
DEFAULT_TRIALS = 20
LOG_SCALE = ("loguniform", "reciprocal")  # scipy's names for the same distribution


class FixedCandidates(list[dict[str, Any]]):
    """Candidates that are known before the first trial."""

    def report(self, value: float) -> None:
        """Ignore the value of the last candidate."""


class OptunaCandidates:
    """Candidates that Optuna proposes one by one, given the values of the earlier ones."""

    def __init__(self, space: Mapping[str, Any], n_trials: int, measure: Measure, random_state: int):
        self._optuna = import_optional("optuna", extra="tune", needed_for='method="optuna"')
        self._space, self._n_trials = dict(space), n_trials
        self._distributions = {name: self._distribution(name, values) for name, values in self._space.items()}
        with self._quiet():
            self._study = self._optuna.create_study(
                direction="maximize" if measure.higher_is_better else "minimize",
                sampler=self._optuna.samplers.TPESampler(seed=random_state),
            )
        self._known: dict[tuple, float] = {}
        self._trial: Any = None

    def __len__(self) -> int:
        return self._n_trials

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for _ in range(self._n_trials):
            self._trial = self._study.ask(self._distributions)
            drawn = self._trial.params
            known = self._known.get(tuple(drawn.values()))
            if known is not None:  # proposed before; a fit would have the same value
                self.report(known)
                continue
            yield {name: self._space[name][at] if is_list(self._space[name]) else at for name, at in drawn.items()}

    def report(self, value: float) -> None:
        """Pass the value of the last candidate to Optuna; NaN if it failed."""
        self._known[tuple(self._trial.params.values())] = value
        failed = self._optuna.trial.TrialState.FAIL
        with self._quiet():
            self._study.tell(self._trial, None if math.isnan(value) else value, failed if math.isnan(value) else None)

    def _distribution(self, name: str, values: Any) -> Any:
        make = self._optuna.distributions
        if isinstance(values, range):
            return make.IntDistribution(0, len(values) - 1)  # indices, in order
        if is_list(values):
            return make.CategoricalDistribution(range(len(values)))
        kind = getattr(getattr(values, "dist", None), "name", None)
        if kind == "randint":
            return make.IntDistribution(*map(int, values.support()))
        if kind in ("uniform", *LOG_SCALE):
            return make.FloatDistribution(*map(float, values.support()), log=kind in LOG_SCALE)
        raise ValueError(
            f'grid: {name} is {values!r}; method="optuna" takes lists, ranges, and the uniform, loguniform and randint '
            "of scipy.stats."
        )

    @contextlib.contextmanager
    def _quiet(self) -> Iterator[None]:
        """Suppress the report of every trial on standard error."""
        before = self._optuna.logging.get_verbosity()
        self._optuna.logging.set_verbosity(self._optuna.logging.ERROR)
        try:
            yield
        finally:
            self._optuna.logging.set_verbosity(before)


def search_candidates(
    estimator: Any, grid: Grid | None, method: str, n_trials: int | None, measure: Measure, random_state: int
) -> FixedCandidates | OptunaCandidates:
    """Return the candidates to try, in order."""
    check_choice(method, "method", METHODS)
    if method == "grid":
        if n_trials is not None:
            raise ParameterError("n_trials", n_trials, "random and optuna have trials; grid tries the whole grid.")
        return FixedCandidates(candidates_of(estimator, grid))
    n_trials = DEFAULT_TRIALS if n_trials is None else check_positive_int(n_trials, "n_trials")
    parts = parts_of(grid)
    for part in parts:
        check_names(estimator, part)
    if method == "random":
        return FixedCandidates(_random_candidates(parts, n_trials, random_state))
    if len(parts) > 1:
        raise ValueError('method="optuna" takes one dict of parameters, not a list of them.')
    return OptunaCandidates(parts[0], n_trials, measure, random_state)


def _random_candidates(parts: list[Mapping[str, Any]], n_trials: int, random_state: int) -> list[dict[str, Any]]:
    """Draw candidates at random; if all values are listed, none is drawn twice, so there may be fewer."""
    with importing:
        from sklearn.model_selection import ParameterSampler

    for part in parts:
        for name, values in part.items():
            if not is_list(values) and not hasattr(values, "rvs"):
                raise ValueError(
                    f"grid: {name} must be a list of values or a distribution of scipy.stats, not {values!r}."
                )
    if all(is_list(values) for part in parts for values in part.values()):
        n_trials = min(n_trials, sum(math.prod(len(values) for values in part.values()) for part in parts))
    space = [dict(part) for part in parts]
    drawn = ParameterSampler(space if len(space) > 1 else space[0], n_trials, random_state=random_state)
    return [{name: plain(value) for name, value in candidate.items()} for candidate in drawn]
