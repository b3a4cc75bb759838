"""``plackett clicks``: describe a click log."""

from __future__ import annotations

from typing import Annotated

import typer

INFO = "info"


def clicks(
    words: Annotated[
        list[str],
        typer.Argument(metavar="info LOG [EVENTS]", help="A table, a WSCD log, or queries and events of UBI."),
    ],
    session: Annotated[str | None, typer.Option(help="Column of the session.")] = None,
    query: Annotated[str | None, typer.Option(help="Column of the query.")] = None,
    docid: Annotated[str | None, typer.Option(help="Column of the document.")] = None,
    rank: Annotated[str | None, typer.Option(help="Column of the position.")] = None,
    click: Annotated[str | None, typer.Option(help="Column of the clicks.")] = None,
    ranker: Annotated[str | None, typer.Option(help="Column (UBI: path) of the ranker that made the list.")] = None,
    client: Annotated[str | None, typer.Option(help="Column of the client, by which bots are found.")] = None,
    action: Annotated[list[str] | None, typer.Option(help="UBI: an action_name that is a click. Repeatable.")] = None,
    k: Annotated[int | None, typer.Option("-k", min=1, help="Documents per list; the others were not shown.")] = None,
    max_sessions: Annotated[int | None, typer.Option(min=1, help="Clients with more sessions are bots.")] = None,
    output: Annotated[str | None, typer.Option("-o", "--output", help="Save the cleaned log to this file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Describe a click log: sizes, damage, click rate by rank, and what can be learned from it."""
    from plackett.cli.shared import output as out
    from plackett.clicks.reading.read import read_clicks
    from plackett.clicks.reading.ubi import CLICKS

    if words[0] != INFO or not 2 <= len(words) <= 3:
        raise typer.BadParameter("expected: plackett clicks info LOG [EVENTS].")
    if output is not None:
        out.check_target(output, "log")
    log = read_clicks(
        *words[1:],
        session=session,
        query=query,
        docid=docid,
        rank=rank,
        click=click,
        ranker=ranker,
        client=client,
        clicks=tuple(action) if action else CLICKS,
        k=k,
        max_sessions_per_client=max_sessions,
    )
    if output is not None:
        log.save(output)
    description = log.describe()
    if as_json:
        out.write_json(description.to_dict())
        return
    out.write(str(description))
    if log.cleaning is not None:
        out.write(f"\n{log.cleaning}")
