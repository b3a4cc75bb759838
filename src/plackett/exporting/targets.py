"""``export``: a fitted ranker in the format of another tool."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import IO, Any

import numpy as np

from plackett.exceptions import DataWarning, warn
from plackett.exporting import elastic_ltr, engines, onnx, plain_json, ranklib, vespa
from plackett.exporting.forms import LinearForm, NetForm, TreeForm, form_of
from plackett.exporting.inputs import check_target
from plackett.exporting.parity import Parity, check_parity
from plackett.storage.opening import write_bytes
from plackett.validation import check_choice

DEFAULT_NAME = "plackett"


@dataclass(frozen=True)
class Target:
    """How a form is written for a target, and how the target computes scores from what was written."""

    write: Callable[..., Any]
    score: Callable[[Any, np.ndarray, Any], np.ndarray]


TARGETS: dict[type, dict[str, Target]] = {
    LinearForm: {
        "elasticsearch": Target(engines.write_elasticsearch, engines.score_elasticsearch),
        "opensearch": Target(partial(engines.write_elasticsearch, target="opensearch"), engines.score_elasticsearch),
        "solr": Target(engines.write_solr, engines.score_solr),
        "vespa": Target(vespa.write_linear, vespa.score_linear),
        "ranklib": Target(ranklib.write_linear, ranklib.score),
        "onnx": Target(onnx.write_linear, onnx.score),
        "json": Target(plain_json.write_linear, plain_json.score_linear),
    },
    TreeForm: {
        "elasticsearch": Target(engines.write_elasticsearch_trees, engines.score_elasticsearch_trees),
        "opensearch": Target(
            partial(engines.write_elasticsearch_trees, target="opensearch"), engines.score_elasticsearch_trees
        ),
        "solr": Target(engines.write_solr_trees, engines.score_solr_trees),
        "elastic-ltr": Target(elastic_ltr.write_trees, elastic_ltr.score_trees),
        "vespa": Target(vespa.write_trees, vespa.score_trees),
        "ranklib": Target(ranklib.write_trees, ranklib.score),
        "onnx": Target(onnx.write_trees, onnx.score),
        "json": Target(plain_json.write_trees, plain_json.score_trees),
    },
    NetForm: {
        "onnx": Target(onnx.write_net, onnx.score),
        "json": Target(plain_json.write_net, plain_json.score_net),
    },
}

NAMING = ("elasticsearch", "opensearch", "solr", "elastic-ltr")  # targets that find features by any names
PREPARING = ("onnx", "json")  # targets that fill missing values and encode categories

OPTIONS: dict[str, tuple[str, ...]] = {
    "elasticsearch": ("name",),
    "opensearch": ("name",),
    "solr": ("name", "store"),
    "elastic-ltr": ("name",),
    "vespa": (),
    "ranklib": (),
    "onnx": ("name", "dtype"),
    "json": ("name",),
}


@dataclass(frozen=True)
class Exported:
    """An exported model, and the result of its check, or None."""

    content: str | bytes
    parity: Parity | None

    def write(self, path: str | os.PathLike | IO) -> None:
        """Write the content; the file is replaced only when everything was written."""
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
    """Return a fitted ranker (linear, trees or net) in the format of another tool.

    Parameters
    ----------
    ranker : LinearRanker, AdaRank, PRank, SVMMap, TreeRanker, XGBoostRanker, RankBoost or NeuralRanker
        Linear ones and nets without ``normalize``, or with one over all rows (``"minmax"``, ``"zscore"``); trees
        without ``base_score``, with splits by categories only to ``"json"``; RankBoost without ``normalize``; nets
        without attention, to ``"onnx"`` and ``"json"``. Other rankers raise an error that says why.
    target : {"elasticsearch", "opensearch", "solr", "elastic-ltr", "vespa", "ranklib", "onnx", "json"}
        ``"elasticsearch"`` is the learning-to-rank plugin, ``"elastic-ltr"`` Elasticsearch's own, for trees.
    path : str, path or file object, default=None
        File to write; ``"-"`` is standard output. An existing file is replaced only when everything was written.
    feature_names : sequence of str, default=None
        In the order of the columns, as the search engine defines them. None uses those of the training data.
        Elasticsearch, OpenSearch, Solr and Vespa need names; the columns of a LETOR file are called ``feature1`` and so
        on, with a warning, except for Vespa. ``"ranklib"`` counts features from 1.
    name : str, default=None
        Name of the model, for all but ``"ranklib"`` and ``"vespa"``; None is ``"plackett"``.
    store : str, default=None
        For ``"solr"``: the feature store; None leaves it to Solr.
    dtype : {"float32", "float64"}, default=None
        For ``"onnx"``: the precision; None is ``"float32"``.
    check : array, data frame, CSR matrix or Queries, default=None
        Rows on which the exported model, computed by the target's own formula (ONNX by onnxruntime), must give the
        scores of ``ranker.predict`` to within 1e-5 of their spread; otherwise it is an error and nothing is written.

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
    ValueError: FeatureRank cannot be exported: it orders a list as a whole, so the position of a document
    depends on the other documents.
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
    """Return what ``export`` writes, and what the check found."""
    options = checked_options(target, options)
    if target in NAMING and feature_names is None:
        feature_names = _numbered(ranker, target)
    form = form_of(ranker, feature_names)
    if target not in TARGETS[type(form)]:
        what, others = ("nets", "a linear ranker or trees") if isinstance(form, NetForm) else ("linear models", "trees")
        raise ValueError(
            f"{form.ranker} cannot be exported to {target}, which has no format for {what}. Export it to onnx or json "
            f"and score the documents outside the engine, or train {others}."
        )
    if form.inputs is not None and target not in PREPARING:
        check_target(ranker, form.inputs, target)
        form = replace(form, inputs=None)
    written = TARGETS[type(form)][target]
    content = written.write(form, **options)
    if check is None:
        return Exported(content, None)
    # a missing feature of a linear model or a net is 0
    is_filled = target not in PREPARING and ranker.imputer_ is not None
    parity = check_parity(
        lambda rows: written.score(content, np.nan_to_num(rows) if is_filled else rows, form.names),
        ranker, check, target,
    )  # fmt: skip
    return Exported(content, parity)


def _numbered(ranker: Any, target: str) -> list[str] | None:
    """Return the names of the columns of a file without names, by their numbers; None for other data."""
    first = getattr(ranker, "first_index_", None)
    if first is None or ranker.feature_names_ is not None:
        return None
    names = [f"feature{number + first}" for number in range(ranker.n_features_in_)]
    warn(
        f"the model was trained on a file without names of features: {target} has to find them as {names[0]} to "
        f"{names[-1]}. For other names, pass feature_names (on the command line: --features FILE).",
        DataWarning,
    )
    return names


def checked_options(target: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a target, with their defaults; raise for an option that it does not have."""
    check_choice(target, "target", tuple(OPTIONS))
    for key, value in options.items():
        if value is not None and key not in OPTIONS[target]:
            others = " and ".join(other for other, known in OPTIONS.items() if key in known)
            raise ValueError(f"{target} has no {key}; only {others} can have one.")
    defaults = {"name": DEFAULT_NAME, "store": None, "dtype": "float32"}
    checked = {key: defaults[key] if options.get(key) is None else options[key] for key in OPTIONS[target]}
    for key in ("name", "store"):
        text = checked.get(key)
        if text is not None and (not isinstance(text, str) or not text.strip()):
            raise ValueError(f"{key}={text!r}; it must be a non-empty string.")
    if "dtype" in checked:
        check_choice(checked["dtype"], "dtype", onnx.DTYPES)
    return checked
