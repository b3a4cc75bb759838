"""RankLib's text of a LambdaMART: trees as XML, features counted from 1.

RankLib goes left where ``x <= threshold``, reads features, thresholds and leaves as float32 and adds up in float32. Its
readers put lines together after dropping the tabs before them, so that nothing else may stand between two tags.
"""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np

from plackett.exports.tree_form import TreeForm
from plackett.exports.tree_nodes import LEAF, Nodes
from plackett.exports.tree_single import check_depth, decimal, nodes_in_single


def write_ranklib_trees(form: TreeForm) -> str:
    """A model file for RankLib's ``-load`` and for the type ``model/ranklib`` of search engines."""
    check_depth(form, "ranklib")
    nodes = nodes_in_single(form, "ranklib")
    lines = ["## LambdaMART", f"## {form.ranker} by plackett", f"## No. of trees = {nodes.n_trees}", "", "<ensemble>"]
    for tree, root in enumerate(nodes.starts[:-1].tolist()):
        lines += [f'\t<tree id="{tree + 1}" weight="1.0">', *_split(nodes, root), "\t</tree>"]
    return "\n".join([*lines, "</ensemble>", ""])


def _split(nodes: Nodes, root: int) -> list[str]:
    """The lines of a tree, by a stack of nodes to come and lines that close those before."""
    lines: list[str] = []
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


def score_ranklib_trees(content: str, X: np.ndarray) -> np.ndarray:
    """What RankLib makes of rows: lines that begin with # are passed over, the others are XML."""
    lines = (line.strip() for line in content.splitlines() if not line.startswith("#"))
    ensemble = ElementTree.fromstring("".join(lines))

    def parts(node: ElementTree.Element) -> float | tuple:
        first = float(node[0].text or "")
        return first if node[0].tag == "output" else (int(first) - 1, float(node[1].text or ""), node[2], node[3])

    return Nodes.read([tree[0] for tree in ensemble], parts, np.float32).scores(X)
