"""``plackett rank``: scores of a saved model, one per row, or a TREC run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    import numpy as np

    from plackett.data.queries import Queries


def rank(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A file that plackett train wrote.")],
    data: Annotated[list[str], typer.Argument(metavar="DATA", help="LETOR files, '-', or a known set's name.")],
    target: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Where the scores go; - is standard output.")
    ] = "-",
    tag: Annotated[
        str | None, typer.Option("--run", metavar="TAG", help="A TREC run under this name instead of bare scores.")
    ] = None,
    metrics: Annotated[
        str | None, typer.Option("--metrics", "-m", help="Measure the ranking by the labels of DATA as well.")
    ] = None,
    zero_based: Annotated[bool, typer.Option("--zero-based", help="Feature numbers start at 0.")] = False,
    cache: Annotated[bool, typer.Option("--cache", help="Keep a fast copy of DATA for the next time.")] = False,
) -> None:
    """Score documents with a saved model: one score per row of DATA, in the order of its rows."""
    from plackett.cli import inputs, measures, models, output

    if tag is not None and tag.split() != [tag]:
        raise typer.BadParameter(f"--run {tag!r}: a run's name must be one word without blanks.")
    if target != "-":
        output.check_target(target, "scores" if tag is None else "run")
    inputs.check_exists(model)
    inputs.check_data(data)
    output.tell_when_compiling()
    wanted = None if metrics is None else measures.parse_measures(metrics)
    ranker = models.load_ranker(model)
    queries = inputs.load_queries(data, zero_based=zero_based, cache=cache)
    queries, note = models.fit_columns(queries, ranker.n_features_in_, models.name_of_data(data), f"the model {model}")
    if note is not None:
        output.note(note)
    scores = ranker.predict(queries)
    if tag is None:
        _write_scores(queries.in_row_order(scores), target)
    else:
        _write_run(queries, scores, target, tag)
    if wanted is not None:
        _print_measures(queries, scores, wanted, is_note=target == "-")


def _write_scores(scores: np.ndarray, target: str) -> None:
    from plackett.data.opening import write_bytes

    with write_bytes(target) as file:
        file.write("".join(f"{score!r}\n" for score in scores.tolist()).encode("ascii"))


def _write_run(queries: Queries, scores: np.ndarray, target: str, tag: str) -> None:
    from plackett.data.trec import Run, write_trec_run

    write_trec_run(Run.from_scores(_all_named(queries), scores), target, tag=tag)


def _all_named(queries: Queries) -> Queries:
    """The queries with a name for every document: its row in the data where they have none."""
    import numpy as np

    from plackett.cli import output
    from plackett.data.queries import Queries as AnyQueries

    names: np.ndarray = np.full(queries.n_docs, "") if queries.docid is None else queries.docid
    is_unnamed = names == ""
    n_unnamed = int(is_unnamed.sum())
    if n_unnamed == 0:
        return queries
    if n_unnamed == queries.n_docs:
        output.note("the data name no documents; the run names them by their rows, from 0")
    elif n_unnamed == 1:
        output.note("1 document has no name; the run names it by its row, from 0")
    else:
        output.note(f"{n_unnamed:,} documents have no name; the run names them by their rows, from 0")
    rows = np.arange(queries.n_docs) if queries.row_order is None else queries.row_order
    names = np.where(is_unnamed, rows.astype(str), names)
    return AnyQueries.from_groups(queries.X, queries.y, queries.ids, queries.indptr, docid=names)


def _print_measures(queries: Queries, scores: np.ndarray, metrics: list[str], *, is_note: bool) -> None:
    """The means: the result where the scores went to a file, a note where they are the result."""
    from plackett.cli import measures, output
    from plackett.evaluation.evaluate import evaluate
    from plackett.validation import count_of

    result = evaluate(queries, scores, metrics=metrics)
    means = result.mean()
    if is_note:
        output.note(measures.in_words(means))
    else:
        output.write_table([result.convention, *means], [["mean", *map(measures.number, means.values())]])
    for text in (count_of(len(result), "query", "queries"), *result.notes):
        output.note(text)
