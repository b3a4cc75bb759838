from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import coo_matrix

from plackett.data.documents.collections import read_smart
from plackett.exceptions import ConvergenceWarning
from plackett.text import pagerank
from plackett.text.links import as_links, link_degrees


def by_networkx(links, n_docs, damping=0.85):
    networkx = pytest.importorskip("networkx")
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(n_docs))
    for source, target, weight in links:
        graph.add_edge(int(source), int(target), weight=weight)
    ranks = networkx.pagerank(graph, alpha=damping, tol=1e-14, max_iter=1000)
    return np.array([ranks[doc] for doc in range(n_docs)])


@pytest.mark.peer
@pytest.mark.parametrize("damping", [0.0, 0.5, 0.85])
def test_pagerank_is_that_of_networkx(damping):
    rng = np.random.default_rng(0)
    pairs = np.unique(rng.integers(0, 60, size=(150, 2)), axis=0)  # dead ends, loops, and documents without any link
    links = np.column_stack([pairs, rng.uniform(0.5, 3, size=len(pairs))])
    np.testing.assert_allclose(pagerank(links, 70, damping=damping), by_networkx(links, 70, damping), atol=1e-11)


@pytest.mark.peer
def test_pagerank_of_cacms_citations_is_that_of_networkx(shared_data):
    collection = read_smart("cacm", shared_data / "ir-classic" / "cacm")
    links = collection.links["citation"]
    expected = by_networkx(links, collection.n_docs)
    np.testing.assert_allclose(pagerank(links, collection.n_docs), expected, atol=1e-11)


def test_pagerank_solves_its_equation():
    links = [[0, 1], [0, 2], [1, 2], [3, 0]]  # 2 is a dead end
    ranks = pagerank(links, 5)
    assert ranks.sum() == pytest.approx(1)
    jump = 0.15 / 5 + 0.85 * (ranks[2] + ranks[4]) / 5
    assert ranks == pytest.approx(
        [jump + 0.85 * ranks[3], jump + 0.85 * ranks[0] / 2, jump + 0.85 * (ranks[0] / 2 + ranks[1]), jump, jump]
    )


def test_without_links_all_are_equal():
    assert pagerank([], 4).tolist() == [0.25] * 4
    assert pagerank(np.zeros((0, 3)), 1).tolist() == [1.0]


def test_links_come_in_several_shapes():
    rows = as_links([[1, 0], [0, 1], [1, 0]], 2)
    assert rows.tolist() == [[0, 1, 1], [1, 0, 2]]  # one that is given twice counts twice
    matrix = coo_matrix(([1.0, 2.0], ([0, 1], [1, 0])), shape=(2, 2))
    assert as_links(matrix, 2).tolist() == rows.tolist()
    incoming, outgoing = link_degrees(as_links([[0, 1], [2, 1], [1, 2]], 4), 4)
    assert incoming.tolist() == [0, 2, 1, 0]
    assert outgoing.tolist() == [1, 1, 1, 0]


def test_ranks_that_still_change_are_told():
    with pytest.warns(ConvergenceWarning, match="stopped after 5 iterations .* Raise max_iter"):
        pagerank([[0, 1], [1, 0], [1, 2]], 3, damping=0.999, max_iter=5)


def test_wrong_parameters_are_refused():
    for options, message in [({"damping": 1.0}, "damping=1.0"), ({"tol": 0}, "tol=0"), ({"max_iter": 0}, "max_iter=0")]:
        with pytest.raises(ValueError, match=message):
            pagerank([[0, 1]], 2, **options)
    with pytest.raises(ValueError, match=r"links has shape \(3, 3\)"):
        pagerank(coo_matrix((3, 3)), 2)
    with pytest.raises(ValueError, match="links holds 'x'; documents are given by position"):
        pagerank([["x", "y"]], 2)
    with pytest.raises(ValueError, match=r"names the document 0\.5"):
        pagerank([[0.5, 1]], 2)
