"""ListMLE and p-ListMLE on CUDA by one kernel, where Triton is installed: it comes with PyTorch for CUDA on Linux.

The operations of ``on_device`` give the same numbers everywhere else, by some thirty launches in the place of one.
"""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

import numpy as np
import torch

from plackett.data.queries import QueryLists
from plackett.losses import listmle, transforms
from plackett.losses.backends.log_transforms import log_and_slope
from plackett.losses.backends.segments import to_device, to_index


def values_and_slope(loss: Any, scores: torch.Tensor, lists: QueryLists) -> tuple[torch.Tensor, torch.Tensor] | None:
    """The loss of each query and the slope by each score; None where the kernel cannot be had, or is not for this."""
    if type(loss) not in (listmle.ListMLE, listmle.PListMLE) or loss._is_efron or lists.n_docs == 0:
        return None
    kernel = _kernel(scores.device) if scores.is_cuda else None
    longest = lists.keep("longest", lambda: int(np.diff(lists.indptr).max()))
    if kernel is None or longest > kernel.LONGEST:
        return None
    if isinstance(loss, listmle.ListMLE) and not loss._is_plain:
        logs, inner = log_and_slope(transforms.get_transform(loss.transform), scores)
        values, slope = kernel.values_and_slope(logs, *_labels(loss, logs, lists), longest)
        return values, slope * inner
    return kernel.values_and_slope(scores.contiguous(), *_labels(loss, scores, lists), longest)


def _labels(loss: Any, like: torch.Tensor, lists: QueryLists) -> tuple[torch.Tensor, ...]:
    """Order, bounds, and the weight and mass of each place; drawn anew where ties are."""

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
def _kernel(device: torch.device) -> ModuleType | None:
    """The kernel, tried once on a list of two documents: Triton may lack a compiler, or not know the device."""
    try:
        from plackett.losses.backends import triton as _triton

        one = torch.ones(2, device=device)
        order, indptr = torch.tensor([0, 1], device=device), torch.tensor([0, 2], device=device)
        values, _ = _triton.values_and_slope(one, order, indptr, one, one, longest=2)
        return _triton if bool(values.isfinite().all()) else None
    except Exception:  # whatever it is, ``on_device`` does without
        return None
