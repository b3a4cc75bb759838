"""Losses as differentiable functions of PyTorch tensors."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from plackett._arrays import bounds
from plackett._optional import import_optional
from plackett.data.queries import Queries, QueryLists
from plackett.losses.base import Loss, lists_of

import_optional("torch", extra="neural", needed_for="as_torch()")  # the error says what to install

import torch  # noqa: E402

from plackett.losses.backends import device as on_device  # noqa: E402

_Compute = Callable[[QueryLists, "np.ndarray | None", torch.Tensor], tuple[torch.Tensor, torch.Tensor]]


def _not_compiled(function: Callable) -> Callable:
    """Exclude a function from torch.compile, which would trace NumPy arrays as tensors."""
    kept: list[Callable] = []

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        if not kept:
            if "torch._dynamo" not in sys.modules:  # not compiling, and importing it takes seconds
                return function(*arguments, **named)
            kept.append(torch.compiler.disable(function))
        return kept[0](*arguments, **named)

    return call


class TorchLoss:
    """A loss as ``f(scores, queries)``, a differentiable tensor: the sum over the queries.

    Scores on the CPU are passed to the compiled kernels, without a copy if they are float64, and computed in float64.
    Scores on an accelerator stay there: losses run as operations of the device (ListMLE and p-ListMLE on CUDA as one
    kernel), in float64 for float64 scores and in float32 otherwise. For PLRank and your own losses, scores are copied
    to the CPU and the slope is copied back.

    Values that depend on the labels (orders, levels, weights) are cached on ``queries.lists``, so reuse that object.
    Losses can be differentiated once; second derivatives are ``loss.curvature_product``. Scores that are NaN or
    infinite raise an error on the CPU, and give a value that is not finite on a device.

    Parameters
    ----------
    loss : Loss

    Examples
    --------
    >>> import torch
    >>> import plackett as pk
    >>> data = pk.Queries([[0.0]] * 3, y=[2, 1, 0])
    >>> scores = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    >>> value = pk.losses.ListMLE().as_torch()(scores, data)
    >>> value.backward()
    >>> round(value.item(), 4), scores.grad.numpy().round(4)  # log 3 + log 2
    (1.7918, array([-0.6667, -0.1667,  0.8333]))
    """

    def __init__(self, loss: Loss):
        self.loss = loss

    @_not_compiled
    def __call__(self, scores: Any, queries: Queries | QueryLists, weights: Any = None) -> torch.Tensor:
        """Return the loss summed over all queries.

        Parameters
        ----------
        scores : tensor of shape (n_docs,)
            One score per row of ``queries``, in their order.
        queries : Queries, or its ``lists``
        weights : array-like of shape (n_queries,), default=None
            Weights of the queries; None means 1.

        Returns
        -------
        scalar tensor
            With the dtype of the scores, at least float32.
        """
        compute, lists, weights = self._checked(scores, queries, weights)
        order = _row_order(queries, scores)
        scores = scores if order is None else scores[order]
        return _Value.apply(scores, partial(compute, lists, weights))[0]

    @_not_compiled
    def value_and_slope(
        self, scores: torch.Tensor, queries: Queries | QueryLists, weights: Any = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the sum and its derivative with respect to each score, both without autograd.

        This is faster where kernel launches dominate, as on a GPU. ``scores.backward(slope)`` is then equivalent to
        ``backward`` of the value.

        Parameters
        ----------
        scores, queries, weights
            As for a call.

        Returns
        -------
        value : scalar tensor
        slope : tensor of shape (n_docs,)
            With the dtype of the scores; the value is at least float32.

        Examples
        --------
        >>> import torch
        >>> import plackett as pk
        >>> data = pk.Queries([[1.0], [2.0], [3.0]], y=[2, 1, 0])
        >>> weight = torch.zeros(1, dtype=torch.float64, requires_grad=True)
        >>> scores = torch.from_numpy(data.X) @ weight
        >>> value, slope = pk.losses.ListMLE().as_torch().value_and_slope(scores, data)
        >>> scores.backward(slope)
        >>> round(value.item(), 4), slope.numpy().round(4), weight.grad.numpy().round(4)
        (1.7918, array([-0.6667, -0.1667,  0.8333]), array([1.5]))
        """
        compute, lists, weights = self._checked(scores, queries, weights)
        order = _row_order(queries, scores)
        value, grouped = compute(lists, weights, scores if order is None else scores[order])
        slope = grouped if order is None else torch.empty_like(grouped).scatter_(0, order, grouped)
        return value, slope.to(scores.dtype)

    def padded(self, scores: torch.Tensor, labels: Any, mask: Any = None, weights: Any = None) -> torch.Tensor:
        """Return the loss of a padded batch, summed over its queries.

        Entries outside the mask have no influence, whatever their values, and get a gradient of 0. The loss does not
        depend on the width of the padding.

        Parameters
        ----------
        scores : tensor of shape (n_queries, width)
        labels : tensor or array-like of shape (n_queries, width)
        mask : tensor or array-like of bool, of shape (n_queries, width), default=None
            True for documents, False for padding; None takes all entries as documents.
        weights : array-like of shape (n_queries,), default=None
            Weights of the queries; None means 1.

        Returns
        -------
        scalar tensor
            With the dtype of the scores, at least float32.

        Examples
        --------
        >>> import torch
        >>> import plackett as pk
        >>> scores = torch.tensor([[0.0, 0.0, 0.0], [1.0, 0.0, 9.0]], requires_grad=True)
        >>> labels = torch.tensor([[2, 1, 0], [0, 1, -1]])
        >>> value = pk.losses.ListMLE().as_torch().padded(scores, labels, mask=labels >= 0)
        >>> value.backward()
        >>> round(value.item(), 4), scores.grad[1].numpy().round(4)
        (3.105, array([ 0.7311, -0.7311,  0.    ], dtype=float32))
        """
        shape = tuple(scores.shape)
        labels, mask = torch.as_tensor(labels), torch.as_tensor(np.ones(shape, bool) if mask is None else mask)
        if len(shape) != 2 or tuple(labels.shape) != shape or tuple(mask.shape) != shape:
            raise ValueError(
                f"scores has shape {shape}, labels {tuple(labels.shape)} and mask {tuple(mask.shape)}; all must be "
                "(n_queries, width)."
            )
        if mask.dtype != torch.bool:
            raise ValueError(f"mask is a tensor of {mask.dtype}; torch.bool is needed, with True for documents.")
        mask = mask.cpu()  # the number of documents is needed there
        lists = label_lists(labels.cpu()[mask], mask.sum(dim=1).tolist())
        places = mask.flatten().nonzero().squeeze(-1).to(scores.device)
        return self(scores.flatten().index_select(0, places), lists, weights)

    def stays_on(self, device: torch.device) -> bool:
        """Return whether the loss of scores on ``device`` is computed there."""
        return device.type != "cpu" and on_device.has_terms(self.loss)

    def __repr__(self) -> str:
        return f"{self.loss!r}.as_torch()"

    def _checked(self, scores: Any, queries: Any, weights: Any) -> tuple[_Compute, QueryLists, np.ndarray | None]:
        """Return how and from what to compute; raise for inputs that do not match."""
        lists = lists_of(queries)
        if not isinstance(scores, torch.Tensor) or not scores.is_floating_point():
            kind = f"a tensor of {scores.dtype}" if isinstance(scores, torch.Tensor) else f"a {type(scores).__name__}"
            raise TypeError(f"scores are {kind}; a tensor of floating-point numbers is needed.")
        if tuple(scores.shape) != (lists.n_docs,):
            hint = " For a column of a net's output: scores.squeeze(-1)." if scores.dim() == 2 else ""
            raise ValueError(
                f"scores has shape {tuple(scores.shape)} but the queries have {lists.n_docs:,} documents.{hint}"
            )
        self.loss.check_labels(lists)
        compute = self._on_device if self.stays_on(scores.device) else self._on_host
        return compute, lists, None if weights is None else _of_queries(weights, lists)

    def _on_host(
        self, lists: QueryLists, weights: np.ndarray | None, scores: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        numbers = scores.detach().to(device="cpu", dtype=torch.float64).contiguous().numpy()
        if not np.isfinite(numbers).all():
            raise ValueError(f"scores has a NaN or an infinite value in row {int(np.argmin(np.isfinite(numbers)))}.")
        slope = np.empty(lists.n_docs)
        values = self.loss.query_values(numbers, lists, slope)
        if weights is not None:
            values = values * weights
            slope *= np.repeat(weights, np.diff(lists.indptr))
        value = torch.tensor(values.sum(), dtype=_at_least_single(scores.dtype), device=scores.device)
        return value, torch.from_numpy(slope).to(device=scores.device, dtype=value.dtype)

    def _on_device(
        self, lists: QueryLists, weights: np.ndarray | None, scores: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        scores = scores.detach().to(_at_least_single(scores.dtype))
        if weights is None:
            return on_device.value_and_slope(self.loss, scores, lists)
        counts = torch.from_numpy(weights).to(device=scores.device, dtype=scores.dtype)
        return on_device.value_and_slope(self.loss, scores, lists, counts)


def label_lists(labels: torch.Tensor, sizes: list[int]) -> QueryLists:
    """Return the lists of concatenated labels, ``sizes[q]`` of them for query ``q``."""
    numbers = labels.detach().to(device="cpu", dtype=torch.float64).numpy()
    indptr = bounds(sizes)
    if not np.isfinite(numbers).all():
        query = int(np.searchsorted(indptr, np.argmin(np.isfinite(numbers)), side="right")) - 1
        raise ValueError(f"labels has a NaN or an infinite value for query {query}; each must be a finite number.")
    return QueryLists(numbers, indptr)


def _row_order(queries: Queries | QueryLists, scores: torch.Tensor) -> torch.Tensor | None:
    """Return the row of each score after grouping by query; None if rows are grouped."""
    if isinstance(queries, QueryLists) or queries.is_grouped:
        return None
    return torch.from_numpy(queries.row_order).to(scores.device)


class _Value(torch.autograd.Function):
    """The value and its slope, from one pass by NumPy; only the value is differentiable."""

    @staticmethod
    def forward(scores, compute):
        return compute(scores)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(inputs[0], output[1])

    @staticmethod
    def backward(ctx, step, _):
        return None if step is None else _Slope.apply(*ctx.saved_tensors, step), None


class _Slope(torch.autograd.Function):
    """The slope times the incoming gradient; its derivative is an error, because it would not be 0 as of a constant."""

    @staticmethod
    def forward(scores, slope, step):
        return (slope * step).to(scores.dtype)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, pull):
        raise RuntimeError("losses can be differentiated once, not twice; see loss.curvature_product.")


def _of_queries(weights: Any, lists: QueryLists) -> np.ndarray:
    if isinstance(weights, torch.Tensor):
        if weights.requires_grad:
            raise ValueError("weights are constants and cannot be differentiated; pass weights.detach().")
        weights = weights.detach().cpu().double().numpy()
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != (lists.n_queries,):
        raise ValueError(f"weights has shape {weights.shape} but there are {lists.n_queries:,} queries.")
    if not np.isfinite(weights).all():
        query = int(np.argmin(np.isfinite(weights)))
        raise ValueError(f"weights has a NaN or an infinite value for query {query}; each must be a finite number.")
    return weights


def _at_least_single(dtype: torch.dtype) -> torch.dtype:
    return dtype if dtype in (torch.float32, torch.float64) else torch.float32
