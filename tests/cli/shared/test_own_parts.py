"""``module:name`` on the command line: losses, measures and rankers of the current folder."""

import pytest

import plackett as pk
from plackett.metrics.registry import OWN_KINDS

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
    done = run("compare", "train.txt", "-r", "own_parts_here:ByFeature,xgboost", "--cv", "2", "--csv", "-q")
    assert done.returncode == 0, done.stderr
    assert "ByFeature" in done.stdout
    done = run("tune", "train.txt", "-r", "linear", "--grid", "loss=own_parts_here:Squared,listmle", "--folds", "2")
    assert done.returncode == 0, done.stderr
    assert "Squared()" in done.stdout


def test_what_cannot_be_saved_is_refused_before_the_first_fit(run, own):
    done = run("compare", "train.txt", "-r", "own_parts_here:ByFeature,listmle", "--cv", "2", "-o", "best.plackett")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--output: plackett cannot save models of ByFeature; leave them out." in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--loss", "nowhere_at_all:Loss"], "there is no module nowhere_at_all"),
        (["--loss", "own_parts_here:Cubed"], "own_parts_here has no Cubed; it has BaseEstimator, Squared"),
        (["--loss", "broken_here:Loss"], "importing broken_here failed with ZeroDivisionError"),
        (["--loss", "own_parts_here:ByFeature"], "is not known; choose one of"),
        (["--ranker", "own_parts_here:ByFeature"], "cannot save user-defined rankers"),
    ],
)
def test_what_is_missing_is_named(run, own, words, message):
    done = run("train", "train.txt", *words, "-o", "own.plackett")
    assert done.returncode == 2
    assert message in " ".join(done.stderr.replace("│", " ").split())


@pytest.fixture(autouse=True)
def _measures_as_before():
    yield
    OWN_KINDS.clear()


MEASURES = """
import plackett as pk

def top_label(labels, k=1):
    return float(labels[:k].max())

worst = pk.metrics.make_measure(lambda labels: float(labels[-1]), name="worst", higher_is_better=False)
"""


def test_own_measures_are_named_by_their_module(run, run_apart, lists):
    with open("measures_here.py", "w") as file:
        file.write(MEASURES)
    names = "measures_here:top_label@3,ndcg@10,measures_here:worst"
    done = run_apart("compare", "train.txt", "-r", "regression", "--cv", "2", "-m", names, "--csv", "-j", "2")
    assert done.returncode == 0, done.stderr
    assert "measures_here:top_label@3" in done.stdout
    assert "lower is better: measures_here:worst" in done.stderr
    words = ("tune", "train.txt", "-r", "ranksvm", "--grid", "l2=1,0.1", "--folds", "2")
    done = run(*words, "-m", "measures_here:top_label")
    assert done.returncode == 0, done.stderr
    done = run("train", "train.txt", "-r", "listmle", "-m", "measures_here:top_label@2", "-o", "own.plackett")
    assert done.returncode == 0, done.stderr
    done = run("compare", "train.txt", "-r", "regression", "-m", "measures_here:nothing")
    assert done.returncode == 2
    assert "measures_here has no nothing" in " ".join(done.stderr.replace("│", " ").split())
