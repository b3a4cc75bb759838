"""The directives ``{rooms}``, a map of the packages drawn from their imports, and ``{walks}``, the files of a call."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import defaultdict
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "plackett"
BASE = "base modules"  # the modules that are in no package
WIDTH, HEIGHT, GAP, LAYER = 128, 40, 16, 84  # pixels


def room_of(module: str) -> str | None:
    """Return the package of a module; None for modules of names only."""
    parts = module.split(".")
    if parts[1:2] in ([], ["datasets"], ["preprocessing"], ["__main__"]):
        return None
    if parts[1] == "apps":
        return ".".join(parts[1:3])
    return parts[1] if (PACKAGE / parts[1]).is_dir() and parts[1] != "_native" else BASE


def imported() -> tuple[dict[str, set[str]], dict[str, int]]:
    """Return the packages that each package imports, and its lines of Python."""
    found: dict[str, set[str]] = defaultdict(set)
    n_lines: dict[str, int] = defaultdict(int)
    for path in PACKAGE.rglob("*.py"):
        own = room_of(".".join(["plackett", *path.relative_to(PACKAGE).with_suffix("").parts]))
        if own in (None, "apps.__init__"):
            continue
        text = path.read_text(encoding="utf-8")
        n_lines[own] += len(text.splitlines())
        tree = ast.parse(text)
        for_types = {
            node
            for test in ast.walk(tree)
            if isinstance(test, ast.If) and "TYPE_CHECKING" in ast.unparse(test.test)
            for node in ast.walk(test)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node not in for_types and str(node.module).startswith("plackett."):
                found[own] |= {room_of(node.module)} - {own, None}
    return found, n_lines


def reduced(graph: dict[str, set[str]]) -> tuple[dict[str, set[str]], dict[str, int]]:
    """Return the arrows that no longer path replaces, and the layer of each package: 0 imports nothing."""
    layer: dict[str, int] = {}

    def place(room: str) -> int:
        if room not in layer:
            layer[room] = 1 + max((place(other) for other in graph[room]), default=-1)
        return layer[room]

    def below(room: str) -> set[str]:
        return set().union(*({other} | below(other) for other in graph[room]))

    for room in list(graph):
        place(room)
    arrows = {room: others - set().union(*(below(other) for other in others)) for room, others in graph.items()}
    return arrows, layer


def drawing() -> str:
    """Return the map as SVG: what a package imports is below it."""
    graph, n_lines = imported()
    for room in n_lines:
        graph.setdefault(room, set())
    arrows, layer = reduced(graph)
    layers = [sorted(room for room in layer if layer[room] == depth) for depth in range(max(layer.values()) + 1)]
    wide = max(map(len, layers)) * (WIDTH + GAP) + 120
    high = len(layers) * LAYER - (LAYER - HEIGHT) + 8
    centre = {
        room: (wide / 2 + (place - (len(rooms) - 1) / 2) * (WIDTH + GAP), high - 4 - HEIGHT / 2 - depth * LAYER)
        for depth, rooms in enumerate(layers)
        for place, room in enumerate(rooms)
    }
    parts = []
    for room, others in arrows.items():
        x, y = centre[room]
        for number, other in enumerate(sorted(others)):
            to_x, to_y = centre[other]
            # an arrow over several layers leaves the column of boxes at its side
            side = 0 if layer[room] - layer[other] == 1 else (WIDTH * 0.62 + 7 * number) * (1 if to_x >= x else -1)
            middle = (x + to_x) / 2 + side
            top, bottom = y + HEIGHT / 2, to_y - HEIGHT / 2
            curve = f"C{middle:.0f} {top + 30:.0f} {middle:.0f} {bottom - 30:.0f} {to_x:.0f} {bottom:.0f}"
            parts.append(f'<path d="M{x:.0f} {top:.0f}{curve}"/>')
    for room, (x, y) in centre.items():
        parts.append(
            f'<rect x="{x - WIDTH / 2:.0f}" y="{y - HEIGHT / 2:.0f}" width="{WIDTH}" height="{HEIGHT}" rx="7"/>'
            f'<text x="{x:.0f}" y="{y - 2:.0f}">{escape(room)}</text>'
            f'<text class="size" x="{x:.0f}" y="{y + 13:.0f}">{n_lines[room]:,} lines</text>'
        )
    label = "; ".join(
        f"{room} imports {', '.join(sorted(others))}" for room, others in sorted(arrows.items()) if others
    )
    about = f'class="rooms" viewBox="0 0 {wide:.0f} {high:.0f}" role="img" aria-label="{escape(label)}"'
    return f"<svg {about}>{''.join(parts)}</svg>"


class Rooms(SphinxDirective):
    """Draw the map anew at each build."""

    def run(self):
        for path in PACKAGE.rglob("*.py"):
            self.env.note_dependency(str(path))
        return [nodes.raw("", drawing(), format="html")]


class Walks(SphinxDirective):
    """List the files that calls pass, as ``tools/walk.py`` prints them; the content has its entries."""

    has_content = True

    def run(self):
        command = [sys.executable, str(PACKAGE.parents[1] / "tools" / "walk.py"), *" ".join(self.content).split()]
        printed = subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout
        found = nodes.definition_list(classes=["walks"])
        for line in printed.splitlines():
            about, _, files = line.partition("): ")
            name, _, counts = about.partition(" (")
            paths = [part for path in files.split(", ") for part in (nodes.literal("", path), nodes.Text(", "))][:-1]
            term = nodes.term("", "", nodes.literal("", name), nodes.Text(f": {counts}"))
            found += nodes.definition_list_item("", term, nodes.definition("", nodes.paragraph("", "", *paths)))
        return [found]


def setup(app):
    app.add_directive("rooms", Rooms)
    app.add_directive("walks", Walks)
    return {"parallel_read_safe": True}
