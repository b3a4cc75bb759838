"""User-defined measures: plain functions of the labels in ranked order.

Under ``ties="average"`` a list with equal scores is measured in several orders, and the mean counts: in all different
orders if there are at most ``orders`` of them, else in ``orders`` random ones. The random orders depend on the labels
of the tied documents only, so that neither the order of the rows nor that of the queries has an influence.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import math
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from plackett._arrays import bounds
from plackett.metrics.judged_lists import JudgedLists, check_empty, fill_empty
from plackett.metrics.registry import ALIASES, OWN_KINDS, Cutoff, MeasureKind, as_key
from plackett.validation import check_positive_int, plain

ORDERS = 64
DOCS_AT_ONCE = 1 << 20  # in a call of a vectorised function
RESERVED = ("ties", "orders", "empty", "convention", "qid", "docid", "scores")
IDEAL = "ideal"  # a keyword that is filled in


@dataclass(frozen=True, eq=False)
class OwnFunction:
    """A function of a user in the form of the functions of this package: ``(lists, None, *, empty, ...)``.

    It is ``function(labels, **parameters)`` of one query, or vectorised ``function(labels, indptr, **parameters)``.
    ``expectation`` is the same for labels in any order: its mean over all orders.
    """

    name: str
    function: Callable[..., Any]
    is_vectorized: bool = False
    expectation: Callable[..., Any] | None = None
    takes_ideal: bool = False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OwnFunction) and vars(self) == vars(other)

    def __call__(
        self, lists: JudgedLists, _: None, *, k: int | None = None, ties: str = "average", orders: int = ORDERS,
        empty: object = "skip", **parameters: Any,
    ) -> np.ndarray:  # fmt: skip
        """Return one value per query, NaN where the function returns NaN."""
        orders = check_positive_int(orders, "orders")
        if k is not None:
            parameters["k"] = k
        values = np.full(lists.n_queries, np.nan)
        if lists.n_queries == 0:
            return values
        ranked, ideal = lists.ranked(ties), lists.ideal(None) if self.takes_ideal else None
        pending: list[tuple[int, np.ndarray]] = []
        size = 0
        for q, tables in enumerate(self._orders_of_queries(lists, ranked, orders, parameters, values)):
            if tables is None:
                continue
            pending.append((q, tables))
            size += tables.size
            if size > DOCS_AT_ONCE:
                self._measure(pending, lists, ideal, parameters, values)
                pending, size = [], 0
        self._measure(pending, lists, ideal, parameters, values)
        return fill_empty(values, empty)

    def _orders_of_queries(
        self, lists: JudgedLists, ranked: Any, orders: int, parameters: Mapping[str, Any], values: np.ndarray
    ) -> Iterator[np.ndarray | None]:
        """Yield for every query its labels in each order to measure, as rows; None if its value is known."""
        starts, lengths, n_sampled = lists.indptr.tolist(), lists.n_ranked.tolist(), 0
        for q in range(lists.n_queries):
            labels = ranked.labels[starts[q] : starts[q] + lengths[q]]
            if labels.size == 0:
                values[q] = 0.0 if lists.lengths[q] else np.nan  # nothing was retrieved
                yield None
                continue
            if ranked.group_end.size == 0 or ranked.group_end[q] == 0:
                yield labels[None]
                continue
            first = lists.n_queries + starts[q]
            ends = ranked.group_end[first : first + lengths[q]]
            if self.expectation is not None and ends[0] == lists.lengths[q]:
                values[q] = self._expected(labels, lists, q, parameters)
                yield None
                continue
            found = _all_orders(labels, ends, orders)
            if found is None:
                n_sampled += 1
                found = _sampled_orders(labels, ends, orders)
            yield found
        if n_sampled:
            lists.n_sampled[self.name] = n_sampled

    def _expected(self, labels: np.ndarray, lists: JudgedLists, q: int, parameters: Mapping[str, Any]) -> float:
        assert self.expectation is not None
        more = [np.array([0, labels.size])] if self.is_vectorized else []
        answer = self._call(
            self.expectation, labels.copy(), *more, where=functools.partial(_query, lists, q), **parameters
        )
        return self._number(np.asarray(answer).reshape(-1)[0] if self.is_vectorized else answer, lists, q)

    def _measure(
        self, pending: list[tuple[int, np.ndarray]], lists: JudgedLists, ideal: Any, parameters: Mapping[str, Any],
        values: np.ndarray,
    ) -> None:  # fmt: skip
        """Write the mean over the orders of each query."""
        if not pending:
            return
        if not self.is_vectorized:
            for q, tables in pending:
                passed = {} if ideal is None else {IDEAL: _of_query(ideal, q)}
                where = functools.partial(_query, lists, q)
                calls = (self._call(self.function, row.copy(), where=where, **passed, **parameters) for row in tables)
                found = [self._number(call, lists, q) for call in calls]
                values[q] = np.nan if any(map(math.isnan, found)) else math.fsum(found) / len(found)
            return
        queries = np.repeat([q for q, _ in pending], [len(tables) for _, tables in pending])
        labels = np.concatenate([tables.reshape(-1) for _, tables in pending])
        indptr = bounds(lists.n_ranked[queries])
        per_list: dict[str, Any] = {} if ideal is None else {IDEAL: [_of_query(ideal, q) for q in queries.tolist()]}
        answer = self._call(
            self.function, labels, indptr, where=lambda: f"{queries.size:,} lists", **per_list, **parameters
        )
        try:
            numbers = np.asarray(answer, dtype=np.float64)
        except (TypeError, ValueError):
            numbers = np.zeros(())
        if numbers.shape != queries.shape:
            raise ValueError(
                f"{self.name} returned {_shape(answer)} for {queries.size:,} lists; one number per list is needed: "
                "indptr has one entry more than there are lists."
            )
        if np.isinf(numbers).any():
            raise ValueError(f"{self.name} returned an infinite value; return NaN for a list without a value.")
        places = np.array([q for q, _ in pending])
        counts = np.array([len(tables) for _, tables in pending])
        values[places] = np.add.reduceat(numbers, np.cumsum(counts) - counts) / counts

    def _call(self, function: Callable[..., Any], *arguments: Any, where: Callable[[], str], **keywords: Any) -> Any:
        try:
            return function(*arguments, **keywords)
        except Exception as error:
            error.add_note(f"in the measure {self.name}, called with {where()}")
            raise

    def _number(self, value: Any, lists: JudgedLists, q: int) -> float:
        value = plain(value)
        if isinstance(value, (bool, int, float)) or (isinstance(value, np.ndarray) and value.shape == ()):
            number = float(value)
            if not math.isinf(number):
                return number
            raise ValueError(
                f"{self.name} returned {number} for {_query(lists, q)}; return NaN for a query without a value."
            )
        hint = " A function of all queries needs make_measure(..., vectorized=True)." if np.ndim(value) else ""
        raise ValueError(f"{self.name} returned {_shape(value)} for {_query(lists, q)}; one number is needed.{hint}")


def _of_query(ideal: Any, q: int) -> np.ndarray:
    return ideal.labels[ideal.indptr[q] : ideal.indptr[q + 1]].copy()


def _query(lists: JudgedLists, q: int) -> str:
    return f"query {plain(q if lists.ids is None else lists.ids[q])!r}"


def _shape(value: Any) -> str:
    return f"an array of shape {np.shape(value)}" if isinstance(value, (np.ndarray, list, tuple)) else repr(value)


# --- Orders of ties ---------------------------------------------------------------------------------------------------


def _groups(labels: np.ndarray, ends: np.ndarray) -> list[np.ndarray]:
    """Return the labels of each tie group, in descending order."""
    stops = np.unique(ends)
    return np.split(labels, stops[:-1])


def _all_orders(labels: np.ndarray, ends: np.ndarray, most: int) -> np.ndarray | None:
    """Return all different orders of labels, as rows; None if there are more than ``most``."""
    groups, total = _groups(labels, ends), 1
    for group in groups:
        left = group.size
        for count in np.unique(group, return_counts=True)[1].tolist():
            total *= math.comb(left, count)
            left -= count
            if total > most:
                return None
    choices = [list(_arrangements(group.tolist())) for group in groups]
    return np.array([list(itertools.chain(*choice)) for choice in itertools.product(*choices)])


def _arrangements(labels: list[float]) -> Iterator[tuple[float, ...]]:
    """Yield the different orders of labels."""
    if not labels:
        yield ()
    for label in dict.fromkeys(labels):
        rest = labels.copy()
        rest.remove(label)
        for others in _arrangements(rest):
            yield (label, *others)


def _sampled_orders(labels: np.ndarray, ends: np.ndarray, n: int) -> np.ndarray:
    """Return ``n`` random orders as rows, seeded by the labels and the tie groups alone."""
    rng = np.random.default_rng(zlib.crc32((labels + 0.0).tobytes() + ends.tobytes()))
    group = np.searchsorted(np.unique(ends), np.arange(labels.size), side="right")
    return labels[np.argsort(group + rng.random((n, labels.size)), axis=1, kind="stable")]


# --- Kinds of measures ------------------------------------------------------------------------------------------------


def own_kind(
    function: Callable[..., Any],
    *,
    name: str | None = None,
    is_vectorized: bool = False,
    higher_is_better: bool = True,
    expectation: Callable[..., Any] | None = None,
    empty: object = "skip",
) -> MeasureKind:
    """Return the kind of a measure of a user; its parameters are those of the function."""
    if isinstance(function, type) or not callable(function):
        raise TypeError(f"a measure must be a function of labels in ranked order, not {function!r}.")
    title = str(name or getattr(function, "__name__", type(function).__name__))
    if title == "<lambda>":
        raise ValueError('a lambda has no name. Write make_measure(lambda labels: ..., name="..."), or use def.')
    if as_key(title) in ALIASES:
        raise ValueError(
            f"{title!r} is the name of a measure of plackett. Choose another name: make_measure(..., name=...)."
        )
    if any(sign in title for sign in "@(),= \t\n"):
        raise ValueError(f"the name of a measure cannot contain whitespace, commas, @, = or brackets: {title!r}.")
    check_empty(empty)
    n_given = 2 if is_vectorized else 1
    given = _parameters(function, title, n_given)
    own = OwnFunction(title, function, is_vectorized, expectation, IDEAL in given)
    cutoff: Cutoff = "none"
    if "k" in given:
        cutoff = "required" if given["k"].default is inspect.Parameter.empty else "optional"
    defaults = {key: one.default for key, one in given.items() if key not in ("k", IDEAL)}
    return MeasureKind(
        title, (), cutoff, bool(higher_is_better), own, {**defaults, "ties": "average", "orders": ORDERS}, empty,
        own=own,
    )  # fmt: skip


def _parameters(function: Callable[..., Any], name: str, n_given: int) -> dict[str, inspect.Parameter]:
    """Return the parameters of a function beyond the first ones, which are labels and bounds."""
    try:
        every = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # a compiled function
        return {}
    positional = [one for one in every if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    if len(positional) < n_given and not any(one.kind is one.VAR_POSITIONAL for one in every):
        wanted = "labels and indptr" if n_given == 2 else "the labels of one query in ranked order"
        raise ValueError(f"{name} must take {wanted}; its parameters are {', '.join(one.name for one in every)}.")
    first = {one.name for one in positional[:n_given]}
    rest = [one for one in every if one.name not in first and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    for one in rest:
        if one.name in RESERVED:
            raise ValueError(f"{name} has a parameter {one.name!r}, which every measure already has; rename it.")
        if one.default is one.empty and one.name not in ("k", IDEAL):
            raise ValueError(
                f"{name} needs {one.name}, which has no default. A function of all queries takes (labels, indptr) and "
                "needs make_measure(..., vectorized=True)."
            )
    return {one.name: one for one in rest}


def register_kind(kind: MeasureKind) -> None:
    """Make a measure of a user known by its name; an earlier one of the same name is replaced."""
    OWN_KINDS[as_key(kind.name)] = kind
