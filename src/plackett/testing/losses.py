"""``check_loss``: tests of a loss by its definition, on small lists."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from joblib.externals.loky.backend.reduction import dumps  # as joblib sends objects to worker processes

from plackett.data.queries import QueryLists
from plackett.losses import get_loss
from plackett.losses.base import Loss
from plackett.validation import count_of

STEP = 1e-6  # of a score, for differences
SIZES = (1, 2, 3, 5, 12, 40)
SPREADS = (1e-3, 1.0, 30.0)  # of the scores


def check_loss(loss: Any, *, random_state: int = 0) -> None:
    """Test your own loss: shapes, slope, invariances, and its attributes.

    The tests run on lists of 1 to 40 documents with labels from 0 to 4, ties in labels and scores included:

    - value and slope are finite, of the right shape, the same at a second call, and the arguments are unchanged;
    - the slope is the derivative of the value, by differences; with the weights held, if they move;
    - values and slopes of several queries are those of the queries one by one;
    - the order of the documents does not matter;
    - ``ignores_shifts``, ``is_scale_free``, ``is_convex`` and ``is_linear_in_labels`` hold if they are set;
    - curvature, if the loss has it, is the derivative of the slope, and its bound is valid;
    - the loss can be copied and pickled, as worker processes need.

    Parameters
    ----------
    loss : Loss, or object with ``value_and_slope(scores, queries)``
    random_state : int, default=0
        Seed of labels and scores.

    Raises
    ------
    AssertionError
        At the first test that fails; it shows scores, labels, what was returned and what was expected.

    Examples
    --------
    >>> from plackett.testing import check_loss
    >>> import numpy as np
    >>> import plackett as pk
    >>> class Squared(pk.losses.Loss):
    ...     ignores_shifts, is_pointwise = False, True
    ...
    ...     def value_and_slope(self, scores, queries):
    ...         rest = scores - queries.labels
    ...         return 0.5 * rest @ rest, rest
    >>> check_loss(Squared())
    """
    loss, rng = get_loss(loss), np.random.default_rng(random_state)
    for case in _cases(loss, rng):
        loss.check_labels(case.lists)
        _check_call(case)
        if not loss.is_random:
            held = case._replace(loss=loss.held_at(case.scores, case.lists))
            _check_same(held, held.at(), case.at(), "with the weights held at the same scores")
            _check_slope(held)
            _check_order(case, rng)
            _check_attributes(held, rng)
            _check_labels(case, rng)
            _check_curvature(held, rng)
    if not loss.is_random:
        _check_sum(loss, rng)
    _check_copies(_case(loss, rng, SIZES[-1], 1.0))


class _Case(NamedTuple):
    """One query: a loss, scores, labels, and how a message describes it."""

    loss: Loss
    scores: np.ndarray
    lists: QueryLists
    name: str

    def at(self, scores: np.ndarray | None = None, labels: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the values of the queries and the slope, as rankers compute them."""
        lists, slope = self.lists if labels is None else _lists(labels), np.full(self.lists.n_docs, np.nan)
        return np.asarray(self.loss.query_values(self.scores if scores is None else scores, lists, slope)), slope

    def require(self, is_right: Any, message: str) -> None:
        if not is_right:
            shown = f"scores {_shown(self.scores)}\nlabels {_shown(self.lists.labels)}"
            raise AssertionError(f"{self.loss!r}: {message}\nThe list: {self.name}.\n{shown}")


def _cases(loss: Loss, rng: np.random.Generator) -> Iterator[_Case]:
    for n_docs in SIZES:
        for spread in SPREADS:
            yield _case(loss, rng, n_docs, spread)
    tied = _case(loss, rng, 6, 1.0)
    yield tied._replace(lists=_lists(np.full(6, 2.0)), name="6 documents with equal labels")
    yield tied._replace(scores=np.repeat(tied.scores[:2], 3), name="6 documents with two different scores")


def _case(loss: Loss, rng: np.random.Generator, n_docs: int, spread: float) -> _Case:
    lists = _lists(rng.integers(0, 5, size=n_docs).astype(np.float64))
    name = f"{count_of(n_docs, 'document')}, scores of size {spread:g}"
    return _Case(loss, spread * rng.normal(size=n_docs), lists, name)


def _lists(labels: np.ndarray, sizes: list[int] | None = None) -> QueryLists:
    return QueryLists(labels, np.append(0, np.cumsum([labels.size] if sizes is None else sizes)))


