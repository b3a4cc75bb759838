"""Options that many verbs have, and the panels of the help.

An option in a panel (``rich_help_panel``) is only named by ``--help``, and explained by ``--help-all``.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from plackett.cli.shared import completion

# those of get_normalizer, whose module is slow to import
NORMALIZERS = ("query-minmax", "query-zscore", "query-unit", "query-rank", "minmax", "maxabs", "zscore", "quantile")
METHOD, CLICKS, FILES, OUTPUT = "Method", "Clicks", "Files", "Output"


def flag(name: str, text: str, panel: str | None = None) -> Any:
    """Return an option without a value."""
    return typer.Option(name, help=text, rich_help_panel=panel)


Data = Annotated[
    list[str],
    typer.Argument(metavar="DATA", help="LETOR files or tables, '-', or a known set.", autocompletion=completion.data),
]
ZeroBased = Annotated[bool, flag("--zero-based", "Feature numbers of files start at 0.", FILES)]
Cache = Annotated[bool, flag("--cache", "Cache the parsed files, memory-mapped.", FILES)]
Convention = Annotated[
    str,
    typer.Option(
        "--convention",
        "-c",
        metavar="NAME",
        help="standard, paper, letor3, letor4, trec, sklearn, lightgbm, xgboost, gdeval, ranx.",
        rich_help_panel=METHOD,
        autocompletion=completion.conventions,
    ),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Random seed.", rich_help_panel=METHOD)]
AsJson = Annotated[bool, flag("--json", "Print JSON.", OUTPUT)]
AsCsv = Annotated[bool, flag("--csv", "Print CSV.", OUTPUT)]
AsMarkdown = Annotated[bool, flag("--markdown", "Print a Markdown table.", OUTPUT)]
AsLatex = Annotated[bool, flag("--latex", "Print a LaTeX table.", OUTPUT)]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no notes.", rich_help_panel=OUTPUT)]
