"""Loading what the command line names: judged lists, models, and rankings of the lists."""

from __future__ import annotations

import csv
import io
import os
import shlex
from typing import Any

import click

import plackett as pk
from plackett._names import count_of
from plackett.cli.shared import output
from plackett.cli.shared.files import is_known_name
from plackett.cli.shared.options import Source
from plackett.exceptions import DataFormatError
from plackett.storage.file_names import files_of, has_parquet, is_parquet, is_table
from plackett.storage.opening import first_bytes, name_of, open_bytes, rereadable
from plackett.storage.remote import local_files

PLAIN = Source()

# --- Judged lists -----------------------------------------------------------------------------------------------------


def load_queries(
    names: list, source: Source = PLAIN, *, needs_labels: bool = True, features: list[str] | None = None
) -> pk.Queries:
    """Load LETOR files, tables, or a known data set from ``PLACKETT_DATA``.

    Tables need a column of labels only if ``needs_labels``; ``features`` are their features. LETOR rows always have
    labels.
    """
    with output.doing(f"reading {name_of(names[0])}"):
        return _load(names, source, needs_labels=needs_labels, features=features)


@local_files
def _load(names: list, source: Source, *, needs_labels: bool, features: list[str] | None) -> pk.Queries:
    if len(names) == 1 and isinstance(names[0], str) and is_known_name(names[0]):
        loaded = pk.datasets.load(names[0], cache=source.cache)
        if not isinstance(loaded, pk.Queries):
            raise ValueError(f"{names[0]} holds {type(loaded).__name__}, not judged lists of feature vectors.")
        return loaded
    for name in names:
        if isinstance(name, str) and os.path.isdir(name) and not has_parquet(name):
            raise _no_data_in(name)
    names = [rereadable(name) for name in names]
    columns = source.columns()
    if any(map(is_table, names)) or columns.keys() & {"drop", "categorical", "sql"}:
        from plackett.data.tables.files import read_columns

        for name in names:
            if not (is_table(name) or is_parquet_name(name)):
                raise click.BadParameter(
                    f"{name_of(name)} is not a table (CSV, TSV, Arrow or Parquet), but the options require one."
                )
        if source.cache:
            raise click.BadParameter(
                "--cache applies only to LETOR and Parquet files, without --drop and --categorical."
            )
        table = read_columns(names, qid=source.qid, docid=source.docid, sql=columns.pop("sql", None))
        columns |= roles(columns, table.column_names, needs_labels=needs_labels, features=features)
        return pk.from_frame(table, **columns)
    if any(map(is_parquet_name, names)):
        from plackett.data.sources import read_queries

        columns |= roles_in_parquet(names, source, needs_labels=needs_labels, features=features)
        return read_queries(names, cache=source.cache, **columns)
    if columns:
        raise click.BadParameter(
            f"--{next(iter(columns))} names a column, but {name_of(names[0])} is not a table (CSV, TSV, Arrow or "
            "Parquet)."
        )
    cache = source.cache and all(name_of(name) == name for name in names)  # not of copies of pipes
    try:
        return pk.read_letor(names[0] if len(names) == 1 else names, cache=cache, **source.of_letor())
    except DataFormatError as error:
        error.add_note("these are the lines of LETOR files; the names of tables end in .csv, .tsv, .arrow or .parquet.")
        raise


def roles(
    columns: dict[str, Any], names: list[str], *, needs_labels: bool, features: list[str] | None
) -> dict[str, Any]:
    """Return what the names of a table's columns add to those named: no labels, the features of a model."""
    added: dict[str, Any] = {}
    if not needs_labels and "label" not in {*columns, *names}:
        added["label"] = None
    if features is not None and "drop" not in columns:
        added["features"] = features
    return added


def roles_in_parquet(names: list, source: Source, *, needs_labels: bool, features: list[str] | None) -> dict[str, Any]:
    """Return ``roles`` of Parquet files, whose features may have numbers for names."""
    from plackett.data.parquet.read import column_names

    first = files_of(names)[0]
    known = column_names(first)
    if needs_labels and source.label is None and "label" not in known:
        raise ValueError(f"{first} has no column 'label'. Name that of the labels: --label COLUMN.")
    features = features if features and set(features) & set(known) else None
    return roles(source.columns(), known, needs_labels=needs_labels, features=features)


