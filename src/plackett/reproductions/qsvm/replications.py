"""Replications of the simulations of dai2019, run in parallel within a time limit and stored for a later run."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path

import numpy as np
from joblib import delayed

from plackett._threads import n_threads, results
from plackett.evaluation.store.keys import versions_of
from plackett.evaluation.store.results import Record, ResultStore
from plackett.reproductions.qsvm import simulations
from plackett.reproductions.qsvm.simulations import Cell, Draws, replicate
from plackett.validation import count_of


class Replications:
    """Replications of all cells, by the seed.

    ``strengths`` of the penalty are chosen from; a later run resumes from the finished replications in ``folder``.
    """

    def __init__(self, strengths: tuple[float, ...], folder: Path | None = None):
        self.strengths = strengths
        self._store = ResultStore(folder)
        # measures × (methods and the mean of the true coefficients), and seconds
        self._done: dict[tuple[Cell, int], Record] = {}

    def run(
        self, cells: Sequence[Cell], seeds: range, *, hours: float | None = None, note: Callable[[str], None]
    ) -> None:
        """Run the missing replications, all cells of one seed before the next seed, until the time is over.

        The first seed of every cell is always run. The duration of the others is extrapolated from it.
        """
        end = None if hours is None else time.monotonic() + 3600 * hours
        for cell, _ in self._run([(cell, seeds[0]) for cell in cells]):
            note(f"  {cell}")
        tasks = [(cell, seed) for seed in seeds for cell in cells]
        missing = [task for task in tasks if not self._is_done(task)]
        if not missing:
            return
        seconds = sum(self._done[cell, seeds[0]].values["seconds"] for cell, _ in missing) / n_threads()
        limit = "" if hours is None else f", limited to {60 * hours:.0f} min"
        note(
            f"  {len(tasks) - len(missing)} of {len(tasks)} replications are done; extrapolated from the first of each "
            f"setting, the others take {seconds / 60:.1f} min on {count_of(n_threads(), 'core')}{limit}"
        )
        for cell, seed in self._run(missing, end, always=seeds[:2]):  # one replication has no standard error
            if cell == cells[-1]:
                note(f"  {seeds.index(seed) + 1} of {len(seeds)} replications")

    def seeds_of(self, cells: Sequence[Cell], seeds: range) -> list[int]:
        """Return the seeds that are done for all of the cells."""
        return [seed for seed in seeds if all((cell, seed) in self._done for cell in cells)]

    def draws(self, cell: Cell, seeds: Sequence[int]) -> Draws:
        """Return the results of a cell for these seeds, which are done."""
        values = np.array([self._done[cell, seed].array for seed in seeds])
        return Draws(values[..., :-1], values[..., -1])

    def _is_done(self, task: tuple[Cell, int]) -> bool:
        """Whether a replication is in memory or in the folder."""
        if task not in self._done:
            record = self._store.get(self._key(task))
            if record is not None and record.array is not None:
                self._done[task] = record
        return task in self._done

    def _run(
        self, tasks: Sequence[tuple[Cell, int]], end: float | None = None, always: range = range(0)
    ) -> Iterator[tuple[Cell, int]]:
        """Run and yield the missing tasks in order; none is started after ``end``, except those of some seeds."""
        missing = [task for task in tasks if not self._is_done(task)]
        in_time = (task for task in missing if end is None or task[1] in always or time.monotonic() < end)
        calls = (delayed(_timed)(cell, seed, self.strengths) for cell, seed in in_time)
        for replication, task in zip(results(calls, n_jobs=n_threads()), missing, strict=False):
            self._done[task] = replication
            self._store.put(self._key(task), *replication)
            yield task

    def _key(self, task: tuple[Cell, int]) -> dict:
        cell, seed = task
        return {**asdict(cell), "seed": seed, "strengths": self.strengths, "code": _code()}


@cache
def _code() -> dict[str, str]:
    """Return the versions of all code that a replication depends on."""
    source = Path(simulations.__file__).read_bytes()
    return {**versions_of(), "simulations": hashlib.sha256(source).hexdigest()}


def _timed(cell: Cell, seed: int, strengths: tuple[float, ...]) -> Record:
    start = time.perf_counter()
    values, one_for_all = replicate(cell, seed, strengths)
    return Record({"seconds": time.perf_counter() - start}, np.column_stack([values, one_for_all]))
