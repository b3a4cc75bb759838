"""Run experiments that reproduce no paper with the options of ``plackett reproduce``.

``python -m benchmarks.experiments losses`` compares all losses on MQ2008, and ``ultra`` trains rankers on simulated
clicks.
"""

from __future__ import annotations

import sys

from plackett import reproductions

# name on the command line -> module
EXPERIMENTS = {"losses": "benchmarks.losses", "ultra": "benchmarks.ultra.tables"}


def main() -> None:
    reproductions.PAPERS.clear()
    reproductions.PAPERS.update(EXPERIMENTS)
    from plackett.cli import main  # which lists the names

    sys.argv[1:1] = ["reproduce"]
    main()


if __name__ == "__main__":
    main()
