"""Check trees on a Dask cluster of this machine, and write what was measured into docs/scale.md.

    make cluster-check

Fits with 1 to 3 workers are compared with fits in this process, workers are killed and frozen, and the bytes, the
memory and the time of larger fits are measured. ``--only matrix`` (bins, faults, network, memory) writes one table.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import itertools
import logging
import os
import re
import signal
import socket
import struct
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import plackett as pk
from benchmarks.made_lists import graded, small_numbers
from plackett.distributed.boosting import ClusterTrees

PAGE = Path(__file__).resolve().parents[1] / "docs" / "scale.md"
LOSSES = {
    "listmle": "ListMLE",
    "lambdarank": "LambdaRank",
    "softmax": "softmax",
    "hinge": "hinge",
    "approx-ndcg": "ApproxNDCG",
}
PLACEMENTS = ("even", "skewed", "shuffled", "shifted")
WORKERS = (1, 2, 3)
HOPELESS = 1e-9  # differences of scores above this are explained
# no two splits have the same gain, and no limit depends on numbers of rows, which LightGBM estimates: as in test_trees
EXACT = {"max_bin": 15, "n_rounds": 30, "learning_rate": 0.2, "min_data_in_leaf": 0, "min_sum_hessian_in_leaf": 5.0}
USUAL = {"n_rounds": 100}
N_QUERIES, N_HELD = 1_000, 300
LARGE_DOCS, LARGE_FEATURES, LARGE_ROUNDS = 1_200_000, 136, 6


@contextlib.contextmanager
def cluster(n_workers: int) -> Iterator[Any]:
    import distributed

    with (
        distributed.LocalCluster(
            n_workers=n_workers, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL, memory_limit=0,
        ) as local,
        distributed.Client(local) as client,
    ):  # fmt: skip
        client.run(quiet)
        yield client


def quiet() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what LightGBM prints about its network


def made(n_queries: int, *, is_shifted: bool = False, seed: int = 0) -> pk.Queries:
    """Return lists with missing values and a column of text, whose second half comes from another market if shifted."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries) + 1_000_000 * seed, rng.integers(8, 40, n_queries))
    X = rng.normal(size=(qid.size, 8))
    kind = rng.integers(0, 4, qid.size)
    truth = X[:, 0] + 0.6 * X[:, 1] * X[:, 2] + 0.4 * np.abs(X[:, 3]) + 0.3 * (kind == 1)
    X[X[:, 4] > 1.5, 4] = np.nan
    second = slice(qid.size // 2, None)
    if is_shifted:
        X[second, 0] += 3.0
        kind[second] = 2 + kind[second] % 2
        kind[: qid.size // 2] %= 2
    rows = pd.DataFrame(X, columns=[f"f{i}" for i in range(8)]).assign(kind=np.array(list("wxyz"))[kind])
    return pk.from_frame(rows.assign(label=graded(truth, rng), qid=qid), qid="qid", label="label")


def placed(data: pk.Queries, placement: str, folder: str) -> str:
    """Write parts and return their folder; queries are whole."""
    order = np.arange(data.n_queries)
    if placement == "shuffled":
        np.random.default_rng(1).shuffle(order)
    shares = (0.85, 0.95, 0.97, 0.99) if placement == "skewed" else np.arange(1, 6) / 6
    target = Path(folder, placement)
    target.mkdir()
    for number, some in enumerate(np.split(order, (np.asarray(shares) * order.size).astype(int))):
        pk.write_parquet(data.subset(some), target / f"{number}.parquet")
    return str(target)


# --- The same trees ---------------------------------------------------------------------------------------------------


def matrix() -> str:
    """Compare every loss and placement for 1 to 3 workers with one process; two tables."""
    validation = {name: made(N_HELD, seed=1, is_shifted=name == "shifted") for name in PLACEMENTS}
    with tempfile.TemporaryDirectory() as folder:
        sets = {name: made(N_QUERIES, is_shifted=name == "shifted") for name in PLACEMENTS}
        files = {name: placed(data, name, folder) for name, data in sets.items()}
        fit = functools.cache(lambda loss, name, way: fitted(loss, sets[name], validation[name], way))
        gaps: dict[tuple, list[float]] = {}
        n_same = n_fits = 0
        for n_workers in WORKERS:
            with cluster(n_workers):
                for loss, name, way in itertools.product(LOSSES, PLACEMENTS, ("exact", "usual")):
                    held = validation[name]
                    here, there = fit(loss, name, way), fitted(loss, files[name], held, way)
                    gap = float(np.abs(here.predict(held) - there.predict(held)).max())
                    if way == "exact" and (gap > HOPELESS or here.n_rounds_ != there.n_rounds_):
                        print(f"{n_workers} workers, {loss}, {name}: {gap:.1e}, {first_difference(here, there)}")
                    n_fits += way == "exact"
                    n_same += way == "exact" and here.n_rounds_ == there.n_rounds_
                    measured = gap if way == "exact" else abs(ndcg(here, held) - ndcg(there, held))
                    gaps.setdefault((way, loss, name), []).append(measured)
                    print(n_workers, loss, name, way, f"{measured:.1e}", here.n_rounds_, there.n_rounds_, flush=True)
    head = f"| loss | {' | '.join(PLACEMENTS)} |\n| --- | {' | '.join('---' for _ in PLACEMENTS)} |\n"

    def table(way: str, form: str) -> str:
        cells = {loss: [format(max(gaps[way, loss, name]), form) for name in PLACEMENTS] for loss in LOSSES}
        return head + "\n".join(f"| {LOSSES[loss]} | {' | '.join(row)} |" for loss, row in cells.items())

    return (
        "Largest difference between a score of the cluster and of one process, over 1, 2 and 3 workers: "
        f"{N_QUERIES:,} queries, {sets['even'].n_docs:,} documents, up to {EXACT['n_rounds']} trees chosen on {N_HELD} "
        f"validation queries, without ties in gain and without limits on the number of rows. In {n_same} of {n_fits} "
        "fits the number of trees was the same:\n\n"
        f"{table('exact', '.0e')}\n\n"
        "Largest difference in NDCG@10 on these validation queries with the defaults, up to "
        f"{USUAL['n_rounds']} trees, where near ties and `min_data_in_leaf` may decide otherwise:\n\n"
        f"{table('usual', '.4f')}"
    )


def fitted(loss: str, data: Any, held: pk.Queries, way: str) -> pk.TreeRanker:
    options = EXACT if way == "exact" else USUAL
    return pk.TreeRanker(loss, **options).fit(data, eval_set=held, eval_metric="ndcg@10")


def ndcg(ranker: pk.TreeRanker, held: pk.Queries) -> float:
    return pk.evaluate(held, ranker=ranker, metrics="ndcg@10").mean()["ndcg@10"]


def first_difference(here: pk.TreeRanker, there: pk.TreeRanker) -> str:
    """Describe the first split in which two rankers differ, with both gains."""
    ours, theirs = here.trees_, there.trees_
    n = min(ours.features_.size, theirs.features_.size)
    differs = (ours.features_[:n] != theirs.features_[:n]) | (ours.thresholds_[:n] != theirs.thresholds_[:n])
    if not differs.any():
        return f"the same splits; {here.n_rounds_} and {there.n_rounds_} trees"
    node = int(np.argmax(differs))
    gains = ours.gains_[node], theirs.gains_[node]
    tree = int(np.searchsorted(ours.starts_, node, side="right")) - 1
    return (
        f"tree {tree} splits with gains {gains[0]:.17g} and {gains[1]:.17g}, {abs(gains[0] / gains[1] - 1):.1e} apart"
    )


# --- Common bins ------------------------------------------------------------------------------------------------------


def bins() -> str:
    """Compare the shifted parts with ``lightgbm.DaskLGBMRanker``, whose bins are those of one machine's rows."""
    import dask.array as da
    import lightgbm

    rows = []
    with cluster(2) as client:
        for seed in (0, 2, 4):
            data = shifted_numbers(400, seed)
            test = shifted_numbers(200, seed + 1)
            options = {"n_rounds": 100, "num_leaves": 31}
            here = pk.TreeRanker("lightgbm", **options).fit(data)
            cut = data.n_queries // 2
            there = pk.TreeRanker("lightgbm", **options).fit(client.scatter([data[:cut], data[cut:]]))
            chunks = (tuple(np.diff(data.indptr[[0, cut, data.n_queries]]).tolist()),)
            groups = da.from_array(np.diff(data.indptr), chunks=((cut, data.n_queries - cut),))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                peer = lightgbm.DaskLGBMRanker(n_estimators=100, num_leaves=31, verbose=-1, client=client)
                X = da.from_array(data.X, chunks=(chunks[0], -1))
                peer.fit(X, da.from_array(data.y.astype(int), chunks=chunks), group=groups)
                scores = peer.booster_.predict(test.X)
            means = [pk.evaluate(test, one, metrics="ndcg@10").mean()["ndcg@10"]
                     for one in (here.predict(test), there.predict(test), scores)]  # fmt: skip
            rows.append(f"| {len(rows) + 1} | " + " | ".join(f"{mean:.3f}" for mean in means) + " |")
            print(rows[-1], flush=True)
    return (
        "Shifted parts with and without common bins: NDCG@10 on test queries, LightGBM's own objective, 2 workers, "
        "three data sets:\n\n"
        "| data | one process | 2 workers | `lightgbm.DaskLGBMRanker` |\n| --- | --- | --- | --- |\n" + "\n".join(rows)
    )


def shifted_numbers(n_queries: int, seed: int) -> pk.Queries:
    """Return lists whose second half has a first feature beyond that of the first half."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), rng.integers(10, 30, n_queries))
    X = rng.normal(size=(qid.size, 6))
    labels = graded(X[:, 0] + 0.4 * X[:, 1], rng)
    X[qid.size // 2 :, 0] += 6.0
    return pk.Queries(X, labels, qid)


# --- Faults -----------------------------------------------------------------------------------------------------------


def faults() -> str:
    """Kill, freeze and slow one of three workers in the middle of a fit; one line for each."""
    data, held = made(N_QUERIES), made(N_HELD, seed=1)
    here = fitted("listmle", data, held, "exact")
    lines = []
    acts = {"killed (SIGKILL)": signal.SIGKILL, "frozen (SIGSTOP)": signal.SIGSTOP, "slowed five times": None}
    for what, act in acts.items():
        with tempfile.TemporaryDirectory() as folder, cluster(3) as client, warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            seconds, fits = [], []

            def grow(
                self: ClusterTrees, plain: Any = ClusterTrees.grow, fits=fits, seconds=seconds, act=act, client=client
            ):
                fits.append(self)
                if len(fits) == 12:
                    disturb(client.run(os.getpid)[self._workers[-1]], act)
                start = time.monotonic()
                answer = plain(self)
                seconds.append(time.monotonic() - start)
                return answer

            plain, ClusterTrees.grow = ClusterTrees.grow, grow  # type: ignore[method-assign]
            try:
                there = fitted("listmle", placed(data, "even", folder), held, "exact")
            finally:
                ClusterTrees.grow = plain  # type: ignore[method-assign]
            gap = np.abs(here.predict(held) - there.predict(held)).max()
            lines.append(f"| {what} | {seconds[11]:.1f} s | {fits[0].n_restarts} | {gap:.0e} |")
            print(lines[-1], flush=True)
    return (
        "One of three workers, before round 12 of 30:\n\n"
        "| worker | seconds of this round | restarts | largest difference of a score |\n| --- | --- | --- | --- |\n"
        + "\n".join(lines)
    )


def disturb(process: int, act: Any) -> None:
    if act is not None:
        os.kill(process, act)
        return

    def slow() -> None:
        for _ in range(60):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGSTOP)
                time.sleep(0.4)
                os.kill(process, signal.SIGCONT)
                time.sleep(0.1)

    threading.Thread(target=slow, daemon=True).start()


# --- Network, memory and time -----------------------------------------------------------------------------------------


def tcp_bytes() -> tuple[int, int]:
    """Return the bytes that the open TCP connections of this process have sent and received (Linux)."""
    sent = received = 0
    for name in os.listdir("/proc/self/fd"):
        if not os.path.realpath(f"/proc/self/fd/{name}").rpartition("/")[2].startswith("socket:"):
            continue
        with contextlib.suppress(OSError, struct.error), socket.socket(fileno=os.dup(int(name))) as one:
            info = one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 232)
            acknowledged, got = struct.unpack_from("QQ", info, 120)
            sent, received = sent + acknowledged, received + got
    return sent, received


def piece(number: int, n_docs: int) -> pk.Queries:
    rng = np.random.default_rng(number)
    X = small_numbers(n_docs, LARGE_FEATURES, rng)
    labels = graded(X[:, 0].astype(np.float64) + X[:, 1] * X[:, 2], rng)
    return pk.Queries.from_groups(
        X, labels, np.arange(n_docs // 100) + number * n_docs, np.arange(0, n_docs + 1, 100), has_estimated_labels=False
    )


def network() -> str:
    """Count the bytes of a round, for several numbers of workers, features, bins and leaves."""
    lines = []
    for n_workers, n_features, max_bin, num_leaves in (
        (2, 136, 255, 31),
        (2, 136, 63, 31),
        (2, 34, 255, 31),
        (2, 136, 255, 7),
        (3, 136, 255, 31),
    ):
        counts = []

        def grow(self: ClusterTrees, plain: Any = ClusterTrees.grow, counts=counts) -> Any:
            answer = plain(self)
            counts.append((tcp_bytes(), self._client.run(tcp_bytes)))
            return answer

        n_rounds = 8
        with cluster(n_workers) as client:
            futures = client.map(functools.partial(columns_of, n_features), range(n_workers), pure=False)
            plain, ClusterTrees.grow = ClusterTrees.grow, grow  # type: ignore[method-assign]
            try:
                pk.TreeRanker(n_rounds=n_rounds, max_bin=max_bin, num_leaves=num_leaves).fit(futures)
            finally:
                ClusterTrees.grow = plain  # type: ignore[method-assign]
        (first, workers), (last, later) = counts[1], counts[-1]
        sent = max(later[worker][0] - workers[worker][0] for worker in workers) / (len(counts) - 2)
        own = (sum(last) - sum(first)) / (len(counts) - 2)
        model = (num_leaves * n_features * max_bin * 16) * (n_workers - 1) / n_workers
        numbers = [f"{sent / 1e6:.2f} MB", f"{model / 1e6:.2f} MB", f"{own / 1e3:.0f} kB"]
        lines.append("| " + " | ".join([*map(str, (n_workers, n_features, max_bin, num_leaves)), *numbers]) + " |")
        print(lines[-1], flush=True)
    return (
        "Bytes that a worker sends in a round, by TCP's own counts, beside the model of cost: leaves × features × bins "
        "× 16 bytes × (workers - 1) / workers, since the histogram of the smaller child of a split is added up over "
        "all machines, whatever the number of rows (LightGBM sends more if the number of workers is no power of two). "
        "No rows pass through the client:\n\n"
        "| workers | features | bins | leaves | sent by a worker | model | client, both ways |\n"
        "| --- | --- | --- | --- | --- | --- | --- |\n" + "\n".join(lines)
    )


def columns_of(n_features: int, number: int) -> pk.Queries:
    data = piece(number, 20_000)
    return data.replace(X=np.ascontiguousarray(data.X[:, :n_features]))


def memory() -> str:
    """Measure the largest process and the rows a second of a large fit, here and with 1 to 3 workers."""
    options = {"n_rounds": LARGE_ROUNDS, "num_leaves": 31}
    rows = {"one process, two threads": apart(options)}
    for n_workers in WORKERS:
        with cluster(n_workers) as client:
            n_docs = LARGE_DOCS // n_workers // 100 * 100
            futures = client.map(piece, range(n_workers), [n_docs] * n_workers, pure=False)
            found = timed_fit(futures, options)
            largest = max(client.run(highest_memory).values())
        rows[f"{n_workers} worker{'s' * (n_workers > 1)}"] = largest, found
        print(n_workers, largest / 1e6, found, flush=True)
    lines = [
        f"| {name} | {size / 1e6:,.0f} MB | {LARGE_DOCS / seconds / 1e6:.1f} million |"
        for name, (size, seconds) in rows.items()
    ]
    return (
        f"Memory and speed: {LARGE_DOCS / 1e6:g} million documents with {LARGE_FEATURES} float32 features "
        f"({LARGE_DOCS * LARGE_FEATURES * 4 / 1e6:,.0f} MB), ListMLE, 31 leaves, workers with one thread on two cores. "
        "The memory is the highest of the largest process, and rows a second are those of a round, without loading and "
        "finding bins:\n\n| | memory | rows a second |\n| --- | --- | --- |\n" + "\n".join(lines)
    )


def timed_fit(data: Any, options: dict[str, Any], where: Any = ClusterTrees) -> float:
    """Return the median seconds of a round."""
    seconds, plain = [], where.grow

    def grow(self: Any) -> Any:
        start = time.monotonic()
        answer = plain(self)
        seconds.append(time.monotonic() - start)
        return answer

    where.grow = grow
    try:
        pk.TreeRanker("listmle", **options).fit(data)
    finally:
        where.grow = plain
    return float(np.median(seconds[1:]))


def fit_apart(options: dict[str, Any]) -> tuple[float, float]:
    from plackett.distributed.growth import Growth

    seconds = timed_fit(piece(0, LARGE_DOCS), options | {"n_jobs": 2}, Growth)
    return highest_memory(), seconds


def apart(options: dict[str, Any]) -> tuple[float, float]:
    """Fit in a process of its own, whose memory is measured."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        found = pool.submit(fit_apart, options).result()
    print("one process", found, flush=True)
    return found


def highest_memory() -> float:
    """Return the most memory that this process has had, in bytes."""
    return 1024.0 * int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1])  # type: ignore[index]


TABLES: dict[str, Callable[[], str]] = {
    "matrix": matrix, "bins": bins, "faults": faults, "network": network, "memory": memory,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster_trees", description=__doc__)
    parser.add_argument("--only", choices=list(TABLES), help="measure one of the tables instead of all")
    only = parser.parse_args().only
    start = time.monotonic()
    for name in TABLES if only is None else [only]:
        text = TABLES[name]()
        before, mark, rest = PAGE.read_text(encoding="utf-8").partition(f"<!-- cluster-check: {name} -->\n")
        _, end, after = rest.partition("<!-- end -->\n")
        PAGE.write_text(f"{before}{mark}\n{text}\n\n{end}{after}", encoding="utf-8")
    print(f"{time.monotonic() - start:.0f} seconds")


if __name__ == "__main__":
    main()
