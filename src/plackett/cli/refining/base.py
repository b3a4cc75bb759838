"""The base ranking of ``plackett refine``: a feature of the data, a TREC run, scores or a model."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from plackett.storage.remote import local_files

if TYPE_CHECKING:
    from plackett.cli.shared.options import Source
    from plackett.data.queries import Queries


def read_base(base: str, data: list[str], source: Source) -> tuple[Queries, Any]:
    """Load the data, and the base as a column or as scores in the order of ``queries.X``.

    Missing last columns of a model are added to the data.
    """
    from plackett.cli.shared import inputs, models

    if base == "-":
        raise click.BadParameter("standard input (-) can be used for DATA or for feedback, not for --base.")
    queries = inputs.load_queries(data, source)
    name = models.name_of_data(data)
    models.check_features(queries, name)
    return read_ranking(base, queries, name)


@local_files
def read_ranking(base: str, queries: Queries, name: str, option: str = "--base") -> tuple[Queries, Any]:
    """Return a ranking of the queries as a column or as scores, and the queries as in ``read_base``."""
    from plackett.cli.shared import inputs
    from plackett.storage.opening import rereadable

    column = _column(base, queries, name, option)
    if column is not None:
        return queries, column
    if not os.path.exists(base):
        raise FileNotFoundError(
            f"{option} {base}: {name} has no column of this name, and there is no file {base!r} in {os.getcwd()}."
        )
    source = rereadable(base)
    if inputs.is_model(source):
        return _scored_by_model(source, queries, name)
    if inputs.is_run(source):
        from plackett.data.trec.files import read_trec_run
        from plackett.rankers.refinement.base_score import as_base_score

        return queries, as_base_score(read_trec_run(source), queries)
    from plackett.data.text_table import read_scores

    scores = read_scores(source)
    if scores.size != queries.n_docs:
        raise ValueError(f"{base} has {scores.size:,} scores but {name} has {queries.n_docs:,} rows.")
    return queries, scores


def echo_base(ranks_now: Any, queries: Queries) -> None:
    """Print which feature is the base, if it is one."""
    from plackett.cli.shared import output
    from plackett.rankers.refinement.base_score import is_column
    from plackett.validation import feature_number

    if is_column(ranks_now):
        output.note(f"the base is {feature_number(ranks_now, queries.first_index, queries.feature_names)}")


def _column(base: str, queries: Queries, name: str, option: str) -> int | None:
    """Return the column of the base, from its name or its number in the file; None if it is a file."""
    from plackett.validation import feature_number, find_column

    kind = "column" if queries.first_index is None else "feature"
    wanted = f"{kind} {base}" if base.isdecimal() and base not in (queries.feature_names or []) else base
    column = find_column(wanted, queries.n_features, queries.feature_names, queries.first_index)
    if column is None and base.isdecimal():
        first, last = (feature_number(one, queries.first_index) for one in (0, queries.n_features - 1))
        raise ValueError(f"{option} {base}: {name} has {first} to {last.rpartition(' ')[2]}.")
    return column


def _scored_by_model(source: str, queries: Queries, name: str) -> tuple[Queries, Any]:
    from plackett.cli.shared import models
    from plackett.storage.opening import name_of

    ranker = models.load_ranker(source)
    queries = models.for_model(queries, ranker, name, name_of(source))
    return queries, ranker.predict(queries)
