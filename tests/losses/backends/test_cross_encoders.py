"""Losses in the training loops of cross-encoders, with a stand-in for the encoder and with sentence-transformers."""

import importlib.util
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest

import plackett as pk
from plackett.data.queries import QueryLists
from plackett.losses import get_loss, loss_names

torch = pytest.importorskip("torch", reason="losses of tensors need PyTorch: pip install 'plackett[neural]'")

L = pk.losses
LOSSES = [*(get_loss(name) for name in loss_names()), L.ListMLE(ties="efron"), L.PListMLE("dcg")]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)

QUERIES = ["red fox", "blue", "green tree frog", "nothing"]
DOCUMENTS = [
    ["a red fox runs", "the cat", "fox fox", "red", "one fox more", "a blue sea"],
    ["blue sky", "green blue", "a"],
    ["frog on a tree"],
    [],
]
LABELS = [[2.0, 0.0, 2.0, 1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0], []]


class StandIn(torch.nn.Module):
    """A cross-encoder of two weights that counts words; it records the size of each forward pass."""

    num_labels, device = 1, torch.device("cpu")

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor([0.7, -0.2], dtype=torch.float64))
        self.sizes, self.prompts = [], []

    def preprocess(self, pairs, prompt=None, task=None):
        self.sizes.append(len(pairs))
        self.prompts.append((prompt, task))
        rows = [(len({*query.split()} & {*text.split()}), len(text)) for query, text in pairs]
        return {"rows": torch.tensor(rows, dtype=torch.float64), "texts": [text for _, text in pairs]}

    def forward(self, features):
        return {"scores": (features["rows"] @ self.weight)[:, None]}


def load_example(name):
    path = Path(__file__).resolve().parents[3] / "examples" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"example_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def batch(order=None, labels=LABELS, documents=DOCUMENTS):
    """The inputs and labels of a batch, with the documents of each query in another order."""
    rng = None if order is None else np.random.default_rng(order)
    orders = [np.arange(len(each)) if rng is None else rng.permutation(len(each)) for each in documents]
    documents = [[each[place] for place in own] for each, own in zip(documents, orders, strict=True)]
    labels = [torch.tensor([each[place] for place in own]) for each, own in zip(labels, orders, strict=True)]
    return [QUERIES[: len(documents)], documents], labels


def flat_batch():
    """What the stand-in knows of the pairs of the batch, and their lists."""
    pairs = [(query, text) for query, own in zip(QUERIES, DOCUMENTS, strict=True) for text in own]
    lists = QueryLists(np.concatenate(LABELS), np.append(0, np.cumsum([len(each) for each in LABELS])))
    return StandIn().preprocess(pairs)["rows"], lists


def value_and_gradient(module, inputs, labels, **named):
    module.model.zero_grad()
    value = module(inputs, labels, **named)
    value.backward()
    return value.item(), module.model.weight.grad.numpy().copy()


@every_loss
def test_the_value_is_the_mean_loss_of_the_lists(loss):
    module = loss.as_sentence_transformers(StandIn())
    value, gradient = value_and_gradient(module, *batch())
    rows, lists = flat_batch()
    expected, slope = loss.value_and_slope((rows @ module.model.weight).detach().numpy(), lists)
    assert value == pytest.approx(expected / 4, rel=1e-12)
    np.testing.assert_allclose(gradient, rows.numpy().T @ slope / 4, rtol=1e-10, atol=1e-12)


def test_models_of_old_versions_are_refused():
    old = torch.nn.Module()
    old.num_labels, old.tokenizer = 1, str.split
    with pytest.raises(TypeError, match=r"5\.4 or newer"):
        L.ListMLE().as_sentence_transformers(old)


@every_loss
def test_the_order_of_the_documents_has_no_influence(loss):
    """Equal labels are ties: their order in the batch says nothing."""
    module = loss.as_sentence_transformers(StandIn())
    value, gradient = value_and_gradient(module, *batch())
    for order in range(4):
        found, own = value_and_gradient(module, *batch(order))
        assert found == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(own, gradient, rtol=1e-9, atol=1e-12)


