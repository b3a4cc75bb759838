"""``plackett explain``: the contribution of each feature to the scores of a query's documents."""

from __future__ import annotations

from typing import Any

import click

import plackett as pk
from plackett.cli.shared import inputs, options, output
from plackett.cli.shared.options import Source, command, option


@command()
def explain(
    model: str = options.MODEL,
    data: list[str] = options.data_argument(),
    query: str = option("The id of the query.", metavar="ID", required=True),
    above: str | None = option("A document: its name in DATA, or its row in the query, counted from 0.", metavar="DOC"),
    below: str | None = option("A document to compare with.", metavar="DOC"),
    source: Source = Source(),
    as_json: bool = options.JSON,
    as_csv: bool = option("Print CSV.", "--csv", panel=options.OUTPUT),
) -> None:
    """Show what each feature adds to the scores of a query's documents, or why one ranks above another."""
    if (above is None) != (below is None):
        raise click.BadParameter("--above and --below must be given together.")
    if as_json and as_csv:
        raise click.BadParameter("choose one of --json and --csv.")
    ranker, queries = inputs.load_model_and_queries("explain", model, data, source)
    chosen = _query(queries, query)
    found = _explanation(ranker, chosen, above, below, None if as_json or as_csv else _shown_names(chosen))
    if as_csv:
        output.write(found.to_csv())
    else:
        output.show(found, as_json=as_json)


def _explanation(ranker: Any, chosen: pk.Queries, above: str | None, below: str | None, docid: list[str] | None) -> Any:
    """Return the explanation of all documents, best first, or of the difference between two."""
    if not hasattr(ranker, "explain"):
        raise ValueError(f"{type(ranker).__name__} cannot explain its scores feature by feature.")
    try:
        if above is None or below is None:
            order = (-ranker.predict(chosen)).argsort(kind="stable")
            return ranker.explain(chosen, rows=order, docid=docid)
        rows = [_row(chosen, above), _row(chosen, below)]
        if rows[0] == rows[1]:
            raise ValueError(f"--above and --below name the same document, {above!r}.")
        return ranker.explain(chosen, rows=rows, docid=docid).why(*rows)
    except NotImplementedError as error:  # its message gives the reason
        raise ValueError(str(error)) from error


def _shown_names(queries: pk.Queries) -> list[str] | None:
    """Return document ids with their titles; None if there are no titles."""
    if queries.titles is None or queries.docid is None:
        return None
    return [f"{docid} {title}".strip() for docid, title in zip(queries.docid.tolist(), queries.titles, strict=True)]


def _query(queries: pk.Queries, wanted: str) -> pk.Queries:
    """Return the query with this id, which may be a number or a text in the data."""
    for place, key in enumerate(queries.ids.tolist()):
        if str(key) == wanted:
            return queries[place]
    first, last = queries.ids[0], queries.ids[-1]
    raise ValueError(f"no query has the id {wanted!r}; the first id in the data is {first}, the last {last}.")


def _row(queries: pk.Queries, wanted: str) -> int:
    """Return the row of a document within its query, from its name or its number."""
    names = [] if queries.docid is None else [str(name) for name in queries.docid.tolist()]
    if wanted in names:
        return names.index(wanted)
    if wanted.isdecimal() and int(wanted) < queries.n_docs:
        return int(wanted)
    last = queries.n_docs - 1
    raise ValueError(f"query {queries.ids[0]} has no document {wanted!r}; give a name, or a row from 0 to {last}.")
