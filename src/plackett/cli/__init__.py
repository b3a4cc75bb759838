"""The ``plackett`` command: words to calls. Results go to standard output, everything else to standard error."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command; see ``plackett.cli.app.main``."""
    try:
        from plackett.cli.app import main as run  # takes a moment, in which Ctrl-C ends the command as cleanly as later
    except KeyboardInterrupt:
        print("plackett: stopped.", file=sys.stderr)
        sys.exit(130)
    run()
