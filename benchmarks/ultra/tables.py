"""Tables of the simulation: every cell with its interval over runs, including those in which naive labels win."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed

from benchmarks.ultra import protocol
from benchmarks.ultra.packages import PACKAGES
from benchmarks.ultra.protocol import (
    ESTIMATED,
    FULL,
    LARGEST_FOR_PACKAGES,
    METRIC,
    NAIVE,
    OURS,
    PRODUCTION,
    ROBUST,
    SCORERS,
    SHARES,
    SHOWN,
    SIZES,
    USERS,
    WEB_LIKE,
    WRONG,
)
from plackett._threads import n_threads
from plackett.reproductions.base import Item, Job, Paper, Row, Table, Verdict
from plackett.validation import count_of

N_RUNS, QUICK_RUNS = 30, 2
LEVEL = 0.95
N_DRAWS = 10_000
GOAL = 0.85  # lower end of the share of the gap from naive to the labels of the shown documents
GOAL_DATA, GOAL_USER, GOAL_SHARE, GOAL_SIZE = "mq2008", "PBM, η = 1", SHARES[0], SIZES[-1]
DATA = {"mq2008": "MQ2008", "ohsumed": "OHSUMED", WEB_LIKE: "Web-like"}
SECONDS = {"mq2008": 900.0, "ohsumed": 900.0, WEB_LIKE: 2400.0}  # half of it for the packages
QUICK_SECONDS = {"mq2008": 1.5, "ohsumed": 1.5, WEB_LIKE: 3.0}
METHODS = (NAIVE, OURS, ROBUST, ESTIMATED, WRONG, *PACKAGES, SHOWN, FULL)

COLUMNS_IN_WORDS = (
    f'Mean {METRIC} and half of its interval over runs. "{OURS}": corrected with the look probabilities of the '
    f'simulated users; "{ROBUST}": the same with a regression on features; "{ESTIMATED}": propensities of a '
    f'position-based model, estimated from this log by regression EM; "{WRONG}": corrected for PBM users with η = 1 '
    f"(η = 2 where they have 1); packages take a row for each shown document, up to {LARGEST_FOR_PACKAGES:,} sessions; "
    f'"{SHOWN}" and "{FULL}": true probabilities of a click if looked at, of the shown documents and of all.'
)

Values = Mapping[tuple[int, str, str], np.ndarray]  # sessions, scorer, method -> a value for each run


class Cell(NamedTuple):
    """Values of all runs in one cell of the grid, by method."""

    size: int
    scorer: str
    values: dict[str, np.ndarray]

    def __str__(self) -> str:
        return f"{self.size:,} sessions, {self.scorer}"

    def gain(self, method: str, other: str = NAIVE) -> tuple[float, float, float]:
        """Return the mean difference of two methods over runs, and the ends of its interval (paired t)."""
        from scipy.special import stdtrit

        gaps = self.values[method] - self.values[other]
        if gaps.size < 2:
            return float(gaps.mean()), float("nan"), float("nan")
        reach = stdtrit(gaps.size - 1, (1 + LEVEL) / 2) * gaps.std(ddof=1) / np.sqrt(gaps.size)
        return float(gaps.mean()), float(gaps.mean() - reach), float(gaps.mean() + reach)

    def share_of_gap(self, method: str) -> tuple[float, float, float]:
        """Return the share of the gap from naive to the shown labels, and its bootstrap interval over runs."""
        gains = np.stack([self.values[one] - self.values[NAIVE] for one in (method, SHOWN)])
        rows = np.random.default_rng(0).integers(gains.shape[1], size=(N_DRAWS, gains.shape[1]))
        drawn = gains[:, rows].mean(axis=2)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = drawn[0] / drawn[1]
        low, high = np.nanquantile(shares, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        return float(gains[0].mean() / gains[1].mean()), float(low), float(high)


def simulate(data: str, user: str, share: float, job: Job) -> Values:
    """Return the results of all runs with a data set, a user and a production ranker."""
    sizes, n_runs = (SIZES[:1], QUICK_RUNS) if job.is_quick else (SIZES, N_RUNS)
    with_packages = not job.is_quick or (data, user, share) == (GOAL_DATA, GOAL_USER, GOAL_SHARE)
    quiet = Job(job.is_quick, job.folder)  # what reports progress cannot be sent to a process
    seeds = range(job.rng_seed, job.rng_seed + n_runs)
    runs = Parallel(n_jobs=n_threads(), return_as="generator")(
        delayed(_run)(data, user, share, seed, quiet, sizes, with_packages) for seed in seeds
    )
    found: dict[tuple[int, str, str], list[float]] = {}
    for number, values in enumerate(runs, start=1):
        for key, value in values.items():
            found.setdefault(key, []).append(value)
        if number % 10 == 0:
            job.progress(f"  {number} of {count_of(n_runs, 'run')}")
    return {key: np.array(values) for key, values in found.items()}


def _run(
    data: str, user: str, share: float, seed: int, job: Job, sizes: Sequence[int], with_packages: bool
) -> dict[Any, float]:
    import plackett

    plackett.set_n_threads(1)  # runs are parallel themselves
    return protocol.run(data, user, share, seed, job, sizes=sizes, with_packages=with_packages)


def cells(values: Values) -> Iterable[Cell]:
    """Yield the cells of the grid in order."""
    for scorer in SCORERS:
        for size in sorted({key[0] for key in values} - {0}):
            own = {
                method: found
                for method in METHODS
                for place in (size, 0)  # skylines do not depend on the sessions
                if (found := values.get((place, scorer, method))) is not None
            }
            yield Cell(size, scorer, own)


def table_of(data: str, user: str, share: float, values: Values) -> Table:
    """Return a row for each cell: ours against naive labels, and the share of the gap to the true labels."""
    every = list(cells(values))
    rows = [_row(cell) for cell in every]
    if (data, user, share) == (GOAL_DATA, GOAL_USER, GOAL_SHARE):
        rows += list(_goals(every))
    production = values[0, PRODUCTION, PRODUCTION]
    lost = [str(cell) for cell in every if cell.gain(OURS)[2] < 0]
    return Table(
        title_of(data, user, share),
        f"{count_of(production.size, 'run')}; a production ranker learned from {share:.0%} of the training queries "
        f"({METRIC} {production.mean():.4f}), its first {protocol.K} documents shown, ε = {protocol.EPSILON:g}. All "
        "have their default settings, and the softmax loss. Test queries have a relevant document.",
        f"better or not confirmed: the {LEVEL:.0%} paired interval of ours minus naive over runs is above or below 0; "
        "undecided otherwise. The gap is that from naive to true labels of the shown documents; intervals of shares "
        "are bootstrap intervals over runs. No correction for the number of cells.",
        tuple(rows),
        (
            _means(every),
            COLUMNS_IN_WORDS,
            f"Naive labels are significantly better in {len(lost)} of {count_of(len(every), 'cell')}"
            f"{': ' * bool(lost)}{'; '.join(lost)}.",
        ),
    )


def title_of(data: str, user: str, share: float) -> str:
    """Return the title of a table."""
    return f"{DATA[data]}, {user}, {share:.0%} ranker"


def _row(cell: Cell) -> Row:
    gain, low, high = cell.gain(OURS)
    verdict = Verdict.BETTER if low > 0 else Verdict.NOT_CONFIRMED if high < 0 else Verdict.UNDECIDED
    ours, naive = (float(cell.values[method].mean()) for method in (OURS, NAIVE))
    reason = f"naive {naive:.4f}: {gain:+.4f} ({low:+.4f} to {high:+.4f})"
    if cell.gain(SHOWN)[1] > 0:  # else there is no gap to close
        share, least, most = cell.share_of_gap(OURS)
        reason += f", {share:.0%} ({least:.0%} to {most:.0%}) of the gap"
    return Row(str(cell), None, ours, verdict, reason)


def _goals(every: Sequence[Cell]) -> Iterable[Row]:
    for cell in every:
        if cell.size == GOAL_SIZE:
            share, low, high = cell.share_of_gap(OURS)
            yield Row.of_claim(
                f"{cell}: lower end of the share of the gap", f"at least {GOAL:.0%}", f"{low:.1%}", low >= GOAL,
                f"{share:.1%} ({low:.1%} to {high:.1%})",
            )  # fmt: skip
        if cell.size == LARGEST_FOR_PACKAGES and cell.scorer == "trees":
            for package in PACKAGES:
                if package in cell.values:
                    gap, low, high = cell.gain(OURS, package)
                    yield Row.of_claim(
                        f"{cell}: above {package}", "above", f"{gap:+.4f}", low > 0, f"{low:+.4f} to {high:+.4f}"
                    )


def _means(every: Sequence[Cell]) -> str:
    """Return a Markdown table of the mean of each method in each cell, with half of its interval over runs."""
    names = [method for method in METHODS if any(method in cell.values for cell in every)]
    lines = []
    for cell in every:
        texts = []
        for name in names:
            found = cell.values.get(name)
            texts.append("" if found is None else f"{found.mean():.4f} ± {_half_width(found):.4f}")
        lines.append([str(cell), *texts])
    rows = [["", *names], ["---", *["---:"] * len(names)], *lines]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _half_width(values: np.ndarray) -> float:
    from scipy.special import stdtrit

    if values.size < 2:
        return float("nan")
    return float(stdtrit(values.size - 1, (1 + LEVEL) / 2) * values.std(ddof=1) / np.sqrt(values.size))


def _table(data: str, user: str, share: float, job: Job) -> Table:
    return table_of(data, user, share, simulate(data, user, share, job))


PAPER = Paper(
    "ultra",
    "Learning from simulated clicks: users, production rankers, corrections and packages",
    "tran2021",
    tuple(
        Item(
            title_of(data, user, share),
            functools.partial(_table, data, user, share),
            SECONDS[data],
            QUICK_SECONDS[data],
            () if data == WEB_LIKE else (data,),
        )
        for data in DATA
        for user in USERS
        for share in SHARES
    ),
)
