"""Which queries people judge next until the difference of two runs is decided, with a verdict valid at any time."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from plackett._tables import Column, Table, listed, signed
from plackett.data.runs import as_qrels
from plackett.data.trec.qrels import Qrels
from plackett.data.trec.run import Run
from plackett.evaluation.betting import BISECTIONS, FRACTIONS
from plackett.evaluation.compare.runs import named_runs
from plackett.evaluation.evaluate import evaluate
from plackett.evaluation.judges.findings import Findings
from plackett.evaluation.judges.labels import LEAST_QUERIES, TOP, read_labels, unjudged_at_top, values_of
from plackett.evaluation.significance import Interval
from plackett.exceptions import DataWarning, ParameterError, warn
from plackett.metrics.measure import Measure
from plackett.validation import check_choice, check_seed, count_of

RANDOM, HOPES = "random", "hopes"
# measures with values from 0 to 1
BOUNDED = ("ndcg", "err", "p", "recall", "map", "mrr", "success", "r-precision", "rbp", "alpha-ndcg", "err-ia", "bpref")
HEAD = "# plackett order: "
BEFORE = "# judged before: "
N_FUTURES = 200
SHOWN = 20


@dataclass(frozen=True)
class QueryOrder:
    """An order in which people judge queries; as a text, one query per line.

    Attributes
    ----------
    kind : {"random", "hopes"}
        Drawn by chance, or by what a model hopes for, from which no verdict follows.
    queries : list of str
        The whole set: first the queries that were judged before, then the others in their order.
    n_before : int
        Queries that were judged before the order was drawn; their choice does not matter.

    Examples
    --------
    >>> from plackett.evaluation.judges.next_queries import QueryOrder
    >>> QueryOrder("random", ["red dress", "black shoes"]).to_text().splitlines()
    ['# plackett order: random', '# judged before: 0', 'red dress', 'black shoes']
    """

    kind: str
    queries: list[str]
    n_before: int = 0

    def to_text(self) -> str:
        """Return the order as a list that the workbench imports."""
        return "\n".join([f"{HEAD}{self.kind}", f"{BEFORE}{self.n_before}", *self.queries, ""])

    @classmethod
    def read(cls, path: str | os.PathLike) -> QueryOrder:
        """Return the order in a file that ``to_text`` filled."""
        lines = Path(path).read_text(encoding="utf-8").splitlines()
        kind, before = lines[0].removeprefix(HEAD) if lines else "", lines[1].removeprefix(BEFORE) if lines[1:] else ""
        if kind not in (RANDOM, HOPES) or not before.isdecimal():
            raise ValueError(
                f"{os.fspath(path)} is not an order of judge_next: its first line must begin with {HEAD!r}."
            )
        return cls(kind, [line for line in lines[2:] if line], int(before))


def judge_next(
    runs: Any,
    qrels: Any = None,
    *,
    order: QueryOrder | str | os.PathLike | None = None,
    by: str = RANDOM,
    model_labels: Any = None,
    metric: Any = "ndcg@10",
    level: float = 0.95,
    random_state: int = 0,
) -> NextQueries:
    """Return an order in which people judge queries, and whether the difference of two runs is decided yet.

    Parameters
    ----------
    runs : as in ``compare_runs``
        Two runs. The set are the queries that either answers.
    qrels : path, Qrels, data frame, or dict of dicts; default=None
        The judgements so far.
    order : QueryOrder or path, default=None
        The order that was drawn before; None draws one. Only queries in its order, without a gap, count.
    by : {"random", "hopes"}, default="random"
        Of a new order: by chance, or the queries first on which the model sees the largest lead of the first run. From
        the latter no verdict follows.
    model_labels : as qrels, default=None
        For ``by="hopes"``.
    metric : str or Measure, default="ndcg@10"
        With values from 0 to 1.
    level : float, default=0.95
        The probability with which no verdict is wrong, however often it is inspected.
    random_state : int, default=0
        Seed of a new order.

    Examples
    --------
    >>> from plackett.evaluation import judge_next
    >>> a = {f"q{n}": {"x": 2.0, "y": 1.0} for n in range(30)}
    >>> b = {f"q{n}": {"x": 1.0, "y": 2.0} for n in range(30)}
    >>> first = judge_next({"a": a, "b": b})
    >>> people = {qid: {"x": 1, "y": 0} for qid in first.order.queries[:12]}
    >>> judge_next({"a": a, "b": b}, people, order=first.order, metric="mrr").verdict
    'a'
    """
    check_choice(by, "by", (RANDOM, HOPES))
    named = named_runs(runs)
    if len(named) != 2:
        raise ValueError(f"the order decides between two runs; found {len(named)}.")
    measure = Measure.parse(metric)
    if measure.kind.name not in BOUNDED:
        raise ParameterError("metric", str(measure), f"a verdict needs values from 0 to 1: {', '.join(BOUNDED)}.")
    judged = None if qrels is None else as_qrels(qrels)
    queries = list(dict.fromkeys(qid for run in named.values() for qid in run.groups.ids.tolist()))
    known = set() if judged is None else set(judged.groups.ids.tolist())
    if isinstance(order, (str, os.PathLike)):
        order = QueryOrder.read(order)
    if order is None:
        order = _new_order(queries, known, by, model_labels, named, metric, check_seed(random_state))
    elif set(order.queries) != set(queries):
        changed = sorted(set(order.queries) ^ set(queries))
        raise ValueError(
            f"the order is of another set of queries than the runs: {listed(changed)}. Draw a new order before more "
            "queries are judged."
        )
    done = order.n_before + next(
        (n for n, qid in enumerate(order.queries[order.n_before :]) if qid not in known), len(queries) - order.n_before
    )
    lacking = [qid for qid in order.queries[: order.n_before] if qid not in known]
    if lacking:
        raise ValueError(
            f"the order says that people judged {listed(lacking)} before; the qrels lack their judgements."
        )
    gaps = _gaps(judged, named, metric, order.queries[:done]) * (1.0 if measure.higher_is_better else -1.0)
    notes = []
    if judged is not None and done:
        top = TOP if measure.k is None else measure.k
        notes = unjudged_at_top("people", judged, named, order.queries[:done], top)[1]
        for note in notes:
            warn(note, DataWarning)
    if n_ahead := len([qid for qid in order.queries[done:] if qid in known]):
        notes.append(
            f"{count_of(n_ahead, 'query', 'queries')} judged out of turn; they count once those before them are"
        )
    first, second = named
    return NextQueries((first, second), str(metric), order, done, gaps, level, notes)


def _new_order(queries, known, by, model_labels, runs, metric, seed: int) -> QueryOrder:
    before = [qid for qid in queries if qid in known]
    rest = [qid for qid in queries if qid not in known]
    if by == RANDOM:
        return QueryOrder(by, before + np.random.default_rng(seed).permutation(rest).tolist(), len(before))
    if model_labels is None:
        raise ParameterError("model_labels", model_labels, 'by="hopes" needs them.')
    model = read_labels(model_labels).to_qrels()
    labelled = set(model.groups.ids.tolist())
    shared = [qid for qid in rest if qid in labelled]
    hopes = dict(zip(shared, _gaps(model, runs, metric, shared).tolist(), strict=True))
    return QueryOrder(by, before + sorted(rest, key=lambda qid: -hopes.get(qid, 0.0)), len(before))


def _gaps(qrels: Qrels | None, runs: dict[str, Run], metric: Any, queries: Sequence[str]) -> np.ndarray:
    """Return the values of the first run minus those of the second."""
    if qrels is None or not queries:
        return np.zeros(0)
    first, second = values_of(evaluate, qrels, runs, queries, metrics=[metric])[:, :, 0]
    return first - second


@dataclass(eq=False, repr=False)
class NextQueries(Findings):
    """An order of queries and the verdict so far; returned by ``judge_next``.

    Attributes
    ----------
    runs : tuple of str
        The two runs.
    metric : str
        The measure.
    order : QueryOrder
        The order, to be kept.
    n_judged : int
        Queries judged so far, in the order and without a gap.
    gaps : ndarray of shape (n_judged,)
        By how much the first run is better on each of these.
    level : float
        The probability with which no verdict is wrong.
    notes : list of str
        Queries judged out of turn.

    Examples
    --------
    >>> from plackett.evaluation import judge_next
    >>> a = {f"q{n}": {"x": 2.0, "y": 1.0} for n in range(30)}
    >>> found = judge_next({"a": a, "b": {qid: {"x": 1.0, "y": 2.0} for qid in a}})
    >>> found.n_judged, found.verdict, found.interval()
    (0, None, Interval(low=-1.0, high=1.0))
    """

    runs: tuple[str, str]
    metric: str
    order: QueryOrder
    n_judged: int
    gaps: np.ndarray
    level: float
    notes: list[str]

    @property
    def verdict(self) -> str | None:
        """The name of the run that is better on this set of queries; "equal", or None: not decided."""
        if self.n_judged == len(self.order.queries):
            total = float(self.gaps.sum())
            return "equal" if abs(total) < 1e-9 else self.runs[total < 0]
        if self.order.kind != RANDOM:
            return None
        low, high = self.interval()
        return self.runs[0] if low >= 0 else self.runs[1] if high <= 0 else None

    def interval(self) -> Interval:
        """Return an interval of the mean difference on this set of queries that holds at any time."""
        return Interval(self._lower_end(self.gaps), -self._lower_end(-self.gaps))

    def _lower_end(self, gaps: np.ndarray) -> float:
        """Return the largest mean that is ruled out from below, after any of the queries."""
        ruled_out, open_ = -1.0, 1.0
        for mean in (0.0, *(None,) * BISECTIONS):  # 0 first: a verdict then does not depend on rounding
            middle = (ruled_out + open_) / 2 if mean is None else mean
            capital = self._log_capitals(gaps[None], middle).max(initial=-np.inf)
            ruled_out, open_ = (middle, open_) if capital >= self._bar else (ruled_out, middle)
        # the remaining values cannot be below -1
        return max(ruled_out, float(gaps.sum() + gaps.size) / len(self.order.queries) - 1)

    @property
    def _bar(self) -> float:
        return float(np.log(2 / (1 - self.level)))

    def _log_capitals(self, gaps: np.ndarray, mean: float) -> np.ndarray:
        return log_capitals(gaps, mean, size=len(self.order.queries), n_before=self.order.n_before)

    def more_needed(self, random_state: int = 0) -> tuple[int, int] | None:
        """Return how many more queries may be needed: the median and the 90 % quantile; None if it cannot be said.

        The gaps of the other queries are drawn from those so far.
        """
        rest = len(self.order.queries) - self.n_judged
        if self.n_judged < LEAST_QUERIES or self.order.kind != RANDOM or self.verdict is not None:
            return None
        drawn = np.random.default_rng(random_state).choice(self.gaps, size=(N_FUTURES, rest))
        futures = np.concatenate([np.tile(self.gaps, (N_FUTURES, 1)), drawn], axis=1)
        capital = np.maximum(self._log_capitals(futures, 0.0), self._log_capitals(-futures, 0.0))[:, -rest:]
        is_over = capital >= self._bar
        more = np.where(is_over.any(axis=1), is_over.argmax(axis=1) + 1, rest)  # all of them always decide
        return int(np.quantile(more, 0.5)), int(np.ceil(np.quantile(more, 0.9)))

    def tables(self) -> list[Table]:
        """Return the verdict with the queries that come next."""
        size, (a, b) = len(self.order.queries), self.runs
        judged = f"{self.n_judged:,} of {size:,} queries judged"
        low, high = map(signed, self.interval())
        notes = []
        if self.verdict is not None and self.n_judged < size:
            better, worse = (a, b) if self.verdict == a else (b, a)
            title = f"Stop: {better} is better than {worse} by {self.metric} on this set of queries ({judged}). "
            title += f"{a} − {b} is in [{low}, {high}]."
        elif self.verdict is not None:
            title = f"All queries are judged: {a} − {b} by {self.metric} is {signed(float(self.gaps.mean()))}."
        elif self.order.kind != RANDOM:
            title = f"No verdict follows from this order, {judged}: a model chose it by what it hopes for."
            notes = ["verdicts on such an order were wrong for 23 % of pairs without a difference; use it for training"]
        else:
            title = f"Not decided: {judged}, {a} − {b} by {self.metric} is in [{low}, {high}]."
            if more := self.more_needed():
                title += f" About {more[0]:,} more queries may be needed, in 9 of 10 cases at most {more[1]:,}."
        waiting = self.order.queries[self.n_judged :] if self.verdict is None else []
        rows: list[list[Any]] = [[self.n_judged + n, qid] for n, qid in enumerate(waiting[:SHOWN], 1)]
        if len(waiting) > SHOWN:
            notes.append(f"and {len(waiting) - SHOWN:,} more, in the order that is kept")
        columns = [Column("place", digits=0), Column("judge next", "text")]
        return [Table(columns, rows, name="next", title=title, notes=notes)]


def log_capitals(gaps: np.ndarray, mean: float, *, size: int, n_before: int = 0) -> np.ndarray:
    """Return the logarithms of the capital of gamblers who bet that the mean of a set is above ``mean``.

    As in ``plackett.evaluation.betting``, but values are drawn without replacement: if the mean of the set were
    ``mean``, that of the remaining values would follow from the values so far, and bets are made against it
    (waudby2020). ``gaps`` are gamblers × values from -1 to 1, in the order in which they were drawn from a set of
    ``size`` values; the first ``n_before`` of them are not bet on, and the answer has a column for each of the others.
    """
    n = gaps.shape[1]
    so_far = np.cumsum(gaps, axis=1) - gaps
    left = (size * mean - so_far)[:, n_before:] / (size - np.arange(n_before, n))  # the mean of the remaining values
    bet_on = gaps[:, n_before:]
    total = np.full(bet_on.shape, -np.inf)
    with np.errstate(divide="ignore"):
        for fraction in FRACTIONS:
            factors = 1 - fraction + fraction * (1 + bet_on) / np.maximum(1 + left, 1e-12)
            # the remaining values cannot have a mean below -1
            np.logaddexp(total, np.cumsum(np.where(left <= -1, np.inf, np.log(factors)), axis=1), out=total)
    return total - np.log(FRACTIONS.size)
