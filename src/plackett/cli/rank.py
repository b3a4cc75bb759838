"""``plackett rank``: score documents with a saved model."""

from __future__ import annotations

from typing import Any

import click

import plackett as pk
from plackett.cli.shared import clusters, files, inputs, options, results
from plackett.cli.shared.clusters import Cluster
from plackett.cli.shared.options import Source, command, written


@command()
def rank(
    model: str = options.MODEL,
    data: list[str] = options.data_argument(),
    target: str = written(None),
    tag: str | None = options.TAG,
    metrics: list[str] | None = options.measures_option("Also evaluate by the labels of DATA."),
    source: Source = Source(),
    cluster: Cluster = Cluster(),
) -> None:
    """Score documents with a saved model.

    A table with ids of documents gives CSV, best documents first.
    Other DATA give one score per row, in the order of the rows.
    A cluster writes a Parquet file for each part to a folder.
    """
    cluster.check(data, cache=source.cache)
    if cluster.option is not None:
        if tag is not None or target == "-":
            raise click.BadParameter(f"{cluster.option} writes Parquet files: name a folder with -o, and no --run.")
        _rank_on(cluster, model, data, source, target, metrics)
        return
    if target != "-":
        files.check_target(target, "scores" if tag is None else "run")
    ranker, queries = inputs.load_model_and_queries("rank", model, data, source, needs_labels=metrics is not None)
    scores = ranker.predict(queries)
    if tag is None and queries.docid is not None and inputs.are_tables(data):
        results.write_csv(queries, scores, target, (source.qid or "qid", source.docid or "docid"))
    else:
        results.write_scores(queries, scores, target, tag)
    if metrics is not None:
        form = "note" if target == "-" else "table"
        results.show_measures(pk.evaluate(queries, scores, metrics=metrics), form)
    results.next_step_of_scores(target, is_run=tag is not None)


def _rank_on(
    cluster: Cluster, model: str, data: list[str], source: Source, folder: str, metrics: list[str] | None
) -> None:
    """Write the scores of parts where they are, and print the means of the measures."""
    from plackett.evaluation.parts import write_scores

    inputs.check_order("rank", model, data)
    ranker = inputs.load_ranker(model)
    how: dict[str, Any] = {"needs_labels": metrics is not None, "features": ranker.feature_names_}
    with cluster.connection() as client:
        parts = clusters.parts_of(data, client, source, **how)
        write_scores(ranker, parts, folder)
        if metrics is not None:
            results.show_measures(pk.evaluate(parts, ranker=ranker, metrics=metrics), "table")
