"""Losses as PyTorch operations, for scores on an accelerator.

Each device form returns the loss as one term per document, whose sum over a query is the query's loss, and its
derivative with respect to the scores. It follows the formulas of the compiled kernels. Losses of all pairs of
documents, and those whose kernels need order statistics, are matrices of pairs here. A loss without a device form is
computed on the host. Values that depend on the labels alone are computed once per lists, device and precision. On CUDA,
ListMLE and p-ListMLE run as one Triton kernel if possible.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable
from types import ModuleType
from typing import Any

import numpy as np
import torch

from plackett._lazy import importing
from plackett.data.queries import QueryLists
from plackett.losses import (
    cost_sensitive,
    listmle,
    listwise,
    neural_sort,
    pairwise,
    pointwise,
    smooth_ranks,
    softmax,
    transforms,
)
from plackett.losses.backends import pairs_of_lists, weighted_pairs
from plackett.losses.backends.pairs_of_lists import Batch
from plackett.losses.backends.segments import NOTHING, Chains, RankedLevels, Runs, to_device, to_index
from plackett.losses.base import Loss, hashable

TermsAndSlope = tuple[torch.Tensor, torch.Tensor]
DeviceForm = Callable[[Any, torch.Tensor, QueryLists], TermsAndSlope]

_FORMS: dict[type[Loss], DeviceForm] = {}
_TRANSFORMS = (transforms.Exponential, transforms.Sigmoid, transforms.Probit, transforms.Linear)


def device_form(loss: type[Loss]) -> Callable[[DeviceForm], DeviceForm]:
    """Register a function of ``(loss, scores, lists)`` as the device form of a class of losses.

    Derived classes do not inherit it: they may compute something else.
    """

    def register(form: DeviceForm) -> DeviceForm:
        _FORMS[loss] = form
        return form

    return register


def has_terms(loss: Loss) -> bool:
    """Return whether the loss, with its parameters, has a device form."""
    if type(loss) not in _FORMS:
        return False
    if isinstance(loss, pairwise.Pairwise):
        return loss._held is None
    return not hasattr(loss, "transform") or type(transforms.get_transform(loss.transform)) in _TRANSFORMS


def value_and_slope(
    loss: Any, scores: torch.Tensor, lists: QueryLists, weights: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the loss summed over the queries, times their weights, and the slope of each score."""
    by_query = _fused_values_and_slope(loss, scores, lists)
    costs, slope = terms_and_slope(loss, scores, lists) if by_query is None else by_query
    if weights is None:
        return costs.sum(), slope
    of_rows = _runs_of_queries(lists, scores).spread(weights)
    return (costs * (of_rows if by_query is None else weights)).sum(), slope * of_rows


def terms_and_slope(loss: Any, scores: torch.Tensor, lists: QueryLists) -> TermsAndSlope:
    """Return one term per document, in any order within its query, and the slope of each score.

    ``scores`` are float32 or float64. They are not checked, which would wait for the device: scores that are not finite
    give terms that are not finite.
    """
    if lists.n_docs == 0:
        return scores.clone(), scores.clone()
    return _FORMS[type(loss)](loss, scores, lists)


# ---- ListMLE and p-ListMLE ---------------------------------------------------------------------------------------


