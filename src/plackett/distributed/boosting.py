"""Trees that the workers of a Dask cluster grow together: LightGBM's network adds up histograms, the client decides.

Every worker that owns parts holds a :class:`~plackett.distributed.growth.Growth` in a thread of its own. The client
asks all of them for a round, adds up what they measured, and keeps a copy of every tree. When a worker is lost, the
parts are loaded again and the next round starts from the trees so far.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import socket
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from plackett._lazy import importing
from plackett._optional import import_optional
from plackett.data.categories import Categories, recode
from plackett.data.queries import Queries
from plackett.data.query_lists import QueryLists
from plackett.distributed.cluster import ClusterPartitions, GoneError
from plackett.distributed.growth import Growth, Rows, scores_of_trees, stacked
from plackett.distributed.loading import LoadedPart
from plackett.exceptions import warn
from plackett.losses.base import Loss
from plackett.storage import mapped
from plackett.validation import count_of

GRACE_SECONDS = 2.0  # for the others to report that a worker was lost, after the first one did
PING_SECONDS = 2.0  # between questions whether a worker that grows a tree is there
ROUNDS_OF_SILENCE = 10  # a worker is silent when it takes this many times the slowest round
TIMES_TO_START = 3  # a worker that starts may be silent for this many times longer
RESTART_SECONDS = 30.0
MOST_FAILURES = 4  # one after the other, without a round that succeeds
LOCK, LOCK_SECONDS = "plackett grows trees", 1.0
NETWORK = re.compile("socket|network|connect|bind|machine", re.IGNORECASE)  # in errors of LightGBM
LOG = logging.getLogger("plackett.distributed")


class TreePlan(NamedTuple):
    """What all workers of a fit share."""

    params: dict[str, Any]
    loss: Loss | None  # None takes the objective of ``params``
    intercept: float  # the score that the trees add to
    mean_weight: float  # of the queries
    categories: tuple[int, ...]
    n_docs: int
    n_sampled: int  # rows from which the bins are found
    watch: Callable[[Queries], Any] | None = None  # makes what measures scores: ``values(scores)``, one for each query


class Round(NamedTuple):
    """What a worker, or all of them, made of a round."""

    tree: str | None  # None if there was no split, and on all workers but one
    value: float  # of the loss before the tree, summed over the queries
    values: dict[int, np.ndarray]  # of the validation queries, by the number of their part
    seconds: float


# --- In the client ----------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def one_fit_at_a_time() -> Iterator[None]:
    """Wait until no other fit grows trees on the cluster: networks that share workers may wait for each other."""
    with importing:
        from distributed import Lock

    lock = Lock(LOCK)
    if not lock.acquire(timeout=LOCK_SECONDS):
        warn("another fit grows trees on this cluster; waiting until it ends.", RuntimeWarning)
        while not lock.acquire(timeout=60 * LOCK_SECONDS):
            pass
    try:
        yield
    finally:
        with contextlib.suppress(OSError, RuntimeError):  # of a cluster that is gone
            lock.release()


class ClusterTrees:
    """The trees of a fit whose rows are on the workers of a cluster.

    ``parts`` and ``held``, those for validation, are trimmed. A worker without an answer for ``silence`` seconds, or
    longer if rounds are slow, is restarted; ``n_restarts`` counts how often the rounds were resumed.
    """

    def __init__(self, parts: ClusterPartitions, held: ClusterPartitions | None, plan: TreePlan, silence: float):
        self._parts, self._held, self._plan, self._silence = parts, held, plan, silence
        self._client = parts.client
        known = self._client.scheduler_info(n_workers=-1)["workers"].values()
        self._n_nannies = sum(bool(worker.get("nanny")) for worker in known)
        self._workers: list[str] = []  # those that own parts; none before the start and after a loss
        self._fit = ""
        self._slowest: float | None = None
        self._n_failures = 0  # since the last round
        self.trees: list[str] = []
        self.n_restarts = 0

    def has_splits(self) -> bool:
        """Return whether a column has more than one bin."""
        return any(self._resilient("has_splits").values())

    def grow(self) -> Round:
        """Grow a tree on all workers."""
        rounds = list(self._resilient("grow").values())
        self._slowest = max(self._slowest or 0.0, *(one.seconds for one in rounds))
        self._n_failures = 0
        tree = next((one.tree for one in rounds if one.tree), None)
        if tree is not None:
            self.trees.append(tree)
        by_part = {number: values for one in rounds for number, values in one.values.items()}
        return Round(tree, sum(one.value for one in rounds), by_part, self._slowest)

    def model(self) -> str:
        """Return all trees as text."""
        return "\n".join(tree[tree.index("\nTree=0") :].split("\nend of trees")[0] for tree in self.trees)

    def value_after(self, n_trees: int) -> float:
        """Return the loss summed over all queries, at the scores of these trees."""
        return sum(self._resilient("value_after", n_trees).values())

    def close(self) -> None:
        """Free the memory of the workers."""
        with contextlib.suppress(ConnectionError):
            self._leave()

    def _resilient(self, work: str, *arguments: Any) -> dict[str, Any]:
        """Return the answers of all workers; when some are lost, start again from the trees so far."""
        while True:
            try:
                if not self._workers:
                    self._start()
                return self._ask(work, dict.fromkeys(self._workers, arguments))
            except GoneError as lost:
                self._recover(lost)

    def _start(self) -> None:
        owners = self._parts.owners()
        self._fit, self._workers = uuid.uuid4().hex, sorted(owners)
        held: dict[str, dict[int, str]] = {worker: {} for worker in self._workers}
        if self._held is not None:
            for number, (worker, key) in enumerate(self._held.copied(self._workers)):
                held[worker][number] = key
        samples: dict[str, str] = {}
        if self._plan.n_sampled < self._plan.n_docs or len(self._workers) > 1:
            sample = self._parts.collect(_sample_of, stacked, self._plan)
            samples = dict(self._parts.copied(self._workers, [sample] * len(self._workers)))
        seats = {
            worker: (
                [self._parts.keys[number] for number in owners[worker]], held[worker], samples.get(worker), self._plan,
                self.trees,
            )
            for worker in self._workers
        }  # fmt: skip
        n_bytes = max(self._ask("prepare", seats).values())
        self._parts.copies.clear()
        if n_bytes and not self.n_restarts:
            LOG.info("the bins are found from %d of %d rows, %.1f MB to each of %d workers",
                     self._plan.n_sampled, self._plan.n_docs, n_bytes / 1e6, len(self._workers))  # fmt: skip
        machines = self._ask("machine", dict.fromkeys(self._workers, ()))
        self._ask("link", {worker: (list(machines.values()), own) for worker, own in machines.items()})

    def _ask(self, work: str, arguments: Mapping[str, tuple], **limit: float) -> dict[str, Any]:
        """Return the answer of each worker; raise the error of one, or a ``GoneError``."""
        answers, silent = self._client.sync(self._answers, work, arguments, **limit)
        failed = [answer for answer in answers.values() if isinstance(answer, Exception)]
        other = next((error for error in failed if not _is_loss(error)), None)
        if other is not None:
            raise other
        if failed or silent:
            first = next(iter(failed), None)
            raise GoneError(f"no answer from {silent[0]}" if silent else str(first), silent, first)
        return {worker: answers[worker] for worker in arguments}

    async def _answers(
        self, work: str, arguments: Mapping[str, tuple], deadline: float = np.inf
    ) -> tuple[dict[str, Any], list[str]]:
        """Return the answers, and the workers that are silent.

        A worker that grows a tree answers other questions, unless it is frozen. One that does answer, but not with a
        tree, may work, or wait for a lost worker, or be in an endless loop, as LightGBM is after some losses.
        """
        asked = {
            asyncio.ensure_future(self._run(worker, _in_thread, fit=self._fit, work=work, arguments=given)): worker
            for worker, given in arguments.items()
        }
        started = time.monotonic()
        seen, deadline = dict.fromkeys(arguments, started), started + deadline
        limit = max(self._silence, ROUNDS_OF_SILENCE * (self._slowest or 0.0))
        if work != "grow":  # packages may have to be imported, and rows to be read from disk
            limit *= TIMES_TO_START
        if self._slowest is not None and work == "grow":
            deadline = min(deadline, started + limit)
        answers: dict[str, Any] = {}
        pings: dict[str, Any] = {}
        pending, frozen = set(asked), list[str]()
        while pending and time.monotonic() < deadline and not frozen:
            done, pending = await asyncio.wait(
                pending, timeout=min(PING_SECONDS, limit / 4, GRACE_SECONDS / 4), return_when=asyncio.FIRST_COMPLETED
            )
            answers |= {asked[task]: task.result() for task in done}
            now = time.monotonic()
            if any(isinstance(answer, Exception) for answer in answers.values()):
                deadline = min(deadline, now + GRACE_SECONDS)
            for worker in (asked[task] for task in pending):
                ping = pings.get(worker)
                if ping is not None and ping.done():
                    if ping.result() is True:
                        seen[worker] = now
                    ping = pings.pop(worker, None)
                elif ping is None and now - seen[worker] > PING_SECONDS:
                    pings[worker] = asyncio.ensure_future(self._run(worker, _is_there))
            frozen = [asked[task] for task in pending if now - seen[asked[task]] > limit]
        for task in (*pending, *pings.values()):
            task.cancel()
        return answers, frozen or [asked[task] for task in pending]

    async def _run(self, worker: str, asked: Callable[..., Any], /, **given: Any) -> Any:
        """Return the answer of a worker, or its error."""
        try:
            answers = await self._client.run(asked, workers=[worker], on_error="return", **given)
        except LookupError as error:  # of Dask: the scheduler does not know the worker
            return GoneError(str(error))
        except Exception as error:  # of the connection to the scheduler, or of what was sent
            return error
        return answers.get(worker, GoneError(f"{worker} is not there"))

    def _recover(self, lost: GoneError) -> None:
        """Restart silent workers, load the parts again, and let the next question start from the trees so far."""
        self.n_restarts += 1
        self._n_failures += 1
        if self._n_failures > MOST_FAILURES:
            raise ConnectionError(
                f"workers of the Dask cluster were lost {self._n_failures} times in a row ({lost}). They may be out of "
                "memory: use more workers. Or they cannot reach each other: LightGBM needs free TCP ports between them."
            ) from (lost.first or lost)
        warn(f"a Dask worker was lost ({lost}); the fit continues after {count_of(len(self.trees), 'tree')}.",
             RuntimeWarning)  # fmt: skip
        self._restart(lost.silent)
        self._leave()
        if self._n_nannies and not lost.silent:  # a restart waits for them, too
            with contextlib.suppress(TimeoutError):
                self._client.wait_for_workers(self._n_nannies, timeout=RESTART_SECONDS)
        self._parts.load()

    def _leave(self) -> None:
        """Close the network on all workers; restart those that do not get out of it."""
        workers, self._workers = self._workers, []
        try:
            self._ask("close", dict.fromkeys(workers, ()), deadline=GRACE_SECONDS)
        except GoneError as lost:
            self._restart(lost.silent)

    def _restart(self, workers: Sequence[str]) -> None:
        known = self._client.nthreads()
        silent = [worker for worker in workers if worker in known]
        if not silent:
            return
        try:
            self._client.restart_workers(silent, timeout=RESTART_SECONDS, raise_for_error=False)
        except ValueError as error:
            raise ConnectionError(
                f"the Dask worker {silent[0]} gave no answer for {self._silence:g} seconds, or lost another worker, "
                "and has no nanny that could restart it. Start workers with a nanny (dask worker --nanny), and fit "
                "again."
            ) from error
        known = self._client.nthreads()
        for worker in silent:
            if worker in known:
                raise ConnectionError(f"the Dask worker {worker} gave no answer and could not be killed. Remove it.")


def _is_loss(error: Exception) -> bool:
    """Return whether an error says that a worker, its parts or the connection to it were lost."""
    return isinstance(error, OSError) and not isinstance(error, FileNotFoundError)


# --- On the workers ---------------------------------------------------------------------------------------------------


async def _is_there() -> bool:
    return True


async def _in_thread(*, dask_worker: Any, fit: str, work: str, arguments: tuple) -> Any:
    """Return what the seat of a fit at this worker answers, in the thread of the fit."""
    key = dask_worker.address, fit
    if work not in ("prepare", "close") and key not in _seats:
        raise GoneError("it was restarted")
    for other in [held for held in _seats if work == "prepare" and held[0] == key[0] and held != key]:
        _seats.pop(other).thread.shutdown(wait=False)  # of a client that was killed
    seat = _seats.setdefault(key, _Seat(dask_worker))
    answer = await asyncio.get_running_loop().run_in_executor(seat.thread, _done, getattr(seat, work), arguments)
    if work == "close":
        del _seats[key]
        seat.thread.shutdown(wait=False)
    return answer


def _done(work: Callable[..., Any], arguments: tuple) -> Any:
    """Return ``work(*arguments)``; an error of LightGBM's network becomes a ``ConnectionError``."""
    lightgbm: Any = import_optional("lightgbm", extra="trees", needed_for="Growing trees on a cluster")
    try:
        return work(*arguments)
    except lightgbm.basic.LightGBMError as error:
        if NETWORK.search(str(error)):
            raise ConnectionError(f"LightGBM: {error}") from None
        raise


