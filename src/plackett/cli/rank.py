"""``plackett rank``: score documents with a saved model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plackett.cli.shared.options import MODEL, Source, command, data_argument, measures_option, option

if TYPE_CHECKING:
    import numpy as np

    from plackett.data.queries import Queries


@command()
@MODEL
@data_argument()
@option(
    "-o",
    "--output",
    "target",
    metavar="FILE",
    default="-",
    show_default=False,
    help="Output file; - is standard output.",
)
@option("--run", "tag", metavar="TAG", help="Write a TREC run of this name.")
@measures_option("Also evaluate by the labels of DATA.")
@Source.takes
def rank(model: str, data: list[str], target: str, tag: str | None, metrics: list[str] | None, source: Source) -> None:
    """Score documents with a saved model.

    A table with ids of documents gives CSV, best documents first.
    Other DATA give one score per row, in the order of the rows.
    """
    from plackett.cli.shared import inputs, measures, models
    from plackett.cli.shared import scores as scores_out

    scores_out.check_target(target, tag)
    inputs.check_exists(model)
    inputs.check_data(data)
    models.check_order("rank", model, data)
    wanted = measures.parse_measures(metrics) if metrics else None
    ranker = models.load_ranker(model)
    queries = inputs.load_queries(data, source, needs_labels=wanted is not None, features=ranker.feature_names_)
    queries = models.for_model(queries, ranker, models.name_of_data(data), model)
    scores = ranker.predict(queries)
    is_csv = tag is None and queries.docid is not None and inputs.are_tables(data)
    if is_csv:
        scores_out.write_csv(queries, scores, target, (source.qid or "qid", source.docid or "docid"))
    else:
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
