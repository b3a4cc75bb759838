"""RankLib's text of a linear regression: ``0:constant 1:weight 2:weight …``, features counted from 1.

Of RankLib's models this is the one that is linear in the raw features and has a constant: the score is
``constant + Σ_j w_j x_j`` in float64, the features being read as float32. (A coordinate ascent is the same
without a constant.) RankLib scales features within each list if asked to, never over all rows, so that the scaling of
the ranker is folded into the weights: exact but for rounding.
"""

from __future__ import annotations

import numpy as np

from plackett.exports.form import LinearForm


def write_ranklib(form: LinearForm) -> str:
    """A model file for RankLib's ``-load`` and for the type ``model/ranklib`` of search engines."""
    with np.errstate(over="ignore", invalid="ignore"):
        weights, constant = form.folded()
    if not np.isfinite([*weights, constant]).all():
        raise ValueError(
            f"the scales of this {form.ranker} are so small that its weights, divided by them, grow beyond all "
            "numbers. Scale the columns before training."
        )
    pairs = " ".join(f"{feature}:{weight!r}" for feature, weight in enumerate([constant, *weights.tolist()]))
    return f"## Linear Regression\n## {form.ranker} by plackett\n{pairs}\n"


def score_ranklib(content: str, X: np.ndarray) -> np.ndarray:
    """What RankLib makes of rows: lines that begin with ## are passed over, key 0 is the constant."""
    (line,) = (line for line in content.splitlines() if line.strip() and not line.startswith("##"))
    by_key = {int(key): float(value) for key, _, value in (pair.partition(":") for pair in line.split())}
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is reported later
        values = X.astype(np.float32).astype(np.float64)
        scores = np.full(X.shape[0], by_key.pop(0))
        for key, weight in by_key.items():
            scores += weight * values[:, key - 1]
    return scores