def _no_data_in(folder: str) -> FileNotFoundError:
    """Return the error for a folder without Parquet files, with its files or folders as a note."""
    error = FileNotFoundError(f"the folder {folder!r} has no Parquet files.")
    inside = sorted(entry.path for entry in os.scandir(folder) if entry.is_file() or has_parquet(entry.path))
    error.add_note(f"give files, such as {inside[0]}." if inside else "give LETOR files, tables or a known set.")
    return error


def load_sets(
    data: list[str], validation: str | None, source: Source, *, needs_labels: bool = True, is_quiet: bool = False
) -> tuple[pk.Queries, pk.Queries | None]:
    """Load training and validation set; the narrower one gets columns of zeros, which a note says.

    The training set needs labels only if ``needs_labels``.
    """
    queries = load_queries(data, source, needs_labels=needs_labels)
    check_features(queries, name_of_data(data))
    if validation is None:
        return queries, None
    held_back = load_queries([validation], source)
    check_features(held_back, validation)
    if held_back.n_features > queries.n_features:
        queries, note = _widened(queries, held_back.n_features, "the training set", validation)
    else:
        held_back, note = _widened(held_back, queries.n_features, validation, "the training set")
    if note is not None and not is_quiet:
        output.note(note)
    return queries, held_back


def name_of_data(data: list) -> str:
    """Return the name of the data in messages."""
    first = name_of(data[0])
    return first if len(data) == 1 else f"{first} and {len(data) - 1} more"


def check_features(queries: pk.Queries, name: str) -> None:
    """Raise for data without features."""
    if queries.n_features == 0:
        needed = 'expected rows like "label qid:ID 1:value 2:value ...".'
        raise ValueError(f"{name} has {count_of(queries.n_docs, 'row')} but no features; {needed}")


def _widened(queries: pk.Queries, n_features: int, name: str, wanted_by: str) -> tuple[pk.Queries, str | None]:
    """Return queries with that many columns, and a note if some were added.

    LETOR files may leave out zeros, so a file whose last columns are all zero seems to have fewer.
    """
    check_features(queries, name)
    n_missing = n_features - queries.n_features
    if n_missing == 0:
        return queries, None
    if n_missing < 0 or queries.feature_names is not None:  # only rows of LETOR leave out zeros
        raise ValueError(f"{name} has {count_of(queries.n_features, 'feature')} but {wanted_by} has {n_features:,}.")
    import numpy as np

    from plackett.validation import is_sparse

    X: Any = queries.X
    if is_sparse(X):
        X = type(X)((X.data, X.indices, X.indptr), shape=(X.shape[0], n_features))
    else:
        X = np.pad(X, ((0, 0), (0, n_missing)))
    note = (
        f"{name} has {count_of(queries.n_features, 'feature')} and {wanted_by} has {n_features:,}; "
        f"the last {n_missing:,} count as 0"
    )
    return queries.replace(X=X, feature_names=None), note


# --- Kinds of files ---------------------------------------------------------------------------------------------------


@local_files
def are_tables(names: list[str]) -> bool:
    """Whether data have columns with names: CSV, TSV, Arrow or Parquet files, or a database."""
    return not any(map(is_known_name, names)) and all(is_table(name) or is_parquet_name(name) for name in names)


def is_parquet_name(name: str) -> bool:
    """Whether a path is a Parquet file or a folder, which is searched for Parquet files."""
    return os.path.isdir(name) or is_parquet(name)


@local_files
def is_model(source: str) -> bool:
    """Whether a file or a pipe has a model rather than data."""
    from plackett.rankers.registry import HEAD, is_model_head

    return is_model_head(first_bytes(source, HEAD))


def is_letor(source: str) -> bool:
    """Whether a file has judged lists, as LETOR rows or Parquet, rather than other judgements."""
    if is_parquet_name(source):
        return True
    with open_bytes(source) as file:
        words = next((words for line in file if (words := line.split(b"#", 1)[0].split())), None)
    if words is None:
        raise DataFormatError(name_of(source), None, "the file has no rows.")
    return len(words) > 1 and words[1].startswith(b"qid:")


# --- Models -----------------------------------------------------------------------------------------------------------


def load_ranker(path: str) -> Any:
    """Return the ranker in a model file."""
    with output.doing(f"loading {name_of(path)}"):
        loaded = pk.load(path)
    from plackett.rankers.base import Ranker

    if not isinstance(loaded, Ranker):
        raise ValueError(f"{name_of(path)} holds a {type(loaded).__name__}, not a ranker.")
    return loaded


