"""Compare an epoch of a net on the CPU, with flat lists and with padded ones: ListMLE, then each loss.

The padded form is as fast as possible: lists are sorted by label once, so that a batch is one gather of its rows with
zeros after the shorter lists; ``padded_losses`` has the losses. Both have the same weights, batches, threads, precision
and optimizer, and the same mean loss, which is checked (for PL-Rank, whose samples differ, to a hundredth).

Every loss is measured on lists of two kinds. Long ones have the lengths of MSLR-WEB30K, up to 1,251 documents, in
batches of 64 queries. Losses whose padded form has matrices of pairs get batches of 16 there, because a single tensor
of a padded batch of 64 would take 400 MB. NeuralNDCG, which keeps a hundred of them for autograd, gets batches of 4.
Short ones have at most 240 documents, where allRank cuts them, in batches of 16: less padding, and more steps of Adam.
For the loss on a GPU see ``python -m benchmarks.gpu_losses``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from benchmarks.made_lists import graded, long_tailed_indptr, small_numbers, strict
from benchmarks.timing import Result, peer
from benchmarks.turns import best_in_turns, judged
from plackett._threads import n_threads
from plackett.data.queries import QueryLists
from plackett.losses import XENDCG, Loss, Pairwise, get_loss

N_DOCS, N_FEATURES, HIDDEN, AIM = 200_000, 136, (64, 32), 3.0
AIM_OF_EACH = 2.0  # for each loss
WITHOUT_TIES = ("listmle", "p-listmle")  # their padded forms order equal labels at random


class Setting(NamedTuple):
    """The share of the documents, the longest list, and how many queries a batch has."""

    share: float
    longest: int
    batch_size: int
    batch_size_of_pairs: int
    batch_size_of_sinkhorn: int

    def queries_of(self, name: str) -> int:
        from benchmarks.padded_losses import WITHOUT_PAIRS

        if name == "neural-ndcg":
            return self.batch_size_of_sinkhorn
        return self.batch_size if name in WITHOUT_PAIRS else self.batch_size_of_pairs


LONG_LISTS, SHORT_LISTS = Setting(0.5, 1251, 64, 16, 4), Setting(0.15, 240, 16, 16, 16)


class PaddedEpochs:
    """The same net on padded lists, as in most packages."""

    def __init__(self, X: np.ndarray, lists: QueryLists, weights: dict[str, np.ndarray], name: str, batch_size: int):
        import torch

        from benchmarks.padded_losses import FORMS

        self._torch, self._lists, self._loss, self._batch_size = torch, lists, FORMS[name], batch_size
        labels = XENDCG().target(lists) if name == "xe-ndcg" else lists.labels  # once, before the epochs
        self._labels = torch.from_numpy(np.append(labels, 0.0).astype(np.float32))
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
    """A random generator that returns a given permutation, so that both forms use the same batches."""

    def __init__(self, order: np.ndarray):
        self._order = order

    def permutation(self, n: int) -> np.ndarray:
        return self._order


def compare_epochs(name: str, n_docs: int, aim: float, setting: Setting) -> Result:
    from benchmarks.padded_losses import WITHOUT_PAIRS
    from plackett.scorers.net_shape import NetShape

    batch_size = setting.queries_of(name)
    rng = np.random.default_rng(0)
    X = small_numbers(n_docs, N_FEATURES, rng)
    indptr = long_tailed_indptr(n_docs, rng, longest=setting.longest)
    lists = QueryLists(graded(X @ rng.normal(size=N_FEATURES), rng), indptr)
    if name == "binary-cross-entropy":
        lists = QueryLists((lists.labels > 1).astype(np.float64), lists.indptr)
    if name in WITHOUT_TIES:  # so that both minimise the same loss
        lists = strict(lists, rng)
    order = rng.permutation(lists.n_queries)
    drawn = NetShape(N_FEATURES, HIDDEN).draw(rng)
    flat = FlatEpochs(X, lists, drawn, _loss_of(name), batch_size)
    padded = PaddedEpochs(X, lists, drawn, name, batch_size)
    means = flat(order), padded(order)
    assert abs(means[0] / means[1] - 1.0) < (1e-2 if name == "pl-rank" else 1e-4), (name, means)
    rounds = 3 if name in WITHOUT_PAIRS else 1
    best = best_in_turns({"flat": lambda: flat(order), "padded": lambda: padded(order)}, rounds)
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
    results = [compare_epochs("listmle", n_docs, AIM, LONG_LISTS)]
    for name in FORMS:
        for setting in (LONG_LISTS, SHORT_LISTS):
            results.append(compare_epochs(name, int(setting.share * n_docs), AIM_OF_EACH, setting))
    return results
