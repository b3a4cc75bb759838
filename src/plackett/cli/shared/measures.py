"""Parsing and formatting measures."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from plackett._tables import rounded
from plackett.exceptions import UnknownNameError

if TYPE_CHECKING:
    from plackett.metrics.measure import Measure


def parse_measures(texts: str | Sequence[str], option: str = "--metrics") -> list[str]:
    """Return the names of the measures, comma-separated or repeated; raise for unknown ones and duplicates.

    A name ``module:name`` is a user-defined measure.
    """
    from plackett.metrics.measure import split_measures

    names = [name for text in ([texts] if isinstance(texts, str) else texts) for name in split_measures(text)]
    for name in names:
        _register_own(name, option)
    measures = {_parsed(name, option) for name in names}
    if not names or len(measures) < len(names):
        raise click.UsageError(f"{option}: give at least one measure, and each one once.")
    return names


def _parsed(name: str, option: str) -> Measure:
    from plackett.metrics.measure import Measure

    try:
        return Measure.parse(name)
    except UnknownNameError:
        raise
    except (TypeError, ValueError) as error:
        raise click.UsageError(f"{option} {name}: {error}") from error


def _register_own(text: str, option: str) -> None:
    """Register the measure ``module:name``, with or without a cut-off and parameters, under that name."""
    from plackett.cli.shared import own_parts

    name = re.split(r"[@(]", text, maxsplit=1)[0].strip()
    if not own_parts.is_own(name):
        return
    from plackett.metrics.measure import Measure
    from plackett.metrics.own import own_kind, register_kind

    found = own_parts.load(name, option)
    try:
        kind = found.kind if isinstance(found, Measure) else own_kind(found)
    except (TypeError, ValueError) as error:
        raise click.UsageError(f"{option} {name}: {error}") from error
    register_kind(dataclasses.replace(kind, name=name))


def need_subtopics(names: Sequence[str]) -> bool:
    """Return whether one of the measures needs the subtopics of documents."""
    from plackett.metrics.measure import Measure

    return any(Measure.parse(name).kind.needs_subtopics for name in names)


def in_words(means: dict[str, float]) -> str:
    """Return means like ``ndcg@10 0.5123, map 0.4310``."""
    return ", ".join(f"{name} {rounded(value)}" for name, value in means.items())
