"""Names that the shell completes: rankers, measures, conventions and data sets, and files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from glob import escape, glob
from importlib import import_module
from typing import Any

Pairs = list[tuple[str, str]]


def items(pairs: Iterable[tuple[str, str]]) -> list[Any]:
    """Return names with their texts as the items of a completion."""
    try:
        module = import_module("typer._click.shell_completion")
    except ImportError:  # older versions of typer need click
        module = import_module("click.shell_completion")
    return [module.CompletionItem(name, help=text) for name, text in pairs]


def _last_of_list(names: Callable[[], Pairs]) -> Callable[[str], Pairs]:
    """Return a completion of the last name in a list with commas."""

    def complete(incomplete: str) -> Pairs:
        before, comma, last = incomplete.rpartition(",")
        taken = set(before.split(","))
        return [
            (f"{before}{comma}{name}", text) for name, text in names() if name.startswith(last) and name not in taken
        ]

    return complete


def _rankers() -> Pairs:
    from plackett.rankers.registry import ENTRIES

    return [(name, entry.description) for name, entry in ENTRIES.items()]


def _measures() -> Pairs:
    from plackett.metrics.registry import KINDS

    cut = [(f"{name}@10", "") for name, kind in KINDS.items() if kind.cutoff != "none"]
    return [*((name, "") for name in KINDS), *cut]


def _conventions() -> Pairs:
    from plackett.metrics.conventions import CONVENTIONS

    return [(name, "") for name in CONVENTIONS]


def data(incomplete: str) -> Pairs:
    """Return known data sets and files."""
    from plackett.data.datasets.catalogue import catalogue

    known = dict.fromkeys(dataset.name for dataset in catalogue())
    files = [f"{path}/" if os.path.isdir(path) else path for path in sorted(glob(f"{escape(incomplete)}*"))]
    return [*((name, "a known set") for name in known if name.startswith(incomplete)), *((path, "") for path in files)]


def papers(incomplete: str) -> Pairs:
    """Return the papers of ``plackett reproduce``."""
    from plackett.reproductions import PAPERS

    return [(name, "") for name in PAPERS if name.startswith(incomplete)]


rankers = _last_of_list(_rankers)
measures = _last_of_list(_measures)
conventions = _last_of_list(_conventions)
