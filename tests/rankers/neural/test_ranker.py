"""NeuralRanker: what LinearRanker finds when it is linear, and what only a net can."""

import contextlib
import importlib
import re
import sys
import types

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import plackett as pk
from plackett.data.queries import QueryLists
from plackett.rankers.base import Interrupted
from plackett.rankers.monitor import FitMonitor, ValidationSet

torch = pytest.importorskip("torch", reason="nets need PyTorch: pip install 'plackett[neural]'")

from plackett.rankers.neural import batches, training  # noqa: E402  they import torch
from plackett.rankers.neural.adam import Adam  # noqa: E402


def short_lists():
    """Lists of 5 to 24 documents with columns of one scale, so that fits are quick."""
    long = pk.datasets.make_web_like(40, n_features=5, random_state=0)
    place = np.arange(long.n_docs) - np.repeat(long.indptr[:-1], np.diff(long.indptr))
    is_kept = place < np.repeat(5 + np.arange(40) % 20, np.diff(long.indptr))
    X = long.X[is_kept].astype(float)
    return pk.Queries((X - X.mean(axis=0)) / X.std(axis=0), long.y[is_kept], long.qid[is_kept])


DATA = short_lists()
TRAIN, HELD = DATA[:28], DATA[28:]


def made(**params):
    return pk.NeuralRanker(**{"hidden": (8,), "n_epochs": 3, "random_state": 0, **params})


def exact(**params):
    """Adam over all queries in double precision, without scaling."""
    precise = {"batch_size": None, "learning_rate": 0.1, "precision": "float64", "normalize": None, "l2": 1e-2}
    return made(**{**precise, "n_epochs": 400, **params})


# ---- the optimum -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["listmle", "p-listmle", "cs-listmle", "listnet", "squared"])
def test_a_linear_net_reaches_the_optimum_of_the_linear_ranker(loss):
    weights = np.random.default_rng(0).uniform(0.5, 2.0, TRAIN.n_queries)
    linear = pk.LinearRanker(loss=loss, l2=1e-2, tol=1e-8).fit(TRAIN, sample_weight=weights)
    net = exact(loss=loss, hidden=()).fit(TRAIN, sample_weight=weights)
    np.testing.assert_allclose(net.weights_["output.weight"][0], linear.coef_, atol=1e-2)
    np.testing.assert_allclose(net.weights_.get("output.bias", [0.0]), [linear.intercept_], atol=1e-2)
    assert net.objective_ == pytest.approx(linear.objective_, rel=1e-4)
    np.testing.assert_allclose(net.predict(HELD), linear.predict(HELD), atol=5e-2)


def test_adam_takes_the_steps_of_its_paper():
    start, l2 = np.array([1.0, -2.0, 0.5]), 0.1
    pulls = np.random.default_rng(0).normal(size=(6, 3))
    tensors = [torch.tensor(start) for _ in range(2)]
    adam = Adam(tensors[:1], tensors[1:], learning_rate=0.02, l2=l2)
    expected, means, squares = np.stack([start, start]), np.zeros((2, 3)), np.zeros((2, 3))
    for n, pull in enumerate(pulls, 1):
        for tensor in tensors:
            tensor.grad = torch.tensor(pull)
        adam.step()
        gradient = pull + np.array([[l2], [0.0]]) * expected
        means, squares = 0.9 * means + 0.1 * gradient, 0.999 * squares + 0.001 * gradient**2
        expected = expected - 0.02 * means / (1 - 0.9**n) / (np.sqrt(squares / (1 - 0.999**n)) + 1e-8)
    np.testing.assert_allclose(np.stack([tensor.numpy() for tensor in tensors]), expected, rtol=1e-12)


def test_a_net_learns_what_no_line_can():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = (np.abs(X[:, 0]) > 1).astype(int) + (np.abs(X[:, 0]) > 0.4)  # far from 0 on either side
    data = pk.Queries(X, y, np.repeat(np.arange(30), 20))
    net = made(hidden=(16,), n_epochs=60, learning_rate=0.02, batch_size=8).fit(data)
    assert net.score(data) > 0.97
    assert pk.LinearRanker().fit(data).score(data) < 0.85


