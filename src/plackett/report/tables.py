"""The tables of a comparison."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from plackett._tables import Column, Estimate, Marked, Table, listed
from plackett.data.description.describe import Description
from plackett.evaluation.compare.comparison import Comparison
from plackett.evaluation.compare.insight import Insight, permutation_words
from plackett.evaluation.select.selection import in_words
from plackett.evaluation.significance import Difference
from plackett.evaluation.slicing import slices
from plackett.metrics.conventions import CONVENTIONS
from plackett.validation import plain

MOST_FOR_ALL_PAIRS = 12  # contestants; for more, only the pairs with the baseline are shown
MOST_COLUMNS = 12  # contestants side by side
HARDEST = 10
MOST_FEATURES = 10  # features of each contestant
INTERVALS = "bootstrap intervals (level 0.95) are not corrected; colours follow the corrected p (randomisation test)"


def tables(comparison: Comparison, *, groups: Mapping[Hashable, Any] | None = None) -> list[Table]:
    """Return all tables of a comparison: summary, differences, slices, features, folds, fits, queries, data, settings.

    Each has ``name``, ``title``, ``to_text()``, ``to_markdown()``, ``to_latex()``, ``to_csv()``, ``to_html()`` and
    ``to_dict()``. Empty tables are left out.

    Parameters
    ----------
    comparison : plackett.evaluation.compare.comparison.Comparison
        Returned by :func:`plackett.compare`.
    groups : mapping of query id to group, default=None
        For the table of slices.

    Examples
    --------
    >>> from plackett.report.tables import tables
    >>> import plackett as pk
    >>> data = pk.datasets.make_web_like(10, 5, 3, random_state=0)
    >>> comparison = pk.compare("regression,listmle", data, cv=2, metrics="ndcg@10")
    >>> [table.name for table in tables(comparison)][:2]
    ['summary', 'baseline']
    """
    makers = (
        summary_table, baseline_table, pairs_table, partial(slices_table, groups=groups), features_table, sizes_table,
        folds_table, fits_table, failures_table, hardest_table, data_table, settings_table, versions_table,
    )  # fmt: skip
    corrected = [] if comparison.corrected is None else comparison.corrected.tables()
    return [table for table in (*corrected, *(make(comparison) for make in makers)) if table.rows or table.foot]


def summary_table(comparison: Comparison) -> Table:
    """Return one row per contestant, the best first, with marks, the difference from the baseline, and seconds."""
    first, by_name = comparison.metrics[0], {row.name: row for row in comparison.summary() if not row.is_reference}
    gaps = {pair.a: _estimate(comparison, pair) for pair in comparison.against_baseline(first)}
    columns = [Column("#", digits=0), Column(comparison.kind, "text")]
    columns += [Column(metric, "marked") for metric in comparison.metrics]
    if gaps:
        columns.append(Column(f"Δ {first}", "estimate"))
    if comparison.has_fits:
        columns.append(Column("seconds", digits=None))
    rows = []
    for place, name in enumerate(comparison.ranked(), start=1):
        row = by_name[name]
        means = [Marked(row.means[m], row.marks.get(m, ""), m in row.best_by) for m in comparison.metrics]
        gap = [gaps.get(name, "baseline")] if gaps else []
        rows.append([place, name, *means, *gap, row.seconds])
    foot: list[list[Any]] = []
    for name, table in comparison.reference_scores.items():
        means = [Marked(table.mean()[m]) for m in comparison.metrics]
        foot.append([math.nan, name, *means, *([""] if gaps else []), math.nan])
    for name in comparison.failures:
        missing = [Marked(math.nan)] * len(comparison.metrics)
        foot.append([math.nan, f"{name} (failed)", *missing, *([""] if gaps else []), math.nan])
    # failures have their own table
    notes = [remark for remark in comparison.remarks() if not remark.startswith("failed: ")]
    for name, table in comparison.reference_scores.items():
        notes += [f"{name} by {metric}: {feature}" for metric, feature in table.best_features.items()]
    rows, foot = ([row[: len(columns)] for row in part] for part in (rows, foot))  # without seconds if there are none
    return Table(columns, rows, foot, "summary", "Means over all test queries", notes)


def baseline_table(comparison: Comparison) -> Table:
    """Return the differences of all contestants from the baseline by every measure."""
    pairs = [pair for metric in comparison.metrics for pair in comparison.against_baseline(metric)]
    note = f"for each measure, corrected p-values ({comparison.correction()})"
    return _difference_table("baseline", f"Against {comparison.baseline}", comparison, pairs, note, with_other=False)


def pairs_table(comparison: Comparison) -> Table:
    """Return all pairs by the first measure; empty for two contestants and for more than MOST_FOR_ALL_PAIRS."""
    pairs = comparison.differences() if 2 < len(comparison) <= MOST_FOR_ALL_PAIRS else []
    title, note = (
        f"All pairs by {comparison.metrics[0]}",
        "p-values after Holm's correction for all pairs in this table",
    )
    return _difference_table("pairs", title, comparison, pairs, note, with_other=True)


def slices_table(comparison: Comparison, groups: Mapping[Hashable, Any] | None = None) -> Table:
    """Return the means of the two sides, and their difference, in slices of the test queries."""
    columns = [Column("slice by", "text"), Column("slice", "text"), Column("queries", digits=0)]
    rows, notes = [], []
    a, b = comparison.sides() if comparison.tables else ("", "")
    if a != b:
        columns += [Column(f"A: {a}"), Column(f"B: {b}"), Column("B − A", "estimate")]
        columns += [Column("best", "text")] if len(comparison) > 1 else []
        is_higher = comparison.is_higher_better(comparison.metrics[0])
        for one in slices(comparison, a, b, groups=groups):
            gap = Estimate(one.difference, *one.interval, higher_is_better=is_higher)
            best = "all equal" if len(one.best) == len(comparison) else listed(one.best)
            rows.append([one.by, one.name, one.n_queries, one.mean_a, one.mean_b, gap, best][: len(columns)])
        notes = [
            "bootstrap intervals (level 0.95) are not corrected: with many slices, some exclude 0 by chance",
            "relevant documents have a label above 0; slices of a quantity have about the same number of queries",
        ]
    title = f"Slices of the test queries by {comparison.metrics[0]}"
    return Table(columns, rows, name="slices", title=title, notes=notes)


def features_table(comparison: Comparison) -> Table:
    """Return the most important features of each contestant, by shuffling and by its own explanations."""
    metric = comparison.metrics[0]
    columns = [Column(comparison.kind, "text"), Column("feature", "text")]
    columns += [Column(f"drop of {metric}", "estimate"), Column("share of contributions", "text")]
    rows: list[list[Any]] = []
    for name in comparison.ranked():
        if name in comparison.insights:
            rows += [[name, *row] for row in important_features(comparison.insights[name])]
    notes = []
    if rows:
        if permuted := [insight for insight in comparison.insights.values() if insight.permuted]:
            how = permutation_words(permuted[0], comparison.queries.n_queries)
            interval = "bootstrap intervals over queries, level 0.95"
            notes.append(f"drop: {how}; positive where the feature helps, with {interval}")
        notes += [
            "share of contributions: by absolute value, to the first ten documents of every test list",
            "two features with the same information share their importance",
        ]
        notes += [f"{name}: {one.problem}" for name, one in comparison.insights.items() if one.problem]
    return Table(columns, rows, name="features", title="Important features", notes=notes)


def important_features(insight: Insight, n: int = MOST_FEATURES) -> list[list[Any]]:
    """Return the features with the largest drops, or the largest contributions if nothing was shuffled."""
    total = sum(insight.explained.values())
    drops = {one.feature: Estimate(one.mean, one.low, one.high) for one in insight.permuted}
    names = list(drops or insight.explained)[:n]
    return [
        [name, drops.get(name, ""), f"{insight.explained.get(name, 0.0) / total:.1%}" if total else ""]
        for name in names
    ]


def sizes_table(comparison: Comparison) -> Table:
    """Return the learning curves by training size."""
    columns = [Column(comparison.kind, "text"), Column("training queries", digits=0), Column("share", "text")]
    columns += [Column(comparison.metrics[0]), Column("low"), Column("high")]
    rows = [
        [name, point.n_queries, f"{point.share:.0%}", point.mean, point.low, point.high]
        for name in comparison.ranked()
        for point in comparison.learning_curves.get(name, [])
    ]
    notes = [
        "hyperparameters are those that each fold chose with all its training queries; bootstrap intervals over test "
        "queries, level 0.95"
    ]
    return Table(columns, rows, name="sizes", title="Training size", notes=notes)


def folds_table(comparison: Comparison) -> Table:
    """Return the mean of each fold, and the mean of the folds, as in published LETOR tables."""
    n_folds = comparison.n_folds
    columns = [Column("measure", "text"), Column("ranker", "text")]
    columns += [*(Column(f"fold {fold}") for fold in range(1, n_folds + 1)), Column("mean of folds")]
    rows = []
    for metric in comparison.metrics if n_folds > 1 else ():
        by_fold = comparison.by_fold(metric)
        for name in comparison.ranked():
            rows.append([metric, name, *by_fold[name], math.fsum(by_fold[name]) / n_folds])
    return Table(columns, rows, name="folds", title="Means of each fold")


def fits_table(comparison: Comparison) -> Table:
    """Return the chosen hyperparameters of each fold, and seconds."""
    columns = [Column("ranker", "text"), Column("fold", digits=0), Column("chosen", "text"), Column("validation")]
    columns += [Column("candidates", digits=0), Column("seconds", digits=None)]
    rows = [
        [name, fit.fold, in_words(fit.params), fit.validation, fit.n_candidates, fit.seconds]
        for name, fits in comparison.fits.items()
        for fit in fits
    ]
    notes = ["seconds include the fits of all candidates"]
    return Table(columns, rows, name="fits", title="Fits", notes=notes)


def failures_table(comparison: Comparison) -> Table:
    """Return the errors of contestants that failed."""
    rows = [[name, reason] for name, reasons in comparison.failures.items() for reason in reasons]
    return Table([Column("ranker", "text"), Column("reason", "text")], rows, name="failures", title="Failures")


def hardest_table(comparison: Comparison) -> Table:
    """Return the queries on which the contestants are worst."""
    names = comparison.ranked()[:MOST_COLUMNS]
    columns = [Column("query", "text"), Column("mean"), *(Column(name) for name in names)]
    rows = [[str(q.qid), q.mean, *(q.values[name] for name in names)] for q in comparison.hardest(HARDEST)]
    notes = ["queries whose documents all have the same label are left out"]
    if len(names) < len(comparison):
        notes.append(f"the {len(names)} best of {len(comparison)} {comparison.kind}s are shown; the mean is over all")
    return Table(columns, rows, name="hardest", title=f"Hardest queries by {comparison.metrics[0]}", notes=notes)


def data_table(comparison: Comparison) -> Table:
    """Return the description of the data."""
    values = comparison.description
    try:
        histogram = values.get("label_histogram")
        levels = None if histogram is None else {float(label): count for label, count in histogram.items()}
        rows = Description(**{**values, "label_histogram": levels}).rows()
    except (TypeError, ValueError, KeyError):  # a description with other fields
        rows = list(_flat(values))
    return of_pairs("data", "Data", rows)


def settings_table(comparison: Comparison) -> Table:
    """Return the settings of the comparison."""
    name = comparison.convention
    convention = f"{name}: {CONVENTIONS[name].summary}" if name in CONVENTIONS else name
    rows = [("convention", convention), ("baseline", comparison.baseline)]
    settings = {key: value for key, value in comparison.settings.items() if key not in ("versions", "convention")}
    return of_pairs("settings", "Settings", [*rows, *_flat(settings)])


def versions_table(comparison: Comparison) -> Table:
    """Return the versions of the software."""
    return of_pairs("versions", "Versions", _flat(comparison.settings.get("versions") or {}))


def of_pairs(name: str, title: str, rows: Iterable[tuple[str, Any]]) -> Table:
    """Return names with their values as a table."""
    columns = [Column("what", "text"), Column("value", "text")]
    return Table(columns, [[str(key), str(value)] for key, value in rows], name=name, title=title)


def _flat(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Yield nested settings as ``outer: inner`` names."""
    for key, value in values.items():
        name = f"{before}{key}" if before else str(key).replace("_", " ")
        if isinstance(value, Mapping) and value and not before:
            yield from _flat(value, f"{name}: ")
        else:
            yield name, _short(value)