class _Seat:
    """What a worker holds of a fit: the thread to which LightGBM's network belongs, the trees, validation queries.

    The client asks for its methods by name.
    """

    def __init__(self, worker: Any) -> None:
        self._worker, self.thread = worker, ThreadPoolExecutor(1, "plackett-trees")
        self._growth: Any = None  # a Growth, from ``prepare`` to ``close``
        self._held: dict[int, tuple[Any, int]] = {}  # what measures the queries of each part, and their rows
        self._is_first = False

    def prepare(
        self, keys: list[str], held: Mapping[int, str], sample: str | None, plan: TreePlan, trees: Sequence[str]
    ) -> int:
        """Find the bins, without the network: an error here stops no other worker. Return the bytes of the sample."""
        data = self._worker.data
        try:
            parts, own = [data[key] for key in keys], {number: data[key] for number, key in held.items()}
            rows = None if sample is None else data[sample]
        except KeyError as error:
            raise GoneError(f"{error} was moved") from None
        params = plan.params | {"num_threads": self._worker.state.nthreads}
        self._growth = Growth(
            _rows(parts, plan, trees), params, plan.loss, categories=plan.categories,
            held=_rows(list(own.values()), plan, trees) if own else None,
            sample=rows, n_before=len(trees),
        )  # fmt: skip
        assert plan.watch is not None or not own
        self._held = {number: (plan.watch(part.queries), part.queries.n_docs) for number, part in own.items()}  # type: ignore[misc]
        return 0 if rows is None else mapped.n_bytes(rows)

    def machine(self) -> str:
        """Return an address for LightGBM: the IP of this worker, and a free port."""
        with importing:
            from distributed.comm import get_address_host

        address = self._worker.address
        host = "127.0.0.1" if address.startswith("inproc:") else get_address_host(address)
        try:
            host = socket.gethostbyname(host)
        except OSError:
            raise ValueError(f"the Dask worker {address} has no IPv4 address, which LightGBM needs.") from None
        with socket.socket() as found:
            found.bind(("", 0))
            return f"{host}:{found.getsockname()[1]}"

    def link(self, machines: list[str], own: str) -> None:
        self._is_first = own == machines[0]
        network = {} if len(machines) == 1 else {
            "tree_learner": "data", "num_machines": len(machines), "machines": ",".join(machines),
            "local_listen_port": int(own.rpartition(":")[2]),
        }  # fmt: skip
        self._growth.link(**network)

    def has_splits(self) -> bool:
        return self._growth.has_splits

    def grow(self) -> Round:
        started = time.monotonic()
        has_split = self._growth.grow()
        values: dict[int, np.ndarray] = {}
        if has_split and self._held:
            scores, row = self._growth.held_scores(), 0
            for number, (measure, n_docs) in self._held.items():
                values[number] = measure.values(scores[row : row + n_docs])
                row += n_docs
        tree = self._growth.last_tree() if has_split and self._is_first else None
        return Round(tree, self._growth.value, values, time.monotonic() - started)

    def value_after(self, n_trees: int) -> float:
        return self._growth.value_after(n_trees)

    def close(self) -> None:
        if self._growth is not None:
            self._growth.close()
        self._growth = None


