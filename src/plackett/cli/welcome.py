"""The first screen: ``plackett`` without arguments."""

from __future__ import annotations

from plackett import __version__
from plackett._optional import is_installed
from plackett.cli.shared import output

# what a user has, the first command for it, and the extra that it needs
STARTS = [
    ("judged lists", "plackett compare lists.csv -r listmle,ranksvm,adarank --report report.html", "report"),
    ("a ranking and some feedback", "plackett refine lists.txt --base bm25 --feedback judged.csv", None),
    ("a click log", "plackett clicks report log.csv", "report"),
    ("texts", "plackett workbench notes/", "web"),
]
NEEDS = {"report": "matplotlib", "web": "fastapi"}


def show_welcome() -> None:
    """Print a first command for each kind of data."""
    output.write(f"plackett {__version__}: learning to rank. You have …")
    for what, command, extra in STARTS:
        lacks = extra is not None and not is_installed(NEEDS[extra])
        note = f"   (first: pip install 'plackett[{extra}]')" if lacks else ""
        output.write(f"  {output.styled(what, 'bold')}{note}")
        output.write(f"    {output.styled(command, 'cyan')}")
    output.write("No data yet? plackett workbench searches Python's documentation.")
    output.write("plackett --help lists all verbs, plackett VERB --help explains one.")
