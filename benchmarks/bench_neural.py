"""Compare an epoch of a net on the CPU, with flat lists and with padded ones: ListMLE, then each loss.

The padded form is as fast as possible: lists are sorted by label once, so that a batch is one gather of its rows with
zeros after the shorter lists; ``padded_losses`` has the losses. Both have the same weights, batches, threads, precision
and optimizer, and the same mean loss, which is checked. Lists have up to 1,000 documents. For losses whose padded form
has matrices of pairs these would need too much memory; they have lists of up to 240 documents, where allRank cuts them,
and smaller batches. For the loss on a GPU see ``python -m benchmarks.gpu_losses``.
"""

from __future__ import annotations

import numpy as np

from benchmarks.made_lists import graded, small_numbers, strict
from benchmarks.timing import Result, peer
from benchmarks.turns import best_in_turns, judged
from plackett._threads import n_threads
from plackett.data.queries import QueryLists
from plackett.losses import Loss, Pairwise, get_loss, loss_names

N_DOCS, N_FEATURES, HIDDEN, BATCH_SIZE, AIM = 200_000, 136, (64, 32), 64, 3.0
SHARE, AIM_OF_EACH = 0.15, 2.0  # for each loss
LISTS, SHORT_LISTS = (1000, BATCH_SIZE), (240, 16)  # the longest list, and queries of a batch
WITHOUT_TIES = ("listmle", "p-listmle")  # their padded forms order equal labels at random


def uneven_lists(n_docs: int, rng: np.random.Generator, longest: int = 1000) -> np.ndarray:
    """Return bounds of lists of about 100 documents, most of them shorter and some much longer."""
    lengths = np.clip(rng.lognormal(np.log(80.0), 0.7, n_docs // 20), 5, longest).astype(np.int64)
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    return np.append(bounds[bounds < n_docs], n_docs)


class PaddedEpochs:
    """The same net on padded lists, as in most packages."""

    def __init__(self, X: np.ndarray, lists: QueryLists, weights: dict[str, np.ndarray], name: str, batch_size: int):
        import torch

        from benchmarks.padded_losses import FORMS

        self._torch, self._lists, self._loss, self._batch_size = torch, lists, FORMS[name], batch_size
        self._labels = torch.from_numpy(np.append(lists.labels, 0.0).astype(np.float32))
        self._rows = torch.from_numpy(np.vstack([X, np.zeros((1, X.shape[1]), X.dtype)]))  # the last row is padding
        layers = []
        for name in sorted({name.split(".")[0] for name in weights}):
            weight = weights[f"{name}.weight"]
            layer = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=f"{name}.bias" in weights)
            with torch.no_grad():
                layer.weight.copy_(torch.from_numpy(weight))
                if layer.bias is not None:
                    layer.bias.zero_()
            layers += [layer, torch.nn.ReLU()]
        self.net = torch.nn.Sequential(*layers[:-1])
        self._optimizer = torch.optim.Adam(self.net.parameters(), lr=1e-3)

    def __call__(self, order: np.ndarray) -> float:
        total = 0.0
        for start in range(0, order.size, self._batch_size):
            table, mask = self._table(order[start : start + self._batch_size])
            self._optimizer.zero_grad()
            scores = self.net(self._rows[table])[:, :, 0]
            loss = self._loss(scores, self._labels[table], mask) / table.shape[0]
            loss.backward()
            self._optimizer.step()
            total += table.shape[0] * float(loss.detach())
        return total / order.size

    def _table(self, queries: np.ndarray):
        starts, lengths = self._lists.indptr[queries], np.diff(self._lists.indptr)[queries]
        places = np.arange(lengths.max())
        mask = places < lengths[:, None]
        table = np.full(mask.shape, self._rows.shape[0] - 1)
        table[mask] = self._lists.order[(starts[:, None] + places)[mask]]
        return self._torch.from_numpy(table), self._torch.from_numpy(mask)


class FlatEpochs:
    """The training of ``NeuralRanker``."""

    def __init__(self, X: np.ndarray, lists: QueryLists, weights: dict[str, np.ndarray], loss: Loss, batch_size: int):
        import torch

        from plackett.rankers.neural.adam import Adam
        from plackett.rankers.neural.batches import TrainingData
        from plackett.rankers.neural.training import NetFit
        from plackett.scorers.net_shape import NetShape
        from plackett.scorers.neural import Net

        self._net = Net(NetShape(X.shape[1], HIDDEN), weights, dtype=torch.float32)
        self._fit = NetFit(self._net, loss, TrainingData(X, lists, None, self._net), l2=0.0)
        self._adam = Adam(self._net.penalised, self._net.free, learning_rate=1e-3, l2=0.0)
        self._batch_size = batch_size

    def __call__(self, order: np.ndarray) -> float:
        from plackett.rankers.neural.training import run_epoch

        return run_epoch(self._fit, self._adam, self._batch_size, _Given(order))


class _Given:
    """Return an advanced random generator, so that both forms use the same batches."""

    def __init__(self, order: np.ndarray):
        self._order = order

    def permutation(self, n: int) -> np.ndarray:
        return self._order


def compare_epochs(name: str, n_docs: int, aim: float) -> Result:
    from benchmarks.padded_losses import WITHOUT_PAIRS
    from plackett.scorers.net_shape import NetShape

    longest, batch_size = LISTS if name in WITHOUT_PAIRS else SHORT_LISTS
    rng = np.random.default_rng(0)
    X = small_numbers(n_docs, N_FEATURES, rng)
    lists = QueryLists(graded(X @ rng.normal(size=N_FEATURES), rng), uneven_lists(n_docs, rng, longest))
    if name == "binary-cross-entropy":
        lists = QueryLists((lists.labels > 1).astype(np.float64), lists.indptr)
    if name in WITHOUT_TIES:  # so that both minimise the same loss
        lists = strict(lists, rng)
    order = rng.permutation(lists.n_queries)
    drawn = NetShape(N_FEATURES, HIDDEN).draw(rng)
    flat = FlatEpochs(X, lists, drawn, _loss_of(name), batch_size)
    padded = PaddedEpochs(X, lists, drawn, name, batch_size)
    means = flat(order), padded(order)
    assert abs(means[0] / means[1] - 1.0) < 1e-4, (name, means)
    best = best_in_turns({"flat": lambda: flat(order), "padded": lambda: padded(order)}, rounds=3)
    lengths = np.diff(lists.indptr)
    note = (
        f"{lists.n_queries:,} lists of {lengths.mean():.0f} documents, up to {lengths.max()}; batches of {batch_size}"
    )
    what = f"an epoch of {name}, net {N_FEATURES}-{'-'.join(map(str, HIDDEN))}-1, {n_docs:,} documents"
    return judged(Result(what, best["flat"], "the net on padded lists", best["padded"], aim, note))


def _loss_of(name: str) -> Loss:
    return Pairwise("squared") if name == "pairwise-squared" else get_loss(name)


def run(n_docs: int = N_DOCS) -> list[Result]:
    torch = peer("torch")
    if torch is None:
        return []
    from benchmarks.padded_losses import FORMS

    torch.set_num_threads(n_threads())
    results = [compare_epochs("listmle", n_docs, AIM)]
    for name in FORMS:
        if name in (*loss_names(), "pairwise-squared"):
            results.append(compare_epochs(name, int(SHARE * n_docs), AIM_OF_EACH))
    return results
