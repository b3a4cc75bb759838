"""The result of a comparison at a glance: what is best, by how much, above which floor, and where it loses."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

from plackett._tables import for_display, p_value, signed
from plackett.evaluation.compare.comparison import Comparison
from plackett.evaluation.reference_scores import BEST_FEATURE, RANDOM_ORDER
from plackett.evaluation.significance import TIE, Difference
from plackett.evaluation.slicing import OTHERS, UNKNOWN, Slice, slices
from plackett.validation import count_of

SHORT = 60  # characters of a name


class Card(NamedTuple):
    """A number at the head of the page: its heading, value and explanation; ``tone`` is "up", "down" or empty."""

    heading: str
    value: str
    words: str
    tone: str = ""


def recommendation(comparison: Comparison) -> str:
    """Return in one sentence which contestant to use; empty if there is nothing to choose from.

    A baseline that the user named is kept unless another contestant is significantly better.
    """
    ranked, baseline = comparison.ranked(), comparison.baseline
    if len(ranked) < 2 or math.isnan(comparison.mean()[ranked[0]][comparison.metrics[0]]):
        return ""
    pairs = {pair.a: pair for pair in comparison.differences(against=baseline)}
    n_others = count_of(len(ranked) - 1, f"other {comparison.kind}")
    of_these = f"none of the {n_others}" if len(ranked) > 2 else f"the other {comparison.kind}"
    if ranked[0] == baseline:
        level = [name for name in ranked[1:] if not pairs[name].is_significant]
        if not level:
            return f"Use {baseline}: it is significantly better than {of_these.replace('none of', 'each of')}."
        which = level[0] if len(level) == 1 else f"{level[0]} and {count_of(len(level) - 1, 'other')}"
        return f"Use {baseline}, or by cost {which}: no significant difference was found."
    sure = [name for name in ranked if name in pairs and comparison.is_better(pairs[name])]
    if sure:
        return f"Use {sure[0]}: it is significantly better than the baseline {baseline}."
    does = "is" if len(ranked) > 2 else "is not"
    return f"Keep {baseline}: {of_these} {does} significantly better; {ranked[0]} has the best mean."


def cards(comparison: Comparison, *, groups: Mapping[Hashable, Any] | None = None) -> list[Card]:
    """Return the cards of a comparison by its first measure."""
    metric = comparison.metrics[0]
    if not comparison.tables:
        return []
    best, means = comparison.best(), comparison.mean()
    if math.isnan(means[best][metric]):
        return []
    rivals = f", of {len(comparison)} {comparison.kind}s" if len(comparison) > 1 else ""
    first = Card(f"Best by {metric}", for_display(best, SHORT), f"{means[best][metric]:.4f}{rivals}")
    return [first, *_lead(comparison), *_floor(comparison, best), *_losses(comparison, groups)]


def _lead(comparison: Comparison) -> list[Card]:
    if len(comparison) < 2:
        return []
    a, b = comparison.sides()
    pair = comparison.difference(b, a)
    words = "significant" if pair.is_significant else "not significant"
    detail = f"interval {signed(pair.low)} to {signed(pair.high)}, corrected p {p_value(pair.p_random_holm)}"
    if math.isnan(pair.low):
        words, detail = "not tested", "too few queries"
    who = "the baseline" if a == comparison.baseline else "the runner-up"
    heading = f"Against {who} {for_display(a, SHORT)}"
    return [Card(heading, signed(pair.mean), f"{words}; {detail}", _tone(comparison, pair))]


def _tone(comparison: Comparison, pair: Difference) -> str:
    return "" if not pair.is_significant else "up" if comparison.is_better(pair) else "down"


def _floor(comparison: Comparison, best: str) -> list[Card]:
    """Return the difference of the best contestant from a ranking without learning."""
    metric = comparison.metrics[0]
    means = {name: table.mean()[metric] for name, table in comparison.reference_scores.items()}
    name = BEST_FEATURE if BEST_FEATURE in means else RANDOM_ORDER if RANDOM_ORDER in means else ""
    if not name:
        return []
    pair = next(pair for pair in comparison.differences(against=name) if pair.a == best)
    words = f"{'significant' if pair.is_significant else 'not significant'}; {name} {means[name]:.4f}"
    if name == BEST_FEATURE and RANDOM_ORDER in means:
        words += f", {RANDOM_ORDER} {means[RANDOM_ORDER]:.4f}"
    is_above = (pair.mean > 0) == comparison.is_higher_better(metric)
    where = "Level with" if abs(pair.mean) <= TIE else "Above" if is_above else "Below"
    return [Card(f"{where} the {name}", signed(pair.mean), words, _tone(comparison, pair))]


def _losses(comparison: Comparison, groups: Mapping[Hashable, Any] | None) -> list[Card]:
    """Return the number of queries on which the best contestant is worse, and the slice where it loses most."""
    if len(comparison) < 2:
        return []
    a, b = comparison.sides()
    pair = comparison.difference(b, a)
    n_counted = pair.wins + pair.ties + pair.losses
    words = f"better on {pair.wins:,}, equal on {pair.ties:,}"
    sign = comparison.sign(pair.metric)
    found = [one for one in slices(comparison, a, b, groups=groups) if not math.isnan(one.difference)]
    if found:
        worst = min(found, key=lambda one: sign * one.difference)
        where = f"loses most on {_queries_of(worst)} ({signed(worst.difference)} on average)"
        words += f"; {where}" if sign * worst.difference < -TIE else "; on average worse in no slice"
    return [Card("Worse on", f"{pair.losses:,} of {count_of(n_counted, 'query', 'queries')}", words)]


def _queries_of(part: Slice) -> str:
    """Return in words what the queries of a slice have in common."""
    name = for_display(part.name, SHORT)
    documents = "document" if name == "1" else "documents"
    words = {
        "list length": f"lists of {name} {documents}",
        "relevant documents": f"queries with {name} relevant {documents}",
        "share of relevant": f"queries with {name} relevant documents",
        "highest label": f"queries with the highest label {name}",
    }
    groups = {UNKNOWN: "queries without a group", OTHERS: "queries of small groups"}
    return words.get(part.by) or groups.get(part.name, f"queries of the group {name}")
