"""Matplotlib figures as small, deterministic inline SVG.

Figures are drawn in placeholder colours, which become CSS variables of the page, so one figure serves light, dark
and print. Text stays text, in the font of the page. Matplotlib does not see names of contestants, whose letters may be
missing in its fonts: figures have placeholders for them.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from typing import Any

from plackett._optional import import_optional
from plackett._tables import for_display

N_SERIES = 8
LONGEST_ALT, LONGEST_NAME = 1000, 18

# placeholder colour -> CSS variable
INK, MUTED, RULE, GOOD, BAD = "#010101", "#010102", "#010103", "#010104", "#010105"
SERIES = [f"#0102{place:02x}" for place in range(1, N_SERIES + 1)]
_VARIABLES = {
    INK: "--ink",
    MUTED: "--muted",
    RULE: "--rule",
    GOOD: "--good",
    BAD: "--bad",
    **{colour: f"--s{place}" for place, colour in enumerate(SERIES, start=1)},
}
_STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "plackett",
    "text.parse_math": False,
    "font.size": 11,
    "axes.edgecolor": RULE,
    "axes.labelcolor": MUTED,
    "axes.labelsize": 11,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.unicode_minus": True,
    "axes.formatter.useoffset": False,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "xtick.color": RULE,
    "ytick.color": RULE,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": MUTED,
    "xtick.labelsize": 10,
    "ytick.labelsize": 10,
    "xtick.major.size": 3,
    "ytick.major.size": 0,
    "figure.facecolor": "none",
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
    "path.simplify": True,
}


@contextmanager
def drawing(width: int, height: int, *, left: float = 46, right: float = 10, top: float = 10, bottom: float = 38):
    """Yield a figure and its axes, with size and margins in pixels, in the style of this module."""
    matplotlib = import_optional("matplotlib", extra="report", needed_for="a report")
    figures = import_optional("matplotlib.figure", extra="report", needed_for="a report")
    with matplotlib.rc_context():  # restores the settings of the user
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        figure = figures.Figure(figsize=(width / 72, height / 72), dpi=72)
        box = (left / width, bottom / height, 1 - (left + right) / width, 1 - (top + bottom) / height)
        yield figure, figure.add_axes(box)


def name_of(place: int) -> str:
    """Return the placeholder for a name, counted from 0."""
    return f"@{place}@"


def shown_name(name: str) -> str:
    """Return a name as figures show it."""
    return for_display(name, LONGEST_NAME)


def inline_svg(figure: Any, key: str, alt: str, names: Sequence[str] = ()) -> str:
    """Return the figure as an ``<svg>`` element for a page with several figures.

    ``key`` is the prefix of all ids, unique in the page, ``alt`` the text alternative, and ``names`` are those that
    placeholders stand for.
    """
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Type": None, "Format": None})
    text = out.getvalue()
    view = re.search(r'viewBox="([^"]+)"', text)
    assert view is not None
    inside = text[text.index("<defs>", view.end()) :] if "<defs>" in text[view.end() :] else text[view.end() :]
    # a style sheet would apply to the whole page
    inside = re.sub(r"<style.*?</style>|<metadata>.*?</metadata>|<!--.*?-->|<defs>\s*</defs>", "", inside, flags=re.S)
    inside = _shorten(_rename_ids(inside, key))
    for colour, variable in _VARIABLES.items():
        inside = inside.replace(colour, f"var({variable})")
    inside = re.sub("@([0-9]+)@(?=</text>)", lambda match: _written(names[int(match[1])]), inside)
    label = escape(for_display(alt, LONGEST_ALT))
    return f'<svg class="plot" viewBox="{view[1]}" role="img" aria-label="{label}">{inside.strip()}'


def _written(name: str) -> str:
    """Return a name as the content of an SVG text, with the whole name as its tooltip if it is long."""
    shown, whole = shown_name(name), for_display(name)
    return escape(shown) if shown == whole else f"<title>{escape(whole)}</title>{escape(shown)}"


def _rename_ids(text: str, key: str) -> str:
    """Remove ids without references, and number the others with the prefix ``key``."""
    targets = dict.fromkeys(re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', text))
    numbers = {a or b: f"{key}-{place}" for place, (a, b) in enumerate(targets)}
    text = re.sub(r'\s+id="([^"]*)"', lambda m: f' id="{numbers[m[1]]}"' if m[1] in numbers else "", text)
    text = re.sub(r"url\(#([^)]+)\)", lambda m: f"url(#{numbers[m[1]]})", text)
    return re.sub(r'(?:xlink:)?href="#([^"]+)"', lambda m: f'href="#{numbers[m[1]]}"', text)


def _shorten(text: str) -> str:
    """Round to hundredths of a pixel, and remove fonts and empty groups."""
    text = re.sub(r"(\d+\.\d\d)\d+(?=[^<>]*>)", r"\1", text)
    text = re.sub(r" font-family: [^;\"]*;?|font: (?=[\d.]+px)", "", text)
    text = re.sub(r'style="([\d.]+px)[^;"]*', r'style="font-size: \1', text)
    text = re.sub(r' transform="rotate\(-0 [^"]*"', "", text)
    text = re.sub(r"\s*\n\s*", " ", text).replace("> <", "><")
    return re.sub(r"<g></g>|<defs></defs>", "", text)


def thinned(n: int, most: int) -> Iterator[int]:
    """Yield at most ``most`` of the places 0 .. n − 1, evenly spaced, including the first and the last."""
    if n <= most:
        yield from range(n)
    else:
        yield from (round(step * (n - 1) / (most - 1)) for step in range(most))
