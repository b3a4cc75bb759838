"""Adam (Kingma and Ba 2015). ``torch.optim`` would import a compiler first, which takes seconds."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

KEPT, KEPT_SQUARES = 0.9, 0.999  # of the running means of gradients and of their squares
LEAST = 1e-8


class Adam:
    """Steps against a running mean of the gradients, each scaled by its running root mean square.

    ``l2`` times the values of ``penalised`` tensors is added to their gradients.
    """

    def __init__(
        self, penalised: Sequence[torch.Tensor], free: Sequence[torch.Tensor], *, learning_rate: float, l2: float
    ):
        self._learning_rate, self._n_steps = learning_rate, 0
        largest = min((torch.finfo(weight.dtype).max for weight in (*penalised, *free)), default=math.inf)
        if max(learning_rate / (1.0 - KEPT), l2) > largest:
            raise FloatingPointError
        self._groups = [
            (weight, share, torch.zeros_like(weight), torch.zeros_like(weight))
            for weights, share in ((penalised, l2), (free, 0.0))
            for weight in weights
        ]

    @torch.no_grad()
    def step(self) -> None:
        """Move the weights by their ``grad``."""
        self._n_steps += 1
        rate = self._learning_rate / (1.0 - KEPT**self._n_steps)  # the divisors correct for means that began at 0
        root = math.sqrt(1.0 - KEPT_SQUARES**self._n_steps)
        for weight, l2, mean, square in self._groups:
            if weight.grad is None:
                continue
            gradient = weight.grad.add(weight, alpha=l2) if l2 else weight.grad
            mean.lerp_(gradient, 1.0 - KEPT)
            square.mul_(KEPT_SQUARES).addcmul_(gradient, gradient, value=1.0 - KEPT_SQUARES)
            weight.addcdiv_(mean, square.sqrt().div_(root).add_(LEAST), value=-rate)
