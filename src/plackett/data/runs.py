"""Judgements and runs in the forms that teams have: tables by their usual column names, JSON, files of TREC."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from plackett.data import judgements
from plackett.data.judgements import find_column
from plackett.data.tables.arrow_table import as_arrow, is_frame
from plackett.data.tables.files import read_columns
from plackett.data.trec.files import QRELS_LINE, RUN_LINE, read_qrels, read_trec_run
from plackett.data.trec.qrels import Qrels
from plackett.data.trec.run import Run
from plackett.exceptions import DataFormatError
from plackett.storage.file_names import ARROW, is_parquet, table_ending
from plackett.storage.opening import name_of, open_bytes
from plackett.storage.remote import local_files
from plackett.validation import plain

SCORES = ("score", "relevancescore", "similarity", "value")
POSITIONS = ("position", "rank", "pos")
RATINGS = tuple(name for name in judgements.COLUMNS["rating"] if name not in SCORES)
TEXTS = (".csv", ".tsv", ".json", ".jsonl", ".ndjson")
_HEAD = 1 << 16


@local_files
def as_qrels(source: Any, *, subtopics: bool = False) -> Qrels:
    """Return judgements as qrels: those of a file or a frame, or of ``{qid: {docid: label}}``.

    Parameters
    ----------
    source : Qrels, data frame, path, or dict of dicts
        Of a frame or a table, columns are known by their usual names, such as query, docid and rating. A file may be
        Parquet, Arrow, or in any format of ``plackett.data.judgements.read``.
    subtopics : bool, default=False
        As for ``read_qrels``, of a file.

    Examples
    --------
    >>> import pandas as pd
    >>> from plackett.data.runs import as_qrels
    >>> as_qrels({"301": {"FT941-7": 1, "FT943-2": 0}})
    Qrels(1 query, 2 judgements, labels 0..1)
    >>> as_qrels(pd.DataFrame({"query": ["river", "river"], "docid": ["d1", "d2"], "rating": [2, None]}))
    Qrels(1 query, 1 judgement, labels 2..2)
    """
    if isinstance(source, Qrels):
        return source
    if isinstance(source, Mapping):
        return Qrels.from_dict(source)
    is_path = isinstance(source, (str, os.PathLike))
    if not is_path and not is_frame(source):
        came = type(source).__name__
        raise TypeError(f"qrels is a {came}; a Qrels, a path or {{qid: {{docid: label}}}} is needed.")
    if is_path and subtopics:
        return read_qrels(source, subtopics=True)
    if is_path and not _is_arrow(source):
        if table_ending(source) not in TEXTS and os.path.isfile(source):
            head = _head_of(source)
            if judgements.format_of(head) == "qrels":
                _check_words(name_of(source), head, is_run=False)
                return read_qrels(source)
        try:
            return judgements.read(source).to_qrels()
        except DataFormatError as error:
            if is_run(source):
                raise DataFormatError(name_of(source), error.line, f"{error.message}{_SWAPPED}") from error
            raise
    columns, name = _columns_of(source)
    query, document = _ids(columns, name)
    rating = find_column(columns, (*RATINGS, *SCORES))
    if rating is None:
        _refuse(name, columns, "judgements", RATINGS)
    labels = np.array([np.nan if value is None else value for value in columns[rating]], dtype=np.float64)
    kept = ~np.isnan(labels)  # as Quepid exports documents that are not judged
    return Qrels(np.array(query)[kept], np.array(document)[kept], labels[kept])


@local_files
def as_run(source: Any, name: str = "scores") -> Run:
    """Return a ranking as a run: that of a file or a frame, of an object with ``to_run``, or of a dict.

    Parameters
    ----------
    source : Run, data frame, path, object with ``to_run``, or ``{qid: {docid: score}}``
        Of a frame or a table, columns are known by their usual names: query, docid, and score or position. A file may
        be CSV, TSV, Parquet, Arrow, JSON (a list of objects, one per line, or such a dict) or a TREC run.
    name : str, default="scores"
        In messages, and the tag of a frame or a dict.

    Examples
    --------
    >>> import pandas as pd
    >>> from plackett.data.runs import as_run
    >>> as_run({"301": {"FT941-7": 2.5, "FT943-2": 1.75}}, "bm25")
    Run('bm25', 1 query, 2 documents)
    >>> as_run(pd.DataFrame({"query": ["river", "river"], "docid": ["d1", "d2"], "position": [2, 1]})).scores
    array([-2., -1.])
    """
    if isinstance(source, Run):
        return source
    is_path = isinstance(source, (str, os.PathLike))
    if hasattr(source, "to_run"):
        return source.to_run()
    if isinstance(source, Mapping) and all(isinstance(docs, Mapping) for docs in source.values()):
        return Run.from_dict(source, tag=name)
    if not is_path and not is_frame(source):
        raise TypeError(
            f"{name} is a {type(source).__name__}; a Run, a path or {{qid: {{docid: score}}}} is needed. One run alone "
            'also needs a name: {"name": run}.'
        )
    tag = None if is_path else name
    if is_path and not _is_arrow(source) and table_ending(source) not in TEXTS:
        if os.path.isfile(source):
            _check_words(name_of(source), _head_of(source), is_run=True)
        return read_trec_run(source)
    columns, name = _columns_of(source)
    if not isinstance(columns, dict):
        return Run.from_dict(dict(columns), tag=tag)
    query, document = _ids(columns, name)
    score, position = find_column(columns, SCORES), find_column(columns, POSITIONS)
    if score is None and position is None:
        _refuse(name, columns, "a run", (*SCORES, *POSITIONS))
    try:
        numbers = np.array(columns[score or position], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataFormatError(name, None, f"column {score or position!r} holds something else than numbers.") from error
    return Run(query, document, numbers if score is not None else -numbers, tag=tag)


def is_run(source: str | os.PathLike) -> bool:
    """Return whether a file holds a run rather than judgements, by its first line or its columns."""
    if not isinstance(source, (str, os.PathLike)) or not os.path.isfile(source):
        return False
    if _is_arrow(source) or table_ending(source) in TEXTS:
        try:
            columns, _ = _columns_of(source)
        except (ValueError, ModuleNotFoundError):
            return False
        has_rating = find_column(columns, RATINGS) is not None
        return not has_rating and find_column(columns, (*SCORES, *POSITIONS)) is not None
    with open_bytes(source) as file:
        return next((len(line.split()) for line in file if line.strip()), 0) == len(RUN_LINE.split())


def _head_of(source: str | os.PathLike) -> str:
    with open_bytes(source) as file:
        return file.read(_HEAD).decode("utf-8", "replace")


def _is_arrow(source: str | os.PathLike) -> bool:
    return os.path.isfile(source) and (is_parquet(source) or table_ending(source) in ARROW)


def _columns_of(source: Any) -> tuple[Any, str]:
    """Return the columns of a frame or a file by name; of ``{query: {docid: score}}`` in JSON, that; and its name."""
    if is_frame(source) or _is_arrow(source):
        table = as_arrow(source if is_frame(source) else read_columns(source))
        name = "the frame" if is_frame(source) else name_of(source)
        return {column: table[column].to_pylist() for column in table.column_names}, name
    text, name = judgements.text_of(source), name_of(source)
    if table_ending(source) in (".csv", ".tsv"):
        header, *rows = (row for _, row in judgements.csv_rows(text, name))
        if any(len(row) != len(header) for row in rows):
            line = next(n for n, row in enumerate(rows, 2) if len(row) != len(header))
            raise DataFormatError(name, line, f"expected {len(header)} fields, as the header has.")
        return dict(zip([one.strip() for one in header], map(list, zip(*rows, strict=True)), strict=False)), name
    content = judgements.json_of(text, name)
    if isinstance(content, Mapping):
        if not all(isinstance(one, Mapping) for one in content.values()):
            raise DataFormatError(name, None, "expected {query: {docid: score}}, or a list of objects.")
        return content.items(), name
    if not isinstance(content, list) or not all(isinstance(row, dict) for row in content):
        raise DataFormatError(name, None, "expected a list of objects with query, docid and score.")
    return {key: [row.get(key) for row in content] for key in (content[0] if content else ())}, name


def _ids(columns: Mapping[str, list], name: str) -> tuple[list[str], list[str]]:
    found = [find_column(columns, judgements.COLUMNS[role]) for role in ("query", "document")]
    for role, column in zip(("query", "document"), found, strict=True):
        if column is None:
            _refuse(name, columns, f"a {role}", judgements.COLUMNS[role])
        if None in columns[column]:
            raise DataFormatError(name, None, f"column {column!r} is empty in row {columns[column].index(None)}.")
    return tuple([str(plain(value)) for value in columns[column]] for column in found)  # type: ignore[return-value]


def _refuse(name: str, columns: Iterable[str], what: str, known: Sequence[str]) -> NoReturn:
    """Raise for a table without a column; with a hint if judgements and a run seem to be swapped."""
    other = RATINGS if what == "a run" else POSITIONS if what == "judgements" else ()
    hint = _SWAPPED if find_column(columns, other) is not None else ""
    listed = f"it has {', '.join(map(repr, columns))}; expected one called {', '.join(known[:4])}"
    raise DataFormatError(name, None, f"there is no column for {what}: {listed}.{hint}")


_SWAPPED = " Are judgements and run swapped? Judgements come first, such as: evaluate(judgements, run)."


def _check_words(name: str, head: str, *, is_run: bool) -> None:
    """Raise if the first line of a file of TREC is that of the other kind."""
    words = next((line.split() for line in head.splitlines() if line.strip() and not line.startswith("#")), [])
    if len(words) == (len(QRELS_LINE.split()) if is_run else len(RUN_LINE.split())):
        what = ("a run", "judgements") if is_run else ("judgements", "a run")
        raise DataFormatError(name, 1, f"expected {what[0]}, found {what[1]}: {' '.join(words)[:60]!r}.{_SWAPPED}")
