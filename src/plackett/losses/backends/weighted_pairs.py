"""Pairwise losses of any pair loss and weight, as PyTorch operations on batches of lists.

A pair's weight by ranks is its expectation over the orders of tied documents. Tied documents take the positions from
``first`` to before ``last``, from 0, each with the same probability, so that expectations are means over one or two
ranges of positions: differences of cumulative sums. Only pairs with a position before ``k`` count.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from plackett.losses.backends.pairs_of_lists import Batch

Margins = Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]]

BY_RANKS = ("lambdarank", "ndcg-loss1", "ndcg-loss2", "ndcg-loss2++")


def terms_and_slope(
    loss: Any, batch: Batch, scores: torch.Tensor, labels: torch.Tensor, gains: torch.Tensor, factors: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the sum of each document's pairs in which it should be above, and the slope, of ``losses.Pairwise``.

    All arguments are padded; ``factors`` are the factors of the lists, for each document.
    """
    of_margin, places = _margin_loss(loss, scores.dtype), _places(loss, batch, scores)
    strength, terms, slope = (torch.zeros_like(scores) for _ in range(3))
    numbers = torch.arange(scores.shape[1], device=scores.device)
    are_equal = ((scores == scores[:, :1]) | ~batch.mask).all(1)[:, None, None]
    for some in batch.some_rows():
        is_pair = batch.mask[:, some, None] & batch.mask[:, None, :] & (numbers[some, None] != numbers)
        gaps = scores[:, some, None] - scores[:, None, :]
        rises = labels[:, some, None] - labels[:, None, :]
        norm = torch.where(are_equal, 1.0, 1.0 / (0.01 + gaps.abs())) if loss.score_norm else 1.0
        for side in (1.0, -1.0):  # as the upper document of the pair, and as the lower one
            weights = _weights(loss, places, some, rises * side, labels, gains, is_upper=side > 0.0)
            is_counted = is_pair if loss._has_equal_labels else is_pair & (rises * side > 0.0)
            weights = torch.where(is_counted, weights * norm, 0.0)
            if loss._has_equal_labels and not loss._weight.is_one_sided:
                weights = 0.5 * weights  # each pair is met in both orders
            costs, pulls = of_margin(loss.sigma * gaps * side - (rises * side if loss.loss == "squared" else 0.0))
            pulls = loss.sigma * weights * pulls
            slope[:, some] += side * pulls.sum(2)
            if side > 0.0:
                terms[:, some] = (weights * costs).sum(2)
                strength[:, some] = pulls.abs().sum(2)
    if loss.score_norm:
        total = 2.0 * strength.sum(1, keepdim=True)
        is_there = total > (1e-200 if total.dtype == torch.float64 else 1e-37)
        safe = torch.where(is_there, total, 1.0)
        factors = factors * torch.where(is_there, torch.log1p(safe) / safe, 1.0) / math.log(2.0)
    return terms * factors, slope * factors


# ---- losses of a margin ------------------------------------------------------------------------------------------


def _margin_loss(loss: Any, dtype: torch.dtype) -> Margins:
    """Return the function of margins that gives loss and derivative, as in ``_native/losses/pairwise/margins.hpp``."""
    match loss.loss:
        case "hinge":
            return lambda m: (torch.relu(1.0 - m), -(m < 1.0).to(m.dtype))
        case "smoothed-hinge":
            return lambda m: _bend(1.0 - m, loss.width)
        case "squared-hinge":
            return lambda m: (torch.relu(1.0 - m).square(), -2.0 * torch.relu(1.0 - m))
        case "logistic":
            return lambda m: (torch.nn.functional.softplus(-m, threshold=50.0), -torch.sigmoid(-m))
        case "exponential":
            least = -600.0 if dtype == torch.float64 else -60.0
            return lambda m: ((found := torch.exp(-m.clamp(min=least))), -found)
        case "psi":
            return lambda m: ((1.0 - m).clamp(0.0, 1.0), -((m >= 0.0) & (m < 1.0)).to(m.dtype))
        case "soft-zero-one":
            return lambda m: (torch.sigmoid(-m), -torch.sigmoid(m) * torch.sigmoid(-m))
        case _:
            return lambda m: (m * m, 2.0 * m)


