"""Reading click logs of every format."""

from __future__ import annotations

import codecs
import csv
import io
import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from plackett.clicks.log import ClickLog
from plackett.clicks.reading.cleaning import Cleaning
from plackett.clicks.reading.fields import BLOCK, Fields, Lines, arrow_fields, delimited_fields, json_fields
from plackett.clicks.reading.lists import Limits
from plackett.clicks.reading.rows import USUAL, find_columns, read_rows
from plackett.clicks.reading.ubi import HITS, Reader, UbiNames, read_ubi, ubi_sources
from plackett.data.parquet.table import ParquetTable
from plackett.data.tables.arrow_table import OBJECTS, Table, is_frame
from plackett.data.text_table import UTF8_MARK
from plackett.exceptions import DataFormatError, DataWarning, warn
from plackett.storage.container import MAGIC
from plackett.storage.opening import first_bytes, name_of, open_bytes
from plackett.storage.remote import local_files
from plackett.validation import check_positive_int

_EXAMINED = 200  # lines
_NO_EVENTS = "{} holds queries of UBI. Also pass the events: events='FILE'. Both may also be in one file of JSON lines."
_EXAMINED_BYTES = 1000
HITS_OF_A_SEARCH = re.compile(rb'"hits"\s*:\s*\{(?:[^[]*,)?\s*"hits"\s*:\s*\[')  # a response of OpenSearch


@local_files
def read_clicks(
    source: Any,
    events: Any = None,
    *,
    session: str | None = None,
    query: str | None = None,
    docid: str | None = None,
    rank: str | None = None,
    click: str | None = None,
    time: str | None = None,
    ranker: str | None = None,
    is_random: str | None = None,
    client: str | None = None,
    propensity: str | None = None,
    ubi: UbiNames = UbiNames(),  # noqa: B008
    k: int | None = None,
    max_sessions_per_client: int | None = None,
) -> ClickLog:
    r"""Read a click log, and clean it.

    Damaged lines, broken sessions, repetitions and clicks on documents that were not shown are counted and treated by
    fixed rules, which ``log.cleaning`` names. Sessions are sorted by id (and time), so that the log does not depend on
    the order of lines. Only codes and the different names are held in memory, not the text.

    Parameters
    ----------
    source : path, file object, data frame, URL, or ``"-"`` for standard input
        One of these; files may be compressed.

        * A table with a row for each shown document: CSV or TSV with a header, NDJSON, Parquet or a data frame.
        * ``ubi_queries`` of OpenSearch's User Behavior Insights (UBI), as NDJSON or Parquet, with ``events``. Records
          may lie below ``_source``, and lines of the bulk format are skipped.
        * A folder with files ``ubi_queries*`` and ``ubi_events*``, or one NDJSON file with both.
        * A file of ``ClickLog.save``, which is loaded as it is.
    events : path or data frame, default=None
        ``ubi_events``, as NDJSON, Parquet or CSV.
    session, query, docid, rank, click : str, default=None
        Columns of a table; None looks for usual names such as ``session_id`` and ``position``. Positions may begin at
        0 or at 1, which is detected. Without a session, a list begins where the query, time or client changes, or the
        position does not rise; without a position, too, each row is a list.
    time, ranker, is_random, client : str, default=None
        Optional columns: time of the list, name of the ranker, whether the list was shuffled, and the client. For UBI,
        ``ranker`` is a path such as ``"query_attributes.variant"``.
    propensity : str, default=None
        Column of the probability with which the service showed the document at its position, for
        ``evaluate_from_clicks``.
    ubi : UbiNames, default=UbiNames()
        UBI: names of actions, and paths of filters.
    k : int, default=None
        Longest list; further documents are dropped. Set it to the number of results on a page if hits were logged
        that were not shown.
    max_sessions_per_client : int, default=None
        Clients with more sessions are dropped as bots. Clients whose name indicates a bot are always dropped.

    Examples
    --------
    >>> from plackett.clicks import read_clicks
    >>> import io
    >>> text = "session,query,docid,position,clicked\n7,shoe,b,1,1\n7,shoe,a,0,0\n8,shoe,a,0,1\n"
    >>> log = read_clicks(io.StringIO(text))
    >>> log
    ClickLog(2 sessions of 1 query, 3 shown, 2 clicks, 2 pairs)
    >>> log.cleaning.first_position
    0
    """
    for name, value in (("k", k), ("max_sessions_per_client", max_sessions_per_client)):
        if value is not None:
            check_positive_int(value, name)
    limits, cleaning = Limits(k, max_sessions_per_client), Cleaning()
    columns = {"session": session, "query": query, "docid": docid, "rank": rank, "click": click}
    columns |= {"time": time, "ranker": ranker, "is_random": is_random, "client": client, "propensity": propensity}
    if _magic(source) == MAGIC:
        given = {"k": k, "max_sessions_per_client": max_sessions_per_client, **columns}
        return _loaded(source, [name for name, value in given.items() if value is not None])
    parts = ubi_sources(source) if events is None else ([source], [events])
    with ExitStack() as stack:
        if parts is None:
            table = _opened(source, stack)
            if docid is None and _is_ubi(set(table.columns)):
                parts = _both_in_one(source, table.is_text)
        if parts is None:
            found = find_columns(table.columns, columns, _shown(source))
            log = read_rows(table.fields(list(dict.fromkeys(found.values())), None), found, limits, cleaning)
        else:
            queries, actions = _ubi_reader(parts[0], stack), _ubi_reader(parts[1], stack)
            log, has_events = read_ubi(queries, actions, ubi, ranker=ranker, limits=limits, cleaning=cleaning)
            if not has_events and parts[0] == parts[1]:
                raise ValueError(_NO_EVENTS.format(_shown(source)))
            _check_clicks(log)
    if not len(log):
        warn(f"{_shown(source)} has no session that can be used.\n{cleaning}", DataWarning)
    return log