_seats: dict[tuple[str, str], _Seat] = {}  # by worker, since several may be in one process, and by fit


def _rows(parts: Sequence[LoadedPart], plan: TreePlan, trees: Sequence[str]) -> Rows:
    queries = [part.queries for part in parts]
    sizes = np.concatenate([np.diff(one.indptr) for one in queries])
    lists = QueryLists(
        np.concatenate([one.labels for one in queries]), np.append(0, np.cumsum(sizes)),
        has_estimated_labels=any(one.has_estimated_labels for one in queries),
    )  # fmt: skip
    weights = None
    if all(part.weights is not None for part in parts):
        weights = np.concatenate([part.weights for part in parts]) / plan.mean_weight
    start = np.concatenate([scores_of_trees(trees, one.X, plan.intercept) for one in queries])
    return Rows([one.X for one in queries], lists, weights, start if trees or plan.intercept else None)


# --- Parts ------------------------------------------------------------------------------------------------------------


def trimmed(
    part: LoadedPart, n_features: int, categories: Categories | None, with_documents: bool = False
) -> LoadedPart:
    """Return a part with all columns and with the codes of all categories, without what trees do not need."""
    X, queries = part.rows(n_features), part.queries
    if categories:
        X = recode(X, queries.categories or {}, categories)
    kept = Queries.from_groups(
        X, queries.y, queries.ids, queries.indptr, has_estimated_labels=queries.has_estimated_labels,
        docid=queries.document_ids if with_documents else None, subtopics=queries.subtopics if with_documents else None,
    )  # fmt: skip
    return LoadedPart(kept, part.weights, part.name)


def _sample_of(part: LoadedPart, number: int, plan: TreePlan) -> Any:
    """Return rows of a part, as many as its share of the sample, and the same in every fit."""
    X = part.queries.X
    if plan.n_sampled >= plan.n_docs:
        return X
    n = max(1, X.shape[0] * plan.n_sampled // plan.n_docs)
    return X[np.sort(np.random.default_rng([number, X.shape[0]]).choice(X.shape[0], n, replace=False))]
