"""Measure the memory of a fit in addition to X, for 650 MB in memory and for a memory-mapped file.

The file has 4 GB; PLACKETT_BENCH_GB=2 sets another size.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.timing import Result
from benchmarks.turns import judged

N_DOCS, N_FEATURES = 1_200_000, 136
N_ITER = 20

# A thread of the child process samples its memory every few milliseconds, while the kernels run without the GIL.
# A small fit runs first, so that imported code does not count as memory for the data.
CHILD = """
import sys, threading, time, warnings
import numpy as np
import plackett as pk
from benchmarks.made_lists import small_numbers, uneven_indptr

def kilobytes(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field))

def watch(field, seen, is_over):
    while not is_over.is_set():
        seen.append(kilobytes(field))
        time.sleep(0.002)

warnings.simplefilter("ignore")
path, field, loss, solver = sys.argv[1:5]
n_docs, n_features, n_iter, list_length = map(int, sys.argv[5:])
rng = np.random.default_rng(0)
X = np.load(path, mmap_mode="r") if path else small_numbers(n_docs, n_features, rng)
if list_length:
    qid = np.arange(n_docs) // list_length
    y = rng.random(n_docs)
else:
    indptr = uneven_indptr(n_docs, rng)
    qid = np.repeat(np.arange(indptr.size - 1), np.diff(indptr))
    y = rng.integers(0, 5, n_docs).astype(np.float64)
ranker = pk.LinearRanker(loss=loss, solver=solver, max_iter=n_iter, tol=1e-12)
ranker.fit(X[:3_000], y[:3_000], qid=qid[:3_000])
before, seen, is_over = kilobytes(field), [0], threading.Event()
watcher = threading.Thread(target=watch, args=(field, seen, is_over))
watcher.start()
ranker.fit(X, y, qid=qid)
is_over.set()
watcher.join()
print(before * 1024, max(seen) * 1024, ranker.n_iter_)
"""


def run() -> list[Result]:
    if not Path("/proc/self/status").exists():
        print("memory: skipped, this system has no /proc", file=sys.stderr)
        return []
    return [_in_memory(), *_mapped(float(os.environ.get("PLACKETT_BENCH_GB", "4"))), _ranksvm()]


def _child(
    path: str, field: str, n_docs: int, *, n_features=N_FEATURES, loss="listmle", solver="lbfgs", list_length=0
) -> tuple[int, int, int]:
    """Return bytes before the fit and at its peak, and the iterations; ``list_length`` 0 means uneven lists."""
    words = [path, field, loss, solver, *map(str, (n_docs, n_features, N_ITER, list_length))]
    output = subprocess.run([sys.executable, "-c", CHILD, *words], check=True, capture_output=True, text=True).stdout
    before, peak, n_iter = map(int, output.split())
    return before, peak, n_iter


def _in_memory() -> Result:
    before, peak, n_iter = _child("", "VmRSS", N_DOCS)
    size = N_DOCS * N_FEATURES * 4
    note = f"growth against 20 % of X ({size / 1e9:.2f} GB), {n_iter} iterations"
    return judged(Result("memory that a fit takes", (peak - before) / 1e9, "allowed", 0.2 * size / 1e9, 1, note, "GB"))


def _mapped(gigabytes: float) -> list[Result]:
    n_docs = int(gigabytes * 1e9 / (4 * N_FEATURES))
    size = n_docs * N_FEATURES * 4
    with tempfile.TemporaryDirectory() as folder:
        free = shutil.disk_usage(folder).free
        if free < 2 * size:
            print(f"memory: mapped file skipped, only {free / 1e9:.1f} GB of disk are free", file=sys.stderr)
            return []
        path = Path(folder, "X.npy")
        rng = np.random.default_rng(0)
        X = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n_docs, N_FEATURES))
        for start in range(0, n_docs, 50_000):
            rng.random(out=X[start : start + 50_000], dtype=np.float32)
        X.flush()
        del X
        before, peak, n_iter = _child(str(path), "RssAnon", n_docs)
    note = (
        f"the whole process without the mapped file against 10 % of X ({size / 1e9:.2f} GB); the fit "
        f"added {(peak - before) / size:.1%} of X in {n_iter} iterations, the rest was allocated before"
    )
    return [judged(Result("memory, X mapped from a file", peak / 1e9, "allowed", 0.1 * size / 1e9, 1, note, "GB"))]


def _ranksvm() -> Result:
    """Check that the memory per document does not grow with the length of lists, although pairs do."""
    n_docs, long, short = 300_000, 2_000, 250
    per_doc = {}
    for length in (short, long):
        before, peak, _ = _child(
            "", "VmRSS", n_docs, n_features=46, loss="squared-hinge", solver="newton", list_length=length
        )
        per_doc[length] = (peak - before) / n_docs
    note = f"in addition to X; {long // short} times as many pairs per document"
    what = f"RankSVM, memory, lists of {long:,}"
    return judged(Result(what, per_doc[long], f"lists of {short}", per_doc[short], 0.5, note, "bytes per document"))
