"""Losses as functions of PyTorch: the kernels behind autograd, and the same losses as operations of a device."""

import subprocess
import sys

import numpy as np
import pytest

import plackett as pk
from plackett.data.queries import QueryLists
from plackett.losses import get_loss, loss_names

torch = pytest.importorskip("torch", reason="losses of tensors need PyTorch: pip install 'plackett[neural]'")

from plackett.losses.backends import device as on_device  # noqa: E402  it imports torch

L = pk.losses
ALL_LOSSES = [
    *(get_loss(name) for name in loss_names()),
    L.ListMLE(ties="efron"),
    L.ListMLE(transform="sigmoid"),
    L.ListMLE(transform="probit", ties="efron"),
    L.ListMLE(transform=L.Linear(2, 3000)),
    L.PListMLE("dcg"),
    L.PListMLE("exp", base=1.5),
    L.ListNet("sigmoid"),
    L.ListNet("probit"),
    L.ListNet(L.Linear(2, 3000)),
    L.RankCosine(L.Linear(2, -1)),
    L.RankCosine("exp"),
    L.RankCosine("sigmoid"),
    L.RankCosine("probit"),
    L.CSListMLE(k=2),
    L.ApproxNDCG(1.0, gain="linear"),
    L.ApproxMRR(1.0),
    L.ApproxMAP(1.0, beta=2.0),
    L.NeuralNDCG(5.0, k=3, max_iter=6),
    L.NeuralNDCG(0.5, transposed=True),
    L.CSListMLE(k=None),
    L.CSListMLE(weights="label"),
    L.Pairwise("exponential", normalize="none"),
    L.Pairwise("smoothed-hinge", width=0.5, normalize="all"),
    L.Pairwise("squared"),
    L.Pairwise("squared", k=3, normalize="none"),
    L.Pairwise("squared", k=2, score_norm=True),
    L.Pairwise("exponential", "gain-difference"),
    L.Pairwise("soft-zero-one", "label", sigma=2.0),
    L.Pairwise(weight="label-difference", k=3),
    L.Pairwise("hinge", "lambdarank", k=3),
    L.Pairwise(weight="lambdarank", k=3, score_norm=True),
    L.Pairwise("squared", "ndcg-loss1", k=2, gain="linear"),
    L.Pairwise(weight="ndcg-loss2++", k=4, mu=2.0),
    L.Pairwise("psi", "precision", k=3),
]
ON_DEVICE = [loss for loss in ALL_LOSSES if on_device.has_terms(loss)]
every_loss = pytest.mark.parametrize("loss", ALL_LOSSES, ids=repr)
every_loss_on_a_device = pytest.mark.parametrize("loss", ON_DEVICE, ids=repr)


def made_lists(seed=0, n_levels=4, sizes=(1, 5, 0, 8, 9)):
    rng = np.random.default_rng(seed)
    indptr = np.append(0, np.cumsum(sizes))
    return QueryLists(rng.integers(0, n_levels, indptr[-1]).astype(float), indptr), rng


def assert_same(found, expected, scale=1.0):
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10 * scale)


def skip_moving_norm(loss):
    if getattr(loss, "score_norm", False):
        pytest.skip("the norm is a constant for the slope, but changes with the scores")


class _OnDevice(torch.autograd.Function):
    """The device's operations for any tensor, so that they can be tried where there is no device."""

    @staticmethod
    def forward(ctx, scores, loss, lists):
        terms, slope = on_device.terms_and_slope(loss, scores.detach(), lists)
        ctx.save_for_backward(slope)
        return terms.sum()

    @staticmethod
    def backward(ctx, step):
        return step * ctx.saved_tensors[0], None, None


def test_the_listwise_losses_have_operations_for_a_device():
    names = {loss.name for loss in ON_DEVICE}
    assert names >= {"listmle", "p-listmle", "listnet", "rankcosine", "cs-listmle", "exponential", "squared"}
    assert names >= {"approx-ndcg", "approx-mrr", "approx-map", "neural-ndcg"}
    assert names >= {"softmax", "unique-softmax", "poly1-softmax", "xe-ndcg", "binary-cross-entropy"}


