"""Scores against sums written out by hand on five documents, against slow loops, and against bm25s."""

from __future__ import annotations

from math import inf, log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plackett.data.documents.collections import read_smart
from plackett.text import (
    BM25,
    AbsoluteDiscounting,
    Analyser,
    Dirichlet,
    JelinekMercer,
    VectorSpace,
    build_index,
    get_ranker,
)
from plackett.text import search as search_module
from tests.text.slow_scores import slow_score

# five documents; the fourth is empty. Terms: a in 2 documents, b in 3, c in 1, d in 4
FIVE = ["a b a d", "b c d", "d d", "", "a b d d d d"]
ALL_RANKERS = [
    *(BM25(), BM25(k1=0.9, b=0.4), BM25(idf="robertson"), BM25(k1=0.0), BM25(b=0.0)),
    *(VectorSpace(), VectorSpace(idf="plain")),
    *(JelinekMercer(), JelinekMercer(lam=0.7), Dirichlet(), Dirichlet(mu=3.0)),
    *(AbsoluteDiscounting(), AbsoluteDiscounting(delta=1.0)),
]


@pytest.fixture(scope="module")
def five():
    return build_index(FIVE, analyser=Analyser(stop_words=None))


def test_bm25_is_the_sum_by_hand(five):
    # lengths 4, 3, 2, 0, 6: mean 3. idf(a) with df 2 of 5; idf(b) with df 3 of 5
    idf_a, idf_b = log(1 + 3.5 / 2.5), log(1 + 2.5 / 3.5)
    first = idf_a * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 4 / 3)) + idf_b * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 4 / 3))
    second = idf_b * 2.2 / (1 + 1.2 * 1.0)
    fifth = (idf_a + idf_b) * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 6 / 3))
    assert five.scores("a b") == pytest.approx([first, second, 0, 0, fifth], rel=1e-14)


def test_robertsons_idf_is_negative_for_frequent_terms(five):
    expected = log(1.5 / 4.5) * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 2 / 3))  # d stands in 4 of 5 documents
    assert five.scores("d", ranker=BM25(idf="robertson"))[2] == pytest.approx(expected, rel=1e-14)
    assert expected < 0


def test_the_vector_space_is_the_cosine_by_hand(five):
    a, b, d = log(6 / 3) + 1, log(6 / 4) + 1, log(6 / 5) + 1
    dot, norm, query_norm = 2 * a * 2 * a + b * b, sqrt((2 * a) ** 2 + b**2 + d**2), sqrt((2 * a) ** 2 + b**2)
    assert five.scores("a b a", ranker="vector-space")[0] == pytest.approx(dot / norm / query_norm, rel=1e-14)
    a, b, c, d = log(5 / 3), log(5 / 4), log(5 / 2), log(5 / 5)
    assert d == 0  # so the third document has the norm 0
    second = b * b / sqrt(b**2 + c**2) / b
    plain = five.scores("b d", ranker=VectorSpace(idf="plain"))
    assert plain == pytest.approx([b / sqrt((2 * a) ** 2 + b**2), second, 0, 0, b / sqrt(a**2 + b**2)], rel=1e-14)


def test_the_language_models_are_the_sums_by_hand(five):
    # 15 terms in all: a 3, b 3, c 1, d 8; the third document is "d d", u = 1
    a, d = 3 / 15, 8 / 15
    assert five.scores("a d", ranker="lm-jm")[2] == pytest.approx(log(0.1 * a) + log(0.9 * 2 / 2 + 0.1 * d), rel=1e-13)
    expected = log(2000 * a / 2002) + log((2 + 2000 * d) / 2002)
    assert five.scores("a d", ranker="lm-dirichlet")[2] == pytest.approx(expected, rel=1e-13)
    expected = log(0.7 * 1 / 2 * a) + log(1.3 / 2 + 0.7 * 1 / 2 * d)
    assert five.scores("a d", ranker="lm-absolute")[2] == pytest.approx(expected, rel=1e-13)
    for ranker in ("lm-jm", "lm-dirichlet", "lm-absolute"):
        assert five.scores("a d", ranker=ranker)[3] == pytest.approx(log(a) + log(d), rel=1e-13)  # the empty document


texts = st.lists(st.sampled_from("abcdefg"), max_size=12)


@settings(max_examples=30, deadline=None)
@given(st.lists(texts, min_size=1, max_size=8), st.lists(st.sampled_from("abcdefgz"), max_size=6))
def test_every_ranker_is_its_formula_and_search_keeps_the_best(docs, query):
    index = build_index([" ".join(doc) for doc in docs], analyser=Analyser(stop_words=None))
    for ranker in ALL_RANKERS:
        expected = np.array([slow_score(ranker, query, doc, docs) for doc in docs])
        scores = index.scores(" ".join(query), ranker=ranker)
        np.testing.assert_allclose(scores, expected, rtol=1e-11, atol=1e-12)
        some = [len(docs) - 1, 0, 0]
        np.testing.assert_allclose(
            index.scores(query, docs=some, ranker=ranker), expected[some], rtol=1e-11, atol=1e-12
        )
        holding = [place for place, doc in enumerate(docs) if set(doc) & set(query)]
        order = sorted(holding, key=lambda place: (-scores[place], place))
        for k in (1, 2, 3, 100):
            hits = index.search(query, k=k, ranker=ranker)
            np.testing.assert_allclose(hits.scores, scores[order[:k]], rtol=1e-12, atol=1e-13)
            if ranker == BM25():  # with equal additions in equal order ties are exact
                assert hits.places.tolist() == order[:k]


