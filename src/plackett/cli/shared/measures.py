"""Measures as users name them on the command line, and how their values look."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from plackett._tables import rounded


def parse_measures(texts: str | Sequence[str], option: str = "--metrics") -> list[str]:
    """The names of the measures, with commas or from an option given several times; a wrong one is wrong usage."""
    from plackett.metrics.measure import Measure, split_measures

    names = [name for text in ([texts] if isinstance(texts, str) else texts) for name in split_measures(text)]
    try:
        measures = {Measure.parse(name) for name in names}
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    if not names or len(measures) < len(names):
        raise typer.BadParameter(f"{option} names no measure, or one of them twice.")
    return names


def number(value: float) -> str:
    """Return the value of a measure with four decimal places; a dash for NaN."""
    return rounded(value)


def in_words(means: dict[str, float]) -> str:
    """``ndcg@10 0.5123, map 0.4310``."""
    return ", ".join(f"{name} {number(value)}" for name, value in means.items())
