"""Errors with advice about the arguments of rankers."""

from pathlib import Path
from types import SimpleNamespace

import pytest

import plackett as pk

DATA = pk.datasets.make_web_like(6, docs_per_query=5, n_features=4, random_state=0)
X, Y, QID = DATA.X.astype(float), DATA.y, DATA.qid


@pytest.mark.parametrize("make", [pk.LinearRanker, pk.PRank, pk.FeatureRank, pk.TreeRanker, pk.QueryDependentRanker])
def test_arguments_of_other_packages_get_the_line_to_type(make):
    lines = {
        "sizes": (lambda: make().fit(X, Y, group=6 * [5]), r"fit\(X, y, qid=np\.repeat\(np\.arange\(.*, group\)\)"),
        "ids as group": (lambda: make().fit(X, Y, group=QID), r"fit\(X, y, qid=group\)"),
        "ids": (lambda: make().fit(X, Y, group_id=QID), r"fit\(X, y, qid=group_id\)"),
        "by place": (lambda: make().fit(X, Y, QID), r"fit\(X, y, qid=qid\)"),
        "in predict": (lambda: make().predict(X, QID), r"predict\(X, qid=qid\)"),
        "in score": (lambda: make().score(X, Y, QID), r"score\(X, y, qid=qid\)"),
    }  # fmt: skip
    for call, line in lines.values():
        with pytest.raises(TypeError, match=line):
            call()


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (
            "lists",
            r"X is the path 'lists', but AdaRank needs all rows in one place. Read the files first.*read_parquet",
        ),
        (Path("lists.txt"), r"X is the path 'lists.txt'"),
        (["a.txt", "b.txt"], r"X is a list of 2 items, of which the first is the path 'a.txt'"),
        ([DATA[:5], DATA[5:]], r"the first is a Queries, .* Join them: Queries.concat\(X\)"),
        (SimpleNamespace(__dask_graph__=None), r"X is a Dask SimpleNamespace, .* Compute it first"),
        ([], "X is an empty list; AdaRank needs rows of features"),
        (pk.Queries(DATA.X, None, DATA.qid), "X is a Queries without labels, which AdaRank needs"),
    ],
)
def test_what_is_no_rows_yet_is_refused_with_a_word_on_what_to_do(X, words):
    with pytest.raises(ValueError, match=words) as caught:
        pk.AdaRank().fit(X)
    assert ("Only LinearRanker fits" in str(caught.value)) == ("in one place" in str(caught.value))


def test_scores_and_labels_are_asked_for_with_rows_too():
    ranker = pk.LinearRanker(max_iter=2, tol=1.0).fit(DATA)
    for method in (ranker.predict, ranker.score, ranker.explain):
        with pytest.raises(ValueError, match=r"X is the path 'lists', but LinearRanker needs all rows .* Queries\.$"):
            method("lists")
    with pytest.raises(ValueError, match="X is an empty list; LinearRanker needs rows"):
        ranker.fit([])
