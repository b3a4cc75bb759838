"""Language models as judges on DL 2019: agreement, coverage and width of corrected intervals, and what to judge next.

    python -m benchmarks.judges --data FOLDER [--only agreement,coverage,next,speed]

Prints the tables of docs/judges.md. The 60 pairs of runs are drawn by a fixed seed among those that differ on at least
half of the 43 queries. *Queries like these*: the 43 are the population, of which human queries and 400 of the model
are drawn with replacement. *This set*: human queries are drawn without replacement. 1,000 resamplings of each.
"""

from __future__ import annotations

import argparse
import itertools
import time
from pathlib import Path

import numpy as np
from scipy.special import stdtrit
from sklearn.metrics import cohen_kappa_score

from benchmarks.fusion import dl2019
from plackett._tables import Column, Table
from plackett.evaluation import judge_agreement
from plackett.evaluation.betting import FRACTIONS
from plackett.evaluation.evaluate import evaluate
from plackett.evaluation.judges import estimates
from plackett.evaluation.judges.estimates import LIKE_THESE, THIS_SET, Sample, corrected_means
from plackett.evaluation.judges.labels import read_labels, values_of
from plackett.evaluation.judges.next_queries import log_capitals

N_PAIRS, N_SAMPLES, N_MODEL, SIZES = 60, 1000, 400, (20, 40)
BAR = float(np.log(2 / 0.05))
BINS = (0.0, 0.02, 0.05, 0.1, 0.2, 1.0)


def judges(folder: Path) -> dict[str, Path]:
    """Return the files of labels of DL 2019 by a short name."""
    found = sorted((folder / "trec-dl-2019" / "llm-labels").glob("*.gz"))
    return {
        path.name.removesuffix(".txt.gz").replace("dl2019_", "").replace("_relavance_qrel", ""): path for path in found
    }


