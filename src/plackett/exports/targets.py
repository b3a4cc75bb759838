"""The targets by name, and the one way to all of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from plackett.exports import (
    engines,
    net_onnx,
    net_plain,
    onnx_model,
    plain,
    ranklib,
    tree_engines,
    tree_onnx,
    tree_plain,
    tree_ranklib,
)
from plackett.exports.forms import Form, form_of
from plackett.exports.net_form import NetForm
from plackett.exports.parity import Parity, check_parity
from plackett.exports.tree_form import TreeForm
from plackett.storage.opening import write_bytes
from plackett.validation import check_choice

DEFAULT_NAME = "plackett"


@dataclass(frozen=True)
class Target:
    """A format: a line about it, the options that it takes, how it is written, and how its formula is computed."""

    description: str
    options: tuple[str, ...]
    write: Callable[..., Any]
    score: Callable[[Any, np.ndarray, list[str] | None], np.ndarray]


TARGETS = {  # for linear rankers
    "elasticsearch": Target(
        "model/linear of the learning-to-rank plugin, with feature_normalizers",
        ("name",),
        engines.write_elasticsearch,
        engines.score_elasticsearch,  # type: ignore[arg-type]
    ),
    "opensearch": Target(
        "the same for OpenSearch",
        ("name",),
        lambda form, name: engines.write_elasticsearch(form, name=name, target="opensearch"),
        engines.score_elasticsearch,  # type: ignore[arg-type]
    ),
    "solr": Target(
        "LinearModel of Solr's learning to rank, with norms",
        ("name", "store"),
        engines.write_solr,
        engines.score_solr,  # type: ignore[arg-type]
    ),
    "ranklib": Target(
        "RankLib's text of a linear regression",
        (),
        ranklib.write_ranklib,
        lambda content, X, names: ranklib.score_ranklib(content, X),
    ),
    "onnx": Target(
        "an ONNX graph from features to scores",
        ("name", "dtype"),
        onnx_model.write_onnx,
        lambda content, X, names: onnx_model.score_onnx(content, X),
    ),
    "json": Target(
        "plain JSON with weights, offsets and scales",
        ("name",),
        plain.write_json,
        lambda content, X, names: plain.score_json(content, X),
    ),
}

TREE_TARGETS = {
    "elasticsearch": Target(
        "model/xgboost+json of the learning-to-rank plugin",
        ("name",),
        tree_engines.write_elasticsearch_trees,
        tree_engines.score_elasticsearch_trees,  # type: ignore[arg-type]
    ),
    "opensearch": Target(
        "the same for OpenSearch",
        ("name",),
        lambda form, name: tree_engines.write_elasticsearch_trees(form, name=name, target="opensearch"),
        tree_engines.score_elasticsearch_trees,  # type: ignore[arg-type]
    ),
    "solr": Target(
        "MultipleAdditiveTreesModel of Solr's learning to rank",
        ("name", "store"),
        tree_engines.write_solr_trees,
        tree_engines.score_solr_trees,  # type: ignore[arg-type]
    ),
    "ranklib": Target(
        "RankLib's text of a LambdaMART",
        (),
        tree_ranklib.write_ranklib_trees,
        lambda content, X, names: tree_ranklib.score_ranklib_trees(content, X),
    ),
    "onnx": Target(
        "an ONNX graph from features to scores",
        ("name", "dtype"),
        tree_onnx.write_onnx_trees,
        lambda content, X, names: onnx_model.score_onnx(content, X),
    ),
    "json": Target(
        "plain JSON with the nodes of all trees",
        ("name",),
        tree_plain.write_json_trees,
        lambda content, X, names: tree_plain.score_json_trees(content, X),
    ),
}

NET_TARGETS = {
    "onnx": Target(
        "an ONNX graph from features to scores",
        ("name", "dtype"),
        net_onnx.write_onnx_net,
        lambda content, X, names: onnx_model.score_onnx(content, X),
    ),
    "json": Target(
        "plain JSON with the weights of all layers",
        ("name",),
        net_plain.write_json_net,
        lambda content, X, names: net_plain.score_json_net(content, X),
    ),
}


@dataclass(frozen=True)
class Exported:
    """An exported model: its content, and what a check of it has found, or None."""

    content: str | bytes
    parity: Parity | None

    def write(self, path: str | os.PathLike | IO) -> None:
        """Write it; a path changes only when everything was written."""
        content = self.content.encode() if isinstance(self.content, str) else self.content
        with write_bytes(path) as file:
            file.write(content)


def export(
    ranker: Any,
    target: str,
    path: str | os.PathLike | IO | None = None,
    *,
    feature_names: Sequence[str] | None = None,
    name: str | None = None,
    store: str | None = None,
    dtype: str | None = None,
    check: Any = None,
) -> str | bytes:
    """A fitted ranker, linear, of trees or a net, in the format of another tool.

    Parameters
    ----------
    ranker : LinearRanker, AdaRank, PRank, SVMMap, TreeRanker, LightGBMRanker, XGBoostRanker, RankBoost or NeuralRanker
        Linear ones and nets without ``normalize``, or with one over all rows (``"minmax"``, ``"zscore"``); trees
        without ``base_score``, XGBoost's of dense rows; RankBoost without ``normalize``; nets without attention, to
        ``"onnx"`` and ``"json"``. Other rankers are refused, with the reason.
    target : {"elasticsearch", "opensearch", "solr", "ranklib", "onnx", "json"}
    path : str, path or file object, default=None
        Where to write it as well; ``"-"`` is standard output. A file changes only when everything was written.
    feature_names : sequence of str, default=None
        In the order of the columns, as the search engine knows them. None takes those of the data that the ranker was
        fitted to. Elasticsearch, OpenSearch and Solr need names, ``"ranklib"`` counts features from 1.
    name : str, default=None
        Of the model, for all but ``"ranklib"``; None is ``"plackett"``.
    store : str, default=None
        Of ``"solr"``: the feature store; None leaves it to Solr.
    dtype : {"float32", "float64"}, default=None
        Of ``"onnx"``: in which to compute; None is ``"float32"``.
    check : array, data frame, CSR matrix or Queries, default=None
        Rows on which the exported model, computed by the target's own formula (ONNX by onnxruntime), must give the
        scores of ``ranker.predict`` to within 1e-5 of their spread; otherwise it is an error and nothing is written.

    Returns
    -------
    str, or bytes for ``"onnx"``

    Raises
    ------
    ValueError
        If the target cannot express the ranker, or the check fails.

    Examples
    --------
    >>> import plackett as pk
    >>> ranker = pk.LinearRanker("squared", l2=0).fit([[1.0, 5.0], [2.0, 4.0], [3.0, 1.0]], [0, 1, 2])
    >>> text = pk.export(ranker, "elasticsearch", feature_names=["bm25", "age"], check=[[2.0, 3.0]])
    >>> pk.export(pk.FeatureRank().fit([[1.0], [2.0]], [0, 1]), "solr")
    Traceback (most recent call last):
        ...
    ValueError: FeatureRank cannot be exported: it orders a list as a whole, so that a document's place depends on the
    other documents.
    """
    exported = build(
        ranker, target, feature_names=feature_names, name=name, store=store, dtype=dtype, check=check
    )  # fmt: skip
    if path is not None:
        exported.write(path)
    return exported.content


def build(
    ranker: Any, target: str, *, feature_names: Sequence[str] | None = None, check: Any = None, **options: Any
) -> Exported:
    """As ``export``, without writing; the answer also says how well a check went."""
    given = checked_options(target, options)
    form = form_of(ranker, feature_names)
    content = _target(target, form).write(form, **given)
    if check is None:
        return Exported(content, None)
    return Exported(content, _checked(content, ranker, form, target, check))


def checked_options(target: str, options: dict[str, Any]) -> dict[str, Any]:
    """The options that a target takes, with their defaults; an error for one that it does not take."""
    check_choice(target, "target", tuple(TARGETS))
    taken = TARGETS[target].options
    for key, value in options.items():
        if value is not None and key not in taken:
            takers = " and ".join(other for other in TARGETS if key in TARGETS[other].options)
            raise ValueError(f"{target} has no {key}; it is for {takers}.")
    defaults = {"name": DEFAULT_NAME, "store": None, "dtype": "float32"}
    given = {key: defaults[key] if options.get(key) is None else options[key] for key in taken}
    for key in ("name", "store"):
        text = given.get(key)
        if text is not None and (not isinstance(text, str) or not text.strip()):
            raise ValueError(f"{key}={text!r}; it must be a text that is not empty.")
    if "dtype" in given:
        check_choice(given["dtype"], "dtype", onnx_model.DTYPES)
    return given


def _target(target: str, form: Form) -> Target:
    if not isinstance(form, NetForm):
        return (TREE_TARGETS if isinstance(form, TreeForm) else TARGETS)[target]
    if target not in NET_TARGETS:
        raise ValueError(
            f"{form.ranker} cannot be exported to {target}, which has no form for nets. Export it to onnx or json and "
            "score the documents outside of the engine, or train a linear ranker or trees."
        )
    return NET_TARGETS[target]


def _checked(content: Any, ranker: Any, form: Form, target: str, X: Any) -> Parity:
    score = _target(target, form).score
    return check_parity(lambda rows: score(content, rows, form.names), ranker, form, X, target)
