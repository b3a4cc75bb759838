"""``plackett rank``: score documents with a saved model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from plackett.cli.shared import completion
from plackett.cli.shared.columns import Categorical, Docid, Drop, Label, Qid, Sql, columns_of
from plackett.cli.shared.options import Cache, Data, ZeroBased

if TYPE_CHECKING:
    import numpy as np

    from plackett.data.queries import Queries


def rank(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model of plackett train or another tool.")],
    data: Data,
    target: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Output file; - is standard output.")
    ] = "-",
    tag: Annotated[str | None, typer.Option("--run", metavar="TAG", help="Write a TREC run of this name.")] = None,
    metrics: Annotated[
        list[str] | None,
        typer.Option(
            "--metrics",
            "-m",
            metavar="NAMES",
            help="Also evaluate by the labels of DATA.",
            autocompletion=completion.measures,
        ),
    ] = None,
    qid: Qid = None,
    label: Label = None,
    docid: Docid = None,
    drop: Drop = None,
    categorical: Categorical = None,
    sql: Sql = None,
    zero_based: ZeroBased = False,
    cache: Cache = False,
) -> None:
    """Score documents with a saved model: one score per row of DATA, in the order of its rows."""
    from plackett.cli.shared import inputs, measures, models
    from plackett.cli.shared import scores as scores_out

    scores_out.check_target(target, tag)
    inputs.check_exists(model)
    inputs.check_data(data)
    wanted = measures.parse_measures(metrics) if metrics else None
    ranker = models.load_ranker(model)
    queries = inputs.load_queries(
        data,
        zero_based=zero_based,
        cache=cache,
        columns=columns_of(qid, label, docid, drop, categorical, sql),
        needs_labels=wanted is not None,
        features=ranker.feature_names_,
    )
    queries = models.for_model(queries, ranker, models.name_of_data(data), model)
    scores = ranker.predict(queries)
    scores_out.write(queries, scores, target, tag)
    if wanted is not None:
        _print_measures(queries, scores, wanted, is_note=target == "-")
    scores_out.next_step(target, is_run=tag is not None)


def _print_measures(queries: Queries, scores: np.ndarray, metrics: list[str], *, is_note: bool) -> None:
    """Print the means: to standard output, or as a note if the scores go there."""
    from plackett.cli.shared import measures, output
    from plackett.evaluation.evaluate import evaluate
    from plackett.validation import count_of

    result = evaluate(queries, scores, metrics=metrics)
    means = result.mean()
    if is_note:
        output.note(measures.in_words(means))
    else:
        output.write_table(result.to_table())
    for text in (count_of(len(result), "query", "queries"), *result.notes):
        output.note(text)