@device_form(listmle.PListMLE)
def _plackett(loss: Any, scores: torch.Tensor, lists: QueryLists) -> TermsAndSlope:
    """The term of a document is w (log C − f), as in ``_native/losses/listwise/listmle.hpp``.

    C and 1/C are logarithms here.
    """
    labels = loss._levels(lists)
    key = (loss.name, getattr(loss, "position_weights", None), getattr(loss, "base", None), loss.is_random)
    weights = _kept(lists, scores, (*key, "weights"), lambda: np.append(labels.weights, 0.0))
    if loss.is_random:  # a newly drawn order, in which every position is a level
        chains = _kept_index(lists, scores, "places", lambda device: Chains(lists.indptr, device))
        levels = RankedLevels(labels.order, labels.bounds, chains, scores.device)
        weights_of_rows = levels.for_rows(weights)
    else:
        levels = _levels(lists, scores)
        weights_of_rows = _kept(lists, scores, (*key, "rows"), lambda: levels.for_rows(weights))
    ranked = levels.ranked(scores)
    own = levels.runs.log_sums(ranked)
    log_sums = levels.chains.from_on(own)
    terms = levels.for_rows(log_sums).sub_(scores).mul_(weights_of_rows)
    if loss._is_efron:
        shift = _kept(lists, scores, (*key, "shifts"), lambda: _shares_of_places(labels.bounds))
        rest = 1.0 - shift * levels.runs.spread((own - log_sums).exp())
        masses = levels.runs.sums(1.0 / rest) * weights
        less = levels.runs.sums(shift / rest) * weights
        terms += levels.to_rows(rest.log()) * weights_of_rows
        pulls = masses.log() - log_sums
    else:
        masses = _kept(lists, scores, (*key, "masses"), lambda: _logs(_sizes(labels.bounds) * labels.weights))
        pulls = masses - log_sums
    pulls[-1:] = NOTHING  # log C is −∞ there, too
    slope = levels.for_rows(levels.chains.up_to(pulls)).add_(scores).exp_()
    if loss._is_efron:
        slope -= levels.for_rows(less) * (scores - levels.for_rows(log_sums)).exp_()
    return terms, slope.sub_(weights_of_rows)


@device_form(listmle.ListMLE)
def _listmle(loss: listmle.ListMLE, scores: torch.Tensor, lists: QueryLists) -> TermsAndSlope:
    if loss._is_exp:
        return _plackett(loss, scores, lists)
    logs, inner = _log_and_slope(transforms.get_transform(loss.transform), scores)
    terms, slope = _plackett(loss, logs, lists)
    return terms, slope * inner


def _shares_of_places(bounds: np.ndarray) -> np.ndarray:
    """Return r/d of each position: the number of its level before it, over the size of the level."""
    sizes = np.diff(bounds)
    return (np.arange(bounds[-1]) - np.repeat(bounds[:-1], sizes)) / np.repeat(sizes, sizes)


# ---- ListNet, softmax and RankCosine -----------------------------------------------------------------------------


@device_form(listwise.ListNet)
def _listnet(loss: listwise.ListNet, scores: torch.Tensor, lists: QueryLists) -> TermsAndSlope:
    transform = transforms.get_transform(loss.transform)
    target = _kept(lists, scores, ("ListNet", transform, "target"), lambda: loss._target(lists))
    if loss._is_exp:
        return _cross_entropy(scores, lists, target, 1.0)
    logs, inner = _log_and_slope(transform, scores)
    terms, slope = _cross_entropy(logs, lists, target, 1.0)
    return terms, slope * inner


@device_form(softmax.Softmax)
def _softmax(loss: softmax.Softmax, scores: torch.Tensor, lists: QueryLists) -> TermsAndSlope:
    target = _kept(lists, scores, "labels", lambda: lists.labels)
    total = _kept(lists, scores, "sums of labels", lambda: softmax.sums_for_rows(lists.labels, lists))
    return _cross_entropy(scores, lists, target, total)


@device_form(softmax.XENDCG)
def _xe_ndcg(loss: softmax.XENDCG, scores: torch.Tensor, lists: QueryLists) -> TermsAndSlope:
    return _cross_entropy(scores, lists, _kept(lists, scores, "XE-NDCG", lambda: loss.target(lists)), 1.0)


@device_form(softmax.Poly1Softmax)
def _poly1_softmax(loss: softmax.Poly1Softmax, scores: torch.Tensor, lists: QueryLists) -> TermsAndSlope:
    target = _kept(lists, scores, "labels from 0", lambda: _from_0(lists))
    total = _kept(lists, scores, "sums of labels from 0", lambda: softmax.sums_for_rows(_from_0(lists), lists))
    chances = _kept(lists, scores, "shares of labels", lambda: softmax.shares_of_labels(lists))
    terms, slope = _cross_entropy(scores, lists, target, total)
    runs = _runs_of_queries(lists, scores)
    share = (scores - runs.spread(runs.log_sums(scores))).exp_()
    mean = runs.spread(runs.sums(chances * share))
    terms += loss.epsilon * chances * (1.0 - share)
    return terms, slope - loss.epsilon * share * (chances - mean)


