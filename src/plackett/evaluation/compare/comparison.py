"""The result of a comparison of rankers."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from plackett._drawing import COLOURS, REFERENCE, axes_of, draw_references
from plackett._optional import import_optional
from plackett._tables import (
    BETTER,
    LEVEL,
    WORSE,
    Column,
    Marked,
    Table,
    cut,
    json_value,
    listed,
    notebook_html,
    p_value,
)
from plackett.data.grouping import as_objects
from plackett.data.queries import Queries
from plackett.data.subtopics import Subtopics
from plackett.data.trec.qrels import Qrels
from plackett.data.trec.run import Run
from plackett.evaluation.compare.insight import Insight
from plackett.evaluation.evaluate import Evaluation, evaluate, find_metric
from plackett.evaluation.reference_scores import BEST_FEATURE
from plackett.evaluation.significance import Difference, bootstrap_columns, corrected, differences
from plackett.exceptions import DataWarning, ParameterError, warn
from plackett.metrics.judged_lists import mean_of_counted
from plackett.metrics.measure import Measure
from plackett.validation import count_of, plain

LEVELS = ((0.01, 2), (LEVEL, 1))  # a p-value at most this gives that many marks
BEST = "best"  # as a baseline: the contestant with the best mean
FORMAT = "plackett comparison"
RANKER, RUN = "ranker", "run"
MOST_CHANGED = 50  # queries
PLAIN = ("failures", "description", "settings", "notes")  # attributes that are the same in JSON


@dataclass(frozen=True)
class FoldFit:
    """How one contestant was fitted in one fold.

    Attributes
    ----------
    fold : int
        From 1.
    params : dict
        The chosen hyperparameters; only those that the grid names.
    validation : float
        The value of the chosen candidate on the validation queries; NaN if there were none.
    seconds : float
        Time of all fits of the fold, including those of other candidates.
    n_candidates : int
        Number of candidates tried.
    history : list of dict, or None
        One entry for each iteration of the chosen fit; None if its ranker has no ``history_``.

    Examples
    --------
    >>> import plackett as pk
    >>> data = pk.datasets.make_web_like(40, n_features=6, random_state=0)
    >>> result = pk.compare("regression,listmle", data, cv=4, metrics="ndcg@10")
    >>> fit = result.fits["listmle"][0]
    >>> fit.fold, fit.params, fit.n_candidates
    (1, {'l2': 0.1, 'patience': None}, 5)
    """

    fold: int
    params: dict[str, Any]
    validation: float
    seconds: float
    n_candidates: int
    history: list[dict[str, float]] | None = None


class CurvePoint(NamedTuple):
    """The mean of the first measure over all test queries after training on a share of the training queries.

    ``n_queries`` is the mean number of training queries of a fold; ``low`` and ``high`` are a bootstrap interval.

    Examples
    --------
    >>> import plackett as pk
    >>> data = pk.datasets.make_web_like(40, n_features=6, random_state=0)
    >>> result = pk.compare("regression,listmle", data, cv=4, metrics="ndcg@10", learning_curve=[0.5, 1])
    >>> [(point.share, point.n_queries) for point in result.learning_curves["listmle"]]
    [(0.5, 10.0), (1.0, 20.0)]
    """

    share: float
    n_queries: float
    mean: float
    low: float
    high: float


class HardQuery(NamedTuple):
    """A query, the mean over the contestants, and the value of each."""

    qid: Any
    mean: float
    values: dict[str, float]


class SummaryRow(NamedTuple):
    """One row of the summary: a contestant or a reference score. Missing values are NaN or empty.

    ``best_by`` are the measures by which this contestant has the best mean; empty if there is no other.
    """

    name: str
    means: dict[str, float]
    marks: dict[str, str]
    p_values: dict[str, float]
    best_by: frozenset[str] = frozenset()
    seconds: float = math.nan
    is_reference: bool = False


@dataclass(eq=False, repr=False, kw_only=True)
class Comparison:
    """Rankers or runs on the same test queries, query by query; returned by `compare` and `compare_runs`.

    Attributes
    ----------
    metrics : list of str
        Names of the measures, in the order of the call.
    lower_is_better : list of str
        The measures for which lower values are better; None takes the direction from the measures.
    measures : dict of str to Measure
        The measures by name; empty for a restored comparison. ``measure`` also finds plackett's measures by name.
    convention : str
        The convention of the measures.
    baseline : str
        The contestant that marks refer to; empty if all failed.
    is_baseline_best : bool
        Whether it was chosen for its best mean; p-values are then corrected for all pairs.
    tables : dict of str to Evaluation
        By contestant, in the order of the call, without those that failed. All have the same ``queries``: the test
        queries of fold 1, then of fold 2, and so on.
    fold_of : ndarray of shape (n_queries,)
        The fold, from 1, of each of these queries.
    queries : Queries
        All test documents in that order, with labels. For runs: all documents that are judged or that a run retrieved,
        with NaN as the label of those that are not judged.
    scores : dict of str to ndarray of shape (n_docs,)
        The test scores of each contestant, in the order of the rows of ``queries``; NaN for documents that a run did
        not retrieve.
    fits : dict of str to list of FoldFit
        Empty for runs.
    failures : dict of str to list of str
        Errors by contestant, such as ``"fold 3: ValueError: ..."``.
    reference_scores : dict of str to Evaluation
        "random order" (its exact expectation) and "best feature" (column and direction chosen on each fold's training
        queries).
    description : dict
        Numbers of queries, documents, features and labels, as ``Queries.describe().to_dict()`` gives them.
    settings : dict
        How the comparison was run: folds, measures, selection, seed, grids, versions.
    notes : list of str
        Remarks, such as warnings of fits.
    kind : "ranker" or "run"
        What is compared.
    insights : dict of str to Insight
        By contestant, the reasons for lists and the importance of features; only after ``compare(..., explain=True)``.
    learning_curves : dict of str to list of CurvePoint
        By contestant, the mean of the first measure by training size; only after ``compare(..., learning_curve=True)``.
    corrected : Corrected or None
        With ``compare_runs(..., model_labels=…)``: means and differences by people and a model together.
    best_ : ranker
        The best contestant by the first measure, fitted again to all queries; only after ``compare(..., refit=True)``.

    Examples
    --------
    >>> import plackett as pk
    >>> data = pk.datasets.make_web_like(40, n_features=6, random_state=0)
    >>> result = pk.compare("regression,listmle", data, cv=4, metrics="ndcg@10")
    >>> result
    Comparison(regression, listmle; 40 queries × ndcg@10)
    >>> result.best() in result.tables
    True
    """

    metrics: list[str]
    convention: str
    tables: dict[str, Evaluation]
    fold_of: np.ndarray
    queries: Queries
    scores: dict[str, np.ndarray]
    fits: dict[str, list[FoldFit]]
    failures: dict[str, list[str]] = field(default_factory=dict)
    reference_scores: dict[str, Evaluation] = field(default_factory=dict)
    description: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    kind: str = RANKER
    measures: Mapping[str, Measure] = field(default_factory=dict)
    lower_is_better: list[str] | None = None
    insights: dict[str, Insight] = field(default_factory=dict)
    learning_curves: dict[str, list[CurvePoint]] = field(default_factory=dict)
    refitted: Any = None
    corrected: Any = None
    baseline: str = ""
    is_baseline_best: bool = field(init=False)
    _pairs: dict[tuple[str, str, str], Difference] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        if self.lower_is_better is None:
            known = {metric: self.measure(metric) for metric in self.metrics}
            self.lower_is_better = [name for name, one in known.items() if one is not None and not one.higher_is_better]
        self.is_baseline_best = self.baseline == BEST
        if self.is_baseline_best:
            self.baseline = self.best()
        elif not self.baseline or self.baseline not in self.tables:
            first = next(iter(self.tables), "")  # the best one would be chosen on the test queries
            if self.baseline in self.failures:
                note = f"the baseline {self.baseline} failed; {first or f'no other {self.kind}'} takes its place"
                self.notes = [*self.notes, note]
            elif self.baseline:
                raise ParameterError(
                    "baseline", self.baseline, f"it is not among the contestants {', '.join(self.tables)}."
                )
            self.baseline = first

    def __len__(self) -> int:
        return len(self.tables)

    @property
    def n_folds(self) -> int:
        return int(self.fold_of.max(initial=0))

    @property
    def best_(self) -> Any:
        if self.refitted is None:
            why = "pass refit=True to compare"
            if self.settings.get("refit"):
                why = "the refit failed (see the notes), or the comparison was restored without its rankers"
            raise AttributeError(f"this comparison has no best_: {why}.")
        return self.refitted

    @property
    def has_fits(self) -> bool:
        """Whether any contestant was fitted, so that there are seconds; False for runs."""
        return any(self.fits.values())

    @property
    def gains(self) -> np.ndarray:
        """The labels of the rows of ``queries``, with 0 for documents that are not judged."""
        return np.nan_to_num(self.queries.labels)

    def measure(self, metric: str) -> Measure | None:
        """Return the measure with this name; None for a user's measure in a comparison restored from a file."""
        if metric in self.measures:
            return self.measures[metric]
        try:
            return Measure.parse(metric)
        except ValueError:
            return None

    def is_higher_better(self, metric: str) -> bool:
        """Return whether higher values of a measure are better."""
        return metric not in (self.lower_is_better or ())

    def sign(self, metric: str) -> float:
        """Return 1 if higher values of a measure are better, otherwise -1."""
        return 1.0 if self.is_higher_better(metric) else -1.0

    @property
    def all_tables(self) -> dict[str, Evaluation]:
        """The tables of the contestants, then those of the reference scores."""
        return {**self.tables, **self.reference_scores}

    def mean(self) -> dict[str, dict[str, float]]:
        """Return the mean of each measure over all test queries that count, by contestant."""
        return {name: table.mean() for name, table in self.tables.items()}

    def evaluate(self, name: str, metrics: Any) -> Evaluation:
        """Return other measures of a contestant on the same test queries.

        Parameters
        ----------
        name : str
            The contestant.
        metrics : sequence of str or Measure, or text with commas
        """
        queries, scores = self.queries, self.scores[name]
        is_retrieved = ~np.isnan(scores)
        if is_retrieved.all() and not np.isnan(queries.labels).any():
            return evaluate(queries, scores, metrics=metrics, convention=self.convention)
        run = Run(queries.qid[is_retrieved], np.asarray(queries.docid)[is_retrieved], scores[is_retrieved])
        return evaluate(Qrels.of_pool(queries), run, metrics=metrics, convention=self.convention, complete=True)

    def by_fold(self, metric: str | None = None) -> dict[str, list[float]]:
        """Return the mean in each fold, by contestant; published LETOR tables give the means of these."""
        metric = self._metric(metric)
        folds = range(1, self.n_folds + 1)
        return {
            name: [mean_of_counted(table[metric][self.fold_of == fold]) for fold in folds]
            for name, table in self.tables.items()
        }

    def best(self, metric: str | None = None) -> str:
        """Return the contestant with the best mean, the first if several are equal; empty without contestants."""
        return next(iter(self.ranked(metric)), "")

    def ranked(self, metric: str | None = None) -> list[str]:
        """Return the contestants by a measure, by default the first: the best first, those without a value last."""
        metric = self._metric(metric)
        values = {name: -self.sign(metric) * means[metric] for name, means in self.mean().items()}
        return sorted(values, key=lambda name: (math.isnan(values[name]), values[name]))

    def sides(self) -> tuple[str, str]:
        """Return the baseline and the best contestant, or the runner-up and the best if the baseline is the best.

        A single contestant is compared with the last reference score, the best feature, or with itself if there is
        none.
        """
        order = self.ranked()
        if len(order) == 1:
            return [*order, *self.reference_scores][-1], order[0]
        return (self.baseline if self.baseline != order[0] else order[1]), order[0]

    def most_changed(self) -> list[int]:
        """Return the places of the 50 queries with the largest differences between `sides`, the largest first."""
        a, b = (self.all_tables[name][self.metrics[0]] for name in self.sides())
        return np.argsort(-np.nan_to_num(np.abs(b - a)), kind="stable")[:MOST_CHANGED].tolist()

    def differences(self, metric: str | None = None, *, against: str | None = None) -> list[Difference]:
        """Return pairs of contestants with intervals and p-values.

        Parameters
        ----------
        metric : str, default=None
            None takes the first measure.
        against : str, default=None
            None returns all pairs. The name of a contestant or a reference score returns the pairs of every other
            contestant with it (``a`` the other one, ``b`` that name).

        Notes
        -----
        Holm's correction counts the returned pairs if ``against`` was fixed before the results were known: a reference
        score, or the baseline unless it was chosen as the best. Otherwise it counts all pairs of contestants, so that
        the level holds for each of them.
        """
        metric, names = self._metric(metric), list(self.tables)
        every = [(a, b) for place, a in enumerate(names) for b in names[place + 1 :]]
        if against is None:
            return corrected(self._uncorrected(every, metric))
        if against not in self.tables and against not in self.reference_scores:
            raise ValueError(f"against={against!r} is not among the contestants {', '.join(names)}.")
        wanted = [(name, against) for name in names if name != against]
        if against in self.reference_scores or (against == self.baseline and not self.is_baseline_best):
            return corrected(self._uncorrected(wanted, metric))
        found = {(pair.a, pair.b): pair for pair in corrected(self._uncorrected(every, metric))}
        return [found[pair] if pair in found else found[pair[::-1]].reversed() for pair in wanted]

    def against_baseline(self, metric: str | None = None) -> list[Difference]:
        """Return `differences` from the baseline; none if all contestants failed."""
        return self.differences(metric, against=self.baseline) if self.baseline else []

    def difference(self, a: str, b: str) -> Difference:
        """Return a minus b by the first measure; with the baseline, corrected for its pairs only, as in the summary."""
        if a == self.baseline:
            return self.difference(b, a).reversed()
        return next(pair for pair in self.differences(against=b) if pair.a == a)

    def is_better(self, pair: Difference) -> bool:
        """Return whether the first contestant of a pair is significantly better."""
        return pair.is_significant and (pair.mean > 0) == self.is_higher_better(pair.metric)

    def _uncorrected(self, pairs: Sequence[tuple[str, str]], metric: str) -> list[Difference]:
        """Return each pair without correction, computed once; a reversed pair has the same p-values."""
        place = {name: number for number, name in enumerate(self.all_tables)}
        forward = [(a, b) if place[a] < place[b] else (b, a) for a, b in pairs]
        missing = [pair for pair in forward if (*pair, metric) not in self._pairs]
        found = differences(
            missing,
            metric,
            {name: table[metric] for name, table in self.all_tables.items()},
            higher_is_better=self.is_higher_better(metric),
            random_state=self._seed,
        )
        self._pairs.update({(pair.a, pair.b, metric): pair for pair in found})
        kept = [self._pairs[(*pair, metric)] for pair in forward]
        return [one if one.a == a else one.reversed() for one, (a, _) in zip(kept, pairs, strict=True)]

    def marks(self, metric: str | None = None) -> dict[str, str]:
        """Return marks by contestant: ▲ better or ▼ worse than the baseline at p ≤ 0.05, doubled at p ≤ 0.01, or empty.

        The p-values are those of the randomisation test after Holm's correction, as in `differences`: for the pairs
        with the baseline, or for all pairs if the baseline was chosen as the best.
        """
        answer = dict.fromkeys(self.tables, "")
        for pair in self.against_baseline(metric):
            is_better = (pair.mean > 0) == self.is_higher_better(pair.metric)
            times = next((times for level, times in LEVELS if pair.p_random_holm <= level), 0)
            answer[pair.a] = (BETTER if is_better else WORSE) * times
        return answer

    def hardest(self, n: int = 10, metric: str | None = None) -> list[HardQuery]:
        """Return the queries on which the contestants are worst on average, the hardest first.

        Skips queries without a value, and queries whose documents all have the same label (for runs: the label 0).

        Parameters
        ----------
        n : int, default=10
        metric : str, default=None
            None takes the first measure.
        """
        metric = self._metric(metric)
        if not self.tables:
            return []
        values = np.array([table[metric] for table in self.tables.values()])
        counted = ~np.isnan(values)
        with np.errstate(invalid="ignore"):
            means = np.nansum(values, axis=0) / counted.sum(axis=0)
        others = [0.0] if self.kind == RUN else []  # runs need not retrieve all documents
        differ = [np.ptp([*self.gains[start:end], *others]) > 0 for start, end in pairwise(self.queries.indptr)]
        is_asked = np.array(differ) & ~np.isnan(means)
        order = [place for place in np.argsort(self.sign(metric) * means, kind="stable").tolist() if is_asked[place]]
        ids = self.queries.ids.tolist()
        return [
            HardQuery(ids[place], float(means[place]), dict(zip(self.tables, values[:, place].tolist(), strict=True)))
            for place in order[:n]
        ]

    def summary(self) -> list[SummaryRow]:
        """Return the rows of the summary: contestants in the order of the call, then the reference scores."""
        marks = {metric: self.marks(metric) for metric in self.metrics}
        p_values: dict[str, dict[str, float]] = {name: {} for name in self.tables}
        for pair in (pair for metric in self.metrics for pair in self.against_baseline(metric)):
            p_values[pair.a][pair.metric] = pair.p_random_holm
        means, rows = self.mean(), []
        best = {metric: means[self.best(metric)][metric] for metric in self.metrics} if len(means) > 1 else {}
        for name, own in means.items():
            own_marks = {metric: marks[metric][name] for metric in self.metrics}
            fits = self.fits.get(name, [])
            seconds = sum(fit.seconds for fit in fits) if fits else math.nan
            best_by = frozenset(metric for metric, value in best.items() if own[metric] == value)
            rows.append(SummaryRow(name, own, own_marks, p_values[name], best_by, seconds))
        return rows + [
            SummaryRow(name, table.mean(), {}, {}, is_reference=True) for name, table in self.reference_scores.items()
        ]

    def remarks(self) -> list[str]:
        """Return the lines below the table: sizes, the meaning of marks, failures, and notes."""
        size = f"{count_of(self.queries.n_queries, 'test query', 'test queries')} in {count_of(self.n_folds, 'fold')}"
        if self.kind == RUN:
            size = count_of(self.queries.n_queries, "query", "queries")
        lines = [f"{size}, convention {self.convention}"]
        if self.baseline and len(self.tables) > 1:
            lines.append(
                f"{BETTER} better, {WORSE} worse than {self.baseline}: p ≤ 0.05, doubled p ≤ 0.01 (randomisation test, "
                f"{self.correction()})"
            )
        for metric in self.metrics[1:] if BEST_FEATURE in self.reference_scores else ():
            if below := self._not_above(metric):
                lines.append(f"not significantly better than the best feature by {metric}: {listed(below)}")
        if self.lower_is_better:
            lines.append(f"lower is better: {', '.join(self.lower_is_better)}")
        for name, reasons in self.failures.items():
            words = [reason.partition(": ") for reason in reasons]  # "fold 2: ..."
            is_one = len(reasons) == self.n_folds > 1 and len({why for _, _, why in words}) == 1
            lines += [f"failed: {name}, {reason}" for reason in ([f"every fold: {words[0][2]}"] if is_one else reasons)]
        notes = {name: table.notes for name, table in self.tables.items()}
        of_all = [note for note in next(iter(notes.values()), []) if all(note in others for others in notes.values())]
        of_one = [f"{name}: {note}" for name, own in notes.items() for note in own if note not in of_all]
        return [*lines, *of_all, *of_one, *self.notes]

    def headline(self) -> list[str]:
        """Return the result by the first measure in sentences: the best ranker, its lead, the best single feature.

        "significant" refers to corrected p-values of the randomisation test.
        """
        if not self.tables:
            return [f"No {self.kind} finished."]
        metric, best, means = self.metrics[0], self.best(), self.mean()
        value = means[best][metric]
        equals = [name for name in means if means[name][metric] == value]
        is_equal = 1 < len(equals) == len(means)
        subject = f"{listed(equals)} are equally good" if is_equal else f"{cut(best)} is the best"
        sentences = [f"{subject} by {metric}" + ("." if math.isnan(value) else f", with {value:.4f}.")]
        if len(means) == 1:
            sentences = [f"{cut(best)} reaches {value:.4f} by {metric}."] if not math.isnan(value) else sentences
        elif not is_equal:
            sentences += self._lead(best)
        return [*sentences, *self._against_best_feature(metric)]

    def _lead(self, best: str) -> list[str]:
        pairs = [self.difference(name, best) for name in self.tables if name != best]
        equals = [pair.a for pair in pairs if not pair.is_significant]
        others = "the other one" if len(pairs) == 1 else f"each of the {len(pairs)} others"
        if not equals:
            sentences = [f"Its lead over {others} is significant (p ≤ {LEVEL})."]
        else:
            sentences = [f"Its lead over {others if len(equals) == len(pairs) else listed(equals)} is not significant."]
        if self.baseline != best:
            pair = self.difference(best, self.baseline)
            gap = f"{pair.mean:+.4f}"
            if not math.isnan(pair.low):  # one query has no interval and no p-value
                gap += f", interval {pair.low:+.4f} to {pair.high:+.4f}, corrected p {p_value(pair.p_random_holm)}"
            sentences.append(f"Against the baseline {cut(pair.b)}: {gap}.")
        return sentences

    def _against_best_feature(self, metric: str) -> list[str]:
        """Say which rankers are better than the best single feature."""
        if BEST_FEATURE not in self.reference_scores:
            return []
        reference = self.reference_scores[BEST_FEATURE]
        features = reference.best_features.get(metric, "").split("; ")
        which = cut("; ".join(features))
        if len(features) > 2:
            which = f"{len(features)} different ones in {self.n_folds} folds"
        words = f"the best single feature ({which + ', ' if which else ''}{reference.mean()[metric]:.4f})"
        below = self._not_above(metric)
        if not below:
            subject = f"Every {self.kind} is" if len(self.tables) > 1 else "It is"
            return [f"{subject} significantly better than {words}."]
        if len(below) == len(self.tables) > 1:
            return [f"No {self.kind} is significantly better than {words}."]
        return [f"{listed(below)} {'is' if len(below) == 1 else 'are'} not significantly better than {words}."]

    def _not_above(self, metric: str) -> list[str]:
        """Return the contestants that are not significantly better than the best single feature."""
        return [pair.a for pair in self.differences(metric, against=BEST_FEATURE) if not self.is_better(pair)]

    def correction(self) -> str:
        """Return which pairs Holm's correction counts in the p-values of the summary, as text."""
        n = len(self.tables)
        if n == 2:
            return "Holm over one pair"
        if self.is_baseline_best:
            return f"Holm over all {count_of(n * (n - 1) // 2, 'pair')}, since the baseline was chosen as the best"
        return f"Holm over the {count_of(n - 1, 'pair')} with it"

    @property
    def _seed(self) -> int:
        return int(self.settings.get("random_state") or 0)

    def _metric(self, metric: str | None) -> str:
        return self.metrics[0] if metric is None else find_metric(metric, self.metrics)

    # --- To text and back ---------------------------------------------------------------------------------------------

    def to_table(self, *, p_values: bool = False) -> Table:
        """Return the summary as a `Table`: a row for each contestant and reference score, ``p_values`` beside means."""
        columns = [Column(self.convention if p_values else "", "text")]
        for metric in self.metrics:
            columns += [Column(metric, "marked"), *[Column("p", "p", digits=3)] * p_values]
        rows: list[list[Any]] = []
        for row in self.summary():
            cells: list[Any] = [row.name]
            for m in self.metrics:
                p = row.p_values.get(m, math.nan)
                cells += [Marked(row.means[m], row.marks.get(m, ""), m in row.best_by)]
                cells += ["" if math.isnan(p) else p] * p_values
            rows.append([*cells, "" if row.is_reference else row.seconds])
        rows += [[name, *["failed", *[""] * p_values] * len(self.metrics), ""] for name in self.failures]
        if not (self.has_fits or self.failures):
            return Table(columns, [row[:-1] for row in rows])
        return Table([*columns, Column("seconds", digits=1)], rows)

    def __str__(self) -> str:
        if self.corrected is not None:
            return str(self.corrected)
        return "\n".join([*self.headline(), self.to_table().to_text(), *self.remarks()])

    def _repr_html_(self) -> str:
        if self.corrected is not None:
            return self.corrected._repr_html_()
        return notebook_html(self.to_table(), before=[" ".join(self.headline())], after=self.remarks())

    def to_markdown(self) -> str:
        """Return the summary as a Markdown table, the best of each measure in bold."""
        return self.to_table().to_markdown()

    def to_latex(self) -> str:
        """Return the summary as a LaTeX ``tabular``, the best of each measure in bold; needs booktabs and amssymb."""
        return self.to_table().to_latex()

    def to_frame(self, *, per_query: bool = False):
        """Return the summary as a pandas data frame with a row for each contestant and reference score.

        It has the mean of each measure, its corrected p-value against the baseline (such as "map p") and the seconds
        of all fits.

        Parameters
        ----------
        per_query : bool, default=False
            Return a row for each contestant, or reference score, and query instead, with the fold and the values.
        """
        pandas = import_optional("pandas", extra=None, needed_for="Comparison.to_frame")
        if per_query:
            parts = {name: table.to_frame() for name, table in self.all_tables.items()}
            for part in parts.values() if self.fits else ():
                part.insert(0, "fold", self.fold_of)
            frame = pandas.concat(parts, names=[self.kind])
        else:
            rows = []
            for row in self.summary():
                values: dict[str, Any] = {self.kind: row.name}
                for metric in self.metrics:
                    values[metric] = row.means[metric]
                    values[f"{metric} p"] = row.p_values.get(metric, math.nan)
                rows.append({**values, "seconds": row.seconds})
            frame = pandas.DataFrame(rows).set_index(self.kind)
            frame = frame if self.has_fits else frame.drop(columns="seconds")
        frame.attrs.update(convention=self.convention, baseline=self.baseline)
        return frame

    def plot(self, metric: str | None = None, *, ax: Any = None) -> Any:
        """Plot the mean of each contestant with its bootstrap interval, the best at the top, and reference scores.

        The intervals (level 0.95) are those of each mean alone. They vary with the queries, which all contestants
        share, so overlapping intervals do not mean that a difference is not significant; the marks after the names
        are those of the tests against the baseline.

        Parameters
        ----------
        metric : str, default=None
            None takes the first measure.
        ax : matplotlib Axes, default=None
            None makes a new figure.
        """
        metric = self._metric(metric)
        marks, means = self.marks(metric), {name: row[metric] for name, row in self.mean().items()}
        sign = self.sign(metric)
        order = sorted(means, key=lambda name: sign * np.nan_to_num(means[name], nan=-sign * np.inf))
        ax = axes_of(ax, needed_for="Comparison.plot", height=1.2 + 0.32 * len(order))
        places, values = np.arange(len(order)), np.array([means[name] for name in order])
        if order:
            columns = np.stack([self.tables[name][metric] for name in order], axis=1)
            low, high = bootstrap_columns(columns, random_state=self._seed)
            ax.hlines(places, low, high, color=COLOURS[0], linewidth=2)
        ax.plot(values, places, "o", color=COLOURS[0])
        for name, table in self.reference_scores.items():
            ax.axvline(table.mean()[metric], color=REFERENCE, linestyle="--", linewidth=1)
            ax.text(table.mean()[metric], len(order) - 0.4, name, color=REFERENCE, ha="center", va="bottom", fontsize=8)
        ax.set_yticks(places, [f"{name} {marks[name]}".strip() for name in order])
        ax.set_ylim(-0.6, len(order) - 0.4)
        ax.set_xlabel(metric)
        return ax

    def plot_learning_curves(self, *, ax: Any = None) -> Any:
        """Plot the mean of the first measure by the number of training queries (``compare(learning_curve=True)``).

        A curve that still rises at its end suggests that more judgements would help. Without ``ax``, it is a new
        figure.
        """
        if not self.learning_curves:
            raise ValueError("the comparison has no learning curves. Compare with learning_curve=True.")
        ax = axes_of(ax, needed_for="Comparison.plot_learning_curves")
        for name in self.ranked():
            if points := self.learning_curves.get(name):
                ax.plot([point.n_queries for point in points], [point.mean for point in points], "o-", label=name)
        draw_references(ax, {name: table.mean()[self.metrics[0]] for name, table in self.reference_scores.items()})
        ax.set_xlabel("training queries of a fold")
        ax.set_ylabel(self.metrics[0])
        ax.legend(frameon=False)
        return ax

    def __repr__(self) -> str:
        queries = count_of(self.queries.n_queries, "query", "queries")
        return f"Comparison({', '.join(self.tables)}; {queries} × {', '.join(self.metrics)})"

    def to_dict(self, *, per_query: bool = True) -> dict[str, Any]:
        """Return plain values for JSON; NaN becomes None. With ``per_query``, `from_dict` restores all but X."""
        names = ("kind", "metrics", "lower_is_better", "convention", "baseline", "is_baseline_best")
        answer: dict[str, Any] = {
            "format": FORMAT,
            **{name: getattr(self, name) for name in names},
            "headline": self.headline(),
            "mean": self.mean(),
            "by_fold": {metric: self.by_fold(metric) for metric in self.metrics},
            "reference_scores": {name: table.mean() for name, table in self.reference_scores.items()},
            "differences": [pair.to_dict() for metric in self.metrics for pair in self.against_baseline(metric)],
            "fits": {name: [asdict(fit) for fit in fits] for name, fits in self.fits.items()},
            **{name: getattr(self, name) for name in PLAIN},
        }
        if self.learning_curves:
            answer["learning_curves"] = self.learning_curves
        if self.corrected is not None:
            answer["corrected"] = self.corrected.to_dict()
        if per_query:
            queries, tables = self.queries, self.all_tables.items()
            answer["queries"] = {
                "ids": queries.ids,
                "folds": self.fold_of,
                "indptr": queries.indptr,
                "labels": queries.labels,
                "docid": queries.docid,
                "subtopics": None if queries.subtopics is None else queries.subtopics.to_dict(),
            }
            answer["values"] = {name: table.values for name, table in tables}
            answer["n_empty"] = {name: table.n_empty for name, table in tables}
            answer["table_notes"] = {name: table.notes for name, table in tables}
            answer["best_features"] = {name: table.best_features for name, table in self.reference_scores.items()}
            answer["scores"] = self.scores
            if self.insights:
                answer["insights"] = {name: insight.to_dict() for name, insight in self.insights.items()}
        return json_value(answer)

    def to_json(self, *, per_query: bool = True, indent: int | None = None) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(per_query=per_query), indent=indent, allow_nan=False)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Comparison:
        """Restore a comparison from the values of `to_dict`; its ``queries`` have no features."""
        if values.get("format") != FORMAT or "queries" not in values:
            raise ValueError("these are not the values of a comparison; pass Comparison.to_dict() with per_query=True.")
        if "corrected" in values:
            warn(
                "people's judgements of some queries corrected this comparison. Only the sentences are restored, "
                "as notes: means and tests are those of people alone. Call compare_runs again for the corrected ones.",
                DataWarning,
            )
        stored, labels = values["queries"], _numbers(values["queries"]["labels"])
        docid, subtopics = (stored.get(name) for name in ("docid", "subtopics"))
        about: dict[str, Any] = {} if docid is None else {"docid": np.array(docid)}
        about |= {} if subtopics is None else {"subtopics": Subtopics.from_dict(subtopics)}
        indptr = np.array(stored["indptr"], dtype=np.int64)
        queries = Queries.from_groups(np.zeros((labels.size, 0)), labels, _as_ids(stored["ids"]), indptr, **about)

        def table(name: str) -> Evaluation:
            found = _numbers(values["values"][name]).reshape(queries.n_queries, len(values["metrics"]))
            remarks = {"n_empty": values["n_empty"][name], "notes": values["table_notes"][name]}
            remarks["best_features"] = values.get("best_features", {}).get(name, {})
            return Evaluation(values["metrics"], queries.ids, found, convention=values["convention"], **remarks)

        fits = {
            name: [FoldFit(**{**fit, "validation": float(_numbers(fit["validation"]))}) for fit in fits]
            for name, fits in values["fits"].items()
        }
        return cls(
            metrics=values["metrics"],
            lower_is_better=values.get("lower_is_better"),
            convention=values["convention"],
            # older files do not say; the stricter correction is valid in both cases
            baseline=BEST if values.get("is_baseline_best", True) else values["baseline"],
            tables={name: table(name) for name in values["mean"]},
            fold_of=np.array(stored["folds"], dtype=np.int64),
            queries=queries,
            scores={name: _numbers(scores) for name, scores in values["scores"].items()},
            kind=values.get("kind", RANKER),
            fits=fits,
            reference_scores={name: table(name) for name in values["reference_scores"]},
            **{name: values[name] for name in PLAIN},
            insights={name: Insight.from_dict(one) for name, one in values.get("insights", {}).items()},
            learning_curves={
                name: [CurvePoint(*_numbers(list(point)).tolist()) for point in points]
                for name, points in values.get("learning_curves", {}).items()
            },
        )


def places_of(queries: Queries, wanted: Iterable[Any]) -> list[int]:
    """Return the places of query ids, which may be given as text; raise for an unknown id."""
    known = {str(plain(key)): place for place, key in enumerate(queries.ids.tolist())}
    names = dict.fromkeys(str(plain(key)) for key in wanted)
    for name in names:
        if name not in known:
            raise ValueError(f"query {name!r} is not among the test queries, such as {next(iter(known))!r}.")
    return [known[name] for name in names]


def _numbers(values: Any) -> np.ndarray:
    return np.array(values, dtype=np.float64)  # None becomes NaN


def _as_ids(ids: list) -> np.ndarray:
    kinds = {type(key) for key in ids}
    return np.array(ids) if len(kinds) == 1 else as_objects(ids)  # numpy would turn 7 and "a" into text
