"""The result of a hyperparameter selection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from plackett._tables import Column, Table, json_value, notebook_html
from plackett.validation import count_of, plain

BEST = "*"  # marks the best trial in a table


@dataclass(frozen=True)
class Trial:
    """One candidate that was tried.

    Attributes
    ----------
    params : dict
        Hyperparameters of the candidate.
    value : float
        The mean of the measure; NaN if the fit failed or no query has a value.
    seconds : float
        Time of fitting and measuring.
    error : str or None
        The error of the fit, in one line.

    Examples
    --------
    >>> import plackett as pk
    >>> data = pk.datasets.make_web_like(60, n_features=8, random_state=0)
    >>> trials = pk.select("ranksvm", data[:40], {"l2": [1, 0.1, 0.01]}, validation=data[40:]).trials
    >>> [(trial.params, round(trial.value, 3)) for trial in trials]
    [({'l2': 1}, 0.274), ({'l2': 0.1}, 0.298), ({'l2': 0.01}, 0.312)]
    """

    params: dict[str, Any]
    value: float
    seconds: float
    error: str | None = None


@dataclass(frozen=True)
class Selection:
    """The best of several candidates, and the trials of all; returned by `select`.

    Attributes
    ----------
    ranker : str
        The name of the ranker.
    best_ : fitted ranker
        With validation queries the chosen fit; after cross-validation a new fit to all queries.
    best_params : dict
        Hyperparameters of the best candidate.
    best_value : float
        Its value of the measure.
    trials : list of Trial
        In the order in which they were tried.
    metric, convention, method : str
        How it was chosen.
    judged_on : str
        The queries that the values refer to, such as "60 validation queries".
    notes : tuple of str
        Why trials could not be stored in the folder.

    Examples
    --------
    >>> import plackett as pk
    >>> data = pk.datasets.make_web_like(60, n_features=8, random_state=0)
    >>> found = pk.select("ranksvm", data[:40], {"l2": [1, 0.1, 0.01]}, validation=data[40:])
    >>> found.best_params, round(found.best_value, 3), found.judged_on
    ({'l2': 0.01}, 0.312, '20 validation queries')
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
        """Index of the best of ``trials``."""
        best = (self.best_params, self.best_value)
        return next(place for place, trial in enumerate(self.trials) if (trial.params, trial.value) == best)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; NaN becomes None."""
        names = ("ranker", "metric", "convention", "method", "judged_on")
        best = {"params": self.best_params, "value": self.best_value}
        found = {"best": best, "trials": [vars(trial) for trial in self.trials], "notes": self.notes}
        return json_value({name: getattr(self, name) for name in names} | found)

    def to_table(self) -> Table:
        """Return the trials as a `Table`; hyperparameters that all trials share are left out."""
        names, common = self._names()
        columns = [name for name in names if name not in common]
        rows = []
        for trial in self.trials:
            params = [words(trial.params[name]) if name in trial.params else "" for name in columns]
            rows.append(["", *params, "failed" if trial.error else trial.value, trial.seconds])
        rows[self.best_trial][0] = BEST
        return Table([Column(""), *map(Column, columns), Column(self.metric), Column("seconds", digits=2)], rows)

    def __str__(self) -> str:
        return "\n".join([self.to_table().to_text(), *self.remarks()])

    def remarks(self) -> list[str]:
        """Return the lines below the table: what was tried, failures, and notes."""
        failed = [f"failed with {in_words(trial.params)}: {trial.error}" for trial in self.trials if trial.error]
        return [self._summary(), *failed, *self.notes]

    def _repr_html_(self) -> str:
        return notebook_html(self.to_table())

    def _names(self) -> tuple[list[str], dict[str, str]]:
        """Return the names of all hyperparameters, and the values of those that all trials share."""
        names = list(dict.fromkeys(name for trial in self.trials for name in trial.params))
        shown = [{name: words(value) for name, value in trial.params.items()} for trial in self.trials]
        return names, {name: shown[0][name] for name in names if len({params.get(name) for params in shown}) == 1}

    def _summary(self) -> str:
        everywhere = "".join(f", {name}={value}" for name, value in self._names()[1].items())
        tried = f"{self.ranker}: {count_of(len(self.trials), 'candidate')}{everywhere}"
        return f"{tried}; {self.metric} on {self.judged_on}, convention {self.convention}"

    def __repr__(self) -> str:
        return f"Selection({self.ranker}, {in_words(self.best_params)}: {self.metric} {self.best_value:.4f})"


def in_words(params: dict[str, Any]) -> str:
    """Return parameters as text: ``l2=0.1, normalize=None``."""
    return ", ".join(f"{name}={words(value)}" for name, value in params.items()) or "default parameters"


def words(value: Any) -> str:
    """Return the value of a parameter as short text."""
    value = plain(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    if type(value).__repr__ is object.__repr__:  # an address in memory
        return f"{type(value).__name__}()"
    # the repr of a pipeline has several lines
    return value if isinstance(value, str) else " ".join(repr(value).split())