def _from_0(lists: QueryLists) -> np.ndarray:
    return np.maximum(lists.labels, 0.0)


@device_form(softmax.UniqueSoftmax)
def _unique_softmax(loss: softmax.UniqueSoftmax, scores: torch.Tensor, lists: QueryLists) -> TermsAndSlope:
    """Names are those of ``_native/losses/listwise/unique_softmax.hpp``; ``below`` and ``pull`` are logarithms here."""
    key = ("unique softmax", hashable(loss.gain), bool(loss.normalize))
    gains = _kept(lists, scores, key, lambda: loss.gains(lists)[lists.order])
    levels = _levels(lists, scores)
    chains, runs = levels.chains, levels.runs
    ranked = levels.ranked(scores)
    below = chains.of_after(chains.from_on(runs.log_sums(ranked)))
    excess = runs.spread(below) - ranked
    log_rest = torch.nn.functional.logsigmoid(excess)
    mass = runs.log_sums(gains.log() + log_rest) - below
    mass = torch.where(below == NOTHING, NOTHING, mass)
    pull = chains.of_before(chains.up_to(mass))
    slope = (runs.spread(pull) + ranked).exp_() - gains * log_rest.exp()
    return gains * torch.nn.functional.softplus(excess, threshold=50.0), levels.to_rows(slope)


def _cross_entropy(scores: torch.Tensor, lists: QueryLists, target: torch.Tensor, total: Any) -> TermsAndSlope:
    """The term of a document is its target times the negative logarithm of its share; targets sum to ``total``."""
    runs = _runs_of_queries(lists, scores)
    cost = runs.spread(runs.log_sums(scores)) - scores
    return cost * target, (-cost).exp_() * total - target


@device_form(listwise.RankCosine)
def _rank_cosine(loss: listwise.RankCosine, scores: torch.Tensor, lists: QueryLists) -> TermsAndSlope:
    """The term of a document is a quarter of its squared distance from the target, both of norm 1 in their query."""
    transform = transforms.get_transform(loss.transform)
    runs = _runs_of_queries(lists, scores)
    target = _kept(lists, scores, ("RankCosine", transform, "target"), lambda: loss._target(lists))
    flat = _kept(lists, scores, ("RankCosine", transform, "flat"), lambda: _flat_costs(loss._target(lists), lists))
    sizes = _kept(lists, scores, "half over size", lambda: _half_over_size(lists))
    if isinstance(transform, transforms.Linear):
        values = transform.a * scores + transform.b
        largest = runs.largest(values.abs())
        least = 1e-300 if scores.dtype == torch.float64 else 1e-37  # a vector of smaller norm counts as zero
        largest = torch.where(largest < least, 0.0, largest)
        values = values / runs.spread(torch.where(largest > 0.0, largest, 1.0))
        values = torch.where(runs.spread(largest) > 0.0, values, 0.0)
    else:
        logs, growth = _log_and_slope(transform, scores)
        values = (logs - runs.spread(runs.largest(logs))).exp_()
    length = runs.sums(values * values).sqrt_()
    unit = values / runs.spread(torch.where(length > 0.0, length, 1.0))
    if isinstance(transform, transforms.Linear):
        is_long = length > 0.0
        inner = runs.spread(torch.where(is_long, transform.a / torch.where(is_long, largest * length, 1.0), 0.0))
    else:
        inner = growth * unit
    agreement = runs.spread(runs.sums(unit * target))
    is_counted = (runs.spread(length) > 0.0) & (flat == 0.0)
    terms = torch.where(is_counted, 0.25 * (unit - target) ** 2, sizes)
    return terms, torch.where(is_counted, 0.5 * inner * (agreement * unit - target), 0.0)


