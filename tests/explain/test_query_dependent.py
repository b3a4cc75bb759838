"""Explanations of query-dependent rankers: neighbours, coefficients and documents of a query."""

import numpy as np
import pytest

import plackett as pk
from plackett.reproductions.qsvm.draws import make_query_dependent


@pytest.fixture(scope="module")
def made():
    return make_query_dependent(1, "II", n_queries=12, docs_per_query=10, random_state=0)


@pytest.fixture(scope="module")
def fitted(made):
    ranker = pk.QueryDependentRanker(l2=0.01, n_neighbors=4)
    return ranker.fit(made.queries, query_features=made.query_features)


def test_the_table_of_neighbours_begins_with_the_query_itself(made, fitted):
    query = made.queries.ids[3]
    table = fitted.neighbors(query)
    assert len(table) == 4
    assert table.ids[0] == query
    assert table.distances[0] == 0.0
    assert table.weights.sum() == pytest.approx(made.queries.n_queries)
    rows = table.to_dict()["neighbors"]
    assert [row["query"] for row in rows] == table.ids.tolist()
    assert table.to_csv().splitlines()[0] == "query,weight,distance"
    assert len(table.to_frame()) == len(str(table).splitlines()) - 1 == 4


def test_coefficients_are_compared_with_those_of_all_queries(made, fitted):
    found = fitted.explain(query=made.queries.ids[3])
    differences = found.differences()
    np.testing.assert_allclose(sorted(one.coefficient for one in differences), sorted(fitted.coef_[3]))
    sizes = [abs(one.difference) for one in differences]
    assert sizes == sorted(sizes, reverse=True)
    assert found.differences(2) == differences[:2]
    assert len(found.to_frame()) == len(found.to_csv().splitlines()) - 1 == fitted.coef_.shape[1]
    assert repr(found).startswith(f"QueryExplanation(query {made.queries.ids[3]}")
    with pytest.raises(ValueError, match="no documents were given"):
        found.why(0, 1)


def test_documents_are_explained_by_the_coefficients_of_their_query(made, fitted):
    one = made.queries[3:4]
    found = fitted.explain(one, query_features=made.query_features[3])
    scores = fitted.predict(one, query_features=made.query_features[3:4])
    np.testing.assert_allclose(found.documents.scores, scores)
    assert sum(part.contribution for part in found.top(0, None)) == pytest.approx(scores[0] - scores.mean())
    assert found.why(0, 1).total == pytest.approx(scores[0] - scores[1])
    assert {"coefficients", "neighbors", "rows"} < set(found.to_dict())
    assert "learned from 4 queries" in str(found)
