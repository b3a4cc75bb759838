"""φ of scores that live on a device: ``transforms.Transform.log_and_slope`` as operations of PyTorch."""

from __future__ import annotations

import math

import torch

from plackett.losses import transforms

TRANSFORMS = (transforms.Exponential, transforms.Sigmoid, transforms.Probit, transforms.Linear)


def log_and_slope(transform: transforms.Transform, scores: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """``log φ`` of each score, and its derivative: ``Transform.log_and_slope`` on the device."""
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
        transform.log_and_slope(scores.double().cpu().numpy())  # says where and what to do
    return value.log(), transform.a / value
