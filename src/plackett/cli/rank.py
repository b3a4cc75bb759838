"""``plackett rank``: score documents with a saved model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from plackett.cli.shared.clusters import Cluster
from plackett.cli.shared.options import MODEL, TAG, Source, command, data_argument, measures_option, written

if TYPE_CHECKING:
    from plackett.evaluation.evaluate import Evaluation


@command()
def rank(
    model: str = MODEL,
    data: list[str] = data_argument(),
    target: str = written(None),
    tag: str | None = TAG,
    metrics: list[str] | None = measures_option("Also evaluate by the labels of DATA."),
    source: Source = Source(),
    cluster: Cluster = Cluster(),
) -> None:
    """Score documents with a saved model.

    A table with ids of documents gives CSV, best documents first.
    Other DATA give one score per row, in the order of the rows.
    A cluster writes a Parquet file for each part to a folder.
    """
    from plackett.cli.shared import files, inputs, models
    from plackett.cli.shared import scores as scores_out

    cluster.check(data, cache=source.cache)
    if cluster.option is None and target != "-":
        files.check_target(target, "scores" if tag is None else "run")
    elif cluster.option and (tag is not None or target == "-"):
        raise click.BadParameter(f"{cluster.option} writes Parquet files: name a folder with -o, and no --run.")
    inputs.check_order("rank", model, data)
    ranker = models.load_ranker(model)
    if cluster.option is not None:
        _rank_on(cluster, ranker, data, source, target, metrics)
        return
    queries = inputs.load_queries(data, source, needs_labels=metrics is not None, features=ranker.feature_names_)
    queries = models.for_model(queries, ranker, models.name_of_data(data), model)
    scores = ranker.predict(queries)
    is_csv = tag is None and queries.docid is not None and inputs.are_tables(data)
    if is_csv:
        scores_out.write_csv(queries, scores, target, (source.qid or "qid", source.docid or "docid"))
    else:
        scores_out.write(queries, scores, target, tag)
    if metrics is not None:
        from plackett.evaluation.evaluate import evaluate

        _print_measures(evaluate(queries, scores, metrics=metrics), is_note=target == "-")
    scores_out.next_step(target, is_run=tag is not None)


def _rank_on(
    cluster: Cluster, ranker: Any, data: list[str], source: Source, folder: str, metrics: list[str] | None
) -> None:
    """Write the scores of parts where they are, and print the means of the measures."""
    from plackett.cli.shared import clusters
    from plackett.evaluation.evaluate import evaluate
    from plackett.evaluation.parts import write_scores

    with cluster.connection() as client:
        parts = clusters.parts_of(
            data, client, source, needs_labels=metrics is not None, features=ranker.feature_names_
        )
        write_scores(ranker, parts, folder)
        if metrics is not None:
            _print_measures(evaluate(parts, ranker=ranker, metrics=metrics), is_note=False)


def _print_measures(result: Evaluation, *, is_note: bool) -> None:
    """Print the means: to standard output, or as a note if the scores go there."""
    from plackett.cli.shared import measures, output
    from plackett.validation import count_of

    if is_note:
        output.note(measures.in_words(result.mean()))
    else:
        output.write_table(result.to_table())
    for text in (count_of(len(result), "query", "queries"), *result.notes):
        output.note(text)
