"""What a judge is worth in judgements by people, before its labels are bought."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from plackett._tables import Column, Table
from plackett.data.runs import as_qrels
from plackett.evaluation.compare.runs import named_runs
from plackett.evaluation.evaluate import evaluate
from plackett.evaluation.judges.findings import Findings
from plackett.evaluation.judges.kappa import jackknife_interval
from plackett.evaluation.judges.labels import LEAST_QUERIES, read_labels, values_of
from plackett.evaluation.significance import Interval
from plackett.validation import check_positive_int, count_of

PRECISIONS = (0.1, 0.05, 0.03, 0.02, 0.01)
LARGEST = 100_000  # human queries in the table of precisions


def judge_plan(
    qrels: Any, model_labels: Any, runs: Any, *, metric: Any = "ndcg@10", n_model: int = 400, n_human: int = 40
) -> JudgePlan:
    """Measure on judged queries how well a model predicts people's values, and what that saves.

    Parameters
    ----------
    qrels : path, Qrels, data frame, or dict of dicts
        Judgements by people of at least ten queries.
    model_labels : the same
        The model's labels of these queries.
    runs : as in ``compare_runs``
        Systems like those that will be compared; of two or more also the differences are measured.
    metric : str or Measure, default="ndcg@10"
    n_model : int, default=400
        Queries that the model is to judge beyond those of people.
    n_human : int, default=40
        Queries that people are to judge.

    Examples
    --------
    >>> from plackett.evaluation import judge_plan
    >>> people = {f"q{n}": {"a": n % 3, "b": n % 2} for n in range(12)}
    >>> run = {qid: {"a": 2.0, "b": 1.0} for qid in people}
    >>> judge_plan(people, people, {"bm25": run}).correlation["single systems"][0] > 0.99
    True
    """
    check_positive_int(n_model, "n_model"), check_positive_int(n_human, "n_human")
    people, labels, named = as_qrels(qrels), read_labels(model_labels), named_runs(runs)
    model = labels.to_qrels()
    labelled = set(model.groups.ids.tolist())
    queries = [qid for qid in people.groups.ids.tolist() if qid in labelled]
    if len(queries) < LEAST_QUERIES:
        raise ValueError(
            f"people and {labels.name} both judged {count_of(len(queries), 'query', 'queries')}; a plan needs "
            f"{LEAST_QUERIES}."
        )
    notes = []
    if n_lacking := people.groups.ids.size - len(queries):
        notes.append(f"{count_of(n_lacking, 'query', 'queries')} that {labels.name} did not judge left out")
    y, f = (values_of(evaluate, part, named, queries, metrics=[metric])[:, :, 0] for part in (people, model))
    kinds = {"single systems": (y, f)}
    if len(named) > 1:
        first, second = np.triu_indices(len(named), 1)
        kinds["differences of two"] = y[first] - y[second], f[first] - f[second]
    found = {kind: _correlation(*columns) for kind, columns in kinds.items()}
    spread = {kind: float(np.sqrt(columns[0].var(axis=1, ddof=1).mean())) for kind, columns in kinds.items()}
    return JudgePlan(labels.name, metric, len(queries), n_human, n_model, found, spread, notes)


@dataclass(eq=False, repr=False)
class JudgePlan(Findings):
    """What a judge is worth; returned by ``judge_plan``.

    Attributes
    ----------
    judge : str
        Name of the model's labels.
    metric : str or Measure
        The measure.
    n_queries : int
        Queries that both judged.
    n_human, n_model : int
        Queries that are to be judged by people, and beyond these by the model.
    correlation : dict of str to (value, Interval)
        Of people's values with the model's, over queries: the mean of single systems, and of differences.
    spread : dict of str to float
        Standard deviation of people's values.
    notes : list of str
        Queries left out.

    Examples
    --------
    >>> from plackett.evaluation import judge_plan
    >>> people = {f"q{n}": {"a": n % 3, "b": n % 2} for n in range(12)}
    >>> plan = judge_plan(people, people, {"bm25": {qid: {"a": 2.0, "b": 1.0} for qid in people}})
    >>> round(plan.worth(0.7))
    72
    """

    judge: str
    metric: Any
    n_queries: int
    n_human: int
    n_model: int
    correlation: dict[str, tuple[float, Interval]]
    spread: dict[str, float]
    notes: list[str]

    def worth(self, correlation: float, n_human: int | None = None) -> float:
        """Return how many human queries alone are worth as much as ``n_human`` with the model's queries."""
        n = self.n_human if n_human is None else n_human
        return n / max(1e-12, 1.0 - max(correlation, 0.0) ** 2 * self.n_model / (self.n_model + n))

    def queries_for(self, half_width: float, spread: float, correlation: float = 0.0) -> int | None:
        """Return how many human queries give an interval of ± ``half_width``; None for more than 100,000."""
        low, high = LEAST_QUERIES - 1, LARGEST
        if self._half_width(high, spread, correlation) > half_width:
            return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._half_width(middle, spread, correlation) <= half_width else (middle, high)
        return high

    def _half_width(self, n: int, spread: float, correlation: float) -> float:
        return float(stdtrit(n - 1, 0.975)) * spread / np.sqrt(self.worth(correlation, n))

    def tables(self) -> list[Table]:
        """Return the correlations and their worth, and the queries that intervals of some widths need."""
        rows: list[list[Any]] = []
        for kind, (value, (low, high)) in self.correlation.items():
            rows.append([kind, value, low, high, *(self.worth(one) for one in (value, low, high))])
        kind, value, low, high, *worth = rows[-1]
        title = (
            f"For {kind} by {self.metric}, {self.judge} has the correlation {value:.2f} [{low:.2f}, {high:.2f}] with "
            f"people: {self.n_human:,} human queries with {self.n_model:,} more by the model are worth {worth[0]:.0f} "
            f"human queries [{worth[1]:.0f}, {worth[2]:.0f}]."
        )
        names = ("correlation", "low", "high")
        columns = [Column("of", "text"), *(Column(name, digits=2) for name in names)]
        columns += [Column(name, digits=0) for name in ("worth", "worth low", "worth high")]
        notes = [f"measured on {self.n_queries} queries that both judged; 95 % intervals leave out one query at a time"]
        return [Table(columns, rows, name="worth", title=title, notes=notes), self._precisions()]

    def _precisions(self) -> Table:
        kind, (value, (low, high)) = list(self.correlation.items())[-1]
        spread = self.spread[kind]
        rows: list[list[Any]] = []
        for half in PRECISIONS:
            found = [self.queries_for(half, spread, one) for one in (0.0, value, high, low)]
            rows.append([f"± {half:g}", *(f"over {LARGEST:,}" if one is None else f"{one:,}" for one in found)])
        names = ("interval", "people alone", "with the model", "at best", "at worst")
        columns = [Column(name, "text") for name in names]
        title = f"An interval of {rows[1][0]} for {kind} needs {rows[1][1]} human queries alone, {rows[1][2]} with "
        title += f"{self.n_model:,} more by the model."
        note = f"the standard deviation of people's values is {spread:.3f}; at best and at worst: ends of the interval"
        return Table(columns, rows, name="precision", title=title, notes=[f"{note} of the correlation"])


def _correlation(y: np.ndarray, f: np.ndarray) -> tuple[float, Interval]:
    """Return the mean correlation of rows, through Fisher's z, with an interval that leaves out one query at a time."""

    def mean(which: np.ndarray) -> float:
        centred = [one[:, which] - one[:, which].mean(axis=1, keepdims=True) for one in (y, f)]
        sums = [(centred[a] * centred[b]).sum(axis=1) for a, b in ((0, 1), (0, 0), (1, 1))]
        size = np.sqrt(sums[1] * sums[2])
        is_known = size > 1e-12
        r = np.where(is_known, sums[0] / np.where(is_known, size, 1.0), 0.0)  # equal runs, or a judge without variance
        return float(np.arctanh(np.clip(r, -1 + 1e-12, 1 - 1e-12)).mean())

    every = np.arange(y.shape[1])
    whole, without = mean(every), np.array([mean(every != one) for one in every])
    low, high = jackknife_interval(whole, without)
    return round(float(np.tanh(whole)), 12), Interval(float(np.tanh(low)), float(np.tanh(high)))
