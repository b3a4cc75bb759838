"""Pairwise losses: sums over pairs of documents of a query, of a function of the margin times a weight."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from plackett import _native
from plackett.data.queries import QueryLists
from plackett.losses.base import CompiledCurvature, CurvatureProduct, Loss, evaluate
from plackett.losses.gains import gains_of
from plackett.losses.pair_plans import NORMALIZERS, native_plan, pair_counts
from plackett.metrics.discounts import discounts
from plackett.validation import check_choice, check_number, check_positive_int, plain


class _Kind(NamedTuple):
    """A loss of one pair: its properties, and the parameter that it has besides the margin."""

    is_convex: bool = True
    is_smooth: bool = True
    has_diagonal: bool = True
    parameter: str | None = None

    @property
    def is_curved(self) -> bool:
        return self.is_convex and self.has_diagonal


class _Weight(NamedTuple):
    """A weight of a pair: what it is made of, and whether it belongs to ordered pairs, equal labels included."""

    has_gains: bool = False
    has_ranks: bool = False
    is_one_sided: bool = False


# in the order of MarginLoss and PairWeight in _native/losses/pairwise
KINDS = {
    "hinge": _Kind(is_smooth=False, has_diagonal=False),
    "smoothed-hinge": _Kind(parameter="width"),
    "squared-hinge": _Kind(),
    "logistic": _Kind(parameter="sigma"),
    "exponential": _Kind(),
    "psi": _Kind(is_convex=False, is_smooth=False, has_diagonal=False),
    "soft-zero-one": _Kind(is_convex=False, parameter="sigma"),
    "squared": _Kind(),
}
WEIGHTS = {
    "uniform": _Weight(),
    "label-difference": _Weight(),
    "gain-difference": _Weight(has_gains=True),
    "label": _Weight(is_one_sided=True),
    "lambdarank": _Weight(has_gains=True, has_ranks=True),
    "ndcg-loss1": _Weight(has_gains=True, has_ranks=True, is_one_sided=True),
    "ndcg-loss2": _Weight(has_gains=True, has_ranks=True),
    "ndcg-loss2++": _Weight(has_gains=True, has_ranks=True),
    "precision": _Weight(has_ranks=True),
}
NAMED_WEIGHTS = ("lambdarank", "ndcg-loss1", "ndcg-loss2", "ndcg-loss2++")  # names of losses: these with logistic pairs
_WITH_GAINS = tuple(name for name, weight in WEIGHTS.items() if weight.has_gains)
_OWN_PARAMETERS = {  # of some losses or weights: their default, and the names of these
    "sigma": ("loss", 1.0, tuple(name for name, kind in KINDS.items() if kind.parameter == "sigma")),
    "width": ("loss", 1.0, ("smoothed-hinge",)),
    "mu": ("weight", 10.0, ("ndcg-loss2++",)),
    "gain": ("weight", "exponential", _WITH_GAINS),
}
_EVEN_CURVATURE = ("logistic", "squared")  # that of a margin and of its negative are equal
_HINGES = ("squared-hinge", "smoothed-hinge")  # the active pairs, which alone have curvature, are found once


class Pairwise(CompiledCurvature):
    """A sum over pairs of documents of a query: a loss of the margin times a weight.

    With ``m = f_i - f_j``, the margin by which a document i is above a document j with a lower label, the loss of a
    pair is

    - ``"hinge"``: ``max(0, 1 - m)`` (RankSVM). It has kinks: at a margin of exactly 1 the slope is 0. It has no
      curvature; with uniform weights, ``smoothed`` returns a loss that has.
    - ``"smoothed-hinge"``: with ``z = 1 - m``, 0 for z below 0, ``z² / (2 width)`` up to ``width``, ``z - width/2``
      beyond. Where the second derivative jumps, products use the parabola's side at ``1 - width`` and the flat side
      at 1.
    - ``"squared-hinge"``: ``max(0, 1 - m)²``. Where the second derivative jumps, at a margin of 1, products use the
      flat side.
    - ``"logistic"``: ``log(1 + e^(-sigma m))`` (RankNet).
    - ``"exponential"``: ``e^-m`` (RankBoost). A margin below -600 counts as about -600, so that value and slope stay
      finite (around 1e260).
    - ``"psi"``: ``min(1, max(0, 1 - m))``, a hinge loss of at most 1, also called the ramp loss; not convex. At the
      kinks the slope is that of the right-hand side: 0 at a margin of 1, and not 0 at a margin of 0, so that a fit can
      start with equal scores.
    - ``"soft-zero-one"``: ``1 / (1 + e^(sigma m))``, a smooth number of misordered pairs; not convex. Its diagonal is
      the positive estimate ``sigma² p (1 - p)``, p being the loss.
    - ``"squared"``: ``(m - (y_i - y_j))²`` (rax's pairwise MSE). With ``weight="uniform"`` pairs with equal labels
      count as well.

    The weight of a pair, with gains G and ``D(r) = 1 / log2(1 + r)``, the discount of the rank r by the current scores,
    is

    - ``"uniform"``: 1.
    - ``"label-difference"``: ``y_i - y_j``.
    - ``"gain-difference"``: ``|G_i - G_j|``.
    - ``"label"``: ``y_i``, over all ordered pairs, with any label of j. The loss is linear in the labels, which
      may be any real numbers. It is convex if none is negative; with ``"logistic"`` also if no two documents of a query
      have labels that sum to less than 0.
    - ``"lambdarank"``: ``|G_i - G_j| |D(r_i) - D(r_j)|`` (burges2006).
    - ``"ndcg-loss1"``: ``G_i D(r_i)``, over all ordered pairs (LambdaLoss, wang2018, as the next two).
    - ``"ndcg-loss2"``: ``|G_i - G_j| δ`` with ``δ = |D(d) - D(d + 1)|`` and ``d = |r_i - r_j|``.
    - ``"ndcg-loss2++"``: ``|G_i - G_j| (|D(r_i) - D(r_j)| + mu δ)``.
    - ``"precision"``: 1 if exactly one of the two is among the first k, else 0.

    Weights that depend on ranks, on a cut ``k`` or on ``score_norm`` are treated as constants (``has_moving_weights``):
    the slope is the derivative of the loss with its weights held fixed, which ``held_at`` returns.
    For tied scores a weight is its expectation over all orders of the tied documents, so that the order of rows has no
    effect. ``"lambdarank"`` with ``k`` and ``score_norm=True`` is LightGBM's objective of that name, and XGBoost's
    ``rank:ndcg`` with its pair method ``topk``, if no scores tie.

    No list of pairs is built, and memory is O(n). With uniform weights, a query of n documents costs O(n log n) with
    the hinges and psi and O(n) with ``"exponential"`` and ``"squared"``. The hinge with ``"label"`` costs O(n log n).
    All other combinations cost O(n²), and O(n k) with a cut.

    Parameters
    ----------
    loss : str, default="logistic"
        The loss of a pair, as above.
    weight : str, default="uniform"
        The weight of a pair, as above.
    k : int, default=None
        Cut: only pairs with at least one document among the first k count. Discounts are not cut. The ideal DCG is that
        of the first k. None means no cut, as does a k of at least the length of the list.
    sigma : float, default=1.0
        Factor of the margin in ``"logistic"`` and ``"soft-zero-one"``, above 0.
    width : float, default=1.0
        Width of the parabola of ``"smoothed-hinge"``, above 0.
    mu : float, default=10.0
        Factor of δ in ``"ndcg-loss2++"``, at least 0.
    gain : {"exponential", "linear"}, array-like or callable, default="exponential"
        Gain of a label, for the weights with gains: ``2**label - 1``, the label, the gains of the labels 0, 1, 2, …, or
        a function of an array of labels.
    normalize : {"pairs", "all", "ideal", "none"}, default=None
        Divisor of the sum of a query: the number of its pairs, including those that ``k`` cuts off; the number of all
        pairs, ``n (n - 1) / 2``; its ideal DCG, for weights with gains; or 1. None means ``"ideal"`` for weights with
        gains, ``"pairs"`` for others. A query without pairs counts 0.
    score_norm : bool, default=False
        Whether weights are divided by ``0.01 + |f_i - f_j|`` unless all scores of the query are equal, and the query is
        then multiplied by ``log2(1 + S) / S``, S being twice the sum of the absolute slopes of its pairs: the norm of
        LightGBM and XGBoost.

    Examples
    --------
    >>> from plackett.losses import Pairwise
    >>> from plackett import Queries
    >>> data = Queries([[0.0]] * 3, y=[2, 1, 0])
    >>> value, slope = Pairwise("hinge", normalize="none").value_and_slope([3.0, 1.0, 0.25], data)
    >>> value, slope  # of the margins 2, 2.75 and 0.75 only the last is below 1
    (0.25, array([ 0., -1.,  1.]))
    >>> value, slope = Pairwise("logistic", normalize="none").value_and_slope([0.0, 0.0, 0.0], data)
    >>> round(value, 4), slope  # three pairs with margin 0: 3 log 2
    (2.0794, array([-1.,  0.,  1.]))
    >>> Pairwise(weight="lambdarank", k=2).value_and_slope([0.3, 0.2, 0.1], data)[1].round(3)
    array([-0.283,  0.079,  0.203])
    """

    _held: Any = None  # the compiled loss, if its weights are held

    def __init__(
        self,
        loss: str = "logistic",
        weight: str = "uniform",
        k: int | None = None,
        *,
        sigma: float = 1.0,
        width: float = 1.0,
        mu: float = 10.0,
        gain: Any = "exponential",
        normalize: str | None = None,
        score_norm: bool = False,
    ):
        self.loss, self.weight, self.k = loss, weight, k
        self.sigma, self.width, self.mu, self.gain = sigma, width, mu, gain
        self.normalize, self.score_norm = normalize, score_norm

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name for users: that of the pair loss, or of its weight; ``"pairwise"`` for combinations without one."""
        if self.weight == "uniform" and self.loss != "squared":
            return self.loss
        return self.weight if self.loss == "logistic" and self.weight in NAMED_WEIGHTS else "pairwise"

    @property
    def _kind(self) -> _Kind:
        check_choice(self.loss, "loss", tuple(KINDS))
        return KINDS[self.loss]

    @property
    def _weight(self) -> _Weight:
        check_choice(self.weight, "weight", tuple(WEIGHTS))
        return WEIGHTS[self.weight]

    @property
    def _has_equal_labels(self) -> bool:
        """Whether pairs of documents with equal labels count."""
        return self._weight.is_one_sided or (self.loss == "squared" and self.weight == "uniform")

    @property
    def is_convex(self) -> bool:  # type: ignore[override]
        return self._kind.is_convex

    @property
    def is_smooth(self) -> bool:  # type: ignore[override]
        return self._kind.is_smooth

    @property
    def is_linear_in_labels(self) -> bool:  # type: ignore[override]
        if self.loss == "squared":
            return self.is_uniform  # up to a constant
        has_linear_gains = isinstance(self.gain, str) and self.gain == "linear" and self._divisor != "ideal"
        is_linear = self.weight == "label" or (self.weight == "ndcg-loss1" and has_linear_gains)
        return is_linear and not self.score_norm

    def is_convex_on(self, lists: QueryLists) -> bool:
        if self.loss in _EVEN_CURVATURE and self.weight == "label" and self.k is None and not self.score_norm:
            # both weights of a pair have the same factor in its curvature
            ranked, ends = lists.labels[lists.order], lists.indptr[1:][np.diff(lists.indptr) > 1]
            return bool((ranked[ends - 1] + ranked[ends - 2] >= 0.0).all())
        return self.is_convex and not self._has_negative_weights(lists)

    def is_bounded_on(self, lists: QueryLists) -> bool:
        return self.loss in ("psi", "soft-zero-one") or not self._has_negative_weights(lists)

    def _has_negative_weights(self, lists: QueryLists) -> bool:
        weight, sizes = self._weight, np.diff(lists.indptr)
        if not weight.is_one_sided:
            return False
        values = self._gains(lists) if weight.has_gains else lists.labels
        return bool((values[np.repeat(sizes > 1, sizes)] < 0.0).any())  # a document alone has no pairs

    @property
    def is_uniform(self) -> bool:
        """Whether all pairs that count have the same weight for any scores."""
        return self.weight == "uniform" and self.k is None and not self.score_norm

    @property
    def has_moving_weights(self) -> bool:  # type: ignore[override]
        moves = self._weight.has_ranks or self.k is not None or bool(self.score_norm)
        return moves and self._held is None

    @property
    def has_curvature_product(self) -> bool:
        return self._kind.is_curved

    @property
    def has_positive_diagonal(self) -> bool:
        return self._kind.has_diagonal

    @property
    def has_smoothing(self) -> bool:
        return self.loss == "hinge" and self.is_uniform and super().has_smoothing

    def check_labels(self, lists: QueryLists) -> None:
        check_choice(self.loss, "loss", tuple(KINDS))
        weight = self._weight
        for name, (of, default, users) in _OWN_PARAMETERS.items():
            value = getattr(self, name)
            if getattr(self, of) not in users and not (np.ndim(value) == 0 and value == default):
                self._refuse(name, of, users)
        check_number(self.sigma, "sigma", above=0)
        check_number(self.width, "width", above=0)
        check_number(self.mu, "mu", least=0)
        if self.normalize is not None:
            check_choice(self.normalize, "normalize", (*NORMALIZERS, "ideal"))
        if self.normalize == "ideal" and not weight.has_gains:
            self._refuse("normalize", "weight", _WITH_GAINS)
        check_choice(self.score_norm, "score_norm", (False, True))
        if self.k is None and self.weight == "precision":
            raise ValueError('weight="precision" needs a cut: k=10 counts the pairs across rank 10.')
        if self.k is not None:
            check_positive_int(self.k, "k")
        if weight.has_gains:
            self._gains(lists)

    def _refuse(self, name: str, of: str, users: tuple[str, ...]) -> None:
        """Raise for a parameter that the loss or the weight does not use."""
        known, value = ", ".join(repr(user) for user in users), plain(getattr(self, name))
        raise ValueError(f"{name}={value!r} has no meaning with {of}={getattr(self, of)!r}, only with {of}={known}.")

    def native(self, lists: QueryLists) -> Any:
        if self._held is not None:
            return self._held
        if self.loss == "smoothed-hinge" and self.is_uniform:
            return self._compiled(lists)  # not cached: solvers use many widths
        return super().native(lists)

    def _compiled(self, lists: QueryLists) -> Any:
        plan, weights = native_plan(lists), self.query_weights(lists)
        match self.loss if self.is_uniform else None:
            case "hinge":
                return _native.losses.hinge(plan, weights)
            case "smoothed-hinge":
                return _native.losses.bend(plan, weights / self.width, self.width)
            case "squared-hinge":
                return _native.losses.squared_hinge(plan, 2.0 * weights)  # the kernel sums z²/2
            case "logistic":
                return _native.losses.logistic(plan, weights, self.sigma)
            case "exponential":
                return _native.losses.exponential(lists.order, lists.indptr, *lists.levels, weights)
            case "psi":
                return _native.losses.ramp(plan, weights, 1.0)
            case "squared":
                return _native.losses.squared_pairs(lists.indptr, lists.labels, weights)
        labels = lists.labels[lists.order]
        if self.loss == "hinge" and self.weight == "label" and not self.has_moving_weights:
            return _native.losses.label_hinge(lists.order, lists.indptr, labels, weights)
        gains = self._gains(lists)[lists.order] if self._weight.has_gains else labels
        return _native.losses.weighted_pairs(
            plan, weights, labels, gains, discounts("log2", int(np.diff(lists.indptr).max(initial=0))),
            list(KINDS).index(self.loss), self.width if self.loss == "smoothed-hinge" else self.sigma,
            list(WEIGHTS).index(self.weight), self.k or 0, self.mu, self.score_norm,
        )  # fmt: skip

    def held_at(self, scores: np.ndarray, lists: QueryLists) -> Loss:
        if not self.has_moving_weights:
            return self
        held = copy.copy(self)
        held._held = _native.losses.held_at(self.native(lists), scores)
        return held

    def native_curvature(self, lists: QueryLists, scores: Callable[[], np.ndarray]) -> Any:
        if self.loss not in _HINGES or not self.is_uniform:
            return self.native(lists)
        plan, weights = native_plan(lists), self.query_weights(lists)
        if self.loss == "squared-hinge":
            return _native.losses.squared_hinge_curvature(plan, 2.0 * weights, scores())
        return _native.losses.bend_curvature(plan, weights / self.width, self.width, scores())

    def query_weights(self, lists: QueryLists) -> np.ndarray:
        """Return the number that the pairs of each query are multiplied by; 0 for queries without pairs."""
        key = (self._divisor, self._weight.is_one_sided, self._has_equal_labels)
        return lists.keep(("pair weights", *key), lambda: _query_weights(lists, *key))

    @property
    def _divisor(self) -> str:
        return self.normalize or ("ideal" if self._weight.has_gains else "pairs")

    def _gains(self, lists: QueryLists) -> np.ndarray:
        return gains_of(self.gain, lists, self.k, normalize=self._divisor == "ideal")

    def curvature_at(self, scores: np.ndarray, lists: QueryLists) -> CurvatureProduct:
        if self.loss not in _HINGES or not self.is_uniform:
            return super().curvature_at(scores, lists)
        found = self.native_curvature(lists, lambda: scores)

        def product(direction: np.ndarray) -> np.ndarray:
            out = np.empty(lists.n_docs)
            _native.losses.multiply(found, direction, direction, out)  # the active pairs replace the scores
            return out

        return product

    def values_and_diagonal_at(
        self, scores: np.ndarray, lists: QueryLists, slope: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        self._require(self.has_positive_diagonal, "curvature_diagonal")
        values, diagonal = np.empty(lists.n_queries), np.empty(lists.n_docs)
        _native.losses.evaluate_with_diagonal(self.native(lists), scores, slope, diagonal, values)
        return values, diagonal

    def smoothed(self, width: float) -> Loss:
        """Return the hinge loss with a parabola of this width for its kink: lower by at most width/2 per pair."""
        if self.loss != "hinge" or not self.is_uniform:
            raise self._lacks("smoothed")
        return Pairwise("smoothed-hinge", width=width, normalize=self.normalize)

    def dual_sums(self, scores: np.ndarray, lists: QueryLists, width: float) -> np.ndarray:
        """Return the sum over each query's pairs of ``c * min(1, max(0, 1 - m) / width)``, c their weight.

        These are the dual variables of the slope of ``smoothed(width)`` of the hinge loss. Their sum minus the
        conjugate of the penalty is a lower bound of the minimum.
        """
        ramp = _native.losses.ramp(native_plan(lists), self.query_weights(lists) / width, width)
        return evaluate(ramp, scores, lists, np.empty(lists.n_docs))


def _query_weights(lists: QueryLists, divisor: str, is_ordered: bool, has_equal_labels: bool) -> np.ndarray:
    n_docs = np.diff(lists.indptr).astype(np.float64)
    every = 0.5 * n_docs * (n_docs - 1.0)
    counts = every * (1.0 + is_ordered) if has_equal_labels else pair_counts(lists)
    divisors = {"pairs": counts, "all": every}.get(divisor, np.ones_like(counts))
    return np.divide(1.0, divisors, out=np.zeros_like(counts), where=counts > 0)
