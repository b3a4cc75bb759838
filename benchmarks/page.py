"""The page of a benchmark run: how many times faster than peers, and the repeated times of each case, as charts."""

from __future__ import annotations

import math
from html import escape
from typing import Any

WIDTH, ROW, LEFT = 900, 22, 430  # pixels
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 960px; margin: 2em auto; padding: 0 1em }
body { color: #222; background: #fff }
svg { width: 100%; height: auto } svg text { font: 12px system-ui, sans-serif; fill: #222 }
.faster { fill: #2b6cb0 } .slower { fill: #c05621 } .grid { stroke: #ccc } .turn { fill: #2b6cb0; fill-opacity: .45 }
"""


def page(run: dict[str, Any]) -> str:
    """Return one HTML page without scripts and other files."""
    about = [
        *run["machine"].items(),
        ("plackett", f"{run['plackett']} {run['commit']}".strip()),
        ("measured", run["time"]),
    ]
    parts = [
        "<!doctype html><html lang='en'><meta charset='utf-8'><title>plackett benchmarks</title>",
        f"<style>{STYLE}</style><h1>Benchmarks</h1>",
        "<ul>" + "".join(f"<li>{escape(name)}: {escape(str(value))}</li>" for name, value in about) + "</ul>",
    ]
    peers = [row for row in run["peers"] if row["peer_seconds"]]
    if peers:
        parts += [
            "<h2>Compared with peers</h2><p>Their time (or memory) divided by plackett's, both of this run.</p>",
            _bars(peers),
        ]
    if run["cases"]:
        parts += [
            "<h2>Repeated times</h2><p>Every turn of each case, over its shortest: how noisy this run is.</p>",
            _turns(run["cases"]),
        ]
    return "\n".join(parts) + "\n"


def _bars(peers: list[dict[str, Any]]) -> str:
    ratios = [row["peer_seconds"] / row["seconds"] for row in peers]
    low, high = min(0.0, *map(math.log10, ratios)), max(1.0, *map(math.log10, ratios))

    def x(ratio: float) -> float:
        return LEFT + (WIDTH - LEFT - 60) * (math.log10(ratio) - low) / (high - low)

    marks = []
    for place, (row, ratio) in enumerate(zip(peers, ratios, strict=True)):
        start, end = sorted((x(1.0), x(ratio)))
        kind = "faster" if ratio >= 1 else "slower"
        where = f"x='{start:.1f}' y='{place * ROW + 4}' width='{max(end - start, 1):.1f}' height='{ROW - 8}'"
        bar = f"<rect class='{kind}' {where}/>"
        text = f"<text x='{end + 4:.1f}' y='{place * ROW + 15}'>{ratio:.3g} ×</text>"
        marks.append(_label(f"{row['what']} / {row['peer']}", place) + bar + text)
    return _svg(marks, x(1.0), "times faster than peers")


def _turns(cases: dict[str, dict[str, list[float]]]) -> str:
    highest = max(1.1, *(max(times["seconds"]) / min(times["seconds"]) for times in cases.values()))
    highest = min(highest, 2.0)  # the times beyond are drawn at the edge

    def x(ratio: float) -> float:
        return LEFT + (WIDTH - LEFT - 80) * (min(ratio, highest) - 1) / (highest - 1)

    marks = []
    for place, (name, times) in enumerate(cases.items()):
        best = min(times["seconds"])
        dots = "".join(
            f"<circle class='turn' cx='{x(s / best):.1f}' cy='{place * ROW + 11}' r='4'/>" for s in times["seconds"]
        )
        duration = f"{best:.3g} s" if best >= 1 else f"{best * 1e3:.3g} ms"
        shown = f"<text x='{WIDTH - 70}' y='{place * ROW + 15}'>{duration}</text>"
        marks.append(_label(name, place) + dots + shown)
    return _svg(marks, x(1.0), f"times of each turn over the shortest, up to {highest:.2g}")


def _label(text: str, place: int) -> str:
    short = text if len(text) <= 68 else text[:67] + "…"
    where = f"x='{LEFT - 10}' y='{place * ROW + 15}' text-anchor='end'"
    return f"<text {where}>{escape(short)}<title>{escape(text)}</title></text>"


def _svg(marks: list[str], origin: float, label: str) -> str:
    height = ROW * len(marks)
    line = f"<line class='grid' x1='{origin:.1f}' x2='{origin:.1f}' y1='0' y2='{height}'/>"
    return f"<svg viewBox='0 0 {WIDTH} {height}' role='img' aria-label='{escape(label)}'>{line}{''.join(marks)}</svg>"
