"""What is true of DiffRank, FeatureRank and BL-FeatureRank alike: invariances, edges, validation, saving."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import plackett as pk
from plackett import _threads
from plackett.data.queries import Queries
from plackett.exceptions import DataWarning
from plackett.rankers.boosting.diff_rank import DiffRank
from plackett.rankers.boosting.feature_rank import BLFeatureRank, FeatureRank
from tests.rankers.boosting.feature_lists import damage, make_data

RANKERS = [DiffRank, FeatureRank, BLFeatureRank]
every_ranker = pytest.mark.parametrize("ranker", RANKERS, ids=lambda ranker: ranker.__name__)


@every_ranker
@pytest.mark.parametrize("is_tied", [False, True])
@pytest.mark.parametrize("discovery", ["quasi-knn", "linear"])
def test_row_order_changes_nothing_but_the_order_of_the_answer(ranker, is_tied, discovery):
    X, y, qid = make_data(2, is_tied=is_tied, lengths=(20, 15, 2, 1, 30))
    rows = np.random.default_rng(0).permutation(y.size)
    one = ranker(discovery=discovery, cycles=2).fit(X, y, qid=qid)
    other = ranker(discovery=discovery, cycles=2).fit(X[rows], y[rows], qid=qid[rows])
    np.testing.assert_allclose(other.steps_["weight"], one.steps_["weight"], atol=1e-12)
    np.testing.assert_allclose(other.predict(X[rows], qid=qid[rows]), one.predict(X, qid=qid)[rows], atol=1e-9)


@every_ranker
@pytest.mark.parametrize(
    ("X", "y", "qid"),
    [
        ([[3.0], [3], [3]], [2, 1, 0], [0, 0, 0]),
        ([[1.0], [2], [3]], [1, 1, 1], [0, 0, 0]),
        ([[1.0], [2], [3]], [0, 1, 2], [0, 1, 2]),
        ([[1.0, 1], [2, 2], [3, 3], [4, 4]], [0, 1, 0, 1], [0, 0, 1, 1]),
        ([[5.0, 0], [1, 0]], [1, 0], None),
        ([[7.0]], [1], None),
    ],
    ids=["constant", "one label", "single documents", "twins and pairs", "two documents", "one document"],
)
@pytest.mark.filterwarnings("ignore::plackett.exceptions.NothingToLearnWarning")
def test_degenerate_lists_give_finite_models(ranker, X, y, qid):
    for parameters in ({"n_intervals": 50}, {"n_intervals": 1}, {"discovery": "linear"}):
        fitted = ranker(cycles=3, **parameters).fit(X, y, qid=qid)
        assert np.isfinite(fitted.steps_["weight"]).all()
        assert np.isfinite(fitted.predict(X, qid=qid)).all()
        assert fitted.steps_["feature"].tolist() == 3 * list(range(len(X[0])))


@every_ranker
def test_a_perfect_feature_gets_a_finite_weight_and_ranks_perfectly(ranker):
    X, qid = np.r_[np.arange(2.0), np.arange(2.0)][:, None], [0, 0, 1, 1]
    fitted = ranker(n_intervals=2, cycles=1).fit(X, X[:, 0], qid=qid)
    assert 5 < fitted.steps_["weight"][0] < 20
    assert fitted.history_["error"] == [0]
    assert fitted.score(X, X[:, 0], qid=qid) == 1


@every_ranker
def test_a_query_of_weight_two_counts_as_two(ranker):
    X, y, qid = make_data(4, lengths=(8, 12, 5))
    twice = np.r_[np.arange(y.size), np.arange(8)]
    expected = ranker().fit(X[twice], y[twice], qid=np.r_[qid, np.full(8, 9)])
    fitted = ranker().fit(X, y, qid=qid, sample_weight=[2, 1, 1])
    np.testing.assert_allclose(fitted.steps_["weight"], expected.steps_["weight"], atol=1e-9)
    left_out = ranker().fit(X, y, qid=qid, sample_weight=[0, 1, 1])
    np.testing.assert_allclose(left_out.feature_weights_, ranker().fit(X[8:], y[8:], qid=qid[8:]).feature_weights_)


@every_ranker
def test_forms_of_x_agree(ranker):
    X, y, qid = make_data(6, is_tied=True)
    X = np.round(4 * X) / 4
    expected = ranker().fit(X, y, qid=qid)
    for form in (sparse.csr_matrix(X), X.astype(np.float32), np.asfortranarray(X)):
        fitted = ranker().fit(form, y, qid=qid)
        np.testing.assert_array_equal(fitted.steps_["weight"], expected.steps_["weight"])
        np.testing.assert_array_equal(fitted.predict(form, qid=qid), expected.predict(X, qid=qid))


@every_ranker
def test_the_number_of_threads_does_not_matter(ranker, monkeypatch):
    from plackett.rankers.boosting import discovery, feature_steps
    from plackett.scorers import ranks

    for module in (discovery, feature_steps, ranks):
        monkeypatch.setattr(module, "DOCS_PER_BLOCK", 16)
    X, y, qid = make_data(7, is_tied=True, lengths=(20, 15, 9, 30, 2, 11))
    answers = []
    try:
        for n_threads in (1, 3):
            _threads.set_n_threads(n_threads)
            fitted = ranker(cycles=2).fit(X, y, qid=qid)
            answers.append(np.r_[fitted.feature_weights_, fitted.predict(X, qid=qid)])
    finally:
        _threads.set_n_threads(None)
    np.testing.assert_array_equal(*answers)


@every_ranker
def test_the_steps_up_to_the_best_on_the_validation_set_are_kept(ranker):
    X, y, qid = make_data(8, lengths=(12, 12, 12), n_features=6)
    X_new, y_new, qid_new = make_data(9, lengths=(12, 12), n_features=6)
    held_back = (X_new, y_new, qid_new)
    fitted = ranker(cycles=5, patience=4).fit(X, y, qid=qid, eval_set=held_back, eval_metric="kendall")
    values = fitted.history_["kendall"]
    assert fitted.best_score_ == min(values)
    assert fitted.best_iteration_ == values.index(min(values)) + 1 == fitted.steps_.size
    assert fitted.n_iter_ == len(values) == len(fitted.history_["error"])
    found = pk.metrics.kendall(y_new, fitted.predict(X_new, qid=qid_new), qid=qid_new).mean()
    assert found == pytest.approx(fitted.best_score_)
    whole = ranker(cycles=5, patience=None).fit(X, y, qid=qid, eval_set=Queries(*held_back), eval_metric="kendall")
    assert whole.n_iter_ == 30 == len(whole.history_["kendall"])
    assert whole.steps_.size == whole.best_iteration_ == int(np.argmin(whole.history_["kendall"])) + 1
    if fitted.n_iter_ < 30:
        assert fitted.stop_reason_ == "no improvement on the validation set"
        assert fitted.n_iter_ - fitted.best_iteration_ == 4


@every_ranker
def test_a_validation_set_of_which_the_measure_says_nothing_ends_no_fit(ranker):
    X, y, qid = make_data(8, lengths=(12, 12))
    nothing_relevant = (X, np.zeros(y.size), qid)
    metric = pk.metrics.Measure("ndcg", 5, empty="skip")
    with pytest.warns(DataWarning, match="has no value on the validation set"):
        fitted = ranker(patience=1, cycles=2).fit(X, y, qid=qid, eval_set=nothing_relevant, eval_metric=metric)
    assert np.isnan(fitted.history_[str(metric)]).all()
    assert fitted.best_iteration_ is None
    assert fitted.best_score_ is None
    assert fitted.steps_.size == fitted.n_iter_ == 8
    assert fitted.stop_reason_ == "cycles reached"


@every_ranker
@pytest.mark.filterwarnings("ignore::plackett.exceptions.NothingToLearnWarning")
def test_a_fit_says_how_it_ended(ranker):
    X, y, qid = make_data(8)
    fitted = ranker(cycles=2).fit(X, y, qid=qid)
    assert (fitted.n_iter_, fitted.stop_reason_) == (8, "cycles reached")
    assert (fitted.best_iteration_, fitted.best_score_) == (None, None)
    assert all(len(values) == 8 for values in fitted.history_.values())
    fitted.fit(X, np.ones(y.size), qid=qid)
    assert fitted.stop_reason_ == "no query has documents with different labels"


@every_ranker
def test_progress_is_shown_on_standard_error_where_asked_for(ranker, capsys):
    X, y, qid = make_data(8)
    ranker().fit(X, y, qid=qid)
    assert capsys.readouterr() == ("", "")
    ranker(verbose=True).fit(X, y, qid=qid)
    out, err = capsys.readouterr()
    assert out == ""
    assert "fitting" in err


@every_ranker
def test_parameters_are_checked_before_any_data_is_read(ranker):
    ranker().check_parameters()
    for wrong in ({"n_intervals": 0}, {"cycles": 0}, {"discovery": "x"}, {"centre": "x"}, {"patience": -1}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            ranker(**wrong).check_parameters()


@every_ranker
def test_parameters_are_checked_by_fit(ranker):
    X, y, qid = make_data(0)
    for wrong, message in [
        ({"n_intervals": 0}, "n_intervals=0; it must be a whole number"),
        ({"cycles": 1.0}, "cycles=1.0; it must be a whole number"),
        ({"discovery": "knn"}, "discovery='knn' is not known"),
        ({"centre": "median"}, "centre='median' is not known"),
        ({"patience": 0}, "patience=0"),
    ]:
        with pytest.raises(ValueError, match=message):
            ranker(**wrong).fit(X, y, qid=qid)
    with pytest.raises(ValueError, match="eval_set must be a Queries or a tuple"):
        ranker().fit(X, y, qid=qid, eval_set=X)


@every_ranker
def test_a_failed_fit_leaves_the_ranker_as_it_was(ranker):
    X, y, qid = make_data(0)
    fitted = ranker().fit(X, y, qid=qid)
    with pytest.raises(ValueError, match="NaN"):
        fitted.fit(np.full_like(X[:, :2], np.nan), y, qid=qid)
    assert fitted.n_features_in_ == 4
    assert fitted.predict(X, qid=qid).shape == y.shape


@every_ranker
def test_an_interrupted_fit_keeps_the_steps_it_has_taken(ranker, monkeypatch):
    X, y, qid = make_data(0)
    whole = ranker().fit(X, y, qid=qid)
    kind = type(whole._training(Queries(X, y, qid), None))
    step = kind.step

    def interrupted(self, feature):
        if feature == 2:
            raise KeyboardInterrupt
        return step(self, feature)

    monkeypatch.setattr(kind, "step", interrupted)
    fitted = ranker()
    with pytest.raises(KeyboardInterrupt, match="its result so far was kept"):
        fitted.fit(X, y, qid=qid)
    np.testing.assert_array_equal(fitted.steps_, whole.steps_[:2])
    assert fitted.stop_reason_ == "interrupted"
    assert fitted.predict(X, qid=qid).shape == y.shape


@every_ranker
def test_clones_and_copies_predict_alike(ranker):
    X, y, qid = make_data(3)
    fitted = ranker(n_intervals=4).fit(X, y, qid=qid)
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.predict(X, qid=qid), fitted.predict(X, qid=qid))
    again = clone(fitted).fit(X, y, qid=qid)
    np.testing.assert_array_equal(again.feature_weights_, fitted.feature_weights_)


@every_ranker
def test_saved_models_are_loaded_and_damaged_ones_refused(ranker, tmp_path):
    from plackett.storage import models

    models.register(ranker)
    X, y, qid = make_data(3)
    for discovery in ("quasi-knn", "linear"):
        fitted = ranker(discovery=discovery, n_intervals=20).fit(X, y, qid=qid)
        models.save(fitted, tmp_path / "model.plackett")
        loaded = models.load(tmp_path / "model.plackett")
        np.testing.assert_array_equal(loaded.predict(X, qid=qid), fitted.predict(X, qid=qid))
        for name, value in [
            ("weight", np.nan),
            ("weight", 1e308),
            ("feature", 4),
            ("feature", -1),
            ("n_features_in_", 4.0),
            ("centres_", np.zeros((3, 2))),
            ("centres_", np.array([[-1e308, 1e308]] * 4)),
            ("signs_", np.array([1, 1, 2, 1])),
        ]:
            damaged = clone(fitted).fit(X, y, qid=qid)
            damage(damaged, name, value)
            with pytest.raises(ValueError, match="must"):
                damaged.check_loaded()


@every_ranker
def test_a_list_of_its_own_is_what_counts_in_prediction(ranker):
    X, y, qid = make_data(5)
    fitted = ranker().fit(X, y, qid=qid)
    scores = fitted.predict(X, qid=qid)
    np.testing.assert_allclose(fitted.predict(X[qid == 4], qid="alone"), scores[qid == 4], atol=1e-12)
