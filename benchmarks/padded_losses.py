"""Losses of padded batches in PyTorch, as allRank and sentence-transformers have them: the peers of flat lists.

Each function takes scores, labels and a mask of shape (queries, width), best labels first, and returns the sum over the
queries; padding is at the end. They are written for speed: no loops over lists, no copies that are not needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch.nn import functional as F

Form = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
NOTHING = -1e30


def listmle(scores, labels, mask):
    """Running sums of exponentials relative to the largest; labels must not have ties."""
    scores = scores.masked_fill(~mask, -float("inf"))
    below = scores - scores.max(dim=1, keepdim=True).values.detach()
    sums = below.exp().flip(1).cumsum(1).flip(1)
    return ((sums + 1e-10).log() - below).masked_fill(~mask, 0.0).sum()


def p_listmle(scores, labels, mask):
    """With weights (2^(n−i) − 1) / (2^(n−1) − 1); labels must not have ties."""
    scores = scores.masked_fill(~mask, -float("inf"))
    below = scores - scores.max(dim=1, keepdim=True).values.detach()
    sums = below.exp().flip(1).cumsum(1).flip(1)
    sizes = mask.sum(dim=1, keepdim=True)
    places = torch.arange(1, mask.shape[1] + 1)
    weights = (2.0 ** (1 - places) - 2.0 ** (1 - sizes)).clamp(min=0.0) / (1.0 - 2.0 ** (1 - sizes)).clamp(min=0.5)
    return (((sums + 1e-10).log() - below).masked_fill(~mask, 0.0) * weights).sum()


def listnet(scores, labels, mask):
    target = F.softmax(labels.masked_fill(~mask, NOTHING), dim=1)
    return -(target * F.log_softmax(scores.masked_fill(~mask, NOTHING), dim=1)).masked_fill(~mask, 0.0).sum()


def softmax(scores, labels, mask):
    logs = F.log_softmax(scores.masked_fill(~mask, NOTHING), dim=1)
    return -(labels * logs).masked_fill(~mask, 0.0).sum()


def poly1_softmax(scores, labels, mask):
    logs = F.log_softmax(scores.masked_fill(~mask, NOTHING), dim=1)
    labels, totals = labels.masked_fill(~mask, 0.0), (labels * mask).sum(dim=1, keepdim=True)
    shares = torch.where(totals > 0.0, labels / totals.clamp(min=1e-10), mask / mask.sum(dim=1, keepdim=True))
    return (1.0 - (shares * logs.exp()).sum(dim=1)).sum() - (labels * logs).masked_fill(~mask, 0.0).sum()


def unique_softmax(scores, labels, mask):
    """Without pairs: sums of exponentials from the last document up, read where the next lower label begins."""
    below = scores.masked_fill(~mask, NOTHING)
    below = below - below.max(dim=1, keepdim=True).values.detach()
    exponentials = below.exp()
    keys = -labels.masked_fill(~mask, NOTHING)
    next_lower = torch.searchsorted(keys, keys, right=True)
    sums = F.pad(exponentials.flip(1).cumsum(1).flip(1), (0, 1)).gather(1, next_lower)
    return ((2.0**labels - 1.0) * ((exponentials + sums).log() - below)).masked_fill(~mask, 0.0).sum()


def rankcosine(scores, labels, mask):
    scores, labels = scores.masked_fill(~mask, 0.0), labels.masked_fill(~mask, 0.0)
    return (0.5 * (1.0 - F.cosine_similarity(scores, labels, dim=1, eps=1e-12))).sum()


def squared(scores, labels, mask):
    return 0.5 * (scores - labels).masked_fill(~mask, 0.0).square().sum()


def of_pairs(loss_of_margins: Callable[[torch.Tensor], torch.Tensor]) -> Form:
    """Return the mean of a loss of margins over the pairs of different labels of each query."""

    def form(scores, labels, mask):
        margins = scores[:, :, None] - scores[:, None, :]
        is_counted = (labels[:, :, None] > labels[:, None, :]) & mask[:, None, :]  # padding is not above anything
        is_counted &= mask[:, :, None]
        sums = loss_of_margins(margins).masked_fill(~is_counted, 0.0).sum(dim=(1, 2))
        return (sums / is_counted.sum(dim=(1, 2)).clamp(min=1)).sum()

    return form


def pairwise_squared(scores, labels, mask):
    apart = scores - labels
    margins = apart[:, :, None] - apart[:, None, :]
    is_counted = mask[:, :, None] & mask[:, None, :]
    sizes = mask.sum(dim=1)
    sums = margins.square().masked_fill(~is_counted, 0.0).sum(dim=(1, 2))
    return (sums / (sizes * (sizes - 1)).clamp(min=1)).sum()


# ---- losses with the ranks of the scores ---------------------------------------------------------------------------


def _gains_over_ideal(labels, mask):
    """Return 2^label − 1 over the ideal DCG; labels are sorted."""
    gains = (2.0**labels - 1.0).masked_fill(~mask, 0.0)
    discounts = 1.0 / torch.log2(torch.arange(2, labels.shape[1] + 2))
    return gains / (gains * discounts).sum(dim=1, keepdim=True).clamp(min=1e-10)


def of_ranked_pairs(weight_of: Callable) -> Form:
    """Return LambdaLoss: logistic pairs times a weight of gains and ranks, over the pairs of different labels."""

    def form(scores, labels, mask):
        scores = scores.masked_fill(~mask, NOTHING)
        gains, order = _gains_over_ideal(labels, mask), scores.detach().argsort(dim=1, descending=True)
        scores, labels, gains, mask = (each.gather(1, order) for each in (scores, labels, gains, mask))
        margins = (scores[:, :, None] - scores[:, None, :]).clamp(-1e8, 1e8)
        is_counted = (labels[:, :, None] > labels[:, None, :]) & mask[:, None, :] & mask[:, :, None]
        differences = (gains[:, :, None] - gains[:, None, :]).abs()
        weights = differences * weight_of(scores.shape[1])
        return -(weights * F.logsigmoid(margins)).masked_fill(~is_counted, 0.0).sum()

    return form


def lambdarank_weight(width: int) -> torch.Tensor:
    discounts = 1.0 / torch.log2(torch.arange(2, width + 2))
    return (discounts[:, None] - discounts[None, :]).abs()


def ndcg_loss1(scores, labels, mask):
    scores = scores.masked_fill(~mask, NOTHING)
    gains, order = _gains_over_ideal(labels, mask), scores.detach().argsort(dim=1, descending=True)
    scores, gains, mask = (each.gather(1, order) for each in (scores, gains, mask))
    margins = (scores[:, :, None] - scores[:, None, :]).clamp(-1e8, 1e8)
    is_counted = mask[:, None, :] & ~torch.eye(mask.shape[1], dtype=torch.bool)  # padding has no gain
    weights = gains / torch.log2(torch.arange(2, mask.shape[1] + 2))
    return -(weights * F.logsigmoid(margins).masked_fill(~is_counted, 0.0).sum(dim=2)).sum()


def ndcg_loss2_weight(width: int) -> torch.Tensor:
    places, apart = torch.arange(width), torch.arange(1, width + 1, dtype=torch.float64)
    differences = 1.0 / torch.log2(1.0 + apart) - 1.0 / torch.log2(2.0 + apart)  # small, of nearly equal numbers
    return differences.float()[((places[:, None] - places[None, :]).abs() - 1).clamp(min=0)]


def ndcg_loss2pp_weight(width: int) -> torch.Tensor:
    return lambdarank_weight(width) + 10.0 * ndcg_loss2_weight(width)


def _approximate_ranks(scores, mask, a):
    pairs = torch.sigmoid(a * (scores[:, None, :] - scores[:, :, None])).masked_fill(~mask[:, None, :], 0.0)
    return pairs.sum(dim=2) + 0.5  # a document is half above itself


def approx_ndcg(scores, labels, mask, a=10.0):
    gains, ranks = _gains_over_ideal(labels, mask), _approximate_ranks(scores, mask, a)
    return -(gains * math.log(2.0) / torch.log1p(ranks)).masked_fill(~mask, 0.0).sum()


def approx_map(scores, labels, mask, a=10.0, b=10.0):
    ranks, is_relevant = _approximate_ranks(scores, mask, a), mask & (labels >= 1.0)
    pairs = torch.sigmoid(b * (ranks[:, :, None] - ranks[:, None, :])).masked_fill(~is_relevant[:, None, :], 0.0)
    precisions = ((pairs.sum(dim=2) + 0.5) / ranks).masked_fill(~is_relevant, 0.0)
    return -(precisions.sum(dim=1) / is_relevant.sum(dim=1).clamp(min=1)).sum()


def approx_mrr(scores, labels, mask, a=10.0):
    """Without pairs: the rank of the relevant document with the highest score is the only one that counts."""
    is_relevant = mask & (labels >= 1.0)
    best = scores.masked_fill(~is_relevant, NOTHING).max(dim=1, keepdim=True).values
    ranks = torch.sigmoid(a * (scores - best)).masked_fill(~mask, 0.0).sum(dim=1) + 0.5
    return -(is_relevant.any(dim=1) / ranks).sum()


def pl_rank(scores, labels, mask, k=10, n_samples=100):
    """PL-Rank-3 for all lists and samples at once; the slope is put together without autograd."""
    k, gains = min(k, mask.shape[1]), (2.0**labels - 1.0).masked_fill(~mask, 0.0)
    discounts = 1.0 / torch.log2(torch.arange(2, k + 2))
    gains = gains / (gains[:, :k] * discounts).sum(dim=1, keepdim=True).clamp(min=1e-10)
    with torch.no_grad():
        logits = scores.masked_fill(~mask, NOTHING)
        exponentials = (logits - logits.max(dim=1, keepdim=True).values).exp()[:, None]
        noise = torch.empty(mask.shape[0], n_samples, mask.shape[1]).exponential_().log_()
        ranked = (logits[:, None] - noise).topk(k, dim=2).indices
        rewards = gains[:, None].expand_as(noise).gather(2, ranked) * discounts
        following = rewards.flip(2).cumsum(2).flip(2)  # from each position on
        drawn = exponentials.expand_as(noise).gather(2, ranked)
        left = (exponentials.sum(dim=2, keepdim=True) - drawn.cumsum(2) + drawn).clamp(min=1e-10)
        costs, shares = (following / left).cumsum(2), (discounts / left).cumsum(2)
        slope = exponentials * (gains[:, None] * shares[:, :, -1:] - costs[:, :, -1:])  # of documents not drawn
        of_drawn = following - rewards + drawn * (rewards / discounts * shares - costs)
        slope = slope.scatter_(2, ranked, of_drawn).mean(dim=1).masked_fill_(~mask, 0.0)
        value = -rewards.sum() / n_samples
    terms = -(slope * scores).sum()
    return terms - terms.detach() + value


def neural_ndcg(scores, labels, mask, max_iter=50, tol=1e-6):
    """NeuralSort with Sinkhorn's iterations, until all lists of the batch have converged, by autograd."""
    is_pair = mask[:, :, None] & mask[:, None, :]
    gains, sizes = _gains_over_ideal(labels, mask), mask.sum(dim=1)
    scores = scores.masked_fill(~mask, 0.0)
    distances = (scores[:, :, None] - scores[:, None, :]).abs().masked_fill(~is_pair, 0.0).sum(dim=2)
    factors = sizes[:, None] - 1 - 2 * torch.arange(mask.shape[1])
    matrix = factors[:, :, None] * scores[:, None, :] - distances[:, None, :]
    matrix = F.softmax(matrix.masked_fill(~mask[:, None, :], NOTHING), dim=2).masked_fill(~is_pair, 0.0)
    for _ in range(max_iter):
        matrix = matrix / matrix.sum(dim=1, keepdim=True).masked_fill(~mask[:, None, :], 1.0)
        matrix = matrix / matrix.sum(dim=2, keepdim=True).masked_fill(~mask[:, :, None], 1.0)
        with torch.no_grad():
            if ((matrix.sum(dim=1) - 1.0).abs() * mask).max() < tol:
                break
    discounts = 1.0 / torch.log2(torch.arange(2, mask.shape[1] + 2))
    return -((matrix @ gains[:, :, None])[:, :, 0] * discounts).masked_fill(~mask, 0.0).sum()


