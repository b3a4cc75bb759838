"""Names that the shell completes: rankers, measures, methods, data sets and others, and files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from glob import escape, glob
from importlib import import_module
from pathlib import Path
from typing import Any

from click.shell_completion import CompletionItem

Pairs = list[tuple[str, str]]
Names = str | Iterable[str]  # names, or the constant or function of a module that has them
STARTS = {"bash": ".bashrc", "zsh": ".zshrc", "fish": ".config/fish/completions/plackett.fish"}


def items(pairs: Iterable[tuple[str, str]]) -> list[CompletionItem]:
    """Return names with their texts as the items of a completion."""
    return [CompletionItem(name, help=text or None) for name, text in pairs]


def of_param(complete: Callable[[str], Pairs]) -> Callable[..., list[CompletionItem]]:
    """Return a completion as click calls it."""
    return lambda ctx, param, incomplete: items(complete(incomplete))


def install(shell: str) -> str:
    """Add the completion to the start-up file of a shell, and return a sentence about it."""
    path = Path.home() / STARTS[shell]
    line = f'eval "$(_PLACKETT_COMPLETE={shell}_source plackett)"\n'
    if shell == "fish":
        line = "_PLACKETT_COMPLETE=fish_source plackett | source\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    if line not in before:
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{'' if before.endswith(chr(10)) or not before else chr(10)}{line}")
    return f"completion for {shell} is in {path}; it works in new terminals."


def _last_of_list(names: Callable[[], Pairs]) -> Callable[[str], Pairs]:
    """Return a completion of the last name in a list with commas."""

    def complete(incomplete: str) -> Pairs:
        before, comma, last = incomplete.rpartition(",")
        taken = set(before.split(","))
        return [
            (f"{before}{comma}{name}", text) for name, text in names() if name.startswith(last) and name not in taken
        ]

    return complete


def _measures() -> Pairs:
    from plackett.metrics.measure import KINDS

    texts = {name: _first_line(kind.function) for name, kind in KINDS.items()}
    cut = [(f"{name}@10", texts[name]) for name, kind in KINDS.items() if kind.cutoff != "none"]
    return [*((name, text) for name, text in texts.items() if KINDS[name].cutoff != "required"), *cut]


def _first_line(function: Any) -> str:
    return (function.__doc__ or "").partition("\n")[0].removeprefix("Return ").replace("``", "")


def known_names(names: Names) -> dict[str, str]:
    """Return names with their texts; those of a constant or a function, written ``module:NAME``, are imported."""
    if isinstance(names, str):
        module, _, name = names.partition(":")
        found = getattr(import_module(module), name)
        names = found() if callable(found) else found
    about = names if isinstance(names, Mapping) else {}
    return {name: getattr(about.get(name), "summary", getattr(about.get(name), "description", "")) for name in names}


def of_names(names: Names) -> Callable[[str], Pairs]:
    """Return a completion of these names."""
    return _last_of_list(lambda: [*known_names(names).items()])


def _sets(kind: str, *others: str) -> Callable[[str], Pairs]:
    """Return a completion of known sets of a kind, and of files."""

    def complete(incomplete: str) -> Pairs:
        from plackett.data.datasets.catalogue import catalogue

        known = dict.fromkeys([*others, *(dataset.name for dataset in catalogue() if dataset.kind == kind)])
        return [*((name, "a known set") for name in known if name.startswith(incomplete)), *files(incomplete)]

    return complete


def files(incomplete: str) -> Pairs:
    """Return files and folders."""
    paths = sorted(glob(f"{escape(incomplete)}*"))
    return [(f"{path}/" if os.path.isdir(path) else path, "") for path in paths]


rankers = of_names("plackett.rankers.registry:ENTRIES")
losses = of_names("plackett.losses:loss_names")
measures = _last_of_list(_measures)
data = _sets("queries")
texts = _sets("text", "stdlib")
