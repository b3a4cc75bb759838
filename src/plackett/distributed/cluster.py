"""Partitions on the workers of a Dask cluster.

A partition is a future: Dask recomputes it from its file or graph when its worker is lost. An evaluation sends one
broadcast; each worker adds up its own partitions, and the client adds the few sums that come back. A task graph would
take four times as long, which is most of a short evaluation. When a partition is missing, or the vectors are long, the
evaluation falls back to a task graph: one map and a tree of sums, in which Dask recomputes what is missing.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import plackett
from plackett._lazy import importing
from plackett._optional import import_optional
from plackett._threads import on_this_thread
from plackett.distributed.local import DelayedPart
from plackett.distributed.tree_sum import Nodes, add_up, leaf, root, together

FAN_IN = 8  # vectors added by one task of the tree
DIRECT_BYTES = 1 << 26  # limit on the bytes sent through the scheduler in one evaluation
NO_WORKERS_SECONDS = 30.0  # wait for workers to start before a fit fails
POLL_SECONDS = 0.5  # between checks for workers


class GoneError(ConnectionError):
    """Workers are gone, or do not hold what they are thought to hold: they were restarted, or parts were moved.

    ``silent`` are those that gave no answer, and ``first`` is the first error of the others.
    """

    def __init__(self, message: str, silent: Sequence[str] = (), first: Exception | None = None):
        super().__init__(message)
        self.silent, self.first = silent, first


def has_graph(value: Any) -> bool:
    """Return whether a value is a Dask collection or a Delayed object."""
    return hasattr(value, "__dask_graph__")


def is_future(value: Any) -> bool:
    """Return whether a value is a future of a Dask client."""
    return type(value).__module__.partition(".")[0] == "distributed" and hasattr(value, "key")


def active_client() -> Any:
    """Return the Dask client of this process, or None. Does not import Dask.

    Also None inside a Dask task, which would block its thread while waiting for other tasks.
    """
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    with contextlib.suppress(ValueError):
        distributed.get_worker()
        return None
    try:
        client = distributed.default_client()
    except ValueError:
        return None
    if client.asynchronous:
        raise ValueError(
            "the Dask client is asynchronous, but fit is a blocking call. Create a client without "
            "asynchronous=True, and fit in another thread, for example with asyncio.to_thread."
        )
    return client


def require_client(needed_for: str) -> Any:
    """Return the Dask client of this process; raise an error without a client."""
    import_optional("distributed", extra="dask", needed_for=needed_for)
    client = active_client()
    if client is None:
        raise ValueError(
            f"{needed_for} needs a Dask client, but there is none. Connect to your cluster first: "
            'dask.distributed.Client("tcp://scheduler:8786"), or Client() for one on this machine.'
        )
    return client


class ClusterPartitions:
    """Loaded parts, later partitions, on the workers of a Dask cluster.

    Arguments of the parts may hold Delayed objects and futures of the client.
    """

    def __init__(self, client: Any, parts: Sequence[DelayedPart]):
        self.client, self._address = client, getattr(client.scheduler, "address", "an unknown address")
        self._n_workers = self._check_workers()
        self._name, self._generation = f"plackett-{uuid.uuid4().hex}", 0
        self._too_long: set[tuple] = set()  # functions and methods whose results are too large for the scheduler
        self._made, self._changes = list(parts), list[tuple]()
        self.copies: list[Any] = []
        self.load()

    def load(self) -> None:
        """Load all parts; after a worker was lost, again, evenly on those that there are.

        Futures given by the user stay where they are.
        """
        self._parts: list[Any] = []  # frees those of before
        self._generation += 1
        delayed = [value for part in self._made for value in part.arguments if has_graph(value)]
        computed = iter(self.client.compute(delayed)) if delayed else iter(())
        with _no_size_warnings():
            for number, (make, given) in enumerate(self._made):
                arguments = [next(computed) if has_graph(value) else value for value in given]
                self._parts.append(self.client.submit(make, *arguments, key=self._key(number)))
        self._wait(self._parts)
        for change in self._changes:
            self._change(*change)

    def __len__(self) -> int:
        return len(self._parts)

    def _key(self, number: int) -> str:
        return f"{self._name}-{self._generation}-{number}"

    def map(self, work: Callable[..., Any], *arguments: Any) -> list:
        """Return ``work(part, *arguments)`` of each part."""
        answers = self.client.map(_alone, self._parts, work=work, arguments=arguments, pure=False)
        return self._gather(answers)

    def keep(self, places: Sequence[int]) -> None:
        """Drop all parts but those at these positions."""
        self._made, self._parts = ([held[place] for place in places] for held in (self._made, self._parts))

    def replace(self, work: Callable[..., Any], *arguments: Any) -> None:
        """Replace each part by ``work(part, *arguments)``."""
        self._changes.append((work, arguments))
        self._change(work, arguments)

    def _change(self, work: Callable[..., Any], arguments: tuple) -> None:
        self._generation += 1
        given = self.client.submit(_identity, arguments, pure=False)
        changed = [
            self.client.submit(_alone, part, work, given, key=self._key(number))
            for number, part in enumerate(self._parts)
        ]
        self._wait(changed)
        self._parts = changed  # Dask keeps the graph of the previous ones, and can recompute them

    @property
    def keys(self) -> list[str]:
        """The names of the parts in the memory of the workers."""
        return [part.key for part in self._parts]

    def owners(self) -> dict[str, list[int]]:
        """Return the numbers of the parts of each worker; a part that several hold has one owner."""
        self._wait(self._parts)
        held = self.client.who_has(self._parts)
        owners: dict[str, list[int]] = {}
        for number, key in enumerate(self.keys):
            holders = sorted(held[key])
            if holders:  # else it was lost just now
                fewest = min(holders, key=lambda worker: len(owners.get(worker, ())))
                owners.setdefault(fewest, []).append(number)
        return owners if sum(len(own) for own in owners.values()) == len(self) else self.owners()

    def collect(self, work: Callable[..., Any], combine: Callable[[list], Any], *arguments: Any) -> Any:
        """Return a future of ``combine`` of a list of ``work(part, number, *arguments)``."""
        found = self.client.map(_numbered, self._parts, range(len(self)), work=work, arguments=arguments, pure=False)
        future = self.client.submit(combine, found, pure=False)
        self._wait([future])
        return future

    def copied(self, workers: Sequence[str], futures: Sequence[Any] | None = None) -> list[tuple[str, str]]:
        """Return for all parts, or other futures, a worker and the name of a copy in its memory, kept in ``copies``.

        Raises a ``GoneError`` if one of these workers is lost meanwhile.
        """
        kept = self._parts if futures is None else futures
        seats = [workers[place * len(workers) // len(kept)] for place in range(len(kept))]
        self.copies = [
            self.client.submit(_identity, one, pure=False, workers=[seat])
            for one, seat in zip(kept, seats, strict=True)
        ]
        self._wait(self.copies, on=workers)
        return [(seat, copy.key) for seat, copy in zip(seats, self.copies, strict=True)]

    def sum(self, work: Callable[..., np.ndarray], *arguments: Any) -> np.ndarray:
        """Return the sum of ``work(part, *arguments)`` over all parts."""
        n_bytes = sum(value.nbytes for value in arguments if isinstance(value, np.ndarray))
        if n_bytes * self._n_workers <= DIRECT_BYTES and _kind(work, arguments) not in self._too_long:
            answer = self._sum_by_broadcast(work, arguments)
            if answer is not None:
                return answer
        return self._sum_by_graph(work, arguments)

    def _sum_by_broadcast(self, work: Callable[..., np.ndarray], arguments: tuple) -> np.ndarray | None:
        """Return the sum over the partitions in memory; None if one is missing or the vectors are too long."""
        n, limit = len(self._parts), DIRECT_BYTES // self._n_workers
        asked = {"name": f"{self._name}-{self._generation}", "n": n, "work": work, "arguments": arguments}
        try:
            answers = self.client.run(_own_sums, **asked, limit=limit, on_error="return").values()
        except Exception:  # _sum_by_graph meets the same failure, such as a lost scheduler, and reports it
            return None
        self._n_workers = max(1, len(answers))
        if any(nodes is None for nodes in answers):
            self._too_long.add(_kind(work, arguments))
            return None
        sums = add_up(together(nodes for nodes in answers if isinstance(nodes, dict)), n)
        return sums.get(root(n))

    def _sum_by_graph(self, work: Callable[..., np.ndarray], arguments: tuple) -> np.ndarray:
        n = len(self._parts)
        with self._explained(), _no_size_warnings():
            given = self.client.submit(_identity, arguments, pure=False)
            nodes = self.client.map(_leaf, self._parts, range(n), work=work, arguments=given, pure=False)
            while len(nodes) > 1:
                groups = [nodes[start : start + FAN_IN] for start in range(0, len(nodes), FAN_IN)]
                nodes = [self.client.submit(_sums, group, n, pure=False) for group in groups]
        return self._gather(nodes)[0][root(n)]

    def _gather(self, futures: list) -> list:
        self._wait(futures)
        with self._explained():
            return self.client.gather(futures)

    def _wait(self, futures: list, on: Sequence[str] = ()) -> None:
        """Wait for all futures while there are workers, and all of ``on``; raise the error of a failed one."""
        with importing:
            from distributed import wait

        lonely_since: float | None = None
        while True:
            with self._explained():
                try:
                    wait(futures, timeout=POLL_SECONDS)
                    break
                except TimeoutError:
                    pass
                workers = self.client.nthreads()
            lost = next((worker for worker in on if worker not in workers), None)
            if lost is not None:
                raise GoneError(f"{lost} is not there")
            now = time.monotonic()
            lonely_since = None if workers else (lonely_since or now)
            if lonely_since is not None and now - lonely_since > NO_WORKERS_SECONDS:
                raise ConnectionError(
                    f"all workers of the Dask cluster at {self._address} were lost, and none came back within "
                    f"{NO_WORKERS_SECONDS:g} seconds. Start workers and fit again."
                )
        failed = next((future for future in futures if future.status == "error"), None)
        if failed is not None:
            error = failed.exception()
            # Dask's client keeps the error, whose frames would keep the futures alive.
            for future in (*self._parts, *futures):
                future.release()
            with self._explained():
                raise error

    def _check_workers(self) -> int:
        """Return the number of workers; raise if the cluster cannot run the fit."""
        with self._explained():
            try:
                self.client.wait_for_workers(1, timeout=NO_WORKERS_SECONDS)
            except TimeoutError:
                raise ConnectionError(
                    f"the Dask cluster at {self._address} has no workers. Start some, for example: dask worker "
                    f"{self._address}"
                ) from None
            found = self.client.run(_version, on_error="return")
            builds = self.client.run(_build, on_error="return")
        for worker, version in found.items():
            if isinstance(version, Exception):
                raise ValueError(
                    f"the Dask worker {worker} cannot run plackett ({version}). Install plackett "
                    f"{plackett.__version__} there."
                )
            if version != plackett.__version__:
                raise ValueError(
                    f"the Dask worker {worker} has plackett {version}, but {plackett.__version__} runs here. Install "
                    "the same version everywhere."
                )
        if len(set(builds.values())) > 1:  # results would depend on the placement of partitions
            listed = ", ".join(f"{build} on {worker}" for worker, build in sorted(builds.items()))
            raise ValueError(
                f"the Dask workers have different builds of the kernels ({listed}), which differ in the last bits. "
                "Set PLACKETT_NATIVE=baseline in the environment of all of them."
            )
        return len(found)

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """Explain Dask's own errors; errors of our functions pass unchanged."""
        with importing:
            from distributed import CancelledError, KilledWorker
            from distributed.comm import CommClosedError

        try:
            yield
        except KilledWorker as error:
            raise ConnectionError(
                f"Dask workers died repeatedly while processing a partition ({_first_line(error)}). They may be out of "
                "memory: use smaller partitions, or more workers."
            ) from error
        except Exception as error:
            if isinstance(error, (CancelledError, CommClosedError)) or self.client.status in ("closing", "closed"):
                raise ConnectionError(
                    f"the Dask cluster at {self._address} lost the fit ({_first_line(error)}). Its scheduler was "
                    "closed or restarted, or a worker was lost with partitions that cannot be recomputed."
                ) from error
            raise


