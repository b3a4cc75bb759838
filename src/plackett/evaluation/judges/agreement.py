"""Agreement of models with people: by grade, by rank, by system, with themselves, and between versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import kendalltau

from plackett._tables import Column, Estimate, Table, signed
from plackett.data.trec.run import Run
from plackett.evaluation.agreement import grade_agreement
from plackett.evaluation.compare.runs import named_runs
from plackett.evaluation.evaluate import evaluate
from plackett.evaluation.judges.findings import Findings
from plackett.evaluation.judges.kappa import Kappa, jackknife_interval, kappa
from plackett.evaluation.judges.labels import (
    Labels,
    Matched,
    few_queries,
    match,
    named_labels,
    read_labels,
    scale_of,
    top_documents,
    values_of,
)
from plackett.validation import count_of

COLUMNS = [
    Column("pairs", digits=0), Column("equal", digits=3), Column("by chance", digits=3), Column("kappa", "text"),
]  # fmt: skip
RANKS = {"1 to 10": (1, 10), "11 to 100": (11, 100), "below": (101, np.inf), "not retrieved": (0, 0)}


def judge_agreement(
    qrels: Any, models: Any, *, runs: Any = None, metric: Any = "ndcg@10", scale: Any = None
) -> JudgeAgreement:
    """Compare labels by models with those by people.

    Parameters
    ----------
    qrels : path, Qrels, data frame, or dict of dicts
        Judgements by people.
    models : the same, a list, or a mapping of names to labels
        One judge or several; of several, each is also compared with the one before it, as versions of a prompt are.
        In CSV and JSON files a pair may be labelled several times: the first label counts, and the consistency is
        reported.
    runs : as in ``compare_runs``, default=None
        For the bias by rank and by system.
    metric : str or Measure, default="ndcg@10"
        Of the bias by system.
    scale : sequence of numbers, default=None
        The grades; None takes those of people. Other labels are counted, named and left out.

    Examples
    --------
    >>> from plackett.evaluation import judge_agreement
    >>> people = {"1": {"a": 1, "b": 0}, "2": {"c": 1, "d": 0}}
    >>> found = judge_agreement(people, {"gpt": {"1": {"a": 1, "b": 1}, "2": {"c": 1, "d": 0}}})
    >>> found.kappa["gpt"].value, found.kappa["gpt"].equal
    (0.5, 0.75)
    """
    people = read_labels(qrels, "people")
    judges = named_labels(models)
    grades = scale_of(people, scale)
    matched = {one.name: match(people, one, grades) for one in judges}
    ranked = None if runs is None else named_runs(runs)
    notes = list(dict.fromkeys(note for one in matched.values() for note in one.notes))
    systems = {} if ranked is None else _systems(people, judges, ranked, metric, notes)
    return JudgeAgreement(people, judges, grades, matched, ranked, metric, systems, notes)


@dataclass(eq=False, repr=False)
class JudgeAgreement(Findings):
    """The agreement of judges with people; returned by ``judge_agreement``.

    Attributes
    ----------
    people : Labels
        The judgements by people.
    judges : list of Labels
        Those by models.
    scale : ndarray
        The grades.
    matched : dict of str to Matched
        By judge, the pairs that both judged.
    runs : dict of str to Run, or None
        Of the bias by rank and by system.
    metric : str or Measure
        Of the bias by system.
    systems : dict of str to ndarray of shape (n_runs, n_queries)
        The values of ``metric`` by people and by each judge, on the queries of people.
    notes : list of str
        Labels that do not fit, counted and named.
    kappa : dict of str to Kappa
        By judge.

    Examples
    --------
    >>> from plackett.evaluation import judge_agreement
    >>> people = {"1": {"a": 1, "b": 0}, "2": {"c": 1, "d": 0}}
    >>> print(judge_agreement(people, {"gpt": {"1": {"a": 1, "b": 1}, "2": {"c": 1, "d": 0}}}).headline())
    gpt gives the grade of people to 75.0 % of 4 pairs; chance would give 50.0 %: kappa 0.500.
    """

    people: Labels
    judges: list[Labels]
    scale: np.ndarray
    matched: dict[str, Matched]
    runs: dict[str, Run] | None
    metric: Any
    systems: dict[str, np.ndarray]
    notes: list[str]
    kappa: dict[str, Kappa] = field(init=False)

    def __post_init__(self) -> None:
        self.kappa = {name: self._kappa(name) for name in self.matched}

    def _kappa(self, name: str, weights: str | None = None, which: Any = slice(None)) -> Kappa:
        found = self.matched[name]
        codes = found.people[which], found.model[which]
        return kappa(*codes, n_grades=self.scale.size, weights=weights, queries=found.queries[which])

    def confusion(self, name: str) -> np.ndarray:
        """Return the numbers of pairs by grade of people (rows) and of a judge (columns)."""
        found, size = self.matched[name], self.scale.size
        return np.bincount(found.people * size + found.model, minlength=size * size).reshape(size, size)

    def tables(self) -> list[Table]:
        """Return the tables: judges, grades, ranks, systems, repeated labels and drift, those that there are."""
        found = [self._judges(), self._grades()]
        if self.runs is not None:
            found += [self._ranks(self.runs), self._of_systems(self.runs)]
        return found + [one for one in (self._repeated(), self._drift()) if one is not None]

    def _judges(self) -> Table:
        rows: list[list[Any]] = []
        for name, found in self.matched.items():
            own, squared = self.kappa[name], self._kappa(name, "quadratic")
            grades = np.concatenate([found.people, found.model])
            alpha = grade_agreement(np.tile(np.arange(found.people.size), 2), self.scale[grades]).alpha
            rows.append([name, len(found.pairs), *_cells(own), _interval(squared), alpha, self._gap(name)])
        columns = [Column("judge", "text"), *COLUMNS, Column("weighted kappa", "text"), Column("alpha", digits=3)]
        n_queries = len({qid for qid, _ in self.people.pairs})
        notes = ["kappa is weighted by squared differences, alpha is Krippendorff's, a difference is model − people"]
        notes.append(few_queries(n_queries) or "95 % intervals leave out one query at a time")
        name, n_pairs, equal, chance = rows[0][:4]
        title = (
            f"{name} gives the grade of people to {100 * equal:.1f} % of {count_of(n_pairs, 'pair')}; "
            f"chance would give {100 * chance:.1f} %: kappa {self.kappa[name].value:.3f}."
        )
        return Table([*columns, Column("mean difference", "estimate")], rows, name="judges", title=title, notes=notes)

    def _gap(self, name: str, which: Any = slice(None)) -> Estimate:
        """Return the mean difference of labels, model minus people."""
        found = self.matched[name]
        return _clustered((self.scale[found.model] - self.scale[found.people])[which], found.queries[which])

    def _grades(self) -> Table:
        rows: list[list[Any]] = []
        for name in self.matched:
            for grade, row in zip(self.scale, self.confusion(name), strict=True):
                mean = float(row @ self.scale) / row.sum() if row.sum() else np.nan
                rows.append([name, f"{grade:g}", *row.tolist(), int(row.sum()), mean])
        columns = [Column("judge", "text"), Column("people", "text")]
        columns += [Column(f"{grade:g}", digits=0) for grade in self.scale]
        columns += [Column("pairs", digits=0), Column("mean of model", digits=2)]
        name = next(iter(self.matched))
        counts = self.confusion(name)
        above, below = (100 * part.sum() / counts.sum() for part in (np.triu(counts, 1), np.tril(counts, -1)))
        title = f"{name} is above people on {above:.1f} % of the pairs, below on {below:.1f} %."
        return Table(columns, rows, name="grades", title=title)

    def _ranks(self, runs: Mapping[str, Run]) -> Table:
        """Return agreement by the best rank that any run gives the document."""
        best: dict[tuple[str, str], int] = {}
        for run in runs.values():
            for rank, qid, docid in top_documents(run, np.inf):
                best[qid, docid] = min(rank, best.get((qid, docid), rank))
        rows: list[list[Any]] = []
        for name, found in self.matched.items():
            ranks = np.array([best.get(pair, 0) for pair in found.pairs])
            for words, (low, high) in RANKS.items():
                which = np.flatnonzero((ranks >= low) & (ranks <= high))
                if which.size:
                    cells = _cells(self._kappa(name, None, which))
                    rows.append([name, words, which.size, *cells, self._gap(name, which)])
        parts = [f"{signed(row[-1].value, 2)} ({row[1]})" for row in rows if row[0] == rows[0][0]]
        title = f"By best rank in any run, {rows[0][0]} differs from people by {', '.join(parts)}."
        columns = [Column("judge", "text"), Column("best rank", "text"), *COLUMNS]
        return Table([*columns, Column("mean difference", "estimate")], rows, name="ranks", title=title)

    def _of_systems(self, runs: Mapping[str, Run]) -> Table:
        people, names = self.systems["people"], list(runs)
        rows: list[list[Any]] = []
        for name in self.matched:
            model = self.systems[name]
            gap, queries = model - people, np.arange(model.shape[1])
            own = [_clustered(row, queries) for row in gap - gap.mean(axis=0)]
            by_value = sorted(zip(names, own, strict=True), key=lambda run: run[1].value)
            order = kendalltau(people.mean(axis=1), model.mean(axis=1)).statistic if len(names) > 1 else np.nan
            bias = _clustered(gap.mean(axis=0), queries)
            rows.append([name, people.mean(), model.mean(), bias, order, *by_value[-1], *by_value[0]])
        name, by_people, by_model, _, order = rows[0][:5]
        title = f"By {name} the mean {self.metric} of {count_of(len(names), 'run')} is {by_model:.4f}, by people "
        title += f"{by_people:.4f}; Kendall's tau of their orders is {order:.2f}."
        columns = [Column("judge", "text"), Column("by people"), Column("by model"), Column("bias", "estimate")]
        columns += [Column("tau", digits=2), Column("favoured", "text"), Column("by", "estimate")]
        columns += [Column("disfavoured", "text"), Column("by", "estimate")]
        notes = [f"favoured: against the mean bias, the ends of {count_of(len(names), 'run')}, so partly by chance"]
        return Table(columns, rows, name="systems", title=title, notes=notes)

    def _repeated(self) -> Table | None:
        """Return how often a judge that labelled pairs several times gave them the same label."""
        rows: list[list[Any]] = []
        for one in (self.people, *self.judges):
            place = {pair: number for number, pair in enumerate(dict.fromkeys(one.pairs))}
            if len(place) < len(one.pairs):
                rows.append([one.name, *grade_agreement([place[pair] for pair in one.pairs], one.values)])
        if not rows:
            return None
        title = f"{rows[0][0]} labelled {count_of(rows[0][1], 'pair')} more than once; {100 * rows[0][3]:.1f} % of the "
        title += "comparisons are equal. The first label counts."
        columns = [Column("labels", "text"), Column("pairs", digits=0), Column("comparisons", digits=0)]
        columns += [Column("equal", digits=3), Column("alpha", digits=3)]
        return Table(columns, rows, name="repeated", title=title)

    def _drift(self) -> Table | None:
        """Return what changed between two versions of a judge."""
        if len(self.judges) != 2:
            return None
        old, new = self.judges
        before, after = old.first(), new.first()
        pairs = [pair for pair in before if pair in after]
        if not pairs:
            return None
        shift = np.array([after[pair] - before[pair] for pair in pairs])
        mean = _clustered(shift, np.array([qid for qid, _ in pairs]))
        kappas = [self.kappa[one.name].value for one in self.judges]
        title = f"From {old.name} to {new.name}, {100 * (shift != 0).mean():.1f} % of the labels change, by "
        title += f"{signed(mean.value, 3)} on average; kappa with people goes from {kappas[0]:.3f} to {kappas[1]:.3f}."
        row = [count_of(len(pairs), "pair"), float((shift > 0).mean()), float((shift < 0).mean()), mean]
        columns = [Column("labelled by both", "text"), Column("up", digits=3), Column("down", digits=3)]
        columns += [Column("mean change", "estimate")]
        return Table(columns, [row], name="drift", title=title)


def _systems(people: Labels, judges: list[Labels], runs: dict[str, Run], metric: Any, notes: list[str]) -> dict:
    """Return the values of the measure by run and query, by people and by each judge, on queries that all judged."""
    every = {one.name: one.to_qrels() for one in (people, *judges)}
    shared = set.intersection(*(set(qrels.groups.ids.tolist()) for qrels in every.values()))
    queries = [qid for qid in every[people.name].groups.ids.tolist() if qid in shared]
    if n_lacking := every[people.name].groups.ids.size - len(queries):
        notes.append(f"bias by system leaves out {count_of(n_lacking, 'query', 'queries')} that a model did not label")
    return {name: values_of(evaluate, qrels, runs, queries, metrics=[metric])[:, :, 0] for name, qrels in every.items()}


def _clustered(values: np.ndarray, queries: np.ndarray) -> Estimate:
    """Return the mean of values with an interval that leaves out one query at a time."""
    codes = np.unique(queries, return_inverse=True)[1]
    sums, n = np.bincount(codes, values), np.bincount(codes)
    with np.errstate(invalid="ignore"):
        without = (values.sum() - sums) / (values.size - n)
    return Estimate(float(values.mean()), *jackknife_interval(float(values.mean()), without))


def _cells(found: Kappa) -> list[Any]:
    """Return the cells of ``COLUMNS`` after the number of pairs."""
    return [found.equal, found.chance, _interval(found)]


def _interval(found: Kappa) -> str:
    bounds = "" if np.isnan(found.low) else f" ({found.low:.3f} to {found.high:.3f})"
    return f"{found.value:.3f}{bounds}".replace("-", "−")
