"""Compare one value and gradient of a linear ranker over 1.2 M documents with BLAS, a bare pass, PyTorch and rax."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.made_lists import graded, small_numbers, strict, uneven_indptr
from benchmarks.timing import Result, peer
from benchmarks.turns import best_in_turns, judged
from plackett._threads import map_blocks, n_threads
from plackett.data.queries import QueryLists
from plackett.losses import get_loss
from plackett.objective.objective import Objective
from plackett.objective.penalties import L2
from plackett.scorers.linear import LinearScorer

N_DOCS, N_FEATURES = 1_200_000, 136
ROUNDS, ROUNDS_PEERS = 5, 3
LISTWISE = ("p-listmle", "listnet", "rankcosine", "cs-listmle", "squared")
PAIRWISE = ("hinge", "squared-hinge", "logistic", "exponential", "psi")
ALLOWED = dict.fromkeys(LISTWISE, 1.25) | dict.fromkeys(PAIRWISE, 1.6)  # relative to ListMLE
BATCHES = (256, 1024, 4096)  # queries per batch of PyTorch and rax

Evaluation = Callable[[], tuple[float, np.ndarray]]


def run() -> list[Result]:
    rng = np.random.default_rng(0)
    indptr = uneven_indptr(N_DOCS, rng)
    X = small_numbers(N_DOCS, N_FEATURES, rng)
    truth = rng.normal(size=N_FEATURES)
    lists = QueryLists(graded(X @ truth.astype(np.float32), rng), indptr)
    coef = 0.3 * truth
    return [*_against_limits(X, lists, coef), *_other_losses(X, lists, coef), *_against_peers(X, lists, coef, rng)]


def _evaluation(loss: str, X, lists, coef) -> Evaluation:
    chosen = get_loss(loss)
    objective = Objective(chosen, LinearScorer(X, has_intercept=not chosen.ignores_shifts), lists, L2(0.0))
    start = np.append(coef, 0.0)[: objective.size]
    objective.value_and_gradient(start)  # sorts the labels
    return lambda: objective.value_and_gradient(start)


def _against_limits(X, lists, coef) -> list[Result]:
    what = f"ListMLE, value and gradient, {N_DOCS:,} × {N_FEATURES}"
    weights, slope = coef.astype(np.float32), np.ones(N_DOCS, dtype=np.float32)
    blocks = [(start, min(start + 20_000, N_DOCS)) for start in range(0, N_DOCS, 20_000)]
    best = best_in_turns(
        {
            "ours": _evaluation("listmle", X, lists, coef),
            "blas": lambda: (X @ weights, slope @ X),
            "pass": lambda: _look_at_all(X, blocks),
        },
        rounds=2 * ROUNDS,
    )
    threads = f"{n_threads()} threads"
    return [
        judged(Result(what, best["ours"], "two BLAS passes", best["blas"], 2, f"X @ w and g @ X, {threads}")),
        judged(
            Result(what, best["ours"], "one pass over X", best["pass"], round(1 / 1.7, 3), f"at most 1.7 ×, {threads}")
        ),
    ]


def _look_at_all(X, blocks) -> float:
    """Return the largest value of X: numpy's vectorised pass, on all threads, is limited by memory bandwidth."""
    return max(map_blocks(lambda start, stop: X[start:stop].reshape(-1).max(), blocks))


def _other_losses(X, lists, coef) -> list[Result]:
    """Measure each loss alternately with ListMLE, and delete its objective before the next, to free its arrays."""
    results = []
    for loss, allowed in ALLOWED.items():
        best = best_in_turns(
            {"ours": _evaluation(loss, X, lists, coef), "listmle": _evaluation("listmle", X, lists, coef)}, ROUNDS
        )
        note = f"at most {allowed} × ListMLE"
        target = round(1 / allowed, 3)
        results.append(judged(Result(f"{loss}, the same", best["ours"], "ListMLE", best["listmle"], target, note)))
    return results