def _shown(values: np.ndarray) -> str:
    with np.printoptions(precision=6, threshold=20, linewidth=110):
        return str(values)


def _is_close(one: np.ndarray, other: np.ndarray) -> bool:
    scale = max(1.0, float(np.abs(one).max(initial=0.0)))
    return bool(np.shape(one) == np.shape(other) and np.abs(np.asarray(one) - other).max(initial=0.0) <= 1e-7 * scale)


def _check_same(case: _Case, found: tuple, expected: tuple, when: str) -> None:
    case.require(
        _is_close(expected[0], found[0]) and _is_close(expected[1], found[1]),
        f"the value is {expected[0][0]:.9g}, but {found[0][0]:.9g} {when}, or the slopes differ.\n"
        f"slope {_shown(expected[1])}\nother {_shown(found[1])}",
    )


def _check_call(case: _Case) -> None:
    """Check shapes, and that a second call gives the same."""
    loss, scores, labels = case.loss, case.scores.copy(), case.lists.labels.copy()
    before = case._replace(scores=scores)
    try:
        values, slope = case.at()
        total, public = loss.value_and_slope(case.scores, case.lists)
    except Exception as error:
        before.require(False, f"it raised {type(error).__name__}: {error}")
    case.require(values.shape == (1,), f"query_values returned values of shape {values.shape} for one query, not (1,).")
    shape = np.shape(public)
    case.require(shape == scores.shape, f"value_and_slope returned a slope of shape {shape}, not {scores.shape}.")
    is_finite = np.isfinite(values).all() and np.isfinite(slope).all()
    case.require(is_finite, f"value {values[0]} and slope {_shown(slope)} must be finite.")
    is_unchanged = np.array_equal(scores, case.scores) and np.array_equal(labels, case.lists.labels)
    before.require(is_unchanged, "it changed the scores or labels.")
    if not loss.is_random:
        again = case.at()
        is_same = np.array_equal(values, again[0]) and np.array_equal(slope, again[1])
        case.require(is_same, "two calls with the same scores differ. Set is_random = True if they should.")
        is_same = np.isclose(values[0], float(total)) and np.allclose(slope, public)
        message = f"query_values gives {values[0]:.12g}, value_and_slope {total:.12g}, or their slopes differ."
        case.require(is_same, message)


def _check_slope(case: _Case) -> None:
    value, slope = case.at()
    step = STEP * max(1e-3, float(np.abs(case.scores).max()))
    tolerance = 1e-4 * max(1.0, float(np.abs(slope).max())) + 1e-13 * float(np.abs(value[0])) / step
    units = step * np.eye(slope.size)
    below, above = (np.array([case.at(case.scores + side * unit)[0][0] for unit in units]) for side in (-1, 1))
    measured = (above - below) / (2 * step)
    is_kink = np.abs(above - 2 * value[0] + below) / step > tolerance  # the two sides differ
    is_wrong = (np.abs(measured - slope) > tolerance) & ~is_kink
    doc = int(np.argmax(is_wrong))
    case.require(
        not is_wrong.any(),
        f"the slope is not the derivative of the value. Document {doc}: the slope is {slope[doc]:.6g}, but the value "
        f"changes at a rate of {measured[doc]:.6g}.\nslope    {_shown(slope)}\nmeasured {_shown(measured)}",
    )
    is_apart = np.diff(np.sort(case.scores)).min(initial=np.inf) > 2 * step  # at ties a smooth loss may have kinks
    is_hidden = is_kink.any() and case.loss.is_smooth and is_apart
    case.require(not is_hidden, f"it has a kink at document {int(np.argmax(is_kink))}. Set is_smooth = False.")


def _check_order(case: _Case, rng: np.random.Generator) -> None:
    order = rng.permutation(case.scores.size)
    value, slope = case.at()
    words = f"for the same documents in the order {order.tolist()}: the order of the documents matters"
    _check_same(case, case.at(case.scores[order], case.lists.labels[order]), (value, slope[order]), words)