def _loaded(source: str | os.PathLike, given: list[str]) -> ClickLog:
    if given:
        raise ValueError(
            f"{_shown(source)} is a saved log, which is loaded as it is; {', '.join(given)} would have no effect. Read "
            "the original log with these parameters."
        )
    return ClickLog.load(source)


def _shown(source: Any) -> str:
    return "the frame" if _is_frame(source) else name_of(source)


def _is_frame(source: Any) -> bool:
    return not isinstance(source, (str, os.PathLike)) and is_frame(source)


def _magic(source: Any) -> bytes:
    """Return the first bytes of a regular file, as many as a container has to recognise it by."""
    if not isinstance(source, (str, os.PathLike)) or not os.path.isfile(source):
        return b""
    return first_bytes(source, len(MAGIC))


class _Source(NamedTuple):
    """The columns of a source of rows, and a function that yields fields and the items of a list in blocks."""

    columns: list[str]
    fields: Reader
    is_text: bool = False


def _opened(source: Any, stack: ExitStack, *, is_ubi: bool = False) -> _Source:
    """Open a source; ``is_ubi``: one of which it is known that it holds queries or events of UBI."""
    name = _shown(source)
    is_frame = _is_frame(source)
    if is_frame or _magic(source).startswith(b"PAR1"):
        table = _checked(Table(source)) if is_frame else ParquetTable([os.fspath(source)])
        return _Source(table.column_names, partial(_table_fields, table))
    file = stack.enter_context(open_bytes(source))
    head = file.read(BLOCK).removeprefix(UTF8_MARK)
    _check_head(head, name)
    lines, (header, _, rest) = Lines(head, file), head.partition(b"\n")
    if not is_ubi and not head.strip():
        raise DataFormatError(name, None, "the file is empty.")
    # of UBI, the first line may be damaged, or a list begins
    if head.lstrip()[:1] in (b"{", b"") or (is_ubi and b"query_id" not in header and b'"query_id"' in head):
        return _Source(_json_keys(head), partial(json_fields, lines), is_text=True)
    if is_ubi and b"query_id" not in header:
        raise DataFormatError(name, 1, f"expected JSON lines, or a header with query_id, found {header[:80]!r}.")
    columns, delimiter = _header(header, name)

    def fields(names: Sequence[str], list_name: str | None = None) -> Iterator[Fields]:
        present = [one for one in [*names, list_name] if one in columns]
        for block in delimited_fields(Lines(rest, file), delimiter, columns, present):
            yield block.with_missing(names).with_lists(list_name)

    return _Source(columns, fields, is_text=True)


