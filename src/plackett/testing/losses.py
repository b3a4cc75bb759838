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


class _Case(NamedTuple):
    """One query: scores, labels, and how a message describes it."""

    scores: np.ndarray
    lists: QueryLists
    name: str


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
    for case in _cases(rng):
        loss.check_labels(case.lists)
        _check_shapes(loss, case)
        if loss.is_random:
            continue
        _check_repeats(loss, case)
        held = loss.held_at(case.scores, case.lists)
        _check_held(loss, held, case)
        _check_slope(held, case)
        _check_order(loss, case, rng)
        _check_traits(held, case, rng)
        if loss.is_linear_in_labels:
            _check_linear(loss, case, rng)
        _check_curvature(held, case, rng)
    if not loss.is_random:
        _check_sum(loss, rng)
    _check_copies(loss, rng)


def _cases(rng: np.random.Generator) -> Iterator[_Case]:
    for n_docs in SIZES:
        for spread in SPREADS:
            yield _case(rng, n_docs, spread)
    tied = _case(rng, 6, 1.0)
    yield tied._replace(lists=_lists(np.full(6, 2.0)), name="6 documents with equal labels")
    yield tied._replace(scores=np.repeat(tied.scores[:2], 3), name="6 documents with two different scores")


def _case(rng: np.random.Generator, n_docs: int, spread: float) -> _Case:
    labels = rng.integers(0, 5, size=n_docs).astype(np.float64)
    return _Case(
        spread * rng.normal(size=n_docs), _lists(labels), f"{count_of(n_docs, 'document')}, scores of size {spread:g}"
    )


def _lists(labels: np.ndarray, sizes: list[int] | None = None) -> QueryLists:
    return QueryLists(labels, np.append(0, np.cumsum([labels.size] if sizes is None else sizes)))


