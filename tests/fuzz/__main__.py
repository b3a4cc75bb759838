"""Mutate files of a kind and count the outcomes of reading them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import tests.fuzz
from tests.fuzz.runner import FINE, kind_names, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=tests.fuzz.__doc__.splitlines()[0])
    parser.add_argument("kind", choices=kind_names())
    parser.add_argument("--count", type=int, default=1000, help="inputs")
    parser.add_argument("--seed", type=int, default=0, help="other inputs for another number")
    parser.add_argument("--first", type=int, default=0, help="number of the first input, to repeat one")
    parser.add_argument("--keep", type=Path, help="folder for the inputs that were not read as they should be")
    asked = parser.parse_args()
    found = run(asked.kind, asked.count, seed=asked.seed, first=asked.first, keep=asked.keep, log=sys.stderr)
    print(", ".join(f"{outcome} {count:,}" for outcome, count in sorted(found.items())))
    return 0 if set(found) <= set(FINE) else 1


if __name__ == "__main__":
    sys.exit(main())
