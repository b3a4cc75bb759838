"""Run the command: ``python -m plackett``."""

from plackett.cli import main

main()