@pytest.mark.parametrize("ranker", ALL_RANKERS, ids=str)
def test_the_best_of_a_long_list_are_those_of_all_scores(ranker):
    """Words of every frequency, so that lists are added in all ways and left out; to the last digit, ties by place."""
    rng = np.random.default_rng(1)
    docs = [" ".join(f"w{n}" for n in rng.zipf(1.4, rng.integers(0, 20)) % 300) for _ in range(2000)]
    index = build_index(docs)
    words = [set(doc.split()) for doc in docs]
    queries = ["w1", "w1 w2 w3", "w17", "w31 w40", "w1 w44 w44", "w290 w1 w2", "w120 w60 w7 w1", "w299 w298 w5 w4 w3"]
    for query in queries:
        scores = index.scores(query, ranker=ranker)
        np.testing.assert_array_equal(index.scores(query, docs=range(0, 2000, 7), ranker=ranker), scores[::7])
        holding = [place for place, held in enumerate(words) if held & set(query.split())]
        order = sorted(holding, key=lambda place: (-scores[place], place))
        for k in (1, 3, 10, 3000):
            hits = index.search(query, k=k, ranker=ranker)
            np.testing.assert_array_equal(hits.places, order[:k])
            np.testing.assert_array_equal(hits.scores, scores[order[:k]])


def test_a_document_that_ties_with_the_best_is_kept_whichever_term_it_holds():
    """The first list has k documents already; one of a later list has the same score and the lower place."""
    docs = ["common", *["rare"] * 3, *["common"] * 2, *["filler"] * 94]
    index = build_index(docs, analyser=Analyser(stop_words=None))
    for k in (1, 3, 4, 5):
        scores = index.scores("rare common", ranker=BM25(k1=0.0))
        order = sorted(np.flatnonzero(scores), key=lambda place: (-scores[place], place))
        assert index.search("rare common", k=k, ranker=BM25(k1=0.0)).places.tolist() == order[:k]


def test_rankers_in_turns_do_not_compute_all_impacts_again_and_again(monkeypatch):
    index = build_index(["a b c", "a a d", "b d d", "e"] * 20, analyser=Analyser(stop_words=None))
    rankers = [BM25(k1=0.1 * number) for number in range(1, 9)]
    sizes = []
    compute = search_module.impacts_of

    def counted(postings, factors):
        sizes.append(postings.docs.size)
        return compute(postings, factors)

    monkeypatch.setattr(search_module, "impacts_of", counted)
    for _ in range(30):
        for ranker in rankers:
            index.search("e", ranker=ranker)  # 20 of 180 postings
    assert len(index._impacts) <= 4
    n_whole = sum(size == index.postings().docs.size for size in sizes)
    assert n_whole <= 3 * len(rankers) + 1


def test_the_first_query_and_later_ones_have_the_same_scores():
    """Impacts of single queries at first, those of the whole index afterwards."""
    docs = ["a b c", "a a d", "b d d", "e"]
    for ranker in ALL_RANKERS:
        index = build_index(docs, analyser=Analyser(stop_words=None))
        answers = [list(index.search("a d e", k=3, ranker=ranker)) for _ in range(5)]
        assert len(index._impacts) == 1
        assert answers == [answers[0]] * 5
        fresh = build_index(docs, analyser=Analyser(stop_words=None))
        assert fresh.scores("a d e", ranker=ranker).tolist() == index.scores("a d e", ranker=ranker).tolist()
        assert not fresh._impacts


def test_equal_scores_keep_the_order_of_the_documents():
    index = build_index(["x"] * 50)
    for k in (1, 7, 50):
        assert index.search("x", k=k).places.tolist() == list(range(k))


def test_a_fields_own_counts_decide_in_that_field():
    titles, bodies = ["a", "", "b"], ["b b", "a", "a c"]
    index = build_index({"title": titles, "body": bodies}, analyser=Analyser(stop_words=None))
    alone = build_index(bodies, analyser=Analyser(stop_words=None))
    together = build_index(
        [f"{title} {body}" for title, body in zip(titles, bodies, strict=True)], analyser=Analyser(stop_words=None)
    )
    for ranker in ALL_RANKERS:
        np.testing.assert_allclose(index.scores("a b c", None, ranker, "body"), alone.scores("a b c", None, ranker))
        np.testing.assert_allclose(index.scores("a b c", None, ranker), together.scores("a b c", None, ranker))
    assert index.scores("c", field="title").tolist() == [0, 0, 0]  # c is known, but not in titles
    assert len(index.search("c", field="title")) == 0