def _bend(below: torch.Tensor, width: float) -> tuple[torch.Tensor, torch.Tensor]:
    inner = below.clamp(0.0, width)
    return inner * inner / (2.0 * width) + torch.relu(below - width), -inner / width


# ---- weights of a pair -------------------------------------------------------------------------------------------


class _Places(NamedTuple):
    """The positions that a document may take, those before the cut, and means of what weights are made of.

    The first four are numbers of positions; the others are for pairs of two tied documents or means of one document.
    """

    first: torch.Tensor
    last: torch.Tensor
    cut: torch.Tensor
    size: torch.Tensor
    share: torch.Tensor  # of the positions before the cut
    discount: torch.Tensor
    cut_discount: torch.Tensor  # over the positions before the cut; divided by all
    tied: dict[str, torch.Tensor]
    delta_sums: torch.Tensor | None


def _places(loss: Any, batch: Batch, scores: torch.Tensor) -> _Places | None:
    """Return the places of documents by their scores; None if weights do not depend on them."""
    if loss.k is None and loss.weight not in BY_RANKS:
        return None
    width, device = scores.shape[1], scores.device
    falling = (-scores).masked_fill(~batch.mask, torch.inf)
    ranked = falling.sort(dim=1).values
    first = torch.searchsorted(ranked, falling)
    last = torch.searchsorted(ranked, falling, right=True)
    first, last = (torch.where(batch.mask, places, other) for places, other in ((first, 0), (last, 1)))
    cut = last if loss.k is None else last.clamp(max=loss.k).maximum(first)
    size, before = last - first, cut - first

    numbers = torch.arange(width, device=device, dtype=torch.float64)
    discounts = 1.0 / torch.log2(numbers + 2.0)
    sums = _cumulative(discounts)
    moments, sums_of_sums = _cumulative(discounts * numbers), _cumulative(sums[1:])
    whole, part = sums[last] - sums[first], sums[cut] - sums[first]
    n_pairs = (size * (size - 1)).clamp(min=1).double()
    steps = (last - 1) * part - (moments[cut] - moments[first])
    steps = steps - (before * sums[last] - (sums_of_sums[cut] - sums_of_sums[first]))
    rest = size - before
    tied = {
        "step": 2.0 * steps / n_pairs,
        "either": 1.0 - rest * (rest - 1) / n_pairs,
        "one": 2.0 * before * rest / n_pairs,
        "own": ((size - 1) * part + before * (whole - part)) / n_pairs,
    }
    delta_sums = None
    if loss.weight.startswith("ndcg-loss2"):
        # of F(t) = Σ_{u ≤ t} δ(u) = 1 − 1/log2(2 + t) for t from 0, after a 0 for t = −1
        delta_sums = _cumulative(1.0 - 1.0 / torch.log2(2.0 + torch.cat([numbers, numbers.new_tensor([width])])))
        tied["delta"] = 2.0 * (delta_sums[last - first] - delta_sums[last - cut]) / n_pairs
    kept = {name: values.to(scores.dtype) for name, values in tied.items()}
    share, mean, cut_mean = ((each.double() / size).to(scores.dtype) for each in (before, whole, part))
    return _Places(first, last, cut, size, share, mean, cut_mean, kept, delta_sums)


def _cumulative(values: torch.Tensor) -> torch.Tensor:
    """Return the sums of the values before each place, and of all."""
    return torch.nn.functional.pad(values.cumsum(0), (1, 0))


