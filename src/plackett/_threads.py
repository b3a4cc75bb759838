"""One pool of threads for the compiled kernels, which release the GIL and process a block of queries each.

Blocks depend on the data alone and each writes its own result, so results do not depend on the number of threads.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from plackett._lazy import importing

_lock = threading.Lock()
_pool: ThreadPoolExecutor | None = None
_n_threads: int | None = None
_worker = threading.local()
_blas_users = 0  # threads inside `one_blas_thread`, under the lock
_blas_limit: Any = None  # set by the first of them and restored by the last


def n_threads() -> int:
    """Return the number of threads: ``set_n_threads``, ``PLACKETT_NUM_THREADS``, or the cores of this process."""
    if _n_threads is not None:
        return _n_threads
    asked = os.environ.get("PLACKETT_NUM_THREADS", "").strip()
    if asked:
        if not asked.isdigit() or int(asked) < 1:
            raise ValueError(f"PLACKETT_NUM_THREADS is {asked!r}; it must be a whole number of at least 1.")
        return int(asked)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def set_n_threads(n: int | None) -> None:
    """Set the number of threads that kernels use in this process.

    Parameters
    ----------
    n : int or None
        None restores the default: ``PLACKETT_NUM_THREADS`` if it is set, otherwise the number of cores available to the
        process. Results do not depend on the number of threads.

    Examples
    --------
    >>> from plackett import set_n_threads
    >>> set_n_threads(2)
    >>> set_n_threads(None)
    """
    global _n_threads
    if n is not None and n < 1:
        raise ValueError(f"n={n}; the number of threads must be at least 1, or None for the default.")
    _n_threads = n
    _forget_pool()


def _forget_pool() -> None:
    # A forked child has no pool threads, and the lock may be held by a thread that does not exist there.
    global _pool, _lock
    _lock = threading.Lock()
    _pool = None


def _forget_threads() -> None:
    """Discard the pool and the BLAS limits of other threads in a forked child, which has only the forking thread."""
    global _blas_users
    _forget_pool()
    _blas_users = getattr(_worker, "n_blas_limits", 0)
    if _blas_users == 0:
        _lift_blas_limit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


def _get_pool() -> ThreadPoolExecutor:
    global _pool
    with _lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(n_threads(), thread_name_prefix="plackett", initializer=_mark_worker)
        return _pool


def _mark_worker() -> None:
    _worker.is_one = True


def map_blocks(work: Callable[..., object], blocks: Sequence[tuple]) -> list:
    """Call ``work(*block)`` for every block, on all threads, and return the results in order of the blocks."""
    if len(blocks) <= 1:
        return [work(*block) for block in blocks]
    return submit_blocks(work, blocks)()


def submit_blocks(work: Callable[..., object], blocks: Sequence[tuple]) -> Callable[[], list]:
    """Start ``map_blocks`` and return a function that waits for the results and returns them."""
    if n_threads() == 1 or getattr(_worker, "is_one", False):  # a worker must not wait for workers
        return lambda: [work(*block) for block in blocks]
    futures = [_get_pool().submit(work, *block) for block in blocks]

    def finish() -> list:
        try:
            return [future.result() for future in futures]
        except BaseException:
            for future in futures:
                future.cancel()
            raise

    return finish


@contextlib.contextmanager
def on_this_thread() -> Iterator[None]:
    """Run ``map_blocks`` on the calling thread only, for callers that are already parallel."""
    before = getattr(_worker, "is_one", False)
    _worker.is_one = True
    try:
        yield
    finally:
        _worker.is_one = before


def query_blocks(indptr: np.ndarray, docs_per_block: int) -> list[tuple[int, int]]:
    """Return consecutive ranges ``(first, last)`` of whole queries, about ``docs_per_block`` documents each."""
    n_queries = indptr.size - 1
    if n_queries < 1:
        return []
    if indptr[-1] - indptr[0] <= docs_per_block:
        return [(0, n_queries)]
    targets = np.arange(indptr[0] + docs_per_block, indptr[-1], docs_per_block)
    cuts = np.unique(np.searchsorted(indptr, targets))
    edges = np.concatenate([[0], cuts[(cuts > 0) & (cuts < n_queries)], [n_queries]]).tolist()
    return list(itertools.pairwise(edges))


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread inside the block, because its idle workers spin and take cores from the kernels.

    The limit applies to the whole process. Blocks of several threads may overlap in any order: the first one sets the
    limit, and the last one restores the original limit.
    """
    global _blas_users, _blas_limit
    controller = _blas_controller()
    if controller is None:
        yield
        return
    with _lock:
        if _blas_users == 0:
            _blas_limit = controller.limit(limits=1, user_api="blas")
            _release_control(controller)
        _blas_users += 1
    _worker.n_blas_limits = getattr(_worker, "n_blas_limits", 0) + 1
    try:
        yield
    finally:
        _worker.n_blas_limits -= 1
        with _lock:
            _blas_users -= 1
            if _blas_users == 0:
                _lift_blas_limit()


def _lift_blas_limit() -> None:
    global _blas_limit
    if _blas_limit is not None:
        _blas_limit.restore_original_limits()
        _blas_limit = None
        _release_control(_blas_controller())


def _release_control(controller: Any) -> None:
    """Allow any thread to change the limit: threadpoolctl 3.8 ignores all threads but the one that set it."""
    for library in controller.lib_controllers:
        getattr(library, "clear_controlling_thread", lambda: None)()


@functools.cache
def _blas_controller():
    try:
        with importing:
            import scipy.linalg  # noqa: F401  threadpoolctl only finds scipy's own BLAS once it is loaded
            from threadpoolctl import ThreadpoolController
    except ModuleNotFoundError:
        return None

    return ThreadpoolController()


def results(calls: Iterable[Any], *, is_ordered: bool = True, **options: Any) -> Iterator[Any]:
    """Return an iterator over the results of joblib's delayed ``calls``, lazy if the backend supports that.

    Unless ``is_ordered``, results come as soon as they are finished, if the backend supports that.
    """
    with importing:
        from joblib import Parallel

    for return_as in ("generator" if is_ordered else "generator_unordered", "generator"):
        try:
            return iter(Parallel(**options, return_as=return_as)(calls))
        except ValueError:  # multiprocessing, and Ray's backend, return all results at the end
            continue
    return iter(Parallel(**options)(calls))