def _half_over_size(lists: QueryLists) -> np.ndarray:
    """Return ½ over the size of each row's query, and 0 for single documents: the terms of scores of norm 0."""
    sizes = np.diff(lists.indptr)
    return np.repeat(np.where(sizes > 1, 0.5 / np.maximum(sizes, 1), 0.0), sizes)


def _flat_costs(target: np.ndarray, lists: QueryLists) -> np.ndarray:
    """Return 1 for the rows of queries with a target of norm 0, or with one document; else 0."""
    sizes = np.repeat(np.diff(lists.indptr), np.diff(lists.indptr))
    return ((softmax.sums_for_rows(target * target, lists) == 0.0) | (sizes < 2)).astype(np.float64)


# ---- cost-sensitive ListMLE --------------------------------------------------------------------------------------


@device_form(cost_sensitive.CSListMLE)
def _cost_sensitive(loss: cost_sensitive.CSListMLE, scores: torch.Tensor, lists: QueryLists) -> TermsAndSlope:
    """Names are those of ``_native/losses/listwise/cost_sensitive.hpp``; three are logarithms here.

    They are ``mean``, ``rivalry`` and ``pull``.

    The weight of a pair is A_l + A_m, two sums over levels, or A_l − A_m, a sum over the steps between both levels:
    neither needs a subtraction.
    """
    key = ("CSListMLE", loss.k if loss.weights == "ndcg" else None, loss.weights)
    weights = loss._weights(lists)
    levels = _kept_index(
        lists, scores, (*key, "levels"),
        lambda device: RankedLevels(lists.order, weights.bounds, Chains(weights.level_indptr, device), device),
    )  # fmt: skip
    is_sum = loss.weights == "ndcg"
    strength = _kept(lists, scores, (*key, "strength"), lambda: _logs(weights.strength if is_sum else _steps(weights)))
    norm = _kept(lists, scores, (*key, "norm"), lambda: np.append(weights.norm, 0.0))
    log_norm = _kept(
        lists, scores, (*key, "log"), lambda: np.log(np.append(np.where(weights.norm > 0.0, weights.norm, 1.0), 1.0))
    )
    scale = _kept(lists, scores, (*key, "scale"), lambda: np.repeat(weights.scale, np.diff(lists.indptr)))
    chains, runs = levels.chains, levels.runs

    ranked = levels.ranked(scores)
    own = runs.log_sums(ranked)
    below = chains.of_after(chains.from_on(own))
    if is_sum:
        inner = torch.logaddexp(strength + below, chains.of_after(chains.from_on(strength + own)))
    else:
        inner = chains.from_on(strength + below)
    cost = torch.nn.functional.softplus(runs.spread(inner - log_norm) - ranked, threshold=50.0)
    rivalry = runs.log_sums(-(ranked + cost))
    above = chains.up_to(rivalry)
    if is_sum:
        pull = torch.logaddexp(strength + chains.of_before(above), chains.of_before(chains.up_to(strength + rivalry)))
    else:
        pull = chains.of_before(chains.up_to(strength + above))
    norms = runs.spread(norm) * scale
    slope = scale * (runs.spread(pull) + ranked).exp_() + norms * torch.expm1(-cost)  # 1 − e^−cost: not chosen
    return norms * cost, levels.to_rows(slope)


def _steps(weights: Any) -> np.ndarray:
    """Return by how much the strength of each level exceeds that of the next in its query; 0 for the last."""
    steps = np.append(weights.strength[:-1] - weights.strength[1:], 0.0)[: weights.strength.size]
    ends = weights.level_indptr[1:][np.diff(weights.level_indptr) > 0]
    steps[ends - 1] = 0.0
    return steps


# ---- pairs and single documents ----------------------------------------------------------------------------------


