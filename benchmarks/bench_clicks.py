"""Measure fits of click models against CLAX (JAX, on the processor), on the clicks of simulated users.

CLAX trains as its manual shows (AdamW, 0.003) until its log-likelihood of held-out sessions is as high as ours, or
stops rising, or for about ``MAX_SECONDS``. It gets batches that are in memory already. It needs a version of JAX that
its Flax supports, such as 0.7.2 for Flax 0.11. Our models have their default prior; the time and the likelihood with
``prior="fitted"`` are in the note.

Then come fits to logs of 10 million sessions, mapped from a file, with their time and the peak memory of the process.
PLACKETT_BENCH_SESSIONS sets another number of sessions.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import Result, peer
from benchmarks.turns import judged
from plackett.clicks import ClickLog, ClickModel, Pairs, get_click_model
from plackett.data.text_column import TextColumn

N_SESSIONS, N_QUERIES, N_DOCS, N_RANKS, N_RANKERS = 1_000_000, 20_000, 20, 10, 10
MODELS = {
    "pbm": "PositionBasedModel",
    "ubm": "UserBrowsingModel",
    "dbn": "DynamicBayesianNetwork",
    "ccm": "ClickChainModel",
}
TARGET = 20  # times as fast
BATCH = 512
MAX_SECONDS = 300.0
SAME = 1e-3  # a mean log-likelihood that is lower by less counts as equal
LIMITS = {"pbm": 60.0, "ubm": 60.0, "dbn": 180.0}  # seconds on two cores for 10 million sessions
MOST_MEMORY = 2.0  # GB
CHILD = """
import sys, time
from plackett.clicks import ClickLog, get_click_model
start = time.perf_counter()
model = get_click_model(sys.argv[1]).fit(ClickLog.load(sys.argv[2]))
seconds = time.perf_counter() - start
with open("/proc/self/status") as status:  # getrusage would count the memory of the parent process
    peak = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
print(seconds, peak, model.n_iter_)
"""


def run() -> list[Result]:
    return [*against_clax(), *large_logs(int(os.environ.get("PLACKETT_BENCH_SESSIONS", "10_000_000")))]


def large_logs(n_sessions: int) -> list[Result]:
    """Return the time and the memory of fits, each in a separate process."""
    results = []
    lists = make_lists(n_sessions, N_QUERIES * 5)
    for name, limit in LIMITS.items():
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "log.plackett")
            user_of(name, lists).simulate(lists, random_state=1).save(path)
            command = [sys.executable, "-c", CHILD, name, path]
            output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        seconds, peak, n_iter = map(float, output.split())
        memory = f"{peak / 1e9:.2f} GB at its peak, {'within' if peak <= MOST_MEMORY * 1e9 else 'above'} the limit"
        note = f"{n_iter:.0f} steps, {memory} of {MOST_MEMORY:g} GB"
        results.append(
            judged(Result(f"{name}, {n_sessions:,} sessions of {N_RANKS}", seconds, "limit", limit, 1, note))
        )
    return results


def against_clax() -> list[Result]:
    lists = make_lists()
    clax = peer("clax")
    results = []
    for name, class_name in MODELS.items():
        train, test = user_of(name, lists).simulate(lists, random_state=1).split(0.8)
        ours, likelihood, perplexity = train_ours(name, train, test)
        note = f"held-out log-likelihood {likelihood:.4f}, perplexity {perplexity:.4f}"
        theirs = None
        if clax is not None:
            theirs, reached, its_perplexity = train_clax(clax, class_name, train, test, likelihood)
            note += f"; CLAX {reached:.4f}, {its_perplexity:.4f} when it stopped"
        fitted = train_ours(name, train, test, prior="fitted")
        note += f"; prior fitted {fitted[1]:.4f}, {fitted[2]:.4f} in {fitted[0]:.2f} s"
        what = f"{name}, {len(train):,} sessions of {N_RANKS}"
        results.append(judged(Result(what, ours, "clax-models", theirs, TARGET, note)))
    return results


def train_ours(name: str, train: ClickLog, test: ClickLog, **parameters: Any) -> tuple[float, float, float]:
    """Return the seconds of a fit, and the log-likelihood and the perplexity of held-out sessions."""
    start = time.perf_counter()
    model = get_click_model(name, **parameters).fit(train)
    seconds = time.perf_counter() - start
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some pairs are only in the held-out sessions
        return seconds, model.log_likelihood(test), model.perplexity(test)


def make_lists(
    n_sessions: int = N_SESSIONS, n_queries: int = N_QUERIES, n_docs: int = N_DOCS, n_ranks: int = N_RANKS
) -> ClickLog:
    """Return sessions whose lists some rankers made, with queries by Zipf's law, without clicks."""
    rng = np.random.default_rng(0)
    shares = 1 / np.arange(1, n_queries + 1) ** 0.8
    query = rng.choice(n_queries, n_sessions, p=shares / shares.sum()).astype(np.int32)
    quality = np.arange(n_docs) / n_docs
    rankers = [
        np.argsort(quality + 1.5 * rng.random((n_queries, n_docs)), axis=1)[:, :n_ranks].astype(np.int32)
        for _ in range(N_RANKERS)
    ]
    docs = np.stack(rankers)[rng.integers(N_RANKERS, size=n_sessions), query]
    names = [TextColumn.from_strings([f"{code:07d}" for code in range(n)]) for n in (n_queries, n_docs)]
    codes = np.divmod(np.arange(n_queries * n_docs, dtype=np.int32), np.int32(n_docs))
    pair = (query[:, None] * np.int32(n_docs) + docs).ravel()
    indptr = np.arange(n_sessions + 1, dtype=np.int64) * n_ranks
    return ClickLog(indptr, pair, np.zeros(pair.size, dtype=bool), query, Pairs(*names, *codes))


