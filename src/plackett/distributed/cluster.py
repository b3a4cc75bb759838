"""Partitions on the workers of a Dask cluster.

A partition is a future: Dask makes it anew, from the file or the graph it came from, when the worker that held it is
gone. An evaluation asks all workers at once for what they hold; each adds up its own partitions and the client the few
sums that come back (a journey through Dask's task graph would take four times as long, which is most of a short
evaluation). Whenever a partition does not answer, or the vectors are long, the evaluation is a task graph instead: one
map and a tree of sums, in which Dask finds or makes whatever is missing.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

import plackett
from plackett._optional import import_optional
from plackett._threads import on_this_thread
from plackett.distributed.local import Recipe
from plackett.distributed.tree import Nodes, add_up, leaf, root, together

FAN_IN = 8  # vectors that one task of the tree adds up
DIRECT_BYTES = 1 << 26  # what may come through the scheduler in one evaluation
NO_WORKERS_SECONDS = 30.0  # how long a cluster may be without workers before a fit gives up; they may be starting
LOOK_EVERY = 0.5  # seconds between looks at whether there are workers


def has_graph(value: Any) -> bool:
    """Whether it is Dask's and not computed yet: a collection, or a Delayed object."""
    return hasattr(value, "__dask_graph__")


def is_future(value: Any) -> bool:
    """Whether it is a future of a Dask client."""
    return type(value).__module__.partition(".")[0] == "distributed" and hasattr(value, "key")