@pytest.mark.parametrize("loss", pk.losses.loss_names())
def test_every_loss_falls(loss):
    ranker = made(loss=loss, n_epochs=8, batch_size=7, learning_rate=0.01).fit(TRAIN)
    assert len(ranker.history_["objective"]) == ranker.n_iter_ == 8
    assert ranker.history_["objective"][-1] < ranker.history_["objective"][0]
    assert ranker.stop_reason_ == "n_epochs reached"


def test_losses_that_draw_are_repeated_by_a_seed():
    loss = pk.losses.ListMLE(ties="random")
    first, second = (made(loss=loss, batch_size=7).fit(TRAIN) for _ in range(2))
    np.testing.assert_array_equal(first.predict(HELD), second.predict(HELD))


# ---- batches -----------------------------------------------------------------------------------------------------


def test_taken_queries_have_the_order_and_levels_that_sorting_would_give():
    rng = np.random.default_rng(0)
    indptr = np.append(0, np.cumsum(rng.integers(0, 9, 30)))
    lists = QueryLists(rng.integers(0, 3, indptr[-1]).astype(float), indptr)
    for size in (0, 1, 7, 30):
        queries = rng.permutation(30)[:size]
        rows, taken = batches.take_queries(lists, queries)
        fresh = QueryLists(lists.labels[rows], taken.indptr)
        expected = [np.arange(indptr[q], indptr[q + 1]) for q in queries]
        np.testing.assert_array_equal(rows, np.concatenate([*expected, np.zeros(0, int)]))
        np.testing.assert_array_equal(taken.labels, fresh.labels)
        np.testing.assert_array_equal(taken.order, fresh.order)
        np.testing.assert_array_equal(taken.levels.bounds, fresh.levels.bounds)
        np.testing.assert_array_equal(taken.levels.indptr, fresh.levels.indptr)


@pytest.mark.parametrize("loss", ["listmle", "p-listmle", "cs-listmle", "hinge"])
def test_gradients_do_not_depend_on_the_composition_of_batches(loss):
    ranker = exact(loss=loss, batch_size=16, attention=1, heads=2, n_epochs=1).fit(TRAIN)
    net = ranker._net(torch.device("cpu"))
    data = batches.TrainingData(TRAIN.X, TRAIN.lists, None, net)
    fit = training.NetFit(net, pk.losses.get_loss(loss), data, l2=0.0)

    @training.at_work(net.device, None, work=0.0)
    def gradient(chosen):
        fit.reset_gradient()
        value = sum(fit.add_gradient(batch, TRAIN.n_queries) for batch in chosen)
        return float(value), np.concatenate([weight.grad.numpy().ravel() for weight in net.weights.values()])

    value, expected = gradient(data.blocks())
    order = np.random.default_rng(1).permutation(TRAIN.n_queries)
    for size in (1, 5, TRAIN.n_queries):
        found, slope = gradient(data.batch(order[start : start + size]) for start in range(0, order.size, size))
        assert found == pytest.approx(value, rel=1e-10)
        np.testing.assert_allclose(slope, expected, rtol=1e-10, atol=1e-10)


def test_blocks_bound_the_memory_and_change_nothing(monkeypatch):
    params = {"attention": 1, "heads": 2, "precision": "float64", "batch_size": None}
    whole = made(**params).fit(TRAIN, eval_set=HELD)
    scores = whole.predict(HELD)
    monkeypatch.setattr(batches, "DOCS_PER_BLOCK", 100)
    np.testing.assert_allclose(whole.predict(HELD), scores, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(made(**params).fit(TRAIN, eval_set=HELD).predict(HELD), scores, atol=1e-8)


# ---- attention ---------------------------------------------------------------------------------------------------


def test_attention_scores_a_list_whatever_the_order_of_its_documents_and_of_lists():
    ranker = made(attention=2, heads=2, precision="float64").fit(TRAIN)
    scores = ranker.predict(HELD.X, qid=HELD.qid)
    shuffled = np.random.default_rng(0).permutation(HELD.n_docs)
    np.testing.assert_allclose(
        ranker.predict(HELD.X[shuffled], qid=HELD.qid[shuffled]), scores[shuffled], rtol=1e-10, atol=1e-10
    )
    alone = np.concatenate([ranker.predict(query) for query in HELD])
    np.testing.assert_allclose(alone, scores, rtol=1e-10, atol=1e-10)
    assert abs(ranker.predict(HELD.X, qid=0) - scores).max() > 1e-6  # one list


def test_attention_can_learn_what_depends_on_the_list():
    """Good is what few documents of the list are like; which sign that is differs from list to list."""
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(30, 1))
    X = np.where(np.arange(8) < 3, signs, -signs).reshape(-1, 1)
    data = pk.Queries(X, np.tile(np.arange(8) < 3, 30).astype(int), np.repeat(np.arange(30), 8))
    params = {"hidden": (8,), "activation": "tanh", "n_epochs": 40, "learning_rate": 0.03, "batch_size": 8}
    assert made(attention=1, heads=2, **params).fit(data).score(data, metric="ndcg@10") > 0.97
    assert made(**params).fit(data).score(data, metric="ndcg@10") < 0.9


