"""``plackett info``: what is in a data set."""

from __future__ import annotations

from typing import Annotated

import typer


def info(
    data: Annotated[list[str], typer.Argument(metavar="DATA", help="LETOR files, '-', or a known set's name.")],
    zero_based: Annotated[bool, typer.Option("--zero-based", help="Feature numbers start at 0.")] = False,
    relevant_from: Annotated[float, typer.Option(help="Smallest label that counts as relevant.")] = 1.0,
    cache: Annotated[bool, typer.Option("--cache", help="Keep a fast copy beside the file for the next time.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Describe judged lists: sizes, labels, list lengths, constant and duplicate columns."""
    from plackett.cli import inputs, output

    inputs.check_data(data)
    output.tell_when_compiling()
    queries = inputs.load_queries(data, zero_based=zero_based, cache=cache)
    description = queries.describe(relevant_from=relevant_from)
    if as_json:
        output.write_json(description.to_dict())
    else:
        output.write_pairs(description.rows())