@device_form(pairwise.Pairwise)
def _pairwise(loss: pairwise.Pairwise, scores: torch.Tensor, lists: QueryLists) -> TermsAndSlope:
    if loss.loss == "exponential" and loss.is_uniform:
        return _exponential(loss, scores, lists)
    labels = _kept(lists, scores, "labels", lambda: lists.labels)
    gains = labels
    if loss._weight.has_gains:
        of_gains = ("gains", hashable(loss.gain), loss.k, loss._divisor == "ideal")
        gains = _kept(lists, scores, of_gains, lambda: loss._gains(lists))
    key = ("pair factors", loss.weight, loss._divisor, loss._has_equal_labels)
    factors = _kept(lists, scores, key, lambda: np.repeat(loss.query_weights(lists), np.diff(lists.indptr)))
    batches = pairs_of_lists.in_batches(lists, scores.device)
    return batches.map(  # type: ignore[return-value]
        lambda batch: weighted_pairs.terms_and_slope(
            loss, batch, *(batch.padded(each) for each in (scores, labels, gains, factors))
        )
    )


def _exponential(loss: pairwise.Pairwise, scores: torch.Tensor, lists: QueryLists) -> TermsAndSlope:
    """The term of a document is e^f times the sum of e^−f over the better ones."""
    key = ("pair weights", loss.normalize, "rows")
    weight = _kept(lists, scores, key, lambda: np.repeat(loss.query_weights(lists), np.diff(lists.indptr)))
    levels = _levels(lists, scores)
    chains, runs = levels.chains, levels.runs
    ranked = levels.ranked(scores)
    better = chains.of_before(chains.up_to(runs.log_sums(-ranked)))
    least = chains.of_before(chains.largest_up_to(runs.largest(-ranked)))
    worse = chains.of_after(chains.from_on(runs.log_sums(ranked)))
    largest = chains.of_after(chains.largest_from_on(runs.largest(ranked)))
    terms = weight * _cut_exp(ranked, runs, better, least)
    return terms, levels.to_rows(terms - weight * _cut_exp(-ranked, runs, worse, largest))


def _cut_exp(values: torch.Tensor, runs: Runs, log_sums: torch.Tensor, largest: torch.Tensor) -> torch.Tensor:
    """Return exp(value + log-sum), with margins limited to −600, or −60 in float32."""
    farthest = 600.0 if values.dtype == torch.float64 else 60.0
    excess = torch.clamp(runs.spread(largest) + values - farthest, min=0.0)
    return (values + runs.spread(log_sums) - excess).exp_()


@device_form(pointwise.Squared)
def _squared(loss: pointwise.Squared, scores: torch.Tensor, lists: QueryLists) -> TermsAndSlope:
    slope = scores - _kept(lists, scores, "labels", lambda: lists.labels)
    return 0.5 * slope * slope, slope


@device_form(pointwise.BinaryCrossEntropy)
def _binary_cross_entropy(loss: pointwise.BinaryCrossEntropy, scores: torch.Tensor, lists: QueryLists) -> TermsAndSlope:
    labels = _kept(lists, scores, ("binary cross-entropy", loss.threshold), lambda: loss.targets(lists))
    cost = torch.nn.functional.softplus(-scores.abs()) + scores * torch.where(scores > 0.0, 1.0 - labels, -labels)
    return cost, torch.sigmoid(scores) - labels


# ---- approximations of metrics -----------------------------------------------------------------------------------


@device_form(smooth_ranks.ApproxNDCG)
def _approx_ndcg(loss: smooth_ranks.ApproxNDCG, scores: torch.Tensor, lists: QueryLists) -> TermsAndSlope:
    gains = _kept_gains(loss, scores, lists)

    def work(batch: Batch) -> TermsAndSlope:
        own = batch.padded(scores)
        ranks = pairs_of_lists.approximate_ranks(batch, own, loss.alpha)
        logs = torch.log1p(ranks)
        discounted = batch.padded(gains) * math.log(2.0) / logs
        by_rank = discounted / (logs * (1.0 + ranks))
        return -discounted, pairs_of_lists.pull_back(batch, own, loss.alpha, by_rank)

    return pairs_of_lists.in_batches(lists, scores.device).map(work)  # type: ignore[return-value]


