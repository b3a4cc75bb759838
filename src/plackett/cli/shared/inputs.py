"""Loading the data named on the command line."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Any

import click

from plackett.cli.shared.files import is_known_name
from plackett.cli.shared.options import Source
from plackett.exceptions import DataFormatError
from plackett.storage.file_names import has_parquet, is_parquet, is_table
from plackett.storage.opening import name_of, open_bytes, rereadable
from plackett.storage.remote import local_files

if TYPE_CHECKING:
    from plackett.data.queries import Queries

PLAIN = Source()
WORDS_OF_RUN = 6


def load_queries(
    names: list, source: Source = PLAIN, *, needs_labels: bool = True, features: list[str] | None = None
) -> Queries:
    """Load LETOR files, tables, or a known data set from ``PLACKETT_DATA``, after ``check_data``.

    Tables need a column of labels only if ``needs_labels``; ``features`` are their features. LETOR rows always have
    labels.
    """
    from plackett.cli.shared import output

    with output.doing(f"reading {name_of(names[0])}"):
        return _load(names, source, needs_labels=needs_labels, features=features)


@local_files
def _load(names: list, source: Source, *, needs_labels: bool, features: list[str] | None) -> Queries:
    from plackett.data.queries import Queries

    if len(names) == 1 and isinstance(names[0], str) and is_known_name(names[0]):
        from plackett.data import datasets

        loaded = datasets.load(names[0], cache=source.cache)
        if not isinstance(loaded, Queries):
            raise ValueError(f"{names[0]} holds {type(loaded).__name__}, not judged lists of feature vectors.")
        return loaded
    for name in names:
        if isinstance(name, str) and os.path.isdir(name) and not has_parquet(name):
            raise _no_data_in(name)
    names = [rereadable(name) for name in names]
    if any(map(is_table, names)) or source.drop or source.categorical or source.sql:
        return _load_table(names, source, needs_labels=needs_labels, features=features)
    if any(map(is_parquet_name, names)):
        return _load_parquet(names, source, needs_labels=needs_labels, features=features)
    if columns := source.columns():
        raise click.BadParameter(
            f"--{next(iter(columns))} names a column, but {name_of(names[0])} is not a table (CSV, TSV, Arrow or "
            "Parquet)."
        )
    from plackett.data.letor.read import read_letor

    how: dict[str, Any] = {"first_index": int(not source.zero_based), "sparse": source.sparse}
    cache = source.cache and all(name_of(name) == name for name in names)  # not of copies of pipes
    try:
        return read_letor(names[0] if len(names) == 1 else names, cache=cache, **how)
    except DataFormatError as error:
        error.add_note("these are the lines of LETOR files; the names of tables end in .csv, .tsv, .arrow or .parquet.")
        raise


def _load_table(names: list, source: Source, *, needs_labels: bool, features: list[str] | None) -> Queries:
    from plackett.data.tables.files import read_columns
    from plackett.data.tables.frames import from_frame

    other = [name for name in names if not (is_table(name) or is_parquet_name(name))]
    if other:
        raise click.BadParameter(
            f"{name_of(other[0])} is not a table (CSV, TSV, Arrow or Parquet), but the options require one."
        )
    if source.cache:
        raise click.BadParameter("--cache applies only to LETOR and Parquet files, without --drop and --categorical.")
    given = source.columns()
    table = read_columns(names, qid=source.qid, docid=source.docid, sql=given.pop("sql", None))
    if not needs_labels and source.label is None and "label" not in table.column_names:
        given["label"] = None
    if features is not None and not source.drop:
        given["features"] = features
    return from_frame(table, **given)


def _load_parquet(names: list, source: Source, *, needs_labels: bool, features: list[str] | None) -> Queries:
    from plackett.data.parquet.read import has_column
    from plackett.data.sources import read_queries
    from plackett.storage.file_names import files_of

    other = [name for name in names if not is_parquet_name(name)]
    if other:
        raise ValueError(f"{name_of(other[0])} is not Parquet, but other files are; give files of one kind.")
    first = files_of(names)[0]
    has_labels = source.label is not None or has_column(first, "label")
    if needs_labels and not has_labels:
        raise ValueError(f"{first} has no column 'label'. Name that of the labels: --label COLUMN.")
    given = {**source.columns(), "label": (source.label or "label") if has_labels else None}
    if features and any(has_column(first, name) for name in features):  # columns may have numbers for names
        given["features"] = features
    return read_queries(names, cache=source.cache, **given)


@local_files
def are_tables(names: list[str]) -> bool:
    """Whether data have columns with names: CSV, TSV, Arrow or Parquet files, or a database."""
    return not any(map(is_known_name, names)) and all(is_table(name) or is_parquet_name(name) for name in names)


def is_parquet_name(name: str) -> bool:
    """Whether a path is a Parquet file or a folder, which is searched for Parquet files."""
    return os.path.isdir(name) or is_parquet(name)


def is_run(source: str) -> bool:
    """Whether a file is a TREC run, judged by its first non-blank line."""
    if not os.path.isfile(source):
        return False
    with open_bytes(source) as file:
        return next((len(line.split()) for line in file if line.strip()), 0) == WORDS_OF_RUN


@local_files
def is_model(source: str) -> bool:
    """Whether a file or a pipe has a model rather than data."""
    from plackett.rankers.registry import HEAD, is_model_head
    from plackett.storage.opening import first_bytes

    return is_model_head(first_bytes(source, HEAD))


def check_order(verb: str, model: str, data: list[str]) -> None:
    """Raise if the model was given in the place of the data."""
    if model != "-" and len(data) == 1 and is_model(data[0]) and not is_model(model):
        line = shlex.join(["plackett", verb, data[0], model])
        raise click.BadParameter(f"{model} is not a model, but {data[0]} is. The model comes first: {line}")


def is_letor(source: str) -> bool:
    """Whether a file has judged lists, as LETOR rows or Parquet, rather than other judgements."""
    if is_parquet_name(source):
        return True
    with open_bytes(source) as file:
        words = next((words for line in file if (words := line.split(b"#", 1)[0].split())), None)
    if words is None:
        raise DataFormatError(name_of(source), None, "the file has no rows.")
    return len(words) > 1 and words[1].startswith(b"qid:")


def _no_data_in(folder: str) -> FileNotFoundError:
    """Return the error for a folder without Parquet files, with its files or folders as a note."""
    error = FileNotFoundError(f"the folder {folder!r} has no Parquet files.")
    inside = sorted(entry.path for entry in os.scandir(folder) if entry.is_file() or has_parquet(entry.path))
    error.add_note(f"give files, such as {inside[0]}." if inside else "give LETOR files, tables or a known set.")
    return error


def load_sets(
    data: list[str], validation: str | None, source: Source, *, needs_labels: bool = True
) -> tuple[Queries, Queries | None, str | None]:
    """Load training and validation set with the same columns; a note says if columns were added.

    The training set needs labels only if ``needs_labels``.
    """
    from plackett.cli.shared.models import check_features, name_of_data

    queries = load_queries(data, source, needs_labels=needs_labels)
    check_features(queries, name_of_data(data))
    if validation is None:
        return queries, None, None
    held_back = load_queries([validation], source)
    check_features(held_back, name_of_data([validation]))
    return same_columns(queries, held_back, validation)


def same_columns(queries: Queries, held_back: Queries, name: str) -> tuple[Queries, Queries, str | None]:
    """Pad the narrower of training and validation set with zero columns."""
    from plackett.cli.shared import models

    if held_back.n_features > queries.n_features:
        queries, note = models.fit_columns(queries, held_back.n_features, "the training set", name)
    else:
        held_back, note = models.fit_columns(held_back, queries.n_features, name, "the training set")
    return queries, held_back, note