# ---- what a fit promises -----------------------------------------------------------------------------------------


def test_a_seed_repeats_a_fit_and_pytorch_s_state_is_left_alone():
    params = {"attention": 1, "heads": 2, "dropout": 0.2, "batch_size": 5}
    torch.manual_seed(3)
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    with torch.no_grad():
        first = made(**params).fit(TRAIN, eval_set=HELD)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads
    torch.manual_seed(4)
    second = made(**params).fit(TRAIN, eval_set=HELD)
    np.testing.assert_array_equal(first.predict(HELD), second.predict(HELD))
    assert first.history_ == second.history_
    assert (
        made(**params, warm_start=True).set_params(random_state=1).fit(TRAIN).predict(HELD) != first.predict(HELD)
    ).any()


def in_double_precision():
    torch.set_default_dtype(torch.float64)
    return contextlib.closing(types.SimpleNamespace(close=lambda: torch.set_default_dtype(torch.float32)))


@pytest.mark.parametrize(
    "surroundings", [torch.inference_mode, lambda: torch.autocast("cpu", torch.bfloat16), in_double_precision]
)
def test_what_others_have_set_in_pytorch_changes_nothing(surroundings):
    params = {"attention": 1, "heads": 2, "dropout": 0.2, "batch_size": 7}
    expected = made(**params).fit(TRAIN, eval_set=HELD).predict(HELD)
    with surroundings():
        found = made(**params).fit(TRAIN, eval_set=HELD).predict(HELD)
    np.testing.assert_array_equal(found, expected)


def test_small_nets_work_on_one_thread_and_large_ones_on_all(monkeypatch):
    before, seen = torch.get_num_threads(), []
    monkeypatch.setattr(training, "n_threads", lambda: before + 1)
    monkeypatch.setattr(training, "run_epoch", lambda *args: seen.append(torch.get_num_threads()) or 1 / 0)
    for hidden in ((1,), (400, 400)):
        with pytest.raises(ZeroDivisionError):
            exact(hidden=hidden).fit(TRAIN)
    assert seen == [1, before + 1]
    assert torch.get_num_threads() == before


def test_the_best_epoch_on_the_validation_set_is_kept():
    ranker = made(n_epochs=200, learning_rate=0.05, patience=4).fit(TRAIN, eval_set=HELD, eval_metric="map")
    history = ranker.history_["map"]
    assert ranker.stop_reason_ == "no improvement on the validation set"
    assert ranker.n_iter_ == len(history) == ranker.best_iteration_ + 4
    assert ranker.best_score_ == max(history) == history[ranker.best_iteration_ - 1]
    assert ranker.score(HELD, metric="map") == pytest.approx(ranker.best_score_)
    lower = made(n_epochs=60, learning_rate=0.05, patience=4).fit(TRAIN, eval_set=HELD, eval_metric="kendall")
    assert lower.best_score_ == min(lower.history_["kendall"]) < max(lower.history_["kendall"])
    assert -lower.score(HELD, metric="kendall") == pytest.approx(lower.best_score_)
    triple = made(n_epochs=5, patience=None).fit(TRAIN, eval_set=(HELD.X, HELD.y, HELD.qid))
    assert len(triple.history_["ndcg@10"]) == 5


