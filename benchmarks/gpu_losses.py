"""Measure ListMLE and its gradient on a GPU, for 1.2 million documents: ``python -m benchmarks.gpu_losses``.

The peer is the padded form in its fastest shape: lists are sorted by label and padded before the measurement. Times are
medians, from a launch on an idle device until value and gradient are complete, launched from Python and as a CUDA
graph, which is the time of the device alone. The padded form uses autograd; plackett computes the gradient with the
value. The times of plackett with autograd, and of autograd of a plain sum, are printed too. Needs PyTorch and the
compiled kernels.
"""

from __future__ import annotations

import statistics
import sys
import time
from functools import partial

import numpy as np
import torch

from benchmarks.made_lists import LABEL_SHARES, strict, uneven_indptr
from plackett.data.queries import QueryLists
from plackett.losses import ListMLE, PListMLE
from plackett.losses.backends import device as on_device

N_DOCS, AIM_SECONDS, AIM_RATIO = 1_200_000, 0.5e-3, 5.0


def make_lists(n_docs: int = N_DOCS, seed: int = 0) -> tuple[QueryLists, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = rng.choice(5, p=LABEL_SHARES, size=n_docs).astype(np.float64)
    return QueryLists(labels, uneven_indptr(n_docs, rng)), rng.normal(size=n_docs)


# ---- the padded form ---------------------------------------------------------------------------------------------


class Padded:
    """Lists as rows of a matrix, best label first, with a mask; ties by ``ties="breslow"``, or in their order.

    Most packages use ``cumsum``; ``logcumsumexp`` is accurate for any range of scores, like plackett.
    """

    def __init__(self, lists: QueryLists, scores: np.ndarray, dtype: torch.dtype, device: str):
        sizes = np.diff(lists.indptr)
        table = np.zeros((lists.n_queries, sizes.max()), dtype=np.int64)
        mask = np.arange(sizes.max()) < sizes[:, None]
        table[mask] = lists.order
        self.mask = torch.from_numpy(mask).to(device)
        padded = np.where(mask, scores[table], 0.0)
        self.scores = torch.tensor(padded, dtype=dtype, device=device, requires_grad=True)

    def cumsum(self, scores: torch.Tensor) -> torch.Tensor:
        filled = scores.masked_fill(~self.mask, -float("inf"))
        filled = filled - filled.max(dim=1, keepdim=True).values.detach()
        sums = filled.exp().flip(1).cumsum(1).flip(1)
        return ((sums + 1e-10).log() - filled).masked_fill(~self.mask, 0.0).sum()

    def logcumsumexp(self, scores: torch.Tensor) -> torch.Tensor:
        filled = scores.masked_fill(~self.mask, -1e30)
        sums = filled.flip(1).logcumsumexp(1).flip(1)
        return (sums - filled).masked_fill(~self.mask, 0.0).sum()


# ---- measuring ---------------------------------------------------------------------------------------------------


def median_seconds(call, repeat: int = 50) -> float:
    """Return the time from a launch until the device has finished."""
    for _ in range(5):
        call()
    times = []
    for _ in range(repeat):
        torch.cuda.synchronize()
        start = time.perf_counter()
        call()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def captured(call):
    """Return the time of the same launches as one CUDA graph, without the time of the host."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph.replay


def with_gradient(function, scores: torch.Tensor):
    def call():
        scores.grad = None
        function(scores).backward()

    return call


def check(loss, lists: QueryLists, numbers: np.ndarray, scores: torch.Tensor) -> None:
    """Compare the gradient on the device with the same operations in double precision on the host."""
    expected, slope = on_device.terms_and_slope(loss, torch.from_numpy(numbers), lists)
    value = loss.as_torch()(scores, lists)
    (found,) = torch.autograd.grad(value, scores)
    error = (found.double().cpu() - slope).abs().max().item()
    print(f"  {loss!r}: value off by {abs(value.item() / expected.sum().item() - 1):.1e}, slope by {error:.1e}")
    assert error < (1e-10 if scores.dtype == torch.float64 else 1e-4)


def run(dtype: torch.dtype = torch.float32, device: str = "cuda") -> None:
    lists, numbers = make_lists()
    kinds = {"five labels": lists, "strict orders": strict(lists, np.random.default_rng(1))}
    for kind, these in kinds.items():
        print(f"{kind}: {these.n_docs:,} documents, {these.n_queries:,} lists of up to {np.diff(these.indptr).max()}")
        scores = torch.tensor(numbers, dtype=dtype, device=device, requires_grad=True)
        for loss in (ListMLE(), PListMLE("dcg")):
            check(loss, these, numbers, scores)
        padded = Padded(these, numbers, dtype, device)
        loss = ListMLE().as_torch()
        calls = {
            "plackett": partial(loss.value_and_slope, scores.detach(), these),
            "plackett, by autograd": with_gradient(partial(loss, queries=these), scores),
            "autograd of a plain sum": with_gradient(torch.sum, scores),
            "padded, cumsum": with_gradient(padded.cumsum, padded.scores),
            "padded, logcumsumexp": with_gradient(padded.logcumsumexp, padded.scores),
        }
        base = None
        for name, call in calls.items():
            eager, graph = median_seconds(call), median_seconds(captured(call))
            base = (eager, graph) if base is None else base
            ratios = f"{eager / base[0]:6.2f} × {graph / base[1]:6.2f} ×"
            print(f"  {name:24} {1e6 * eager:8.0f} µs   as a graph {1e6 * graph:8.0f} µs   {ratios}")


if __name__ == "__main__":
    print(torch.__version__, torch.cuda.get_device_name(), file=sys.stderr)
    for precision in (torch.float32, torch.float64):
        print(precision)
        run(precision)