def load_model_and_queries(
    verb: str, model: str, data: list[str], source: Source, *, needs_labels: bool = False
) -> tuple[Any, pk.Queries]:
    """Return a model and the lists that it is to score, which are given in this order."""
    check_order(verb, model, data)
    ranker = load_ranker(model)
    queries = load_queries(data, source, needs_labels=needs_labels, features=ranker.feature_names_)
    return ranker, for_model(queries, ranker, name_of_data(data), model)


def check_order(verb: str, model: str, data: list[str]) -> None:
    """Raise if the model was given in the place of the data."""
    if model != "-" and len(data) == 1 and is_model(data[0]) and not is_model(model):
        line = shlex.join(["plackett", verb, data[0], model])
        raise click.BadParameter(f"{model} is not a model, but {data[0]} is. The model comes first: {line}")


def for_model(queries: pk.Queries, ranker: Any, name: str, model: str) -> pk.Queries:
    """Return queries with as many columns as a model; print a note if some were added."""
    if ranker.ignores_further_columns_ and queries.n_features > ranker.n_features_in_:
        return queries
    queries, note = _widened(queries, ranker.n_features_in_, name, f"the model {model}")
    if note is not None:
        output.note(note)
    return queries


# --- Rankings of the lists --------------------------------------------------------------------------------------------


def scores_of(path: str, queries: pk.Queries, data: str) -> Any:
    """Return a score for each row of the data: those in a file, or of a model; ``data`` is their name."""
    source = rereadable(path)
    if is_model(source):
        ranker = load_ranker(source)
        return ranker.predict(for_model(queries, ranker, data, path))
    scores = _read_scores(source, queries)
    if scores.size != queries.n_docs:
        raise ValueError(f"{path} has {scores.size:,} scores but {data} has {queries.n_docs:,} rows.")
    return scores


def _read_scores(source: str, queries: pk.Queries) -> Any:
    """Return the scores of a file with one per row, or by the ids in a CSV file of ``plackett rank``."""
    import numpy as np

    from plackett.data.text_table import read_scores

    with open_bytes(source) as file:
        has_ids = file.readline().strip().endswith(b",score")
    if not has_ids:
        return read_scores(source)
    name = name_of(source)
    if queries.docid is None:
        raise ValueError(f"{name} has ids of documents, but the data have none. Name their column: --docid COLUMN.")
    with open_bytes(source) as file:
        lines = csv.reader(io.StringIO(file.read().decode("utf-8", "surrogateescape"), newline=""))
    next(lines)
    found: dict[tuple[str, str], float] = {}
    for line, row in enumerate(lines, 2):
        try:
            query, document, score = row
            found[query, document] = float(score)
        except ValueError:
            raise DataFormatError(name, line, "expected query, document and score, as the header has.") from None
    ids = list(zip(*ids_of_rows(queries), strict=True))
    for query, document in ids:
        if (query, document) not in found:
            raise ValueError(f"{name} has no score for document {document!r} of query {query!r}.")
    return np.array([found[one] for one in ids])


def ids_of_rows(queries: pk.Queries) -> tuple[list[str], list[str]]:
    """Return the ids of query and document of each row as text."""
    from plackett.data.trec.ids import as_text_ids

    return as_text_ids(queries.ids, "qid")[queries.query_of_row].tolist(), as_text_ids(queries.docid, "docid").tolist()


@local_files
def read_ranking(what: str, queries: pk.Queries, data: str, option: str = "--base") -> Any:
    """Return a column of the data by its name or number, or scores of a run, a file or a model."""
    from plackett.data.runs import as_run, is_run
    from plackett.rankers.refinement.base_score import as_base_score
    from plackett.validation import feature_number, find_column

    kind = "column" if queries.first_index is None else "feature"
    is_number = what.isdecimal() and what not in (queries.feature_names or [])
    label = f"{kind} {what}" if is_number else what
    column = find_column(label, queries.n_features, queries.feature_names, queries.first_index)
    if column is not None:
        return column
    if what.isdecimal():
        first, last = (feature_number(one, queries.first_index) for one in (0, queries.n_features - 1))
        raise ValueError(f"{option} {what}: {data} has {first} to {last.rpartition(' ')[2]}.")
    if not os.path.exists(what):
        raise FileNotFoundError(
            f"{option} {what}: {data} has no column of this name, and there is no file {what!r} in {os.getcwd()}."
        )
    source = rereadable(what)
    return as_base_score(as_run(source), queries) if is_run(source) else scores_of(source, queries, data)
