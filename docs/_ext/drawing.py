"""Run the code of a picture and return its figure."""

from __future__ import annotations

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt

STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "plackett",
    "font.size": 11,
    "figure.figsize": (7.2, 3.6),
    "figure.constrained_layout.use": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def draw(code, name, path=None):
    """Run code, and write the figure that it leaves to a file if a path is given."""
    with mpl.rc_context(STYLE):
        plt.close("all")
        exec(compile(code, name, "exec"), {})
        if not plt.get_fignums():
            raise ValueError(f"{name}: the code draws no figure")
        if path is not None:
            plt.gcf().savefig(path, metadata={"Date": None})
        plt.close("all")
