"""The ``plackett`` command. Results go to standard output, everything else to standard error."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command; see ``plackett.cli.app.main``."""
    try:
        from plackett.cli.app import main as run  # slow enough for a Ctrl-C
    except KeyboardInterrupt:
        print("plackett: stopped.", file=sys.stderr)
        sys.exit(130)
    run()
