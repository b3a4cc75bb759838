"""Reading click logs of every format."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from plackett._optional import import_optional
from plackett.clicks.log import ClickLog
from plackett.clicks.reading.cleaning import Cleaning
from plackett.clicks.reading.fields import (
    BLOCK,
    Fields,
    Lines,
    arrow_fields,
    delimited_fields,
    json_fields,
    wscd_fields,
)
from plackett.clicks.reading.lists import Limits
from plackett.clicks.reading.rows import find_columns, read_rows
from plackett.clicks.reading.ubi import CLICKS, FILTERS, HITS, IMPRESSIONS, Reader, read_ubi
from plackett.clicks.reading.wscd import read_wscd
from plackett.data.parquet.rows import opened
from plackett.data.tables.frames import is_frame
from plackett.data.text_table import UTF8_MARK
from plackett.exceptions import DataFormatError, DataWarning, warn
from plackett.storage.container import MAGIC
from plackett.storage.opening import first_bytes, name_of, open_bytes
from plackett.validation import check_choice, check_positive_int

FORMATS = ("auto", "ubi", "wscd", "rows")
_ROWS_PER_BATCH = 1 << 16
_EXAMINED = 200  # lines


def read_clicks(
    source: Any,
    events: Any = None,
    *,
    format: str = "auto",
    session: str | None = None,
    query: str | None = None,
    docid: str | None = None,
    rank: str | None = None,
    click: str | None = None,
    time: str | None = None,
    ranker: str | None = None,
    is_random: str | None = None,
    client: str | None = None,
    clicks: Sequence[str] = CLICKS,
    impressions: Sequence[str] = IMPRESSIONS,
    filters: Sequence[str] = FILTERS,
    k: int | None = None,
    max_sessions_per_client: int | None = None,
    max_clicks: int | None = None,
    keep_session_ids: bool = True,
    path: str | os.PathLike | None = None,
) -> ClickLog:
    r"""Read a click log, and clean it.

    Damaged lines, broken sessions, repetitions and clicks on what was not shown are counted and treated by fixed rules,
    which ``log.cleaning`` names. Sessions are sorted by id (and time), so that the log does not depend on the order of
    lines. Only codes and the different names are held in memory, not the text.

    Parameters
    ----------
    source : path, file object, data frame, or ``"-"`` for standard input
        One of these; files may be compressed.

        * A table with a row for each shown document: CSV or TSV with a header, NDJSON, Parquet or a data frame.
        * ``ubi_queries`` of OpenSearch's User Behavior Insights (UBI), as NDJSON or Parquet, with ``events``.
        * A folder with a file ``ubi_queries.*`` and a file ``ubi_events.*``.
        * A log of the Relevance Prediction Challenge (WSCD 2012).
        * A file of ``ClickLog.save``, which is loaded as it is.
    events : path or data frame, default=None
        ``ubi_events``, as NDJSON or Parquet.
    format : {"auto", "ubi", "wscd", "rows"}, default="auto"
        "auto" examines the first bytes.
    session, query, docid, rank, click : str, default=None
        Columns of a table; None looks for usual names such as ``session_id`` and ``position``. Positions may begin at
        0 or at 1, which is found out.
    time, ranker, is_random, client : str, default=None
        Optional columns: time of the list, name of the ranker, whether the list was shuffled, and the client. For UBI,
        ``ranker`` is a path such as ``"query_attributes.variant"``.
    clicks, impressions : sequence of str
        UBI: values of ``action_name`` that are clicks, and that tell the shown documents of queries without hits.
    filters : sequence of str, default=("query_attributes.filters",)
        UBI: paths of filters, which are part of the query.
    k : int, default=None
        Longest list; the documents behind are dropped. Set it to the number of results on a page if hits were logged
        that were not shown.
    max_sessions_per_client : int, default=None
        Clients with more sessions are bots. Clients whose name says that they are bots are dropped in any case.
    max_clicks : int, default=None
        Sessions with more clicks are those of bots.
    keep_session_ids : bool, default=True
        False saves memory.
    path : path, default=None
        File for the log, as ``ClickLog.save`` writes it, which is then mapped into memory. Sessions are dealt into
        temporary files beside it and cleaned part by part: the memory needed is that of the names of queries, documents
        and clients, not of the sessions. The log is the same.

    Returns
    -------
    ClickLog

    Examples
    --------
    >>> import io
    >>> text = "session,query,docid,position,clicked\n7,shoe,b,1,1\n7,shoe,a,0,0\n8,shoe,a,0,1\n"
    >>> log = read_clicks(io.StringIO(text))
    >>> log
    ClickLog(2 sessions of 1 query, 3 shown, 2 clicks, 2 pairs)
    >>> log.cleaning.first_position
    0
    """
    check_choice(format, "format", FORMATS)
    for name, value in (("k", k), ("max_sessions_per_client", max_sessions_per_client), ("max_clicks", max_clicks)):
        if value is not None:
            check_positive_int(value, name)
    for name, words in (("clicks", clicks), ("impressions", impressions), ("filters", filters)):
        if isinstance(words, str):
            raise TypeError(f"{name}={words!r}; a list is needed, such as {name}=[{words!r}].")
    limits, cleaning = Limits(k, max_sessions_per_client, max_clicks, keep_session_ids), Cleaning()
    columns = {"session": session, "query": query, "docid": docid, "rank": rank, "click": click}
    columns |= {"time": time, "ranker": ranker, "is_random": is_random, "client": client}
    if events is None and isinstance(source, (str, os.PathLike)) and source != "-" and Path(source).is_dir():
        source, events = _ubi_files(Path(source))
    with ExitStack() as stack:
        if events is not None or format == "ubi":
            if events is None:
                raise ValueError("a log of UBI needs its events, too: events='FILE'.")
            log = read_ubi(
                _ubi_reader(source, stack),
                _ubi_reader(events, stack),
                clicks=clicks,
                impressions=impressions,
                filters=filters,
                ranker=ranker,
                limits=limits,
                cleaning=cleaning,
                path=path,
            )
        elif _magic(source) == MAGIC:
            return _loaded(source, path)
        else:
            found_source = _open(source, stack)
            if isinstance(found_source, Lines) and (format == "wscd" or (format == "auto" and _is_wscd(found_source))):
                log = read_wscd(wscd_fields(found_source), limits, cleaning, path)
            else:
                present, blocks = _table(found_source, _shown(source))
                if HITS in present and format == "auto":
                    raise ValueError(f"{_shown(source)} holds queries of UBI. Pass the events, too: events='FILE'.")
                found = find_columns(present, columns, _shown(source))
                log = read_rows(blocks(list(dict.fromkeys(found.values()))), found, limits, cleaning, path)
    if not len(log):
        warn(f"{_shown(source)} has no session that can be used.\n{cleaning}", DataWarning)
    return log


def _loaded(source: str | os.PathLike, path: str | os.PathLike | None) -> ClickLog:
    log = ClickLog.load(source)
    if path is None:
        return log
    log.save(path)
    return ClickLog.load(path)


def _shown(source: Any) -> str:
    return "the frame" if is_frame(source) else name_of(source)


def _magic(source: Any) -> bytes:
    """Return the first bytes of a regular file, as many as a container has to recognise it by."""
    if not isinstance(source, (str, os.PathLike)) or not os.path.isfile(source):
        return b""
    return first_bytes(source, len(MAGIC))


class _Parquet(NamedTuple):
    path: str


def _open(source: Any, stack: ExitStack) -> Any:
    """Return an Arrow table, the path of a Parquet file, or lines."""
    if is_frame(source):
        return _as_arrow(source)
    if _magic(source).startswith(b"PAR1"):
        return _Parquet(os.fspath(source))
    file = stack.enter_context(open_bytes(source))
    return Lines(file.read(BLOCK).removeprefix(UTF8_MARK), file)


def _is_wscd(lines: Lines) -> bool:
    """Return whether most of the first lines are queries or clicks of a WSCD log."""
    fields = [line.split(b"\t") for line in _first_lines(lines) if line.strip()]
    return sum(len(one) >= 4 and one[2] in (b"Q", b"C") for one in fields) > len(fields) / 2


def _first_lines(lines: Lines) -> list[bytes]:
    return lines.head.split(b"\n", _EXAMINED)[:_EXAMINED]


# --- Tables -----------------------------------------------------------------------------------------------------------


def _table(source: Any, name: str) -> tuple[list[str], Callable[[list[str]], Iterator[Fields]]]:
    """Return the columns of a table, and a function that yields some of them in blocks."""
    if isinstance(source, _Parquet):
        with opened(source.path) as file:
            return list(file.schema_arrow.names), lambda names: _parquet_fields(source.path, names, None)
    if not isinstance(source, Lines):
        return list(source.column_names), lambda names: arrow_fields(source.to_batches(_ROWS_PER_BATCH), names)
    if not source.head.strip():
        raise DataFormatError(name, None, "the file is empty.")
    if source.head.lstrip().startswith(b"{"):
        return _json_keys(_first_lines(source)), lambda names: json_fields(source, names)
    header, _, rest = source.head.partition(b"\n")
    columns, delimiter = _header(header, name)
    return columns, lambda names: delimited_fields(Lines(rest, source.file), delimiter, columns, names)


def _as_arrow(frame: Any) -> Any:
    if hasattr(frame, "column_names") and hasattr(frame, "schema"):
        return frame
    narwhals = import_optional("narwhals", extra="frames", needed_for="Reading data frames")
    table = narwhals.from_native(frame)
    return (table.collect() if isinstance(table, narwhals.LazyFrame) else table).to_arrow()


def _parquet_fields(path: str, names: Sequence[str], list_name: str | None) -> Iterator[Fields]:
    tops = {name.partition(".")[0] for name in [*names, *([list_name] if list_name else [])]}
    with opened(path) as file:
        present = set(file.schema_arrow.names)
        wanted = sorted((tops | set(names)) & present)
    with opened(path, wanted) as file:
        yield from arrow_fields(file.iter_batches(_ROWS_PER_BATCH, columns=wanted), names, list_name)


def _json_keys(lines: list[bytes]) -> list[str]:
    """Return the keys of those lines that are JSON objects."""
    keys: dict[str, None] = {}
    for line in lines:
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict):
            found = found["_source"] if isinstance(found.get("_source"), dict) else found
            keys |= dict.fromkeys(map(str, found))
    return list(keys)


def _header(header: bytes, name: str) -> tuple[list[str], str]:
    line = header.decode("utf-8", "replace").rstrip("\r")
    delimiter = max(",\t;|", key=line.count)
    columns = next(csv.reader(io.StringIO(line), delimiter=delimiter))
    columns = [column.strip() for column in columns]
    if len(columns) < 2 or len(set(columns)) < len(columns):
        raise DataFormatError(name, 1, f"expected a header with the names of the columns, found {line[:80]!r}.")
    return columns, delimiter


# --- UBI --------------------------------------------------------------------------------------------------------------


def _ubi_files(folder: Path) -> tuple[Path, Path]:
    found = []
    for what in ("ubi_queries", "ubi_events"):
        files = sorted(path for path in folder.iterdir() if path.name.startswith(what) and path.is_file())
        if len(files) != 1:
            raise ValueError(f"{folder} has {len(files)} files {what}.*; one is needed, or pass the two files.")
        found.append(files[0])
    return found[0], found[1]


def _ubi_reader(source: Any, stack: ExitStack) -> Reader:
    found_source = _open(source, stack)
    if isinstance(found_source, _Parquet):
        return lambda names, list_name: _parquet_fields(found_source.path, names, list_name)
    if isinstance(found_source, Lines):
        return lambda names, list_name: json_fields(found_source, names, list_name)
    return lambda names, list_name: arrow_fields(found_source.to_batches(_ROWS_PER_BATCH), names, list_name)
