"""A quick version of the study of false positives, and the parts of it."""

import numpy as np
import pytest

from benchmarks.interleaving import by_unit, random_clicker, validity
from plackett.clicks.interleaving.methods import METHODS, get_method


@pytest.mark.parametrize("name", [name for name in METHODS if name != "probabilistic"])  # many lists
def test_the_distribution_under_random_clicks_has_mean_0(name):
    values, chances = random_clicker(get_method(name))
    is_clicked = ~np.isnan(values)
    assert chances.sum() == pytest.approx(1)
    assert chances[~is_clicked] == pytest.approx(0.5 * 0.65 * 0.75 * 0.8)
    mean = chances[is_clicked] @ values[is_clicked]
    assert abs(mean) < 1e-12


def test_units_count_by_their_first_lists_in_the_order_in_which_they_close():
    rng = np.random.default_rng(0)
    values = rng.choice([1.0, -1.0, 0.5, np.nan], size=(3, 60))
    users = rng.integers(8, size=(3, 60))
    found = by_unit(values, users, 3)
    for run in range(3):
        seen, closed = {}, []
        for value, user in zip(values[run], users[run], strict=True):
            own = seen.setdefault(user, [])
            if not np.isnan(value) and len(own) < 3:
                own.append(value)
                if len(own) == 3:
                    closed.append(sum(own) / 3)
        assert found[run, : len(closed)] == pytest.approx(closed)
        assert not found[run, len(closed) :].any()


def test_looking_after_every_session_keeps_the_error_if_users_are_units():
    lines = validity(n_runs=200, n_sessions=1000, names=("team-draft",))
    random, partial = ([float(cell) for cell in line.split("|")[3:-1]] for line in lines[2:])
    assert max(random[:3]) <= 0.06
    assert max(partial[1:3]) <= 0.06
    assert random[3] > 0.3
    assert partial[0] > 0.06  # sessions of one user are not independent