@every_loss
def test_value_and_slope_are_those_of_the_loss(loss):
    lists, rng = made_lists()
    numbers = rng.normal(size=lists.n_docs)
    value, slope = loss.value_and_slope(numbers, lists)
    scores = torch.tensor(numbers, requires_grad=True)
    found = loss.as_torch()(scores, lists)
    assert found.dim() == 0
    assert found.dtype == torch.float64
    assert found.item() == value
    found.backward()
    np.testing.assert_array_equal(scores.grad.numpy(), slope)


@every_loss
def test_autograd_agrees_with_finite_differences(loss):
    skip_moving_norm(loss)
    if loss.name == "pl-rank":
        pytest.skip("the value of sampled rankings changes in steps")
    lists, rng = made_lists(1, sizes=(1, 4, 0, 7))
    scores = torch.tensor(rng.normal(size=lists.n_docs), requires_grad=True)
    assert torch.autograd.gradcheck(lambda s: loss.as_torch()(s, lists), (scores,))
    weights = rng.uniform(size=lists.n_queries)
    assert torch.autograd.gradcheck(lambda s: loss.as_torch()(s, lists, weights), (scores,))


@every_loss_on_a_device
def test_autograd_agrees_with_finite_differences_on_a_device(loss):
    skip_moving_norm(loss)
    lists, rng = made_lists(2, sizes=(1, 4, 0, 7))
    scores = torch.tensor(rng.normal(size=lists.n_docs), requires_grad=True)
    assert torch.autograd.gradcheck(lambda s: _OnDevice.apply(s, loss, lists), (scores,))


@every_loss_on_a_device
def test_a_device_finds_what_the_kernels_find_for_any_scores(loss):
    """For lists of one label, of few and of as many as documents, next to each other."""
    parts = [made_lists(n, n, sizes=(0, 1, 30, 2, 0, 0, 17, 64, 1, 33))[0] for n in (1, 2, 5, 900)]
    sizes = np.concatenate([np.diff(part.indptr) for part in parts])
    lists = QueryLists(np.concatenate([part.labels for part in parts]), np.append(0, np.cumsum(sizes)))
    rng, queries = np.random.default_rng(0), np.repeat(np.arange(sizes.size), sizes)
    for spread in (0.0, 1.0, 40.0, 700.0):
        numbers = rng.uniform(-spread, spread, lists.n_docs)
        value, slope = loss.value_and_slope(numbers, lists)
        terms, found = on_device.terms_and_slope(loss, torch.from_numpy(numbers), lists)
        assert_same(terms.sum(), value)
        steepest = np.ones(sizes.size)
        np.maximum.at(steepest, queries, abs(slope))
        assert_same(found.numpy() / steepest[queries], slope / steepest[queries])


@every_loss_on_a_device
def test_scores_of_plus_and_minus_700_are_nothing_special(loss):
    lists, rng = made_lists(3, sizes=(12, 9, 30))
    numbers = rng.choice([-700.0, 0.0, 700.0], lists.n_docs)
    value, slope = loss.value_and_slope(numbers, lists)
    terms, found = on_device.terms_and_slope(loss, torch.from_numpy(numbers), lists)
    assert_same(terms.sum(), value)
    assert_same(found.numpy(), slope, max(1.0, abs(slope).max()))


@every_loss_on_a_device
def test_each_query_s_terms_add_up_to_its_own_loss(loss):
    """By which queries are weighted on a device."""
    lists, rng = made_lists(4)
    numbers, slope = rng.normal(size=lists.n_docs), np.empty(lists.n_docs)
    values = loss.query_values(numbers, lists, slope)
    terms, _ = on_device.terms_and_slope(loss, torch.from_numpy(numbers), lists)
    sums = [terms[start:stop].sum() for start, stop in zip(lists.indptr[:-1], lists.indptr[1:], strict=True)]
    assert_same(sums, values)


