"""The result of choosing between settings: what each of them reached, and the ranker with the best."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from plackett.validation import count_of, plain


@dataclass(frozen=True)
class Trial:
    """One setting that was tried.

    Attributes
    ----------
    params : dict
    value : float
        The mean of the measure; NaN where the fit failed or no query has a value.
    seconds : float
        Of fitting and measuring.
    error : str or None
        Why there is no fit.
    """

    params: dict[str, Any]
    value: float
    seconds: float
    error: str | None = None


@dataclass(frozen=True)
class Selection:
    """The best of several settings, and how the others did.

    Attributes
    ----------
    ranker : str
        The name of the ranker.
    best_ : fitted ranker
        With validation queries the one that they chose; after cross-validation fitted anew to all queries.
    best_params : dict
    best_value : float
    trials : list of Trial
        In the order in which they were tried.
    metric, convention, method : str
        By what was chosen.
    judged_on : str
        Whose values these are, in words: "60 validation queries".
    notes : tuple of str
        Why trials were not kept in the folder, if any were not.
    """

    ranker: str
    best_: Any
    best_params: dict[str, Any]
    best_value: float
    trials: list[Trial]
    metric: str
    convention: str
    method: str
    judged_on: str
    notes: tuple[str, ...] = ()

    @property
    def best_trial(self) -> int:
        """The place of the best among the trials."""
        return next(
            place
            for place, trial in enumerate(self.trials)
            if trial.params == self.best_params and trial.value == self.best_value
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; NaN becomes None."""
        return {
            "ranker": self.ranker,
            "metric": self.metric,
            "convention": self.convention,
            "method": self.method,
            "judged_on": self.judged_on,
            "best": {"params": _plain_params(self.best_params), "value": self.best_value},
            "trials": [
                {
                    "params": _plain_params(trial.params),
                    "value": None if math.isnan(trial.value) else trial.value,
                    "seconds": trial.seconds,
                    "error": trial.error,
                }
                for trial in self.trials
            ],
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        names = list(dict.fromkeys(name for trial in self.trials for name in trial.params))
        shown = [{name: words(trial.params[name]) for name in trial.params} for trial in self.trials]
        common = {name for name in names if len({params.get(name) for params in shown}) == 1}
        columns = [name for name in names if name not in common]
        rows = [["", *columns, self.metric, "seconds"]]
        best = self.best_trial
        for place, (trial, params) in enumerate(zip(self.trials, shown, strict=True)):
            value = "failed" if trial.error else "–" if math.isnan(trial.value) else f"{trial.value:.4f}"
            cells = [params.get(name, "") for name in columns]
            rows.append(["*" if place == best else "", *cells, value, f"{trial.seconds:.2f}"])
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
        lines.append(self._summary({name: shown[0][name] for name in names if name in common}))
        lines += [f"failed with {in_words(trial.params)}: {trial.error}" for trial in self.trials if trial.error]
        return "\n".join([*lines, *self.notes])

    def _summary(self, common: dict[str, str]) -> str:
        everywhere = "".join(f", {name}={value}" for name, value in common.items())
        tried = f"{self.ranker}: {count_of(len(self.trials), 'setting')}{everywhere}"
        return f"{tried}; {self.metric} on {self.judged_on}, convention {self.convention}"

    def __repr__(self) -> str:
        return f"Selection({self.ranker}, {in_words(self.best_params)}: {self.metric} {self.best_value:.4f})"


def in_words(params: dict[str, Any]) -> str:
    """``l2=0.1, normalize=None``."""
    return ", ".join(f"{name}={words(value)}" for name, value in params.items()) or "nothing set"


def words(value: Any) -> str:
    """A parameter's value as short as it can be read."""
    value = plain(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    return value if isinstance(value, str) else " ".join(repr(value).split())  # pipelines need many lines


def _plain_params(params: dict[str, Any]) -> dict[str, Any]:
    return {name: _plain_value(value) for name, value in params.items()}


def _plain_value(value: Any) -> Any:
    value = plain(value)
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return repr(value)
    return value
