"""Cleaned lists of all parts, merged into one log in the order of the names of sessions."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from plackett.clicks.log import KIND, VERSION, ClickLog, open_log
from plackett.clicks.names import NameTable, names_as_arrays
from plackett.clicks.pairs import Pairs, PairTable
from plackett.clicks.reading.cleaning import Cleaning
from plackett.clicks.reading.lists import Lists
from plackett.clicks.reading.partitions import Part
from plackett.clicks.reading.records import Kept, Ragged, Scratch
from plackett.clicks.reading.tables import SortedNames
from plackett.data.text_column import TextColumn
from plackett.storage.container import write_container

SESSIONS_AT_ONCE = 1 << 17
_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass
class _Run:
    """The lists of a part, sorted by session, time and query. Row and name bounds follow from the lengths."""

    columns: dict[str, Kept]  # a value per list
    pair: Kept
    click: Kept
    names: Kept | None
    n_lists: int

    @cached_property
    def row_bounds(self) -> np.ndarray:
        return _bounds(self.columns["length"].read())

    @cached_property
    def name_bounds(self) -> np.ndarray:
        return _bounds(self.columns["name length"].read())

    def keys(self, start: int, stop: int, byte: int) -> Any:
        """Return the positions of some sessions by name, or their names, which begin at ``byte``."""
        if self.names is None:
            return self.columns["place"].read(start, stop)
        bounds = _bounds(self.columns["name length"].read(start, stop))
        return TextColumn(self.names.read(byte, byte + int(bounds[-1])), bounds)


class Results:
    """Cleaned lists, part by part."""

    def __init__(self, scratch: Scratch, names: SortedNames):
        self._scratch, self._names = scratch, names
        self._pairs = PairTable(len(names.doc.names))
        self._runs: list[_Run] = []
        self._marks: list[tuple[np.ndarray, np.ndarray]] = []  # lists that may be copied, and a hash of each
        self.has_times = self.has_rankers = self.has_random = True

    def add(self, lists: Lists, part: Part) -> None:
        """Add the lists of a part; their codes are those of sorted names."""
        session = part.place[lists.session]
        keys = (lists.query, session) if lists.times is None else (lists.query, lists.times, session)
        order = np.lexsort(keys)
        if not (order[1:] > order[:-1]).all():
            lists, session = lists.take(order), session[order]
        lengths = np.diff(lists.indptr).astype(np.int32)
        pair = self._pairs.add(np.repeat(lists.query, lengths), lists.doc)
        columns = {"session_query": lists.query, "length": lengths}
        for name in ("times", "ranker", "is_random", "client"):
            if (values := getattr(lists, name)) is not None:
                columns[name] = values
        if len(lists):
            self.has_times &= lists.times is not None and bool(np.isfinite(lists.times).all())
            self.has_rankers &= lists.ranker is not None and bool((lists.ranker >= 0).all())
            self.has_random &= lists.is_random is not None
        self._marks.append(_marks(lists, pair))
        names = None
        if part.names is None:
            columns["place"] = session
        else:
            own = part.names[session]
            columns["name length"] = np.diff(own.bounds).astype(np.int32)
            names = self._scratch.keep(own.buffer)
        keep = self._scratch.keep
        kept = {name: keep(values) for name, values in columns.items()}
        self._runs.append(_Run(kept, keep(pair), keep(lists.click), names, len(lists)))

    def log(self, session_ids: TextColumn | None, keeps_ids: bool, cleaning: Cleaning, path: Any) -> ClickLog:
        """Return the log, mapped from ``path`` if given; otherwise ``session_ids`` are the names of all sessions."""
        is_kept = self._kept(cleaning)
        pairs, place = self._pairs.finish(self._names.query.names, self._names.doc.names)
        used = pairs.subset(np.arange(len(pairs)))
        query_place = np.zeros(len(pairs.queries), dtype=np.int32)  # without the queries of dropped sessions
        query_place[pairs.pair_query] = used.pair_query
        sizes = self._sizes(is_kept)
        wanted: dict[str, tuple[Any, int]] = {
            "indptr": (np.int64, sizes["lists"] + 1),
            "pair": (np.int32, sizes["rows"]),
            "click": (np.bool_, sizes["rows"]),
            "session_query": (np.int32, sizes["lists"]),
        }
        n_lists = sizes["lists"]
        if self.has_times and n_lists:
            wanted["times"] = (np.float64, n_lists)
        if self.has_rankers and n_lists:
            wanted["ranker"] = (np.int32, n_lists)
        if self.has_random and n_lists:
            wanted["is_random"] = (np.bool_, n_lists)
        fixed = pairs_and_rankers(used, self._names.ranker.names if "ranker" in wanted else None)
        if path is not None:
            if keeps_ids:
                wanted |= {
                    "session_ids.bytes": (np.uint8, sizes["bytes"]),
                    "session_ids.bounds": (np.int64, n_lists + 1),
                }
            return _to_file(path, wanted, fixed, self._merged(is_kept, place, query_place, wanted), cleaning)
        if keeps_ids:
            wanted["place"] = (np.int32, n_lists)
        arrays = {name: np.empty(n, dtype=dtype) for name, (dtype, n) in wanted.items()}
        for name, start, values in self._merged(is_kept, place, query_place, wanted):
            arrays[name][start : start + len(values)] = values
        optional: dict[str, Any] = {name: arrays.get(name) for name in ("times", "ranker", "is_random")}
        if "ranker" in wanted:
            optional["rankers"] = self._names.ranker.names
        if keeps_ids and session_ids is not None:
            own = arrays["place"]
            is_all = own.size == len(session_ids) and bool((own == np.arange(own.size)).all())
            optional["session_ids"] = session_ids if is_all else session_ids[own]
        flat: dict[str, Any] = {name: arrays[name] for name in ("indptr", "pair", "click", "session_query")}
        return ClickLog(pairs=used, cleaning=cleaning, **flat, **optional)

    # --- Copied sessions ----------------------------------------------------------------------------------------------

    def _kept(self, cleaning: Cleaning) -> list[np.ndarray | None]:
        """Return which lists of each run are kept; None for all.

        A list is dropped if another session of the same client shows the same list for the same query at the same time
        and has an earlier name.
        """
        answer: list[np.ndarray | None] = [None] * len(self._runs)
        for candidates in self._candidates():
            first: dict[tuple, list] = {}
            for run, place in candidates:
                content = self._content(run, place)
                first.setdefault(content, []).append((self._key(run, place), run, place))
            for same in first.values():
                for _, run, place in sorted(same)[1:]:
                    is_kept = answer[run]
                    if is_kept is None:
                        is_kept = answer[run] = np.ones(self._runs[run].n_lists, dtype=bool)
                    is_kept[place] = False
                    cleaning.add("copied session", 1)
        return answer

    def _candidates(self) -> Iterator[list[tuple[int, int]]]:
        """Yield groups of lists with equal hashes: their run and place in it."""
        marks = np.sort(np.concatenate([np.empty(0, np.uint64), *(mark for _, mark in self._marks)]))
        repeated = np.unique(marks[1:][marks[1:] == marks[:-1]])
        if not repeated.size:
            return
        found = []
        for run, (places, mark) in enumerate(self._marks):
            which = np.searchsorted(repeated, mark).clip(max=repeated.size - 1)
            is_one = repeated[which] == mark
            found.append(np.stack([which[is_one], np.full(is_one.sum(), run), places[is_one]], axis=1))
        every = np.concatenate(found)
        every = every[np.argsort(every[:, 0], kind="stable")]
        bounds = np.flatnonzero(np.diff(every[:, 0], prepend=-1, append=repeated.size))
        for start, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            yield [(run, place) for _, run, place in every[start:stop].tolist()]

    def _content(self, run: int, place: int) -> tuple:
        found = self._runs[run]
        shown = found.pair.read(*found.row_bounds[place : place + 2].tolist()).tobytes()  # pairs tell the query, too
        return shown, *(found.columns[name].read(place, place + 1)[0] for name in ("client", "times"))

    def _key(self, run: int, place: int) -> Any:
        found = self._runs[run]
        return _last(found.keys(place, place + 1, 0 if found.names is None else int(found.name_bounds[place])))

    # --- Merging ------------------------------------------------------------------------------------------------------

    def _sizes(self, is_kept: list[np.ndarray | None]) -> dict[str, int]:
        sizes = {"lists": 0, "rows": 0, "bytes": 0}
        for run, kept in zip(self._runs, is_kept, strict=True):
            which = slice(None) if kept is None else kept
            sizes["lists"] += run.n_lists if kept is None else int(np.count_nonzero(kept))
            sizes["rows"] += int(run.columns["length"].read()[which].sum(dtype=np.int64))
            if run.names is not None:
                sizes["bytes"] += int(run.columns["name length"].read()[which].sum(dtype=np.int64))
        return sizes

    def _merged(
        self, is_kept: list[np.ndarray | None], place: np.ndarray, query_place: np.ndarray, wanted: dict[str, Any]
    ) -> Iterator[tuple[str, int, np.ndarray]]:
        """Yield the arrays of the log in blocks: a name, where the block begins, and its values."""
        n_lists = n_rows = n_bytes = 0
        yield "indptr", 0, np.zeros(1, dtype=np.int64)
        if "session_ids.bounds" in wanted:
            yield "session_ids.bounds", 0, np.zeros(1, dtype=np.int64)
        by_list: list[str] = [
            name for name in ("session_query", "times", "ranker", "is_random", "place") if name in wanted
        ]
        for slices, order in _blocks(self._runs):
            parts = [_slice(self._runs[run], *bounds, is_kept[run], by_list) for run, bounds in slices]
            columns = {name: np.concatenate([part[0][name] for part in parts]) for name in parts[0][0]}
            if len(order) > len(columns["length"]):  # copied sessions were dropped
                flags = [
                    np.ones(stop - start, bool) if (kept := is_kept[run]) is None else kept[start:stop]
                    for run, (start, stop, _, _) in slices
                ]
                is_one = np.concatenate(flags)
                order = (np.cumsum(is_one) - 1)[order[is_one[order]]]
            for name in by_list:
                values = columns[name][order]
                yield name, n_lists, query_place[values] if name == "session_query" else values
            lengths = columns["length"]
            for name in ["pair", "click"]:
                rows = Ragged(lengths, np.concatenate([part[1][name] for part in parts])).take(order).values
                yield name, n_rows, place[rows] if name == "pair" else rows
            ends = n_rows + np.cumsum(lengths[order], dtype=np.int64)
            yield "indptr", n_lists + 1, ends
            if "session_ids.bytes" in wanted:
                texts = Ragged(columns["name length"], np.concatenate([part[1]["names"] for part in parts])).take(order)
                yield "session_ids.bytes", n_bytes, texts.values
                yield "session_ids.bounds", n_lists + 1, n_bytes + np.cumsum(texts.lengths, dtype=np.int64)
                n_bytes += texts.values.size
            n_lists += order.size
            n_rows = int(ends[-1]) if ends.size else n_rows


def _bounds(lengths: np.ndarray) -> np.ndarray:
    return np.append(0, np.cumsum(lengths, dtype=np.int64))


def _marks(lists: Lists, pair: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the lists with a client and a time, and a hash of client, time and shown pairs of each."""
    if lists.client is None or lists.times is None or not len(lists):
        return np.empty(0, dtype=np.int32), np.empty(0, dtype=np.uint64)
    known = np.flatnonzero((lists.client >= 0) & np.isfinite(lists.times)).astype(np.int32)
    hashes = _mixed(pair.astype(np.uint64))
    rank = np.arange(pair.size, dtype=np.uint64)
    rank -= np.repeat(lists.indptr[:-1].astype(np.uint64), np.diff(lists.indptr))
    hashes *= _mixed(rank) | np.uint64(1)
    hashes = np.add.reduceat(hashes, lists.indptr[:-1])[known]
    hashes = _mixed(hashes ^ _mixed(lists.client[known].astype(np.uint64)))
    return known, _mixed(hashes ^ (lists.times[known] + 0.0).view(np.uint64))


