"""Logs with one row for each shown document: CSV, TSV, NDJSON, Parquet and data frames, by named columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

import numpy as np

from plackett._threads import map_blocks
from plackett.clicks.log import ClickLog
from plackett.clicks.reading.cleaning import Cleaning
from plackett.clicks.reading.fields import Fields
from plackett.clicks.reading.lists import LONGEST, Limits, Names, Rows, as_log, lists_of_rows

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
                f"{source} has no column for the {role}; its columns are {columns}. Name it, such as {role}="
                f"{present[0] if present else 'NAME'!r}. A log needs a row for each shown document, with "
                f"{', '.join(NEEDED)}."
            )
    return found


def read_rows(blocks: Iterable[Fields], columns: Mapping[str, str], limits: Limits, cleaning: Cleaning) -> ClickLog:
    """Return the log of rows; ``columns`` are the fields by role."""
    names = Names.empty()
    parts: dict[str, list[np.ndarray]] = {name: [] for name in ("session", "query", "doc", "rank", "click")}
    parts |= {name: [] for name in ("times", "ranker", "is_random", "client")}
    for block in blocks:
        cleaning.n_lines += block.n_lines
        cleaning.add("damaged line", block.n_damaged)
        for name, values in _codes(block, columns, names, cleaning).items():
            parts[name].append(values)
    dtypes = {"click": bool, "is_random": bool, "times": np.float64}
    given = {}
    for name in list(parts):
        column = parts.pop(name)  # only one column at a time is held twice
        if column or name in ("session", "query", "doc", "rank", "click"):
            given[name] = np.concatenate(column) if column else np.empty(0, dtypes.get(name, np.int32))
    return as_log(lists_of_rows(Rows(**given), cleaning), names, limits, cleaning)


def _codes(block: Fields, columns: Mapping[str, str], names: Names, cleaning: Cleaning) -> dict[str, np.ndarray]:
    """Return the values of the rows of a block that can be used, and count the others."""
    rank, click = block.whole(columns["rank"]), block.flags(columns["click"])
    has_doc, has_session = block.is_given(columns["docid"]), block.is_given(columns["session"])
    is_kept = np.ones(block.n_rows, dtype=bool)
    for name, is_wrong in (
        ("missing session", ~has_session),
        ("missing query", ~block.is_given(columns["query"])),
        ("missing document", ~has_doc),
        ("missing position", rank == -1),
        ("invalid position", (rank == -2) | (rank >= LONGEST - 1)),
        ("invalid click", click == -2),
    ):
        cleaning.add(name, np.count_nonzero(is_wrong & is_kept))
        is_kept &= ~is_wrong
    cleaning.add("missing click", np.count_nonzero((click == -1) & is_kept))
    cleaning.add("repeated click", np.maximum(click[is_kept] - 1, 0).sum())
    rows = slice(None) if is_kept.all() else np.flatnonzero(is_kept)

    roles = [role for role in ("session", "query", "docid", "ranker", "client") if role in columns]
    tables = [names.doc if role == "docid" else getattr(names, role) for role in roles]
    spans = [(block.buffers[columns[role]], block.spans[columns[role]][rows]) for role in roles]
    found = map_blocks(lambda place: tables[place].add(*spans[place]), [(place,) for place in range(len(roles))])
    answer = {"doc" if role == "docid" else role: codes for role, codes in zip(roles, found, strict=True)}
    answer |= {"rank": rank[rows], "click": click[rows] > 0}
    if "time" in columns:
        answer["times"] = block.times(columns["time"])[rows]
        is_given = block.is_given(columns["time"])[rows]
        cleaning.add("invalid time", np.count_nonzero(np.isnan(answer["times"]) & is_given))
    if "is_random" in columns:
        answer["is_random"] = block.flags(columns["is_random"])[rows] > 0
    return answer
