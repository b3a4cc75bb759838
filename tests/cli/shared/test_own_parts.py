"""``module:name`` on the command line: losses and rankers of the current folder."""

import pytest

import plackett as pk

OWN = """
from sklearn.base import BaseEstimator

class Squared:
    ignores_shifts = False
    def value_and_slope(self, scores, queries):
        error = scores - queries.labels
        return 0.5 * error @ error, error

class ByFeature(BaseEstimator):
    def __init__(self, column=0):
        self.column = column
    def fit(self, X, y, qid=None):
        return self
    def predict(self, X, qid=None):
        return X[:, self.column]
"""


@pytest.fixture
def own(run, lists):
    with open("own_parts_here.py", "w") as file:
        file.write(OWN)
    with open("broken_here.py", "w") as file:
        file.write("1 / 0\n")


def test_an_own_loss_trains_a_model_that_ranks_without_it(run, own):
    done = run("train", "train.txt", "--loss", "own_parts_here:Squared", "-o", "own.plackett")
    assert done.returncode == 0, done.stderr
    assert "Squared()" in done.stdout
    assert repr(pk.load("own.plackett").loss) == "AbsentLoss(description='Squared()')"


def test_own_rankers_and_losses_take_part(run, own):
    done = run("compare", "train.txt", "-r", "own_parts_here:ByFeature,rank:ndcg", "--cv", "2", "--csv", "-q")
    assert done.returncode == 0, done.stderr
    assert "ByFeature" in done.stdout
    done = run("tune", "train.txt", "-r", "linear", "--grid", "loss=own_parts_here:Squared,listmle", "--folds", "2")
    assert done.returncode == 0, done.stderr
    assert "Squared()" in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--loss", "nowhere_at_all:Loss"], "there is no module nowhere_at_all"),
        (["--loss", "own_parts_here:Cubed"], "own_parts_here has no Cubed; it has BaseEstimator, Squared"),
        (["--loss", "broken_here:Loss"], "importing broken_here failed with ZeroDivisionError"),
        (["--loss", "own_parts_here:ByFeature"], "is not known; choose one of"),
        (["--ranker", "own_parts_here:ByFeature"], "cannot save a ranker of your own"),
    ],
)
def test_what_is_missing_is_named(run, own, words, message):
    done = run("train", "train.txt", *words, "-o", "own.plackett")
    assert done.returncode == 2
    assert message in " ".join(done.stderr.replace("│", " ").split())
