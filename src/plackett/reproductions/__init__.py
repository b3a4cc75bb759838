"""Reproductions of papers: printed numbers, our numbers, and whether they agree."""

from __future__ import annotations

import difflib
import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from plackett.reproductions.base import Paper

# name on the command line -> module
PAPERS = {
    "featurerank": "plackett.reproductions.featurerank",
    "refinement": "plackett.reproductions.refinement",
    "p-listmle": "plackett.reproductions.p_listmle",
    "qsvm": "plackett.reproductions.qsvm.tables",
    "kernel-cs-listmle": "plackett.reproductions.kernel_cs_listmle.tables",
    "losses": "plackett.reproductions.losses",
    "ultra": "plackett.reproductions.ultra.tables",
}


def paper(name: str) -> Paper:
    """Return the reproduction with this name."""
    if name not in PAPERS:
        close = difflib.get_close_matches(name, PAPERS, n=1)
        hint = f" Did you mean {close[0]}?" if close else ""
        raise ValueError(f"there is no reproduction {name!r}.{hint} The reproductions are {', '.join(PAPERS)}.")
    return importlib.import_module(PAPERS[name]).PAPER
