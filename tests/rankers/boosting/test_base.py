"""What AdaRank and RankBoost share, and LETOR's folds."""

import numpy as np
import pytest
from sklearn.base import clone

import plackett as pk
from plackett.data import datasets
from plackett.exceptions import NothingToLearnWarning
from plackett.rankers.boosting.adarank import AdaRank
from plackett.rankers.boosting.rankboost import RankBoost
from plackett.rankers.monitor import FitMonitor
from tests.rankers.judged_lists import lists

SETS = {"mq2008": "letor4-mq2008", "ohsumed": "letor3-ohsumed/QueryLevelNorm"}


@pytest.mark.parametrize(
    "ranker", [AdaRank(n_rounds=20, tol=None), RankBoost(n_rounds=20)], ids=["AdaRank", "RankBoost"]
)
def test_an_interrupted_fit_keeps_the_rounds_so_far(ranker, monkeypatch):
    X, y, qid = lists(30)
    whole = clone(ranker).fit(X, y, qid=qid)
    record = FitMonitor.record

    def record_four(self, *args, **values):
        if self.n_iter == 4:
            raise KeyboardInterrupt
        return record(self, *args, **values)

    monkeypatch.setattr(FitMonitor, "record", record_four)
    with pytest.raises(KeyboardInterrupt, match="its result so far was kept"):
        ranker.fit(X, y, qid=qid)
    assert ranker.stop_reason_ == "interrupted"
    assert ranker.history_["alpha"] == whole.history_["alpha"][:4]
    assert ranker.n_iter_ == 4
    assert 1 <= ranker.steps_.size <= 4
    assert ranker.predict(X, qid=qid).any()


@pytest.mark.parametrize("ranker", [AdaRank(), RankBoost(n_rounds=20)], ids=["AdaRank", "RankBoost"])
def test_a_fit_that_fails_leaves_the_ranker_as_it_was(ranker):
    X, y, qid = lists()
    before = clone(ranker).fit(X, y, qid=qid)
    scores = before.predict(X, qid=qid)
    with pytest.raises(ValueError, match="eval_set must be a Queries or a tuple"):
        before.fit(X[:, :2], y, qid=qid, eval_set="validation")
    np.testing.assert_array_equal(before.predict(X, qid=qid), scores)


@pytest.mark.parametrize("ranker", [AdaRank(), RankBoost(n_rounds=20)], ids=["AdaRank", "RankBoost"])
def test_queries_of_one_and_two_documents_are_enough(ranker):
    X, y, qid = lists(30, sizes=(1, 3))
    assert clone(ranker).fit(X, y, qid=qid).score(X, y, qid=qid, metric="kendall") > -0.5


@pytest.mark.parametrize("ranker", [AdaRank(), RankBoost(n_rounds=20)], ids=["AdaRank", "RankBoost"])
def test_rounds_made_and_rounds_kept_are_told_apart(ranker):
    X, y, qid = lists(30)
    held_back = lists(20, seed=5)
    fitted = clone(ranker).fit(X, y, qid=qid, eval_set=held_back)
    assert fitted.n_iter_ == len(fitted.history_["alpha"]) == len(fitted.history_["ndcg@10"])
    assert fitted.steps_.size == fitted.best_iteration_ <= fitted.n_iter_
    with pytest.warns(NothingToLearnWarning):
        nothing = clone(ranker).fit(X, np.zeros_like(y), qid=qid, eval_set=held_back)
    assert (nothing.n_iter_, nothing.steps_.size, nothing.best_iteration_, nothing.best_score_) == (0, 0, None, None)


@pytest.mark.parametrize("ranker", [AdaRank(), RankBoost(n_rounds=20)], ids=["AdaRank", "RankBoost"])
def test_a_progress_bar_goes_to_standard_error(ranker, capsys):
    X, y, qid = lists()
    clone(ranker).set_params(verbose=True).fit(X, y, qid=qid)
    out, err = capsys.readouterr()
    assert out == ""
    assert "fitting" in err


# ---- LETOR -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folds(shared_data):
    return {
        name: [datasets.load_fold(name, fold, shared_data / folder) for fold in range(1, 6)]
        for name, folder in SETS.items()
    }


def mean_of_folds(folds, ranker):
    """Test MAP under LETOR 4.0's script, the number of rounds chosen by validation MAP."""
    values = []
    for fold in folds:
        fitted = clone(ranker).fit(fold.train, eval_set=fold.validation, eval_metric="map")
        scores = fitted.predict(fold.test)
        values.append(pk.evaluate(fold.test, scores, metrics=["map"], convention="letor4").mean()["map"])
    return np.mean(values)


@pytest.mark.parametrize(("name", "floor"), [("mq2008", 0.472), ("ohsumed", 0.442)])
def test_adarank_reaches_its_mean_average_precision_on_letor(name, floor, folds):
    assert mean_of_folds(folds[name], AdaRank("map")) >= floor  # official AdaRank-MAP: .4764 and .4487


@pytest.mark.parametrize(("name", "floor"), [("mq2008", 0.472), ("ohsumed", 0.436)])
def test_rankboost_reaches_its_mean_average_precision_on_letor(name, floor, folds):
    assert mean_of_folds(folds[name], RankBoost(patience=50)) >= floor  # official RankBoost: .4775 and .4411
