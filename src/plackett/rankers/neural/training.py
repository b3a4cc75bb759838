"""Training of a net by Adam over batches of queries."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from plackett._threads import n_threads
from plackett.losses.base import Loss
from plackett.rankers.monitor import FitMonitor
from plackett.rankers.neural.adam import Adam
from plackett.rankers.neural.batches import Batch, TrainingData, scores_of
from plackett.scorers.neural import Net

WORK_FOR_THREADS = 1e7  # multiplications, some milliseconds on one core


@dataclass
class NetFit:
    """The objective of a net: the weighted mean loss of the queries plus ``l2 / 2`` times the squared weights."""

    net: Net
    loss: Loss
    data: TrainingData
    l2: float
    generator: torch.Generator | None = None  # for dropout during training

    def __post_init__(self) -> None:
        self._loss_of = self.loss.as_torch()

    def add_gradient(self, batch: Batch, divisor: float) -> torch.Tensor:
        """Add the gradient of a batch's summed loss over ``divisor`` to those of the weights; return the value."""
        scores = self.net.scores(batch.X, batch.stacks, self.generator)
        if not self._loss_of.stays_on(scores.device) and not bool(torch.isfinite(scores).all()):
            raise FloatingPointError
        value, slope = self._loss_of.value_and_slope(scores, batch.lists, batch.weights)
        scores.backward(slope.div_(divisor))
        return value.div_(divisor)

    def reset_gradient(self) -> None:
        for weight in self.net.weights.values():
            weight.grad = None

    def full_gradient(self) -> float:
        """Set the gradients of the weights to those of the mean loss over all queries; return that mean."""
        self.reset_gradient()
        return float(sum(self.add_gradient(batch, self.data.n_queries) for batch in self.data.blocks()))


def minimize_by_batches(
    fit: NetFit,
    monitor: FitMonitor,
    *,
    learning_rate: float,
    batch_size: int | None,
    n_epochs: int,
    rng: np.random.Generator,
) -> None:
    """Minimise by Adam over batches of queries, drawn in every epoch."""
    held: Any = None if monitor.validation is None else monitor.validation.queries
    try:
        adam = Adam(fit.net.penalised, fit.net.free, learning_rate=learning_rate, l2=fit.l2)
        for _ in range(n_epochs):
            mean = run_epoch(fit, adam, batch_size, rng)
            weights = fit.net.vector()
            if not (np.isfinite(mean) and np.isfinite(weights).all()):
                raise FloatingPointError
            objective = mean + fit.l2 * fit.net.penalty()
            if monitor.record(lambda: scores_of(fit.net, held.X, held.indptr), weights, objective=objective):
                break
    except FloatingPointError:
        raise ValueError(
            f"the scores or their loss overflowed in epoch {monitor.n_iter + 1}. Lower learning_rate (it is "
            f"{learning_rate:g}), or scale the columns (normalize=) or the labels."
        ) from None


def run_epoch(fit: NetFit, adam: Adam, batch_size: int | None, rng: np.random.Generator) -> float:
    """Make one pass over the queries; return the mean loss during the pass."""
    if batch_size is None or batch_size >= fit.data.n_queries:
        mean = fit.full_gradient()
        adam.step()
        return mean
    order = rng.permutation(fit.data.n_queries)
    sums = []
    for start in range(0, order.size, batch_size):
        batch = fit.data.batch(order[start : start + batch_size])
        fit.reset_gradient()
        sums.append(batch.lists.n_queries * fit.add_gradient(batch, batch.lists.n_queries))
        adam.step()
    return float(sum(sums)) / order.size


# ---- around a fit ------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def at_work(device: torch.device, batch_size: int | None, work: float = np.inf) -> Iterator[None]:
    """Set up PyTorch for a fit: gradients on, no autocast, as many threads as the kernels; report a full device.

    ``work`` is the number of multiplications of a batch. For few of them one thread is faster than several.
    """
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(n_threads() if work > WORK_FOR_THREADS else 1)
        with (
            torch.inference_mode(False),
            torch.enable_grad(),
            torch.autocast(device.type, enabled=False),
        ):
            yield
    except torch.cuda.OutOfMemoryError as error:
        raise MemoryError(
            f"the memory of {device} is full. Lower batch_size (it is {batch_size}), use fewer or narrower hidden and "
            'attention layers, or device="cpu".'
        ) from error
    finally:
        torch.set_num_threads(before)


def choose_device(name: str) -> torch.device:
    """Return the device of that name; ``"auto"`` takes CUDA if available."""
    has_cuda = torch.cuda.is_available()
    if name == "auto":
        return torch.device("cuda" if has_cuda else "cpu")
    if name.startswith("cuda") and not has_cuda:
        raise ValueError(f'device="{name}", but PyTorch finds no CUDA device; use device="cpu" or "auto".')
    device = torch.device(name)
    if device.index is not None and device.index >= torch.cuda.device_count():
        found = torch.cuda.device_count()
        raise ValueError(f'device="{name}", but the last of the {found} CUDA devices here is "cuda:{found - 1}".')
    return device
