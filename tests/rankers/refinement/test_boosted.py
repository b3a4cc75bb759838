"""MRR and LRR against matrices over all pairs, their bounds, explanations and files."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import plackett as pk
from plackett import _native
from plackett.exceptions import ModelFormatError
from plackett.rankers.refinement.boosted import LinearRefiner, MultiplicativeRefiner
from tests.rankers.refinement import literal_refinement as literal
from tests.rankers.refinement.refined_lists import BOOSTED, make_list, make_queries, of_class


def rounds_of(refiner, place=0):
    """Stumps and weights of a query."""
    steps = refiner.steps_[refiner.steps_indptr_[place] : refiner.steps_indptr_[place + 1]]
    return steps[["feature", "threshold", "is_above"]].tolist(), steps["weight"]


@pytest.mark.parametrize("gamma", [None, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("eta", [0.5, 0.1, 0.0])
@pytest.mark.parametrize("confidence", [None, 0.0, 3.0])
@pytest.mark.parametrize("seed", range(4))
def test_rounds_equal_those_with_matrices(gamma, eta, confidence, seed):
    X, base, y = make_list(seed)
    params = {"n_rounds": 15, "eta": eta, "confidence": confidence}
    refiner = MultiplicativeRefiner(**params) if gamma is None else LinearRefiner(gamma=gamma, **params)
    refiner.fit(X, y, base_score=base)
    F, rounds = literal.refine(X, base, literal.pairs_of_labels(y), gamma=gamma, **params)
    stumps, weights = rounds_of(refiner)
    assert stumps == rounds["stump"]
    np.testing.assert_allclose(weights, rounds["alpha"], atol=1e-9)
    history = refiner.history_[0]
    for name in ("alpha", "theta", "mu", "nu", "err_w", "err_t"):
        np.testing.assert_allclose(history[name], rounds[name], rtol=1e-9, err_msg=name)
    np.testing.assert_allclose(history["L_p" if gamma is None else "L_a"], rounds["loss"], rtol=1e-9)
    np.testing.assert_allclose(refiner.scores_, F, atol=1e-6)  # ties are settled within that
    np.testing.assert_allclose(refiner._score_query(0, X, None), F, atol=1e-9)


@pytest.mark.parametrize("gamma", [None, 1.0])
def test_explicit_pairs_equal_those_of_the_matrix(gamma):
    X, base, _ = make_list(3)
    pairs = [(4, 1), (1, 4), (2, 9), (9, 11), (2, 9), (16, 0)]  # one contradicts another, one is given twice
    refiner = MultiplicativeRefiner(eta=0.1) if gamma is None else LinearRefiner(gamma=gamma, eta=0.1)
    refiner.fit(X, base_score=base, pairs=pairs)
    F, rounds = literal.refine(X, base, pairs, n_rounds=50, eta=0.1, gamma=gamma)
    np.testing.assert_allclose(refiner.history_[0]["alpha"], rounds["alpha"], atol=1e-9)
    np.testing.assert_allclose(refiner._score_query(0, X, None), F, atol=1e-9)


@pytest.mark.parametrize("refiner", BOOSTED, **of_class)
def test_pairs_of_labels_do_what_the_labels_do(refiner):
    X, base, y, qid = make_queries()
    by_labels = clone(refiner).fit(X, y, base_score=base, qid=qid)
    pairs = [(i, j) for i in range(y.size) for j in range(y.size) if qid[i] == qid[j] and y[i] > y[j]]
    better, worse = zip(*pairs, strict=True)
    for given_as in (pairs, np.array(pairs), (better, worse)):
        by_pairs = clone(refiner).fit(X, base_score=base, qid=qid, pairs=given_as)
        np.testing.assert_allclose(by_pairs.scores_, by_labels.scores_, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(2, 30),
    eta=st.sampled_from([0.0, 0.01, 0.1, 0.5, 1.0]),
    confidence=st.sampled_from([None, 0.0, 0.3, 20.0]),
)
def test_the_objective_falls_and_keeps_its_bounds(seed, n, eta, confidence):
    X, base, y = make_list(seed, n=n, n_judged=min(n, 8))
    refiner = MultiplicativeRefiner(n_rounds=10, eta=eta, confidence=confidence).fit(X, y, base_score=base)
    history = refiner.history_[0]
    losses = np.concatenate([[history["start"]], history["L_p"]])
    assert (np.diff(losses) <= 1e-12 * losses[:-1]).all()
    n_pairs = len(literal.pairs_of_labels(y))
    start = (0.5 * n * n) * (0.5 * eta * n * n + (1 - eta) * n_pairs)
    np.testing.assert_allclose(history["start"], start)
    eighteen = start * np.exp(-np.cumsum((np.sqrt(history["mu"]) - np.sqrt(history["nu"])) ** 2))
    assert (history["L_p"] <= eighteen * (1 + 1e-9)).all()
    corrected_twenty_two = start * np.exp(-np.cumsum(history["theta"] ** 2) / 4)
    assert (history["L_p"] <= corrected_twenty_two * (1 + 1e-9)).all()


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(2, 40), n_values=st.integers(1, 8))
def test_the_stump_is_the_best_of_all(seed, n, n_values):
    draws = np.random.default_rng(seed)
    columns = draws.integers(0, n_values, size=(3, n)).astype(float)
    pulls = draws.integers(-3, 4, size=n).astype(float)
    pulls -= pulls.mean()
    order = np.argsort(columns, axis=1).astype(np.uint32)
    is_step = np.empty(order.shape, dtype=np.bool_)
    _native.rankers.mark_steps(columns, order, is_step)
    feature, place, below = _native.rankers.best_stump(pulls, order, is_step, np.empty(3))
    thetas = [(pulls[f].sum(), stump) for *stump, f in literal.all_stumps(columns.T)]
    most = max((theta for theta, _ in thetas), default=0.0)
    if most <= 1e-12:
        assert place == -1
        return
    first = next(stump for theta, stump in thetas if theta >= most - 1e-12)
    values = columns[feature][order[feature]]
    assert [feature, 0.5 * (values[place] + values[place + 1]), below < 0] == first
    assert abs(below) == pytest.approx(most)


@pytest.mark.parametrize("refiner", BOOSTED, **of_class)
def test_no_confidence_equals_a_constant_base_score(refiner):
    X, base, y = make_list(2)
    without = clone(refiner).set_params(confidence=0.0).fit(X, y, base_score=base)
    constant = clone(refiner).fit(X, y, base_score=np.full(base.size, 0.1))
    assert rounds_of(without)[0] == rounds_of(constant)[0]
    np.testing.assert_allclose(without._score_query(0, X, None), constant._score_query(0, X, None), atol=1e-12)


@pytest.mark.parametrize("refiner", BOOSTED, **of_class)
def test_nothing_to_learn_from_leaves_the_base_ranking(refiner):
    base = np.array([0.3, 2.0, 1.0, 2.0])
    fitted = clone(refiner).fit(np.full((4, 2), 7.0), [1, 0, np.nan, np.nan], base_score=base)
    assert fitted.steps_.size == 0
    assert fitted.scores_[0] < fitted.scores_[2] < fitted.scores_[1] == fitted.scores_[3]


@pytest.mark.parametrize("refiner", BOOSTED, **of_class)
def test_features_of_one_value_change_nothing_but_the_numbers_of_the_others(refiner):
    X, base, y, qid = make_queries()
    expected = clone(refiner).fit(X, y, base_score=base, qid=qid)
    wide = np.full((base.size, 9), -3.0)
    wide[:, [1, 4, 5, 8]] = X
    fitted = clone(refiner).fit(wide, y, base_score=base, qid=qid)
    np.testing.assert_array_equal(fitted.steps_["feature"], np.array([1, 4, 5, 8])[expected.steps_["feature"]])
    np.testing.assert_array_equal(fitted.scores_, expected.scores_)
    np.testing.assert_array_equal(fitted.predict(wide, qid=qid), expected.scores_)


def test_base_scores_far_apart_and_feedback_that_is_never_wrong_give_finite_weights():
    base = np.array([0.0, 1e6, 2e6, 3e6])
    fitted = MultiplicativeRefiner(eta=0.0, confidence=1.0).fit(base[:, None], [0, 1, 2, 3], base_score=base)
    assert np.isfinite(fitted.steps_["weight"]).all()
    assert (np.diff(fitted.scores_) > 0).all()


@pytest.mark.parametrize(
    "refiner",
    [LinearRefiner(gamma=0.0, eta=0.0), MultiplicativeRefiner(n_rounds=200, eta=0.0, confidence=1e3)],
    **of_class,
)
@pytest.mark.parametrize("estimator", [None, DecisionTreeClassifier(max_depth=1)], ids=["stumps", "trees"])
def test_scores_stay_finite_where_nothing_holds_them(refiner, estimator):
    """Without base ranker and noise every round makes the scores of a right stump grow by the largest weight."""
    base, y = np.arange(6.0), [0, np.nan, np.nan, np.nan, np.nan, 1]
    fitted = clone(refiner).set_params(estimator=estimator).fit(base[:, None], y, base_score=base)
    for values in fitted.history_[0].values():
        assert np.isfinite(values).all()
    assert fitted.scores_[5] > fitted.scores_[0]


def test_neither_base_ranker_nor_feedback():
    X, base, _ = make_list(0)
    fitted = LinearRefiner(gamma=0.0, eta=0.0).fit(X, base_score=base)
    np.testing.assert_array_equal(np.argsort(fitted.scores_), np.argsort(base))


@pytest.mark.parametrize("gamma", [None, 1.0])
def test_a_tree_of_one_split_finds_what_the_stumps_find(gamma):
    """Where the purest split is the best one: with one feature of two values there is only one."""
    X = np.array([[0.0], [0.0], [1.0], [1.0], [1.0]])
    base, y = np.array([5.0, 4.0, 3.0, 2.0, 1.0]), np.array([0, np.nan, 1, np.nan, np.nan])
    refiner = MultiplicativeRefiner() if gamma is None else LinearRefiner(gamma=gamma)
    stumps = clone(refiner).fit(X, y, base_score=base)
    trees = clone(refiner).set_params(estimator=DecisionTreeClassifier(max_depth=1)).fit(X, y, base_score=base)
    assert stumps.steps_.size > 0
    np.testing.assert_allclose(trees.states_, stumps.states_, rtol=1e-12)
    np.testing.assert_allclose(trees.scores_, stumps.scores_, atol=1e-12)


@pytest.mark.parametrize(
    ("estimator", "sample_size"),
    [
        (DecisionTreeClassifier(max_depth=2, max_features=1), None),
        (LogisticRegression(), None),
        (KNeighborsClassifier(3), "paper"),
        (DecisionTreeClassifier(max_depth=1), 15),
        (make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=2, max_features=1)), "paper"),
    ],
)
def test_any_classifier_lowers_the_objective(estimator, sample_size):
    X, base, y, qid = make_queries(3, seed=6)
    refiner = MultiplicativeRefiner(n_rounds=8, estimator=estimator, sample_size=sample_size, random_state=0)
    fitted = clone(refiner).fit(X, y, base_score=base, qid=qid)
    assert fitted.steps_.size > 0
    for history in fitted.history_.values():
        losses = np.concatenate([[history["start"]], history["L_p"]])
        assert losses[1] < losses[0]
        assert (np.diff(losses) <= 1e-12 * losses[:-1]).all()
    np.testing.assert_array_equal(clone(refiner).fit(X, y, base_score=base, qid=qid).scores_, fitted.scores_)
    np.testing.assert_array_equal(fitted.predict(X, qid=qid), fitted.scores_)
    explanation = fitted.explain(X, qid=qid)
    assert explanation.top(0, 1)[0].feature.startswith("round ")


def test_classifiers_are_saved_where_files_can_hold_them(data, feedback, tmp_path):
    fitted = MultiplicativeRefiner(n_rounds=3, estimator=LogisticRegression()).fit(data, feedback, base_score=1)
    fitted.save(tmp_path / "model.plackett")
    np.testing.assert_array_equal(pk.load(tmp_path / "model.plackett").predict(data), fitted.scores_)
    for unsafe in (
        DecisionTreeClassifier(max_depth=1),
        RandomForestClassifier(2),
        SVC(),
        HistGradientBoostingClassifier(max_iter=2),
    ):
        refiner = MultiplicativeRefiner(n_rounds=3, estimator=unsafe).fit(data, feedback, base_score=1)
        with pytest.raises(
            ValueError, match=rf"{type(unsafe).__name__}, which a model file cannot hold .*Linear classifiers"
        ):
            refiner.save(tmp_path / "model.plackett")


def with_field(name, value):
    """A change of steps: a field of the first one has another value."""

    def change(steps):
        changed = steps.copy()
        changed[name][0] = value
        return changed

    return change


@pytest.mark.parametrize(
    ("attribute", "change"),
    [
        ("steps_", with_field("feature", 99)),
        ("steps_", with_field("feature", -1)),
        ("steps_", with_field("threshold", np.nan)),
        ("steps_", with_field("weight", np.inf)),
        ("steps_", lambda steps: steps[:-1]),
        ("steps_", lambda steps: steps[["feature", "weight", "threshold"]]),
        ("steps_", lambda steps: steps["weight"]),
        ("steps_indptr_", lambda bounds: bounds[::-1].copy()),
        ("states_", lambda states: states[:, :2].copy()),
        ("indptr_", lambda bounds: bounds * 2),
        ("query_ids_", lambda ids: ids[:-1]),
        ("base_column_", lambda column: 99),
        ("row_keys_", lambda keys: keys[:-1]),
        ("n_features_in_", lambda n: 5.0),
    ],
)
def test_a_file_that_no_fit_writes_is_refused(attribute, change, data, feedback, tmp_path):
    fitted = MultiplicativeRefiner(n_rounds=3).fit(data, feedback, base_score=1)
    setattr(fitted, attribute, change(getattr(fitted, attribute)))
    fitted.save(tmp_path / "model.plackett")
    with pytest.raises(ModelFormatError):
        pk.load(tmp_path / "model.plackett")