def active_client() -> Any:
    """The Dask client of this process, or None; asked without importing Dask.

    None too inside a task of Dask's: it would wait for others while it keeps its thread from them.
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
            "the Dask client is asynchronous, but a fit waits for its answers. Make a client without "
            "asynchronous=True, and fit in a thread beside the event loop, as by asyncio.to_thread."
        )
    return client


def require_client(needed_for: str) -> Any:
    """The Dask client of this process; an error that says how to make one where there is none."""
    import_optional("distributed", extra="dask", needed_for=needed_for)
    client = active_client()
    if client is None:
        raise ValueError(
            f"{needed_for} needs a Dask client, and there is none. Connect to your cluster first: "
            'dask.distributed.Client("tcp://scheduler:8786"), or Client() for one on this machine.'
        )
    return client


class ClusterHolder:
    """Holds pieces, and then partitions, on the workers of a client's cluster.

    Parameters
    ----------
    client : distributed.Client
    recipes : sequence of Recipe
        Arguments may hold Delayed objects and futures of that client.
    """

    def __init__(self, client: Any, recipes: Sequence[Recipe]):
        self._client, self._address = client, getattr(client.scheduler, "address", "an unknown address")
        self._n_workers = self._check_workers()
        self._name, self._generation = f"plackett-{uuid.uuid4().hex}", 0
        self._too_long: set[Callable] = set()  # whose answers are too many bytes for the scheduler
        self._bound: dict[str, str] = {}  # the worker that each piece was meant for, by the piece's key
        self._parts = self._submitted(recipes)
        self._wait(self._parts)

    def _submitted(self, recipes: Sequence[Recipe]) -> list:
        """A future of each piece, dealt out evenly and neighbours together, since neighbours are added up first.

        Futures that somebody gave stay where they are.
        """
        delayed = [value for recipe in recipes for value in recipe.arguments if has_graph(value)]
        computed = iter(self._client.compute(delayed)) if delayed else iter(())
        parts, slots = [], self._slots(len(recipes))
        with _quiet_about_size():
            for number, (make, given) in enumerate(recipes):
                key, where = self._key(number), {}
                if slots and not any(is_future(value) for value in given):
                    self._bound[key] = slots[number]
                    where = {"workers": [slots[number]], "allow_other_workers": True}
                arguments = [next(computed) if has_graph(value) else value for value in given]
                parts.append(self._client.submit(make, *arguments, key=key, **where))
        return parts

    def _key(self, number: int) -> str:
        return f"{self._name}-{self._generation}-{number}"

    def _slots(self, n: int) -> list[str]:
        """A worker for each of ``n`` parts, by their threads; none where all have just gone."""
        threads = [address for address, count in sorted(self._client.nthreads().items()) for _ in range(count)]
        return [threads[place * len(threads) // n] for place in range(n if threads else 0)]

    # what the solver asks

    def each(self, work: Callable[..., Any], *arguments: Any) -> list:
        answers = self._client.map(_alone, self._parts, work=work, arguments=arguments, pure=False)
        return self._gather(answers)

    def one(self, place: int, work: Callable[..., Any], *arguments: Any) -> Any:
        return self._gather([self._client.submit(_alone, self._parts[place], work, arguments, pure=False)])[0]

    def change(self, places: Sequence[int], work: Callable[..., Any], *arguments: Any) -> None:
        """Put ``work(part, *arguments)`` in the place of these parts, and forget the others."""
        self._generation += 1
        given = self._client.submit(_as_it_is, arguments, pure=False)
        changed = [
            self._client.submit(_alone, self._parts[place], work, given, key=self._key(number))
            for number, place in enumerate(places)
        ]
        self._wait(changed)
        self._parts = changed  # those before are let go, but Dask knows how to make them again

    def total(self, work: Callable[..., np.ndarray], *arguments: Any) -> np.ndarray:
        n_bytes = sum(value.nbytes for value in arguments if isinstance(value, np.ndarray))
        if n_bytes * self._n_workers <= DIRECT_BYTES and work not in self._too_long:
            answer = self._ask_workers(work, arguments)
            if answer is not None:
                return answer
        return self._by_graph(work, arguments)

    def _ask_workers(self, work: Callable[..., np.ndarray], arguments: tuple) -> np.ndarray | None:
        """The sum over what the workers hold now; None where they do not hold all, or would have to send too much."""
        n, limit = len(self._parts), DIRECT_BYTES // self._n_workers
        asked = {"name": f"{self._name}-{self._generation}", "n": n, "work": work, "arguments": arguments}
        try:
            answers = self._client.run(_own_sums, **asked, limit=limit, on_error="return").values()
        except Exception:  # such as a scheduler that is gone: whatever it is, _by_graph meets it too, and says so
            return None
        self._n_workers = max(1, len(answers))
        if any(nodes is None for nodes in answers):
            self._too_long.add(work)
            return None
        sums = add_up(together(nodes for nodes in answers if isinstance(nodes, dict)), n)
        return sums.get(root(n))

    def _by_graph(self, work: Callable[..., np.ndarray], arguments: tuple) -> np.ndarray:
        n = len(self._parts)
        with self._explained(), _quiet_about_size():
            given = self._client.submit(_as_it_is, arguments, pure=False)
            nodes = self._client.map(_leaf, self._parts, range(n), work=work, arguments=given, pure=False)
            while len(nodes) > 1:
                groups = [nodes[start : start + FAN_IN] for start in range(0, len(nodes), FAN_IN)]
                nodes = [self._client.submit(_sums, group, n, pure=False) for group in groups]
        return self._gather(nodes)[0][root(n)]

    # waiting, and what may go wrong meanwhile

    def _gather(self, futures: list) -> list:
        self._wait(futures)
        with self._explained():
            return self._client.gather(futures)

    def _wait(self, futures: list) -> None:
        """Wait until all are there, as long as there are workers; what went wrong in one of them is raised."""
        from distributed import wait

        lonely_since: float | None = None
        while True:
            with self._explained():
                try:
                    wait(futures, timeout=LOOK_EVERY)
                    break
                except TimeoutError:
                    pass
                workers = self._client.nthreads()
                if workers:
                    self._unbind(workers)
            now = time.monotonic()
            lonely_since = None if workers else (lonely_since or now)
            if lonely_since is not None and now - lonely_since > NO_WORKERS_SECONDS:
                raise ConnectionError(
                    f"all workers of the Dask cluster at {self._address} are gone, and none came back within "
                    f"{NO_WORKERS_SECONDS:g} seconds. Start workers and fit again."
                )
        failed = next((future for future in futures if future.status == "error"), None)
        if failed is not None:
            error = failed.exception()
            # Dask's client keeps the error, the error the frames it went through, and these the futures
            for future in (*self._parts, *futures):
                future.release()
            with self._explained():
                raise error

    def _unbind(self, workers: Mapping[str, int]) -> None:
        """Leave the pieces that were meant for workers now gone to any worker.

        Dask gives them to others by itself, unless for a moment there were none: then it holds them back until the
        worker they were meant for is there, which comes back, if at all, under another address.
        """
        lost = [key for key, worker in self._bound.items() if worker not in workers]
        if lost:
            self._client.run_on_scheduler(_free, keys=lost)
            for key in lost:
                del self._bound[key]

    def _check_workers(self) -> int:
        """Refuse a cluster that cannot do the work; the answer is the number of workers."""
        with self._explained():
            try:
                self._client.wait_for_workers(1, timeout=NO_WORKERS_SECONDS)
            except TimeoutError:
                raise ConnectionError(
                    f"the Dask cluster at {self._address} has no workers. Start some, as with: dask worker "
                    f"{self._address}"
                ) from None
            found = self._client.run(_version, on_error="return")
            builds = self._client.run(_build, on_error="return")
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
        if len(set(builds.values())) > 1:  # a sum would depend on which worker holds what
            listed = ", ".join(f"{build} on {worker}" for worker, build in sorted(builds.items()))
            raise ValueError(
                f"the Dask workers have different builds of the kernels ({listed}), which differ in the last bits. "
                "Set PLACKETT_NATIVE=baseline in the environment of all of them."
            )
        return len(found)

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """Tell what Dask's own errors mean; those of our work come as they are."""
        from distributed import CancelledError, KilledWorker
        from distributed.comm import CommClosedError

        try:
            yield
        except KilledWorker as error:
            raise ConnectionError(
                f"Dask workers died again and again while they worked on a partition ({_first_line(error)}). They may "
                "lack memory: use smaller partitions, or more workers."
            ) from error
        except Exception as error:
            if isinstance(error, (CancelledError, CommClosedError)) or self._client.status in ("closing", "closed"):
                raise ConnectionError(
                    f"the Dask cluster at {self._address} has lost the fit ({_first_line(error)}). Its scheduler was "
                    "closed or restarted, or partitions that cannot be made again went with their worker."
                ) from error
            raise


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".:")


