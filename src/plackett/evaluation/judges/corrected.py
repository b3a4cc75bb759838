"""Evaluation by people's judgements of some queries and a model's of all."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from plackett._tables import Column, Table, listed, p_value, signed
from plackett.data.trec.qrels import Qrels
from plackett.data.trec.run import Run
from plackett.evaluation.judges.estimates import Estimates, Sample, corrected_means
from plackett.evaluation.judges.findings import Findings
from plackett.evaluation.judges.labels import TOP, few_queries, read_labels, spelling_notes, unjudged_at_top, values_of
from plackett.evaluation.significance import holm
from plackett.exceptions import DataWarning, ParameterError, warn
from plackett.metrics.conventions import Convention
from plackett.metrics.measure import Measure
from plackett.validation import count_of

RANDOM, ALL, HEAD, DOCUMENTS = "random", "all", "head", "documents"
SAMPLED = (
    'how were the queries that people judged chosen? "random": drawn by chance from those of the model; "all": people '
    'judged every query; "head": by frequency or by hand, which allows no interval; or the known probability of each, '
    "as {query: probability} or a CSV file with the columns query and probability."
)
MOST_UNJUDGED = 0.5


def correct(
    qrels: Qrels,
    runs: Mapping[str, Run],
    model_labels: Any,
    evaluate: Callable[..., Any],
    *,
    metrics: Mapping[str, Measure],
    convention: str | Convention,
    complete: bool | None,
    sampled: Any,
    estimand: str,
    interval: str,
    baseline: str | None = None,
    random_state: int = 0,
) -> Corrected:
    """Return corrected means of runs, and differences from the ``baseline``; parameters as in ``compare_runs``."""
    if complete is False:  # the set of queries would be another one for each run
        raise ParameterError("complete", complete, "with model_labels a query that a run does not answer counts.")
    names = list(metrics)
    labels = read_labels(model_labels)
    model = labels.to_qrels()
    queries, judged = model.groups.ids.tolist(), set(qrels.groups.ids.tolist())
    human = [qid for qid in queries if qid in judged]
    lacking = [qid for qid in qrels.groups.ids.tolist() if qid not in set(queries)]
    notes = [f"{labels.name}: {count_of(labels.n_empty, 'row has', 'rows have')} no label"] if labels.n_empty else []
    repeated = len(labels.pairs) - len(model)
    if repeated:
        notes.append(f"{labels.name} repeats {count_of(repeated, 'label')} of a pair; the first label counts")
    spelled = spelling_notes(
        labels.name, [(qid, "") for qid in lacking], [(qid, "") for qid in queries if qid not in judged]
    )
    if not human:
        raise ValueError(f"{labels.name} has no query that people judged; {' '.join(spelled) or 'ids differ.'}")
    if lacking:
        what = f"{count_of(len(lacking), 'query', 'queries')} that people judged and {labels.name} did not"
        notes += [f"left out: {what} ({listed(lacking)})", *spelled]
        warn(notes[-1 - len(spelled)], DataWarning)
    chances = _chances(sampled, human, len(queries))
    cutoff = max(TOP if one.k is None else one.k for one in metrics.values())
    worst, unjudged = unjudged_at_top("people", qrels, runs, human, cutoff)
    if worst > MOST_UNJUDGED:
        why = f"people did not judge {100 * worst:.0f} % of the top {cutoff} of a run for the queries that they judged"
        raise ValueError(f"{why}, as if documents had been sampled: {_WHOLE_LISTS}")
    for note in unjudged:
        warn(note, DataWarning)
    notes += unjudged + unjudged_at_top("the model", model, runs, queries, cutoff)[1]
    answered = {qid for run in runs.values() for qid in run.groups.ids.tolist()}
    if outside := [qid for qid in answered if qid not in set(queries)]:
        notes.append(f"{count_of(len(outside), 'query', 'queries')} of the runs without labels by the model left out")
    values = [
        values_of(evaluate, part, runs, ids, metrics=metrics, convention=convention)
        for part, ids in ((qrels, human), (model, queries))
    ]
    if any(np.isnan(part).any() for part in values):
        raise ValueError(
            f"the convention {str(convention)!r} leaves out queries without relevant documents, and people and model "
            'would leave out different ones. Choose convention="standard", where they count.'
        )
    is_human = np.isin(queries, human)
    base = next(iter(runs)) if baseline is None else baseline
    if base not in runs:
        raise ParameterError("baseline", base, f"it is not among the runs {', '.join(runs)}.")
    place, others = list(runs).index(base), [name for name in runs if name != base]
    # means of all runs, then differences
    people, every = (np.concatenate([*part, *np.delete(part - part[place], place, axis=0)], axis=1) for part in values)
    sample = Sample.at_random(people, every[is_human], every[~is_human])
    if chances is not None:
        sample = sample._replace(chances=chances)
    settings: dict[str, Any] = {"estimand": estimand, "random_state": random_state}
    found = {
        "corrected": corrected_means(sample, interval=interval, **settings),
        "people": corrected_means(sample, weight=0.0, interval=interval, **settings),
    }
    reason = few_queries(len(human))
    if chances is None:
        reason = "no intervals: the judged queries were chosen, not drawn by chance: what the model gets wrong on them "
        reason += "says little about the others, so neither interval nor correction can be trusted"
    if reason:
        nothing = np.full(people.shape[1], np.nan)
        found = {name: one._replace(low=nothing, high=nothing, p=nothing) for name, one in found.items()}
        notes.append(reason)
    found["model"] = found["people"]._replace(mean=sample.model_mean)
    constant = [name for column, name in enumerate(names) if not found["corrected"].weight[column :: len(names)].any()]
    if constant:
        notes.append(f"{labels.name} does not vary with people's values of {listed(constant)}: weight 0, people alone")
    return Corrected(list(runs), others, base, names, labels.name, (len(human), len(queries)), estimand, found, notes)


@dataclass(eq=False, repr=False)
class Corrected(Findings):
    """Means and differences corrected by people; in ``corrected`` of the results of ``evaluate`` and ``compare_runs``.

    Attributes
    ----------
    runs, others : list of str
        Names of the runs, and of those that are compared with the baseline.
    baseline : str
        The run that they are compared with.
    metrics : list of str
        Names of the measures.
    judge : str
        Name of the model's labels.
    n_queries : tuple of int
        Queries judged by people, and all.
    estimand : str
        ``"queries like these"`` or ``"this set of queries"``.
    estimates : dict of str to Estimates
        ``"corrected"``, ``"people"`` and ``"model"`` (alone): all measures of each run, then of each difference.
    notes : list of str
        Reasons for missing intervals, unjudged documents, queries left out.

    Examples
    --------
    >>> import plackett as pk
    >>> model = {f"q{n}": {"a": n % 3, "b": 1} for n in range(40)}
    >>> people, run = dict(list(model.items())[:20]), {qid: {"a": 2.0, "b": 1.0} for qid in model}
    >>> found = pk.evaluate(people, run, metrics="ndcg@10", model_labels=model, sampled="random").corrected
    >>> found.n_queries, found.estimates["corrected"].weight.round(2).tolist()
    ((20, 40), [1.0])
    """

    runs: list[str]
    others: list[str]
    baseline: str
    metrics: list[str]
    judge: str
    n_queries: tuple[int, int]
    estimand: str
    estimates: dict[str, Estimates]
    notes: list[str]

    def tables(self) -> list[Table]:
        """Return the means, and with several runs the differences from the baseline."""
        return [self._means(), *([self._differences()] if self.others else [])]

    def _row(self, column: int) -> list[float]:
        corrected, people, model = (self.estimates[name] for name in ("corrected", "people", "model"))
        ends = [float(value[column]) for one in (corrected, people) for value in (one.mean, one.low, one.high)]
        return [*ends, float(model.mean[column]), float(corrected.weight[column])]

    def _columns(self, first: str) -> list[Column]:
        names = ("corrected", "low", "high", "people alone", "people low", "people high", "model alone")
        return [Column(first, "text"), Column("measure", "text"), *map(Column, names), Column("weight", digits=2)]

    def _means(self) -> Table:
        size = len(self.metrics)
        rows: list[list[Any]] = [
            [run, metric, *self._row(number * size + column)]
            for number, run in enumerate(self.runs)
            for column, metric in enumerate(self.metrics)
        ]
        run, metric, mean, low, high, people, *_, model, _ = rows[0]
        ends = "" if np.isnan(low) else f" [{low:.4f}, {high:.4f}]"
        n, every = self.n_queries
        title = (
            f"With people's judgements of {n:,} of {every:,} queries and {self.judge} of all, {metric} of {run} is "
            f"{mean:.4f}{ends} for {self.estimand}; people alone give {people:.4f}, the model alone {model:.4f}."
        )
        notes = []
        if ends:
            notes = ["95 % intervals; of the two, the corrected one is to be reported, also where it is the wider one"]
        return Table(self._columns("run"), rows, name="corrected", title=title, notes=notes)

    def _differences(self) -> Table:
        size, first = len(self.metrics), len(self.runs) * len(self.metrics)
        rows: list[list[Any]] = []
        for column, metric in enumerate(self.metrics):
            p = self.estimates["corrected"].p[first + column :: size]
            for number, (run, value) in enumerate(zip(self.others, holm(p), strict=True)):
                rows.append([run, metric, *self._row(first + number * size + column), float(value)])
        run, metric, mean, low, high, *_, p = rows[0]
        verdict = "without an interval" if np.isnan(low) else f"[{signed(low)}, {signed(high)}]"
        sure = "" if np.isnan(low) else f", p {p_value(p)}: " + ("a difference." if p <= 0.05 else "undecided.")
        title = f"{run} − {self.baseline} by {metric} is {signed(mean)} {verdict}{sure or '.'}"
        columns = [*self._columns(f"run − {self.baseline}"), Column("p", "p")]
        many = f"p: two-sided, of the corrected difference, Holm over {count_of(len(self.others), 'run')}"
        return Table(columns, rows, name="differences", title=title, notes=[] if np.isnan(low) else [many])


def _chances(sampled: Any, human: Sequence[str], n_queries: int) -> np.ndarray | None:
    """Return the probability with which each of people's queries was chosen; None if it is not known."""
    n = len(human)
    if isinstance(sampled, str) and sampled in (RANDOM, ALL, HEAD, DOCUMENTS):
        if sampled == DOCUMENTS:
            raise ParameterError("sampled", sampled, _WHOLE_LISTS)
        if sampled == ALL and n < n_queries:
            raise ParameterError("sampled", sampled, f"but people judged {n:,} of the {n_queries:,} queries.")
        return None if sampled == HEAD and n < n_queries else np.full(n, n / n_queries)
    if sampled is None and n == n_queries:
        return np.ones(n)
    if isinstance(sampled, (str, os.PathLike)):
        sampled = read_chances(sampled)
    if not isinstance(sampled, Mapping):
        raise ParameterError("sampled", sampled, SAMPLED)
    chance = {str(qid): float(value) for qid, value in sampled.items()}
    missing = [qid for qid in human if qid not in chance]
    if missing:
        raise ValueError(
            f"sampled has no probability for {count_of(len(missing), 'query', 'queries')} that people "
            f"judged: {listed(missing)}."
        )
    values = np.array([chance[qid] for qid in human])
    is_chance = (values > 0) & (values <= 1)
    if not is_chance.all():
        wrong = human[int(np.argmin(is_chance))]
        raise ValueError(
            f"sampled gives query {wrong!r} the probability {chance[wrong]:g}; it must be above 0, at most 1."
        )
    return values


_WHOLE_LISTS = (
    "measures such as NDCG divide by the ideal of the whole list, which a sample of its documents does not have, and "
    "unjudged documents would count as not relevant. Let people judge whole lists of fewer queries."
)


def read_chances(path: str | os.PathLike) -> dict[str, float]:
    """Return the probability of each query, from a CSV file with the columns query and probability."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        names = {str(name).strip().casefold(): name for name in reader.fieldnames or ()}
        query = next((names[name] for name in ("query", "qid") if name in names), None)
        if query is None or "probability" not in names:
            found = ", ".join(names) or "nothing"
            raise ValueError(f"{os.fspath(path)}: expected the columns query and probability; found {found}.")
        rows = [(row[query], row[names["probability"]]) for row in reader]
    try:
        return {str(qid).strip(): float(value) for qid, value in rows}
    except (TypeError, ValueError) as error:
        raise ValueError(f"{os.fspath(path)}: a probability is not a number: {error}.") from None