@pytest.mark.parametrize("ranker", ALL_RANKERS, ids=str)
@pytest.mark.parametrize("query", ["", "of the", "unknown words", []])
def test_queries_without_known_terms_find_nothing(five, ranker, query):
    assert len(five.search(query, ranker=ranker)) == 0
    assert five.scores(query, ranker=ranker).tolist() == [0.0] * 5


@pytest.mark.parametrize("ranker", ALL_RANKERS, ids=str)
def test_empty_documents_alone_have_no_scores(ranker):
    index = build_index(["", "  ", "!?"])
    assert index.n_terms == 0
    assert index.scores("word", ranker=ranker).tolist() == [0.0] * 3
    assert len(index.search("word", ranker=ranker)) == 0


@pytest.mark.parametrize("ranker", ALL_RANKERS, ids=str)
def test_one_document_is_found(ranker):
    hits = build_index(["Ünïcode wörter"]).search("WÖRTER", ranker=ranker)
    assert hits.docid.tolist() == ["0"]
    assert np.isfinite(hits.scores).all()


def test_word_order_changes_nothing_and_repetition_counts(five):
    assert five.scores("a b d").tolist() == five.scores("d a b").tolist()
    np.testing.assert_allclose(five.scores("a a"), 2 * five.scores("a"))


@pytest.mark.peer
def test_bm25_is_that_of_bm25s_on_cranfield_up_to_its_factor(shared_data):
    bm25s = pytest.importorskip("bm25s")
    collection = read_smart("cranfield", shared_data / "ir-classic" / "cranfield")
    analyser = Analyser()
    index = build_index(collection, fields=["body"], analyser=analyser)
    peer = bm25s.BM25(method="lucene", k1=1.2, b=0.75, dtype="float64")
    peer.index([analyser(text) for text in collection.fields["body"]], show_progress=False)
    for text in list(collection.queries.values())[:60]:
        # each term once, so that it does not matter who counts repetitions how
        terms = sorted(set(analyser(text)) & set(index.vocabulary))
        expected = peer.get_scores(terms) * 2.2
        np.testing.assert_allclose(index.scores(terms), expected, rtol=1e-6, atol=1e-6)


def test_rankers_are_known_by_name_and_checked():
    assert get_ranker("lm-dirichlet") == Dirichlet(mu=2000)
    ranker = BM25(k1=0.5)
    assert get_ranker(ranker) is ranker
    with pytest.raises(ValueError, match="ranker='okapi' is not known; choose one of 'bm25', 'vector-space'"):
        get_ranker("okapi")
    for make, message in [
        (lambda: BM25(k1=-1), "k1=-1"),
        (lambda: BM25(b=1.5), "b=1.5; it must be at most 1"),
        (lambda: BM25(idf="plus"), "idf='plus' is not known"),
        (lambda: VectorSpace(idf="lucene"), "idf='lucene' is not known"),
        (lambda: JelinekMercer(lam=0), "lam=0"),
        (lambda: Dirichlet(mu=inf), "mu=inf"),
        (lambda: AbsoluteDiscounting(delta=2), "delta=2; it must be at most 1"),
    ]:
        with pytest.raises(ValueError, match=message):
            make()


def test_places_and_queries_are_checked(five):
    with pytest.raises(ValueError, match="the position 5, but there are 5 documents"):
        five.scores("a", docs=[0, 5])
    with pytest.raises(ValueError, match="list of positions"):
        five.scores("a", docs=["1"])
    with pytest.raises(ValueError, match="k=0"):
        five.search("a", k=0)
    with pytest.raises(ValueError, match="field='title' is not known; choose one of 'body', 'whole'"):
        five.search("a", field="title")
    with pytest.raises(ValueError, match="the query holds 7"):
        five.search([7])
    for query in (None, 7, b"a"):
        with pytest.raises(TypeError, match="pass a text or a list of terms"):
            five.search(query)
    with pytest.raises(TypeError, match="mapping from query id to text"):
        five.run(["a", "b"])


def test_a_run_is_every_search(five):
    queries = {"q1": "a b", "q2": "", "q3": "d"}
    run = five.run(queries, k=2, ranker="lm-jm")
    assert run.tag == "lm-jm"
    for qid in ("q1", "q3"):
        hits = five.search(queries[qid], k=2, ranker="lm-jm")
        assert run.to_dict()[qid] == dict(hits)
    assert "q2" not in run.to_dict()
    assert run.rank.tolist() == [1, 2, 1, 2]
    assert len(five.run({})) == 0


def test_many_queries_on_many_threads_are_the_same():
    rng = np.random.default_rng(0)
    docs = [" ".join(f"w{n}" for n in rng.zipf(1.5, 30) % 200) for _ in range(300)]
    index = build_index(docs)
    queries = {str(q): " ".join(f"w{n}" for n in rng.integers(0, 200, 4)) for q in range(100)}
    run = index.run(queries, k=5).to_dict()
    assert run == {qid: dict(index.search(text, k=5)) for qid, text in queries.items()}
