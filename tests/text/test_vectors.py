"""Vectors beside the postings: cosines, hybrid search, and embeddings that do not fit."""

import numpy as np
import pytest

import plackett as pk
from plackett.exceptions import DataFormatError
from plackett.storage.container import open_container, write_container
from plackett.text import build_index, letor_features, open_index
from plackett.text.index import KIND, VERSION
from tests.text.wordllama_files import wordllama_of_wheel

TEXTS = ["red apples", "green pears", "apples and pears", "boats float on water", ""]
QUERIES = {"fruit": "pears apples", "boat": "water boats"}


def letters(texts):
    return [[text.count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts]


@pytest.fixture
def index(tmp_path):
    build_index(TEXTS, docid=list("abcde"), embed=letters).save(tmp_path / "index")
    return open_index(tmp_path / "index", embed=letters)


def cosine(query, text):
    a, b = (np.array(letters([one])[0], dtype=float) for one in (query, text))
    return a @ b / max(np.linalg.norm(a) * np.linalg.norm(b), 1e-12)


def test_vectors_are_memory_mapped_unit_rows_of_float32(index):
    assert index.vectors.dtype == np.float32
    assert isinstance(index.vectors.base, np.memmap) or isinstance(index.vectors, np.memmap)
    np.testing.assert_allclose(np.linalg.norm(index.vectors, axis=1), [1, 1, 1, 1, 0], atol=1e-6)


def test_vectors_of_several_fields_are_those_of_their_texts():
    both = build_index({"title": ["a", "b"], "body": ["bc", "d"]}, embed=letters)
    np.testing.assert_array_equal(both.vectors, build_index(["a\nbc", "b\nd"], embed=letters).vectors)


@pytest.mark.parametrize("k", [1, 2, 3, 5, 9])
def test_a_search_by_vectors_orders_all_documents_by_their_cosine(index, k):
    hits = index.search("pear apples", k=k, mode="vectors")
    expected = sorted(range(5), key=lambda place: -cosine("pear apples", TEXTS[place]))[:k]
    assert hits.places.tolist() == expected
    np.testing.assert_allclose(hits.scores, [cosine("pear apples", TEXTS[place]) for place in expected], atol=1e-6)
    assert index.search(["pear", "apples"], k=k, mode="vectors").places.tolist() == expected


def test_a_run_is_that_of_single_searches(index):
    many = {f"q{place}": f"{'pear ' * place}boat" for place in range(150)}
    run = index.run(many, k=3, mode="vectors")
    assert run.tag == "vectors"
    for qid, own in list(run.to_dict().items())[::29]:
        hits = index.search(many[qid], k=3, mode="vectors")
        assert list(own) == hits.docid.tolist()
        np.testing.assert_allclose(list(own.values()), hits.scores, atol=1e-6)


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_a_hybrid_search_is_the_fusion_of_both_runs(index, weight):
    words, vectors = index.run(QUERIES), index.run(QUERIES, mode="vectors")
    fused = pk.fuse({"words": words, "vectors": vectors}, method="combsum", weights=[1 - weight, weight]).run.to_dict()
    hybrid = index.run(QUERIES, mode="hybrid", weight=weight)
    assert hybrid.tag == "hybrid"
    for qid, own in hybrid.to_dict().items():
        assert own == pytest.approx(fused[qid])
        assert sorted(own.values(), reverse=True) == list(own.values())
        assert index.search(QUERIES[qid], k=2, mode="hybrid", weight=weight).docid.tolist() == list(own)[:2]


def test_unknown_words_leave_the_vectors(index):
    assert len(index.search("zzz qqq", mode="words")) == 0
    assert index.search("boots", k=1, mode="hybrid").docid.tolist() == ["d"]


def test_cosine_is_a_feature(index, tmp_path):
    data = letor_features(index, QUERIES, index.run(QUERIES, mode="vectors"))
    expected = [cosine(QUERIES[qid], TEXTS["abcde".index(doc)]) for qid, doc in zip(data.qid, data.docid, strict=True)]
    np.testing.assert_allclose(data.X[:, data.feature_names.index("cosine")], expected, atol=1e-6)
    assert "cosine" not in letor_features(build_index(TEXTS), QUERIES, {"boat": ["3"]}).feature_names


@pytest.mark.parametrize(
    ("embed", "message"),
    [
        (lambda texts: [1.0] * len(texts), r"one vector for each of 5 texts; it returned list of shape \(5,\)"),
        (lambda texts: None, "it returned NoneType"),
        (lambda texts: np.ones((2, 3)), r"ndarray of shape \(2, 3\)"),
        (lambda texts: np.ones((5, 0)), r"shape \(5, 0\)"),
        (lambda texts: [["a"]] * 5, "one vector for each"),
        (lambda texts: np.full((5, 2), np.nan), "not finite for the text 'red apples'"),
    ],
)
def test_embeddings_that_do_not_fit_are_refused(embed, message):
    with pytest.raises(ValueError, match=message):
        build_index(TEXTS, embed=embed)


def test_searches_that_an_index_cannot_do_are_refused(index, tmp_path):
    index.embed = lambda texts: np.ones((len(texts), 3))
    with pytest.raises(ValueError, match="one vector of 26 numbers for each of 1 text"):
        index.search("pears", mode="vectors")
    with pytest.raises(ValueError, match=r"needs the function of the documents: open_index\(path, embed="):
        open_index(tmp_path / "index").search("pears", mode="hybrid")
    with pytest.raises(ValueError, match=r"no vectors: build_index\(texts, embed=...\) stores them"):
        build_index(TEXTS).search("pears", mode="vectors")
    with pytest.raises(ValueError, match="mode='hybird' is not known"):
        index.search("pears", mode="hybird")
    for weight in (-0.1, 1.5, np.nan):
        with pytest.raises(ValueError, match="weight="):
            index.search("pears", mode="hybrid", weight=weight)


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (np.ones((4, 2), np.float32), "wrong shape"),
        (np.ones(5, np.float32), "wrong shape"),
        (np.ones((5, 0), np.float32), "wrong shape"),
        (np.ones((5, 2)), "wrong type"),
        (np.full((5, 2), np.nan, np.float32), "not finite"),
    ],
)
def test_a_file_with_wrong_vectors_is_refused(index, tmp_path, vectors, message):
    with open_container(tmp_path / "index", KIND, VERSION) as container:
        header, arrays = container.header, {name: container.array(name) for name in container.arrays}
    with write_container(tmp_path / "other", KIND, VERSION) as writer:
        for name, array in {**arrays, "vectors": vectors}.items():
            writer.add(name, array)
        writer.finish(header)
    with pytest.raises(DataFormatError, match=message):
        open_index(tmp_path / "other")


def test_vectors_of_words_find_what_words_do_not():
    pytest.importorskip("wordllama")
    texts = ["Suspend execution for a number of seconds.", "Return the sine of an angle.", "Open a file for reading."]
    index = build_index(texts, embed=wordllama_of_wheel().embed)
    assert index.vectors.shape == (3, 256)
    assert len(index.search("sleep")) == 0
    assert index.search("sleep a while", k=1, mode="vectors").docid.tolist() == ["0"]
    assert index.search("trigonometry", k=1, mode="hybrid").docid.tolist() == ["1"]