@every_loss_on_a_device
def test_a_device_takes_tied_scores_as_the_kernels_do(loss):
    """Weights by ranks are expectations over the orders of tied documents."""
    lists, rng = made_lists(15, sizes=(1, 5, 0, 12, 30))
    for numbers in (rng.integers(0, 4, lists.n_docs) / 4, np.ones(lists.n_docs)):
        value, slope = loss.value_and_slope(numbers, lists)
        terms, found = on_device.terms_and_slope(loss, torch.from_numpy(numbers), lists)
        assert_same(terms.sum(), value)
        assert_same(found.numpy(), slope)


@every_loss_on_a_device
def test_a_device_counts_queries_by_their_weights(loss):
    lists, rng = made_lists(13)
    numbers, weights = rng.normal(size=lists.n_docs), rng.uniform(size=lists.n_queries)
    scores = torch.tensor(numbers, requires_grad=True)
    expected = loss.as_torch()(scores, lists, weights)
    (slope,) = torch.autograd.grad(expected, scores)
    value, found = on_device.value_and_slope(loss, scores.detach(), lists, torch.tensor(weights))
    assert_same(value.item(), expected.item())
    assert_same(found.numpy(), slope.numpy())


@every_loss_on_a_device
def test_single_precision_on_a_device_is_as_good_as_its_digits(loss):
    lists, rng = made_lists(5, sizes=(40, 30, 1))
    numbers = rng.normal(size=lists.n_docs).astype(np.float32)
    value, slope = loss.value_and_slope(numbers, lists)
    terms, found = on_device.terms_and_slope(loss, torch.from_numpy(numbers), lists)
    assert found.dtype == torch.float32
    np.testing.assert_allclose(terms.sum(), value, rtol=1e-4)  # Linear(2, 3000) loses most
    np.testing.assert_allclose(found, slope, rtol=1e-3, atol=1e-4)


def test_single_precision_stays_finite_for_scores_far_apart():
    lists, rng = made_lists(6, sizes=(40, 30, 8))
    scores = torch.tensor(rng.uniform(-700, 700, lists.n_docs), dtype=torch.float32)
    for loss in ON_DEVICE:
        terms, slope = on_device.terms_and_slope(loss, scores, lists)
        assert torch.isfinite(terms).all(), loss
        assert torch.isfinite(slope).all(), loss


@every_loss
def test_the_value_of_a_query_does_not_depend_on_the_others(loss):
    lists, rng = made_lists(7, sizes=(7, 1, 12, 40))
    numbers = rng.normal(size=lists.n_docs)
    whole = torch.tensor(numbers, requires_grad=True)
    loss.as_torch()(whole, lists).backward()
    for q in range(lists.n_queries):
        rows = slice(lists.indptr[q], lists.indptr[q + 1])
        alone = torch.tensor(numbers[rows], requires_grad=True)
        loss.as_torch()(alone, lists.part(q, q + 1)).backward()
        assert_same(alone.grad.numpy(), whole.grad.numpy()[rows])
        if on_device.has_terms(loss):
            _, slope = on_device.terms_and_slope(loss, alone.detach(), lists.part(q, q + 1))
            assert_same(slope.numpy(), whole.grad.numpy()[rows])


@every_loss
@pytest.mark.parametrize("extra", [0, 1, 40])
def test_the_width_of_the_padding_has_no_influence(loss, extra):
    """Nor have the scores and labels in it, even if they are not numbers."""
    lists, rng = made_lists(7)
    sizes = np.diff(lists.indptr)
    mask = np.arange(sizes.max() + extra) < sizes[:, None]
    numbers, labels = np.full(mask.shape, np.nan), np.full(mask.shape, -1.0)
    numbers[mask], labels[mask] = rng.normal(size=lists.n_docs), lists.labels
    scores, weights = torch.tensor(numbers, requires_grad=True), rng.uniform(size=sizes.size)
    value = loss.as_torch().padded(scores, labels, mask, weights)
    value.backward()
    flat = torch.tensor(numbers[mask], requires_grad=True)
    expected = loss.as_torch()(flat, lists, weights)
    expected.backward()
    assert value.item() == expected.item()
    np.testing.assert_array_equal(scores.grad.numpy()[mask], flat.grad.numpy())
    np.testing.assert_array_equal(scores.grad.numpy()[~mask], 0.0)


