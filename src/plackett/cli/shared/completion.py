"""Names that the shell completes: rankers, measures, methods, data sets and others, and files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from glob import escape, glob
from importlib import import_module
from pathlib import Path
from typing import Any

from click.shell_completion import BashComplete, CompletionItem, add_completion_class

Pairs = list[tuple[str, str]]
BREAKS = set("@:=")  # what bash counts as words of their own
STARTS = {"bash": ".bashrc", "zsh": ".zshrc", "fish": ".config/fish/completions/plackett.fish"}


def items(pairs: Iterable[tuple[str, str]]) -> list[CompletionItem]:
    """Return names with their texts as the items of a completion."""
    return [CompletionItem(name, help=text or None) for name, text in pairs]


def of_param(complete: Callable[[str], Pairs]) -> Callable[..., list[CompletionItem]]:
    """Return a completion as click calls it."""
    return lambda ctx, param, incomplete: items(complete(incomplete))


class Bash(BashComplete):
    """Completes words that bash splits, such as ``ndcg@10``."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the last one, and the last one, as the user typed them."""
        words, last = super().get_completion_args()
        *words, joined = _joined([*words, last])
        # bash replaces the text after the last break, and with it the break itself if that is @
        self.kept = (joined if set(last) <= BREAKS else joined.removesuffix(last)).removesuffix("@")
        return words, joined

    def format_completion(self, item: CompletionItem) -> str:
        """Return the part of a name that bash inserts."""
        return f"{item.type},{item.value.removeprefix(self.kept)}"


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


def _joined(words: list[str]) -> list[str]:
    """Return the words that a user typed; an option and its value are separate words."""
    joined: list[str] = []
    is_open = False
    for word in words:
        is_break = bool(word) and set(word) <= BREAKS
        if is_break and word == "=" and joined and joined[-1].startswith("--"):
            joined.append("")
        elif joined and word and (is_break or is_open):
            joined[-1] += word
        else:
            joined.append(word)
        is_open = is_break
    return joined


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
    from plackett.metrics.measure import KINDS

    texts = {name: _first_line(kind.function) for name, kind in KINDS.items()}
    cut = [(f"{name}@10", texts[name]) for name, kind in KINDS.items() if kind.cutoff != "none"]
    return [*((name, text) for name, text in texts.items() if KINDS[name].cutoff != "required"), *cut]


def _first_line(function: Any) -> str:
    return (function.__doc__ or "").partition("\n")[0].removeprefix("Return ").replace("``", "")


def _conventions() -> Pairs:
    from plackett.metrics.conventions import CONVENTIONS

    return [(name, convention.summary) for name, convention in CONVENTIONS.items()]


def names_in(module: str, constant: str) -> Callable[[str], Pairs]:
    """Return a completion of names that a module holds in a constant, imported when it is used."""
    return _last_of_list(lambda: [(name, "") for name in getattr(import_module(module), constant)])


def of_names(names: Iterable[str]) -> Callable[[str], Pairs]:
    """Return a completion of these names."""
    return _last_of_list(lambda: [(name, "") for name in names])


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


def papers(incomplete: str) -> Pairs:
    """Return the papers of ``plackett reproduce``."""
    from plackett.reproductions import PAPERS

    return [(name, "") for name in PAPERS if name.startswith(incomplete)]


rankers = _last_of_list(_rankers)
measures = _last_of_list(_measures)
conventions = _last_of_list(_conventions)
data = _sets("queries")
texts = _sets("text", "stdlib")
add_completion_class(Bash)