def on_workers(client: Any, work: Callable[..., Any], items: Sequence[Any], *arguments: Any) -> list:
    """``work(item, *arguments)`` of each item, in their order, done on the workers of a client's cluster."""
    given = client.submit(_as_it_is, arguments, pure=False)
    return ClusterHolder(client, [Recipe(_alone, (item, work, given)) for item in items]).each(_as_it_is)


# --- On the scheduler -------------------------------------------------------------------------------------------------


def _free(*, dask_scheduler: Any, keys: Sequence[str]) -> None:
    """Let any worker run these tasks, and now those that were held back."""
    tasks = [dask_scheduler.tasks[key] for key in keys if key in dask_scheduler.tasks]
    for task in tasks:
        task.worker_restrictions = None
    held_back = {task.key: "processing" for task in tasks if task.state == "no-worker"}
    dask_scheduler.transitions(held_back, stimulus_id="plackett-free")


# --- On the workers ---------------------------------------------------------------------------------------------------


async def _own_sums(
    *, dask_worker: Any, name: str, n: int, work: Callable, arguments: tuple, limit: int
) -> Nodes | None:
    """The sums over the partitions that a worker holds, as many at a time as it has threads; None beyond the limit."""
    loop, threads = asyncio.get_running_loop(), dask_worker.executors["default"]
    free = asyncio.Semaphore(dask_worker.state.nthreads)

    async def answer(number: int, key: str) -> tuple[int, np.ndarray]:
        async with free:  # a partition that was spilled to disk is read when its turn comes
            partition = dask_worker.data[key]
            return number, await loop.run_in_executor(threads, _alone, partition, work, arguments)

    held = [(number, key) for number in range(n) if (key := f"{name}-{number}") in dask_worker.data]
    answers = await asyncio.gather(*(answer(number, key) for number, key in held))
    sums = add_up({leaf(number): vector for number, vector in answers}, n)
    return sums if sum(vector.nbytes for vector in sums.values()) <= limit else None


def _alone(part: Any, work: Callable[..., Any], arguments: tuple) -> Any:
    """One task on one thread: the others belong to other tasks."""
    with on_this_thread():
        return work(part, *arguments)


def _leaf(part: Any, number: int, work: Callable[..., np.ndarray], arguments: tuple) -> Nodes:
    return {leaf(number): _alone(part, work, arguments)}


def _sums(nodes: list[Nodes], n: int) -> Nodes:
    return add_up(together(nodes), n)


def _as_it_is(value: Any) -> Any:
    return value


def _version() -> str:
    return plackett.__version__


def _build() -> str:
    from plackett import _native

    return _native.build


@contextlib.contextmanager
def _quiet_about_size() -> Iterator[None]:
    """No warnings about coefficients that are many."""
    import dask

    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
        yield