def _kind(work: Callable, arguments: tuple) -> tuple:
    return work, *(given for given in arguments if isinstance(given, str))


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".:")


def on_parts(client: Any, parts: Sequence[DelayedPart], work: Callable[..., Any], arguments: tuple) -> list:
    """Return ``work(part, number, *arguments)`` of each part, computed on the workers; no part stays in memory."""
    given = client.submit(_identity, arguments, pure=False)
    tasks = [DelayedPart(_made, (part.make, work, number, given, *part.arguments)) for number, part in enumerate(parts)]
    return ClusterPartitions(client, tasks).map(_identity)


# --- On the workers ---------------------------------------------------------------------------------------------------


async def _own_sums(
    *, dask_worker: Any, name: str, n: int, work: Callable, arguments: tuple, limit: int
) -> Nodes | None:
    """Return the sums over the partitions of a worker, in as many threads as it has; None beyond the limit."""
    loop, threads = asyncio.get_running_loop(), dask_worker.executors["default"]
    free = asyncio.Semaphore(dask_worker.state.nthreads)

    async def answer(number: int, key: str) -> tuple[int, np.ndarray]:
        async with free:  # a spilled partition is read only now
            partition = dask_worker.data[key]
            return number, await loop.run_in_executor(threads, _alone, partition, work, arguments)

    held = [(number, key) for number in range(n) if (key := f"{name}-{number}") in dask_worker.data]
    answers = await asyncio.gather(*(answer(number, key) for number, key in held))
    sums = add_up({leaf(number): vector for number, vector in answers}, n)
    return sums if sum(vector.nbytes for vector in sums.values()) <= limit else None


def _alone(part: Any, work: Callable[..., Any], arguments: tuple) -> Any:
    """Run one task on one thread; the other threads run other tasks."""
    with on_this_thread():
        return work(part, *arguments)


def _made(make: Callable[..., Any], work: Callable[..., Any], number: int, given: tuple, *arguments: Any) -> Any:
    return _alone(make(*arguments), work, (number, *given))


def _numbered(part: Any, number: int, work: Callable[..., Any], arguments: tuple) -> Any:
    return _alone(part, work, (number, *arguments))


def _leaf(part: Any, number: int, work: Callable[..., np.ndarray], arguments: tuple) -> Nodes:
    return {leaf(number): _alone(part, work, arguments)}


def _sums(nodes: list[Nodes], n: int) -> Nodes:
    return add_up(together(nodes), n)


def _identity(value: Any) -> Any:
    return value


def _version() -> str:
    return plackett.__version__


def _build() -> str:
    with importing:
        from plackett import _native

    return _native.build


@contextlib.contextmanager
def _no_size_warnings() -> Iterator[None]:
    """Turn off Dask's warning about large graphs, which many coefficients cause."""
    with importing:
        import dask

    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
        yield
