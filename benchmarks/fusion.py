"""Fusion on DL 2019, SciFact and MQ2008-agg, and on made runs: gains, refusals, and the coverage of verdicts.

    python -m benchmarks.fusion --data FOLDER [--only made,dl2019,scifact,few,mq2008,noise,coverage,made-coverage,speed]

Prints the tables of docs/hybrid-search.md. Gain is linear and ties are those of trec_eval (``convention="trec"``) but
for MQ2008, whose published rows have LETOR's.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import importlib.util
import os
import time
import warnings
from pathlib import Path

import numpy as np

import plackett as pk
from plackett.data.trec.pool import PooledRuns
from plackett.evaluation.fusion.fuse import FUSED, RRF, fuse, gain_interval
from plackett.evaluation.fusion.learned import WeightLearner
from plackett.evaluation.fusion.methods import fused_scores
from plackett.evaluation.significance import bootstrap_interval, randomisation
from plackett.metrics.conventions import get_convention
from plackett.metrics.measure import Measure

SEEDS = range(20)
NDCG = Measure("ndcg", 10)


# --- Data -------------------------------------------------------------------------------------------------------------


def dl2019(folder: Path) -> tuple[dict[str, pk.Run], pk.Qrels]:
    """Return the 37 passage runs of the TREC 2019 deep learning track, and NIST's judgements."""
    runs = {}
    for path in sorted((folder / "trec-dl-2019" / "runs").glob("*.gz")):
        with gzip.open(path, "rt") as file:
            rows = [line.split() for line in file]
        runs[path.stem] = pk.Run([r[0] for r in rows], [r[1] for r in rows], [float(r[3]) for r in rows])
    return runs, pk.read_qrels(folder / "trec-dl-2019" / "qrels-pass.txt.gz")


