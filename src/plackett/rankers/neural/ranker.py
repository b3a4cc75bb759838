"""Ranker by a small neural net, trained with any loss."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from plackett._arrays import dense
from plackett._lazy import importing
from plackett._optional import import_optional
from plackett.data.queries import Queries, QueryLists
from plackett.losses import get_loss
from plackett.losses.base import Loss
from plackett.rankers.base import NO_LABELS, Normalized, Prepared, TrainingSet, as_seed
from plackett.rankers.monitor import FitMonitor
from plackett.rankers.parameters import param
from plackett.scorers import models
from plackett.scorers.net_shape import NetShape
from plackett.scorers.plain_net import PlainNet
from plackett.scorers.tied_scores import with_equal_rows_tied
from plackett.validation import check_choice, check_number, check_positive_int, is_sparse, plain

PRECISIONS = ("float32", "float64")


@dataclass(eq=False, repr=False, kw_only=True)
class NeuralRanker(Normalized, Prepared):
    """Ranks by a small net over the features, trained with any loss; needs PyTorch (the extra ``neural``).

    Minimises ``(1 / Σ_q s_q) Σ_q s_q loss_q + (l2 / 2) ‖weights‖²`` over all queries, with query weights s_q and
    biases not counted in the norm, by Adam. Lists are concatenated, without padding. Without hidden layers it has the
    same minimum as ``LinearRanker``.

    Parameters
    ----------
    loss : str or Loss, default="listmle"
        As for ``LinearRanker``. On CUDA ``"pl-rank"`` and custom losses are computed on the CPU.
    hidden : sequence of ints or int, default=(64, 32)
        Widths of the hidden layers; ``()`` makes the scores linear.
    activation : {"relu", "gelu", "silu", "tanh"}, default="relu"
    dropout : float, default=0.0
        Share of a layer's outputs that is dropped at random during training.
    attention : int, default=0
        Layers of self-attention over the list after the hidden layers: the score of a document depends on the others of
        its list, but not on their order. ``predict`` then needs ``qid``.
    heads : int, default=4
        Heads of each attention layer; must divide the width of the last hidden layer.
    l2 : float, default=1e-2
        Strength of the penalty. Ignored for ``"rankcosine"``, as in ``LinearRanker``. On validation queries of MQ2008
        the default was better than 1e-3 and 1e-4 with four losses of five.
    learning_rate : float, default=5e-3
        Step size of Adam.
    batch_size : int or None, default=16
        Queries per step; None takes all of them at once. Batches are drawn in every epoch.
    n_epochs : int, default=100
        Passes over the queries.
    precision : {"float32", "float64"}, default="float32"
        Type of the weights.
    device : str, default="auto"
        ``"cpu"``, ``"cuda"``, ``"cuda:1"``; ``"auto"`` takes CUDA if available. A saved ranker predicts on the CPU
        where there is no CUDA.
    normalize : str, transformer or None, default="zscore"
        How columns are scaled first, as for ``LinearRanker``. Nets learn badly from columns of different scales. Sparse
        rows need None, or a transformer that keeps zeros.
    patience : int or None, default=10
        With an ``eval_set``, the fit ends after this many epochs without a better value of its measure; None never ends
        it early. The weights of the best epoch are kept either way.
    random_state : int, RandomState or None, default=None
        For the initial weights, the batches and dropout. With a seed, fits on the same device with the same number of
        threads are identical. PyTorch's own generators are not used.
    verbose : bool, default=False
        Whether to show a progress bar on standard error.
    warm_start : bool, default=False
        Start from the weights of the last fit.
    missing, missing_indicator, encoding : as in ``LinearRanker``

    Attributes
    ----------
    weights_ : dict of arrays
        By the names of the layers.
    layers_ : dict
        ``hidden``, ``activation``, ``attention`` and ``heads`` of the fitted net. Changed parameters take effect in the
        next fit.
    mean_row_ : ndarray
        The mean of the training rows after scaling, from which explanations start; 0 with ``normalize="zscore"``.
    n_iter_ : int
        Epochs.
    objective_ : float
        Mean over the batches of the last epoch.
    stop_reason_ : str
        Why training ended, such as ``"n_epochs reached"`` or ``"no improvement on the validation set"``.
    history_ : dict of lists
        ``"objective"`` and the validation measure, one entry per epoch.
    best_iteration_, best_score_ : int and float, or None without a validation set
        The epoch, from 1, with the best value of the validation measure, whose weights are kept, and that value.
    n_queries_, normalizer_, feature_names_, first_index_, n_features_in_, feature_names_in_ : as in ``LinearRanker``
    categories_, encoder_, imputer_ : as in ``LinearRanker``

    Examples
    --------
    >>> import plackett as pk
    >>> data = pk.datasets.make_web_like(50, n_features=8, random_state=0)
    >>> ranker = pk.NeuralRanker(hidden=(16,), n_epochs=20, random_state=0).fit(data.X, data.y, qid=data.qid)
    >>> scores = ranker.predict(data.X, qid=data.qid)
    """

    loss: Any = field(default="listmle", kw_only=False)
    hidden: Any = (64, 32)
    activation: str = "relu"
    dropout: float = 0.0
    attention: int = 0
    heads: int = 4
    l2: float = param(1e-2, check_number, least=0.0)
    learning_rate: float = param(5e-3, check_number, above=0.0)
    batch_size: int | None = param(16, check_positive_int)
    n_epochs: int = param(100, check_positive_int)
    precision: str = param("float32", check_choice, choices=PRECISIONS)
    device: str = "auto"
    normalize: Any = "zscore"
    patience: int | None = 10
    random_state: Any = None
    verbose: bool = False
    warm_start: bool = False

    takes_loss_objects = True
    model_of = models.Net.of
    package: ClassVar[str] = "torch"

    @classmethod
    def import_package(cls) -> ModuleType:
        """Import PyTorch and return it; if it is missing, the error says how to install it."""
        return import_optional("torch", extra="neural", needed_for=cls.__name__)

    def _learn(self, training: TrainingSet, monitor: FitMonitor) -> None:
        with importing:
            from plackett.rankers.neural.training import at_work, choose_device

        loss, queries, device = get_loss(self.loss), training.queries, choose_device(self.device)
        loss.check_fit(queries.lists)
        shape = NetShape.of(self.get_params(deep=False), queries.n_features, has_output_bias=not loss.ignores_shifts)
        share = 1.0 if self.batch_size is None else min(1.0, self.batch_size / queries.n_queries)
        with at_work(device, self.batch_size, _work(shape, queries, share)):
            self._minimize(shape, loss, training, monitor, device)

    def _minimize(self, shape: NetShape, loss: Loss, training: TrainingSet, monitor: FitMonitor, device: Any) -> None:
        with importing:
            import torch

            from plackett.rankers.neural.batches import TrainingData
            from plackett.rankers.neural.training import NetFit, minimize_by_batches
            from plackett.scorers.neural import Net

        queries, weights = training.queries, training.weights
        rng = np.random.default_rng(as_seed(self.random_state))
        start = self._last_weights(shape) if self.warm_start and hasattr(self, "weights_") else shape.draw(rng)
        dtype = torch.float64 if self.precision == "float64" else torch.float32
        net = Net(shape, start, dropout=self.dropout, device=device, dtype=dtype)
        lists = QueryLists(queries.lists.labels, queries.indptr, rng if loss.is_random else None)
        fit = NetFit(
            net,
            loss,
            TrainingData(queries.X, lists, weights, net),
            l2=0.0 if loss.is_scale_free else self.l2,
            generator=torch.Generator(device).manual_seed(int(rng.integers(2**63))) if self.dropout else None,
        )
        with monitor.run("n_epochs", self.n_epochs, ("objective",)):
            minimize_by_batches(
                fit, monitor,
                learning_rate=self.learning_rate, batch_size=self.batch_size, n_epochs=self.n_epochs, rng=rng,
            )  # fmt: skip
        if monitor.best_state is not None:
            net.set_vector(monitor.best_state)
        self.weights_, self.layers_ = net.arrays(), shape.layers
        self.mean_row_ = _mean_row(queries.X)
        self.objective_ = float((monitor.history["objective"] or [np.nan])[-1])

    def _explained(self, queries: Queries, base: np.ndarray | None) -> tuple[Any, Any, dict[str, Any]]:
        with importing:
            from plackett.explain.nets import integrated_gradients

        shape = self.net_shape()
        if shape.attention:
            raise NotImplementedError(
                f"{type(self).__name__} with attention cannot explain its scores feature by feature: a score depends "
                "on the features of all documents of the list. Fit it with attention=0."
            )
        scaled = self._normalized(queries).X
        rows = np.asarray(dense(scaled), dtype=np.float64)
        parts = integrated_gradients(PlainNet.of(shape, self.weights_), rows, self.mean_row_)
        names = self._names_of_columns(shape.n_inputs)
        return parts, scaled, {"scores": self._predict_grouped(queries), "feature_names": names}

    @property
    def depends_on_list(self) -> bool:
        """Whether there is attention over the list, or ``normalize`` works within lists."""
        return bool(self.net_shape().attention) or super().depends_on_list

    def _predict_grouped(self, queries: Queries) -> np.ndarray:
        check_is_fitted(self)
        torch = self.import_package()
        with importing:
            from plackett.rankers.neural.batches import scores_of
            from plackett.rankers.neural.training import at_work, choose_device

        self._check_device()
        scaled = self._normalized(queries)
        device = choose_device(self.device if torch.cuda.is_available() else "cpu")
        net = self._net(device)
        with at_work(device, self.batch_size, _work(net.shape, scaled)):
            scores = scores_of(net, scaled.X, queries.indptr)
        return with_equal_rows_tied(self._check_scores(scores, queries), scaled.X, queries.indptr)

    @property
    def _overflow_advice(self) -> str:
        is_double = self.weights_["output.weight"].dtype == np.float64
        return "Clip them." if is_double else 'Clip them, or fit with precision="float64".'

    def _net(self, device: Any) -> Any:
        """Return the fitted net, in the precision of its fit."""
        with importing:
            import torch

            from plackett.scorers.neural import Net

        is_double = self.weights_["output.weight"].dtype == np.float64
        return Net(self.net_shape(), self.weights_, device=device, dtype=torch.float64 if is_double else torch.float32)

    def net_shape(self) -> NetShape:
        """Return the layers of the fitted net."""
        first = self.weights_.get("hidden0.weight", self.weights_.get("output.weight"))
        n_inputs = first.shape[1] if isinstance(first, np.ndarray) and first.ndim == 2 else 0
        return NetShape.of(self.layers_, n_inputs, has_output_bias="output.bias" in self.weights_)

    def _last_weights(self, shape: NetShape) -> dict[str, np.ndarray]:
        found, wanted = {name: array.shape for name, array in self.weights_.items()}, shape.weights
        keep = "Keep hidden, attention, the loss and the columns as they were, or set warm_start=False."
        for name, of in wanted.items():
            if found.get(name) != of:
                raise ValueError(
                    f"warm_start: {name} must have the shape {of} now, but the last fit left {found.get(name)}. {keep}"
                )
        for name in found:
            if name not in wanted and name != "output.bias":  # which does not change the order
                raise ValueError(f"warm_start: the last fit left {name}, which this net does not have. {keep}")
        return self.weights_

    def _check_parameters(self) -> None:
        get_loss(self.loss).check_labels(NO_LABELS)
        NetShape.of(self.get_params(deep=False), 0, has_output_bias=False)  # checks the layers
        if check_number(self.dropout, "dropout", least=0.0) >= 1.0:
            raise ValueError(f"dropout={plain(self.dropout)!r} must be below 1.")
        self._check_device()
        self.import_package()
        with importing:
            from plackett.rankers.neural.training import choose_device

        choose_device(self.device)

    def _check_device(self) -> None:
        if not isinstance(self.device, str) or not re.fullmatch(r"auto|cpu|cuda(:\d+)?", self.device):
            raise ValueError(f'device={plain(self.device)!r} is not known; choose "auto", "cpu", "cuda" or "cuda:1".')

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.normalize is None
        return tags

    def check_loaded(self) -> None:
        """Reject attributes of a file that no fit produces."""
        super().check_loaded()
        self._check_device()


def _work(shape: NetShape, queries: Queries, share: float = 1.0) -> float:
    """Return approximately how many multiplications a batch with this share of the documents takes."""
    return sum(float(np.prod(of)) for of in shape.weights.values()) * queries.n_docs * share


def _mean_row(X: Any) -> np.ndarray:
    """Return the mean of the rows, summed in float64."""
    return np.full(X.shape[0], 1.0 / X.shape[0]) @ X if is_sparse(X) else X.mean(axis=0, dtype=np.float64)
