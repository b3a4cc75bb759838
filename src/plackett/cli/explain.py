"""``plackett explain``: why documents stand where they stand, feature by feature."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from plackett.data.queries import Queries


def explain(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A file that plackett train wrote.")],
    data: Annotated[list[str], typer.Argument(metavar="DATA", help="LETOR or Parquet files, '-', or a known set.")],
    query: Annotated[str, typer.Option("--query", help="The id of the query.")],
    above: Annotated[
        str | None,
        typer.Option(
            help="A document of the query, by its name in DATA; else by its number, 0 being the query's first row."
        ),
    ] = None,
    below: Annotated[str | None, typer.Option(help="Another one, given likewise, with which it is compared.")] = None,
    zero_based: Annotated[bool, typer.Option("--zero-based", help="Feature numbers start at 0.")] = False,
    cache: Annotated[bool, typer.Option("--cache", help="Keep a fast copy of DATA for the next time.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
) -> None:
    """Say what each feature adds to the scores of a query's documents, or why one stands above another."""
    from plackett.cli.shared import inputs, models, output

    if (above is None) != (below is None):
        raise typer.BadParameter("--above and --below go together.")
    if as_json and as_csv:
        raise typer.BadParameter("choose one of --json and --csv.")
    inputs.check_exists(model)
    inputs.check_data(data)
    ranker = models.load_ranker(model)
    queries = inputs.load_queries(data, zero_based=zero_based, cache=cache, needs_labels=False)
    queries, note = models.fit_columns(queries, ranker.n_features_in_, models.name_of_data(data), f"the model {model}")
    if note is not None:
        output.note(note)
    chosen = _query(queries, query)
    found = _explanation(ranker, chosen, above, below)
    if as_json:
        output.write_json(found.to_dict())
    else:
        output.write(found.to_csv() if as_csv else str(found))


def _explanation(ranker: Any, chosen: Queries, above: str | None, below: str | None) -> Any:
    """What adds to the scores of a query's documents, the best first; or the difference between two of them."""
    if not hasattr(ranker, "explain"):
        raise ValueError(f"{type(ranker).__name__} cannot explain its scores feature by feature.")
    try:
        if above is None or below is None:
            order = (-ranker.predict(chosen)).argsort(kind="stable")
            return ranker.explain(chosen, rows=order)
        rows = [_row(chosen, above), _row(chosen, below)]
        if rows[0] == rows[1]:
            raise ValueError(f"--above and --below name the same document, {above!r}.")
        return ranker.explain(chosen, rows=rows).why(*rows)
    except NotImplementedError as error:  # which says why
        raise ValueError(str(error)) from error


def _query(queries: Queries, wanted: str) -> Queries:
    """The query with this id, which may be a number or a text in the data."""
    for place, key in enumerate(queries.ids.tolist()):
        if str(key) == wanted:
            return queries[place]
    first, last = queries.ids[0], queries.ids[-1]
    raise ValueError(f"no query has the id {wanted!r}; the ids run from {first} to {last}, in the order of the data.")


def _row(queries: Queries, wanted: str) -> int:
    """A document's row in its query: by its name, else by its number, as rows are counted."""
    names = [] if queries.docid is None else [str(name) for name in queries.docid.tolist()]
    if wanted in names:
        return names.index(wanted)
    if wanted.isdecimal() and int(wanted) < queries.n_docs:
        return int(wanted)
    last = queries.n_docs - 1
    raise ValueError(
        f"query {queries.ids[0]} has no document {wanted!r}; name one, or give its number from 0 to {last}."
    )
