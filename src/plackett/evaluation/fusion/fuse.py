"""Fusion of runs, with the verdict whether it pays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import ndtri

from plackett._drawing import draw_bars
from plackett._tables import Column, Estimate, Marked, Table, notebook_html, p_value, signed
from plackett.data.runs import as_qrels
from plackett.data.trec.pool import PooledRuns
from plackett.data.trec.qrels import Qrels
from plackett.data.trec.run import Run
from plackett.evaluation.compare.comparison import Comparison
from plackett.evaluation.compare.runs import compare_runs, named_runs
from plackett.evaluation.fusion.engines import engine_form
from plackett.evaluation.fusion.features import RankerLearner, shared_at_top
from plackett.evaluation.fusion.learned import Weighting, WeightLearner
from plackett.evaluation.fusion.methods import ABSENT, METHODS, RANK_CONSTANT, fused_scores
from plackett.evaluation.significance import Difference, Interval, bootstrap_interval
from plackett.metrics.conventions import Convention, get_convention
from plackett.metrics.measure import Measure
from plackett.validation import check_choice, check_positive_int, check_seed, count_of

FUSED, RRF = "fused", "rrf"
LEAST_JUDGED = 5  # queries, for a verdict
LEVEL, POWER = 0.05, 0.8
TOP = 10  # documents whose overlap divides the queries


def fuse(
    runs: Any,
    qrels: Any = None,
    *,
    baseline: str | None = None,
    metric: str | Measure = "ndcg@10",
    method: Any = None,
    weights: Mapping[str, float] | Sequence[float] | None = None,
    k: float = RANK_CONSTANT,
    normalize: str | None = None,
    absent: str = "zero",
    window: int | None = None,
    convention: str | Convention = "standard",
    cv: int = 5,
    random_state: int = 0,
) -> Fusion:
    """Fuse runs into one, with weights learned from judgements, and say whether that pays.

    With judgements and without ``method`` and ``weights``, one weight per run is learned, for the sum of min-max scores
    or for reciprocal rank fusion, whichever the training queries favour; engines have both. Weights are pulled towards
    the ``baseline``, so that few judgements change little. The verdict is measured out of fold: each query is fused by
    weights that were learned without it.

    Parameters
    ----------
    runs : mapping of str to run, or sequence of runs
        As in ``compare_runs``: ``Run``, path of a run file or ``{qid: {docid: score}}``. At least two.
    qrels : Qrels, path, or dict of dicts; default=None
        Judgements. None fuses by a fixed rule, without a verdict.
    baseline : str, default=None
        The run in production; None means the first.
    metric : str or Measure, default="ndcg@10"
    method : {"rrf", "combsum", "combmnz", "borda", "isr"} or ranker, default=None
        A fixed rule. Or a ranker, which is fitted to the features of ``from_runs``, so that the weights of runs may
        depend on the query. None learns weights if there are judgements, and else means ``"rrf"``.
    weights : mapping of str to float, sequence of float, or None; default=None
        Fixed weights of the runs, not negative.
    k : float, default=60
        The constant of reciprocal rank fusion by a fixed rule.
    normalize : {"none", "min-max", "z-score", "rank"}, default=None
        Of scores, for ``"combsum"`` and ``"combmnz"``; None means ``"min-max"``.
    absent : {"zero", "min", "worst", "skip"}, default="zero"
        What a run adds for a document that it did not retrieve: nothing, the least of its list, less than that, or the
        mean of the others. Learned weights take ``"zero"``, as engines do.
    window : int, default=None
        Number of documents of each run that count for a query, as ``rank_window_size``; None means all.
    convention : str or Convention, default="standard"
        As in ``evaluate``.
    cv : int, default=5
        Number of folds of the verdict.
    random_state : int, default=0
        Seed of the folds and of the tests.

    Examples
    --------
    >>> import plackett as pk
    >>> bm25 = {"1": {"d1": 9.5, "d2": 7.0, "d3": 6.0}, "2": {"d8": 4.5, "d1": 1.0}}
    >>> dense = {"1": {"d3": 0.9, "d1": 0.8}, "2": {"d1": 0.7, "d8": 0.2}}
    >>> print(pk.fuse({"bm25": bm25, "dense": dense}))
    bm25 and dense fused by rrf: 2 queries. Without judgements there is no verdict.
    >>> pk.fuse({"bm25": bm25, "dense": dense}, method="combsum").run.to_dict()["1"]
    {'d3': 1.0, 'd1': 1.0, 'd2': 0.2857142857142857}
    """
    named = named_runs(runs)
    _check_runs(named)
    if baseline is None:
        baseline = next(iter(named))
    check_choice(baseline, "baseline", list(named))
    check_choice(absent, "absent", list(ABSENT))
    if window is not None:
        check_positive_int(window, "window")
    if check_positive_int(cv, "cv") < 2:
        raise ValueError("cv=1 leaves no queries to learn from; it must be at least 2.")
    judgements = None if qrels is None else as_qrels(qrels)
    pool = PooledRuns(named, judgements)
    notes = _notes(pool, judgements)
    pool = pool.first(window)
    measure = Measure.parse(metric).under(get_convention(convention))
    name = method if isinstance(method, str) else None
    if name is not None:
        check_choice(name, "method", list(METHODS))
    elif method is not None and not hasattr(method, "fit"):
        raise TypeError(f"method={method!r}; it must be one of {', '.join(METHODS)}, or a ranker.")
    learner: Any = None
    ranker = None
    if judgements is not None and name is None and weights is None:
        if absent != "zero" or normalize is not None or k != RANK_CONSTANT:
            raise ValueError(
                "learned weights take min-max scores, absent='zero' and k=60, as engines do. Name a method."
            )
        learner = WeightLearner(pool, measure, list(named).index(baseline))
        if method is not None:
            learner = RankerLearner(pool, method, learner.queries)
        fitted = learner.fit(np.arange(learner.queries.size))
        scores = learner.scores(fitted)
        if isinstance(fitted, Weighting):
            rule, run_weights = fitted
        else:
            rule, run_weights, ranker = "ranker", None, fitted
    else:
        if method is not None and name is None:
            raise ValueError("a ranker as method learns from judgements: pass qrels, and no weights.")
        rule, run_weights = name or "rrf", _weights_of(named, weights)
        scores = fused_scores(pool, rule, run_weights, k=k, normalize=normalize, absent=absent)
    settings = {"k": k, "normalize": normalize, "absent": absent, "window": window}
    fusion = Fusion(pool, rule, run_weights, scores, baseline, metric, measure, settings, notes, ranker, learner)
    if judgements is None:
        return fusion
    least = LEAST_JUDGED if learner is None else max(LEAST_JUDGED, cv)
    n_judged = np.unique(pool.query[~np.isnan(pool.labels)]).size
    if n_judged < least:
        counted = count_of(n_judged, "query is", "queries are")
        notes.append(f"no verdict: {counted} judged; a verdict needs {least}")
        return fusion
    if learner is not None:
        scores = out_of_fold(learner, scores, cv, random_state)
    return _with_verdict(fusion, named, judgements, scores, convention, random_state)


def out_of_fold(learner: Any, scores: np.ndarray, cv: int, random_state: int) -> np.ndarray:
    """Return the scores, but each judged query is fused by what was learned from the other folds."""
    n = learner.queries.size
    fold = np.random.default_rng(check_seed(random_state)).permutation(np.arange(n) % cv)
    scores = scores.copy()
    for number in range(cv):
        own = learner.scores(learner.fit(np.flatnonzero(fold != number)))
        is_held_out = np.isin(learner.pool.query, learner.queries[fold == number])
        scores[is_held_out] = own[is_held_out]
    return scores


@dataclass(eq=False, repr=False)
class Fusion:
    """A fused run and the verdict on it; returned by ``fuse``.

    Attributes
    ----------
    pool : PooledRuns
        The runs side by side.
    method : str
        ``"min-max"`` (a weighted sum of min-max scores), ``"rrf"``, ``"ranker"``, or the fixed rule.
    run_weights : ndarray of shape (n_runs,) or None
        The weight of each run, in the order of ``pool.names``; None for a ranker.
    scores : ndarray of shape (n_rows,)
        Of each row of the pool, by the weights that were learned from all judged queries.
    baseline : str
        The run in production.
    metric : str or Measure
        As given.
    measure : Measure
        The same, under the convention.
    settings : dict
        ``k``, ``normalize``, ``absent`` and ``window``.
    notes : list of str
        Remarks on the runs and the judgements.
    comparison : Comparison or None
        Of the fused run, out of fold, with the baseline, the best single run and RRF; ``write_report`` takes it.
    gains : dict of str to Difference
        The gain over each of them, with intervals and corrected p-values.
    best : str or None
        The single run with the best mean.
    ranker : estimator or None
        The ranker that was fitted to all judged queries, if ``method`` is one.
    learner : WeightLearner, RankerLearner or None
        What learned the weights, for ``learning_curve``.

    Examples
    --------
    >>> import plackett as pk
    >>> fused = pk.fuse({"a": {"1": {"x": 2.0, "y": 1.0}}, "b": {"1": {"y": 2.0, "x": 0.0}}}, weights=[0.7, 0.3])
    >>> fused.weights, fused.run.docid, fused.pays
    ({'a': 0.7, 'b': 0.3}, array(['x', 'y'], dtype='<U1'), None)
    """

    pool: PooledRuns
    method: str
    run_weights: np.ndarray | None
    scores: np.ndarray
    baseline: str
    metric: Any
    measure: Measure
    settings: dict[str, Any]
    notes: list[str]
    ranker: Any = None
    learner: Any = None
    comparison: Comparison | None = None
    gains: dict[str, Difference] = field(default_factory=dict)
    best: str | None = None

    @property
    def run(self) -> Run:
        """The fused run of all queries."""
        return self.pool.run_of(self.scores, FUSED)

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each run; empty for a ranker, whose weights depend on the query."""
        if self.run_weights is None:
            return {}
        return dict(zip(self.pool.names, np.round(self.run_weights, 12).tolist(), strict=True))

    @property
    def pays(self) -> bool | None:
        """Whether the fused run is significantly better than the baseline and the best run; None: not measured."""
        if not self.gains:
            return None
        against = [self.gains[name] for name in dict.fromkeys((self.baseline, str(self.best)))]
        return all(gain.mean * self._sign > 0 and gain.p_random_holm <= LEVEL for gain in against)

    @property
    def _sign(self) -> float:
        return 1.0 if self.measure.higher_is_better else -1.0

    def export(self, engine: str = "json", *, window: int | None = None) -> str:
        """Return the fusion as a request of an engine, checked against the runs.

        It is JSON, in which ``"QUERY OF bm25"`` and the like stand for the queries of the runs.

        Parameters
        ----------
        engine : {"elasticsearch", "opensearch", "json"}, default="json"
        window : int, default=None
            Number of documents of each retriever; None takes that of ``fuse``, or the longest list.
        """
        return engine_form(self, engine, window)

    def queries_for(self, gain: float) -> int:
        """Return how many judged queries show a gain over the baseline at p ≤ 0.05 with a probability of 80 %."""
        if not self.gains:
            raise ValueError("there is no verdict whose spread could be used; pass qrels with at least 5 queries.")
        if not np.isfinite(gain) or gain == 0:
            raise ValueError(f"gain={gain}; it must be a finite number other than 0.")
        return self._needed(gain, self.baseline)

    def _needed(self, gain: float, against: str) -> int:
        spread = float(np.nanstd(self._differences(against), ddof=1))
        return max(2, int(np.ceil(((ndtri(1 - LEVEL / 2) + ndtri(POWER)) * spread / abs(gain)) ** 2)))

    def learning_curve(self, sizes: Sequence[int] = (5, 10, 20, 40, 80), *, n_draws: int = 20) -> Table:
        """Return the gain over the baseline by the number of judged queries that weights are learned from.

        Each size draws ``n_draws`` sets of training queries; the others are measured.
        """
        if self.learner is None or self.run_weights is None:
            raise ValueError("a learning curve needs learned weights: pass qrels, and neither method nor weights.")
        check_positive_int(n_draws, "n_draws")
        learner, rng, rows = self.learner, np.random.default_rng(0), []
        n, base = learner.queries.size, learner.values(learner.baseline_alone)
        for size in [size for size in sizes if 2 <= size <= n - 2]:
            means = []
            for _ in range(n_draws):
                order = rng.permutation(n)
                gains = learner.values(learner.fit(np.sort(order[:size]))) - base
                means.append(float(np.nanmean(gains[order[size:]])))
            rows.append([size, float(np.mean(means)), *np.quantile(means, [0.05, 0.95]).tolist()])
        columns = [Column("judged queries", digits=0), *(Column(name) for name in ("gain", "5 %", "95 %"))]
        return Table(columns, rows, notes=[f"{n_draws} draws of each size, measured on the other queries"])

    def slices(self) -> list[tuple[str, int, float]]:
        """Return name, number of queries and mean gain over the baseline where runs share few and many documents."""
        if not self.gains:
            return []
        measured = self.comparison.tables[FUSED].queries  # type: ignore[union-attr]
        place = {qid: number for number, qid in enumerate(self.pool.ids.tolist())}
        shared = shared_at_top(self.pool, TOP)[[place[qid] for qid in measured.tolist()]]
        gains = self._differences(self.baseline) * self._sign
        middle = float(np.median(shared))
        parts = {f"at most {middle:.1f}": shared <= middle, f"more than {middle:.1f}": shared > middle}
        return [
            (f"{name} of {TOP} documents shared", int(mask.sum()), float(np.nanmean(gains[mask])))
            for name, mask in parts.items()
            if mask.any()
        ]

    def headline(self) -> str:
        """Return the verdict as a sentence."""
        if not self.gains:
            rule = self._rule()
            counted = count_of(self.pool.ids.size, "query", "queries")
            why = " Without judgements there is no verdict." if np.isnan(self.pool.labels).all() else ""
            return f"{_listed(self.pool.names)} fused by {rule}: {counted}.{why}"
        gain, best = self.gains[self.baseline], str(self.best)
        over_best = self.gains[best]
        if self.pays:
            return f"Fuse, by {self._rule()}: {self.metric} gains {signed(gain.mean)} over {self.baseline}."
        if not over_best.mean * self._sign > 0:
            return f"Do not fuse: use {best}. Fused, {self.metric} is {signed(over_best.mean)} beside it."
        doubted = max((best, self.baseline), key=lambda name: self.gains[name].p_random_holm)
        gain = self.gains[doubted]
        needed = self._needed(gain.mean, doubted)
        return (
            f"Do not fuse yet: use {best}. The gain of {signed(gain.mean)} over {doubted} may be chance "
            f"(p {p_value(gain.p_random_holm)}); about {needed:,} judged queries would show it."
        )

    def to_table(self) -> Table:
        """Return means and gains: the fused run out of fold, the baseline, the best single run and RRF."""
        assert self.comparison is not None
        means, metric = self.comparison.mean(), self.comparison.metrics[0]
        rows: list[list[Any]] = [[FUSED, Marked(means[FUSED][metric]), "", ""]]
        for name, gain in self.gains.items():
            roles = ["baseline"] * (name == self.baseline) + ["best run"] * (name == self.best)
            label = f"{name} ({', '.join(roles)})" if roles else name
            estimate = Estimate(gain.mean, gain.low, gain.high, gain.p_random_holm, self.measure.higher_is_better)
            rows.append([label, Marked(means[name][metric]), estimate, gain.p_random_holm])
        columns = [Column("", "text"), Column(metric, "marked"), Column("gain of fusing", "estimate"), Column("p", "p")]
        return Table(columns, rows)

    def remarks(self) -> list[str]:
        """Return the lines below the table."""
        lines = []
        if self.weights and (self.learner is not None or len(set(self.weights.values())) > 1):
            lines.append("weights: " + ", ".join(f"{name} {weight:.3g}" for name, weight in self._shown_weights()))
        if self.gains:
            n = count_of(int(np.isfinite(self._differences(self.baseline)).sum()), "judged query", "judged queries")
            how = "each fused by weights of the others; " if self.learner is not None else ""
            lines.append(f"{n}, {how}95 % intervals, p by the randomisation test, Holm over {len(self.gains)}")
            for name, count, gain in self.slices():
                lines.append(f"{name}: {signed(gain)} on {count_of(count, 'query', 'queries')}")
        return [*lines, *self.notes]

    def __str__(self) -> str:
        table = [self.to_table().to_text()] if self.gains else []
        return "\n".join([self.headline(), *table, *self.remarks()])

    def __repr__(self) -> str:
        return f"Fusion({_listed(self.pool.names)}; {self._rule()})"

    def _repr_html_(self) -> str:
        return notebook_html([self.to_table()] if self.gains else [], [self.headline()], self.remarks())

    def plot(self, *, ax: Any = None) -> Any:
        """Plot the weights of the runs as bars, on ``ax`` or in a new figure."""
        return draw_bars(ax, dict(self._shown_weights()), f"weight, {self._rule()}", needed_for="Fusion.plot")

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain values for JSON."""
        names = ("method", "weights", "baseline", "best", "pays")
        return {
            "headline": self.headline(),
            **{name: getattr(self, name) for name in names},
            "gains": {name: gain.to_dict() for name, gain in self.gains.items()},
            "settings": self.settings,
            "notes": self.remarks(),
        }

    def _shown_weights(self) -> list[tuple[str, float]]:
        """Return names and weights; of many runs only those that have a weight."""
        return [(name, weight) for name, weight in self.weights.items() if weight or len(self.weights) < 5]

    def _rule(self) -> str:
        if self.method == "min-max":
            return "a weighted sum of min-max scores"
        return "weighted rrf" if self.method == "rrf" and self.learner is not None else self.method

    def _differences(self, other: str) -> np.ndarray:
        tables, metric = self.comparison.tables, self.comparison.metrics[0]  # type: ignore[union-attr]
        return tables[FUSED][metric] - tables[other][metric]


def _with_verdict(
    fusion: Fusion, runs: dict[str, Run], qrels: Qrels, held_out: np.ndarray, convention: Any, random_state: int
) -> Fusion:
    """Compare the fused run with the baseline, the best single run and RRF."""
    exported = {FUSED: fusion.run}
    every = compare_runs(qrels, exported | runs, metrics=[fusion.metric], convention=convention)
    key, sign = every.metrics[0], 1.0 if fusion.measure.higher_is_better else -1.0
    best = max(runs, key=lambda name: (sign * every.mean()[name][key], name == fusion.baseline))
    contestants = {FUSED: fusion.pool.run_of(held_out, FUSED)}
    contestants |= {name: runs[name] for name in dict.fromkeys((fusion.baseline, best))}
    if fusion.method != RRF or fusion.learner is not None:
        contestants[RRF] = fusion.pool.run_of(fused_scores(fusion.pool), RRF)
    fusion.comparison = compare_runs(
        qrels, contestants, metrics=[fusion.metric], convention=convention, random_state=random_state
    )
    fusion.best, tables = best, fusion.comparison.tables
    for pair in fusion.comparison.differences(against=FUSED):
        held_out, own = (table[FUSED][key] - tables[pair.a][key] for table in (tables, every.tables))
        # a ranker fits its training queries too closely for their gains to say anything
        low, high = gain_interval(held_out, held_out if fusion.run_weights is None else own, random_state)
        fusion.gains[pair.a] = replace(pair.reversed(), low=low, high=high)
    if fusion.learner is not None and fusion.weights:
        note = "intervals of fused are those of the folds; those for the weights of all queries, by fuse, are wider"
        fusion.comparison.notes.append(note)
        if max(fusion.weights.values()) == 1.0:
            fusion.notes.append("the judgements favour no mixture: all of the weight is on one run")
    return fusion


def gain_interval(held_out: np.ndarray, exported: np.ndarray, random_state: int = 0) -> Interval:
    """Return the interval of the mean gain on new queries of weights that were learned from these queries.

    It reaches as far as two bootstrap intervals: that of the gains out of fold, and that of the gains of the weights
    from all queries. Weights of folds differ from these, so the first alone holds the gain of the weights from all
    queries in 76 to 92 % of made sets, depending on their size; both together in 90 to 97 %
    (``python -m benchmarks.fusion --only made-coverage``). For a fixed rule they are the same.
    """
    ends = [bootstrap_interval(gains, random_state=random_state) for gains in (held_out, exported)]
    return Interval(min(one.low for one in ends), max(one.high for one in ends))


def _check_runs(runs: Mapping[str, Run]) -> None:
    if len(runs) < 2:
        raise ValueError(f"fusion takes at least two runs; {next(iter(runs))} is the only one.")
    for name in (FUSED, RRF):
        if name in runs:
            raise ValueError(f"{name!r} is a reserved name; choose another name for this run.")
    for name, run in runs.items():
        if not len(run):
            raise ValueError(f"{name} has no documents.")
    ids = {name: set(run.groups.ids.tolist()) for name, run in runs.items()}
    if not set.intersection(*ids.values()):
        shown = "; ".join(f"{name} has {min(own)!r}" for name, own in list(ids.items())[:3])
        raise ValueError(f"the runs have no query in common: {shown}. Ids are compared as text.")


def _notes(pool: PooledRuns, qrels: Qrels | None) -> list[str]:
    """Say what of the runs and the judgements does not fit together."""
    notes = []
    n_alone = int(((pool.lengths > 0).sum(axis=0) == 1).sum())
    if n_alone:
        verb = "keeps" if n_alone == 1 else "keep"
        notes.append(f"{count_of(n_alone, 'query is', 'queries are')} answered by one run only, and {verb} its order")
    if not (pool.is_retrieved.sum(axis=0) > 1).any():
        shown = ", ".join(repr(str(pool.docid[own][0])) for own in pool.is_retrieved[:3])
        notes.append(f"no document is in two runs (the first ones are {shown}); ids are compared as text")
    depths = pool.lengths.max(axis=1)
    if depths.max() > 2 * depths.min():
        shown = ", ".join(f"{pool.names[place]} {depths[place]:,}" for place in (depths.argmin(), depths.argmax()))
        notes.append(f"the runs differ in depth (documents of the longest list): {shown}; set window= to cut them")
    if qrels is None:
        return notes
    judged = ~np.isnan(pool.labels)
    if not np.isin(np.unique(pool.query[judged]), np.flatnonzero(pool.lengths.sum(axis=0) > 0)).any():
        raise ValueError(
            f"no judged query is answered by a run: the qrels have {str(qrels.groups.ids[0])!r}, the runs "
            f"{str(pool.ids[-1])!r}. Ids are compared as text."
        )
    labels = pool.labels[judged]
    if labels.max() <= 0:
        raise ValueError("no document is judged relevant: all labels are 0 or less.")
    is_lost = judged & (np.nan_to_num(pool.labels) > 0) & ~pool.is_retrieved.any(axis=0)
    lost = int(is_lost.sum())
    if lost == (labels > 0).sum():
        raise ValueError(
            f"no relevant document is in a run: the qrels have {str(pool.docid[is_lost][0])!r}, the runs "
            f"{str(pool.docid[pool.is_retrieved.any(axis=0)][0])!r}. Ids are compared as text."
        )
    if lost:
        notes.append(
            f"{lost:,} of {int((labels > 0).sum()):,} relevant documents are in no run: no fusion can find them"
        )
    if np.unique(labels).size == 1:
        notes.append(f"all judgements have the label {labels[0]:g}; documents without one count as not relevant")
    return notes


def _weights_of(runs: Mapping[str, Run], weights: Any) -> np.ndarray:
    if weights is None:
        return np.ones(len(runs))
    if isinstance(weights, Mapping):
        if unknown := [name for name in weights if name not in runs]:
            raise ValueError(f"weights names {unknown[0]!r}, which is not a run; they are {', '.join(runs)}.")
        weights = [weights.get(name, 0.0) for name in runs]
    try:
        values = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"weights={weights!r}; it must hold one number for each run.") from None
    if values.shape != (len(runs),):
        raise ValueError(f"weights has {values.size} values but there are {len(runs)} runs.")
    if not np.isfinite(values).all() or values.min() < 0 or not values.any():
        raise ValueError(f"weights must be numbers of at least 0, not all 0; found {values.tolist()}.")
    return values


def _listed(names: Sequence[str]) -> str:
    return " and ".join(names) if len(names) < 3 else f"{len(names)} runs"
