"""Losses of users: fitted like ours, a wrong slope is named, and a model file predicts without them."""

import numpy as np
import pytest
from sklearn.base import clone

import plackett as pk
from plackett.losses import AbsentLoss, ListMLE, Loss, get_loss

DATA = pk.datasets.make_web_like(30, 12, 5, random_state=0)


class OwnSquared(Loss):
    ignores_shifts, is_pointwise = False, True

    def value_and_slope(self, scores, queries):
        error = scores - queries.labels
        return 0.5 * error @ error, error


class PlainSquared:
    """The same, without our base class."""

    ignores_shifts, is_pointwise, is_convex = False, True, True

    def value_and_slope(self, scores, queries):
        error = scores - queries.labels
        return 0.5 * error @ error, error


class Doubled(ListMLE):
    """A change of one of ours, by the method of the base class."""

    def value_and_slope(self, scores, queries):
        value, slope = super().value_and_slope(scores, queries)
        return 2 * value, 2 * slope


class WrongSlope(OwnSquared):
    def value_and_slope(self, scores, queries):
        value, slope = super().value_and_slope(scores, queries)
        return value, 1.1 * slope


@pytest.mark.parametrize("loss", [OwnSquared(), PlainSquared()], ids=["derived", "plain"])
def test_an_own_loss_fits_like_the_same_loss_of_ours(loss):
    own = pk.LinearRanker(loss=loss, tol=1e-10).fit(DATA)
    ours = pk.LinearRanker(loss="squared", tol=1e-10).fit(DATA)
    np.testing.assert_allclose(own.coef_, ours.coef_, atol=1e-7)
    np.testing.assert_allclose(own.intercept_, ours.intercept_, atol=1e-7)


def test_weights_of_queries_count():
    weights = np.arange(1.0, DATA.n_queries + 1)
    own = pk.LinearRanker(loss=PlainSquared(), tol=1e-10).fit(DATA, sample_weight=weights)
    ours = pk.LinearRanker(loss="squared", tol=1e-10).fit(DATA, sample_weight=weights)
    np.testing.assert_allclose(own.coef_, ours.coef_, atol=1e-7)


def test_trees_and_nets_take_an_own_loss():
    own, ours = (pk.TreeRanker(loss=loss, n_rounds=5).fit(DATA).predict(DATA) for loss in (Doubled(), "listmle"))
    assert np.corrcoef(own, ours)[0, 1] > 0.9  # its curvature is a constant
    pytest.importorskip("torch")
    nets = [pk.NeuralRanker(loss=loss, n_epochs=2, random_state=0).fit(DATA) for loss in (OwnSquared(), "squared")]
    np.testing.assert_allclose(nets[0].predict(DATA), nets[1].predict(DATA), rtol=1e-3, atol=1e-4)


def test_an_overridden_value_and_slope_replaces_everything_inherited():
    loss = Doubled()
    assert [loss.has_native, loss.has_curvature_product, loss.has_curvature_bound] == [False] * 3
    scores = np.random.default_rng(0).normal(size=DATA.n_docs)
    slope = np.empty(DATA.n_docs)
    values = loss.query_values(scores, DATA.lists, slope)
    value, expected = ListMLE().value_and_slope(scores, DATA)
    np.testing.assert_allclose(values.sum(), 2 * value)
    np.testing.assert_allclose(slope, 2 * expected)
    twice, once = pk.LinearRanker(loss=loss, l2=0.02, tol=1e-9), pk.LinearRanker(l2=0.01, tol=1e-9)
    np.testing.assert_allclose(twice.fit(DATA).coef_, once.fit(DATA).coef_, atol=1e-6)


@pytest.mark.parametrize("ranker", [pk.LinearRanker, pk.KernelRanker, pk.TreeRanker], ids=lambda cls: cls.__name__)
def test_a_wrong_slope_is_told_as_such(ranker):
    with pytest.raises(ValueError, match=r"slope of WrongSlope\(\) is not the derivative of its value.*check_loss"):
        ranker(loss=WrongSlope()).fit(DATA)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda scores: 1.0, "must return \\(value, slope\\), not a float"),
        (lambda scores: (1.0, scores[1:]), "a slope of shape \\(11,\\), not \\(12,\\)"),
        (lambda scores: (np.nan, scores), "both must be finite"),
        (lambda scores: (1.0, np.full(scores.size, np.inf)), "both must be finite"),
    ],
    ids=["no slope", "short slope", "NaN", "infinite"],
)
def test_a_wrong_answer_is_named(answer, message):
    class Odd(Loss):
        def value_and_slope(self, scores, queries):
            return answer(scores)

    with pytest.raises(ValueError, match=message):
        pk.LinearRanker(loss=Odd()).fit(DATA)


def test_a_loss_without_either_method_is_named():
    class Empty(Loss):
        pass

    with pytest.raises(NotImplementedError, match="Empty has neither value_and_slope nor query_values"):
        Empty().value_and_slope(np.zeros(DATA.n_docs), DATA)
    with pytest.raises(ValueError, match="loss=PlainSquared is a class; pass an object"):
        pk.LinearRanker(loss=PlainSquared).fit(DATA)


@pytest.mark.parametrize("loss", [OwnSquared(), PlainSquared()], ids=["derived", "plain"])
@pytest.mark.parametrize(
    "ranker",
    [pk.LinearRanker(), pk.KernelRanker(), pk.TreeRanker(n_rounds=3)],
    ids=lambda ranker: type(ranker).__name__,
)
def test_a_model_file_predicts_without_the_class_of_its_loss(ranker, loss, tmp_path):
    ranker = clone(ranker).set_params(loss=loss).fit(DATA)
    ranker.save(tmp_path / "own.plackett")
    assert ranker.loss is loss
    loaded = pk.load(tmp_path / "own.plackett")
    np.testing.assert_array_equal(loaded.predict(DATA), ranker.predict(DATA))
    assert loaded.loss == AbsentLoss(f"{type(loss).__name__}()")
    with pytest.raises(
        ValueError, match=rf"fitted with the loss {type(loss).__name__}\(\), which a model file does not"
    ):
        loaded.fit(DATA)
    loaded.set_params(loss=loss).fit(DATA)