def embed(texts: list[str]) -> np.ndarray:
    """Return unit vectors of texts, the means of the vectors of wordllama's tokens, read from its installed files."""
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    package = Path(importlib.util.find_spec("wordllama").submodule_search_locations[0])
    table = load_file(package / "weights" / "l2_supercat_256.safetensors")["embedding.weight"].astype(np.float32)
    tokenizer = Tokenizer.from_file(str(package / "tokenizers" / "l2_supercat_tokenizer_config.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    found = tokenizer.encode_batch(texts, add_special_tokens=False)
    vectors = np.stack([table[one.ids].mean(axis=0) if one.ids else np.zeros(table.shape[1]) for one in found])
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


def scifact(folder: Path, k: int = 1000) -> tuple[dict[str, pk.Run], dict[str, pk.Qrels]]:
    """Return our BM25 and the cosine of static embeddings on SciFact, and the judgements of its two parts."""
    root = folder / "scifact"
    with gzip.open(root / "corpus.csv.gz", "rt", newline="") as file:
        rows = list(csv.DictReader(file))
    texts = [f"{row['title']} {' '.join(json_list(row['abstract']))}" for row in rows]
    names = np.array([row["doc_id"] for row in rows])
    claims = {}
    for part in ("train", "dev"):
        with gzip.open(root / f"claims_{part}.csv.gz", "rt", newline="") as file:
            claims |= {row["id"]: row["claim"] for row in csv.DictReader(file)}
    qrels = {part: pk.read_qrels(root / f"beir-qrels.{part}.tsv") for part in ("train", "test")}
    asked = {q: claims[q] for part in qrels.values() for q in part.groups.ids.tolist()}
    bm25 = pk.text.build_index(texts, docid=names).run(asked, k=k, tag="bm25")
    cosine = embed(list(asked.values())) @ embed(texts).T
    top = np.argsort(-cosine, axis=1, kind="stable")[:, :k]
    ids = np.array(list(asked))
    dense = pk.Run(np.repeat(ids, k), names[top].reshape(-1), np.take_along_axis(cosine, top, 1).reshape(-1))
    return {"bm25": bm25, "dense": dense}, qrels


def json_list(text: str) -> list[str]:
    """Return the sentences of an abstract, which is a list as Python writes it."""
    import ast

    return ast.literal_eval(text)


def mq2008(folder: Path) -> tuple[dict[str, pk.Run], pk.Qrels]:
    """Return the 25 systems of MQ2008-agg, whose scores are negated ranks, and the judgements."""
    runs: dict[int, tuple[list, list, list]] = {system: ([], [], []) for system in range(1, 26)}
    judged: tuple[list, list, list] = ([], [], [])
    for part in range(1, 6):
        with gzip.open(folder / "letor4-mq2008-agg" / f"A{part}.txt.gz", "rt") as file:
            for line in file:
                words, _, comment = line.partition("#")
                label, qid, *cells = words.split()
                qid, docid = qid.removeprefix("qid:"), comment.split()[2]
                for values, value in zip(judged, (qid, docid, float(label)), strict=True):
                    values.append(value)
                for cell in cells:
                    system, _, rank = cell.partition(":")
                    if rank != "NULL":
                        for values, value in zip(runs[int(system)], (qid, docid, -float(rank)), strict=True):
                            values.append(value)
    return {f"s{system}": pk.Run(*rows) for system, rows in runs.items()}, pk.Qrels(*judged)


# --- Experiments ------------------------------------------------------------------------------------------------------


def over_seeds(name: str, runs, qrels, convention, baseline=None) -> None:
    """Print means over the fold assignments, and how often the fused run is significantly below the best run."""
    fused, below, gains = [], 0, []
    for seed in SEEDS:
        found = fuse(runs, qrels, baseline=baseline, convention=convention, random_state=seed)
        mean = {name: float(next(iter(own.values()))) for name, own in found.comparison.mean().items()}
        over_best = found.gains[found.best]
        below += over_best.mean < 0 and over_best.p_random <= 0.05
        fused.append(mean[FUSED])
        gains.append(found.gains[found.baseline])
    ps = [gain.p_random for gain in gains]
    print(
        f"{name}: fused {np.mean(fused):.4f} ({min(fused):.4f} to {max(fused):.4f}) over {len(fused)} assignments; "
        f"best run {found.best} {mean[found.best]:.4f}, rrf {mean[RRF]:.4f}; significantly below the best run {below} "
        f"times; gain over {found.baseline} {np.mean([gain.mean for gain in gains]):+.4f}, p {np.median(ps):.4f} "
        f"({min(ps):.4f} to {max(ps):.4f})",
        flush=True,
    )


def run_dl2019(folder: Path) -> None:
    over_seeds("DL 2019", *dl2019(folder), "trec")


def run_scifact(folder: Path) -> None:
    runs, qrels = scifact(folder)
    over_seeds("SciFact, test queries", runs, qrels["test"], "trec", "bm25")
    measure = NDCG.under(get_convention("trec"))
    test = WeightLearner(PooledRuns(runs, qrels["test"]), measure, 0)
    train = WeightLearner(PooledRuns(runs, qrels["train"]), measure, 0)
    base = test.values(test.baseline_alone)
    learned = train.fit(np.arange(train.queries.size))
    own = test.values(learned)
    p = randomisation(own, base)
    print(f"weights of 809 training queries {learned}: {own.mean():.4f}, bm25 {base.mean():.4f}, p {p:.4f}")


def run_few(folder: Path) -> None:
    """Print the gain over BM25 on SciFact's test queries of weights from ten training queries."""
    runs, qrels = scifact(folder)
    measure = NDCG.under(get_convention("trec"))
    test, train = (WeightLearner(PooledRuns(runs, qrels[part]), measure, 0) for part in ("test", "train"))
    base = test.values(test.baseline_alone)
    rng = np.random.default_rng(0)
    draws = [rng.permutation(train.queries.size)[:10] for _ in range(200)]
    for name, place in (("bm25", 0), ("dense", 1)):
        few = WeightLearner(PooledRuns(runs, qrels["train"]), measure, place)
        gains = [float((test.values(few.fit(np.sort(draw))) - base).mean()) for draw in draws]
        print(
            f"ten training queries, baseline {name}: gain over bm25 {np.mean(gains):+.4f}, 5 % quantile "
            f"{np.quantile(gains, 0.05):+.4f}, worst {min(gains):+.4f}",
            flush=True,
        )


def run_mq2008(folder: Path) -> None:
    over_seeds("MQ2008-agg", *mq2008(folder), "letor4")


def noisy(rng: np.random.Generator, n_queries: int, clean: float, noise: list[float]) -> tuple[dict, dict]:
    """Return runs whose scores are a truth plus noise, and judgements of the truth."""
    qrels, runs = {}, {f"run {place}": {} for place in range(len(noise))}
    for query in range(n_queries):
        truth = rng.normal(size=50)
        grades = np.digitize(truth + clean * rng.normal(size=50), [1.0, 1.7])
        qrels[str(query)] = {f"d{doc}": int(grade) for doc, grade in enumerate(grades)}
        for place, spread in enumerate(noise):
            values = truth + spread * rng.normal(size=50)
            runs[f"run {place}"][str(query)] = {f"d{doc}": float(value) for doc, value in enumerate(values)}
    return runs, qrels


def made_runs(seed: int, spread_a: float, spread_b: float, n_queries: int = 600) -> tuple[dict, dict]:
    """Return two runs of lists of 60 documents with one relevant one; the strengths were settled on these."""
    rng = np.random.default_rng(seed)
    runs: dict[str, dict] = {"a": {}, "b": {}}
    qrels = {}
    for query in range(n_queries):
        truth, relevant = np.zeros(60), rng.choice(60)
        truth[relevant] = rng.uniform(0.5, 5)
        noise = [spread * rng.normal(size=60) for spread in (spread_a, spread_b)]
        for name, scores in (("a", np.exp((truth + noise[0]) / 2)), ("b", 1 / (1 + np.exp(-truth - noise[1])))):
            runs[name][str(query)] = {f"d{doc}": float(scores[doc]) for doc in np.argsort(-scores)[:30]}
        qrels[str(query)] = {f"d{relevant}": 1}
    return runs, qrels


def run_made(_: Path) -> None:
    """Print the gain of weights learned from few and many queries of made runs."""
    for name, spreads in (
        ("a far better", (1.0, 2.6)),
        ("a much better", (1.0, 1.9)),
        ("a better", (1.0, 1.5)),
        ("similar", (1.2, 1.3)),
    ):
        gains: dict[int, list[float]] = {10: [], 40: [], 240: []}
        for seed in range(4):
            runs, qrels = made_runs(seed, *spreads)
            pool = PooledRuns({key: pk.Run.from_dict(run) for key, run in runs.items()}, pk.Qrels.from_dict(qrels))
            learner, rng = WeightLearner(pool, NDCG.under(get_convention("trec")), 0), np.random.default_rng(seed)
            base = learner.values(learner.baseline_alone)
            for size, n_draws in ((10, 60), (40, 20), (240, 6)):
                for _draw in range(n_draws):
                    order = rng.permutation(learner.queries.size)
                    own = learner.values(learner.fit(np.sort(order[:size]))) - base
                    gains[size].append(float(own[order[size:]].mean()))
        shown = ", ".join(
            f"{size} queries {np.mean(found):+.4f} (5 % quantile {np.quantile(found, 0.05):+.4f})"
            for size, found in gains.items()
        )
        print(f"made runs, {name}: {shown}", flush=True)


def run_noise(_: Path) -> None:
    for name, noise in (("clean run and four noisy copies", [0.0, *[1.0] * 4]), ("five noisy copies", [1.0] * 5)):
        pays = [fuse(*noisy(np.random.default_rng(seed), 60, 0.3, noise)).pays for seed in range(100)]
        print(f"{name}: fuses in {sum(map(bool, pays))} of {len(pays)} sets", flush=True)


def print_coverage(name: str, learner: WeightLearner, size: int, n_splits: int) -> None:
    """Print how often 95 % intervals of the gain hold the mean gain of the weights on all other queries.

    Weights are learned from ``size`` queries. Their gain is measured on as many others ("fixed"), or out of fold on the
    same ones, by the intervals of the folds alone and by those of ``fuse``. "Error added" widens them by the standard
    error of the mean over the other queries, which is not theirs.
    """
    base, n, rng = learner.values(learner.baseline_alone), learner.queries.size, np.random.default_rng(0)
    counts: dict[str, list[bool]] = {}
    for _ in range(n_splits):
        order = rng.permutation(n)
        train, verdict, rest = np.sort(order[:size]), order[size : 2 * size], order[2 * size :]
        gains = learner.values(learner.fit(train)) - base
        fold, held_out = rng.permutation(np.arange(size) % 5), np.empty(size)
        for number in range(5):
            out = fold == number
            held_out[out] = learner.values(learner.fit(train[~out]), train[out]) - base[train[out]]
        truth, stretch = gains[rest].mean(), np.sqrt(1 + size / rest.size)
        for kind, own, (low, high) in (
            ("fixed", gains[verdict], bootstrap_interval(gains[verdict])),
            ("folds alone", held_out, bootstrap_interval(held_out)),
            ("fuse", held_out, gain_interval(held_out, gains[train])),
        ):
            middle = own.mean()
            counts.setdefault(kind, []).append(low <= truth <= high)
            is_held = middle - stretch * (middle - low) <= truth <= middle + stretch * (high - middle)
            counts.setdefault(f"{kind}, error added", []).append(is_held)
    shares = ", ".join(f"{kind} {np.mean(is_held):.3f}" for kind, is_held in counts.items())
    print(f"coverage, {name}, {size} queries, {n_splits:,} splits: {shares}", flush=True)


def run_coverage(folder: Path) -> None:
    learner = WeightLearner(PooledRuns(*mq2008(folder)), NDCG.under(get_convention("letor4")), 0)
    print_coverage("MQ2008-agg", learner, 150, 1000)


def run_made_coverage(_: Path) -> None:
    """Print the coverage on made runs, by which the intervals of ``fuse`` were chosen."""
    for name, (runs, qrels) in {
        "a much better": made_runs(0, 1.0, 1.9, 2000),
        "a better": made_runs(1, 1.0, 1.5, 2000),
        "similar": made_runs(2, 1.2, 1.3, 2000),
        "better and worse copies": noisy(np.random.default_rng(4), 2000, 0.3, [0.6, 1.0, 1.0, 2.0]),
    }.items():
        pool = PooledRuns({key: pk.Run.from_dict(run) for key, run in runs.items()}, pk.Qrels.from_dict(qrels))
        learner = WeightLearner(pool, NDCG.under(get_convention("trec")), 0)
        for size in (40, 150):
            print_coverage(name, learner, size, 120)


def run_speed(_: Path) -> None:
    """Print the time to fuse 5 runs of 1,000 documents for 1,000 queries, and ranx's, on one thread each."""
    os.environ["NUMBA_NUM_THREADS"] = "1"
    import ranx

    rng, found = np.random.default_rng(0), []
    for _run in range(5):
        docs = [np.char.add("doc", rng.choice(3000, 1000, replace=False).astype(str)) for _ in range(1000)]
        found.append(
            {f"q{q}": dict(zip(own.tolist(), rng.random(1000).tolist(), strict=True)) for q, own in enumerate(docs)}
        )
    ours = {f"r{place}": pk.Run.from_dict(run) for place, run in enumerate(found)}
    theirs = [ranx.Run(run, name=f"r{place}") for place, run in enumerate(found)]
    small = [ranx.Run(dict(list(run.items())[:2])) for run in found]
    for method in ("rrf", "combsum"):
        name, norm = {"rrf": ("rrf", None), "combsum": ("sum", "min-max")}[method]
        ranx.fuse(runs=small, norm=norm, method=name)
        PooledRuns(ours)  # the warm-up of ours, which groups the rows of the runs
        times = []
        for _repeat in range(3):
            start = time.process_time()
            pool = PooledRuns(ours)
            pooled = time.process_time()
            pool.run_of(fused_scores(pool, method), "fused")
            times.append((time.process_time() - start, time.process_time() - pooled))
        start = time.process_time()
        ranx.fuse(runs=theirs, norm=norm, method=name)
        other = time.process_time() - start
        whole, of_codes = min(times)
        print(
            f"{method}: {whole:.2f} s ({of_codes:.2f} s after pooling), ranx {other:.2f} s: {other / whole:.1f} times"
        )


EXPERIMENTS = {
    "made": run_made,
    "dl2019": run_dl2019,
    "scifact": run_scifact,
    "few": run_few,
    "mq2008": run_mq2008,
    "noise": run_noise,
    "coverage": run_coverage,
    "made-coverage": run_made_coverage,
    "speed": run_speed,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("PLACKETT_DATA", "shared/data")))
    parser.add_argument("--only", default=",".join(EXPERIMENTS))
    options = parser.parse_args()
    warnings.simplefilter("ignore", pk.exceptions.DataWarning)
    for name in options.only.split(","):
        EXPERIMENTS[name](options.data)


if __name__ == "__main__":
    main()
