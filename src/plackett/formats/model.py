"""What the file of a model of another tool holds, in arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plackett.scorers.trees import FlatTrees


@dataclass(kw_only=True)
class ToolModel:
    """Scores ``(start + Σ_t tree_t(x)) * scale + bias``, or without trees ``start + Σ_j coef_j x_j``.

    ``names`` are those of the features; ``has_missing`` says whether splits have learned where missing values go,
    ``is_single`` whether the tool adds up in single precision, and ``ignores_further_columns`` that the file does not
    say how many features there are.
    """

    tool: str
    objective: str
    trees: FlatTrees | None = None
    coef: np.ndarray | None = None
    start: float = 0.0
    scale: float = 1.0
    bias: float = 0.0
    is_single: bool = False
    has_missing: bool = False
    names: list[str] | None = None
    first_index: int | None = None
    ignores_further_columns: bool = False
    categories: dict[int, np.ndarray] | None = None
