"""Click logs: tables, UBI with queries and events in one file, and saved logs, plain and compressed."""

from __future__ import annotations

import functools
import gzip
import io
import json
import tempfile
import warnings
from pathlib import Path

from plackett.clicks import ClickLog, read_clicks
from plackett.exceptions import DataWarning
from tests.clicks.logs import as_csv, as_rows, as_ubi, make_sessions
from tests.fuzz.mutations import mutate_bytes, mutate_json, one_of
from tests.fuzz.outcomes import our_errors
from tests.storage.containers import parts_of, signed

OURS = ValueError
SUFFIX = ".log"


@functools.cache
def seeds():
    sessions = make_sessions(6)
    table = as_csv(as_rows(sessions))
    quoted = table.replace("query 1", '"query\n""1"""').replace(",", ";")
    rows = [dict(zip(("session", "query", "docid", "rank", "click"), row, strict=False)) for row in as_rows(sessions)]
    queries, events = as_ubi(sessions)
    texts = [table, quoted, "\n".join(map(json.dumps, rows)), "\n".join(queries + events)]
    plain = [text.encode() for text in texts]
    with tempfile.TemporaryDirectory() as folder:
        read_clicks(io.StringIO(table)).save(Path(folder) / "log")
        saved = (Path(folder) / "log").read_bytes()
    return [*plain, gzip.compress(plain[0], mtime=0), saved]


def mutate(seeds, rng):
    content = one_of(seeds, rng)
    if content is seeds[-1] and rng.random() < 0.7:
        header, body = parts_of(content)
        part = one_of(["header", "arrays"], rng)
        return signed(header | {part: mutate_json(header[part], rng)}, body)
    return mutate_bytes(content, rng, seeds[:-1])


def read(path):
    with our_errors(), warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        log = read_clicks(path)
        with tempfile.TemporaryDirectory() as folder:
            kept = Path(folder) / "log"
            log.save(kept)
            again = ClickLog.concat([ClickLog.load(kept)])
            assert again.n_clicks == log.n_clicks
            assert again.n_shown == log.n_shown
            assert len(again) == len(log)
        if len(log):
            log.describe()
