"""Measure the reader on 300 MB of LETOR text as in MSLR-WEB, against scikit-learn, XGBoost and the cache."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

from benchmarks.timing import Result, best_of, peer
from plackett._threads import n_threads
from plackett.data.letor.read import read_letor
from plackett.data.letor.write import write_letor
from plackett.data.queries import Queries

FILE_BYTES = 300_000_000
SLICE_BYTES = 60_000_000  # the part that scikit-learn reads, because all of it would take minutes
N_FEATURES = 136
ROUNDS = 5

# VmHWM is the peak of this process alone; ru_maxrss includes that of the parent process
PEAK_MEMORY = """
import sys
from plackett.data.letor.read import read_letor
data = read_letor(sys.argv[1])
try:
    with open("/proc/self/status") as status:
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
except OSError:
    import resource
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(peak * 1024, data.X.nbytes)
"""


def write_mslr_like(path: Path, n_bytes: int) -> None:
    """Write counts, lengths, ratios and scores as in MSLR-WEB, many of them 0, and a comment on each row."""
    rng = np.random.default_rng(0)
    n_docs = 20_000
    X = rng.gamma(1.0, 12.0, size=(n_docs, N_FEATURES))
    kind = rng.integers(0, 4, size=N_FEATURES)
    X[:, kind == 0] = (X[:, kind == 0] / 6).round()
    X[:, kind == 1] = (X[:, kind == 1] * 5).round()
    X[:, kind == 2] = (X[:, kind == 2] / 40).round(6) * (rng.random((n_docs, (kind == 2).sum())) < 0.6)
    X[:, kind == 3] = (X[:, kind == 3] - 12).round(6)
    labels = rng.choice(5, size=n_docs, p=[0.52, 0.32, 0.13, 0.02, 0.01])
    texts = "docid = GX{:03d}-{:02d}-{:07d} inc = 1 prob = 0.25"
    names = [texts.format(k % 273, k * 7919 % 100, k * 104729 % 10**7) for k in range(n_docs)]
    with path.open("wb") as file:
        first = 0
        while file.tell() < n_bytes:
            qid = np.repeat(np.arange(first, first + 200), 100)
            write_letor(Queries(X, labels, qid, comments=names), file)
            first += 200


def first_lines(path: Path, n_bytes: int, target: Path) -> None:
    with path.open("rb") as file:
        start = file.read(n_bytes)
    target.write_bytes(start[: start.rindex(b"\n") + 1])


def read_by_sklearn(path: Path) -> None:
    from sklearn.datasets import load_svmlight_file

    load_svmlight_file(str(path), query_id=True, dtype=np.float32)


def read_by_xgboost(path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer("xgboost").DMatrix(f"{path}?format=libsvm", silent=True)


def best_in_turns(readers: dict) -> dict[str, float]:
    """Return the shortest call of each reader, measured alternately, so that other processes affect all equally."""
    best = dict.fromkeys(readers, float("inf"))
    for _ in range(ROUNDS):
        for name, (read, path) in readers.items():
            best[name] = min(best[name], best_of(lambda read=read, path=path: read(path), repeat=1))
    return best


def run() -> list[Result]:
    with tempfile.TemporaryDirectory() as folder:
        path, part = Path(folder, "train.txt"), Path(folder, "part.txt")
        write_mslr_like(path, FILE_BYTES)
        first_lines(path, SLICE_BYTES, part)
        size, part_size = os.path.getsize(path), os.path.getsize(part)
        read_letor(part)  # starts the threads
        readers = {"ours": (read_letor, path), "sklearn": (read_by_sklearn, part)}
        if peer("xgboost") is not None:
            readers["xgboost"] = (read_by_xgboost, path)
        best = best_in_turns(readers)
        ours, sklearn, xgboost = best["ours"], best["sklearn"] * size / part_size, best.get("xgboost")
        read_letor(path, cache=True)
        cached = best_of(lambda: read_letor(path, cache=True), repeat=ROUNDS)
        os.environ["PLACKETT_VERIFY"] = "0"
        unverified = best_of(lambda: read_letor(path, cache=True), repeat=ROUNDS)
        del os.environ["PLACKETT_VERIFY"]
        (cache,) = Path(folder).glob("*.plackett-cache")
        checked = f"{cache.stat().st_size / cached / 1e9:.1f} GB/s with all checksums compared, {n_threads()} threads"
        output = subprocess.run(
            [sys.executable, "-c", PEAK_MEMORY, str(path)], check=True, capture_output=True, text=True
        ).stdout
        peak, dense = map(int, output.split())
    speed = f"{size / 1e6:.0f} MB, {size / ours / 1e6:.0f} MB/s; best of {ROUNDS} each, in turns"
    sliced = f"{speed}; scikit-learn read {part_size / 1e6:.0f} MB, scaled to all"
    allowed = 1.3 * dense + size
    memory = f"the whole process against 1.3 × X ({dense / 1e6:.0f} MB) plus the file"
    return [
        Result("read LETOR text", ours, "scikit-learn", sklearn, 45, sliced),
        Result("read LETOR text", ours, "XGBoost", xgboost, 4, speed),
        Result("read it again, from the cache", cached, "first read", ours, 10, checked),
        Result("the same with PLACKETT_VERIFY=0", unverified, "first read", ours, 100),
        Result("peak memory of reading", peak / 1e9, "allowed", allowed / 1e9, 1, memory, "GB"),
    ]
