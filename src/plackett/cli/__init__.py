"""The ``plackett`` command: words to calls. Results go to standard output, everything else to standard error."""

from plackett.cli.app import main

__all__ = ["main"]