def test_padded_batches_of_other_shapes_are_named():
    padded = L.ListMLE().as_torch().padded
    scores, labels = torch.zeros(2, 3), torch.tensor([[1, 0, 2], [0, 1, 1]])
    assert padded(scores, labels).item() == pytest.approx(3 * np.log(3) + np.log(2))
    with pytest.raises(ValueError, match=r"scores has shape \(3,\), labels \(2, 3\) and mask \(3,\)"):
        padded(scores[0], labels)
    with pytest.raises(ValueError, match=r"mask \(2, 2\); all must be \(n_queries, width\)"):
        padded(scores, labels, labels[:, :2] > 0)
    with pytest.raises(ValueError, match=r"mask is a tensor of torch.int64; torch.bool is needed"):
        padded(scores, labels, labels)
    with pytest.raises(ValueError, match="labels has a NaN or an infinite value for query 1"):
        padded(scores, torch.tensor([[1.0, 0.0, 2.0], [0.0, torch.inf, 1.0]]))


@every_loss
def test_lists_without_documents_cost_nothing(loss):
    lists = QueryLists(np.zeros(0), np.array([0, 0]))
    scores = torch.zeros(0, dtype=torch.float64, requires_grad=True)
    value = loss.as_torch()(scores, lists)
    value.backward()
    assert value.item() == 0
    assert scores.grad.shape == (0,)
    if on_device.has_terms(loss):
        assert on_device.terms_and_slope(loss, scores.detach(), lists)[0].sum() == 0


def test_random_ties_draw_the_same_orders_on_every_device():
    """Over lists with ties the two calls differ; a seed makes them alike."""
    loss = L.ListMLE(ties="random")
    lists, rng = made_lists(8, 3, sizes=(20, 30))
    scores = torch.tensor(rng.normal(size=50))
    lists.rng = np.random.default_rng(0)
    values = [loss.as_torch()(scores, lists).item() for _ in range(2)]
    lists.rng = np.random.default_rng(0)
    terms = [on_device.terms_and_slope(loss, scores, lists)[0].sum().item() for _ in range(2)]
    assert values[0] != values[1]
    assert_same(terms, values)
    lists.rng = np.random.default_rng(1)
    _, slope = loss.value_and_slope(scores.numpy(), lists)
    lists.rng = np.random.default_rng(1)
    assert_same(on_device.terms_and_slope(loss, scores, lists)[1].numpy(), slope)


def test_what_is_kept_does_not_grow_with_calls_or_with_equal_losses():
    lists, rng = made_lists(14)
    lists.rng = np.random.default_rng(0)
    scores = torch.tensor(rng.normal(size=lists.n_docs))
    n_kept = []
    for _ in range(3):
        for loss in (*ON_DEVICE, L.ListMLE(ties="random")):
            on_device.value_and_slope(type(loss)(**loss.get_params()), scores, lists)
        n_kept.append(len(lists._kept))
    assert n_kept[0] == n_kept[1] == n_kept[2]


