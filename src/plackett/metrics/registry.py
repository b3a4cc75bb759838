"""The registry of measures: name, function and parameters. ``graded``, ``binary`` and ``order`` fill it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

Cutoff = Literal["none", "optional", "required"]


@dataclass(frozen=True)
class MeasureKind:
    """A family of measures such as NDCG; ``compute(lists, **parameters)`` returns a value per query, NaN if empty."""

    name: str
    aliases: tuple[str, ...]
    cutoff: Cutoff
    higher_is_better: bool
    compute: Callable[..., np.ndarray]
    defaults: dict[str, object] = field(default_factory=dict)


KINDS: dict[str, MeasureKind] = {}
ALIASES: dict[str, str] = {}


def measure_kind(name: str, *aliases: str, cutoff: Cutoff, higher_is_better: bool = True):
    """Register a function of ``(lists, *, ...)`` as the measure ``name``. Its keywords are the measure's parameters."""

    def register(compute: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
        keywords = [p for p in inspect.signature(compute).parameters.values() if p.kind is p.KEYWORD_ONLY]
        defaults = {p.name: p.default for p in keywords if p.name != "k"}
        KINDS[name] = MeasureKind(name, aliases, cutoff, higher_is_better, compute, defaults)
        for alias in (name, *aliases):
            ALIASES[alias] = name
        return compute

    return register
