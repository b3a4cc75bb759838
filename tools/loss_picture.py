"""Draw the slope of every loss on one small list, docs/images/losses.svg: python tools/loss_picture.py."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import plackett as pk

LABELS = [0, 2, 1, 0, 3, 0]  # in the order of the scores
SCORES = [1.5, 1.0, 0.5, 0.0, -0.5, -1.0]
TARGET = Path(__file__).resolve().parents[1] / "docs" / "images" / "losses.svg"
COLUMNS, WIDTH, HEIGHT = 5, 150, 104
STEP, BAR, LONGEST, MIDDLE = 21, 13, 28, 52


def picture() -> str:
    """Return the picture: a panel for each loss, a bar for each document, up where the loss raises the score."""
    queries = pk.Queries(np.zeros((len(LABELS), 1)), y=LABELS)
    own = [name for name in pk.losses.loss_names() if type(pk.losses.get_loss(name)).__module__.startswith("plackett.")]
    panels = [
        _panel(name, -pk.losses.get_loss(name).value_and_slope(SCORES, queries)[1], place)
        for place, name in enumerate(own)
    ]
    width, height = COLUMNS * WIDTH, -(-len(own) // COLUMNS) * HEIGHT
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif"'
        ' font-size="12">\n'
        f"<title>Minus the slope of each loss by the scores of six documents with labels {_spaced(LABELS)}</title>\n"
        f'<rect width="{width}" height="{height}" fill="#fff"/>\n' + "".join(panels) + "</svg>\n"
    )


def _panel(name: str, push: np.ndarray, place: int) -> str:
    heights = LONGEST * push / np.abs(push).max()
    lefts = [10 + STEP * document for document in range(len(LABELS))]
    bars = {True: "", False: ""}
    for left, height in zip(lefts, heights, strict=True):
        bars[bool(height > 0)] += f"M{left} {MIDDLE}v{-height:.1f}h{BAR}v{height:.1f}z"
    return (
        f'<g transform="translate({WIDTH * (place % COLUMNS)} {HEIGHT * (place // COLUMNS)})">'
        f'<text x="10" y="16" font-weight="bold">{name}</text>'
        f'<path fill="#1769aa" d="{bars[True]}"/><path fill="#c4501b" d="{bars[False]}"/>'
        f'<path stroke="#777" d="M6 {MIDDLE}h{STEP * len(LABELS)}"/>'
        f'<text x="{_spaced(left + 3 for left in lefts)}" y="{MIDDLE + LONGEST + 15}" fill="#555">'
        f"{''.join(map(str, LABELS))}</text></g>\n"
    )


def _spaced(values: object) -> str:
    return " ".join(map(str, values))  # type: ignore[call-overload]


if __name__ == "__main__":
    TARGET.write_text(picture(), encoding="utf-8")