@every_loss
def test_the_other_lists_of_a_batch_have_no_influence(loss):
    """Neither a longer list nor an empty one: each list alone adds what it adds to the batch."""
    module = loss.as_sentence_transformers(StandIn())
    value, gradient = value_and_gradient(module, *batch())
    total, sums = 0.0, np.zeros(2)
    for query in range(4):
        alone = [[QUERIES[query]], [DOCUMENTS[query]]], [torch.tensor(LABELS[query])]
        if DOCUMENTS[query]:
            found, own = value_and_gradient(module, *alone)
            total, sums = total + found, sums + own
    assert total / 4 == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(sums / 4, gradient, rtol=1e-9, atol=1e-12)


def test_a_batch_of_empty_lists_costs_nothing():
    module = L.ListMLE().as_sentence_transformers(StandIn())
    value = module([["a", "b"], [[], []]], [torch.tensor([]), torch.tensor([])])
    value.backward()
    assert value.item() == 0.0
    assert module.model.sizes == []


@every_loss
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
def test_an_encoder_on_cuda_has_the_same_gradient(loss):
    value, gradient = value_and_gradient(loss.as_sentence_transformers(StandIn()), *batch())
    model = StandIn().cuda()
    model.device = torch.device("cuda")
    inputs, labels = batch()
    found = loss.as_sentence_transformers(model)(inputs, [each.cuda() for each in labels])
    found.backward()
    assert found.is_cuda
    assert found.item() == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(model.weight.grad.cpu().numpy(), gradient, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(
    ("mini_batch_size", "sizes"), [(None, [4, 4, 2]), (3, [3, 3, 3, 1]), (0, [10]), (-1, [10]), (64, [10])]
)
def test_mini_batches_limit_the_pairs_of_a_forward_pass(mini_batch_size, sizes):
    module = L.ListNet().as_sentence_transformers(StandIn(), mini_batch_size=mini_batch_size)
    value, gradient = value_and_gradient(module, *batch(), prompt="rank: ", task="rerank")
    assert module.model.sizes == sizes
    assert {*module.model.prompts} == {("rank: ", "rerank")}
    whole = value_and_gradient(L.ListNet().as_sentence_transformers(StandIn(), mini_batch_size=0), *batch())
    assert value == pytest.approx(whole[0], rel=1e-12)
    np.testing.assert_allclose(gradient, whole[1], rtol=1e-10)


def test_an_activation_is_applied_to_the_scores_before_the_loss():
    module = L.ListMLE().as_sentence_transformers(StandIn(), activation_fn=torch.nn.Sigmoid())
    value, gradient = value_and_gradient(module, *batch())
    rows, lists = flat_batch()
    weight = module.model.weight.detach().clone().requires_grad_()
    expected = L.ListMLE().as_torch()(torch.sigmoid(rows @ weight), lists) / 4
    expected.backward()
    assert value == pytest.approx(expected.item(), rel=1e-12)
    np.testing.assert_allclose(gradient, weight.grad.numpy(), rtol=1e-10)


def test_labels_may_be_integers_and_one_matrix_for_lists_of_one_length():
    module = L.ListMLE().as_sentence_transformers(StandIn())
    inputs, labels = [QUERIES[:2], [each[:3] for each in DOCUMENTS[:2]]], torch.tensor([[2, 0, 1], [0, 1, 1]])
    value, _ = value_and_gradient(module, inputs, labels)
    assert value == value_and_gradient(module, inputs, [each.double() for each in labels])[0]


def test_batches_of_another_form_raise_an_error_that_shows_the_columns():
    module = L.ListMLE().as_sentence_transformers(StandIn())
    inputs, labels = batch()
    with pytest.raises(ValueError, match=r'3 columns of texts, not 2.*"documents": \["a fox", "a cat"\]'):
        module([*inputs, inputs[1]], labels)
    with pytest.raises(ValueError, match="the batch has no labels"):
        module(inputs, None)
    with pytest.raises(ValueError, match="pairs of texts with one label each, not lists"):
        module([["a", "b"], ["c", "d"]], torch.tensor([1.0, 0.0]))
    with pytest.raises(ValueError, match=r"have \[6, 3, 1, 0\] documents but \[6, 3, 1\] labels"):
        module(inputs, labels[:3])
    with pytest.raises(ValueError, match="labels has a NaN or an infinite value for query 1"):
        module(inputs, [labels[0], torch.tensor([0.0, torch.nan, 1.0]), *labels[2:]])
    model = StandIn()
    model.num_labels = 3
    with pytest.raises(ValueError, match=r"3 output labels.*num_labels=1"):
        L.ListMLE().as_sentence_transformers(model)


def test_the_model_card_shows_the_loss():
    module = L.PListMLE("dcg").as_sentence_transformers(StandIn(), mini_batch_size=8)
    assert module.get_config_dict() == {
        "loss": "PListMLE(position_weights='dcg')",
        "activation_fn": "Identity()",
        "mini_batch_size": 8,
    }
    assert "loss=PListMLE(position_weights='dcg'), mini_batch_size=8" in repr(module)
    assert repr(pickle.loads(pickle.dumps(module)).loss) == repr(module.loss)


# ---- with sentence-transformers, where it is installed ------------------------------------------------------------


@pytest.fixture(scope="module")
def tools():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in ("sentence_transformers", "datasets", "accelerate"):
            pytest.importorskip(name, reason=f"{name} is not installed")
        from sentence_transformers import cross_encoder

        return cross_encoder


@pytest.fixture
def encoder(tools, tmp_path):
    """A tiny BERT with random weights, from the example."""
    texts = [*QUERIES, *(text for own in DOCUMENTS for text in own)]
    return load_example("cross_encoder").tiny_encoder(" ".join(texts).split(), tmp_path, width=8)


def gradient_of(module, inputs, labels):
    module.model.zero_grad()
    value = module(inputs, labels)
    value.backward()
    return value.item(), torch.cat([each.grad.flatten() for each in module.model.parameters() if each.grad is not None])


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
def test_without_ties_values_and_gradients_are_those_of_sentence_transformers(tools, encoder):
    """For lists of one length: before 5.4 padding counted as documents in its ListMLELoss."""
    inputs, labels = batch(1, labels=[[2.0, 0.0, 1.0], [0.0, 2.0, 1.0]], documents=[each[:3] for each in DOCUMENTS[:2]])
    pairs = [
        (L.ListMLE(), tools.losses.ListMLELoss(encoder, respect_input_order=False)),
        (L.ListNet(), tools.losses.ListNetLoss(encoder)),
    ]
    for ours, theirs in pairs:
        value, gradient = gradient_of(ours.as_sentence_transformers(encoder), inputs, labels)
        expected, slope = gradient_of(theirs, inputs, labels)
        assert value == pytest.approx(expected, rel=1e-4), ours
        torch.testing.assert_close(gradient, slope, rtol=1e-3, atol=1e-5)


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
def test_a_trainer_of_sentence_transformers_minimises_the_loss(encoder, tmp_path):
    """The trainer takes the module, or the method as a function of the model."""
    rows = {"query": QUERIES[:3] * 4, "documents": DOCUMENTS[:3] * 4, "labels": LABELS[:3] * 4}
    inputs, labels = batch(documents=DOCUMENTS[:3], labels=LABELS[:3])
    module = L.PListMLE("dcg").as_sentence_transformers(encoder, mini_batch_size=8)
    before = module(inputs, labels).item()
    for loss in (module, L.PListMLE("dcg").as_sentence_transformers):
        trainer = load_example("cross_encoder").train(encoder, loss, rows, tmp_path / "trainer")
        assert sum("loss" in line for line in trainer.state.log_history) == 6
    assert module(inputs, labels).item() < 0.95 * before
    assert "loss:PListMLE" in encoder.model_card_data.tags
