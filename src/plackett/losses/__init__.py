"""Losses of scores and labels, which rankers minimise."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from plackett._lazy import importing
from plackett._names import unknown_name
from plackett._plugins import load_plugin, plugins
from plackett.losses import own
from plackett.losses.base import NOT_LINEAR, Loss
from plackett.losses.cost_sensitive import CSListMLE
from plackett.losses.listmle import ListMLE, PListMLE
from plackett.losses.listwise import ListNet, RankCosine
from plackett.losses.neural_sort import NeuralNDCG
from plackett.losses.own import AbsentLoss
from plackett.losses.pairwise import NAMED_WEIGHTS, Pairwise
from plackett.losses.pl_rank import PLRank
from plackett.losses.pointwise import BinaryCrossEntropy, Squared
from plackett.losses.smooth_ranks import ApproxMAP, ApproxMRR, ApproxNDCG
from plackett.losses.softmax import XENDCG, Poly1Softmax, Softmax, UniqueSoftmax
from plackett.losses.transforms import Linear

__all__ = [
    "XENDCG",
    "AbsentLoss",
    "ApproxMAP",
    "ApproxMRR",
    "ApproxNDCG",
    "BinaryCrossEntropy",
    "CSListMLE",
    "Linear",
    "ListMLE",
    "ListNet",
    "Loss",
    "NeuralNDCG",
    "PLRank",
    "PListMLE",
    "Pairwise",
    "Poly1Softmax",
    "RankCosine",
    "Softmax",
    "Squared",
    "UniqueSoftmax",
    "get_loss",
    "linear_form",
    "loss_names",
]

_PAIRWISE = ("hinge", "squared-hinge", "logistic", "exponential", "psi", "soft-zero-one")
_BY_NAME: dict[str, Callable[[], Loss]] = {
    **{loss.name: loss for loss in (ListMLE, PListMLE, ListNet, RankCosine, CSListMLE)},
    **{name: functools.partial(Pairwise, name) for name in _PAIRWISE},
    **{name: functools.partial(Pairwise, "logistic", name) for name in NAMED_WEIGHTS},
    **{loss.name: loss for loss in (Squared, BinaryCrossEntropy)},
    **{loss.name: loss for loss in (ApproxNDCG, ApproxMRR, ApproxMAP, NeuralNDCG)},
    **{loss.name: loss for loss in (Softmax, UniqueSoftmax, Poly1Softmax, XENDCG, PLRank)},
}


def _torch_form(loss: Loss) -> Any:
    with importing:
        from plackett.losses.backends.torch import TorchLoss

    return TorchLoss(loss)


def _cross_encoder_form(loss: Loss, model: Any, activation_fn: Any, mini_batch_size: int | None) -> Any:
    with importing:
        from plackett.losses.backends.cross_encoders import CrossEncoderLoss

    return CrossEncoderLoss(loss, model, activation_fn, mini_batch_size)


def _tree_form(loss: Loss, queries: Any) -> Any:
    with importing:
        from plackett.losses.backends.trees import TreeObjective

    return TreeObjective(loss, queries)


# a loss does not import its backends: they import the losses, and PyTorch may not be installed
Loss.backends.update({"torch": _torch_form, "cross encoder": _cross_encoder_form, "trees": _tree_form})


def loss_names() -> list[str]:
    """Return the names that ``loss=`` takes.

    Installed packages add names through the entry points ``plackett.losses``.

    Examples
    --------
    >>> from plackett.losses import loss_names
    >>> "listmle" in loss_names()
    True
    """
    return [*_BY_NAME, *(name for name in plugins("losses") if name not in _BY_NAME)]


def get_loss(loss: Any) -> Loss:
    """Return the loss with this name and default parameters, or the given object as a ``Loss``.

    Parameters
    ----------
    loss : str, Loss, or object with ``value_and_slope(scores, queries)``

    Examples
    --------
    >>> from plackett.losses import get_loss
    >>> get_loss("listnet")
    ListNet()
    """
    if isinstance(loss, str) and loss in _BY_NAME:
        return _BY_NAME[loss]()
    if isinstance(loss, str) and loss in plugins("losses"):
        return get_loss(load_plugin("losses", loss)())
    if isinstance(loss, type) and callable(getattr(loss, "value_and_slope", None)):
        raise ValueError(f"loss={loss.__name__} is a class; pass an object: loss={loss.__name__}().")
    if isinstance(loss, Loss):
        return loss
    if callable(getattr(loss, "value_and_slope", None)):
        return own.OwnLoss(loss)
    advice = f"; choose one of {', '.join(loss_names())}, or pass an object with value_and_slope."
    raise unknown_name("loss", loss, advice, loss_names())


def linear_form(loss: Any) -> Loss:
    """Return the form of a loss that is linear in the labels, for labels that were estimated from clicks.

    Gains are the labels themselves, not divided by an ideal DCG. Pairs are weighted by the label of their first
    document alone: ``Σ_i y_i Σ_{j ≠ i} L(f_i − f_j)``, which with the hinge is the propensity SVM (joachims2017).

    Parameters
    ----------
    loss : str or Loss

    Returns
    -------
    Loss
        The loss itself if it is linear already.

    Raises
    ------
    ValueError
        If the loss has no such form: ListMLE and its variants, ListNet, LambdaRank, NDCG-Loss2, unique softmax,
        XE-NDCG and others.

    Examples
    --------
    >>> from plackett.losses import linear_form
    >>> linear_form("softmax"), linear_form("hinge")
    (Softmax(), Pairwise(loss='hinge', weight='label'))
    >>> linear_form("approx-ndcg")
    ApproxNDCG(gain='linear', normalize=False)
    """
    found = get_loss(loss)
    if found.is_linear_in_labels:
        return found
    changes: dict[str, Any] = {"gain": "linear", "normalize": False}
    if isinstance(found, Pairwise):
        weight = "label" if found.weight == "uniform" else found.weight
        changes = {"weight": weight, "normalize": "none" if weight == "ndcg-loss1" else found.normalize}
        changes |= {"gain": "linear"} if weight == "ndcg-loss1" else {}
    elif isinstance(found, BinaryCrossEntropy):
        changes = {"threshold": None}
    elif not changes.keys() <= found.get_params().keys():
        raise ValueError(f"{found!r} {NOT_LINEAR}")
    linear = type(found)(**{**found.get_params(), **changes})
    if not linear.is_linear_in_labels:
        raise ValueError(f"{found!r} {NOT_LINEAR}")
    return linear
