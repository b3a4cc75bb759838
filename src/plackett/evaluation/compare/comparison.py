"""The result of a comparison: every contestant's values on the same test queries, what its fits cost, what failed."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from plackett.data.grouping import as_objects
from plackett.data.queries import Queries
from plackett.evaluation.compare.differences import Difference, corrected, differences
from plackett.evaluation.compare.headline import headline, listed, not_above
from plackett.evaluation.reference_scores import BEST_FEATURE
from plackett.evaluation.table import Evaluation, mean_of_counted
from plackett.metrics.measure import Measure
from plackett.validation import count_of, plain

LEVELS = ((0.01, 2), (0.05, 1))  # a p-value at most this gives that many marks
BETTER, WORSE = "▲", "▼"
BEST = "best"  # as a baseline: the contestant that came out best
FORMAT = "plackett comparison"


@dataclass(frozen=True)
class FoldFit:
    """How one contestant was fitted in one fold.

    Attributes
    ----------
    fold : int
        From 1.
    params : dict
        The setting that was chosen; of the parameters only those that were searched.
    validation : float
        What the chosen setting reached on the validation queries; NaN where there was nothing to choose.
    seconds : float
        All fits of the fold, the choice among settings included.
    n_settings : int
        How many settings were tried.
    history : list of dict, or None
        One entry for each iteration of the chosen fit, as far as its ranker keeps them.
    """

    fold: int
    params: dict[str, Any]
    validation: float
    seconds: float
    n_settings: int
    history: list[dict[str, float]] | None = None


class HardQuery(NamedTuple):
    """A query, the mean over the contestants, and the value of each."""

    qid: Any
    mean: float
    values: dict[str, float]


class SummaryRow(NamedTuple):
    """One line of the summary: a contestant or a floor. What it lacks is NaN, or empty."""

    name: str
    means: dict[str, float]
    marks: dict[str, str]
    p_values: dict[str, float]
    seconds: float
    is_floor: bool


class Comparison:
    """Contestants on the same test queries, query by query.

    Attributes
    ----------
    metrics : list of str
    convention : str
    baseline : str
        The contestant to which marks refer; empty when all failed.
    is_baseline_best : bool
        Whether it was chosen because it came out best: p-values are then corrected for all pairs.
    tables : dict of str to Evaluation
        By contestant, in order of entry; those that failed are not among them. All have the same ``queries``: the test
        queries of fold 1, then of fold 2, and so on.
    fold_of : ndarray of shape (n_queries,)
        The fold, from 1, of each of these queries.
    queries : Queries
        All test documents in that order, with labels.
    scores : dict of str to ndarray of shape (n_docs,)
        The test scores of each contestant, in the order of the rows of ``queries``.
    fits : dict of str to list of FoldFit
    failures : dict of str to list of str
        By contestant what went wrong, such as ``"fold 3: ValueError: ..."``.
    floors : dict of str to Evaluation
        "random order" (its expectation, exactly) and "best feature" (column and direction chosen on each fold's
        training queries).
    description : dict
        Numbers of queries, documents, features and labels, as ``Queries.describe().to_dict()`` gives them.
    settings : dict
        How it was run: folds, measures, selection, seed, grids, versions.
    notes : list of str
        What a reader of the numbers should know.
    """

    def __init__(
        self,
        *,
        metrics: Sequence[str],
        convention: str,
        tables: Mapping[str, Evaluation],
        fold_of: np.ndarray,
        queries: Queries,
        scores: Mapping[str, np.ndarray],
        fits: Mapping[str, Sequence[FoldFit]],
        failures: Mapping[str, Sequence[str]] | None = None,
        floors: Mapping[str, Evaluation] | None = None,
        description: Mapping[str, Any] | None = None,
        settings: Mapping[str, Any] | None = None,
        notes: Sequence[str] = (),
        baseline: str | None = None,
    ):
        self.metrics, self.convention = list(metrics), convention
        self.tables, self.floors = dict(tables), dict(floors or {})
        self.fold_of, self.queries = np.asarray(fold_of), queries
        self.scores = dict(scores)
        self.fits = {name: list(fits) for name, fits in fits.items()}
        self.failures = {name: list(reasons) for name, reasons in (failures or {}).items()}
        self.description, self.settings = dict(description or {}), dict(settings or {})
        self.notes = list(notes)
        self.is_baseline_best = baseline == BEST
        self.baseline = self.best() if baseline == BEST else self._check_baseline(baseline)
        self._pairs: dict[tuple[str, str, str], Difference] = {}

    def _check_baseline(self, baseline: str | None) -> str:
        if baseline is not None and baseline in self.tables:
            return baseline
        if baseline is not None and baseline not in self.failures:
            raise ValueError(f"baseline={baseline!r} is not among the contestants {', '.join(self.tables)}.")
        first = next(iter(self.tables), "")  # not the best one, which would be chosen on the test queries
        if baseline is not None:
            self.notes.append(f"the baseline {baseline} failed; {first or 'no other ranker'} takes its place")
        return first

    def __len__(self) -> int:
        return len(self.tables)

    @property
    def n_folds(self) -> int:
        return int(self.fold_of.max(initial=0))

    def mean(self) -> dict[str, dict[str, float]]:
        """By contestant the mean of each measure over all test queries that count."""
        return {name: table.mean() for name, table in self.tables.items()}

    def by_fold(self, metric: str | None = None) -> dict[str, list[float]]:
        """By contestant the mean in each fold; published LETOR tables give the means of these."""
        metric = self._metric(metric)
        folds = range(1, self.n_folds + 1)
        return {
            name: [mean_of_counted(table[metric][self.fold_of == fold]) for fold in folds]
            for name, table in self.tables.items()
        }

    def best(self, metric: str | None = None) -> str:
        """The contestant with the best mean; the first of equals, empty when there is none."""
        metric = self._metric(metric)
        sign = 1.0 if Measure.parse(metric).higher_is_better else -1.0
        means = {name: sign * mean_of_counted(table[metric]) for name, table in self.tables.items()}
        return max(means, key=lambda name: -math.inf if math.isnan(means[name]) else means[name], default="")

    def differences(self, metric: str | None = None, *, against: str | None = None) -> list[Difference]:
        """Pairs of contestants with intervals and p-values; the first measure when ``metric`` is None.

        Parameters
        ----------
        metric : str, default=None
        against : str, default=None
            None gives all pairs, in order of entry. The name of a contestant or a floor gives the pairs of every other
            contestant with it (``a`` the other one, ``b`` that name).

        Holm's correction counts the pairs that are returned where ``against`` was fixed before the results were known:
        a floor, or the baseline unless it was chosen as the best. Otherwise it counts all pairs of contestants: that
        holds the level for whichever of them is looked at.
        """
        metric, names = self._metric(metric), list(self.tables)
        every = [(a, b) for place, a in enumerate(names) for b in names[place + 1 :]]
        if against is None:
            return corrected(self._uncorrected(every, metric))
        if against not in self.tables and against not in self.floors:
            raise ValueError(f"against={against!r} is not among the contestants {', '.join(names)}.")
        wanted = [(name, against) for name in names if name != against]
        if against in self.floors or (against == self.baseline and not self.is_baseline_best):
            return corrected(self._uncorrected(wanted, metric))
        found = {(pair.a, pair.b): pair for pair in corrected(self._uncorrected(every, metric))}
        return [found[pair] if pair in found else found[pair[::-1]].reversed() for pair in wanted]

    def _uncorrected(self, pairs: Sequence[tuple[str, str]], metric: str) -> list[Difference]:
        """Each pair on its own, computed once; seen from either side it has the same p-values."""
        tables = {**self.tables, **self.floors}
        place = {name: number for number, name in enumerate(tables)}
        forward = [(a, b) if place[a] < place[b] else (b, a) for a, b in pairs]
        missing = [pair for pair in forward if (*pair, metric) not in self._pairs]
        found = differences(
            missing,
            metric,
            {name: table[metric] for name, table in tables.items()},
            higher_is_better=Measure.parse(metric).higher_is_better,
            random_state=int(self.settings.get("random_state") or 0),
        )
        self._pairs.update({(pair.a, pair.b, metric): pair for pair in found})
        kept = [self._pairs[(*pair, metric)] for pair in forward]
        return [one if one.a == a else one.reversed() for one, (a, _) in zip(kept, pairs, strict=True)]

    def marks(self, metric: str | None = None) -> dict[str, str]:
        """By contestant how it stands to the baseline: ▲ better or ▼ worse at p ≤ 0.05, twice at p ≤ 0.01, or nothing.

        The p-values are those of the randomisation test after Holm's correction, as `differences` makes it: for the
        pairs with the baseline, or for all pairs where the baseline is the contestant that came out best.
        """
        answer = dict.fromkeys(self.tables, "")
        for pair in self.differences(metric, against=self.baseline) if self.baseline else ():
            is_better = (pair.mean > 0) == Measure.parse(pair.metric).higher_is_better
            times = next((times for level, times in LEVELS if pair.p_random_holm <= level), 0)
            answer[pair.a] = (BETTER if is_better else WORSE) * times
        return answer

    def hardest(self, n: int = 10, metric: str | None = None) -> list[HardQuery]:
        """The queries on which the contestants are worst on average.

        Queries that no contestant counts are left out, and those whose documents all have the same label: any order of
        these is as good as any other.
        """
        metric = self._metric(metric)
        if not self.tables:
            return []
        values = np.array([table[metric] for table in self.tables.values()])
        counted = ~np.isnan(values)
        with np.errstate(invalid="ignore"):
            means = np.nansum(values, axis=0) / counted.sum(axis=0)
        sign = 1.0 if Measure.parse(metric).higher_is_better else -1.0
        starts, ends = self.queries.indptr[:-1], self.queries.indptr[1:]
        labels = self.queries.labels
        differ = [np.ptp(labels[start:end]) > 0 for start, end in zip(starts, ends, strict=True)]
        is_asked = np.array(differ) & ~np.isnan(means)
        order = [place for place in np.argsort(sign * means, kind="stable").tolist() if is_asked[place]]
        ids = self.queries.ids.tolist()
        return [
            HardQuery(ids[place], float(means[place]), dict(zip(self.tables, values[:, place].tolist(), strict=True)))
            for place in order[:n]
        ]

    def summary(self) -> list[SummaryRow]:
        """What a table shows: contestants in order of entry, then the floors."""
        marks = {metric: self.marks(metric) for metric in self.metrics}
        p_values: dict[str, dict[str, float]] = {name: {} for name in self.tables}
        for metric in self.metrics if self.baseline else ():
            for pair in self.differences(metric, against=self.baseline):
                p_values[pair.a][metric] = pair.p_random_holm
        rows = []
        for name, table in self.tables.items():
            fits = self.fits.get(name, [])
            rows.append(
                SummaryRow(
                    name,
                    table.mean(),
                    {metric: marks[metric][name] for metric in self.metrics},
                    p_values[name],
                    sum(fit.seconds for fit in fits) if fits else math.nan,
                    False,
                )
            )
        for name, table in self.floors.items():
            rows.append(SummaryRow(name, table.mean(), {}, {}, math.nan, True))
        return rows

    def remarks(self) -> list[str]:
        """Below the table: sizes, what the marks mean, what failed, and notes."""
        lines = [
            f"{count_of(self.queries.n_queries, 'test query', 'test queries')} in {count_of(self.n_folds, 'fold')}, "
            f"convention {self.convention}"
        ]
        if self.baseline and len(self.tables) > 1:
            lines.append(
                f"{BETTER} better, {WORSE} worse than {self.baseline}: p ≤ 0.05, doubled p ≤ 0.01 (randomisation test, "
                f"{self.correction()})"
            )
        for metric in self.metrics[1:] if BEST_FEATURE in self.floors else ():
            if below := not_above(self, metric):
                lines.append(f"not significantly better than the best feature by {metric}: {listed(below)}")
        falling = [metric for metric in self.metrics if not Measure.parse(metric).higher_is_better]
        if falling:
            lines.append(f"lower is better: {', '.join(falling)}")
        lines += [f"failed: {name}, {reason}" for name, reasons in self.failures.items() for reason in reasons]
        of_labels = next(iter(self.tables.values())).notes if self.tables else []  # the same for all
        return [*lines, *of_labels, *self.notes]

    def headline(self) -> list[str]:
        """The result by the first measure in sentences: the best contestant, its lead, the best single feature."""
        return headline(self)

    def correction(self) -> str:
        """Which pairs Holm's correction counts in the p-values that refer to the baseline, in words."""
        n = len(self.tables)
        if self.is_baseline_best:
            return f"Holm over all {count_of(n * (n - 1) // 2, 'pair')}, since the baseline was chosen as the best"
        return f"Holm over the {count_of(n - 1, 'pair')} with it"

    def _metric(self, metric: str | None) -> str:
        if metric is None:
            return self.metrics[0]
        if metric in self.metrics:
            return metric
        wanted = Measure.parse(metric)
        for name in self.metrics:
            if Measure.parse(name) == wanted:
                return name
        raise ValueError(f"{metric!r} was not evaluated; there are {', '.join(self.metrics)}.")

    # --- To text and back ---------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        rows = self.summary()
        lines = [["", *self.metrics, "seconds"]]
        for row in rows:
            cells = [f"{_shown(row.means[metric])} {row.marks.get(metric, ''):<2}" for metric in self.metrics]
            lines.append([row.name, *cells, "" if row.is_floor else _shown(row.seconds, 1)])
        lines[0][1:-1] = [f"{metric}   " for metric in self.metrics]  # above the number, not above its mark
        widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
        text = []
        for line in lines:
            first, *others = line
            cells = [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
            text.append("  ".join([first.ljust(widths[0]), *cells]).rstrip())
        return "\n".join([*self.headline(), *text, *self.remarks()])

    def __repr__(self) -> str:
        queries = count_of(self.queries.n_queries, "query", "queries")
        return f"Comparison({', '.join(self.tables)}; {queries} × {', '.join(self.metrics)})"

    def to_dict(self, *, per_query: bool = True) -> dict[str, Any]:
        """Plain values, ready for JSON; NaN becomes None. With ``per_query``, all but X: `from_dict` reads it back."""
        answer: dict[str, Any] = {
            "format": FORMAT,
            "metrics": self.metrics,
            "convention": self.convention,
            "baseline": self.baseline,
            "is_baseline_best": self.is_baseline_best,
            "headline": self.headline(),
            "mean": self.mean(),
            "by_fold": {metric: self.by_fold(metric) for metric in self.metrics},
            "floors": {name: table.mean() for name, table in self.floors.items()},
            "differences": [
                pair.to_dict()
                for metric in (self.metrics if self.baseline else ())
                for pair in self.differences(metric, against=self.baseline)
            ],
            "fits": {name: [asdict(fit) for fit in fits] for name, fits in self.fits.items()},
            "failures": self.failures,
            "description": self.description,
            "settings": self.settings,
            "notes": self.notes,
        }
        if per_query:
            tables = {**self.tables, **self.floors}
            docid = self.queries.docid
            answer["queries"] = {
                "ids": self.queries.ids.tolist(),
                "folds": self.fold_of.tolist(),
                "indptr": self.queries.indptr.tolist(),
                "labels": self.queries.labels.tolist(),
                "docid": None if docid is None else docid.tolist(),
            }
            answer["values"] = {name: table.values.tolist() for name, table in tables.items()}
            answer["n_empty"] = {name: table.n_empty for name, table in tables.items()}
            answer["table_notes"] = {name: table.notes for name, table in tables.items()}
            answer["best_features"] = {name: table.best_features for name, table in self.floors.items()}
            answer["scores"] = {name: scores.tolist() for name, scores in self.scores.items()}
        return _plain(answer)

    def to_json(self, *, per_query: bool = True, indent: int | None = None) -> str:
        """`to_dict` as JSON text."""
        return json.dumps(self.to_dict(per_query=per_query), indent=indent, allow_nan=False)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Comparison:
        """The comparison that `to_dict` gave, also after JSON. ``queries`` comes back without features."""
        if values.get("format") != FORMAT or "queries" not in values:
            raise ValueError("these are not the values of a comparison; take Comparison.to_dict() with per_query=True.")
        stored = values["queries"]
        labels = np.array(stored["labels"], dtype=np.float64)
        docid = stored.get("docid")
        queries = Queries.from_groups(
            np.zeros((labels.size, 0)),
            labels,
            _as_ids(stored["ids"]),
            np.array(stored["indptr"], dtype=np.int64),
            docid=None if docid is None else np.array(docid),
        )

        def table(name: str) -> Evaluation:
            return Evaluation(
                values["metrics"],
                queries.ids,
                _numbers(values["values"][name]).reshape(queries.n_queries, len(values["metrics"])),
                convention=values["convention"],
                n_empty=values["n_empty"][name],
                notes=values["table_notes"][name],
                best_features=values.get("best_features", {}).get(name),
            )

        fits = {
            name: [FoldFit(**{**one, "validation": _nan(one["validation"])}) for one in fits]
            for name, fits in values["fits"].items()
        }
        return cls(
            metrics=values["metrics"],
            convention=values["convention"],
            # a file without the second value may hold either: the stricter correction is right for both
            baseline=BEST if values.get("is_baseline_best", True) else values["baseline"] or None,
            tables={name: table(name) for name in values["mean"]},
            fold_of=np.array(stored["folds"], dtype=np.int64),
            queries=queries,
            scores={name: _numbers(scores) for name, scores in values["scores"].items()},
            fits=fits,
            failures=values["failures"],
            floors={name: table(name) for name in values["floors"]},
            description=values["description"],
            settings=values["settings"],
            notes=values["notes"],
        )


def _plain(value: Any) -> Any:
    """``value`` as JSON can say it: no numpy, no NaN; what is neither number nor text as its text."""
    value = plain(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def _numbers(values: Any) -> np.ndarray:
    return np.array(values, dtype=np.float64)  # None becomes NaN


def _nan(value: float | None) -> float:
    return math.nan if value is None else value


def _as_ids(ids: list) -> np.ndarray:
    kinds = {type(key) for key in ids}
    return np.array(ids) if len(kinds) == 1 else as_objects(ids)  # numpy would turn 7 and "a" into text


def _shown(value: float, digits: int = 4) -> str:
    return "–" if math.isnan(value) else f"{value:.{digits}f}"
