"""The monitor of fits: history, the best iteration, early stopping, interruption."""

import numpy as np
import pytest

import plackett as pk
from plackett.rankers.monitor import FitMonitor, ValidationSet, is_better

QUERIES = pk.Queries(np.zeros((4, 1)), [1, 0, 1, 0], [1, 1, 2, 2])


class Given(ValidationSet):
    """A validation set whose measure takes the values given."""

    def mean(self, scores):
        return scores


def run(values, patience, metric="ndcg@10"):
    monitor = FitMonitor(Given(QUERIES, metric), patience)
    with monitor.run("n_rounds", len(values), ["objective"]):
        for number, value in enumerate(values):
            if monitor.record(lambda value=value: value, [number], objective=-number):
                break
    return monitor


@pytest.mark.parametrize(
    ("patience", "n_iter", "reason"),
    [(None, 6, "n_rounds reached"), (2, 4, "no improvement on the validation set"), (9, 6, "n_rounds reached")],
)
def test_the_best_iteration_is_kept_and_patience_says_when_to_stop(patience, n_iter, reason):
    monitor = run([0.1, 0.3, 0.2, 0.3, 0.1, 0.2], patience)
    assert (monitor.n_iter, monitor.stop_reason) == (n_iter, reason)
    assert (monitor.best_iteration, monitor.best_score, monitor.best_state) == (2, 0.3, [1])
    assert monitor.n_kept == 2
    assert monitor.history == {
        "objective": [-number for number in range(n_iter)],
        "ndcg@10": [0.1, 0.3, 0.2, 0.3, 0.1, 0.2][:n_iter],
    }


def test_a_distance_is_best_when_it_is_smallest_and_nan_never_is():
    assert run([np.nan, 0.4, 0.2, np.nan], None, "kendall").best_iteration == 3
    nothing = run([np.nan, np.nan], 1)
    assert (nothing.best_iteration, nothing.best_score, nothing.n_kept) == (None, None, 2)


def test_differences_of_rounding_are_no_improvement():
    measure = pk.metrics.Measure.parse("ndcg@10")
    assert is_better(0.5, None, measure)
    assert not is_better(0.5 + 1e-15, 0.5, measure)
    assert is_better(0.5 + 1e-9, 0.5, measure)


def test_an_interruption_while_measuring_leaves_whole_iterations():
    def interrupted():
        raise KeyboardInterrupt

    monitor = FitMonitor(Given(QUERIES, None), 3)
    with monitor.run("n_epochs", 5, ["objective"]):
        monitor.record(lambda: 0.5, objective=1.0)
        monitor.record(interrupted, objective=0.9)
    assert (monitor.n_iter, monitor.is_interrupted, monitor.stop_reason) == (1, True, "interrupted")
    assert monitor.history == {"objective": [1.0], "ndcg@10": [0.5]}


def test_without_validation_all_iterations_are_kept(capsys):
    monitor = FitMonitor(is_shown=True)
    with monitor.run("max_iter", 2, ["objective", "gradient_norm"], shown=["gradient_norm"]):
        for value in (2.0, 1.0):
            assert monitor.record(objective=value, gradient_norm=value / 8) is None
    assert (monitor.n_kept, monitor.best_iteration) == (2, None)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "gradient norm 0.125" in shown.err
    assert "objective" not in shown.err
