"""``check_measure``: tests of the properties that every measure needs, on small lists."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
from joblib.externals.loky.backend.reduction import dumps  # as joblib sends objects to worker processes

from plackett.metrics.judged_lists import JudgedLists
from plackett.metrics.measure import Measure

SIZES = (1, 2, 3, 5, 9)
CLOSE = 1e-9


class _Lists(NamedTuple):
    """Labels, scores and query ids of some lists."""

    labels: np.ndarray
    scores: np.ndarray
    qid: np.ndarray

    def rows(self, order: np.ndarray) -> _Lists:
        return _Lists(self.labels[order], self.scores[order], self.qid[order])


def check_measure(measure: Any, *, random_state: int = 0) -> None:
    """Test your own measure: values, ties, empty lists, and invariances.

    The tests run on lists of 1 to 9 documents with labels from 0 to 4, lists without a relevant document and ties
    included:

    - there is one finite value, or NaN, for each query, the same at a second call, and the labels are unchanged;
    - the values of several queries are those of the queries one by one, in any order;
    - the order of the rows does not matter, even if scores are equal;
    - only the order of the scores matters, not their size;
    - lists with few ties have the mean over all orders of the tied documents;
    - the expectation, if the measure has one, is right;
    - the perfect order is not worse than the reversed one;
    - a list from which nothing was retrieved is never passed to the function;
    - the measure can be pickled, as worker processes need.

    Parameters
    ----------
    measure : callable, Measure or str
        A function of labels in ranked order, what ``make_measure`` returns, or a name.
    random_state : int, default=0
        Seed of labels and scores.

    Raises
    ------
    AssertionError
        At the first test that fails; it shows the labels in ranked order, what was returned and what was expected.

    Examples
    --------
    >>> from plackett.testing import check_measure
    >>> def top_label(labels):
    ...     return labels[0]
    >>> check_measure(top_label)
    >>> def first_good(labels):
    ...     return int((labels > 0).argmax()) + 1
    >>> try:
    ...     check_measure(first_good)
    ... except AssertionError as error:
    ...     print(str(error).partition(", but ")[2])
    higher is said to be better. Set higher_is_better.
    """
    parsed = Measure.parse(measure)
    if parsed.kind.needs_subtopics:
        raise ValueError(f"check_measure tests measures of labels with a value per query; {parsed} is not one.")
    rng = np.random.default_rng(random_state)
    lists, tied = _made_up(rng, n_levels=None), _made_up(rng, n_levels=3)
    values = _values(parsed, lists)
    if np.isnan(values).all():
        raise AssertionError(f"{parsed} has no value (NaN) for any list.\n{_shown(lists, int(lists.qid[-1]))}")
    if not np.array_equal(values, _values(parsed, lists), equal_nan=True):
        raise AssertionError(f"{parsed}: two calls with the same labels differ.")
    for one, words in ((lists, "different scores"), (tied, "equal scores")):
        queries = np.unique(one.qid).tolist()
        alone = {query: _by_query(parsed, one.rows(np.flatnonzero(one.qid == query)))[query] for query in queries}
        _check_same(parsed, one, alone, "the value of a query depends on the other queries")
        shuffled = _by_query(parsed, one.rows(rng.permutation(one.qid.size)))
        what = f"the order of the rows or of the queries changes a value, with {words}"
        _check_same(parsed, one, shuffled, what)
    other = lists._replace(scores=np.exp(lists.scores - lists.scores.max()))
    _check_same(parsed, lists, _by_query(parsed, other), "other scores in the same order change a value")
    _check_ties(parsed)
    _check_direction(parsed, lists)
    _check_unanswered(parsed)
    try:
        again = pickle.loads(dumps(parsed))
    except Exception as error:
        raise AssertionError(
            f"{parsed} cannot be sent to worker processes ({type(error).__name__}: {error}). Keep no open files, locks "
            "or connections in it."
        ) from error
    _check_same(parsed, lists, _by_query(again, lists), "a copy in another process has other values")


def _made_up(rng: np.random.Generator, n_levels: int | None) -> _Lists:
    lengths = np.repeat(SIZES, 4)
    qid = np.repeat(np.arange(lengths.size), lengths)
    labels = rng.integers(0, 5, qid.size).astype(np.float64)
    labels[np.isin(qid, np.arange(0, lengths.size, 5))] = 0.0  # lists without a relevant document
    scores = rng.permutation(qid.size) / 7.0 if n_levels is None else rng.integers(0, n_levels, qid.size) / 7.0
    return _Lists(labels, scores, qid)


def _values(measure: Measure, lists: _Lists) -> np.ndarray:
    """Return the values, NaN for queries without one, with the error of the function as an AssertionError."""
    labels, parameters = lists.labels.copy(), {**measure.parameters, "empty": "skip"}
    skipping = Measure(measure, measure.k, convention=measure.convention, **parameters)
    try:
        values = skipping(labels, lists.scores, qid=lists.qid)
    except Exception as error:
        notes = "; ".join(getattr(error, "__notes__", ()))
        raise AssertionError(f"{measure} raised {type(error).__name__}: {error} ({notes})") from error
    if not np.array_equal(labels, lists.labels):
        raise AssertionError(f"{measure} changed its labels. Copy them first.")
    return values


def _of_orders(measure: Measure, labels: Sequence[float], orders: Iterable[Sequence[float]]) -> list[float]:
    """Return the values of one list under several vectors of scores."""
    every = (_Lists(np.array(labels), np.array(scores), np.zeros(len(labels))) for scores in orders)
    return [float(_values(measure, lists)[0]) for lists in every]


def _by_query(measure: Measure, lists: _Lists) -> dict[int, float]:
    return dict(zip(dict.fromkeys(lists.qid.tolist()), _values(measure, lists).tolist(), strict=True))


def _shown(lists: _Lists, query: int) -> str:
    rows = np.flatnonzero(lists.qid == query)
    order = rows[np.argsort(-lists.scores[rows], kind="stable")]
    return f"labels in ranked order {lists.labels[order].tolist()}, scores {lists.scores[order].round(3).tolist()}"


def _check_same(measure: Measure, lists: _Lists, found: dict[int, float], what: str) -> None:
    """Compare values by query with those of the lists."""
    for query, value in _by_query(measure, lists).items():
        if not _is_close(found[query], value):
            raise AssertionError(f"{measure}: {what}: {found[query]:.9g}, not {value:.9g}.\n{_shown(lists, query)}")


def _is_close(one: float, other: float) -> bool:
    return bool(np.isclose(one, other, rtol=CLOSE, atol=CLOSE, equal_nan=True))


def _check_ties(measure: Measure) -> None:
    """Compare a tie of two, and the expectation of four, with the means of their orders."""
    if measure.rules.rules_for(measure).get("ties", "average") == "average":
        orders = [4.0, 2.5, 2.5, 1.0], [4.0, 3.0, 2.0, 1.0], [4.0, 2.0, 3.0, 1.0]  # the first has a tie
        found, *others = _of_orders(measure, [3.0, 1.0, 0.0, 2.0], orders)
        mean = np.mean(others)
        if not _is_close(found, float(mean)):
            raise AssertionError(
                f"{measure}: two documents with equal scores get {found:.9g}, but the mean of their orders, "
                f"[3, 1, 0, 2] and [3, 0, 1, 2], is {mean:.9g}."
            )
    if measure.kind.is_own and not measure.is_sampled:
        labels = [2.0, 1.0, 0.0, 0.0]  # with 12 different orders
        (given,) = _of_orders(measure, labels, [[0.0] * 4])
        mean = np.mean(_of_orders(measure, labels, permutations(range(4))))
        if not _is_close(given, float(mean)):
            raise AssertionError(
                f"{measure}: the expectation of the labels {labels} is given as {given:.9g}, but the mean over all "
                f"their orders is {mean:.9g}."
            )


def _check_direction(measure: Measure, lists: _Lists) -> None:
    best, worst = (np.nanmean(_values(measure, lists._replace(scores=sign * lists.labels))) for sign in (1.0, -1.0))
    sign = 1.0 if measure.higher_is_better else -1.0
    if sign * best < sign * worst - CLOSE:
        raise AssertionError(
            f"{measure}: perfect orders have {best:.6g} and reversed ones {worst:.6g} on average, but "
            f"{'higher' if measure.higher_is_better else 'lower'} is said to be better. Set higher_is_better."
        )


def _check_unanswered(measure: Measure) -> None:
    unanswered = JudgedLists(
        np.array([1.0, 0.0, 2.0, 0.0]), np.zeros(4), np.array([0, 2, 4]), n_retrieved=np.array([0, 2])
    )
    nothing = JudgedLists(np.zeros(0), np.zeros(0), np.zeros(1, dtype=np.int64))
    for lists, what in ((unanswered, "a query from which a run retrieved nothing"), (nothing, "no queries at all")):
        try:
            values = measure.values(lists)
        except Exception as error:
            raise AssertionError(f"{measure} raised {type(error).__name__} for {what}: {error}") from error
        if not np.isfinite(values[:1]).all():
            raise AssertionError(f"{measure} has the value {values[0]} for {what}.")
