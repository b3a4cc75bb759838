"""Features against slow sums over the texts, one pair and one column at a time."""

from __future__ import annotations

import numpy as np
import pytest

from plackett.data.datasets.published import info
from plackett.data.documents.collections import read_smart
from plackett.data.trec.qrels import Qrels
from plackett.text import (
    BM25,
    AbsoluteDiscounting,
    Analyser,
    Dirichlet,
    JelinekMercer,
    VectorSpace,
    build_index,
    letor_features,
    pagerank,
)
from plackett.text.features import FIELD_FEATURES
from tests.text.slow_scores import slow_score

TITLES = ["a b", "", "c", "b b c d", "a"]
BODIES = ["a c d d", "b", "", "d a b b e", "a a a"]
URLS = ["http://x.org/a/b", "", "x", "ü/", "/"]
LINKS = [[0, 1], [0, 2], [3, 0], [4, 0]]
QUERIES = {"q1": "a b", "q2": "d zz d c", "q3": "", "q4": "zz"}
OTHERS = ["query_terms", "query_idf", "pagerank", "inlinks", "outlinks", "url_slashes", "url_length"]
CANDIDATES = {"q2": ["3", "0", "4"], "q1": ["2", "1"], "q3": ["0"], "q4": ["0", "1"]}


@pytest.fixture(scope="module")
def index():
    fields = {"title": TITLES, "body": BODIES}
    return build_index(fields, analyser=Analyser(stop_words=None), links=LINKS, urls=URLS)


def slow_features(query, doc, docs):
    """The features of one field; everything is a list of terms."""
    n = len(docs)
    idf = {term: np.log((1 + n) / (1 + sum(term in other for other in docs))) + 1 for term in query}
    known = [term for term in query if any(term in other for other in docs)]
    covered = [term for term in query if term in doc]
    expected = {
        "covered_terms": len(covered),
        "covered_terms_ratio": len(covered) / len(query) if query else 0,
        "length": len(doc),
        "idf": sum(idf[term] for term in covered),
        "boolean": float(bool(query) and all(term in doc for term in query)),
    }
    tf = np.array([doc.count(term) for term in known], dtype=float)
    kinds = {"tf": tf, "normalized_tf": tf / max(len(doc), 1), "tfidf": tf * [idf[term] for term in known]}
    for kind, values in kinds.items():
        for moment in ("sum", "min", "max", "mean", "var"):
            name = f"{kind}_variance" if moment == "var" else f"{kind}_{moment}"
            expected[name] = getattr(values, moment)() if values.size else 0.0
    rankers = {
        "vector_space": VectorSpace(),
        "bm25": BM25(),
        "lmir_abs": AbsoluteDiscounting(),
        "lmir_dir": Dirichlet(),
        "lmir_jm": JelinekMercer(),
    }
    return expected | {name: slow_score(ranker, query, doc, docs) for name, ranker in rankers.items()}


def test_every_column_is_the_sum_over_the_texts(index):
    data = letor_features(index, QUERIES, CANDIDATES)
    assert data.ids.tolist() == list(CANDIDATES)
    assert data.docid.tolist() == [name for names in CANDIDATES.values() for name in names]
    streams = {
        "title": [title.split() for title in TITLES],
        "body": [body.split() for body in BODIES],
        "whole": [f"{title} {body}".split() for title, body in zip(TITLES, BODIES, strict=True)],
    }
    seen = set()
    for row, (qid, docid) in enumerate(zip(data.qid, data.docid, strict=True)):
        for stream, docs in streams.items():
            for name, expected in slow_features(QUERIES[qid].split(), docs[int(docid)], docs).items():
                column = f"{name}_{stream}"
                value = data.X[row, data.feature_names.index(column)]
                assert value == pytest.approx(expected, rel=1e-12, abs=1e-13), (qid, docid, column)
                seen.add(column)
    assert set(data.feature_names) == seen | set(OTHERS)


