"""Training of a net: Adam over batches of queries, or L-BFGS over all of them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from plackett._threads import n_threads
from plackett.exceptions import ConvergenceWarning, warn
from plackett.losses.base import Loss
from plackett.losses.transforms import NotPositiveError
from plackett.rankers.monitor import FitMonitor
from plackett.rankers.neural.adam import Adam
from plackett.rankers.neural.batches import Batch, TrainingData, scores_of
from plackett.scorers.neural import Net
from plackett.solvers import Step
from plackett.solvers.base import MAX_ITER
from plackett.solvers.lbfgs import LBFGS

WORK_FOR_THREADS = 1e7  # multiplications, some milliseconds on one core


@dataclass
class NetFit:
    """The objective of a net: the weighted mean loss of the queries plus ``l2 / 2`` times the squared weights."""

    net: Net
    loss: Loss
    data: TrainingData
    l2: float
    is_mixed: bool = False
    generator: torch.Generator | None = None  # for dropout during training

    def __post_init__(self) -> None:
        self._loss_of = self.loss.as_torch()

    def add_gradient(self, batch: Batch, divisor: float) -> torch.Tensor:
        """Add the gradient of a batch's summed loss over ``divisor`` to those of the weights; return the value."""
        # without the cache of rounded weights, which would outlive a step inside the caller's own autocast
        with torch.autocast(self.net.device.type, torch.bfloat16, enabled=self.is_mixed, cache_enabled=False):
            scores = self.net.scores(batch.X, batch.stacks, self.generator)
        if self.is_mixed:
            scores = scores.float()
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


# ---- L-BFGS ------------------------------------------------------------------------------------------------------


class NetObjective:
    """The objective as a solver takes it: a function of one vector."""

    is_convex, is_smooth, is_random = False, True, False
    has_curvature_product, has_curvature_bound, has_smoothing = False, False, False

    def __init__(self, fit: NetFit):
        self._fit = fit
        self.size, self.n_terms = fit.net.vector().size, fit.data.n_queries
        names = fit.net.shape.weights
        self._l2 = np.concatenate(
            [np.full(np.prod(shape), fit.l2 if name.endswith(".weight") else 0.0) for name, shape in names.items()]
        )

    @property
    def name(self) -> str:
        return repr(self._fit.loss)

    def value_and_gradient(self, coef: np.ndarray) -> tuple[float, np.ndarray]:
        net = self._fit.net
        net.set_vector(coef)
        try:
            value = self._fit.full_gradient()
        except (FloatingPointError, NotPositiveError):  # the step was too long; the solver shortens it
            return np.inf, np.zeros(self.size)
        if not np.isfinite(value):
            return np.inf, np.zeros(self.size)
        gradient = [_gradient_of(weight).ravel() for weight in net.weights.values()]
        return value + 0.5 * float(self._l2 @ coef**2), np.concatenate(gradient).astype(np.float64) + self._l2 * coef

    def curvature_estimate(self, coef: np.ndarray) -> None:
        return None


def _gradient_of(weight: torch.Tensor) -> np.ndarray:
    return np.zeros(tuple(weight.shape)) if weight.grad is None else weight.grad.cpu().numpy()


def minimize_at_once(fit: NetFit, monitor: FitMonitor, *, n_epochs: int, tol: float) -> float:
    """Minimise by L-BFGS over all queries; return the value of the objective."""
    objective: Any = NetObjective(fit)

    def record(step: Step) -> str | None:
        return monitor.record(lambda: _validation_scores(fit.net, monitor, step.coef), step.coef, objective=step.value)

    result = LBFGS().minimize(objective, fit.net.vector(), max_iter=n_epochs, tol=tol, callback=record)
    fit.net.set_vector(result.coef)
    if result.stop_reason != MAX_ITER:  # the budget is n_epochs here
        monitor.stop(result.stop_reason)
    if not (result.is_converged or result.is_interrupted or monitor.best_state is not None):
        warn(
            f"lbfgs stopped after {result.n_iter} iterations at gradient norm {result.gradient_norm:.0e}, above "
            f"tol={tol:g} ({result.stop_reason}). Raise n_epochs or l2, or scale the columns (normalize=).",
            ConvergenceWarning,
        )
    return result.value


# ---- Adam --------------------------------------------------------------------------------------------------------


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
    try:
        adam = Adam(fit.net.penalised, fit.net.free, learning_rate=learning_rate, l2=fit.l2)
        for _ in range(n_epochs):
            mean = run_epoch(fit, adam, batch_size, rng)
            weights = fit.net.vector()
            if not (np.isfinite(mean) and np.isfinite(weights).all()):
                raise FloatingPointError
            objective = mean + fit.l2 * fit.net.penalty()
            if monitor.record(lambda: _validation_scores(fit.net, monitor), weights, objective=objective):
                break
    except FloatingPointError:
        raise ValueError(
            f"the scores or their loss overflowed in epoch {monitor.n_iter + 1}. Lower learning_rate (it is "
            f"{learning_rate:g}), or scale the columns (normalize=) or the labels."
        ) from None


def _validation_scores(net: Net, monitor: FitMonitor, weights: np.ndarray | None = None) -> np.ndarray:
    assert monitor.validation is not None
    if weights is not None:
        net.set_vector(weights)
    queries = monitor.validation.queries
    return scores_of(net, queries.X, queries.indptr)


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
    try:
        with (
            _threads.set_to(n_threads() if work > WORK_FOR_THREADS else 1),
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


class _Threads:
    """PyTorch's number of threads, which fits set and restore; concurrent fits all restore the first number.

    Each Python thread has its own number, but starts with the one that was last set in any thread.
    """

    def __init__(self) -> None:
        self._lock, self._n_inside, self._before = threading.Lock(), 0, 1

    @contextlib.contextmanager
    def set_to(self, wanted: int) -> Iterator[None]:
        with self._lock:
            if self._n_inside == 0:
                self._before = torch.get_num_threads()
            self._n_inside += 1
            before = self._before
            if torch.get_num_threads() != wanted:
                torch.set_num_threads(wanted)
        try:
            yield
        finally:
            with self._lock:
                self._n_inside -= 1
                if torch.get_num_threads() != before:
                    torch.set_num_threads(before)


_threads = _Threads()


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