def test_an_interrupted_fit_keeps_the_best_so_far(monkeypatch):
    states, record = [], FitMonitor.record

    def keep(self, scores, state, **values):
        states.append(state.copy())
        return record(self, scores, state, **values)

    def interrupt(self, scores):
        if len(states) == 3:
            raise KeyboardInterrupt
        return 1.0 / len(states)  # the first epoch is the best

    monkeypatch.setattr(FitMonitor, "record", keep)
    monkeypatch.setattr(ValidationSet, "mean", interrupt)
    ranker = made(n_epochs=10)
    with pytest.raises(Interrupted, match="its result so far was kept"):
        ranker.fit(TRAIN, eval_set=HELD)
    assert {len(values) for values in ranker.history_.values()} == {ranker.n_iter_} == {2}
    assert ranker.stop_reason_ == "interrupted"
    assert ranker.best_iteration_ == 1
    found = np.concatenate([array.ravel() for array in ranker.weights_.values()])
    np.testing.assert_array_equal(found, states[0].astype(np.float32))


def test_warm_start_goes_on_and_a_fit_that_fails_changes_nothing():
    ranker = made(warm_start=True, batch_size=None, n_epochs=5, patience=None)
    first = ranker.fit(TRAIN).objective_
    assert ranker.stop_reason_ == "n_epochs reached"
    assert ranker.fit(TRAIN).objective_ < first
    scores = ranker.predict(HELD)
    ranker.set_params(hidden=(9,))
    with pytest.raises(ValueError, match=r"warm_start: hidden0.weight must have the shape \(9, 5\) now, but.*\(8, 5\)"):
        ranker.fit(TRAIN)
    np.testing.assert_array_equal(ranker.predict(HELD), scores)


def test_warm_start_leaves_no_layer_behind():
    ranker = made(warm_start=True, hidden=(8, 8), attention=1, heads=2, loss="squared", n_epochs=1).fit(TRAIN)
    for change, name in (({"attention": 0}, "attention0.attend.scale"), ({"hidden": (8,)}, "hidden1.weight")):
        with pytest.raises(ValueError, match=f"warm_start: the last fit left {name}, which this net does not have"):
            clone(ranker).set_params(warm_start=False).fit(TRAIN).set_params(warm_start=True, **change).fit(TRAIN)
    assert "output.bias" in ranker.weights_
    assert "output.bias" not in ranker.set_params(loss="listmle").fit(TRAIN).weights_  # but a bias orders nothing


def test_parameters_that_change_after_a_fit_wait_for_the_next():
    ranker = made(attention=1, heads=2, precision="float64").fit(TRAIN)
    scores = ranker.predict(HELD)
    assert ranker.layers_ == {"hidden": (8,), "activation": "relu", "attention": 1, "heads": 2}
    for change in ({"activation": "tanh"}, {"heads": 4}, {"attention": 0}, {"hidden": 3}, {"precision": "float32"}):
        np.testing.assert_array_equal(ranker.set_params(**change).predict(HELD), scores)
    np.testing.assert_array_equal(ranker.set_params(hidden="wide", normalize=None).predict(HELD), scores)
    with pytest.raises(ValueError, match="device='tpu' is not known"):  # where to compute is asked at once
        ranker.set_params(device="tpu").predict(HELD)
    ranker.set_params(hidden=3, normalize="zscore", device="cpu").fit(TRAIN)
    assert ranker.layers_ == {"hidden": (3,), "activation": "tanh", "attention": 0, "heads": 4}
    expected = made(hidden=3, activation="tanh").fit(TRAIN)
    np.testing.assert_array_equal(ranker.predict(HELD), expected.predict(HELD))


def test_weights_of_queries_count_as_copies_would():
    counts = np.where(np.arange(TRAIN.n_queries) % 3 == 0, 2, 1)
    copies = [TRAIN, TRAIN[counts == 2]]
    X, y = (np.concatenate([getattr(part, name) for part in copies]) for name in ("X", "y"))
    qid = np.concatenate([copies[0].qid, copies[1].qid + 10**6])
    weighted = exact(hidden=()).fit(TRAIN, sample_weight=counts)
    copied = exact(hidden=()).fit(X, y, qid=qid)
    np.testing.assert_allclose(weighted.predict(HELD), copied.predict(HELD), atol=1e-5)
    by_row = made(batch_size=5).fit(
        TRAIN.X, TRAIN.y, qid=TRAIN.qid, sample_weight=np.repeat(counts, np.diff(TRAIN.indptr))
    )
    np.testing.assert_array_equal(
        by_row.predict(HELD), made(batch_size=5).fit(TRAIN, sample_weight=counts).predict(HELD)
    )