def _check_head(head: bytes, name: str) -> None:
    """Reject text that is not made of lines of UTF-8."""
    if head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        raise DataFormatError(name, 1, "the text is UTF-16; save it as UTF-8.")
    start = head.lstrip()[:1]
    first = head.lstrip().partition(b"\n")[0].rstrip()
    if start == b"[" and (first == b"[" or first.lstrip(b"[ ").startswith(b"{")):
        raise DataFormatError(name, 1, "this is a JSON array; write one record per line, such as with jq -c '.[]'.")
    if first == b"{" or (start == b"{" and HITS_OF_A_SEARCH.search(first[:_EXAMINED_BYTES])):
        advice = "such as with jq -c '.hits.hits[]'" if b'"hits"' in head else "such as with jq -c ."
        raise DataFormatError(name, 1, f"this is one JSON document; write one record per line, {advice}.")


def _checked(frame: Table) -> Table:
    """Reject a frame with a column of several types."""
    mixed = [field for field in frame.parts[0].schema if OBJECTS in (field.metadata or ())]
    if mixed:
        name, kinds = mixed[0].name, mixed[0].metadata[OBJECTS].decode()
        advice = f"Make it one type, such as frame[{name!r}] = frame[{name!r}].astype(str)"
        raise TypeError(f"column {name!r} of the frame holds values of several types ({kinds}). {advice}.")
    return frame


def _table_fields(table: Table, names: Sequence[str], list_name: str | None = None) -> Iterator[Fields]:
    wanted = {*names, *(name.partition(".")[0] for name in [*names, list_name or ""])}
    columns = sorted(wanted.intersection(table.column_names)) or table.column_names[:1]
    batches = (batch for _, _, batch in table.select(columns).batches(columns))
    return arrow_fields(batches, names, list_name)


def _json_keys(head: bytes) -> list[str]:
    """Return the keys of those of the first lines that are JSON objects."""
    keys: dict[str, None] = {}
    for line in head.split(b"\n", _EXAMINED)[:_EXAMINED]:
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            found = found["_source"] if isinstance(found.get("_source"), dict) else found
            keys |= dict.fromkeys(map(str, found))
    return list(keys)


def _header(header: bytes, name: str) -> tuple[list[str], str]:
    line = header.decode("utf-8", "replace").rstrip("\r")
    delimiter = max(",\t;|", key=line.count)
    try:
        columns = [column.strip() for column in next(csv.reader(io.StringIO(line), delimiter=delimiter), [])]
    except csv.Error:
        columns = []
    if len(columns) < 2:
        raise DataFormatError(name, 1, f"expected a header with the names of the columns, found {line[:80]!r}.")
    if repeated := [column for column in dict.fromkeys(columns) if columns.count(column) > 1]:
        raise DataFormatError(name, 1, f"the column {repeated[0]!r} occurs twice in the header; rename one of the two.")
    return columns, delimiter


# --- UBI --------------------------------------------------------------------------------------------------------------


def _is_ubi(keys: set[str]) -> bool:
    """Return whether the columns of the first lines are those of queries or events, rather than of shown documents."""
    has_records = not keys.isdisjoint({"user_query", "action_name"}) and "query_id" in keys
    return HITS in keys or (has_records and keys.isdisjoint(USUAL["docid"]))


def _both_in_one(source: Any, is_text: bool) -> tuple[list[Any], list[Any]]:
    """Return the sources of queries and events that are in one file, which is read twice."""
    if not is_text or not isinstance(source, (str, os.PathLike)) or not os.path.isfile(source):
        raise ValueError(_NO_EVENTS.format(_shown(source)))
    return [source], [source]


def _ubi_reader(sources: Sequence[Any], stack: ExitStack) -> Reader:
    readers = [_opened(source, stack, is_ubi=True).fields for source in sources]
    return lambda *names: chain.from_iterable(read(*names) for read in readers)


def _check_clicks(log: ClickLog) -> None:
    """Warn if most clicks do not belong to a shown document: the ids of the two files may differ."""
    assert log.cleaning is not None
    damages = ("click in an unknown session", "click on what was not shown", "click without document and position")
    if sum(map(log.cleaning.__getitem__, damages)) > max(log.n_clicks, 10):
        counts = ", ".join(f"{name}: {count:,}" for name in damages if (count := log.cleaning[name]))
        warn(
            f"most clicks were dropped ({counts}; kept: {log.n_clicks:,}). Compare query_id and object_id of the "
            "events with query_id and query_response_hit_ids of the queries.",
            DataWarning,
        )
