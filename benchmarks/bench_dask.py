"""Measure linear fits on a local Dask cluster: the cost of an evaluation, and how it scales.

The data are generated on the workers. PLACKETT_BENCH_DOCS=120000 sets another number of documents.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import plackett as pk
from benchmarks.made_lists import small_numbers
from benchmarks.timing import Result, peer
from benchmarks.turns import best_in_turns, judged
from plackett._threads import n_threads
from plackett.distributed import partition
from plackett.distributed.cluster import ClusterPartitions
from plackett.distributed.loading import LoadedPart, from_queries
from plackett.distributed.local import DelayedPart, LocalPartitions
from plackett.distributed.objective import PartitionedObjective
from plackett.losses import get_loss
from plackett.objective.objective import Objective
from plackett.objective.penalties import L2
from plackett.scorers.linear import LinearScorer
from plackett.validation import count_of

N_DOCS, N_FEATURES, LIST_LENGTH = 1_200_000, 136, 100
FEW_DOCS = 4_000  # so few that only the communication remains
MOST_WORKERS = 4
ROUNDS = 8
ALLOWED_SHARE, ALLOWED_OVERHEAD = 1.25, 0.030
BIG_DOCS, BIG_MACHINES = 1_000_000_000, 100


def run() -> list[Result]:
    if peer("distributed") is None:
        print("dask: skipped, distributed is not installed", file=sys.stderr)
        return []
    n_docs = int(os.environ.get("PLACKETT_BENCH_DOCS", N_DOCS))
    costs = {n_workers: _cost(n_workers, n_docs) for n_workers in range(1, MOST_WORKERS + 1)}
    size, two = f"{n_docs / 1e6:g} M x {N_FEATURES}", costs[2]
    peer_name, share = f"{n_threads()} threads", 1 / ALLOWED_SHARE
    note = "overhead of an evaluation"
    return [
        judged(Result(f"an evaluation of ListMLE, 2 workers, {size}", two.evaluation, peer_name, two.threads, share)),
        judged(Result("the same with hardly any data", two.overhead, "allowed", ALLOWED_OVERHEAD, 1, note)),
        *(_by_workers(costs, n_workers, size) for n_workers in costs),
        _estimated(costs, n_docs),
    ]


def _by_workers(costs: dict[int, Cost], n_workers: int, size: str) -> Result:
    cost = costs[n_workers]
    note = (
        f"a worker: {cost.worker_bytes / 1e6:.0f} MB of memory, {cost.received / 1e3:.1f} kB received and "
        f"{cost.sent / 1e3:.1f} kB sent in an evaluation; {cost.overhead * 1e3:.1f} ms without data"
    )
    what = f"an evaluation, {count_of(n_workers, 'worker')}, {size}"
    return Result(what, cost.evaluation, "1 worker", costs[1].evaluation, None, note)


# --- Measurements -----------------------------------------------------------------------------------------------------


class Cost(NamedTuple):
    """Seconds of an evaluation on the cluster, in threads of this process, and with hardly any data.

    ``worker_bytes`` is the memory of the largest worker; ``received`` and ``sent`` are bytes of the messages of a
    worker in one evaluation, the mean over workers.
    """

    evaluation: float
    threads: float
    overhead: float
    worker_bytes: float
    received: float
    sent: float


def _cost(n_workers: int, n_docs: int) -> Cost:
    coef = np.full(N_FEATURES, 0.01)
    here = _here(n_docs)
    with _workers(n_workers) as client:
        there, small = (_objective(client, n_workers, size) for size in (n_docs, FEW_DOCS))
        seconds = best_in_turns(
            {
                "there": lambda: there.value_and_gradient(coef),
                "here": lambda: here.value_and_gradient(coef),
                "small": lambda: small.value_and_gradient(coef),
            },
            ROUNDS,
        )
        received, sent = _bytes_of_messages(client, lambda: there.value_and_gradient(coef))
        memory = max(client.run(_memory).values())
    return Cost(seconds["there"], seconds["here"], seconds["small"], memory, received, sent)


@contextlib.contextmanager
def _workers(n_workers: int) -> Iterator[Any]:
    import dask
    import distributed

    with (
        dask.config.set({"distributed.scheduler.reuse-broadcast-comm": True}),  # as docs/scale.md advises
        distributed.LocalCluster(
            n_workers=n_workers, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL, memory_limit=0,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):  # fmt: skip
        yield client


def _piece(number: int, n_docs: int) -> LoadedPart:
    """Return synthetic lists."""
    rng = np.random.default_rng(number)
    n_queries = n_docs // LIST_LENGTH
    labels = rng.integers(0, 5, n_queries * LIST_LENGTH).astype(np.float64)
    ids = np.arange(n_queries) + number * n_queries
    indptr = np.arange(0, labels.size + 1, LIST_LENGTH)
    rows = small_numbers(labels.size, N_FEATURES, rng)
    return from_queries(pk.Queries.from_groups(rows, labels, ids, indptr), f"piece {number}")


def _objective(client: Any, n_parts: int, n_docs: int) -> PartitionedObjective:
    parts = [DelayedPart(_piece, (number, n_docs // n_parts)) for number in range(n_parts)]
    partitions: Any = LocalPartitions(parts) if client is None else ClusterPartitions(client, parts)
    loss = get_loss("listmle")
    plan = partition.Plan(loss, False, N_FEATURES, None, n_docs / LIST_LENGTH)
    partitions.replace(partition.partition_of, plan)
    shape = {"n_features": N_FEATURES, "n_queries": n_docs // LIST_LENGTH, "has_intercept": False}
    return PartitionedObjective(loss, partitions, L2(1e-3), **shape)


def _here(n_docs: int) -> Objective:
    queries = _piece(0, n_docs).queries
    return Objective(get_loss("listmle"), LinearScorer(queries.X), queries.lists, L2(1e-3))


# --- On the workers ---------------------------------------------------------------------------------------------------


def _bytes_of_messages(client: Any, evaluate: Any, n_calls: int = 20) -> tuple[float, float]:
    """Return the bytes that a worker receives and sends in one evaluation, without those of an idle worker."""
    client.run(_count_messages)
    start = time.perf_counter()
    for _ in range(n_calls):
        evaluate()
    seconds = time.perf_counter() - start
    busy = client.run(_counted)
    time.sleep(seconds)
    idle = client.run(_counted)
    totals = [
        np.mean([counts[place] for counts in busy.values()]) - np.mean([counts[place] for counts in idle.values()])
        for place in (0, 1)
    ]
    return totals[0] / n_calls, totals[1] / n_calls


_messages = {"received": 0, "sent": 0}


def _count_messages() -> None:
    from distributed.comm import tcp

    def wrapped(plain: Any, way: str) -> Any:
        async def counted(*arguments: Any, **others: Any) -> Any:
            answer = await plain(*arguments, **others)
            frames = arguments[0] if way == "received" else answer
            _messages[way] += sum(memoryview(frame).nbytes for frame in frames)
            return answer

        return counted

    tcp.from_frames, tcp.to_frames = wrapped(tcp.from_frames, "received"), wrapped(tcp.to_frames, "sent")


def _counted() -> tuple[int, int]:
    """Return the bytes received and sent since the last call."""
    answer = _messages["received"], _messages["sent"]
    _messages.update(received=0, sent=0)
    return answer


def _memory() -> int:
    import psutil

    return psutil.Process().memory_info().rss


# --- Extrapolation to other sizes -------------------------------------------------------------------------------------


class Machines(NamedTuple):
    """A number of machines like this one, each with a worker for every core."""

    n_machines: int
    n_cores: int

    @property
    def n_workers(self) -> int:
        return self.n_machines * self.n_cores


def estimate(costs: dict[int, Cost], n_docs_measured: int, n_docs: int, machines: Machines) -> float:
    """Return the seconds of an evaluation, extrapolated from measured ones.

    The work of a worker is proportional to its documents, at the rate that was measured with all cores busy. The
    communication is a line fitted to the measurements with 1 to 4 workers. It grows with their number, because one
    scheduler communicates with all of them.
    """
    measured = costs[min(machines.n_cores, max(costs))]
    work = (measured.evaluation - measured.overhead) * min(machines.n_cores, max(costs)) / n_docs_measured
    slope, base = np.polyfit(list(costs), [cost.overhead for cost in costs.values()], 1)
    return work * n_docs / machines.n_workers + base + max(slope, 0.0) * machines.n_workers


def _estimated(costs: dict[int, Cost], n_docs: int) -> Result:
    n_cores = n_threads()
    many = estimate(costs, n_docs, BIG_DOCS, Machines(BIG_MACHINES, n_cores))
    alone = estimate(costs, n_docs, BIG_DOCS, Machines(1, n_cores))
    cost = costs[min(n_cores, max(costs))]
    memory = BIG_DOCS / BIG_MACHINES * N_FEATURES * 4
    network = BIG_MACHINES * n_cores * (cost.received + cost.sent)
    return Result(
        f"{BIG_DOCS / 1e9:g} billion documents, {BIG_MACHINES} machines of {n_cores} cores", many, "1 machine", alone,
        None, f"computed, not measured: {memory / 1e9:.1f} GB of X per machine, {network / 1e6:.2f} MB through the "
        "scheduler in an evaluation",
    )  # fmt: skip