def test_rows_may_come_in_any_order_and_sparse():
    order = np.random.default_rng(0).permutation(TRAIN.n_docs)
    params = {"precision": "float64", "batch_size": None}
    mixed = made(**params).fit(TRAIN.X[order], TRAIN.y[order], qid=TRAIN.qid[order])
    plain = made(**params).fit(TRAIN)
    np.testing.assert_allclose(mixed.predict(HELD), plain.predict(HELD), atol=1e-8)
    np.testing.assert_allclose(mixed.predict(TRAIN.X[order], qid=TRAIN.qid[order]), mixed.predict(TRAIN)[order])
    X = np.maximum(TRAIN.X, 0.0)
    dense, csr = (made(normalize=None, batch_size=6).fit(of, TRAIN.y, qid=TRAIN.qid) for of in (X, sparse.csr_array(X)))
    np.testing.assert_allclose(csr.predict(sparse.csr_array(X)), dense.predict(X), rtol=1e-5)
    with pytest.raises(ValueError, match=r'X is sparse, and normalize="zscore" \(StandardScaler\) would make it dense'):
        made().fit(sparse.csr_array(X), TRAIN.y, qid=TRAIN.qid)
    made(normalize=MaxAbsScaler()).fit(sparse.csr_array(X), TRAIN.y, qid=TRAIN.qid).predict(sparse.csr_array(X))


def test_rows_that_may_not_be_written_are_left_alone():
    X = TRAIN.X.astype(np.float32)
    X.flags.writeable = False
    before = X.copy()
    scores = made(normalize=None, batch_size=None).fit(X, TRAIN.y, qid=TRAIN.qid).predict(X)
    np.testing.assert_array_equal(X, before)
    expected = made(normalize=None, batch_size=None).fit(before, TRAIN.y, qid=TRAIN.qid).predict(before)
    np.testing.assert_array_equal(scores, expected)


def test_scores_that_overflow_say_what_to_do(monkeypatch):
    ranker = made(learning_rate=1e30, n_epochs=20)
    with pytest.raises(ValueError, match=r"overflowed in epoch \d.*Lower learning_rate \(it is 1e\+30\)"):
        ranker.fit(TRAIN)
    assert not hasattr(ranker, "weights_")
    for beyond in ({"learning_rate": 1e39}, {"l2": 1e39}):  # float32 cannot hold them
        with pytest.raises(ValueError, match="in epoch 1"):
            made(**beyond).fit(TRAIN)

    def last_step_is_too_long(fit, *args):
        fit.net.weights["output.weight"].data.fill_(torch.nan)
        return 1.0

    monkeypatch.setattr(training, "run_epoch", last_step_is_too_long)
    with pytest.raises(ValueError, match="in epoch 1"):
        made(n_epochs=1).fit(TRAIN)


