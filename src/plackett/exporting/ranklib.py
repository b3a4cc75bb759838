"""RankLib's text files: a linear regression, or the trees of a LambdaMART; features are counted from 1.

A linear regression, ``0:constant 1:weight 2:weight …``, is the only model of RankLib that is linear in the raw features
and has a constant: the score is ``constant + Σ_j w_j x_j`` in float64, with features read as float32. RankLib scales
features within each list or not at all. The scaling of the ranker is folded into the weights: exact up to rounding.

Trees are XML. RankLib goes left where ``x <= threshold``, reads features, thresholds and leaves as float32 and sums
in float32. A missing value is 0. It joins lines after removing leading tabs, so only tabs and line breaks may separate
two tags.
"""

from __future__ import annotations

import numpy as np

from plackett.exporting.float32 import check_depth, decimal, nodes_in_single
from plackett.exporting.forms import LinearForm, TreeForm
from plackett.exporting.nodes import LEAF, Nodes
from plackett.formats.ranklib import read_model
from plackett.rankers.imported import ranker_of


def write_linear(form: LinearForm) -> str:
    """Return a model file for RankLib's ``-load`` and for the type ``model/ranklib`` of search engines."""
    with np.errstate(over="ignore", invalid="ignore"):
        weights, constant = form.folded()
    if not np.isfinite([*weights, constant]).all():
        raise ValueError(
            f"the scales of this {form.ranker} are so small that its weights, divided by them, overflow. "
            "Scale the columns before training."
        )
    pairs = " ".join(f"{feature}:{weight!r}" for feature, weight in enumerate([constant, *weights.tolist()]))
    return f"## Linear Regression\n## {form.ranker} by plackett\n{pairs}\n"


def score(content: str, X: np.ndarray, names: list[str] | None = None) -> np.ndarray:
    """Return RankLib's scores of rows, which it reads as float32."""
    with np.errstate(over="ignore"):  # what is not finite is reported later
        rows = X.astype(np.float32).astype(np.float64)
    model = ranker_of(read_model(content))
    return model.model_of(model, model.n_features_in_)(np.ascontiguousarray(rows[:, : model.n_features_in_]))


def write_trees(form: TreeForm) -> str:
    """Return a model file for RankLib's ``-load`` and for the type ``model/ranklib`` of search engines."""
    check_depth(form, "ranklib")
    form.check_missing("ranklib")
    nodes = nodes_in_single(form, "ranklib")
    lines = ["## LambdaMART", f"## {form.ranker} by plackett", f"## No. of trees = {nodes.n_trees}", "", "<ensemble>"]
    for tree, root in enumerate(nodes.starts[:-1].tolist()):
        lines += [f'\t<tree id="{tree + 1}" weight="1.0">', *_tree_lines(nodes, root), "\t</tree>"]
    return "\n".join([*lines, "</ensemble>", ""])


def _tree_lines(nodes: Nodes, root: int) -> list[str]:
    """Return the lines of a tree."""
    lines: list[str] = []
    # nodes to write, and lines that close those written
    stack: list[tuple[int | str, int, str]] = [(root, 2, "<split>")]
    while stack:
        node, depth, opening = stack.pop()
        tabs = "\t" * depth
        if isinstance(node, str):
            lines.append(tabs + node)
            continue
        lines.append(tabs + opening)
        stack.append(("</split>", depth, ""))
        if nodes.features[node] == LEAF:
            lines.append(f"{tabs}\t<output> {decimal(nodes.values[node])} </output>")
            continue
        lines.append(f"{tabs}\t<feature> {nodes.features[node] + 1} </feature>")
        lines.append(f"{tabs}\t<threshold> {decimal(nodes.thresholds[node])} </threshold>")
        stack.append((int(nodes.right[node]), depth + 1, '<split pos="right">'))
        stack.append((int(nodes.left[node]), depth + 1, '<split pos="left">'))
    return lines