def test_compare_takes_an_own_loss_in_worker_processes():
    rankers = {"own": pk.LinearRanker(loss=PlainSquared()), "ours": pk.LinearRanker(loss="squared")}
    result = pk.compare(rankers, DATA, cv=2, n_jobs=2)
    np.testing.assert_allclose(result.tables["own"]["ndcg@10"], result.tables["ours"]["ndcg@10"], atol=1e-9)


def test_an_installed_package_adds_a_loss(tmp_path, monkeypatch):
    from plackett import _plugins

    (tmp_path / "far_losses.py").write_text(
        "class Far:\n    ignores_shifts = False\n"
        "    def value_and_slope(self, scores, queries):\n"
        "        error = scores - queries.labels\n        return 0.5 * error @ error, error\n"
    )
    about = tmp_path / "far-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: far\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[plackett.losses]\nfar = far_losses:Far\ntorn = far_losses:Missing\n")
    monkeypatch.syspath_prepend(tmp_path)
    _plugins.plugins.cache_clear()
    try:
        assert "far" in pk.losses.loss_names()
        assert repr(get_loss("far")) == "Far()"
        pk.LinearRanker(loss="far").fit(DATA)
        with pytest.raises(ImportError, match="'torn' is provided by the package far as far_losses:Missing"):
            get_loss("torn")
    finally:
        _plugins.plugins.cache_clear()


class PlainHinge:
    """Pairs by a loop over one query; convex, with kinks."""

    ignores_shifts, is_convex, is_smooth = True, True, False

    def value_and_slope(self, scores, queries):
        short = 1.0 - (scores[:, None] - scores[None, :])
        is_active = (queries.labels[:, None] > queries.labels[None, :]) & (short > 0)
        return [(short * is_active).sum(), is_active.sum(axis=0) - is_active.sum(axis=1)]


class DoubledHinge(pk.losses.Pairwise):
    def __init__(self):
        super().__init__("hinge")

    def value_and_slope(self, scores, queries):
        value, slope = super().value_and_slope(scores, queries)
        return 2 * value, 2 * slope


class VectorisedDouble(ListMLE):
    def query_values(self, scores, lists, slope):
        values = super().query_values(scores, lists, slope)
        slope *= 2
        return 2 * values


@pytest.mark.parametrize("loss", [PlainHinge(), DoubledHinge()], ids=["plain", "derived"])
def test_an_own_loss_with_kinks_is_fitted(loss):
    assert not get_loss(loss).has_smoothing  # not even the derived one: that of its base is of another function
    ranker = pk.LinearRanker(loss=loss, random_state=0).fit(DATA)
    assert ranker.score(DATA) > pk.evaluate(DATA, np.zeros(DATA.n_docs))["ndcg@10"].mean() + 0.1
    with pytest.raises(ValueError, match='Try solver="sgd"'):
        pk.LinearRanker(loss=loss, solver="newton").fit(DATA)
    with pytest.raises(ValueError, match='Try solver="sgd"'):
        pk.LinearRanker(loss=loss, solver="lbfgs").fit(DATA)


def test_a_vectorised_change_does_not_inherit_the_curvature():
    twice, once = pk.LinearRanker(loss=VectorisedDouble(), l2=0.02, tol=1e-9), pk.LinearRanker(l2=0.01, tol=1e-9)
    assert not VectorisedDouble().has_curvature_product
    np.testing.assert_allclose(twice.fit(DATA).coef_, once.fit(DATA).coef_, atol=1e-6)


def test_a_plain_loss_sees_one_query_at_a_time():
    order = np.random.default_rng(0).permutation(DATA.n_docs)
    mixed = pk.Queries(DATA.X[order], DATA.labels[order], DATA.qid[order])
    scores = np.random.default_rng(1).normal(size=DATA.n_docs)
    ours = pk.losses.Pairwise("hinge", normalize="none")
    for data, given in ((DATA, scores), (mixed, scores[order])):
        (value, slope), (expected, expected_slope) = (
            get_loss(loss).value_and_slope(given, data) for loss in (PlainHinge(), ours)
        )
        np.testing.assert_allclose(value, expected)
        np.testing.assert_allclose(slope, expected_slope)


def test_a_wrong_ignores_shifts_is_an_error():
    class Forgotten(Loss):  # the base class has ignores_shifts = True
        def value_and_slope(self, scores, queries):
            error = scores - queries.labels
            return 0.5 * error @ error, error

    with pytest.raises(ValueError, match=r"ignores_shifts of Forgotten\(\) is True.*Set ignores_shifts = False"):
        pk.LinearRanker(loss=Forgotten()).fit(DATA)


def test_selections_name_plain_losses_and_say_how_they_get_parameters():
    class Scaled(PlainSquared):
        def __init__(self, scale=1.0):
            self.scale = scale

    found = pk.select(pk.LinearRanker(), DATA, {"loss": [PlainSquared()]}, cv=2)
    assert "loss=PlainSquared()" in repr(found)
    with pytest.raises(ValueError, match=r"no parameter 'loss__scale'.*must derive from plackett\.losses\.Loss"):
        pk.select(pk.LinearRanker(loss=Scaled()), DATA, {"loss__scale": [1.0, 2.0]}, cv=2)
