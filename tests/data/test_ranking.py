"""Ranked documents: sorted within each query, with ties that depend on ids and not on rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import plackett as pk
from plackett.data.grouping import ranked_rows
from plackett.data.ranking import Ranking

rows = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([0.0, 0.5, -np.inf, np.inf])), max_size=12)


@given(rows, st.randoms(use_true_random=False))
def test_the_order_does_not_depend_on_that_of_the_rows(given_rows, random):
    documents = [(qid, score, f"d{number}") for number, (qid, score) in enumerate(given_rows)]
    mixed = random.sample(documents, len(documents))
    expected = {qid: [] for qid, _, _ in mixed}
    for qid, score, docid in sorted(mixed, key=lambda row: (row[1], row[2]), reverse=True):
        expected[qid].append((docid, score))
    qid, scores, docid = ([row[part] for row in mixed] for part in range(3))
    assert dict(Ranking(qid, scores, docid)) == expected


@given(rows)
def test_without_ids_ties_keep_the_order_of_the_rows(given_rows):
    query = np.array(["abc".index(qid) for qid, _ in given_rows], dtype=np.int64)
    scores = np.array([score for _, score in given_rows])
    expected = sorted(range(len(given_rows)), key=lambda row: (query[row], -scores[row], row))
    assert ranked_rows(query, scores).tolist() == expected


def test_the_first_k_documents_of_each_query():
    ranking = Ranking([7, 8, 7, 7], [0.1, 0.5, 0.3, 0.2], ["a", "b", "c", "d"], k=2)
    assert list(ranking) == [(7, [("c", 0.3), ("d", 0.2)]), (8, [("b", 0.5)])]
    assert (ranking[8], len(ranking), ranking.rank.tolist()) == ([("b", 0.5)], 2, [1, 2, 1])
    with pytest.raises(KeyError, match="no query has the id 9"):
        ranking[9]
    with pytest.raises(ValueError, match="k=0"):
        Ranking([7], [0.1], k=0)


def test_a_ranking_becomes_a_frame_and_a_run(tmp_path):
    ranking = Ranking([7, 7, 8], [0.1, 0.1, 0.3], ["a", "b", "c"])
    assert ranking.to_frame().to_dict("list") == {
        "qid": [7, 7, 8], "docid": ["b", "a", "c"], "score": [0.1, 0.1, 0.3], "rank": [1, 2, 1],
    }  # fmt: skip
    run = ranking.to_run("mine")
    assert (run.tag, run.docid.tolist(), run.rank.tolist()) == ("mine", ["b", "a", "c"], [1, 2, 1])
    assert pk.compare_runs({"7": {"a": 1}, "8": {"c": 1}}, {"mine": ranking}, metrics="mrr").mean()["mine"]["mrr"]


@pytest.mark.parametrize("name", ["listmle", "adarank", "indv-svm"])
def test_rankers_return_sorted_documents(name):
    data = pk.datasets.make_web_like(6, 5, 3, random_state=0)
    data = pk.Queries(data.X, data.y, data.qid, docid=[f"d{row}" for row in range(data.n_docs)])
    ranker = pk.ranker(name).fit(data)
    scores, ranking = ranker.predict(data), ranker.rank(data, k=3)
    run = pk.Run.from_scores(data, scores)
    assert ranking.docid.tolist() == run.docid[run.rank <= 3].tolist()
    alone = ranker.rank(data.X, qid=data.qid)
    assert [row for row, _ in alone[data.ids[0]]] == alone.rows[: alone.indptr[1]].tolist()
    np.testing.assert_array_equal(scores[alone.rows], alone.scores)
