"""Measure the memory of reading, fits, scores and comparisons if X is memory-mapped.

Parquet of 1 GB, and LETOR text of as much X; PLACKETT_BENCH_GB=2 sets another size. The growth of anonymous memory
(RssAnon) is measured, because the system can reclaim pages of mapped files at any time.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.made_lists import LABEL_SHARES, uneven_indptr
from benchmarks.timing import Result, peer
from benchmarks.turns import judged

N_FEATURES = 136
AT_ONCE = 500_000  # rows generated and written at a time

# tasks, and the share of X that each may take
TASKS = {
    "read Parquet into a cache": 0.1,
    "read LETOR text into a cache": 0.1,
    "fit": 0.1,
    "fit, query-zscore": 0.1,
    "fit, zscore": 0.1,
    "predict and evaluate": 0.1,
    "predict, query-zscore": 0.1,
    "compare, 2 folds, 2 rankers": 0.15,
}
PARSE_BYTES = 150e6  # additional memory of reading text, for any length
SOURCES = {"read LETOR text into a cache": "whole.txt"}  # others: "whole"
TIMED = ("fit", "fit, query-zscore", "predict and evaluate", "predict, query-zscore")  # also with X in memory

# The child process samples its own memory, as in bench_memory. A small run comes first, so that imports do not count.
CHILD = """
import json, sys, threading, time, warnings
import numpy as np
import plackett as pk

def anonymous():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon")) * 1024

def watch(seen, is_over):
    while not is_over.is_set():
        seen.append(anonymous())
        time.sleep(0.002)

def ranker(normalize=None):
    return pk.LinearRanker(normalize=normalize, max_iter=10, tol=1e-12)

def fit(normalize):
    return lambda data: float(np.abs(ranker(normalize).fit(data).coef_).sum())

def predict(normalize):
    fitted = ranker(normalize).fit(few)
    return lambda data: float(pk.evaluate(data, fitted.predict(data), metrics=["ndcg@10"]).mean()["ndcg@10"])

def compare(data):
    return pk.compare({"plain": ranker(), "scaled": ranker("query-zscore")}, data, cv=2, metrics=["ndcg@10"]).mean()

warnings.simplefilter("ignore")
task, path, small, folder, is_mapped = *sys.argv[1:5], sys.argv[5] == "mapped"
few = pk.read_parquet(small)
works = {
    "read Parquet into a cache": lambda source: pk.read_parquet(source, cache=folder).n_docs,
    "read LETOR text into a cache": lambda source: pk.read_letor(source, cache=folder).n_docs,
    "fit": fit(None),
    "fit, query-zscore": fit("query-zscore"),
    "fit, zscore": fit("zscore"),
    "predict and evaluate": predict(None),
    "predict, query-zscore": predict("query-zscore"),
    "compare, 2 folds, 2 rankers": compare,
}
work = works[task]
if task == "read LETOR text into a cache":
    pk.write_letor(few, f"{folder}/few.txt")
    work(f"{folder}/few.txt")
    source = path
elif task == "read Parquet into a cache":
    work(small)
    source = path
else:
    work(few)
    source = pk.read_parquet(path, cache=True if is_mapped else False)
before, seen, is_over = anonymous(), [0], threading.Event()
watcher = threading.Thread(target=watch, args=(seen, is_over))
watcher.start()
start = time.perf_counter()
answer = work(source)
seconds = time.perf_counter() - start
is_over.set()
watcher.join()
print(json.dumps({"grown": max(seen) - before, "seconds": seconds, "answer": answer}))
"""


def run() -> list[Result]:
    if not Path("/proc/self/status").exists():
        print("out of core: skipped, this system has no /proc", file=sys.stderr)
        return []
    if peer("pyarrow") is None:
        print("out of core: skipped, pyarrow is not installed", file=sys.stderr)
        return []
    n_docs = int(float(os.environ.get("PLACKETT_BENCH_GB", "1")) * 1e9 / (4 * N_FEATURES))
    with tempfile.TemporaryDirectory() as folder:
        free, size = shutil.disk_usage(folder).free, n_docs * N_FEATURES * 4
        if free < 12 * size:
            print(f"out of core: skipped, only {free / 1e9:.1f} GB of disk are free", file=sys.stderr)
            return []
        _make(Path(folder), n_docs)
        results = []
        for task, share in TASKS.items():
            print(f"  {task} …", file=sys.stderr)
            results += _measure(task, share, folder, size)
        return results


def _make(folder: Path, n_docs: int) -> None:
    """Write Parquet files, one with a few of their queries, and text of as many rows."""
    import plackett as pk

    rng = np.random.default_rng(0)
    (folder / "whole").mkdir()
    first = 0
    for number, start in enumerate(range(0, n_docs, AT_ONCE)):
        n = min(AT_ONCE, n_docs - start)
        indptr = uneven_indptr(n, rng)
        qid = np.repeat(np.arange(first, first + indptr.size - 1), np.diff(indptr))
        first += indptr.size - 1
        y = rng.choice(5, n, p=LABEL_SHARES).astype(np.float64)
        data = pk.Queries(rng.random((n, N_FEATURES), dtype=np.float32), y, qid)
        pk.write_parquet(data, folder / "whole" / f"{number:03d}.parquet", compression="snappy")
        if number == 0:
            pk.write_parquet(data[:100], folder / "few.parquet")
        with open(folder / "whole.txt", "ab") as text:
            comments = [f"docid = d{row}" for row in range(start, start + n)]
            pk.write_letor(pk.Queries(data.X.round(3), y, qid, comments=comments), text)


def _measure(task: str, share: float, folder: str, size: int) -> list[Result]:
    found = _child(task, folder, "mapped", size)
    allowed = share * size + (PARSE_BYTES if "LETOR" in task else 0)
    results = [
        judged(
            Result(
                f"memory: {task}", found["grown"] / 1e9, "allowed", allowed / 1e9, 1,
                f"{found['grown'] / size:.1%} of X ({size / 1e9:.2f} GB) in {found['seconds']:.0f} s", "GB",
            )
        )
    ]  # fmt: skip
    if task in TIMED:
        in_memory = _child(task, folder, "memory", size)
        if in_memory["answer"] != found["answer"]:
            raise AssertionError(f"{task}: {found['answer']} when mapped, {in_memory['answer']} in memory")
        note = f"the same result; {in_memory['grown'] / size:.1%} of X more in memory"
        results.append(Result(f"{task}, X mapped", found["seconds"], "X in memory", in_memory["seconds"], None, note))
    return results


def _child(task: str, folder: str, kind: str, size: int) -> dict:
    words = [task, f"{folder}/{SOURCES.get(task, 'whole')}", f"{folder}/few.parquet", folder, kind, str(size // 20)]
    done = subprocess.run([sys.executable, "-c", CHILD, *words], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{task}: {done.stderr}")
    return json.loads(done.stdout)