def user_of(name: str, lists: ClickLog) -> ClickModel:
    """Return a model with drawn parameters, to simulate its users."""
    rng = np.random.default_rng(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        user: Any = get_click_model(name).fit(lists[:1000])
    ranks = np.arange(N_RANKS)
    user.impressions_ = np.ones(lists.n_pairs, dtype=np.int64)
    user.attractiveness_ = np.clip(rng.beta(1, 2, lists.n_pairs), 1e-4, 1 - 1e-4)
    user.satisfaction_ = rng.beta(2, 2, lists.n_pairs)
    away = np.tril(ranks[:, None] - ranks)
    user.examination_ = 1 / (1 + ranks) ** 0.7 if name == "pbm" else (1 + 0.35 * away) ** -0.8
    user.continuation_ = {"dbn": 0.85, "ccm": np.array([0.9, 0.8, 0.4])}.get(name)
    return user


def train_clax(clax, class_name: str, train: ClickLog, test: ClickLog, wanted: float) -> tuple[float, float, float]:
    """Return the seconds of training, and the held-out log-likelihood and perplexity at its end."""
    import jax
    import optax
    from flax import nnx

    cls = getattr(clax, class_name)
    sizes = {"query_doc_pairs": train.n_pairs + 1}
    if class_name in ("PositionBasedModel", "UserBrowsingModel"):
        sizes["positions"] = N_RANKS
    model = cls(**sizes, rngs=nnx.Rngs(42))
    optimizer = nnx.ModelAndOptimizer(model, optax.adamw(0.003))

    @nnx.jit
    def step(model, optimizer, batch):
        optimizer.update(nnx.grad(lambda model: model.compute_loss(batch).mean())(model))

    @nnx.jit
    def held_out(model, batch):
        return -model.compute_loss(batch, aggregate=False).sum()

    seconds, best = 0.0, -np.inf
    rng = np.random.default_rng(0)
    for batch in batches_of(train, np.arange(BATCH)):  # compiled before the clock starts
        step(model, optimizer, batch)
    while True:
        start = time.perf_counter()
        for batch in batches_of(train, rng.permutation(len(train))):
            step(model, optimizer, batch)
        jax.block_until_ready(nnx.state(model))
        seconds += time.perf_counter() - start
        sums = [float(held_out(model, batch)) for batch in batches_of(test, np.arange(len(test)), size=8192)]
        reached = sum(sums) / len(test)
        if reached >= wanted - SAME or reached < best + 1e-5 or seconds > MAX_SECONDS:
            return seconds, reached, clax_perplexity(model, test)
        best = reached


def clax_perplexity(model, test: ClickLog) -> float:
    """Return the mean over ranks of the perplexity of the click probabilities, before any click is observed."""
    chances = np.concatenate([np.exp(model.predict_clicks(b)) for b in batches_of(test, np.arange(len(test)), 8192)])
    is_click = test.click.reshape(-1, N_RANKS)
    p = np.clip(np.where(is_click, chances, 1 - chances), 1e-6, 1)
    return float((2 ** -np.log2(p).mean(axis=0)).mean())


def batches_of(log: ClickLog, sessions: np.ndarray, size: int = BATCH) -> Iterator[dict[str, np.ndarray]]:
    pair, click = log.pair.reshape(-1, N_RANKS), log.click.reshape(-1, N_RANKS)
    for begin in range(0, sessions.size, size):
        rows = sessions[begin : begin + size]
        positions = np.broadcast_to(np.arange(1, N_RANKS + 1, dtype=np.int32), (rows.size, N_RANKS))
        yield {
            "query_doc_ids": pair[rows] + 1,
            "positions": positions,
            "clicks": click[rows].astype(np.float32),
            "mask": np.ones((rows.size, N_RANKS), dtype=bool),
        }
