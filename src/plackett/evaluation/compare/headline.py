"""The result of a comparison in a few sentences: the best ranker, its lead, and the best single feature."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from plackett.evaluation.reference_scores import BEST_FEATURE
from plackett.metrics.measure import Measure

if TYPE_CHECKING:
    from plackett.evaluation.compare.comparison import Comparison
    from plackett.evaluation.compare.differences import Difference

LEVEL = 0.05  # of significance, after correction
MOST_NAMES = 6
LONGEST_NAME = 80


def headline(comparison: Comparison) -> list[str]:
    """Sentences by the first measure. "Significant" refers to corrected p-values of the randomisation test."""
    if not comparison.tables:
        return ["No ranker finished."]
    metric, best = comparison.metrics[0], comparison.best()
    value = comparison.mean()[best][metric]
    sentences = [f"{_cut(best)} is the best by {metric}" + ("." if math.isnan(value) else f", with {value:.4f}.")]
    if len(comparison.tables) == 1:
        sentences = [f"{_cut(best)} reaches {value:.4f} by {metric}."] if not math.isnan(value) else sentences
    else:
        sentences += _lead(comparison, best)
    return [*sentences, *_over_the_floor(comparison, metric)]


def is_significant(pair: Difference) -> bool:
    """Whether chance is ruled out, after correction; where there is no p-value, it is not."""
    return pair.p_random_holm <= LEVEL


def not_above(comparison: Comparison, metric: str) -> list[str]:
    """The contestants that are not significantly better than the best single feature."""
    is_higher = Measure.parse(metric).higher_is_better
    pairs = comparison.differences(metric, against=BEST_FEATURE)
    return [pair.a for pair in pairs if not (is_significant(pair) and (pair.mean > 0) == is_higher)]


def listed(names: Sequence[str]) -> str:
    """``a, b and c``; of many the first few."""
    some = [_cut(name) for name in names]
    if len(some) > MOST_NAMES:
        some = [*some[: MOST_NAMES - 1], f"{len(some) - MOST_NAMES + 1} others"]
    return " and ".join([", ".join(some[:-1]), some[-1]] if len(some) > 1 else some)


def _lead(comparison: Comparison, best: str) -> list[str]:
    pairs = comparison.differences(against=best)
    equals = [pair.a for pair in pairs if not is_significant(pair)]
    others = "the other one" if len(pairs) == 1 else f"each of the {len(pairs)} others"
    if not equals:
        sentences = [f"Its lead over {others} is significant (p ≤ {LEVEL})."]
    elif len(equals) == len(pairs):
        sentences = [f"Its lead over {others} is not significant."]
    else:
        sentences = [f"Its lead over {listed(equals)} is not significant."]
    if comparison.baseline != best:
        pair = next(pair for pair in pairs if pair.a == comparison.baseline).reversed()
        gap = f"{pair.mean:+.4f}, interval {pair.low:+.4f} to {pair.high:+.4f}, corrected p {pair.p_random_holm:.4f}"
        sentences.append(f"Against the baseline {_cut(pair.b)}: {gap}.")
    return sentences


def _over_the_floor(comparison: Comparison, metric: str) -> list[str]:
    """Whether the rankers are better than the best feature, which is named."""
    if BEST_FEATURE not in comparison.floors:
        return []
    floor = comparison.floors[BEST_FEATURE]
    features = floor.best_features.get(metric, "").split("; ")
    which = f"{len(features)} in {comparison.n_folds} folds" if len(features) > 2 else _cut("; ".join(features))
    words = f"the best single feature ({which + ', ' if which else ''}{floor.mean()[metric]:.4f})"
    below = not_above(comparison, metric)
    if not below:
        who = "Every ranker is" if len(comparison.tables) > 1 else "It is"
        return [f"{who} significantly better than {words}."]
    if len(below) == len(comparison.tables) > 1:
        return [f"No ranker is significantly better than {words}."]
    return [f"{listed(below)} {'is' if len(below) == 1 else 'are'} not significantly better than {words}."]


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
