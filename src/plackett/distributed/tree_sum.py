"""Sums over partitions along a fixed binary tree: bit-identical for any number of workers.

Node ``(level, place)`` is the sum over partitions ``place * 2**level`` up to ``(place + 1) * 2**level``, cut at their
number. Two neighbours are added, the left one first; a node without a neighbour moves up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

Node = tuple[int, int]
Nodes = Mapping[Node, np.ndarray]


def leaf(number: int) -> Node:
    """Return the node of one partition."""
    return 0, number


def root(n_partitions: int) -> Node:
    """Return the node of all partitions."""
    return max(0, n_partitions - 1).bit_length(), 0


def add_up(nodes: Nodes, n_partitions: int) -> dict[Node, np.ndarray]:
    """Return the nodes after adding all neighbours."""
    sums = dict(nodes)
    top = root(n_partitions)[0]
    for level in range(top):
        for _, place in sorted(node for node in sums if node[0] == level):
            left, right = (level, place & ~1), (level, place | 1)
            if left not in sums:
                continue
            if right[1] << level >= n_partitions:
                sums[level + 1, place >> 1] = sums.pop(left)
            elif right in sums:
                sums[level + 1, place >> 1] = sums.pop(left) + sums.pop(right)
    return sums


def together(answers: Iterable[Nodes]) -> dict[Node, np.ndarray]:
    """Merge the nodes of several workers, without those contained in another: a partition may be held twice."""
    found = {node: vector for nodes in answers for node, vector in nodes.items()}
    return {node: vector for node, vector in found.items() if not any(above in found for above in _above(node, found))}


def _above(node: Node, nodes: Nodes) -> list[Node]:
    level, place = node
    top = max(level for level, _ in nodes)
    return [(higher, place >> (higher - level)) for higher in range(level + 1, top + 1)]
