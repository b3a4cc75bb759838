"""The results of ``evaluate_from_clicks``."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from plackett._tables import Column, Estimate, Table, aligned, json_value, notebook_html, rounded
from plackett.evaluation.significance import Interval


@dataclass(frozen=True, repr=False)
class ClickEvaluation:
    """The value of one ranking, estimated from clicks on others. The result of ``evaluate_from_clicks``.

    Attributes
    ----------
    ranker : str
        Name of the ranking.
    metric, estimator, candidates : str
        As given, or chosen.
    value : float
        Mean over sessions.
    interval : Interval
        Of the expectation of the estimator. That of a clipped one differs from the value by its bias.
    level : float
        Of the interval.
    standard_error : float
        Standard error of the value.
    n_sessions, n_clicks : int
        Sessions and clicks that were used.
    effective_sample_size : float
        Number of equally weighted clicks with the same variance: ``(Σ w)² / Σ w²``.
    coverage : float
        Share of the new ranking, weighted by discount, that the log covers; NaN for estimators that use logging
        probabilities. With candidates="session", the share of the new ranking of all documents of the query that was in
        the list of a session.
    mean_weight : float
        For estimators that use logging probabilities: about 1 if these are correct and the log can show the documents
        of the new ranking. NaN for others.
    clip : float or None
        Smallest divisor of clicks.
    bias : float or None
        The clipped estimate minus the unclipped one.
    bias_bound : float or None
        The true value is above the expectation of the estimator by at most this much ("dr": above or below), if the
        propensities are right: because of clipping, and of documents that were never shown. None for "snips".
    notes : list of str
        What limits the result.

    Examples
    --------
    >>> import plackett as pk
    >>> lists = pk.datasets.make_web_like(50, 10, 3, random_state=0)
    >>> log = pk.clicks.simulate_clicks(lists, {"a": lists.X[:, 0], "b": -lists.X[:, 0]}, 5_000)
    >>> rows = [int(log.pairs[code][1]) for code in range(log.n_pairs)]
    >>> theta = [0.68, 0.61, 0.48, 0.34, 0.28, 0.20, 0.11, 0.10, 0.08, 0.06]
    >>> found = pk.clicks.evaluate_from_clicks(log, lists.X[rows, 1], propensities=theta, metric="dcg@5")
    >>> found.estimator, found.n_sessions, found.interval.low < found.value < found.interval.high
    ('ips', 5000, True)
    """

    ranker: str
    metric: str
    estimator: str
    candidates: str
    value: float
    interval: Interval
    level: float
    standard_error: float
    n_sessions: int
    n_clicks: int
    effective_sample_size: float
    coverage: float
    mean_weight: float
    clip: float | None = None
    bias: float | None = None
    bias_bound: float | None = None
    notes: list[str] = field(default_factory=list)

    def to_table(self) -> Table:
        """Return a table with one row."""
        return _table([self])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return json_value({one.name: getattr(self, one.name) for one in fields(self)})

    def __str__(self) -> str:
        low, high = (rounded(end) for end in self.interval)
        rows = [
            (self.metric, f"{rounded(self.value)}, {self.level:.0%} interval {low} to {high}"),
            ("estimator", self.estimator),
            ("sessions", f"{self.n_sessions:,} with {self.n_clicks:,} clicks"),
            ("effective sample size", f"{self.effective_sample_size:,.0f} clicks"),
        ]
        if not math.isnan(self.coverage):
            rows.append(("coverage", f"{self.coverage:.1%} of the new ranking"))
        if not math.isnan(self.mean_weight):
            rows.append(("mean weight", f"{self.mean_weight:.3f} (1 is expected)"))
        if self.clip:
            rows.append(("clipped below", f"{self.clip:.3g}; this changed the value by {rounded(self.bias or 0.0)}"))
        if self.bias_bound:
            rows.append(("bias", f"at most {rounded(self.bias_bound)}"))
        return "\n".join([aligned(rows, "ll"), *(f"- {note}" for note in self.notes)])

    def __repr__(self) -> str:
        low, high = self.interval
        return f"ClickEvaluation({self.ranker}: {self.metric} {self.value:.4f}, {low:.4f} to {high:.4f})"


class ValueDifference(NamedTuple):
    """The value of ``ranker`` less that of ``other``, from the same sessions."""

    ranker: str
    other: str
    value: float
    interval: Interval
    p: float
    is_significant: bool


@dataclass(frozen=True, repr=False)
class ClickEvaluations:
    """The values of several rankings, estimated from the same clicks. The result of ``evaluate_from_clicks``.

    Attributes
    ----------
    results : dict of str to ClickEvaluation
        The result of each ranking, by its name.
    differences : list of ValueDifference
        Every pair of rankings: the mean difference over sessions with its interval, and a p-value after Holm's
        correction.
    higher_is_better : bool
        Whether higher values of the measure are better.

    Examples
    --------
    >>> import plackett as pk
    >>> lists = pk.datasets.make_web_like(50, 10, 3, random_state=0)
    >>> log = pk.clicks.simulate_clicks(lists, {"a": lists.X[:, 0], "b": -lists.X[:, 0]}, 5_000)
    >>> rows = [int(log.pairs[code][1]) for code in range(log.n_pairs)]
    >>> theta = [0.68, 0.61, 0.48, 0.34, 0.28, 0.20, 0.11, 0.10, 0.08, 0.06]
    >>> scores = {"first": lists.X[rows, 0], "second": lists.X[rows, 1]}
    >>> found = pk.clicks.evaluate_from_clicks(log, scores, propensities=theta, metric="dcg@5")
    >>> found.best, len(found.differences)
    ('second', 1)
    """

    results: dict[str, ClickEvaluation]
    differences: list[ValueDifference]
    higher_is_better: bool = True

    @property
    def best(self) -> str:
        """Name of the ranking with the best value."""
        sign = 1 if self.higher_is_better else -1
        return max(self.results, key=lambda name: sign * self.results[name].value)

    def __getitem__(self, name: str) -> ClickEvaluation:
        return self.results[name]

    def to_table(self) -> Table:
        """Return a table with a row for each ranking."""
        return _table(list(self.results.values()))

    def to_differences(self) -> Table:
        """Return a table of the differences, with intervals and corrected p-values."""
        columns = [Column("difference", "text"), Column("value", "estimate"), Column("p", "p")]
        columns.append(Column("significant", "text"))
        rows: list[list[Any]] = [
            [
                f"{one.ranker} - {one.other}",
                Estimate(one.value, *one.interval, one.p, self.higher_is_better),
                one.p,
                "yes" if one.is_significant else "no",
            ]
            for one in self.differences
        ]
        return Table(columns, rows, name="differences")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        results = {name: one.to_dict() for name, one in self.results.items()}
        return json_value({"rankers": results, "differences": [one._asdict() for one in self.differences]})

    def __str__(self) -> str:
        notes = list(dict.fromkeys(note for one in self.results.values() for note in one.notes))
        parts = [self.to_table().to_text(), self.to_differences().to_text(), "\n".join(f"- {note}" for note in notes)]
        return "\n\n".join(filter(None, parts))

    def _repr_html_(self) -> str:
        notes = dict.fromkeys(note for one in self.results.values() for note in one.notes)
        return notebook_html([self.to_table(), self.to_differences()], after=notes)

    def __repr__(self) -> str:
        return f"ClickEvaluations({', '.join(self.results)}; best {self.best})"


def _table(results: list[ClickEvaluation]) -> Table:
    metric = results[0].metric
    columns = [Column("ranker", "text"), Column(metric), Column("low"), Column("high")]
    columns.append(Column("effective clicks", digits=0))
    rows: list[list[Any]] = [[one.ranker, one.value, *one.interval, one.effective_sample_size] for one in results]
    more = [
        ("coverage", [one.coverage for one in results]),
        ("mean weight", [one.mean_weight for one in results]),
        ("bias by clipping", [math.nan if one.bias is None else one.bias for one in results]),
        ("bias bound", [math.nan if not one.bias_bound else one.bias_bound for one in results]),
    ]
    for name, values in more:
        if not all(math.isnan(value) for value in values):
            columns.append(Column(name))
            rows = [[*row, value] for row, value in zip(rows, values, strict=True)]
    return Table(columns, rows, name="values")
