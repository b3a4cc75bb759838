"""Logs with one row for each shown document: CSV, TSV, NDJSON, Parquet and data frames, by named columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from plackett._threads import map_blocks
from plackett.clicks.log import ClickLog
from plackett.clicks.reading.cleaning import Cleaning
from plackett.clicks.reading.fields import Columns, Fields
from plackett.clicks.reading.lists import LONGEST, Limits, Names, Rows, cleaned_log, lists_of_rows
from plackett.data.tables.column_roles import columns_in_words
from plackett.exceptions import DataWarning, warn

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
    "propensity": (),  # only if named
}
NEEDED = ("query", "docid", "click")
CONSTANT = ("session", "query", "time", "ranker", "is_random", "client")  # in a list


def find_columns(present: list[str], wanted: Mapping[str, str | None], source: str) -> dict[str, str]:
    """Return the column of each role, as wanted or under one of its usual names."""
    found: dict[str, str] = {}
    for role, usual in USUAL.items():
        name = wanted.get(role)
        if name is not None:
            if name not in present:
                raise ValueError(f"{source} has no column {name!r} ({role}). {columns_in_words(name, present)}")
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
    if "session" not in found:
        where = "where the query, time or client changes, or the position does not rise"
        how = where if "rank" in found else "with each row"
        warn(f"{source} has no column for the session: a list begins {how}. Or name it: session='COLUMN'.", DataWarning)
    elif "rank" not in found:
        raise ValueError(f"{source} has no column for the rank. Name the one that holds it with rank='COLUMN'.")
    return found


def read_rows(blocks: Iterable[Fields], columns: Mapping[str, str], limits: Limits, cleaning: Cleaning) -> ClickLog:
    """Return the log of rows; ``columns`` are the fields by role."""
    tables, constant = Names(), ("times" if role == "time" else role for role in CONSTANT if role in columns)
    of_runs, of_rows = Columns("lengths", *constant), Columns("doc", "rank", "click", *{"propensity"} & columns.keys())
    for block in blocks:
        cleaning.n_lines += block.n_lines
        cleaning.add("damaged line", block.n_damaged)
        _add(block, columns, tables, of_runs, of_rows, cleaning)
    names = tables.finish()
    runs, rows = of_runs.join(), of_rows.join()
    for name in ("session", "query", "ranker", "client"):
        if name in runs:
            runs[name] = names[name].place[runs[name]]
    rows["doc"] = names["doc"].place[rows["doc"]]
    if "session" not in columns:
        runs = _runs_of_lists(runs, rows["rank"] if "rank" in columns else None)
    return cleaned_log(lists_of_rows(Rows(**runs, **rows), cleaning), names, limits, cleaning)


def _runs_of_lists(runs: dict[str, np.ndarray], rank: np.ndarray | None) -> dict[str, np.ndarray]:
    """Return runs of rows without a session id, with the number of their list in the order of the rows.

    A list begins where a value of the run changes or the position does not rise; without positions it is one row.
    """
    n_rows = int(runs["lengths"].sum())
    run_of = np.repeat(np.arange(runs["lengths"].size), runs["lengths"])
    is_new = np.ones(n_rows, dtype=bool)
    if rank is not None:
        is_new[1:] = rank[1:] <= rank[:-1]
        for name, values in runs.items():
            if name != "lengths":
                own = np.nan_to_num(values, nan=-np.inf)[run_of]
                is_new[1:] |= own[1:] != own[:-1]
    starts = np.flatnonzero(is_new | np.diff(run_of, prepend=-1).astype(bool))
    found = {name: values[run_of[starts]] for name, values in runs.items()}
    session = (np.cumsum(is_new, dtype=np.int32) - np.int32(1))[starts]
    return {**found, "session": session, "lengths": np.diff(starts, append=n_rows)}


def _add(
    block: Fields, columns: Mapping[str, str], tables: Names, of_runs: Columns, of_rows: Columns, cleaning: Cleaning
) -> None:
    """Add the rows of a block that can be used, in runs of rows that differ in document, position and click only."""
    click, is_kept = block.flags(columns["click"]), np.ones(block.n_rows, dtype=bool)
    rank = block.whole(columns["rank"]) if "rank" in columns else np.ones(block.n_rows, dtype=np.int32)
    chance = block.numbers(columns["propensity"]) if "propensity" in columns else np.ones(block.n_rows)
    named = (("session", "missing session"), ("query", "missing query"), ("docid", "missing document"))
    for name, is_wrong in (
        *((name, ~block.is_given(columns[role])) for role, name in named if role in columns),
        ("missing position", rank == -1),
        ("invalid position", (rank == -2) | (rank >= LONGEST - 1)),
        ("invalid click", click == -2),
        ("invalid propensity", ~((chance > 0) & (chance <= 1))),
    ):
        cleaning.add(name, np.count_nonzero(is_wrong & is_kept))
        is_kept &= ~is_wrong
    cleaning.add("missing click", np.count_nonzero((click == -1) & is_kept))
    cleaning.add("repeated click", np.maximum(click[is_kept] - 1, 0).sum())
    if not is_kept.all():
        rows = np.flatnonzero(is_kept)
        block, rank, click, chance = block.take(rows), rank[rows], click[rows], chance[rows]
    starts = np.flatnonzero(block.changes([columns[role] for role in CONSTANT if role in columns]))
    lengths = np.diff(starts, append=rank.size)
    roles = [role for role in ("docid", "session", "query", "ranker", "client") if role in columns]
    runs = block.take(starts)

    def coded(role: str) -> np.ndarray:
        if role == "docid":
            return block.codes(columns[role], tables.doc)
        return runs.codes(columns[role], getattr(tables, role))

    found = dict(zip(roles, map_blocks(coded, [(role,) for role in roles]), strict=True))
    of_rows.add(doc=found.pop("docid"), rank=rank, click=click > 0)
    if "propensity" in columns:
        of_rows.add(propensity=chance)
    if "time" in columns:
        found["times"] = runs.times(columns["time"])
        is_wrong = np.isnan(found["times"]) & runs.is_given(columns["time"])
        cleaning.add("invalid time", lengths[is_wrong].sum())
    if "is_random" in columns:
        found["is_random"] = runs.flags(columns["is_random"]) > 0
    of_runs.add(lengths=lengths, **found)