def test_the_features_of_queries_and_documents(index):
    data = letor_features(index, QUERIES, CANDIDATES)
    column = {name: data.X[:, place] for place, name in enumerate(data.feature_names)}
    docs = [int(name) for name in data.docid]
    assert column["query_terms"].tolist() == [4, 4, 4, 2, 2, 0, 1, 1]
    # d in 2 of 5 documents, twice in the query; c in 3; zz in none
    assert column["query_idf"][0] == pytest.approx(2 * (np.log(6 / 3) + 1) + np.log(6 / 4) + 1)
    assert column["query_idf"][-1] == 0
    assert column["pagerank"] == pytest.approx(pagerank(LINKS, 5)[docs])
    assert column["inlinks"].tolist() == [[2, 1, 1, 0, 0][doc] for doc in docs]
    assert column["outlinks"].tolist() == [[2, 0, 0, 1, 1][doc] for doc in docs]
    assert column["url_slashes"].tolist() == [[4, 0, 0, 1, 1][doc] for doc in docs]
    assert column["url_length"].tolist() == [[16, 0, 1, 2, 1][doc] for doc in docs]


def test_the_names_are_those_of_mslr():
    per_field = info("mslr-web10k").feature_names[: 5 * len(FIELD_FEATURES)]
    fields = ("body", "anchor", "title", "url", "whole")
    assert [f"{name}_{field}" for name in FIELD_FEATURES for field in fields] == list(per_field)


def test_an_index_of_one_field_has_its_columns_once():
    data = letor_features(build_index(["a b", "b"]), {"q": "b"}, {"q": ["0"]})
    assert len(data.feature_names) == len(FIELD_FEATURES) + 2
    assert not any(name.endswith("_whole") for name in data.feature_names)
    assert not any(name in data.feature_names for name in ("pagerank", "url_length"))


def test_labels_come_from_the_judgements(index):
    qrels = Qrels(["q1", "q2", "q1"], ["1", "4", "0"], [2, 1, 3])
    assert letor_features(index, QUERIES, CANDIDATES).y is None
    data = letor_features(index, QUERIES, CANDIDATES, qrels=qrels)
    assert data.y.tolist() == [0, 0, 1, 0, 2, 0, 0, 0]
    assert letor_features(index, QUERIES, CANDIDATES, qrels=qrels.to_dict()).y.tolist() == data.y.tolist()
    scored = {qid: dict.fromkeys(names, 1.0) for qid, names in CANDIDATES.items()}
    assert letor_features(index, QUERIES, scored, qrels=qrels.to_dict()).docid.tolist() == data.docid.tolist()
    data = letor_features(index, QUERIES, CANDIDATES, qrels=qrels, unjudged=np.nan)
    assert np.isnan(data.y).sum() == 6
    data = letor_features(index, QUERIES, qrels)  # the judged pairs themselves
    assert data.y.tolist() == [2, 3, 1]
    assert data.docid.tolist() == ["1", "0", "4"]


def test_fields_and_rankers_can_be_chosen(index):
    run = index.run(QUERIES, k=2)
    data = letor_features(index, QUERIES, run, fields=["body"], rankers={"bm25": BM25(k1=2.0, b=0.0)})
    assert data.feature_names[-7:] == OTHERS
    column = data.X[:, data.feature_names.index("bm25_body")]
    for row, (qid, docid) in enumerate(zip(data.qid, data.docid, strict=True)):
        assert column[row] == index.scores(QUERIES[qid], [int(docid)], BM25(k1=2.0, b=0.0), "body")[0]


def test_what_does_not_fit_is_refused(index):
    for queries, candidates, options, message in [
        ({"q": "a"}, {"p": ["0"]}, {}, "candidates has the query 'p', but queries has no text"),
        ({"q": "a"}, {}, {}, "no pair"),
        ({"q": "a"}, {"q": ["0"]}, {"fields": ["url"]}, "fields='url' is not known"),
        ({"q": "a"}, {"q": ["0"]}, {"rankers": {"bm26": "bm25"}}, "rankers='bm26' is not known"),
    ]:
        with pytest.raises(ValueError, match=message):
            letor_features(index, queries, candidates, **options)
    with pytest.raises(KeyError, match="no document '99'"):
        letor_features(index, {"q": "a"}, {"q": ["99"]})


def test_search_and_features_agree_on_cranfield(shared_data):
    collection = read_smart("cranfield", shared_data / "ir-classic" / "cranfield")
    index = build_index(collection, fields=["title", "body"])
    queries = dict(list(collection.queries.items())[:10])
    run = index.run(queries, k=50, ranker="lm-dirichlet")
    data = letor_features(index, queries, run, qrels=collection.qrels)
    np.testing.assert_allclose(data.X[:, data.feature_names.index("lmir_dir_whole")], run.scores, rtol=1e-12)
    assert np.isfinite(data.X).all()
    assert (data.y > 0).sum() > 20
