"""What ranks now in ``plackett refine``: a column of the data, a TREC run, scores, or a model."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from plackett.data.opening import Stream
    from plackett.data.queries import Queries

WORDS_OF_RUN = 6


def read_base(base: str, data: list[str], *, zero_based: bool, cache: bool) -> tuple[Queries, Any]:
    """The data, and the base as a column or as scores in the order of ``queries.X``.

    Columns that the data lack and a model has are added to them.
    """
    from plackett.cli import inputs, models
    from plackett.data.opening import rereadable

    if base == "-":
        raise typer.BadParameter("standard input (-) can stand for DATA or for feedback, not for --base.")
    queries = inputs.load_queries(data, zero_based=zero_based, cache=cache)
    name = models.name_of_data(data)
    models.check_features(queries, name)
    if base.isdecimal():
        if int(base) >= queries.n_features:
            raise ValueError(f"--base {base}: {name} has columns 0 to {queries.n_features - 1:,}.")
        return queries, int(base)
    if base in (queries.feature_names or []):
        return queries, base
    if not os.path.exists(base):
        raise FileNotFoundError(
            f"--base {base}: {name} has no column of this name, and there is no file {base!r} in {os.getcwd()}."
        )
    source = rereadable(base)
    if models.is_model(source):
        return _scored_by_model(source, queries, name)
    if _n_words(source) == WORDS_OF_RUN:
        from plackett.data.trec import read_trec_run
        from plackett.rankers.base_score import as_base_score

        return queries, as_base_score(read_trec_run(source), queries)
    from plackett.data.score_file import read_scores

    scores = read_scores(source)
    if scores.size != queries.n_docs:
        raise ValueError(f"{base} has {scores.size:,} scores but {name} has {queries.n_docs:,} rows.")
    return queries, scores


def _scored_by_model(source: str | Stream, queries: Queries, name: str) -> tuple[Queries, Any]:
    from plackett.cli import models, output
    from plackett.data.opening import name_of

    ranker = models.load_ranker(source)
    queries, note = models.fit_columns(queries, ranker.n_features_in_, name, f"the model {name_of(source)}")
    if note is not None:
        output.note(note)
    return queries, ranker.predict(queries)


def _n_words(source: str | Stream) -> int:
    """How many words the first line has that is not empty."""
    from plackett.data.opening import open_to_examine

    with open_to_examine(source) as file:
        return next((len(line.split()) for line in file if line.strip()), 0)
