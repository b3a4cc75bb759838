"""Print the files of plackett that entries pass, and how many functions and calls: ``walk.py [ENTRY …]``.

An entry runs twice, and its second run is counted, without imports. ``train`` runs once in a new process, with the
calls of its imports. Each entry has a process and a folder of its own.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from types import CodeType

os.environ["PLACKETT_NUM_THREADS"] = "1"  # a profile function sees one thread

import plackett as pk

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = str(Path(pk.__file__).parent)
SIX_ROWS = """\
2 qid:1 1:0.1 2:5
0 qid:1 1:0.4 2:5
1 qid:1 1:0.2 2:5
0 qid:2 1:0.9 2:5
1 qid:2 1:0.3 2:5
0 qid:2 1:0.2 2:1
"""
Work = Callable[[], object]


def walk(work: Work) -> list[CodeType]:
    """Return the functions of plackett that were called, in the order of the calls; ``<module>`` is not one."""
    calls = []

    def note(frame, event, argument):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE) and code.co_name != "<module>":
            calls.append(code)

    threading.setprofile(note)  # a test client answers a request in a new thread
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return calls


def describe(name: str, calls: list[CodeType]) -> str:
    """Return the numbers of files, functions and calls, and the files in the order of their first call."""
    files = dict.fromkeys(os.path.relpath(code.co_filename, PACKAGE) for code in calls)
    n_functions = len({(code.co_filename, code.co_qualname) for code in calls})
    return f"{name} ({len(files)} files, {n_functions} functions, {len(calls)} calls): {', '.join(files)}"


# --- Entries: each returns the work to count --------------------------------------------------------------------------


def read_letor() -> Work:
    """Read a small LETOR file."""
    _lists()
    return lambda: pk.read_letor("lists.txt")


def fit() -> Work:
    """Fit a linear ranker."""
    data = _lists()
    return lambda: pk.LinearRanker().fit(data)


def predict() -> Work:
    """Score documents."""
    data = _lists()
    ranker = pk.LinearRanker().fit(data)
    return lambda: ranker.predict(data)


def evaluate() -> Work:
    """Measure scores."""
    data = _lists()
    return lambda: pk.evaluate(data, data.X[:, 0], metrics="ndcg@10")


def read_parquet() -> Work:
    """Read three rows that pyarrow wrote."""
    import pyarrow
    from pyarrow import parquet

    columns = {"qid": [1, 1, 1], "label": [1, 0, 2], "docid": [*"abc"], "bm25": [0.1, 0.2, 0.3], "age": [1.5, 2.5, 0.5]}
    parquet.write_table(pyarrow.table(columns), "rows.parquet")
    return lambda: pk.read_parquet("rows.parquet")


def read_ubi() -> Work:
    """Read one query and one click in the schema of UBI."""
    query = {"query_id": "q1", "user_query": "shoes", "client_id": "c1", "query_response_hit_ids": ["a", "b"]}
    place = {"object": {"object_id": "a"}, "position": {"ordinal": 1}}
    event = {"query_id": "q1", "action_name": "click", "event_attributes": place}
    for name, record in (("queries", query), ("events", event)):
        Path(f"{name}.ndjson").write_text(json.dumps({**record, "timestamp": "2026-01-01T00:00:00Z"}) + "\n")
    return lambda: pk.clicks.read_clicks("queries.ndjson", "events.ndjson")


def train() -> Work:
    """Run ``plackett train`` on six rows; nothing is imported before."""
    Path("six.txt").write_text(SIX_ROWS)
    sys.argv = ["plackett", "train", "six.txt", "-o", "six.plackett"]

    def run() -> None:
        from plackett.cli import main

        with contextlib.suppress(SystemExit):
            main()
        assert Path("six.plackett").exists()

    return run


def rank() -> Work:
    """Send ``POST /rank`` to ``plackett serve``."""
    from starlette.testclient import TestClient

    from plackett.apps.serve.app import create_app
    from plackett.apps.serve.models import ModelSpec, ModelTable, load_model
    from plackett.apps.serve.service import Service
    from plackett.apps.serve.settings import ServingSettings

    pk.LinearRanker().fit(_lists()).save("lists.plackett")
    service = Service(ModelTable([load_model(ModelSpec.parse("lists.plackett"))]), ServingSettings())
    client = TestClient(create_app(service), base_url="http://127.0.0.1:8766")
    return lambda: client.post("/rank", json={"documents": [[1, 2, 3, 4, 5], [2, 1, 2, 1, 2]]}).raise_for_status()


def judge(with_list: bool = False) -> Work:
    """Send ``POST /api/v1/judgements`` to the workbench, as its pages do."""
    from plackett.apps.workbench.store import Store
    from tests.apps.workbench.serving import client_of, page_of, small_collection

    client = page_of(client_of(small_collection(), Store("judgements.db")))
    judgement = {"query": "wings", "docid": "d1", "grade": 1, "with_list": with_list}
    return lambda: client.post("/api/v1/judgements", json=judgement).raise_for_status()


def judge_and_refine() -> Work:
    """Send a judgement whose response has the refined list, as programs may."""
    return judge(with_list=True)


def _lists() -> pk.Queries:
    pk.write_letor(pk.datasets.make_web_like(8, 10, 5, random_state=0), "lists.txt")
    return pk.read_letor("lists.txt")


ENTRIES = {entry.__name__: entry for entry in (read_letor, fit, predict, evaluate)}
ENTRIES |= {entry.__name__: entry for entry in (read_parquet, read_ubi, train, rank, judge, judge_and_refine)}


def main() -> None:
    """Print the walks of entries, all by default."""
    names = sys.argv[1:] or list(ENTRIES)
    if len(names) > 1:
        for name in names:
            subprocess.run([sys.executable, __file__, name], check=True)
        return
    sys.path.insert(0, str(ROOT))  # fixtures of the tests
    warnings.simplefilter("ignore")
    name = names[0]
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        os.chdir(folder)
        work = ENTRIES[name]()
        if name != "train":
            work()
        calls = walk(work)
    print(describe(name, calls))


if __name__ == "__main__":
    main()