def test_weights_count_queries():
    lists, rng = made_lists(9, sizes=(5, 6))
    numbers = rng.normal(size=11)
    for make in (np.array, torch.tensor, lambda counts: torch.tensor(counts, dtype=torch.bfloat16)):
        scores = torch.tensor(numbers, requires_grad=True)
        value = L.ListMLE().as_torch()(scores, lists, make([2.0, 0.0]))
        value.backward()
        first, slope = L.ListMLE().value_and_slope(numbers[:5], lists.part(0, 1))
        assert_same(value.item(), 2.0 * first)
        assert_same(scores.grad.numpy(), np.append(2.0 * slope, np.zeros(6)))
    with pytest.raises(ValueError, match=r"pass weights\.detach\(\)"):
        L.ListMLE().as_torch()(scores, lists, torch.ones(2, requires_grad=True))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_the_slope_has_the_type_of_the_scores_and_the_value_never_overflows_it(dtype):
    lists, rng = made_lists(10, 2, sizes=(400, 300, 300) * 4)
    scores = torch.tensor(40.0 * rng.normal(size=lists.n_docs), dtype=dtype, requires_grad=True)
    value = L.ListMLE().as_torch()(scores, lists)
    value.backward()
    expected, slope = L.ListMLE().value_and_slope(scores.detach().double().numpy(), lists)
    assert expected > 65504  # the largest float16
    assert value.dtype == torch.float32
    assert value.item() == pytest.approx(expected, rel=1e-6)
    assert scores.grad.dtype == dtype
    np.testing.assert_allclose(scores.grad.double(), slope, rtol=2e-2, atol=1e-2)


def test_scores_of_a_net_pull_on_its_weights():
    """With a Queries in the place of its lists, and through a view that is not contiguous."""
    rng = np.random.default_rng(0)
    data = pk.Queries(rng.normal(size=(6, 2)), y=[2, 0, 1, 0, 1, 1], qid=[1, 1, 1, 2, 2, 2])
    coef = torch.tensor([[0.3, 0.0], [-0.2, 1.0]], dtype=torch.float64, requires_grad=True)
    scores = (torch.from_numpy(data.X) @ coef)[:, 0]
    assert not scores.is_contiguous()
    L.ListNet().as_torch()(scores, data).backward()
    _, slope = L.ListNet().value_and_slope(data.X @ coef.detach().numpy()[:, 0], data)
    assert_same(coef.grad.numpy(), np.column_stack([data.X.T @ slope, np.zeros(2)]))


@pytest.mark.parametrize("weights", [None, [1.0, 0.5, 2.0, 0.0, 3.0]])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16])
def test_value_and_slope_without_autograd_are_the_same(dtype, weights):
    lists, rng = made_lists()
    scores = torch.tensor(rng.normal(size=lists.n_docs), dtype=dtype, requires_grad=True)
    f = L.ListMLE().as_torch()
    value = f(scores, lists, weights)
    value.backward()
    expected = scores.grad.clone()
    found, slope = f.value_and_slope(scores, lists, weights)
    assert found == value
    assert found.dtype == value.dtype
    assert not found.requires_grad
    assert torch.equal(slope, expected)
    scores.grad = None
    scores.backward(slope)  # of the right type for that
    assert torch.equal(scores.grad, expected)
    with pytest.raises(ValueError, match="shape"):
        f.value_and_slope(scores[:-1], lists)


def test_a_second_derivative_is_refused():
    lists, rng = made_lists()
    scores = torch.tensor(rng.normal(size=lists.n_docs), requires_grad=True)
    (slope,) = torch.autograd.grad(L.ListMLE().as_torch()(scores, lists), scores, create_graph=True)
    with pytest.raises(RuntimeError, match="once, not twice"):
        slope.square().sum().backward()


def test_functions_of_torch_func_differentiate_a_loss():
    lists, rng = made_lists()
    scores = torch.tensor(rng.normal(size=lists.n_docs))
    f = L.ListMLE().as_torch()
    _, slope = f.value_and_slope(scores, lists)
    assert torch.equal(torch.func.grad(lambda s: f(s, lists))(scores), slope)

    def size_of_slope(s):
        return torch.func.grad(lambda s: f(s, lists) ** 2)(s).square().sum()

    with pytest.raises(RuntimeError, match="once, not twice"):
        torch.func.grad(size_of_slope)(scores)
    with pytest.raises(RuntimeError, match="vmap"):
        torch.vmap(lambda s: f(s, lists))(torch.stack([scores, scores]))