def test_a_score_beyond_all_numbers_is_no_score():
    ranker, X = made().fit(TRAIN), HELD.X.copy()
    X[3, 2] = 1e300
    order = np.arange(HELD.n_docs)[::-1]
    with pytest.raises(ValueError, match=r'row 3 overflowed.*Clip them, or fit with precision="float64"'):
        ranker.predict(X, qid=HELD.qid)
    with pytest.raises(ValueError, match=rf"row {HELD.n_docs - 4} overflowed"):
        ranker.predict(X[order], qid=np.roll(HELD.qid, 1)[order])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"hidden": "64"}, "hidden='64'; it must be a list of widths"),
        ({"hidden": 0.5}, "hidden=0.5; it must be a list of widths"),
        ({"hidden": (0,)}, "a width in hidden"),
        ({"hidden": iter((8, 4))}, "must be a list of widths"),
        ({"activation": "sine"}, "activation"),
        ({"dropout": 1.0}, "dropout=1.0 must be below 1"),
        ({"attention": -1}, "attention=-1; it must be a number of layers"),
        ({"attention": 1, "hidden": ()}, r"multiple of heads=4; hidden is \(\)"),
        ({"attention": 1, "hidden": (6,)}, r"multiple of heads=4; hidden is \(6,\)"),
        ({"precision": "half"}, "precision"),
        ({"device": "tpu"}, "device='tpu' is not known"),
        ({"learning_rate": 0}, "learning_rate"),
        ({"batch_size": 0}, "batch_size"),
        ({"n_epochs": 0}, "n_epochs"),
        ({"loss": "hinges"}, "loss='hinges' is not known"),
    ],
)
def test_wrong_parameters_are_named(params, message):
    with pytest.raises(ValueError, match=message):
        made(**params).fit(TRAIN)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_device_that_is_missing_is_named_in_fit_and_done_without_in_predict():
    with pytest.raises(ValueError, match='device="cuda", but PyTorch finds no CUDA device'):
        made(device="cuda").fit(TRAIN)
    ranker = made().fit(TRAIN)
    scores = ranker.predict(HELD)
    np.testing.assert_array_equal(ranker.set_params(device="cuda:1").predict(HELD), scores)


def test_a_device_beyond_the_last_is_named(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert training.choose_device("cuda:1") == torch.device("cuda:1")
    with pytest.raises(ValueError, match='device="cuda:2", but the last of the 2 CUDA devices here is "cuda:1"'):
        training.choose_device("cuda:2")


def test_a_full_device_says_what_to_lower():
    with (
        pytest.raises(MemoryError, match=r"memory of cuda is full. Lower batch_size \(it is 64\)"),
        training.at_work(torch.device("cuda"), 64),
    ):
        raise torch.cuda.OutOfMemoryError


def test_one_hidden_layer_may_be_given_by_its_width():
    expected = made(hidden=[8]).fit(TRAIN).predict(HELD)
    for hidden in (8, np.int64(8), np.array([8])):
        np.testing.assert_array_equal(made(hidden=hidden).fit(TRAIN).predict(HELD), expected)


WEIGHTS_ARE_OF_QUERIES = "a query is weighted as a whole; the check gives documents of one list different weights"


@parametrize_with_checks(
    [pk.NeuralRanker(hidden=4, n_epochs=3, random_state=0)],
    expected_failed_checks=lambda ranker: {
        "check_dataframe_column_names_consistency": "a frame's columns are taken by name, in any order",
        "check_sample_weights_not_overwritten": WEIGHTS_ARE_OF_QUERIES,
        "check_sample_weight_equivalence_on_dense_data": WEIGHTS_ARE_OF_QUERIES,
    },
)
def test_scikit_learn_s_checks_pass(estimator, check):
    check(estimator)


def test_searches_and_pipelines_pass_qid_on():
    pipeline = make_pipeline(StandardScaler(), made(normalize=None, attention=1))
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(pipeline, {"neuralranker__hidden": [(4,), (8, 4)]}, cv=GroupKFold(2), error_score="raise")
        search.fit(TRAIN.X, TRAIN.y, qid=TRAIN.qid, groups=TRAIN.qid)
        found = search.best_estimator_.predict(HELD.X, qid=HELD.qid)
    expected = made(hidden=search.best_params_["neuralranker__hidden"], attention=1).fit(TRAIN)
    np.testing.assert_allclose(found, expected.predict(HELD), atol=1e-5)


# ---- files -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("params", [{"attention": 1, "heads": 2}, {"precision": "float64", "loss": "squared"}], ids=str)
def test_a_saved_net_predicts_the_same(params, tmp_path):
    ranker = made(**params).fit(TRAIN)
    ranker.save(tmp_path / "net.plackett")
    loaded = pk.load(tmp_path / "net.plackett")
    assert repr(loaded) == repr(ranker)
    np.testing.assert_array_equal(loaded.predict(HELD), ranker.predict(HELD))
    np.testing.assert_array_equal(loaded.fit(TRAIN).predict(HELD), clone(ranker).fit(TRAIN).predict(HELD))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: r.weights_.pop("hidden0.bias"), "the shapes of layers_"),
        (lambda r: r.weights_.update({"more": np.zeros(2, np.float32)}), "the shapes of layers_"),
        (lambda r: r.weights_.update({"output.weight": np.zeros((1, 9), np.float32)}), "the shapes of layers_"),
        (
            lambda r: r.weights_.update({"output.weight": np.zeros((1, 8))}),
            "must hold arrays of float32, or of float64",
        ),
        (lambda r: r.weights_["hidden0.bias"].fill(np.nan), "must be an array of finite numbers"),
        (lambda r: r.weights_.update({"output.weight": 3.0}), "must hold arrays of float32, or of float64"),
        (lambda r: r.weights_.clear(), "must hold arrays of float32, or of float64"),
        (lambda r: setattr(r, "weights_", [1.0]), "weights_ must hold arrays by their names"),
        (lambda r: r.layers_.update(hidden="wide"), "hidden='wide'; it must be a list"),
        (lambda r: r.layers_.update(hidden=(9,)), "the shapes of layers_"),
        (lambda r: r.layers_.update(activation="sine"), "activation"),
        (lambda r: r.layers_.update(activation=["relu"]), "activation"),
        (lambda r: r.layers_.update(heads=0), "heads"),
        (lambda r: r.layers_.pop("heads"), "layers_ must define hidden, activation, attention and heads"),
        (lambda r: delattr(r, "layers_"), "layers_ must define hidden, activation, attention and heads"),
        (lambda r: setattr(r, "device", "http://x"), "device"),
        (lambda r: r.layers_.update(attention=10**12), "the shapes of layers_"),
        (lambda r: setattr(r, "n_features_in_", 6), "weights_ must have the shapes of layers_"),
        (lambda r: setattr(r, "mean_row_", np.zeros(6)), "mean_row_ must have 5 numbers"),
        (lambda r: setattr(r, "mean_row_", np.full(5, np.inf)), "mean_row_ must be a vector of finite numbers"),
    ],
)
def test_a_file_with_the_wrong_weights_is_refused(change, message, tmp_path):
    ranker = made(normalize=None).fit(TRAIN)
    change(ranker)
    ranker.save(tmp_path / "net.plackett")
    with pytest.raises(pk.exceptions.ModelFormatError, match=message):
        pk.load(tmp_path / "net.plackett")


