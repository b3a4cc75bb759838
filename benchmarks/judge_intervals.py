"""Choose the interval of corrected means by simulation on made data: python -m benchmarks.judge_intervals.

Values by people and by a model are made in four shapes (normal, skewed, half of the differences exactly 0, values of a
measure cut at 0 and 1) with four strengths of the model, for 10, 20 and 40 human queries and both estimands. The rule,
fixed before the run: among the intervals that are in no cell wider than 1.5 times people's interval by Student's t, the
one with the smallest mean shortfall of its coverage below .95, over all cells with people alone and with the model.
"""

from __future__ import annotations

import argparse
import itertools

import numpy as np
from scipy.special import stdtrit

from plackett._tables import Column, Table
from plackett.evaluation.judges.estimates import LEAST_SPREAD, LIKE_THESE, N_DRAWS, THIS_SET, Sample, moments

SHAPES = ("normal", "skewed", "zeros", "bounded")
STRENGTHS = (0.0, 0.4, 0.7, 0.9)
SIZES = (10, 20, 40)
OTHERS = {LIKE_THESE: (40, 400), THIS_SET: (3, 40, 400)}  # queries that only the model judged
WIDEST = 1.5
KINDS = (
    "Student's t",
    "jackknife",
    "bootstrap-t",
    "symmetric bootstrap-t",
    "symmetric, errors at least half",
    "symmetric, errors and spread at least half",
)


def made(shape: str, strength: float, size: tuple[int, int], rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return values by people and by a model."""
    z = rng.standard_normal(size)
    e = strength * z + np.sqrt(1 - strength**2) * rng.standard_normal(size)
    if shape == "normal":
        return 0.05 + 0.2 * z, 0.1 + 0.15 * e
    if shape == "skewed":
        return 0.1 * np.exp(0.8 * z) - 0.1, 0.1 * np.exp(0.8 * e) - 0.05
    if shape == "zeros":  # differences of runs that are equal on many queries
        is_equal = rng.random(size) < 0.5
        is_known = is_equal & (rng.random(size) < 0.8)
        return np.where(is_equal, 0, 0.02 + 0.12 * z * abs(z)), np.where(is_known, 0, 0.12 * e * abs(e))
    return np.clip(0.6 + 0.35 * z, 0, 1), np.clip(0.75 + 0.25 * e, 0, 1)


def intervals(sample: Sample, estimand: str, weight: float | None) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the ends of each kind of interval, by column."""
    n, rest = sample.people.shape[0], sample.others.shape[0]
    centre = sample.people.mean(axis=0), sample.model.mean(axis=0)
    y, f = sample.people - centre[0], sample.model - centre[1]
    found = moments(np.ones((1, n)), y, f, sample, estimand, weight)
    slope, error = found.weight[0], found.error[0]
    mean = centre[0] + slope * (sample.model_mean - centre[1])
    free = n - 1 if weight is not None else n - 2
    answer = {KINDS[0]: (mean - stdtrit(free, 0.975) * error, mean + stdtrit(free, 0.975) * error)}
    square = (f**2).sum(axis=0)
    leverage = 1 / n + (np.where(square > 0, f**2 / np.where(square > 0, square, 1), 0) if weight is None else 0)
    residual = (y - slope * f) / (1 - np.minimum(leverage, 0.9))
    variance = (residual**2).sum(axis=0) / n * (n - 1) / n * (rest / sample.size) / n
    if estimand == LIKE_THESE:
        variance = variance + y.var(axis=0, ddof=1) / sample.size
    half = stdtrit(n - 1, 0.975) * np.sqrt(variance)
    answer[KINDS[1]] = mean - half, mean + half
    rng = np.random.default_rng(0)
    draws = rng.multinomial(n, np.full(n, 1 / n), size=N_DRAWS).astype(float)
    every = draws + rng.multinomial(rest, np.full(n, 1 / n), size=N_DRAWS)
    truth = every @ y / sample.size if estimand == THIS_SET else 0.0
    error = np.maximum(error, 1e-12)  # samples in which nothing differs
    spread = LEAST_SPREAD**2 * (f**2).mean(axis=0)
    for kinds, least in ((KINDS[2:5], 0.0), (KINDS[5:], spread)):
        drawn = moments(draws, y, f, sample, estimand, weight, least)
        errors = drawn.people + drawn.weight * (every @ f / sample.size - drawn.model) - truth
        for kind in kinds:
            least_error = LEAST_SPREAD if "least" in kind else 1e-3  # of resamples in which nothing differs
            t = errors / np.maximum(drawn.error, least_error * error)
            low, high = np.quantile(t, [0.025, 0.975], axis=0)
            if "symmetric" in kind:
                high = np.quantile(np.abs(t), 0.95, axis=0)
                low = -high
            answer[kind] = mean - high * error, mean - low * error
    return answer


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", type=int, default=400, help="samples of each cell")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    n_samples, rng = options.n, np.random.default_rng(options.seed)
    # by kind and use of the model: human queries, coverage, width
    found: dict[tuple[str, bool], list[tuple[int, float, float]]] = {}
    settings = [(estimand, rest) for estimand, sizes in OTHERS.items() for rest in sizes]
    for shape, strength, n, (estimand, rest) in itertools.product(SHAPES, STRENGTHS, SIZES, settings):
        people, model = made(shape, strength, (n + rest, n_samples), rng)
        truth = people.mean(axis=0)
        if estimand == LIKE_THESE:
            truth = made(shape, strength, (2_000_000, 1), np.random.default_rng(1))[0].mean()
        sample = Sample.at_random(people[:n], model[:n], model[n:])
        alone = intervals(sample, estimand, 0.0)
        standard = np.mean(alone[KINDS[0]][1] - alone[KINDS[0]][0])
        for with_model, ends in ((False, alone), (True, intervals(sample, estimand, None))):
            for kind, (low, high) in ends.items():
                coverage = np.mean((low <= truth) & (truth <= high))
                found.setdefault((kind, with_model), []).append((n, coverage, np.mean(high - low) / standard))
    columns = [Column("interval", "text"), Column("human queries", digits=0)]
    words = ("coverage", "least", "width", "widest")
    columns += [Column(f"{what}{who}", digits=3) for who in ("", " with the model") for what in words]
    rows, shortfall, widest = [], {}, {}
    for kind in KINDS:
        every = np.array([found[kind, with_model] for with_model in (False, True)])
        shortfall[kind], widest[kind] = np.maximum(0.95 - every[:, :, 1], 0).mean(), every[:, :, 2].max()
        for n in SIZES:
            row: list = [kind, n]
            for part in every:
                own = part[part[:, 0] == n]
                row += [own[:, 1].mean(), own[:, 1].min(), own[:, 2].mean(), own[:, 2].max()]
            rows.append(row)
    print(Table(columns, rows).to_markdown())
    for kind in KINDS:
        print(f"{kind}: mean shortfall {shortfall[kind]:.4f}, widest {widest[kind]:.2f}")
    print("chosen:", min((kind for kind in KINDS if widest[kind] <= WIDEST), key=lambda kind: shortfall[kind]))


if __name__ == "__main__":
    main()