def _short(value: Any) -> str:
    value = plain(value)
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {_short(part)}" for key, part in value.items()) or "none"
    if isinstance(value, (list, tuple)):
        return ", ".join(_short(part) for part in value) or "none"
    return str(value)


def _difference_table(
    name: str, title: str, comparison: Comparison, pairs: Sequence[Difference], note: str, *, with_other: bool
) -> Table:
    who = Column(comparison.kind, "text")
    columns = [who, Column("against", "text")] if with_other else [Column("measure", "text"), who]
    columns += [Column("difference", "estimate"), *(Column(word, digits=0) for word in ("wins", "ties", "losses"))]
    columns += [Column("p (t-test)", "p"), Column("p (randomisation)", "p")]
    rows = []
    for pair in pairs:
        start = [pair.a, pair.b] if with_other else [pair.metric, pair.a]
        counts = [pair.wins, pair.ties, pair.losses]
        rows.append([*start, _estimate(comparison, pair), *counts, pair.p_t_holm, pair.p_random_holm])
    return Table(columns, rows, name=name, title=title, notes=[f"{note}; {INTERVALS}"])


def _estimate(comparison: Comparison, pair: Difference) -> Estimate:
    return Estimate(pair.mean, pair.low, pair.high, pair.p_random_holm, comparison.is_higher_better(pair.metric))