@device_form(smooth_ranks.ApproxMRR)
def _approx_mrr(loss: smooth_ranks.ApproxMRR, scores: torch.Tensor, lists: QueryLists) -> TermsAndSlope:
    """The relevant documents with the highest score of a query have one rank, and equal shares of its term."""
    runs = _runs_of_queries(lists, scores)
    relevant = _kept_relevance(loss, scores, lists) > 0.0
    best = runs.spread(runs.largest(torch.where(relevant, scores, NOTHING)))
    is_best = relevant & (scores == best)
    gap = torch.where(best > NOTHING, loss.alpha * (scores - best), NOTHING)
    rank = runs.spread(runs.sums(torch.sigmoid(gap))) + 0.5
    share = 1.0 / runs.spread(runs.sums(is_best.to(scores.dtype))).clamp(min=1.0)
    pull = loss.alpha * torch.sigmoid(gap) * torch.sigmoid(-gap) / (rank * rank)
    pull = torch.where(is_best, 0.0, pull)
    total = runs.spread(runs.sums(pull))
    return torch.where(is_best, -share / rank, 0.0), torch.where(is_best, -share * total, pull)


@device_form(smooth_ranks.ApproxMAP)
def _approx_map(loss: smooth_ranks.ApproxMAP, scores: torch.Tensor, lists: QueryLists) -> TermsAndSlope:
    relevance = _kept_relevance(loss, scores, lists)

    def work(batch: Batch) -> TermsAndSlope:
        own, relevant = batch.padded(scores), batch.padded(relevance)
        ranks = pairs_of_lists.approximate_ranks(batch, own, loss.alpha)
        before, bends = pairs_of_lists.precisions(batch, ranks, relevant, loss.beta)
        share = relevant / relevant.sum(1, keepdim=True).clamp(min=1.0)
        terms = -share * before / ranks
        by_rank = -terms / ranks - share * bends
        return terms, pairs_of_lists.pull_back(batch, own, loss.alpha, by_rank)

    return pairs_of_lists.in_batches(lists, scores.device).map(work)  # type: ignore[return-value]


@device_form(neural_sort.NeuralNDCG)
def _neural_ndcg(loss: neural_sort.NeuralNDCG, scores: torch.Tensor, lists: QueryLists) -> TermsAndSlope:
    gains = _kept_gains(loss, scores, lists)
    batches = pairs_of_lists.in_batches(lists, scores.device)
    return batches.map(  # type: ignore[return-value]
        lambda batch: pairs_of_lists.neural_ndcg(loss, batch, batch.padded(scores), batch.padded(gains))
    )


def _kept_gains(loss: Any, scores: torch.Tensor, lists: QueryLists) -> torch.Tensor:
    key = ("gains", hashable(loss.gain), getattr(loss, "k", None), bool(loss.normalize))
    return _kept(lists, scores, key, lambda: loss.gains(lists))


def _kept_relevance(loss: Any, scores: torch.Tensor, lists: QueryLists) -> torch.Tensor:
    key = ("relevance", loss.relevant_from)
    return _kept(lists, scores, key, lambda: smooth_ranks.relevance(lists, loss.relevant_from))


# ---- one Triton kernel for ListMLE and p-ListMLE --------------------------------------------------------------------


def _fused_values_and_slope(
    loss: Any, scores: torch.Tensor, lists: QueryLists
) -> tuple[torch.Tensor, torch.Tensor] | None:
    """Return the loss of each query and the slope of each score; None if the Triton kernel does not apply.

    The device forms give the same numbers, with about thirty launches instead of one.
    """
    if type(loss) not in (listmle.ListMLE, listmle.PListMLE) or loss._is_efron or lists.n_docs == 0:
        return None
    kernel = _triton_kernel(scores.device) if scores.is_cuda else None
    longest = lists.keep("longest", lambda: int(np.diff(lists.indptr).max()))
    if kernel is None or longest > kernel.LONGEST:
        return None
    if isinstance(loss, listmle.ListMLE) and not loss._is_exp:
        logs, inner = _log_and_slope(transforms.get_transform(loss.transform), scores)
        values, slope = kernel.values_and_slope(logs, *_fused_labels(loss, logs, lists), longest)
        return values, slope * inner
    return kernel.values_and_slope(scores.contiguous(), *_fused_labels(loss, scores, lists), longest)


