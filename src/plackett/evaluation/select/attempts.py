"""Attempts: a candidate is fitted and measured on held-out queries, or its stored result is used."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from warnings import WarningMessage

from plackett._warnings import recorded
from plackett.evaluation.select.grids import error_line
from plackett.evaluation.select.selection import Trial
from plackett.evaluation.store.results import ResultStore


class Judged(NamedTuple):
    """The value of a candidate; its fit, unless it was cross-validated; the seconds that count, None for all."""

    value: float
    fitted: Any = None
    seconds: float | None = None


@dataclass(eq=False)
class Attempt:
    """A candidate that was tried.

    ``fitted`` is None if the fit failed, and if the trial was stored or cross-validated. ``caught`` has the warnings of
    a new fit, ``warnings`` their texts.
    """

    estimator: Any
    trial: Trial
    warnings: list[str]
    fitted: Any = None
    caught: Sequence[WarningMessage] = ()
    error: Exception | None = None


def attempt(params: dict[str, Any], estimator: Any, judge: Callable[[Any], Judged], store: ResultStore) -> Attempt:
    """Return the result of one candidate; an error is part of it."""
    key = {"what": "candidate", "estimator": estimator}
    stored = store.get(key)
    if stored is not None:
        found = stored.values
        return Attempt(estimator, Trial(params, found["value"], found["seconds"]), found["warnings"])
    judged, error, start = Judged(math.nan), None, time.perf_counter()
    with recorded() as caught:
        try:
            judged = judge(estimator)
        except Exception as problem:  # other candidates may succeed
            error = problem
    seconds = time.perf_counter() - start if judged.seconds is None else judged.seconds
    texts = [f"{warning.category.__name__}: {warning.message}" for warning in caught]
    if error is None:  # failed candidates are tried again
        store.put(key, {"value": judged.value, "seconds": seconds, "warnings": texts})
    trial = Trial(params, judged.value, seconds, None if error is None else error_line(error))
    return Attempt(estimator, trial, texts, judged.fitted, caught, error)