def test_without_pytorch_a_fit_and_a_prediction_say_what_to_install(tmp_path, monkeypatch):
    made().fit(TRAIN).save(tmp_path / "net.plackett")
    import_module = importlib.import_module

    def without_torch(name, package=None):
        if name == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")
        return import_module(name, package)

    monkeypatch.setattr(importlib, "import_module", without_torch)
    monkeypatch.delitem(sys.modules, "plackett.losses.backends.torch")
    needs = re.escape("needs torch. Install it with: pip install 'plackett[neural]'")
    with pytest.raises(ModuleNotFoundError, match=f"^NeuralRanker {needs}"):
        made().fit(TRAIN)
    loaded = pk.load(tmp_path / "net.plackett")
    with pytest.raises(ModuleNotFoundError, match=f"^NeuralRanker {needs}"):
        loaded.predict(HELD)
    with pytest.raises(ModuleNotFoundError, match=rf"^as_torch\(\) {needs}"):
        pk.losses.ListMLE().as_torch()


# ---- on a GPU, where there is one --------------------------------------------------------------------------------


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
@pytest.mark.parametrize("params", [{}, {"attention": 1, "heads": 2}, {"loss": "hinge"}, {"dropout": 0.1}], ids=str)
def test_cuda_repeats_itself_and_agrees_with_the_processor(params):
    fits = [
        made(device="cuda", precision="float64", batch_size=5, **params).fit(TRAIN, eval_set=HELD) for _ in range(2)
    ]
    np.testing.assert_array_equal(fits[0].predict(HELD), fits[1].predict(HELD))
    if "dropout" not in params:  # each device draws its own
        host = made(device="cpu", precision="float64", batch_size=5, **params).fit(TRAIN, eval_set=HELD)
        np.testing.assert_allclose(fits[0].predict(HELD), host.predict(HELD), atol=1e-6)
