"""Reproductions of papers: printed numbers, our numbers, and whether they agree."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from plackett._names import did_you_mean, similar_names
from plackett.exceptions import UnknownNameError

if TYPE_CHECKING:
    from plackett.reproductions.base import Paper

# name on the command line -> module
PAPERS = {
    "featurerank": "plackett.reproductions.featurerank",
    "refinement": "plackett.reproductions.refinement",
    "p-listmle": "plackett.reproductions.p_listmle",
    "qsvm": "plackett.reproductions.qsvm.tables",
    "kernel-cs-listmle": "plackett.reproductions.kernel_cs_listmle.tables",
}


def paper(name: str) -> Paper:
    """Return the reproduction with this name."""
    if name not in PAPERS:
        close = similar_names(name, PAPERS, n=1)
        advice = f".{did_you_mean(close)} The reproductions are {', '.join(PAPERS)}."
        raise UnknownNameError(f"there is no reproduction {name!r}", advice, list(PAPERS), close)
    return importlib.import_module(PAPERS[name]).PAPER
