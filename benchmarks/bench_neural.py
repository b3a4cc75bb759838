"""Compare an epoch of a net with ListMLE on the CPU, with flat lists and with padded ones.

The padded form is as fast as possible: lists are sorted by label once, so that a batch is one gather of its rows with
zeros after the shorter lists, and the loss is the running sum of exponentials relative to the largest. Both have the
same weights, batches, threads, precision and optimizer. For the loss on a GPU see ``python -m benchmarks.gpu_losses``.
"""

from __future__ import annotations

import numpy as np

from benchmarks.made_lists import graded, small_numbers, strict
from benchmarks.timing import Result, peer
from benchmarks.turns import best_in_turns, judged
from plackett._threads import n_threads
from plackett.data.queries import QueryLists
from plackett.losses import ListMLE

N_DOCS, N_FEATURES, HIDDEN, BATCH_SIZE, AIM = 200_000, 136, (64, 32), 64, 3.0


def uneven_lists(n_docs: int, rng: np.random.Generator, longest: int = 1000) -> np.ndarray:
    """Return bounds of lists of about 100 documents, most of them shorter and some much longer."""
    lengths = np.clip(rng.lognormal(np.log(80.0), 0.7, n_docs // 20), 5, longest).astype(np.int64)
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    return np.append(bounds[bounds < n_docs], n_docs)


class PaddedEpochs:
    """The same net on padded lists, as in most packages."""

    def __init__(self, X: np.ndarray, lists: QueryLists, weights: dict[str, np.ndarray]):
        import torch

        self._torch, self._lists = torch, lists
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
        for start in range(0, order.size, BATCH_SIZE):
            table, mask = self._table(order[start : start + BATCH_SIZE])
            self._optimizer.zero_grad()
            scores = self.net(self._rows[table])[:, :, 0].masked_fill(~mask, -float("inf"))
            below = scores - scores.max(dim=1, keepdim=True).values.detach()
            sums = below.exp().flip(1).cumsum(1).flip(1)
            loss = ((sums + 1e-10).log() - below).masked_fill(~mask, 0.0).sum() / table.shape[0]
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

    def __init__(self, X: np.ndarray, lists: QueryLists, weights: dict[str, np.ndarray]):
        import torch

        from plackett.rankers.neural.adam import Adam
        from plackett.rankers.neural.batches import TrainingData
        from plackett.rankers.neural.training import NetFit
        from plackett.scorers.net_shape import NetShape
        from plackett.scorers.neural import Net

        self._net = Net(NetShape(X.shape[1], HIDDEN), weights, dtype=torch.float32)
        self._fit = NetFit(self._net, ListMLE(), TrainingData(X, lists, None, self._net), l2=0.0)
        self._adam = Adam(self._net.penalised, self._net.free, learning_rate=1e-3, l2=0.0)

    def __call__(self, order: np.ndarray) -> float:
        from plackett.rankers.neural.training import run_epoch

        return run_epoch(self._fit, self._adam, BATCH_SIZE, _Given(order))


class _Given:
    """Return an advanced random generator, so that both forms use the same batches."""

    def __init__(self, order: np.ndarray):
        self._order = order

    def permutation(self, n: int) -> np.ndarray:
        return self._order


def run(n_docs: int = N_DOCS) -> list[Result]:
    from plackett.scorers.net_shape import NetShape

    torch = peer("torch")
    if torch is None:
        return []
    torch.set_num_threads(n_threads())
    rng = np.random.default_rng(0)
    X = small_numbers(n_docs, N_FEATURES, rng)
    labels = graded(X @ rng.normal(size=N_FEATURES), rng)
    lists = strict(QueryLists(labels, uneven_lists(n_docs, rng)), rng)  # so that both minimise the same loss
    order = rng.permutation(lists.n_queries)
    drawn = NetShape(N_FEATURES, HIDDEN).draw(rng)
    flat, padded = FlatEpochs(X, lists, drawn), PaddedEpochs(X, lists, drawn)
    means = flat(order), padded(order)
    assert abs(means[0] / means[1] - 1.0) < 1e-4, means
    best = best_in_turns({"flat": lambda: flat(order), "padded": lambda: padded(order)}, rounds=3)
    lengths = np.diff(lists.indptr)
    note = (
        f"{lists.n_queries:,} lists of {lengths.mean():.0f} documents, up to {lengths.max()}; batches of {BATCH_SIZE}"
    )
    what = f"an epoch of ListMLE, net {N_FEATURES}-{'-'.join(map(str, HIDDEN))}-1, {n_docs:,} documents"
    return [judged(Result(what, best["flat"], "the net on padded lists", best["padded"], AIM, note))]