def values(folder: Path) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return NDCG@10 by run and query, by people and by each judge."""
    runs, qrels = dl2019(folder)
    queries = qrels.groups.ids.tolist()
    every = {name: read_labels(path).to_qrels() for name, path in judges(folder).items()}
    found = {name: values_of(evaluate, one, runs, queries, metrics=["ndcg@10"])[:, :, 0] for name, one in every.items()}
    return values_of(evaluate, qrels, runs, queries, metrics=["ndcg@10"])[:, :, 0], found


def drawn_pairs(people: np.ndarray) -> list[tuple[int, int]]:
    every = [(a, b) for a in range(len(people)) for b in range(a)]
    differing = [(a, b) for a, b in every if np.mean(np.abs(people[a] - people[b]) > 1e-12) >= 0.5]
    chosen = np.random.default_rng(0).choice(len(differing), N_PAIRS, replace=False)
    return [differing[place] for place in sorted(chosen.tolist())]


def show(columns: list[Column], rows: list[list]) -> None:
    print(Table(columns, rows).to_markdown())


# --- Agreement --------------------------------------------------------------------------------------------------------


def agreement(folder: Path) -> None:
    runs, _ = dl2019(folder)
    found = judge_agreement(folder / "trec-dl-2019" / "qrels-pass.txt.gz", judges(folder), runs=runs)
    print(f"{found.tables()[0].to_markdown()}\n{found.tables()[3].to_markdown()}")
    folder = folder / "llmjudge-2024"
    files = {path.name: path for path in sorted((folder / "submissions").glob("*.gz"))}
    other = judge_agreement(folder / "human" / "llmjudge_test_qrel_idx.txt.gz", files)
    worst = 0.0
    for one in (found, other):
        for name, matched in one.matched.items():
            grades = range(one.scale.size)
            expected = cohen_kappa_score(matched.people, matched.model, labels=grades)
            worst = max(worst, abs(expected - one.kappa[name].value))
    n_files = len(found.matched) + len(other.matched)
    print(f"kappa of {n_files} files differs from scikit-learn's by at most {worst:.1e}")
    print("\n".join(other.notes))


# --- Coverage ---------------------------------------------------------------------------------------------------------


def coverage(folder: Path) -> None:
    people, every = values(folder)
    estimates.N_DRAWS = 499  # of each of the 1.7 million intervals
    pairs = drawn_pairs(people)
    cells: list[tuple] = []  # estimand, n, judge, pair, coverage, of people, width, of people
    alone: dict[str, list[float]] = {name: [] for name in every}  # intervals by the model's labels alone
    n_queries = people.shape[1]
    for pair, (a, b) in enumerate(pairs):
        y, truth = people[a] - people[b], float(np.mean(people[a] - people[b]))
        for n in SIZES:
            rng = np.random.default_rng([pair, n])
            with_replacement = rng.integers(n_queries, size=(n + N_MODEL, N_SAMPLES))
            without = np.argsort(rng.random((n_queries, N_SAMPLES)), axis=0)
            for estimand, drawn in ((LIKE_THESE, with_replacement), (THIS_SET, without)):
                own = None
                for name, model in every.items():
                    f = model[a] - model[b]
                    sample = Sample.at_random(y[drawn[:n]], f[drawn[:n]], f[drawn[n:]])
                    if own is None:
                        own = _covered(corrected_means(sample, estimand=estimand, weight=0.0), truth)
                    found = _covered(corrected_means(sample, estimand=estimand), truth)
                    cells.append((estimand, n, name, (a, b), *found, *own))
                    if estimand == LIKE_THESE and n == 40:
                        mean, error = f[drawn[n:]].mean(axis=0), f[drawn[n:]].std(axis=0, ddof=1) / N_MODEL**0.5
                        alone[name].append(float(np.mean(np.abs(mean - truth) <= stdtrit(N_MODEL - 1, 0.975) * error)))
    columns = [Column("estimand", "text"), Column("human queries", digits=0), Column("judge", "text")]
    columns += [Column(name, digits=3) for name in ("coverage", "people alone", "width of people's", "cells below .90")]
    for estimand in (LIKE_THESE, THIS_SET):
        for n in SIZES:
            rows = []
            for judge in [*every, None]:
                own = [cell for cell in cells if cell[:2] == (estimand, n) and judge in (None, cell[2])]
                mean, of_people, width, of_width = (np.array([cell[k] for cell in own]) for k in (4, 6, 5, 7))
                low = int((mean < 0.9).sum())
                rows.append(
                    [estimand, n, judge or "mean", mean.mean(), of_people.mean(), width.mean() / of_width.mean(), low]
                )
            show(columns, rows)
    print("cells below .90 (coverage, of people alone):")
    for estimand, n, judge, pair, mean, _, of_people, _ in sorted(cells, key=lambda cell: cell[4]):
        if mean < 0.9:
            print(f"{estimand}, {n}, {judge}, {pair}: {mean:.3f}, {of_people:.3f}")
    print(
        "by the model's labels of 400 queries alone:",
        {name: round(float(np.mean(own)), 3) for name, own in alone.items()},
    )


def _covered(found: estimates.Estimates, truth: float) -> tuple[float, float]:
    inside = (found.low <= truth + 1e-12) & (found.high >= truth - 1e-12)
    return float(np.mean(inside)), float(np.mean(found.high - found.low))


# --- What to judge next -----------------------------------------------------------------------------------------------


def next_queries(folder: Path) -> None:
    people, every = values(folder)
    model = every["test_4prompts_llama70b"]
    size, n_orders, rows, null = people.shape[1], 200, [], []
    for pair, (a, b) in enumerate(drawn_pairs(people)):
        gaps, hopes = people[a] - people[b], model[a] - model[b]
        rng = np.random.default_rng([1, pair])
        orders = np.argsort(rng.random((n_orders, size)), axis=1)
        by_hopes = np.argsort(-hopes)[None]
        truth = np.sign(gaps.sum())
        ways = [_decided(gaps[orders]), _decided(gaps[orders], hopes[orders]), _decided(gaps[by_hopes])]
        rows.append(
            [
                abs(gaps.mean()),
                *(part for when, sign in ways for part in (np.mean(when) / size, np.mean(sign * truth < 0))),
            ]
        )
        centred = gaps - gaps.mean()
        if np.abs(centred).max() <= 1:
            null.append([np.mean(sign != 0) for _, sign in (_decided(centred[orders]), _decided(centred[by_hopes]))])
    found = np.array(rows)
    table = []
    for low, high in itertools.pairwise(BINS):
        own = found[(found[:, 0] >= low) & (found[:, 0] < high)]
        table.append([f"{low:g} to {high:g}", len(own), *own[:, [1, 3]].mean(axis=0)])
    table.append(["all", len(found), *found[:, [1, 3]].mean(axis=0)])
    columns = [Column("difference", "text"), Column("pairs", digits=0), Column("queries used", digits=2)]
    show([*columns, Column("with the model's help", digits=2)], table)
    wrong = np.mean(null, axis=0)
    print(f"wrong verdicts: {found[:, 2].mean():.4f} of real pairs; {wrong[0]:.4f} of pairs without a difference, "
          f"{wrong[1]:.3f} in an order by the model's hopes; real pairs by hopes {found[:, 6].mean():.3f}")  # fmt: skip


def _decided(gaps: np.ndarray, hopes: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return after how many queries each order is decided, and the sign by then; 0 if only all of them decide."""
    size = gaps.shape[1]
    over = [
        (log_capitals(side * gaps, 0.0, size=size) if hopes is None else _helped(side * gaps, side * hopes))[:, :-1]
        >= BAR
        for side in (1, -1)
    ]
    first = [np.where(one.any(axis=1), one.argmax(axis=1) + 1, size) for one in over]
    return np.minimum(*first), np.where(first[0] < first[1], 1, np.where(first[1] < first[0], -1, 0))


