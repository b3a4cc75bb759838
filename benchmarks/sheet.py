"""A sheet of results: all rankers on three public sets, each with its default grid, against LightGBM.

    python -m benchmarks.sheet FOLDER [--folder FITS] [--hours H] [--rankers NAMES] [SET ...]

FOLDER holds the sets as ``PLACKETT_DATA`` does. Each ranker is fitted in the five published folds. NDCG@10 on the
validation queries of a fold chooses its hyperparameters, rounds and epochs; test queries choose nothing. The reference,
LightGBM with its own objective, was named before the first run: every other ranker is compared with it by a
randomisation test over the test queries of all folds, and Holm's method corrects the p-values within a set. Intervals
are bootstrap intervals over queries at 95 %. LightGBM, XGBoost and CatBoost have equal budgets: two sizes of trees, two
learning rates, at most 300 trees, and a stop after 50 trees without a better validation value; for CatBoost, whose
package gets no validation queries, these choose between 100 and 300 trees. The test scores that LETOR's baselines
published (letor-reference/score-files in FOLDER) are measured in the same way.

``--folder`` stores every fit; a later run resumes there. ``--hours`` starts no ranker after that time, and the sheet
names those that are missing. Rankers whose package is not installed are named, too.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import plackett as pk
from plackett.evaluation.compare.comparison import Comparison
from plackett.evaluation.significance import bootstrap_interval
from plackett.exceptions import ConvergenceWarning, DataWarning

REFERENCE = "lightgbm"
METRICS = ("ndcg@10", "map")
SETS = ("ohsumed", "mq2008", "clueweb09-letor")
LEVEL = 0.05

_BUDGET: dict[str, list[Any]] = {"learning_rate": [0.1, 0.03], "n_rounds": [300], "patience": [50]}
BUDGETS: dict[str, dict[str, list[Any]]] = {
    "lightgbm": {"num_leaves": [7, 31], **_BUDGET},
    "xgboost": {"max_depth": [3, 6], **_BUDGET},
    "catboost": {"depth": [3, 6], "learning_rate": [0.1, 0.03], "iterations": [100, 300]},
    "trees": {"num_leaves": [7, 31], **_BUDGET},
    "trees:lambdarank": {"num_leaves": [7, 31], **_BUDGET},
}
RANKERS = (
    *BUDGETS,
    *("listmle", "p-listmle", "cs-listmle", "listnet", "rankcosine", "ranksvm", "ranknet", "lambdarank", "regression"),
    *("adarank", "rankboost", "prank", "svm-map", "diffrank", "bl-featurerank", "featurerank"),
    *("indv-svm", "kernel-cs-listmle", "knn-svm", "qsvm", "neural"),
)
# algorithms of the published test scores, and the names of the sets in their files
OFFICIAL = ("svm_rank", "ListNet", "AdaRank", "RankBoost", "RankNet")
OFFICIAL_SETS = {"mq2008": "Mq2008", "ohsumed": "OHSUMED"}


def compared(names: Iterable[str], folds: list[pk.datasets.Fold], folder: Path) -> Comparison:
    """Return the comparison of rankers; NDCG@10 chooses hyperparameters, and fits in ``folder`` are not repeated."""
    contestants = {name: (name, BUDGETS[name]) if name in BUDGETS else name for name in names}
    return pk.compare(contestants, cv=folds, metrics=METRICS, folder=folder, progress=False)


def sheet(set_name: str, data: Path, rankers: Sequence[str], fits: Path, end: float) -> tuple[Comparison, list[str]]:
    """Return the comparison of the rankers that were fitted in time, with the official baselines, and the missing."""
    folds = pk.datasets.load_folds(set_name, data)
    done, missing = [], []
    for name in rankers:
        if name != REFERENCE and time.monotonic() > end:
            missing.append(f"{name} (no time)")
            continue
        start = time.perf_counter()
        try:
            found = compared([name], folds, fits)
        except ModuleNotFoundError as problem:
            missing.append(f"{name} ({problem})")
            continue
        if name in found.tables:
            done.append(name)
            words = f"{METRICS[0]} {found.tables[name].mean()[METRICS[0]]:.4f}"
        else:
            words = (found.failures.get(name) or found.notes or ["no result"])[0]
            missing.append(f"{name} ({words})")
        print(f"{set_name} {name}: {words}, {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    answer = compared(done, folds, fits)
    for algorithm in OFFICIAL if set_name in OFFICIAL_SETS else ():
        scores = official_scores(data, set_name, algorithm)
        if scores is not None:
            answer.tables[f"official {algorithm}"] = pk.evaluate(answer.queries, scores, metrics=METRICS)
    return answer, missing


def official_scores(data: Path, set_name: str, algorithm: str) -> np.ndarray | None:
    """Return published scores of the test queries, fold by fold; None if the files are not there."""
    home = data / "letor-reference" / "score-files"
    files = [home / f"{OFFICIAL_SETS[set_name]}.{algorithm}.fold{fold}.test.score.gz" for fold in range(1, 6)]
    if not all(file.exists() for file in files):
        return None
    return np.concatenate([np.loadtxt(file) for file in files])


def to_markdown(set_name: str, found: Comparison, missing: Sequence[str]) -> str:
    """Return the table of a set: means and differences to the reference, the best first."""
    metric, other = METRICS
    against = {pair.a: pair for pair in found.differences(metric, against=REFERENCE)}
    lines = [
        f"### {pk.datasets.info(set_name).title}\n",
        f"{len(found.queries)} test queries in {found.n_folds} folds.\n",
        f"| | NDCG@10 | interval | MAP | difference to {REFERENCE} | interval | p (Holm) | | seconds |",
        "|---|---:|---|---:|---:|---|---:|---|---:|",
    ]
    for name in found.ranked():
        mean, values = found.tables[name].mean(), found.tables[name][metric]
        seconds = f"{sum(fit.seconds for fit in found.fits[name]):.0f}" if found.fits.get(name) else ""
        cells = [f"{mean[metric]:.4f}", as_interval(bootstrap_interval(values)), f"{mean[other]:.4f}"]
        pair = against.get(name)
        if pair is None:
            cells += ["", "", "", "the reference"]
        else:
            word = "" if pair.p_random_holm > LEVEL else "above" if pair.mean > 0 else "below"
            cells += [f"{pair.mean:+.4f}", as_interval((pair.low, pair.high)), f"{pair.p_random_holm:.2g}", word]
        lines.append(f"| {name} | {' | '.join(cells)} | {seconds} |")
    signs = [np.sign(pair.mean) * (pair.p_random_holm <= LEVEL) for pair in against.values()]
    lines.append(
        f"\nOf {len(signs)}, {signs.count(1)} are significantly above {REFERENCE} and {signs.count(-1)} below; for the "
        "others the data do not decide. Seconds are those of all fits of the grid in the five folds."
    )
    if missing:
        lines.append(f"\nMissing: {', '.join(missing)}.")
    return "\n".join(lines) + "\n"


def as_interval(ends: Sequence[float]) -> str:
    return "{:.4f} to {:.4f}".format(*ends)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sheet", description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path, metavar="FOLDER", help="folder of the sets")
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"sets; default: {', '.join(SETS)}")
    parser.add_argument("--folder", type=Path, metavar="FITS", help="folder of fits, from which a run resumes")
    parser.add_argument("--hours", type=float, default=np.inf, metavar="H", help="start no ranker after this time")
    parser.add_argument("--rankers", default=",".join(RANKERS), metavar="NAMES", help="with commas; default: all")
    options = parser.parse_args(arguments)
    rankers = list(dict.fromkeys([REFERENCE, *options.rankers.split(",")]))
    end = time.monotonic() + 3600 * options.hours
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", DataWarning)
    with tempfile.TemporaryDirectory() as scratch:
        for set_name in options.sets or SETS:
            found, missing = sheet(set_name, options.data, rankers, options.folder or Path(scratch), end)
            print(to_markdown(set_name, found, missing), flush=True)


if __name__ == "__main__":
    main()
