"""Name what became slower between two runs of ``make bench``: ``python -m benchmarks.changes OLD.json NEW.json``.

Times are compared as logarithms. In runs of one session (``python -m benchmarks.against OTHER --output FOLDER``) the
turns of both were measured alternately and are compared in pairs: signs of the differences are flipped. Other runs are
compared by each time over the reference workload measured beside it, and turns are exchanged between the runs. p-values
are exact for few turns, and corrected over all cases (Holm). A case is slower if p ≤ 0.05 and it takes at least 3 %
more time. The exit status is 1 if a case is slower, and 2 if the files do not allow a comparison.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import math
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.tracking import read_run

LEVEL = 0.05
LEAST = 0.03  # smaller changes are not named
DRAWS = 20_000
SLOWER, FASTER, SAME = "slower", "faster", "within the noise"


@dataclass(frozen=True)
class Change:
    """The change of a case: new time over old, its 95 % interval (bootstrap), the corrected p-value and the verdict."""

    case: str
    ratio: float
    low: float
    high: float
    p: float
    verdict: str


def compare(old: dict[str, Any], new: dict[str, Any]) -> list[Change]:
    """Return the change of each case of both runs, the largest slowdown first."""
    is_paired = old["session"] == new["session"]
    rng = np.random.default_rng(0)
    names = _shared(old, new)
    rows = []
    for name in names:
        before, after = (_logs(run["cases"][name], is_paired) for run in (old, new))
        if is_paired and before.size != after.size:
            raise ValueError(f"{name}: runs of one session have as many turns, not {before.size} and {after.size}.")
        test, resample = (_paired_p, _paired_means) if is_paired else (_exchanged_p, _means)
        low, high = np.quantile(resample(before, after, rng), [0.025, 0.975])
        rows.append((name, after.mean() - before.mean(), low, high, test(before, after, rng)))
    corrected = holm([row[4] for row in rows])
    changes = [
        Change(name, math.exp(shift), math.exp(low), math.exp(high), p, _verdict(shift, p))
        for (name, shift, low, high, _), p in zip(rows, corrected, strict=True)
    ]
    return sorted(changes, key=lambda change: -change.ratio)


def _logs(times: dict[str, list[float]], is_paired: bool) -> np.ndarray:
    seconds = np.log(times["seconds"])
    return seconds if is_paired else seconds - np.log(times["reference"])


def _verdict(shift: float, p: float) -> str:
    if p > LEVEL or abs(shift) < math.log1p(LEAST):
        return SAME
    return SLOWER if shift > 0 else FASTER


def holm(p: list[float]) -> list[float]:
    """Return p-values corrected for their number: the smallest times n, the next times n - 1, and so on."""
    answer, largest = [0.0] * len(p), 0.0
    for place, index in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        largest = max(largest, min(1.0, (len(p) - place) * p[index]))
        answer[index] = largest
    return answer


def _paired_p(before: np.ndarray, after: np.ndarray, rng: np.random.Generator) -> float:
    """Return the two-sided p-value of the mean difference, over signs of the differences."""
    differences = after - before
    n = differences.size
    if 2**n <= DRAWS:
        signs = np.array(list(itertools.product((1, -1), repeat=n)))
        return _share(signs @ differences, differences.sum(), is_exact=True)
    return _share(rng.choice((1, -1), (DRAWS, n)) @ differences, differences.sum(), is_exact=False)


def _exchanged_p(before: np.ndarray, after: np.ndarray, rng: np.random.Generator) -> float:
    """Return the two-sided p-value of the difference of means, over turns exchanged between the runs."""
    both, n = np.concatenate([before, after]), after.size
    centred = both - both.mean()
    observed = centred[before.size :].sum()
    if math.comb(both.size, n) <= DRAWS:
        return _share(centred[_choices(both.size, n)].sum(axis=1), observed, is_exact=True)
    drawn = rng.permuted(np.tile(centred, (DRAWS, 1)), axis=1)[:, :n]
    return _share(drawn.sum(axis=1), observed, is_exact=False)


@functools.cache
def _choices(n: int, k: int) -> np.ndarray:
    return np.array(list(itertools.combinations(range(n), k)))


def _share(values: np.ndarray, observed: float, *, is_exact: bool) -> float:
    n_extreme = int(np.sum(np.abs(values) >= abs(observed) - 1e-12))
    return n_extreme / values.size if is_exact else (n_extreme + 1) / (values.size + 1)


def _paired_means(before: np.ndarray, after: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    differences = after - before
    return differences[rng.integers(0, differences.size, (2_000, differences.size))].mean(axis=1)


def _means(before: np.ndarray, after: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    drawn = [values[rng.integers(0, values.size, (2_000, values.size))].mean(axis=1) for values in (before, after)]
    return drawn[1] - drawn[0]


# --- Text -------------------------------------------------------------------------------------------------------------


def remarks(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Return what limits the comparison: another machine, missing cases, too few turns."""
    found = [
        f"{name} differs: {old['machine'].get(name)} then, {new['machine'].get(name)} now"
        for name in {**old["machine"], **new["machine"]}
        if old["machine"].get(name) != new["machine"].get(name)
    ]
    for name, run, other in (("old", old, new), ("new", new, old)):
        alone = [case for case in run["cases"] if case not in other["cases"]]
        if alone:
            some = ", ".join(alone[:3]) + (", …" if len(alone) > 3 else "")
            found.append(f"{len(alone)} cases are only in the {name} run: {some}")
    if not (shared := _shared(old, new)):
        found.append("the runs have no case in common: nothing can be compared")
    elif not can_tell(old, new):
        n, m = _turns(old, new)
        found.append(f"{n} and {m} turns are too few for {len(shared)} cases: no change can be significant; use more")
    return found


def can_tell(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Return whether a change could be significant: with few turns even the smallest p-value is too large."""
    shared = _shared(old, new)
    if not shared:
        return False
    n, m = _turns(old, new)
    least = 2 / 2**n if old["session"] == new["session"] else 2 / math.comb(n + m, n)
    return least * len(shared) <= LEVEL


def _shared(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    return [name for name in old["cases"] if name in new["cases"]]


def _turns(old: dict[str, Any], new: dict[str, Any]) -> tuple[int, int]:
    """Return the fewest turns of any shared case in each run."""
    n, m = (min(len(run["cases"][name]["seconds"]) for name in _shared(old, new)) for run in (old, new))
    return n, m


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.changes", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--all", action="store_true", help="also list cases that did not change")
    given = parser.parse_args()
    try:
        old, new = read_run(given.old), read_run(given.new)
        changes = compare(old, new)
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    for remark in remarks(old, new):
        print(f"note: {remark}", file=sys.stderr)
    if not can_tell(old, new):
        sys.exit(2)
    print("| case | new / old | 95 % interval | p (Holm) | |\n|---|---:|---|---:|---|")
    for change in changes:
        if given.all or change.verdict != SAME:
            interval = f"{change.low:.3f} – {change.high:.3f}"
            print(f"| {change.case} | {change.ratio:.3f} | {interval} | {change.p:.4f} | {change.verdict} |")
    counts = {verdict: sum(change.verdict == verdict for change in changes) for verdict in (SLOWER, FASTER, SAME)}
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    sys.exit(1 if counts[SLOWER] else 0)


if __name__ == "__main__":
    main()
