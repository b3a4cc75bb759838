"""Every loss with every kind of scorer: fits, files, trees of other packages, labels that are real numbers."""

import io

import numpy as np
import pytest

import plackett as pk
from plackett.losses import ApproxNDCG, NeuralNDCG, Pairwise, PLRank, get_loss, loss_names
from tests.losses.moving_weights import LiteralLambda

MADE = pk.datasets.make_web_like(24, 8, 5, random_state=2)
RANDOM = 0.64  # ndcg of a random order, about
RANKERS = {
    "linear": lambda loss: pk.LinearRanker(loss, l2=0.1, normalize="zscore", max_iter=50, random_state=0),
    "kernel": lambda loss: pk.KernelRanker(loss, normalize="zscore", landmarks=12, max_iter=50, random_state=0),
    "trees": lambda loss: pk.TreeRanker(loss, n_rounds=10, min_data_in_leaf=5),
    "neural": lambda loss: pk.NeuralRanker(loss, hidden=(8,), n_epochs=30, learning_rate=0.02, random_state=0),
}
LOSSES = [*loss_names(), LiteralLambda()]
LINEAR = [
    *(name for name in loss_names() if get_loss(name).is_linear_in_labels),
    Pairwise("logistic", "label"),
    Pairwise("hinge", "label"),
    Pairwise(weight="ndcg-loss1", gain="linear", normalize="none"),
    ApproxNDCG(gain="linear", normalize=False),
    NeuralNDCG(gain="linear", normalize=False),
    PLRank(gain="linear", normalize=False),
]


def fitted(kind, loss, queries=MADE):
    if kind == "neural":
        pytest.importorskip("torch")
    if kind == "trees":
        pytest.importorskip("lightgbm")
    return RANKERS[kind](loss).fit(queries)


@pytest.mark.filterwarnings("ignore::plackett.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("kind", RANKERS)
def test_each_loss_teaches_each_ranker(kind, loss):
    ranker = fitted(kind, loss)
    scores = ranker.predict(MADE)
    assert np.isfinite(scores).all()
    metric, least = ("mrr", 0.65) if loss == "approx-mrr" else ("ndcg", RANDOM)  # each about that of a random order
    assert ranker.score(MADE, metric=metric) > least
    if isinstance(loss, str):
        file = io.BytesIO()
        ranker.save(file)
        file.seek(0)
        assert np.array_equal(pk.load(file).predict(MADE), scores)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("form", ["as_lightgbm", "as_xgboost"])
def test_trees_grow_from_equal_scores(form, loss):
    objective = getattr(get_loss(loss), form)(MADE)
    start = 0.0 if get_loss(loss).ignores_shifts else 1.0
    slope, curvature = objective(np.full(MADE.n_docs, start))
    assert (curvature > 0).all()
    assert np.isfinite(slope).all()
    labels = MADE.labels
    assert slope[labels == labels.max()].mean() < slope[labels == 0].mean()  # the best documents rise


@pytest.mark.filterwarnings("ignore::plackett.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("loss", [loss for loss in LOSSES if get_loss(loss).is_smooth], ids=str)
def test_the_order_of_the_rows_changes_nothing(loss):
    order = np.random.default_rng(0).permutation(MADE.n_docs)
    moved = pk.Queries(MADE.X[order], y=MADE.labels[order], qid=MADE.qid[order])
    scores, other = (fitted("linear", loss, data).predict(MADE) for data in (MADE, moved))
    assert other == pytest.approx(scores, rel=1e-3, abs=1e-3 * np.ptp(scores))


# --- labels that are real numbers -------------------------------------------------------------------------------------


def estimated(scale=1.0):
    """Return queries whose labels are unbiased estimates: real numbers, some below 0."""
    noise = np.random.default_rng(5).normal(size=MADE.n_docs)
    return pk.Queries(MADE.X, y=scale * (MADE.labels / 4 + 0.3 * noise), qid=MADE.qid)


@pytest.mark.filterwarnings("ignore::plackett.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("loss", LINEAR, ids=str)
@pytest.mark.parametrize("kind", RANKERS)
def test_labels_may_be_estimates(kind, loss):
    assert get_loss(loss).is_linear_in_labels
    ranker = fitted(kind, loss, estimated())
    assert ranker.score(MADE, metric="ndcg") > RANDOM  # by the labels without noise


def test_estimates_pass_through_files(tmp_path):
    data = estimated()
    pk.write_letor(data, tmp_path / "estimates.txt")
    read = pk.read_letor(tmp_path / "estimates.txt")
    assert np.array_equal(read.labels, data.labels)
    whole, parts = pk.LinearRanker("softmax").fit(read), pk.LinearRanker("softmax").fit(str(tmp_path / "estimates.txt"))
    assert parts.coef_ == pytest.approx(whole.coef_)


def test_unbounded_losses_need_a_penalty():
    data = estimated()
    with pytest.raises(ValueError, match=r"Softmax\(\) is unbounded below for labels from -.* Set l2 above 0"):
        pk.LinearRanker("softmax", l2=0.0).fit(data)
    with pytest.raises(ValueError, match="is unbounded below"):
        pk.LinearRanker("softmax", l2=0.0).fit([data[:10], data[10:]])
    pk.LinearRanker("squared", l2=0.0).fit(data)


# --- names ------------------------------------------------------------------------------------------------------------


def test_losses_are_compared_by_name():
    pytest.importorskip("lightgbm")
    names = ["listmle", "linear:softmax", "trees:lambdarank", "lightgbm"]
    result = pk.compare(names, MADE, cv=2, metrics="ndcg@5")
    assert list(result.tables) == names


def test_a_grid_chooses_the_loss_and_its_settings():
    grid = {"loss": ["listmle", Pairwise("hinge"), "lambdarank"], "l2": [0.1]}
    best = pk.select("linear", MADE[:16], grid, validation=MADE[16:])
    assert len(best.trials) == 3
    best = pk.select("linear:lambdarank", MADE[:16], {"k": [2, 5], "sigma": [1.0, 2.0]}, validation=MADE[16:])
    assert len({trial.value for trial in best.trials}) > 1


def test_a_loss_with_settings_is_saved(tmp_path):
    loss = Pairwise("squared-hinge", "ndcg-loss2++", 5, mu=3.0)
    ranker = pk.LinearRanker(loss).fit(MADE)
    ranker.save(tmp_path / "model.plackett")
    loaded = pk.load(tmp_path / "model.plackett")
    assert loaded.loss == loss
    assert loaded.fit(MADE).coef_ == pytest.approx(ranker.coef_)