def binary_cross_entropy(scores, labels, mask):
    return F.binary_cross_entropy_with_logits(scores, labels, reduction="none").masked_fill(~mask, 0.0).sum()


WITHOUT_PAIRS: dict[str, Form] = {
    "listmle": listmle,
    "p-listmle": p_listmle,
    "listnet": listnet,
    "softmax": softmax,
    "unique-softmax": unique_softmax,
    "poly1-softmax": poly1_softmax,
    "xe-ndcg": softmax,  # of the expected targets, given as labels
    "rankcosine": rankcosine,
    "squared": squared,
    "binary-cross-entropy": binary_cross_entropy,
    "approx-mrr": approx_mrr,
    "pl-rank": pl_rank,
}
FORMS: dict[str, Form] = {
    **WITHOUT_PAIRS,
    "hinge": of_pairs(lambda margins: F.relu(1.0 - margins)),
    "squared-hinge": of_pairs(lambda margins: F.relu(1.0 - margins).square()),
    "logistic": of_pairs(lambda margins: F.softplus(-margins)),
    "exponential": of_pairs(lambda margins: (-margins).exp()),
    "psi": of_pairs(lambda margins: (1.0 - margins).clamp(0.0, 1.0)),
    "soft-zero-one": of_pairs(lambda margins: torch.sigmoid(-margins)),
    "pairwise-squared": pairwise_squared,
    "lambdarank": of_ranked_pairs(lambdarank_weight),
    "ndcg-loss1": ndcg_loss1,
    "ndcg-loss2": of_ranked_pairs(ndcg_loss2_weight),
    "ndcg-loss2++": of_ranked_pairs(ndcg_loss2pp_weight),
    "approx-ndcg": approx_ndcg,
    "approx-map": approx_map,
    "neural-ndcg": neural_ndcg,
}
