"""Gains of documents, for losses that are related to NDCG."""

from __future__ import annotations

from typing import Any

import numpy as np

from plackett import _native
from plackett._arrays import part_of_place
from plackett.data.queries import QueryLists
from plackett.losses.base import CompiledLoss, hashable
from plackett.metrics.discounts import discounts
from plackett.metrics.graded import GAINS, LARGEST_EXPONENT
from plackett.validation import check_choice


class GainLoss(CompiledLoss):
    """A loss with the parameters ``gain`` and ``normalize``, and a cut-off ``k`` of the ideal DCG if it has one."""

    gain: Any
    normalize: bool
    k: int | None = None

    @property
    def is_linear_in_labels(self) -> bool:  # type: ignore[override]
        return isinstance(self.gain, str) and self.gain == "linear" and not self.normalize

    def gains(self, lists: QueryLists) -> np.ndarray:
        """Return the gain of each document, cached on the lists."""
        return gains_of(self.gain, lists, self.k, normalize=self.normalize)


def gains_of(gain: Any, lists: QueryLists, k: int | None = None, *, normalize: bool = True) -> np.ndarray:
    """Return the gain of each document, with ``normalize`` divided by the ideal DCG of its query; cached on the lists.

    A label of 0 or less has gain 0, and a query without gains keeps 0, as in the metrics. The exception is
    ``gain="linear"`` with ``normalize=False``: labels as they are, of any sign. ``gain`` is as in ``Pairwise``, and
    ``k`` the cut-off of the ideal DCG.
    """
    check_choice(normalize, "normalize", (False, True))
    key = ("gains", hashable(gain), k if normalize else None, bool(normalize))
    return lists.keep(key, lambda: _ideal_shares(gain, lists, k) if normalize else _gains(gain, lists))


def _gains(gain: Any, lists: QueryLists) -> np.ndarray:
    if callable(gain):
        return _checked(gain(lists.labels), lists, "gain(labels)")
    if not isinstance(gain, str):
        return _from_table(gain, lists)
    check_choice(gain, "gain", GAINS)
    if gain == "linear":
        return lists.labels
    if lists.labels.max(initial=0.0) > LARGEST_EXPONENT:
        raise ValueError(
            f"labels go up to {lists.labels.max():g}, and the gain 2**label overflows above {LARGEST_EXPONENT}. Divide "
            'the gains by the ideal DCG (normalize="ideal" of Pairwise, normalize=True of other losses), or set '
            'gain="linear".'
        )
    labels = np.maximum(lists.labels, 0.0)
    return np.where(labels < 1.0, np.expm1(labels * np.log(2.0)), np.exp2(labels) - 1.0)  # exact for whole labels


def _from_table(gain: Any, lists: QueryLists) -> np.ndarray:
    table = np.asarray(gain, dtype=np.float64)
    if table.ndim != 1 or not np.isfinite(table).all():
        raise ValueError(f"gain has shape {table.shape}; pass one finite number per label, from 0 on.")
    places = lists.labels.astype(np.int64)
    is_known = (places == lists.labels) & (places >= 0) & (places < table.size)
    if not is_known.all():
        row = int(np.argmin(is_known))
        raise ValueError(
            f"gain has the gains of the labels 0 to {table.size - 1}, but the label in row {row} is "
            f"{lists.labels[row]:g}. Pass more gains, or a function of the labels."
        )
    return table[places]


def _checked(gains: Any, lists: QueryLists, name: str) -> np.ndarray:
    gains = np.array(gains, dtype=np.float64)
    if gains.shape != (lists.n_docs,) or not np.isfinite(gains).all():
        raise ValueError(f"{name} has shape {gains.shape}; it must be one finite number per label: ({lists.n_docs},).")
    return gains


def _ideal_shares(gain: Any, lists: QueryLists, k: int | None) -> np.ndarray:
    """Return gains divided by the ideal DCG; named gains are divided by the largest first, so that none overflows."""
    sizes = np.diff(lists.indptr)
    queries = part_of_place(lists.indptr)
    if isinstance(gain, str):
        check_choice(gain, "gain", GAINS)
        order, ranked = lists.order, np.zeros(lists.n_docs)
        if lists.n_queries:
            _native.metrics.relative_gains(
                lists.labels[order], lists.indptr, gain == "linear", 0, lists.n_queries, ranked
            )
    else:
        gains = _gains(gain, lists)
        if gains.min(initial=0.0) < 0.0:
            row = int(np.argmin(gains))
            raise ValueError(
                f"the gain of the label {lists.labels[row]:g} in row {row} is {gains[row]:g}, but gains that are "
                'divided by the ideal DCG must be at least 0. Set normalize="none" of Pairwise, normalize=False of '
                "other losses, or pass other gains."
            )
        order = np.lexsort((-gains, queries))
        ranked = gains[order]
    places = np.arange(lists.n_docs) - lists.indptr[queries]
    weights = discounts("log2", int(sizes.max(initial=0)))[places]
    weights[places >= (lists.n_docs if k is None else k)] = 0.0
    ideal = np.bincount(queries, weights=ranked * weights, minlength=lists.n_queries)[queries]
    shares = np.empty(lists.n_docs)
    shares[order] = np.divide(ranked, ideal, out=np.zeros(lists.n_docs), where=ideal > 0.0)
    return shares