def _helped(gaps: np.ndarray, hopes: np.ndarray) -> np.ndarray:
    """Return the capital of bets on gaps less a multiple of the model's, whose mean over the others is known."""
    n = gaps.shape[1]
    left = np.arange(n, 0, -1)
    before, rest = (
        np.cumsum(gaps, axis=1) - gaps,
        (hopes.sum(axis=1, keepdims=True) - np.cumsum(hopes, axis=1) + hopes) / left,
    )
    shared = np.cumsum(gaps * hopes, axis=1) - gaps * hopes
    slope = np.where(
        np.arange(n) < 5, 0.5, np.clip(shared / np.maximum(np.cumsum(hopes**2, axis=1) - hopes**2, 1e-9), 0, 1.5)
    )
    largest = np.maximum.accumulate(hopes[:, ::-1], axis=1)[:, ::-1]
    bound = 1 + np.maximum(slope * (largest - rest), 0)
    mean = -before / left
    total = np.full(gaps.shape, -np.inf)
    for fraction in FRACTIONS:
        factors = 1 - fraction + fraction * (bound + gaps - slope * (hopes - rest)) / np.maximum(bound + mean, 1e-12)
        steps = np.where(mean <= -1, np.inf, np.log(np.maximum(factors, 1e-300)))
        np.logaddexp(total, np.cumsum(steps, axis=1), out=total)
    return total - np.log(FRACTIONS.size)


# --- Speed ------------------------------------------------------------------------------------------------------------


def speed(folder: Path) -> None:
    dl2019(folder)
    start = time.perf_counter()
    people, every = values(folder)
    first, second = np.triu_indices(len(people), 1)
    is_human = np.arange(people.shape[1]) < 20
    y = np.concatenate([people, people[first] - people[second]]).T
    for model in every.values():
        f = np.concatenate([model, model[first] - model[second]]).T
        corrected_means(Sample.at_random(y[is_human], f[is_human], f[~is_human]))
    print(
        f"{len(people)} runs, {len(every)} judges, {first.size} pairs: {time.perf_counter() - start:.1f} s with reading"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", default="agreement,coverage,next,speed")
    options = parser.parse_args()
    parts = {"agreement": agreement, "coverage": coverage, "next": next_queries, "speed": speed}
    for name in options.only.split(","):
        print(f"## {name}", flush=True)
        parts[name](options.data)


if __name__ == "__main__":
    main()