@pytest.mark.filterwarnings("ignore:The .grad attribute")  # that the compiler itself looks at
@pytest.mark.parametrize("loss", [L.Pairwise("logistic"), L.ListMLE()], ids=repr)
def test_what_calls_a_loss_can_be_compiled(loss):
    """NumPy's part is left alone: PyTorch would take it for its own."""
    f, net = loss.as_torch(), torch.nn.Linear(3, 1).double()
    compiled = torch.compile(lambda rows, lists: f(net(rows).squeeze(-1), lists), backend="eager")
    for size in (4, 9, 7):  # for the second number of rows sizes become symbols
        lists, rng = made_lists(sizes=(3, size))
        rows = torch.tensor(rng.normal(size=(lists.n_docs, 3)))
        (slope,) = torch.autograd.grad(compiled(rows, lists), net.weight)
        scores = net(rows).squeeze(-1)
        value, of_scores = f.value_and_slope(scores, lists)
        assert value == compiled(rows, lists)
        torch.testing.assert_close(slope, torch.autograd.grad(scores, net.weight, of_scores)[0])


def test_wrong_scores_are_named():
    lists, _ = made_lists()
    loss = L.ListMLE().as_torch()
    assert repr(loss) == "ListMLE().as_torch()"
    with pytest.raises(ValueError, match=r"shape \(23, 1\) but the queries have 23 documents.*squeeze"):
        loss(torch.zeros(23, 1), lists)
    with pytest.raises(ValueError, match=r"shape \(4,\) but the queries have 23 documents\.$"):
        loss(torch.zeros(4), lists)
    with pytest.raises(TypeError, match="scores are a ndarray; a tensor"):
        loss(np.zeros(23), lists)
    with pytest.raises(TypeError, match=r"a tensor of torch.int64"):
        loss(torch.zeros(23, dtype=torch.int64), lists)
    with pytest.raises(ValueError, match="NaN or an infinite value in row 7"):
        loss(torch.where(torch.arange(23) == 7, torch.nan, 0.0), lists)
    with pytest.raises(ValueError, match=r"weights has shape \(2,\) but there are 5 queries"):
        loss(torch.zeros(23), lists, [1.0, 2.0])
    with pytest.raises(ValueError, match="weights has a NaN or an infinite value for query 3"):
        loss(torch.zeros(23), lists, [1.0, 2.0, 0.0, np.nan, 1.0])
    with pytest.raises(TypeError, match="queries is a ndarray; a Queries, or its lists, is needed"):
        loss(torch.zeros(23), lists.labels)
    with pytest.raises(ValueError, match="ties"):
        L.ListMLE(ties="none").as_torch()(torch.zeros(23), lists)


@pytest.mark.parametrize("loss", [L.ListMLE(transform=L.Linear(1, 0)), L.ListNet(L.Linear(1, 0))], ids=repr)
def test_a_transform_that_is_not_positive_is_refused_on_a_device_too(loss):
    lists, _ = made_lists()
    with pytest.raises(ValueError, match=r"is -2 for the score -2 in row 3.*Use a larger b"):
        on_device.terms_and_slope(loss, torch.where(torch.arange(23) == 3, -2.0, 1.0).double(), lists)


def test_a_loss_that_somebody_derived_is_taken_as_it_was_written():
    class Doubled(L.ListMLE):
        def query_values(self, scores, lists, slope):
            return 2.0 * super().query_values(scores, lists, slope)

    class Steeper(L.Linear):
        def log_and_derivatives(self, scores):
            return super().log_and_derivatives(2.0 * scores)

    assert not on_device.has_terms(Doubled())
    assert on_device.has_terms(L.ListNet(L.Linear(1, 9)))
    assert not on_device.has_terms(L.ListNet(Steeper(1, 9)))