def _mixed(values: np.ndarray) -> np.ndarray:
    values = (values + _MIX) * np.uint64(0xBF58476D1CE4E5B9)
    values ^= values >> np.uint64(29)
    values *= np.uint64(0x94D049BB133111EB)
    values ^= values >> np.uint64(32)
    return values


Bounds = tuple[int, int, int, int]  # first and last list, first row and first byte of the names


def _blocks(runs: list[_Run]) -> Iterator[tuple[list[tuple[int, Bounds]], np.ndarray]]:
    """Yield slices of the runs that hold the next sessions by name, and the order of their lists.

    The next names of each run are read. Those up to the first of their last names come next, because no name that was
    not read comes before them.
    """
    step = max(1, SESSIONS_AT_ONCE // max(1, len(runs)))
    at = [(0, 0, 0)] * len(runs)  # first list, row and byte that were not yet taken
    while ahead := [i for i, run in enumerate(runs) if at[i][0] < run.n_lists]:
        keys = {i: runs[i].keys(at[i][0], min(runs[i].n_lists, at[i][0] + step), at[i][2]) for i in ahead}
        limit = min((_last(keys[i]) for i in ahead if at[i][0] + len(keys[i]) < runs[i].n_lists), default=None)
        slices, taken = [], []
        for i in ahead:
            n = len(keys[i]) if limit is None else _count_until(keys[i], limit)
            if not n:
                continue
            start, row, byte = at[i]
            slices.append((i, (start, start + n, row, byte)))
            taken.append(keys[i][:n])
            sizes = [
                int(runs[i].columns[name].read(start, start + n).sum(dtype=np.int64)) if name in runs[i].columns else 0
                for name in ("length", "name length")
            ]
            at[i] = start + n, row + sizes[0], byte + sizes[1]
        yield slices, _order(taken)


def _last(keys: Any) -> Any:
    return keys.bytes_of(len(keys) - 1) if isinstance(keys, TextColumn) else int(keys[-1])


def _count_until(keys: Any, limit: Any) -> int:
    """Return how many sorted keys are at most ``limit``."""
    if isinstance(keys, TextColumn):
        return bisect_right(range(len(keys)), limit, key=keys.bytes_of)
    return int(np.searchsorted(keys, limit, side="right"))


def _order(keys: list[Any]) -> np.ndarray:
    if not isinstance(keys[0], TextColumn):
        return np.argsort(np.concatenate(keys), kind="stable")
    table = NameTable()
    codes = [table.add_column(one) for one in keys]
    return np.argsort(table.finish()[1][np.concatenate(codes)], kind="stable")


def _slice(
    run: _Run, start: int, stop: int, row: int, byte: int, is_kept: np.ndarray | None, names: list[str]
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return the columns of some lists of a run, and their rows and names, without those that are not kept."""
    wanted = [*names, "length", *(["name length"] if run.names is not None else [])]
    columns = {name: run.columns[name].read(start, stop) for name in wanted}
    lengths = columns["length"]
    n_rows = int(lengths.sum(dtype=np.int64))
    values = {name: getattr(run, name).read(row, row + n_rows) for name in ("pair", "click")}
    if run.names is not None:
        values["names"] = run.names.read(byte, byte + int(columns["name length"].sum(dtype=np.int64)))
    if is_kept is not None and not is_kept[start:stop].all():
        which = np.flatnonzero(is_kept[start:stop])
        for name in ("pair", "click"):
            values[name] = Ragged(lengths, values[name]).take(which).values
        if run.names is not None:
            values["names"] = Ragged(columns["name length"], values["names"]).take(which).values
        columns = {name: column[which] for name, column in columns.items()}
    return columns, values


def pairs_and_rankers(pairs: Pairs, rankers: TextColumn | None) -> dict[str, np.ndarray]:
    """Return the arrays of a log that do not grow with its sessions, in the order in which they are stored."""
    return {**({} if rankers is None else names_as_arrays("rankers", rankers)), **pairs.arrays()}


def _to_file(
    path: str | os.PathLike,
    wanted: dict[str, tuple[Any, int]],
    fixed: dict[str, np.ndarray],
    blocks: Iterator[tuple[str, int, np.ndarray]],
    cleaning: Cleaning,
) -> ClickLog:
    with write_container(path, KIND, VERSION) as writer:
        for name, (dtype, n) in wanted.items():
            writer.reserve(name, dtype, (n,))
        for name, values in fixed.items():
            writer.add(name, values)
        for name, start, values in blocks:
            writer.write_rows(name, start, values)
        writer.finish({"feature_names": None, "cleaning": cleaning.to_dict()})
    return open_log(path, is_trusted=True)
