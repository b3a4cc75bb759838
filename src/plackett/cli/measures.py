"""Measures as users name them on the command line, and how their values look."""

from __future__ import annotations

import math

import typer


def parse_measures(text: str, option: str = "--metrics") -> list[str]:
    """The names of the measures; a wrong one is wrong usage."""
    from plackett.metrics.measure import Measure, split_measures

    names = split_measures(text)
    try:
        measures = {Measure.parse(name) for name in names}
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    if not names or len(measures) < len(names):
        raise typer.BadParameter(f"{option} names no measure, or one of them twice.")
    return names


def number(value: float) -> str:
    """The value of a measure with four digits, or a dash where there is none."""
    return "-" if math.isnan(value) else f"{value:.4f}"


def in_words(means: dict[str, float]) -> str:
    """``ndcg@10 0.5123, map 0.4310``."""
    return ", ".join(f"{name} {number(value)}" for name, value in means.items())