def _against_peers(X, lists, coef, rng) -> list[Result]:
    """Compare on strict orders, for which all definitions of ListMLE agree."""
    lists = strict(lists, rng)
    ours = _evaluation("listmle", X, lists, coef)
    value, gradient = ours()
    what = f"ListMLE, strict orders, {N_DOCS:,} × {N_FEATURES}"
    results = []
    for name, prepare, target in (("PyTorch", _torch, 5), ("rax", _rax, 10)):
        fastest = None
        for shape, call in prepare(X, lists, coef):
            found, pull = call()  # warms up the peer, and checks that both results agree
            assert abs(found / value - 1.0) < 1e-4, (name, shape, found, value)
            assert np.abs(pull - gradient).max() < 1e-3 * np.abs(gradient).max(), (name, shape)
            best = best_in_turns({"ours": ours, "peer": call}, ROUNDS_PEERS)
            if fastest is None or best["peer"] < fastest.peer:
                fastest = Result(what, best["ours"], name, best["peer"], target, f"padded, {shape}: its fastest shape")
        if fastest is None:
            seconds = best_in_turns({"ours": ours}, ROUNDS_PEERS)["ours"]
            fastest = Result(what, seconds, name, None, target)
        results.append(judged(fastest))
    return results


def _batches(X, lists, n_queries: int, multiple: int = 1):
    """Return padded blocks of rows and their lengths: documents by descending label, queries of similar length."""
    lengths = np.diff(lists.indptr)
    by_length = np.argsort(lengths, kind="stable")
    for start in range(0, lists.n_queries, n_queries):
        chosen = by_length[start : start + n_queries]
        width = -(-int(lengths[chosen].max()) // multiple) * multiple
        is_there = np.arange(width) < lengths[chosen, None]
        places = np.minimum(lists.indptr[chosen, None] + np.arange(width), lists.n_docs - 1)
        rows = np.where(is_there, lists.order[places], 0)
        block = X[rows.ravel()].reshape(*rows.shape, X.shape[1])
        block[~is_there] = 0.0
        yield block, is_there


def _torch(X, lists, coef):
    torch = peer("torch")
    if torch is None:
        return
    for size in BATCHES:
        batches = [(torch.from_numpy(rows), torch.from_numpy(there)) for rows, there in _batches(X, lists, size)]

        def call(threads, batches=batches):
            torch.set_num_threads(threads)
            weights = torch.tensor(coef, dtype=torch.float32, requires_grad=True)
            value = 0.0
            for rows, is_there in batches:
                scores = (rows.view(-1, rows.shape[2]) @ weights).view(is_there.shape)
                masked = scores.masked_fill(~is_there, -torch.inf)
                below = masked.flip(1).logcumsumexp(1).flip(1)
                loss = (below - scores).masked_fill(~is_there, 0.0).sum() / lists.n_queries
                loss.backward()
                value += float(loss.detach())
            return value, weights.grad.numpy().astype(np.float64)

        for threads in sorted({1, n_threads()}):  # on shared cores several threads can be slower
            yield f"{size} queries at once, threads: {threads}", partial(call, threads)


def _rax(X, lists, coef):
    jax, rax = peer("jax"), peer("rax")
    if jax is None or rax is None:
        return
    numbers = jax.numpy

    def loss(weights, rows, labels, is_there):
        return rax.listmle_loss(rows @ weights, labels, where=is_there, reduce_fn=numbers.sum) / lists.n_queries

    evaluate = jax.jit(jax.value_and_grad(loss))
    weights = numbers.asarray(coef, dtype=numbers.float32)
    for size in BATCHES:
        batches = []
        for rows, is_there in _batches(X, lists, size, multiple=32):  # few shapes, because each is compiled
            labels = np.broadcast_to(np.arange(rows.shape[1], 0, -1, dtype=np.float32), is_there.shape)
            batches.append(tuple(map(numbers.asarray, (rows, labels, is_there))))

        def call(batches=batches):
            parts = [evaluate(weights, *batch) for batch in batches]
            value = sum(float(part[0]) for part in parts)
            return value, np.sum([np.asarray(part[1], dtype=np.float64) for part in parts], axis=0)

        yield f"{size} queries at once", call
