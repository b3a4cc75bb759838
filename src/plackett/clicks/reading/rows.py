"""Logs with one row for each shown document: CSV, TSV, NDJSON, Parquet and data frames, by named columns."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from difflib import get_close_matches

import numpy as np

from plackett._threads import map_blocks
from plackett.clicks.log import ClickLog
from plackett.clicks.reading.assembling import read_in_parts
from plackett.clicks.reading.cleaning import Cleaning
from plackett.clicks.reading.fields import Fields, no_fields
from plackett.clicks.reading.lists import LONGEST, Limits, Lists, Rows, lists_of_rows
from plackett.clicks.reading.partitions import Part, Partitions, Totals
from plackett.clicks.reading.records import Ragged, Records
from plackett.clicks.reading.tables import Names, SortedNames

# usual names of the columns, in the order in which they are looked for
USUAL = {
    "session": ("session", "session_id", "sessionid", "impression_id", "search_id", "query_id", "serp_id"),
    "query": ("query", "user_query", "qid", "query_text", "search_term", "query_id", "queryid"),
    "docid": ("docid", "doc_id", "doc", "document", "document_id", "object_id", "item_id", "product_id", "url", "item"),
    "rank": ("rank", "position", "pos", "ordinal"),
    "click": ("click", "clicked", "is_click", "is_clicked", "clicks"),
    "time": ("time", "timestamp", "datetime"),
    "ranker": ("ranker", "model", "variant"),
    "is_random": ("is_random", "randomized", "randomised", "shuffled"),
    "client": ("client", "client_id", "user_agent", "user_id", "user"),
}
NEEDED = ("session", "query", "docid", "rank", "click")


def find_columns(present: list[str], wanted: Mapping[str, str | None], source: str) -> dict[str, str]:
    """Return the column of each role, as wanted or under one of its usual names."""
    found: dict[str, str] = {}
    for role, usual in USUAL.items():
        name = wanted.get(role)
        if name is not None:
            if name not in present:
                near = get_close_matches(name, present, n=1)
                hint = f"Did you mean {near[0]!r}?" if near else f"Its columns are {', '.join(map(repr, present))}."
                raise ValueError(f"{source} has no column {name!r} ({role}). {hint}")
            found[role] = name
            continue
        by_case = {column.lower(): column for column in reversed(present)}
        taken = {*found.values(), *(other for other in wanted.values() if other)}
        choices = [by_case[one] for one in usual if one in by_case and by_case[one] not in taken]
        if choices:
            found[role] = choices[0]
        elif role in NEEDED:
            columns = ", ".join(map(repr, present)) or "none"
            raise ValueError(
                f"{source} has no column for the {role}; its columns are {columns}. Name the one that holds it with "
                f"{role}='COLUMN'. A log needs a row for each shown document, with {', '.join(NEEDED)}."
            )
    return found


def read_rows(
    blocks: Iterable[Fields],
    columns: Mapping[str, str],
    limits: Limits,
    cleaning: Cleaning,
    path: str | os.PathLike | None,
) -> ClickLog:
    """Return the log of rows; ``columns`` are the fields by role."""

    def deal(partitions: Partitions, names: Names) -> None:
        _deal(no_fields(columns.values()), columns, partitions, names, cleaning)
        for block in blocks:
            cleaning.n_lines += block.n_lines
            cleaning.add("damaged line", block.n_damaged)
            _deal(block, columns, partitions, names, cleaning)

    return read_in_parts(deal, _lists, limits, cleaning, path)


def _deal(block: Fields, columns: Mapping[str, str], partitions: Partitions, names: Names, cleaning: Cleaning) -> None:
    """Add the rows of a block that can be used, in runs of rows that differ in document, position and click only."""
    rank, click = block.whole(columns["rank"]), block.flags(columns["click"])
    is_kept = np.ones(block.n_rows, dtype=bool)
    for name, is_wrong in (
        ("missing session", ~block.is_given(columns["session"])),
        ("missing query", ~block.is_given(columns["query"])),
        ("missing document", ~block.is_given(columns["docid"])),
        ("missing position", rank == -1),
        ("invalid position", (rank == -2) | (rank >= LONGEST - 1)),
        ("invalid click", click == -2),
    ):
        cleaning.add(name, np.count_nonzero(is_wrong & is_kept))
        is_kept &= ~is_wrong
    cleaning.add("missing click", np.count_nonzero((click == -1) & is_kept))
    cleaning.add("repeated click", np.maximum(click[is_kept] - 1, 0).sum())
    if not is_kept.all():
        rows = np.flatnonzero(is_kept)
        block, rank, click = block.take(rows), rank[rows], click[rows]
    constant = ("session", "query", "time", "ranker", "is_random", "client")
    starts = np.flatnonzero(block.changes([columns[role] for role in constant if role in columns]))
    lengths = np.diff(starts, append=rank.size)
    roles = [role for role in ("docid", "query", "ranker", "client") if role in columns]
    runs = block.take(starts)
    tables = [names.doc if role == "docid" else getattr(names, role) for role in roles]
    sources = [block if role == "docid" else runs for role in roles]
    coded = map_blocks(
        lambda place: sources[place].codes(columns[roles[place]], tables[place]), [(i,) for i in range(len(roles))]
    )
    found = dict(zip(roles, coded, strict=True))
    items = np.empty((rank.size, 2), dtype=np.int32)
    items[:, 0], items[:, 1] = found.pop("docid"), (rank << 1) | (click > 0)
    if "time" in columns:
        found["times"] = runs.times(columns["time"])
        is_wrong = np.isnan(found["times"]) & runs.is_given(columns["time"])
        cleaning.add("invalid time", lengths[is_wrong].sum())
    if "is_random" in columns:
        found["is_random"] = runs.flags(columns["is_random"]) > 0
    records = Records(found, {"rows": Ragged(lengths.astype(np.int32), items)})
    session = columns["session"]
    partitions.add("rows", runs.buffers[session], runs.spans[session], records)


def _lists(part: Part, names: SortedNames, totals: Totals, cleaning: Cleaning) -> Lists:
    records = part.records["rows"]
    columns, rows = records.columns, records.lists["rows"]
    optional: dict[str, np.ndarray] = {}
    for name in ("times", "is_random", "ranker", "client"):
        if name in columns:
            is_coded = name in ("ranker", "client")
            optional[name] = getattr(names, name).place[columns[name]] if is_coded else columns[name]
    shown = Rows(
        columns["session"],
        names.query.place[columns["query"]],
        rows.lengths,
        names.doc.place[rows.values[:, 0]],
        rows.values[:, 1] >> 1,
        (rows.values[:, 1] & 1).astype(bool),
        **optional,
    )
    return lists_of_rows(shown, "positions of rows", totals, cleaning)
