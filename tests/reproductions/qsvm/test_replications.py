"""Replications: their order, their time limit, and the folder from which a run resumes."""

import numpy as np
import pytest

from plackett import _threads
from plackett.reproductions.qsvm import replications
from plackett.reproductions.qsvm.replications import Replications
from plackett.reproductions.qsvm.simulations import Cell

CELLS = [Cell(1, "I"), Cell(1, "II")]
SEEDS = range(10, 15)


class Clock:
    """A clock that stands still, except that each replication takes a minute, or two in Scenario II."""

    now = 0.0

    def read(self):
        return self.now


@pytest.fixture
def ran(monkeypatch):
    """The replications that were run, in order."""
    clock, answer = Clock(), []

    def replicate(cell, seed, strengths):
        answer.append((cell.scenario, seed))
        clock.now += 120 if cell.scenario == "II" else 60
        return np.full((3, 4), seed + len(cell.scenario) / 10), np.full(3, seed / 2)

    monkeypatch.setattr(replications, "replicate", replicate)
    monkeypatch.setattr(replications.time, "perf_counter", clock.read)
    monkeypatch.setattr(replications.time, "monotonic", clock.read)
    before = _threads._n_threads
    _threads.set_n_threads(1)
    yield answer
    _threads.set_n_threads(before)


def test_all_settings_of_a_seed_come_before_the_next_seed_and_the_first_tells_the_time(ran):
    notes = []
    own = Replications((0.1,))
    own.run(CELLS, SEEDS, note=notes.append)
    assert ran == [(scenario, seed) for seed in SEEDS for scenario in ("I", "II")]
    assert notes[2].startswith("  2 of 10 replications are done; extrapolated from the first of each setting")
    assert notes[2].endswith("the others take 12.0 min on 1 core")
    assert notes[-1] == "  5 of 5 replications"
    drawn = own.draws(CELLS[1], own.seeds_of(CELLS, SEEDS))
    np.testing.assert_array_equal(drawn.values[:, 2, 3], [10.2, 11.2, 12.2, 13.2, 14.2])
    np.testing.assert_array_equal(drawn.one_for_all[:, 1], [5, 5.5, 6, 6.5, 7])


def test_nothing_starts_after_the_time_but_the_first_two_seeds(ran):
    own = Replications((0.1,))
    own.run(CELLS, SEEDS, hours=8 / 60, note=print)
    assert ran == [("I", 10), ("II", 10), ("I", 11), ("II", 11), ("I", 12), ("II", 12)]  # the last in minute 7
    assert own.seeds_of(CELLS, SEEDS) == [10, 11, 12]
    ran.clear()
    few = Replications((0.1,))
    few.run(CELLS, SEEDS, hours=1e-9, note=print)
    assert few.seeds_of(CELLS, SEEDS) == [10, 11]


def test_a_seed_counts_where_all_settings_of_a_table_have_it(ran):
    own = Replications((0.1,))
    own.run(CELLS, SEEDS, hours=7 / 60, note=print)
    assert ran[-1] == ("I", 12)
    assert own.seeds_of(CELLS, SEEDS) == [10, 11]
    assert own.seeds_of(CELLS[:1], SEEDS) == [10, 11, 12]


def test_a_later_run_resumes_from_the_folder(ran, tmp_path):
    Replications((0.1,), tmp_path).run(CELLS, SEEDS, hours=7 / 60, note=print)
    n_first = len(ran)
    own, notes = Replications((0.1,), tmp_path), []
    own.run(CELLS, SEEDS, note=notes.append)
    assert sorted(ran) == [(scenario, seed) for scenario in ("I", "II") for seed in SEEDS]  # each of them once
    assert notes[0].startswith(f"  {n_first} of 10 replications are done; extrapolated")
    assert "take 8.0 min" in notes[0]
    np.testing.assert_array_equal(own.draws(CELLS[0], [10, 14]).values[:, 0, 0], [10.1, 14.1])


def test_results_of_other_code_or_settings_are_not_taken(ran, tmp_path, monkeypatch):
    seeds = SEEDS[:2]
    Replications((0.1,), tmp_path).run(CELLS, seeds, note=print)
    ran.clear()
    Replications((0.2,), tmp_path).run(CELLS, seeds, note=print)
    assert len(ran) == 4
    monkeypatch.setattr(replications, "_code", lambda: {"simulations": "other"})
    Replications((0.1,), tmp_path).run(CELLS, seeds, note=print)
    assert len(ran) == 8