def _check_attributes(case: _Case, rng: np.random.Generator) -> None:
    loss, scores, (value, slope) = case.loss, case.scores, case.at()
    shifted, scaled = case.at(scores + 3.0)[0], case.at(2.0 * scores)[0]
    is_balanced = abs(slope.sum()) <= 1e-6 * np.abs(slope).sum() + 1e-12  # a slope of 0 may be rounding errors
    case.require(
        not loss.ignores_shifts or (_is_close(value, shifted) and is_balanced),
        f"ignores_shifts is set, but 3 added to all scores changes {value[0]:.9g} to {shifted[0]:.9g}.",
    )
    case.require(
        not loss.is_scale_free or _is_close(value, scaled),
        f"is_scale_free is set, but doubling the scores changes {value[0]:.9g} to {scaled[0]:.9g}.",
    )
    end = scores + rng.normal(size=scores.size)
    middle, at_end = (case.at(one)[0][0] for one in ((scores + end) / 2, end))
    mean, scale = (value[0] + at_end) / 2, max(1.0, abs(value[0]), abs(at_end))
    case.require(
        not loss.is_convex or middle <= mean + 1e-9 * scale,
        f"is_convex is set, but the value in the middle of a line, {middle:.9g}, is above the mean of its ends, "
        f"{mean:.9g}. Set is_convex = False.",
    )


def _check_labels(case: _Case, rng: np.random.Generator) -> None:
    if case.loss.is_linear_in_labels:
        ends = rng.normal(size=(2, case.scores.size))  # including negative ones
        slopes = [case.at(labels=labels)[1] for labels in (*ends, ends.mean(axis=0))]
        mean = (slopes[0] + slopes[1]) / 2
        case.require(
            _is_close(mean, slopes[2]),
            "is_linear_in_labels is set, but the slope with the mean of two vectors of labels is not the mean of their "
            f"slopes.\nslope {_shown(slopes[2])}\nmean  {_shown(mean)}",
        )


def _check_curvature(case: _Case, rng: np.random.Generator) -> None:
    loss, scores, lists, direction = case.loss, case.scores, case.lists, rng.normal(size=case.scores.size)
    if not loss.has_curvature_product:
        return
    multiply = loss.curvature_at(scores, lists)
    product = np.asarray(multiply(direction))
    step = 1e-5 * max(1.0, float(np.abs(scores).max()))
    below, above = (case.at(scores + side * step * direction)[1] for side in (-1, 1))
    measured = (above - below) / (2 * step)
    tolerance = 1e-3 * max(1.0, np.abs(measured).max())
    case.require(
        product.shape == scores.shape and np.abs(product - measured).max() <= tolerance,
        f"curvature_at is not the derivative of the slope.\nproduct  {_shown(product)}\nmeasured {_shown(measured)}",
    )
    if type(loss).diagonal_at is not Loss.diagonal_at:
        expected = np.array([multiply(unit)[doc] for doc, unit in enumerate(np.eye(scores.size))])
        found = np.asarray(loss.diagonal_at(scores, lists))
        message = f"diagonal_at gives {_shown(found)}, but curvature_at gives {_shown(expected)}."
        case.require(_is_close(found, expected), message)
    if loss.has_curvature_bound:
        at_most = float(direction @ (np.asarray(loss.bound_at(scores, lists)) * direction))
        found_at = float(direction @ product)
        case.require(
            found_at <= at_most + 1e-9 * max(1.0, abs(at_most)),
            f"bound_at is not a bound: along one direction the curvature is {found_at:.6g}, above {at_most:.6g}.",
        )


def _check_sum(loss: Loss, rng: np.random.Generator) -> None:
    cases = [_case(loss, rng, n_docs, 1.0) for n_docs in SIZES]
    labels, scores = np.hstack([(case.lists.labels, case.scores) for case in cases])
    several = _Case(loss, scores, _lists(labels, [*SIZES, 0]), f"queries of {SIZES} documents, and an empty one")
    values, slope = several.at()
    alone = [case.at() for case in cases]
    expected = np.array([*(value[0] for value, _ in alone), 0.0])
    message = f"the values of the queries together are {_shown(values)}, but one by one {_shown(expected)}."
    several.require(_is_close(expected, values), message)
    is_same = _is_close(slope, np.concatenate([part for _, part in alone]))
    several.require(is_same, "the slope of a query changes if there are other queries.")


def _check_copies(case: _Case) -> None:
    try:
        copies = [copy.deepcopy(case.loss), pickle.loads(dumps(case.loss))]
    except Exception as error:
        raise AssertionError(
            f"{case.loss!r} cannot be copied to worker processes ({type(error).__name__}: {error}). Keep no open "
            "files, locks or connections in it."
        ) from error
    for one in () if case.loss.is_random else copies:
        _check_same(case, case._replace(loss=one).at(), case.at(), "in a copy")