def _evaluate(loss: Loss, scores: np.ndarray, lists: QueryLists) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of the queries and the slope, as rankers compute them."""
    slope = np.full(lists.n_docs, np.nan)
    return np.asarray(loss.query_values(scores, lists, slope)), slope


def _fail(loss: Loss, case: _Case, what: str) -> None:
    raise AssertionError(
        f"{loss!r}: {what}\nThe list: {case.name}.\nscores {_shown(case.scores)}\nlabels {_shown(case.lists.labels)}"
    )


def _shown(values: np.ndarray) -> str:
    with np.printoptions(precision=6, threshold=20, linewidth=110):
        return str(values)


# --- The tests --------------------------------------------------------------------------------------------------------


def _check_shapes(loss: Loss, case: _Case) -> None:
    scores, labels = case.scores.copy(), case.lists.labels.copy()
    try:
        values, slope = _evaluate(loss, case.scores, case.lists)
        public = loss.value_and_slope(case.scores, case.lists)[1]
    except Exception as error:
        raise AssertionError(
            f"{loss!r} raised {type(error).__name__}: {error}\nThe list: {case.name}.\nscores {_shown(case.scores)}\n"
            f"labels {_shown(case.lists.labels)}"
        ) from error
    if values.shape != (1,):
        _fail(loss, case, f"query_values returned values of shape {values.shape} for one query, not (1,).")
    if np.shape(public) != case.scores.shape:
        _fail(loss, case, f"value_and_slope returned a slope of shape {np.shape(public)}, not {case.scores.shape}.")
    if not (np.isfinite(values).all() and np.isfinite(slope).all()):
        _fail(loss, case, f"value {values[0]} and slope {_shown(slope)} must be finite.")
    if not (np.array_equal(scores, case.scores) and np.array_equal(labels, case.lists.labels)):
        _fail(loss, case._replace(scores=scores), "it changed the scores or labels.")


def _check_repeats(loss: Loss, case: _Case) -> None:
    first, second = _evaluate(loss, case.scores, case.lists), _evaluate(loss, case.scores, case.lists)
    if not (np.array_equal(first[0], second[0]) and np.array_equal(first[1], second[1])):
        _fail(loss, case, "two calls with the same scores differ. Set is_random = True if they should.")
    total, public = loss.value_and_slope(case.scores, case.lists)
    if not (np.isclose(first[0][0], float(total)) and np.allclose(first[1], public)):
        _fail(
            loss, case, f"query_values gives {first[0][0]:.12g}, value_and_slope {total:.12g}, or their slopes differ."
        )


def _check_held(loss: Loss, held: Loss, case: _Case) -> None:
    value, slope = _evaluate(loss, case.scores, case.lists)
    other, of_held = (value, slope) if held is loss else _evaluate(held, case.scores, case.lists)
    if not (_is_close(value, other) and _is_close(slope, of_held)):
        _fail(
            loss, case,
            f"the value is {value[0]:.9g}, but {other[0]:.9g} with the weights held at the same scores, or the slopes "
            f"differ.\nslope {_shown(slope)}\nheld  {_shown(of_held)}",
        )  # fmt: skip


def _check_slope(loss: Loss, case: _Case) -> None:
    value, slope = _evaluate(loss, case.scores, case.lists)
    step = STEP * max(1e-3, float(np.abs(case.scores).max()))
    measured, is_kink = np.empty(slope.size), np.zeros(slope.size, dtype=bool)
    tolerance = 1e-4 * max(1.0, float(np.abs(slope).max())) + 1e-13 * float(np.abs(value[0])) / step
    for doc in range(slope.size):
        below, above = (_evaluate(loss, case.scores + side * step * _unit(doc, slope.size), case.lists)[0][0]
                        for side in (-1, 1))  # fmt: skip
        measured[doc] = (above - below) / (2 * step)
        is_kink[doc] = abs(above - 2 * value[0] + below) / step > tolerance  # the two sides differ
    is_wrong = (np.abs(measured - slope) > tolerance) & ~is_kink
    if is_wrong.any():
        doc = int(np.argmax(is_wrong))
        _fail(
            loss, case,
            f"the slope is not the derivative of the value. Document {doc}: the slope is {slope[doc]:.6g}, but the "
            f"value changes at a rate of {measured[doc]:.6g}.\nslope    {_shown(slope)}\nmeasured {_shown(measured)}",
        )  # fmt: skip
    gaps = np.diff(np.sort(case.scores))
    if is_kink.any() and loss.is_smooth and gaps.min(initial=np.inf) > 2 * step:  # at ties a smooth loss may have kinks
        _fail(loss, case, f"it has a kink at document {int(np.argmax(is_kink))}. Set is_smooth = False.")


def _check_order(loss: Loss, case: _Case, rng: np.random.Generator) -> None:
    order = rng.permutation(case.scores.size)
    value, slope = _evaluate(loss, case.scores, case.lists)
    other, moved = _evaluate(loss, case.scores[order], _lists(case.lists.labels[order]))
    if not (_is_close(value, other) and _is_close(slope[order], moved)):
        _fail(
            loss, case,
            f"the order of the documents matters: the value is {value[0]:.9g}, and {other[0]:.9g} for the same "
            f"documents in the order {order.tolist()}, or the slopes differ. Break ties without the order of the rows.",
        )  # fmt: skip


def _check_traits(loss: Loss, case: _Case, rng: np.random.Generator) -> None:
    value, slope = _evaluate(loss, case.scores, case.lists)
    shifted = _evaluate(loss, case.scores + 3.0, case.lists)
    is_balanced = abs(slope.sum()) <= 1e-6 * np.abs(slope).sum() + 1e-12  # a slope of 0 may be rounding errors
    if loss.ignores_shifts and not (_is_close(value, shifted[0]) and is_balanced):
        _fail(
            loss,
            case,
            f"ignores_shifts is set, but 3 added to all scores changes {value[0]:.9g} to {shifted[0][0]:.9g}.",
        )
    scaled = _evaluate(loss, 2.0 * case.scores, case.lists)[0]
    if loss.is_scale_free and not _is_close(value, scaled):
        _fail(loss, case, f"is_scale_free is set, but doubling the scores changes {value[0]:.9g} to {scaled[0]:.9g}.")
    end = case.scores + rng.normal(size=case.scores.size)
    middle, at_end = (_evaluate(loss, one, case.lists)[0][0] for one in ((case.scores + end) / 2, end))
    if loss.is_convex and middle > (value[0] + at_end) / 2 + 1e-9 * max(1.0, abs(value[0]), abs(at_end)):
        _fail(
            loss, case,
            f"is_convex is set, but the value in the middle of a line, {middle:.9g}, is above the mean of its ends, "
            f"{(value[0] + at_end) / 2:.9g}. Set is_convex = False.",
        )  # fmt: skip


def _check_linear(loss: Loss, case: _Case, rng: np.random.Generator) -> None:
    ends = [rng.normal(size=case.scores.size) for _ in range(2)]  # including negative ones
    slopes = [_evaluate(loss, case.scores, _lists(labels))[1] for labels in (*ends, (ends[0] + ends[1]) / 2)]
    if not _is_close((slopes[0] + slopes[1]) / 2, slopes[2]):
        _fail(
            loss, case,
            "is_linear_in_labels is set, but the slope with the mean of two vectors of labels is not the mean of their "
            f"slopes.\nslope {_shown(slopes[2])}\nmean  {_shown((slopes[0] + slopes[1]) / 2)}",
        )  # fmt: skip


def _check_curvature(loss: Loss, case: _Case, rng: np.random.Generator) -> None:
    n_docs, direction = case.scores.size, rng.normal(size=case.scores.size)
    if loss.has_curvature_product:
        product = np.asarray(loss.curvature_at(case.scores, case.lists)(direction))
        step = 1e-5 * max(1.0, float(np.abs(case.scores).max()))
        below, above = (_evaluate(loss, case.scores + side * step * direction, case.lists)[1] for side in (-1, 1))
        measured = (above - below) / (2 * step)
        if product.shape != (n_docs,) or np.abs(product - measured).max() > 1e-3 * max(1.0, np.abs(measured).max()):
            _fail(
                loss, case,
                f"curvature_at is not the derivative of the slope.\nproduct  {_shown(product)}\n"
                f"measured {_shown(measured)}",
            )  # fmt: skip
    if type(loss).diagonal_at is not Loss.diagonal_at and loss.has_curvature_product:
        multiply = loss.curvature_at(case.scores, case.lists)
        expected = np.array([multiply(_unit(doc, n_docs))[doc] for doc in range(n_docs)])
        found = np.asarray(loss.diagonal_at(case.scores, case.lists))
        if not _is_close(found, expected):
            _fail(loss, case, f"diagonal_at gives {_shown(found)}, but curvature_at gives {_shown(expected)}.")
    if loss.has_curvature_bound and loss.has_curvature_product:
        bound = np.asarray(loss.bound_at(case.scores, case.lists))
        at_most = float(direction @ (bound * direction))
        found_at = float(direction @ loss.curvature_at(case.scores, case.lists)(direction))
        if found_at > at_most + 1e-9 * max(1.0, abs(at_most)):
            _fail(
                loss,
                case,
                f"bound_at is not a bound: along one direction the curvature is {found_at:.6g}, above {at_most:.6g}.",
            )


def _check_sum(loss: Loss, rng: np.random.Generator) -> None:
    cases = [_case(rng, n_docs, 1.0) for n_docs in SIZES]
    labels, scores = (
        np.concatenate(parts) for parts in ([one.lists.labels for one in cases], [one.scores for one in cases])
    )
    together = _lists(labels, [*SIZES, 0])  # the last query is empty
    values, slope = _evaluate(loss, scores, together)
    alone = [_evaluate(loss, one.scores, one.lists) for one in cases]
    expected = np.append(np.concatenate([value for value, _ in alone]), 0.0)
    if values.shape != expected.shape or not _is_close(values, expected):
        raise AssertionError(
            f"{loss!r}: the values of {expected.size} queries together are {_shown(values)}, but one by one "
            f"{_shown(expected)}."
        )
    if not _is_close(slope, np.concatenate([part for _, part in alone])):
        raise AssertionError(f"{loss!r}: the slope of a query changes if there are other queries.")


def _check_copies(loss: Loss, rng: np.random.Generator) -> None:
    try:
        copies = [copy.deepcopy(loss), pickle.loads(dumps(loss))]
    except Exception as error:
        raise AssertionError(
            f"{loss!r} cannot be copied to worker processes ({type(error).__name__}: {error}). Keep no open files, "
            "locks or connections in it."
        ) from error
    if loss.is_random:
        return
    case = _case(rng, SIZES[-1], 1.0)
    value, slope = _evaluate(loss, case.scores, case.lists)
    for one in copies:
        found = _evaluate(one, case.scores, case.lists)
        if not (_is_close(value, found[0]) and _is_close(slope, found[1])):
            _fail(loss, case, f"the value is {value[0]:.9g}, but that of a copy {found[0][0]:.9g}, or slopes differ.")


def _unit(place: int, size: int) -> np.ndarray:
    return (np.arange(size) == place).astype(np.float64)


def _is_close(one: np.ndarray, other: np.ndarray) -> bool:
    scale = max(1.0, float(np.abs(one).max(initial=0.0)))
    return bool(np.shape(one) == np.shape(other) and np.abs(np.asarray(one) - other).max(initial=0.0) <= 1e-7 * scale)
