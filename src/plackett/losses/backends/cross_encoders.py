"""Losses for cross-encoders that are trained with sentence-transformers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plackett._optional import import_optional
from plackett.losses.base import Loss
from plackett.validation import count_of

import_optional("torch", extra="neural", needed_for="as_sentence_transformers()")  # the error says what to install

import torch  # noqa: E402

from plackett.losses.backends.torch import label_lists  # noqa: E402

_COLUMNS = (
    "the dataset needs the columns query, documents and label, the last two with a list in each row: "
    '{"query": "red fox", "documents": ["a fox", "a cat"], "label": [1, 0]}.'
)


class CrossEncoderLoss(torch.nn.Module):
    """A loss module for ``CrossEncoderTrainer`` of sentence-transformers: the mean loss of the lists of a batch.

    It takes the same batches as the listwise losses of sentence-transformers: a query, a list of documents and a list
    of labels per row. Lists may differ in length and may be empty, and documents may be in any order: only the labels
    count, and equal labels are ties. Scores are concatenated, not padded, so that the loss of a list does not depend on
    the rest of its batch. An empty list has loss 0 and counts in the mean.

    Its parameters are those of ``loss.as_sentence_transformers``.

    Examples
    --------
    >>> import torch
    >>> import plackett as pk
    >>> class Overlap(torch.nn.Module):  # instead of a CrossEncoder
    ...     num_labels, device = 1, torch.device("cpu")
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.weight = torch.nn.Parameter(torch.tensor(1.0))
    ...     def preprocess(self, pairs, prompt=None, task=None):
    ...         return {"shared": torch.tensor([float(len({*a.split()} & {*b.split()})) for a, b in pairs])}
    ...     def forward(self, features):
    ...         return {"scores": self.weight * features["shared"][:, None]}
    >>> loss = pk.losses.ListMLE().as_sentence_transformers(Overlap())
    >>> value = loss([["red fox"], [["red fox", "blue fox", "cat"]]], [torch.tensor([1, 0, 0])])
    >>> value.backward()
    >>> round(value.item(), 4), round(loss.model.weight.grad.item(), 4)  # log(1 + 1/e + 1/e²)
    (0.4076, -0.4248)
    """

    def __init__(
        self, loss: Loss, model: Any, activation_fn: torch.nn.Module | None = None, mini_batch_size: int | None = None
    ):
        super().__init__()
        if not hasattr(model, "preprocess"):
            raise TypeError(
                f"model is a {type(model).__name__} without preprocess(); a CrossEncoder of sentence-transformers 5.4 "
                "or newer is needed. Update it: pip install -U sentence-transformers"
            )
        if model.num_labels != 1:
            raise ValueError(
                f"the model has {model.num_labels} output labels; a ranking loss needs one score per document. Create "
                "it with CrossEncoder(..., num_labels=1)."
            )
        self.loss, self.model = loss, model  # the model card shows both classes
        self.activation_fn = torch.nn.Identity() if activation_fn is None else activation_fn
        self.mini_batch_size = mini_batch_size
        self._value = loss.as_torch()

    def forward(
        self, inputs: Sequence[Any], labels: Sequence[torch.Tensor], prompt: str | None = None, task: str | None = None
    ) -> torch.Tensor:
        """Return the mean loss of the lists of a batch.

        Parameters
        ----------
        inputs : [queries, lists of documents]
        labels : list of tensors
            One label per document, for each query.
        prompt, task : str, default=None
            Passed to ``model.preprocess``.
        """
        queries, documents = _checked(inputs, labels)
        sizes = [len(each) for each in documents]
        lists = label_lists(torch.cat([torch.as_tensor(each) for each in labels]), sizes)
        pairs = [(query, document) for query, own in zip(queries, documents, strict=True) for document in own]
        if not pairs:
            return torch.zeros((), device=self.model.device, requires_grad=True)
        step = len(queries) if self.mini_batch_size is None else self.mini_batch_size
        step = len(pairs) if step <= 0 else step
        parts = [self._scores(pairs[start : start + step], prompt, task) for start in range(0, len(pairs), step)]
        return self._value(self.activation_fn(torch.cat(parts)), lists) / len(queries)

    def get_config_dict(self) -> dict[str, Any]:
        """Return the settings for the model card."""
        return {
            "loss": repr(self.loss),
            "activation_fn": repr(self.activation_fn),
            "mini_batch_size": self.mini_batch_size,
        }

    def extra_repr(self) -> str:
        return f"loss={self.loss!r}, mini_batch_size={self.mini_batch_size}"

    def _scores(self, pairs: list[tuple[Any, Any]], prompt: str | None, task: str | None) -> torch.Tensor:
        features = self.model.preprocess(pairs, prompt=prompt, task=task)
        for name, value in features.items():
            features[name] = value.to(self.model.device) if isinstance(value, torch.Tensor) else value
        return self.model(features)["scores"].view(-1)


def _checked(inputs: Sequence[Any], labels: Any) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return queries and lists of documents; raise for batches that are not lists with labels.

    The error is always a ValueError: the trainer interprets a TypeError as a signature without ``prompt``.
    """
    if len(inputs) != 2:
        raise ValueError(f"the batch has {count_of(len(inputs), 'column')} of texts, not 2; {_COLUMNS}")
    if labels is None:
        raise ValueError(f"the batch has no labels; {_COLUMNS}")
    queries, documents = inputs
    if any(isinstance(each, str) for each in documents) or any(torch.as_tensor(each).dim() != 1 for each in labels):
        raise ValueError(f"the batch has pairs of texts with one label each, not lists; {_COLUMNS}")
    n_documents, n_labels = [len(each) for each in documents], [len(each) for each in labels]
    if n_documents != n_labels:
        raise ValueError(f"the lists of the batch have {n_documents} documents but {n_labels} labels.")
    return queries, documents
