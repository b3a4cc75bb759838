"""ListMLE and p-ListMLE as one kernel for CUDA, in Triton: a program per query, whose documents stay in registers.

Documents are in label order. With C = Σ e^f over a position and those after it, the C of a level is that of its first
position, which alone has the level's mass w d. Two cumulative sums along the positions then give value and slope:

    loss = Σ mass log C − Σ w f,        slope = e^f Σ_{positions up to its own} mass / C − w.

As in the CPU kernels, scores that are close are taken relative to the largest of their query, and logarithms of sums
are used only where scores are too far apart for that.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

LONGEST = 8192  # documents of a list that fit into the registers of a multiprocessor
DOCS_PER_WARP = {torch.float32: 256, torch.float64: 64}  # measured on an H200


@triton.jit
def _log_add(a, b):
    return tl.maximum(a, b) + tl.log(1.0 + tl.exp(-tl.abs(a - b)))


@triton.jit
def _query(
    scores, order, indptr, weights, masses, values, slope,
    NOTHING: tl.constexpr, WIDEST: tl.constexpr, SIZE: tl.constexpr,
):  # fmt: skip
    query = tl.program_id(0)
    start, stop = tl.load(indptr + query), tl.load(indptr + query + 1)
    places = start + tl.arange(0, SIZE)
    is_there = places < stop
    row = tl.load(order + places, mask=is_there, other=0)
    weight = tl.load(weights + places, mask=is_there, other=0.0)
    mass = tl.load(masses + places, mask=is_there, other=0.0)
    score = tl.load(scores + row, mask=is_there, other=NOTHING)
    top = tl.max(score, 0)
    low = tl.min(tl.where(is_there, score, top), 0)
    if top - low < WIDEST:
        own = tl.exp(score - top)
        total = tl.cumsum(own, 0, reverse=True)
        pull = tl.cumsum(tl.where(is_there, mass / total, 0.0), 0)
        tl.store(slope + row, own * pull - weight, mask=is_there)
        log_total = tl.log(total)
    else:
        log_total = tl.associative_scan(score - top, 0, _log_add, reverse=True)
        log_mass = tl.where(mass > 0.0, tl.log(mass), NOTHING)
        log_pull = tl.associative_scan(log_mass - log_total, 0, _log_add)
        tl.store(slope + row, tl.exp(score - top + log_pull) - weight, mask=is_there)
    cost = tl.where(is_there, mass * log_total + weight * (top - score), 0.0)
    tl.store(values + query, tl.sum(cost, 0))


def values_and_slope(
    scores: torch.Tensor, order: torch.Tensor, indptr: torch.Tensor, weights: torch.Tensor, masses: torch.Tensor,
    longest: int,
) -> tuple[torch.Tensor, torch.Tensor]:  # fmt: skip
    """Return the loss of each query, and the slope; ``weights`` and ``masses`` have an entry per position."""
    n_queries = indptr.numel() - 1
    values, slope = scores.new_empty(n_queries), torch.empty_like(scores)
    size = max(triton.next_power_of_2(longest), 32)
    nothing, widest = (-1e30, 70.0) if scores.dtype == torch.float32 else (-1e300, 600.0)
    with torch.cuda.device_of(scores):  # Triton launches on the current device, not on that of its arguments
        _query[(n_queries,)](
            scores, order, indptr, weights, masses, values, slope,
            NOTHING=nothing, WIDEST=widest, SIZE=size, num_warps=min(max(size // DOCS_PER_WARP[scores.dtype], 1), 16),
        )  # fmt: skip
    return values, slope
