"""What every ranker promises, whatever it learns: how it is fitted, and what it tells afterwards."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone

import plackett as pk
from plackett.exceptions import DataWarning
from plackett.rankers.boosting.feature_rank import BLFeatureRank

RANKERS = [
    pk.LinearRanker(),
    pk.KernelRanker(gamma=0.1),
    pk.FeatureRank(),
    BLFeatureRank(),
    pk.DiffRank(),
    pk.AdaRank(),
    pk.RankBoost(n_rounds=20),
    pk.PRank(random_state=0),
    pk.SVMMap(relevant_from=2),
]
DATA = pk.datasets.make_web_like(20, n_features=4, random_state=0)
DATA = pk.Queries((DATA.X - DATA.X.mean(0)) / DATA.X.std(0), DATA.y, DATA.qid)
HELD_BACK = pk.Queries(-DATA.X[: DATA.indptr[5]], DATA.y[: DATA.indptr[5]], DATA.qid[: DATA.indptr[5]])

of_every_ranker = pytest.mark.parametrize("ranker", RANKERS, ids=lambda ranker: type(ranker).__name__)


@of_every_ranker
def test_all_are_fitted_with_the_same_words(ranker):
    parameters = inspect.signature(type(ranker).fit).parameters
    assert list(parameters) == ["self", "X", "y", "qid", "sample_weight", "eval_set", "eval_metric"]
    assert {"patience", "verbose"} <= set(ranker.get_params())


@of_every_ranker
def test_all_tell_how_the_fit_went(ranker):
    alone, watched = clone(ranker).fit(DATA), clone(ranker)
    watched.fit(DATA, eval_set=HELD_BACK, eval_metric="map(relevant_from=2)")
    for fitted in (alone, watched):
        assert isinstance(fitted.stop_reason_, str)
        assert {len(values) for values in fitted.history_.values()} == {fitted.n_iter_}
    assert (alone.best_iteration_, alone.best_score_) == (None, None)
    values = watched.history_["map(relevant_from=2)"]
    first = 0
    if isinstance(ranker, pk.SVMMap):  # without coefficients at first, which all measure the same and are not kept
        first = next(place for place, value in enumerate(values) if value != values[0])
    assert watched.best_score_ == max(values[first:])
    assert watched.best_iteration_ == 1 + first + int(np.argmax(values[first:]))


@of_every_ranker
def test_weights_of_rows_and_of_queries_are_the_same(ranker):
    weights = np.random.default_rng(0).uniform(0.1, 2.0, DATA.n_queries)
    one = clone(ranker).fit(DATA, sample_weight=weights).predict(DATA)
    other = clone(ranker).fit(DATA, sample_weight=np.repeat(weights, np.diff(DATA.indptr))).predict(DATA)
    np.testing.assert_array_equal(one, other)
    assert not np.array_equal(one, clone(ranker).fit(DATA).predict(DATA))


@of_every_ranker
def test_parameters_can_be_checked_before_there_are_data(ranker):
    ranker.check_parameters()
    with pytest.raises(ValueError, match="patience=0"):
        clone(ranker).set_params(patience=0).check_parameters()


@of_every_ranker
def test_patience_needs_an_eval_set(ranker):
    with pytest.raises(ValueError, match="patience=3 needs an eval_set, but fit got none"):
        clone(ranker).set_params(patience=3).fit(DATA)


TREES = [pk.TreeRanker(n_rounds=5), pk.TreeRanker("lightgbm", n_rounds=5), pk.XGBoostRanker(n_rounds=5)]
OTHERS = [*TREES, pk.NeuralRanker(hidden=(4,), n_epochs=3, random_state=0)]  # CatBoost stops by its own measure


@pytest.mark.parametrize("ranker", [*RANKERS, *OTHERS], ids=lambda ranker: type(ranker).__name__)
def test_the_last_iteration_is_kept_if_the_measure_has_no_value_on_the_validation_set(ranker):
    if hasattr(ranker, "import_package"):
        pytest.importorskip(ranker.package)
    empty = pk.Queries(HELD_BACK.X, np.zeros(HELD_BACK.n_docs), HELD_BACK.qid)
    watched = clone(ranker).set_params(patience=1)
    with pytest.warns(DataWarning, match=r"map\(empty=skip\) has no value on .*the last iteration is kept"):
        watched.fit(DATA, eval_set=empty, eval_metric="map(empty=skip)")
    alone = clone(ranker).fit(DATA)
    assert np.isnan(watched.history_["map(empty=skip)"]).all()
    assert (watched.best_iteration_, watched.best_score_) == (None, None)
    assert watched.n_iter_ == alone.n_iter_
    if isinstance(ranker, pk.AdaRank):  # alone, it keeps the round that is best on the training set
        assert len(alone.steps_) < len(watched.steps_) == watched.n_iter_
    else:
        np.testing.assert_array_equal(watched.predict(DATA), alone.predict(DATA))


@of_every_ranker
def test_a_saved_ranker_tells_the_same_story(ranker, tmp_path):
    fitted = clone(ranker).fit(DATA, eval_set=HELD_BACK, eval_metric="map(relevant_from=2)")
    fitted.save(tmp_path / "ranker.plackett")
    loaded = pk.load(tmp_path / "ranker.plackett")
    np.testing.assert_array_equal(loaded.predict(DATA), fitted.predict(DATA))
    for name in ("n_iter_", "stop_reason_", "history_", "best_iteration_", "best_score_"):
        assert getattr(loaded, name) == getattr(fitted, name)