def _weights(
    loss: Any, places: _Places | None, some: slice, rises: torch.Tensor, labels: torch.Tensor, gains: torch.Tensor,
    *, is_upper: bool,
) -> torch.Tensor:  # fmt: skip
    """Return the weights of the pairs of some documents with all; ``is_upper``: these should be above the others.

    ``rises`` are the differences of the labels of a pair.
    """

    def of_upper(values: torch.Tensor) -> torch.Tensor:
        return values[:, some, None] if is_upper else values[:, None, :]

    def either() -> Any:
        return 1.0 if places is None else _of_pairs(places, some, "either", lambda upper, lower: upper.share)

    def gain_differences() -> torch.Tensor:
        return (gains[:, some, None] - gains[:, None, :]).abs()

    def steps() -> torch.Tensor:
        return _of_pairs(
            places, some, "step", lambda upper, lower: upper.cut_discount - upper.share * lower.discount
        )  # fmt: skip

    match loss.weight:
        case "uniform":
            return either() * torch.ones_like(rises)
        case "label-difference":
            return either() * rises
        case "gain-difference":
            return either() * gain_differences()
        case "label":
            return either() * of_upper(labels).expand_as(rises)
        case "lambdarank":
            return steps() * gain_differences()
        case "ndcg-loss1":
            return of_upper(gains) * _own_discounts(places, some, is_upper)
        case "ndcg-loss2":
            return _deltas(places, some) * gain_differences()
        case "ndcg-loss2++":
            return (steps() + loss.mu * _deltas(places, some)) * gain_differences()
        case _:
            return _of_pairs(places, some, "one", lambda upper, lower: upper.share * (1.0 - lower.share))


class _Side(NamedTuple):
    share: torch.Tensor
    discount: torch.Tensor
    cut_discount: torch.Tensor


def _sides(places: _Places, some: slice) -> tuple[_Side, _Side]:
    """Return the means of some documents and those of all, to be broadcast over their pairs."""
    means = (places.share, places.discount, places.cut_discount)
    return _Side(*(each[:, some, None] for each in means)), _Side(*(each[:, None, :] for each in means))


def _of_pairs(places: Any, some: slice, tied: str, untied: Callable[[_Side, _Side], torch.Tensor]) -> torch.Tensor:
    """Return ``untied(higher, lower)`` of documents with different scores, and the entry ``tied`` of tied ones."""
    own, others = _sides(places, some)
    first, other_first = places.first[:, some, None], places.first[:, None, :]
    found = torch.where(first < other_first, untied(own, others), untied(others, own))
    return torch.where(first == other_first, places.tied[tied][:, some, None], found)


def _own_discounts(places: Any, some: slice, is_upper: bool) -> torch.Tensor:
    """Return the mean discount of the document that should be above, over the orders in which the pair counts."""
    own, others = _sides(places, some)
    first, other_first = places.first[:, some, None], places.first[:, None, :]
    one, other = (own, others) if is_upper else (others, own)
    is_higher = (first < other_first) if is_upper else (other_first < first)
    found = torch.where(is_higher, one.cut_discount, other.share * one.discount)
    return torch.where(first == other_first, places.tied["own"][:, some, None], found)


def _deltas(places: Any, some: slice) -> torch.Tensor:
    """Return the means of δ over the positions of both documents, that of the higher one before the cut."""
    first, other_first = places.first[:, some, None], places.first[:, None, :]
    is_higher = first < other_first

    def of(values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        own, others = values[:, some, None], values[:, None, :]
        return torch.where(is_higher, own, others), torch.where(is_higher, others, own)

    (start, low_start), (_, low_end), (cut, _) = of(places.first), of(places.last), of(places.cut)
    size, low_size = of(places.size)
    is_tied = first == other_first
    sums = places.delta_sums

    def at(numbers: torch.Tensor) -> torch.Tensor:
        return sums[torch.where(is_tied, 0, numbers)]

    found = (at(low_end - start) - at(low_end - cut)) - (at(low_start - start) - at(low_start - cut))
    found = (found / (size * low_size)).to(places.share.dtype)
    return torch.where(is_tied, places.tied["delta"][:, some, None], found)