def _fused_labels(loss: Any, like: torch.Tensor, lists: QueryLists) -> tuple[torch.Tensor, ...]:
    """Return order, bounds, and the weight and mass of each position; drawn at every call if ties are random."""

    def make() -> tuple[torch.Tensor, ...]:
        labels = loss._levels(lists)
        sizes = np.diff(labels.bounds)
        masses = np.zeros(lists.n_docs)
        masses[labels.bounds[:-1]] = labels.weights * sizes
        numbers = (to_device(of, like.device, like.dtype) for of in (np.repeat(labels.weights, sizes), masses))
        return to_index(labels.order, like.device), to_device(labels.indptr, like.device), *numbers

    if loss.is_random:
        return make()
    return lists.keep(("kernel", loss, like.device, like.dtype), make)


@functools.cache
def _triton_kernel(device: torch.device) -> ModuleType | None:
    """Return the kernel, tried once on two documents: Triton may lack a compiler or not support the device."""
    try:
        with importing:
            from plackett.losses.backends import triton

        one = torch.ones(2, device=device)
        order, indptr = torch.tensor([0, 1], device=device), torch.tensor([0, 2], device=device)
        values, _ = triton.values_and_slope(one, order, indptr, one, one, longest=2)
        return triton if bool(values.isfinite().all()) else None
    except Exception:  # any failure falls back to the device forms
        return None


# ---- cached on the lists ------------------------------------------------------------------------------------------


def _kept(lists: QueryLists, like: torch.Tensor, key: Hashable, make: Callable[[], Any]) -> torch.Tensor:
    """Return cached numbers that depend on the labels, on the device and in the precision of ``like``."""

    def on_device() -> torch.Tensor:
        made = make()
        return made if isinstance(made, torch.Tensor) else to_device(made, like.device, like.dtype)

    return lists.keep(("torch", key, like.device, like.dtype), on_device)


def _kept_index(lists: QueryLists, like: torch.Tensor, key: Hashable, make: Callable[[torch.device], Any]) -> Any:
    return lists.keep(("torch", key, like.device), lambda: make(like.device))


def _levels(lists: QueryLists, like: torch.Tensor) -> RankedLevels:
    bounds, indptr = lists.levels
    return _kept_index(
        lists, like, "levels", lambda device: RankedLevels(lists.order, bounds, Chains(indptr, device), device)
    )


def _runs_of_queries(lists: QueryLists, like: torch.Tensor) -> Runs:
    return _kept_index(lists, like, "queries", lambda device: Runs(lists.indptr, device))


def _sizes(bounds: np.ndarray) -> np.ndarray:
    return np.diff(bounds).astype(np.float64)


def _logs(numbers: np.ndarray) -> np.ndarray:
    """Return logarithms of numbers per level, −∞ for 0, and a final −∞."""
    with np.errstate(divide="ignore"):
        return np.append(np.log(numbers), NOTHING)


def _log_and_slope(transform: transforms.Transform, scores: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return what ``Transform.log_and_slope`` returns, as operations of PyTorch."""
    if isinstance(transform, transforms.Exponential):
        return scores, torch.ones_like(scores)
    if isinstance(transform, transforms.Sigmoid):
        return torch.nn.functional.logsigmoid(scores), torch.sigmoid(-scores)
    if isinstance(transform, transforms.Probit):
        scores = scores.clamp(min=-1e150 if scores.dtype == torch.float64 else -1e15)
        return torch.special.log_ndtr(scores), math.sqrt(2.0 / math.pi) / torch.special.erfcx(scores * -math.sqrt(0.5))
    assert isinstance(transform, transforms.Linear)
    value = transform.a * scores + transform.b
    if not bool(value.min() > 0.0):
        transform.log_and_slope(scores.double().cpu().numpy())  # raises an error that says where and what to do
    return value.log(), transform.a / value