def test_torch_is_not_imported_before_it_is_asked_for():
    code = (
        "import sys, plackett as pk; pk.losses.ListMLE(), pk.Queries([[1.0]], [1]); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# ---- on a GPU, where there is one --------------------------------------------------------------------------------

on_a_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")


@on_a_gpu
@every_loss
@pytest.mark.parametrize("n_levels", [1, 5, 900])
def test_cuda_finds_what_the_kernels_find(loss, n_levels):
    lists, rng = made_lists(n_levels, n_levels, sizes=(0, 1, 30, 2, 0, 0, 17, 64, 1, 33, 700))
    for spread in (0.0, 1.0, 40.0, 700.0):
        numbers, weights = rng.uniform(-spread, spread, lists.n_docs), rng.uniform(size=lists.n_queries)
        value, slope = loss.value_and_slope(numbers, lists)
        scores = torch.tensor(numbers, device="cuda", requires_grad=True)
        found = loss.as_torch()(scores, lists)
        found.backward()
        assert found.is_cuda
        assert_same(found.item(), value)
        assert_same(scores.grad.cpu().numpy(), slope, max(1.0, abs(slope).max()))
        host = torch.tensor(numbers, requires_grad=True)
        (expected,) = torch.autograd.grad(loss.as_torch()(host, lists, weights), host)
        (found,) = torch.autograd.grad(loss.as_torch()(scores, lists, weights), scores)
        assert_same(found.cpu().numpy(), expected.numpy(), max(1.0, abs(slope).max()))


@on_a_gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_cuda_in_lower_precision(dtype):
    lists, rng = made_lists(11, 4, sizes=(400, 1, 30))
    for spread in (1.0, 20.0, 200.0):
        scores = torch.tensor(
            rng.uniform(-spread, spread, lists.n_docs), dtype=dtype, device="cuda", requires_grad=True
        )
        lambdarank = L.Pairwise(weight="lambdarank", k=10)
        for loss in (L.ListMLE(), L.PListMLE("dcg"), L.ListNet(), L.CSListMLE(), L.Softmax(), lambdarank):
            expected, slope = loss.value_and_slope(scores.detach().double().cpu().numpy(), lists)
            value = loss.as_torch()(scores, lists)
            (found,) = torch.autograd.grad(value, scores)
            assert value.item() == pytest.approx(expected, rel=1e-4)
            np.testing.assert_allclose(found.double().cpu(), slope, rtol=1e-2, atol=1e-2)


@on_a_gpu
@every_loss
def test_cuda_takes_padded_batches_and_tied_scores(loss):
    lists, rng = made_lists(16)
    sizes = np.diff(lists.indptr)
    mask = torch.from_numpy(np.arange(sizes.max() + 3) < sizes[:, None]).cuda()
    numbers = torch.from_numpy(rng.integers(0, 4, lists.n_docs) / 4).cuda()
    scores, labels = (torch.full(mask.shape, torch.nan, dtype=torch.float64, device="cuda") for _ in range(2))
    scores[mask], labels[mask] = numbers, torch.from_numpy(lists.labels).cuda()
    scores.requires_grad_()
    value = loss.as_torch().padded(scores, labels, mask)
    value.backward()
    expected, slope = loss.value_and_slope(numbers.cpu().numpy(), lists)
    assert value.is_cuda
    assert_same(value.item(), expected)
    assert_same(scores.grad[mask].cpu().numpy(), slope)
    assert (scores.grad[~mask] == 0.0).all()


@on_a_gpu
def test_cuda_draws_the_same_orders_and_repeats_itself():
    loss = L.ListMLE(ties="random")
    lists, rng = made_lists(12, 3, sizes=(200, 300, 9000))
    numbers = rng.normal(size=lists.n_docs)
    values = []
    for device in ("cpu", "cuda", "cuda"):
        lists.rng = np.random.default_rng(0)
        values.append(loss.as_torch()(torch.tensor(numbers, device=device), lists).item())
    assert values[1] == values[2]
    assert values[0] == pytest.approx(values[1], rel=1e-12)
