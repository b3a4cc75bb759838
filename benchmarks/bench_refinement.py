"""Measure the refinement of one query, also against numpy with matrices over pairs and on a very long list.

Also measures personality diagnosis of all users for all items.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

import plackett as pk
from benchmarks.timing import Result
from benchmarks.turns import best_in_turns, judged

N_FEATURES = 44
N_JUDGED = 10
ETA = 0.02
MANY = 100  # rounds of the short list
LONG = 100_000
N_USERS, N_ITEMS, N_RATINGS = 943, 1_682, 100_000  # as in MovieLens 100k

# A small fit runs first, so that imports do not count; the peak of the process is that of the second fit.
CHILD = """
import sys
import plackett as pk
from benchmarks.bench_refinement import _made

def bytes_of(field):
    with open("/proc/self/status") as status:
        return 1024 * next(int(line.split()[1]) for line in status if line.startswith(field))

for n_docs in (1_000, int(sys.argv[1])):
    X, labels, base = _made(n_docs)
    before = bytes_of("VmRSS")
    pk.MultiplicativeRefiner(n_rounds=5).fit(X, labels, base_score=base)
print(bytes_of("VmHWM") - before)
"""


def run() -> list[Result]:
    short, long = _made(1_000), _made(LONG)
    return [_allowed(short, MANY, 0.020), _against_numpy(short), _allowed(long, 50, 3.0), *_memory(), _ratings()]


def _made(n_docs: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features of one list, labels of the first documents of the base ranker (NaN: not judged), base scores."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_docs, N_FEATURES))
    truth = X[:, :8].sum(axis=1) / np.sqrt(8.0)
    base = truth + 1.5 * rng.normal(size=n_docs)
    labels = np.full(n_docs, np.nan)
    first = np.argsort(-base)[:N_JUDGED]
    labels[first] = truth[first] > np.median(truth[first])
    return X, labels, base


def _allowed(made: tuple[np.ndarray, np.ndarray, np.ndarray], n_rounds: int, seconds: float) -> Result:
    """Measure a whole fit, with sorts and checks. One query is one block, so that it uses one core."""
    X, labels, base = made
    refiner = pk.MultiplicativeRefiner(n_rounds=n_rounds, eta=ETA)
    best = best_in_turns({"ours": lambda: refiner.fit(X, labels, base_score=base)}, rounds=10 if seconds < 1.0 else 2)
    what = f"MultiplicativeRefiner, {n_rounds} rounds; {X.shape[0]:,} × {N_FEATURES}, {N_JUDGED} judged"
    note = f"{refiner.steps_.size} rounds; one core"
    return judged(Result(what, best["ours"], "allowed", seconds, 1, note))


def _against_numpy(made: tuple[np.ndarray, np.ndarray, np.ndarray]) -> Result:
    """Compare whole fits; both choose the same features with the same weights."""
    X, labels, base = made
    refiner = pk.MultiplicativeRefiner(n_rounds=MANY, eta=ETA).fit(X, labels, base_score=base)
    features, alphas = _refine_in_numpy(X, labels, base, MANY)
    assert features == refiner.steps_["feature"].tolist()
    np.testing.assert_allclose(alphas, refiner.steps_["weight"], rtol=1e-6)
    best = best_in_turns(
        {
            "ours": lambda: refiner.fit(X, labels, base_score=base),
            "numpy": lambda: _refine_in_numpy(X, labels, base, MANY),
        },
        rounds=1,
    )
    what = f"MultiplicativeRefiner, {MANY} rounds; {X.shape[0]:,} × {N_FEATURES}, {N_JUDGED} judged"
    return judged(Result(what, best["ours"], "numpy", best["numpy"], 50, "matrices over pairs"))


def _refine_in_numpy(
    X: np.ndarray, labels: np.ndarray, base: np.ndarray, n_rounds: int
) -> tuple[list[int], list[float]]:
    """Run the rounds as in the paper, with n × n matrices, without loops over documents, pairs or thresholds."""
    confidence = 1.0 / np.sort(base)[-10:].std()
    W = 1.0 / (1.0 + np.exp(-confidence * (base[:, None] - base)))
    T = np.where(labels[:, None] > labels, 1.0 - ETA / 2, ETA / 2)
    order = np.argsort(X, axis=0)
    F = np.zeros(base.size)
    features, alphas = [], []
    for _ in range(n_rounds):
        E = np.exp(F - F[:, None])
        by_base, by_feedback = W * E, T * E
        weights = by_base / by_base.sum() + by_feedback / by_feedback.sum()
        pulls = weights.sum(axis=1) - weights.sum(axis=0)
        below = np.cumsum(pulls[order], axis=0)[:-1]  # sums of the pulls up to each threshold; all pulls sum to 0
        place, feature = np.unravel_index(np.argmax(np.abs(below)), below.shape)
        is_chosen = np.zeros(base.size, dtype=bool)
        is_chosen[order[: place + 1, feature]] = True
        if below[place, feature] < 0:
            is_chosen = ~is_chosen
        right, wrong = weights[is_chosen][:, ~is_chosen].sum(), weights[~is_chosen][:, is_chosen].sum()
        alphas.append(0.5 * np.log(right / wrong))
        features.append(int(feature))
        F[is_chosen] += alphas[-1]
    return features, alphas


def _memory() -> list[Result]:
    """Check that the memory per document does not grow with the list, as it would with matrices over pairs."""
    if not Path("/proc/self/status").exists():
        print("memory: skipped, this system has no /proc", file=sys.stderr)
        return []
    per_doc = {}
    for n_docs in (LONG // 2, LONG):
        command = [sys.executable, "-c", CHILD, str(n_docs)]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        per_doc[n_docs] = int(output) / n_docs
    of_x = 8 * N_FEATURES
    note = f"in addition to X, which has {of_x}; rounds add nothing"
    what = f"MultiplicativeRefiner, memory, {LONG:,} × {N_FEATURES}"
    half = LONG // 2
    return [judged(Result(what, per_doc[LONG], f"{half:,} documents", per_doc[half], 0.9, note, "bytes per document"))]


def _ratings() -> Result:
    """Measure expected ratings of all users for all items, from skewed synthetic ratings."""
    rng = np.random.default_rng(0)
    share = rng.pareto(1.5, N_USERS)[:, None] * rng.pareto(1.0, N_ITEMS)
    places = np.argpartition(-share * rng.random(share.shape), N_RATINGS, axis=None)[:N_RATINGS]
    table = np.full(share.shape, np.nan)
    table.flat[places] = rng.integers(1, 6, N_RATINGS)
    model = pk.PersonalityDiagnosis()
    best = best_in_turns({"ours": lambda: model.fit(table).predict()}, rounds=2)
    what = f"PersonalityDiagnosis, {N_USERS} users × {N_ITEMS:,} items, {N_RATINGS:,} ratings"
    return judged(Result(what, best["ours"], "allowed", 3.0, 1, "fit, and predictions for all"))
