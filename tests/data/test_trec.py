"""TREC files: exact round trips, errors with lines, and a join that equals a slow one."""

from __future__ import annotations

import gzip
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plackett.data import text_table as columns
from plackett.data.queries import Queries
from plackett.data.trec.files import LARGEST_LABEL, read_qrels, read_trec_run, write_qrels, write_trec_run
from plackett.data.trec.pool import PooledRuns, join
from plackett.data.trec.qrels import Qrels
from plackett.data.trec.run import Run
from plackett.exceptions import DataFormatError, DataWarning

RUN = b"301\tQ0\tFT-2\t1\t2.5\tbm25\n302 Q0 FT-2 1 0.25 bm25\n301  Q0 FT-9  2   -1e3\tbm25\n"
QRELS = b"301 0 FT-2 1\n302 0 FT-7 0\n301 1 FT-9 -1\n"


def read_run(text: bytes) -> Run:
    return read_trec_run(io.BytesIO(text))


def read_judgements(text: bytes) -> Qrels:
    return read_qrels(io.BytesIO(text))


# reading


def test_a_run_is_read_column_by_column():
    run = read_run(RUN)
    assert run.qid.tolist() == ["301", "302", "301"]
    assert run.docid.tolist() == ["FT-2", "FT-2", "FT-9"]
    assert run.rank.tolist() == [1, 1, 2]
    assert run.scores.tolist() == [2.5, 0.25, -1000.0]
    assert run.tag == "bm25"
    assert len(run) == 3
    assert repr(run) == "Run('bm25', 2 queries, 3 documents)"


def test_qrels_are_read_column_by_column():
    qrels = read_judgements(QRELS)
    assert qrels.qid.tolist() == ["301", "302", "301"]
    assert qrels.docid.tolist() == ["FT-2", "FT-7", "FT-9"]
    assert qrels.labels.tolist() == [1.0, 0.0, -1.0]
    assert qrels.iteration.tolist() == ["0", "0", "1"]
    assert len(qrels) == 3
    assert repr(qrels) == "Qrels(2 queries, 3 judgements, labels -1..1)"


def test_rows_are_grouped_on_request():
    groups = read_run(RUN).groups
    assert groups.ids.tolist() == ["301", "302"]
    assert groups.indptr.tolist() == [0, 2, 3]
    assert groups.order.tolist() == [0, 2, 1]


SPELLINGS = {
    "carriage returns": QRELS.replace(b"\n", b"\r\n"),
    "old Macintosh": QRELS.replace(b"\n", b"\r"),
    "no last line end": QRELS.rstrip(),
    "blank lines": b"\n \t\n" + QRELS.replace(b"\n", b"\n\n \n"),
    "blanks around": QRELS.replace(b"30", b"\t 30").replace(b"\n", b"  \n"),
    "comments": b"# judged in 1993\n" + QRELS.replace(b"\n", b"\n # more\n"),
    "byte order mark": b"\xef\xbb\xbf" + QRELS,
    "gzip": gzip.compress(QRELS),
}


@pytest.mark.parametrize("text", SPELLINGS.values(), ids=SPELLINGS.keys())
def test_spellings_of_one_file_read_alike(text):
    assert read_judgements(text).to_dict() == {"301": {"FT-2": 1, "FT-9": -1}, "302": {"FT-7": 0}}


def test_what_follows_the_tag_is_ignored():
    run = read_run(b"1 Q0 a 1 2.0 STANDARD more junk\n1 Q0 b 2 1.0 STANDARD\n")
    assert (run.tag, run.docid.tolist()) == ("STANDARD", ["a", "b"])


def test_beir_files_are_known_by_their_header():
    qrels = read_judgements(b"query-id\tcorpus-id\tscore\r\n1\t31715818\t1\r\n3\t14717500\t2\r\n")
    assert qrels.to_dict() == {"1": {"31715818": 1}, "3": {"14717500": 2}}
    with pytest.raises(DataFormatError, match=r'line 3: expected "query-id corpus-id score" \(3 columns\), found 2'):
        read_judgements(b"query-id\tcorpus-id\tscore\n1\t31715818\t1\n3\t14717500\n")


def test_ids_may_be_long_or_not_ascii():
    long = "http://example.org/" + "x" * 300
    for name in (long, "été", "文書", "a" * 64, "a" * 65):
        assert read_judgements(f"q 0 {name} 1\nq 0 b 0\n".encode()).docid.tolist() == [name, "b"]


def test_bytes_that_are_not_utf8_come_back_as_they_were():
    text = b"q 0 caf\xe9 1\n"
    out = io.BytesIO()
    write_qrels(read_judgements(text), out)
    assert out.getvalue() == text


def test_infinite_scores_are_scores():
    assert read_run(b"1 Q0 a 1 inf t\n1 Q0 b 2 -Infinity t\n").scores.tolist() == [np.inf, -np.inf]


@pytest.mark.parametrize("text", [b"", b"\n\n", b" "], ids=["nothing", "blank lines", "a blank"])
def test_an_empty_file_has_no_rows(text):
    assert len(read_judgements(text)) == len(read_run(text)) == 0
    assert repr(read_judgements(text)) == "Qrels(0 queries, 0 judgements)"


def test_blocks_cut_a_file_anywhere_without_a_trace(monkeypatch):
    lines = [f"{number // 7} Q0 doc{'x' * (number % 5)}{number} {number} {number / 8} tag\n" for number in range(200)]
    text = "\n".join(lines).encode()
    whole = read_run(text)
    for size in (1, 7, 64, 1000):
        monkeypatch.setattr(columns, "BLOCK", size)
        parts = read_run(text)
        assert parts.to_dict() == whole.to_dict()
        with pytest.raises(DataFormatError, match="line 401: expected"):
            read_run(text + b"\nbad line\n")
    assert whole.scores.tolist() == [number / 8 for number in range(200)]


# what is refused

BAD_RUNS = {
    "too few columns": (
        b"1 Q0 a 1 2.0 t\n1 Q0 b 2 1.0\n",
        2,
        '"qid Q0 docid rank score tag" (6 columns), found 5: "1 Q0 b 2 1.0"',
    ),
    "score is a word": (b"\n1 Q0 a 1 high t\n", 2, 'expected a number as score, found "high"'),
    "score is NaN": (b"1 Q0 a 1 2 t\n1 Q0 b 2 nan t\n", 2, 'expected a number as score, found "nan"'),
    "score with digit groups": (b"1 Q0 a 1 1_000 t\n", 1, 'expected a number as score, found "1_000"'),
    "rank is not whole": (b"1 Q0 a 1.5 2 t\n", 1, 'expected a whole number as rank, found "1.5"'),
    "rank is too large": (b"1 Q0 a 99999999999999999999 2 t\n", 1, "expected a whole number as rank"),
    "a document twice": (
        b"1 Q0 a 1 3 t\n2 Q0 a 1 3 t\n\n1 Q0 b 2 2 t\n1 Q0 a 3 1 t\n",
        5,
        "document 'a' of query '1' was already retrieved in line 1",
    ),
}


@pytest.mark.parametrize(("text", "line", "message"), BAD_RUNS.values(), ids=BAD_RUNS.keys())
def test_a_bad_run_says_where_and_what(text, line, message, tmp_path):
    path = tmp_path / "bad.run"
    path.write_bytes(text)
    with pytest.raises(DataFormatError) as caught:
        read_trec_run(path)
    assert (caught.value.path, caught.value.line) == (str(path), line)
    assert message in str(caught.value)


BAD_QRELS = {
    "too few columns": (b"1 0 a 1\n1 a 1\n", 2, '"qid iteration docid label" (4 columns), found 3: "1 a 1"'),
    "too many columns": (b"1 0 a 1 x\n", 1, "found 5"),
    "label is a word": (b"1 0 a yes\n", 1, 'expected a number as label, found "yes"'),
    "label is infinite": (b"1 0 a 1\n1 0 b inf\n", 2, 'expected a finite number as label, found "inf"'),
    "a document twice": (b"1 0 a 1\n1 0 b 1\n1 0 a 1\n", 3, "document 'a' of query '1' was already judged in line 1"),
    "binary": (b"\x00\x01", 1, "zero bytes"),
}


@pytest.mark.parametrize(("text", "line", "message"), BAD_QRELS.values(), ids=BAD_QRELS.keys())
def test_bad_qrels_say_where_and_what(text, line, message):
    with pytest.raises(DataFormatError) as caught:
        read_judgements(text)
    assert caught.value.line == line
    assert message in str(caught.value)


def test_a_long_bad_line_is_quoted_in_part():
    with pytest.raises(DataFormatError) as caught:
        read_judgements(b"x" * 5000)
    assert len(str(caught.value)) < 250


def test_the_tag_is_that_of_the_last_line_as_in_trec_eval(monkeypatch):
    monkeypatch.setattr(columns, "BLOCK", 16)
    assert read_run(b"1 Q0 a 1 2 first\n1 Q0 b 2 1 last\n# end\n").tag == "last"
    assert read_run(b"").tag == "plackett"


# making them by hand


def test_ids_become_text_and_ranks_follow_the_scores():
    run = Run([7, 7, 8, 7], [1, 2, 1, 3], np.array([0.5, 0.75, 1.0, 0.5], dtype=np.float32))
    assert run.qid.tolist() == ["7", "7", "8", "7"]
    assert run.docid.tolist() == ["1", "2", "1", "3"]
    assert run.rank.tolist() == [2, 1, 1, 3]
    assert run.scores.dtype == np.float64
    assert run.tag == "plackett"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Qrels(["1", "1"], ["a"], [1, 2]), "docid has 1 values but qid has 2"),
        (lambda: Qrels(["1"], ["a"], [1, 2]), "labels has 2 values but qid has 1"),
        (lambda: Qrels(["1"], ["a"], [np.nan]), "labels has a NaN in row 0"),
        (lambda: Qrels(["1"], ["a"], [1], iteration=["0", "0"]), "iteration has 2 values but qid has 1"),
        (lambda: Qrels(["1", None], ["a", "b"], [1, 2]), "qid is None in row 1"),
        (lambda: Qrels("ab", ["a", "b"], [1, 2]), "qid is a single string"),
        (
            lambda: Qrels(["1", "2", "1"], ["a", "a", "a"], [1, 2, 1]),
            "query '1' judges document 'a' twice: rows 0 and 2",
        ),
        (
            lambda: Run(["1", "2", "1"], ["a", "a", "a"], [1, 2, 1]),
            "query '1' retrieves document 'a' twice: rows 0 and 2",
        ),
        (lambda: Run(["1"], ["a"], [np.nan]), "scores has a NaN in row 0"),
        (lambda: Run(["1"], ["a"], [1.0], rank=[1.5]), "rank has values of type float64; whole numbers are needed"),
        (lambda: Run(np.ones((2, 2)), ["a"], [1.0]), r"qid has shape \(2, 2\)"),
    ],
)
def test_wrong_rows_say_what_is_wrong(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_dictionaries_go_in_and_out():
    judged = {"301": {"a": 1, "b": 0}, "302": {"a": 2}}
    assert Qrels.from_dict(judged).to_dict() == judged
    assert all(type(label) is int for docs in Qrels.from_dict(judged).to_dict().values() for label in docs.values())
    assert Qrels.from_dict({"1": {"a": 0.5}}).to_dict() == {"1": {"a": 0.5}}
    found = {"301": {"a": 1.5, "b": 0.25}, "302": {"a": 2.0}}
    assert Run.from_dict(found, tag="t").to_dict() == found
    assert Run.from_dict({}).to_dict() == {}


def test_scores_of_a_ranker_become_a_run_sorted_by_score_with_ties_in_the_order_of_trec_eval():
    queries = Queries(np.zeros((5, 1)), qid=[8, 7, 8, 7, 8], docid=["a", "b", "c", "d", "e"])
    run = Run.from_scores(queries, [0.5, 0.1, 0.9, 0.2, 0.5], tag="mine")
    assert run.qid.tolist() == ["8", "8", "8", "7", "7"]
    assert run.docid.tolist() == ["c", "e", "a", "d", "b"]
    assert run.scores.tolist() == [0.9, 0.5, 0.5, 0.2, 0.1]
    assert run.rank.tolist() == [1, 2, 3, 1, 2]
    assert run.tag == "mine"


def test_rows_without_names_are_named_by_their_number():
    assert Run.from_scores(Queries(np.zeros((2, 1))), [1.0, 2.0]).docid.tolist() == ["1", "0"]


def test_scores_and_ids_must_fit_a_run():
    queries = Queries(np.zeros((2, 1)), qid=[7, "7"])
    with pytest.raises(ValueError, match="different but the same as text"):
        Run.from_scores(queries, [1.0, 2.0])
    with pytest.raises(ValueError, match="scores has 3 values but the queries have 2 documents"):
        Run.from_scores(queries, [1.0, 2.0, 3.0])


# writing


def test_files_are_written_as_others_read_them(tmp_path):
    write_trec_run(Run(["301", "301"], ["d7", "d2"], [0.1 + 0.2, 1e-7]), tmp_path / "run")
    assert (tmp_path / "run").read_text(
        encoding="utf-8"
    ) == "301 Q0 d7 1 0.30000000000000004 plackett\n301 Q0 d2 2 1e-07 plackett\n"
    write_qrels(Qrels(["301", "302"], ["d7", "d2"], [2, -1], iteration=[0, 3]), tmp_path / "qrels")
    assert (tmp_path / "qrels").read_text(encoding="utf-8") == "301 0 d7 2\n302 3 d2 -1\n"


def test_the_tag_is_the_runs_own_unless_another_is_given():
    run = read_run(RUN)
    for tag, written in ((None, b"bm25"), ("new", b"new")):
        out = io.BytesIO()
        write_trec_run(run, out, tag=tag)
        assert out.getvalue().split(b"\n")[0].split()[-1] == written


@pytest.mark.parametrize("docid", ["a b", "", "a\n"])
def test_ids_that_a_file_cannot_hold_are_refused_and_nothing_is_written(docid, tmp_path):
    with pytest.raises(ValueError, match="which TREC files do not allow"):
        write_trec_run(Run(["1"], [docid], [1.0]), tmp_path / "run")
    with pytest.raises(ValueError, match="which TREC files do not allow"):
        write_qrels(Qrels(["1"], [docid], [1.0]), tmp_path / "qrels")
    assert list(tmp_path.iterdir()) == []


def test_a_query_id_that_would_make_a_comment_is_refused():
    with pytest.raises(ValueError, match="begins with '#'"):
        write_trec_run(Run(["#1"], ["a"], [1.0]), io.BytesIO())


def test_only_a_run_is_written_as_a_run():
    with pytest.raises(TypeError, match=r"needs a Run, not dict.*Run\.from_scores"):
        write_trec_run({}, io.BytesIO())


words = st.text(
    st.characters(codec="utf-8", exclude_characters=" \t\r\n\v\f\0\ufeff", exclude_categories=["Cs"]),
    min_size=1,
    max_size=8,
)
query_ids = words.filter(lambda word: not word.startswith("#"))
rows_of_runs = st.dictionaries(
    query_ids, st.dictionaries(words, st.floats(allow_nan=False), min_size=1, max_size=5), max_size=5
)


@given(rows_of_runs)
def test_runs_survive_the_round_trip_bit_by_bit(found):
    out = io.BytesIO()
    write_trec_run(Run.from_dict(found), out)
    assert read_run(out.getvalue()).to_dict() == found


@given(
    st.dictionaries(
        query_ids, st.dictionaries(words, st.integers(-LARGEST_LABEL, LARGEST_LABEL), min_size=1), max_size=5
    )
)
def test_qrels_survive_the_round_trip_bit_by_bit(judged):
    out = io.BytesIO()
    write_qrels(Qrels.from_dict(judged), out)
    assert read_judgements(out.getvalue()).to_dict() == judged


@pytest.mark.parametrize("ending", ["gz", "xz", "zst"])
def test_compressed_runs_survive_the_round_trip(ending, tmp_path):
    write_trec_run(read_run(RUN), tmp_path / f"run.{ending}")
    assert read_trec_run(tmp_path / f"run.{ending}").to_dict() == read_run(RUN).to_dict()


# the join


def slow_join(judged: dict, found: dict):
    """Rows (qid, docid, label, score, was judged) of every query by plain dictionaries, and its retrieved documents."""
    rows, n_retrieved = [], []
    for qid, labels in judged.items():
        scores = found.get(qid, {})
        rows += [(qid, doc, labels.get(doc, 0), score, doc in labels) for doc, score in scores.items()]
        rows += [(qid, doc, label, 0.0, True) for doc, label in labels.items() if doc not in scores]
        n_retrieved.append(len(scores))
    return rows, n_retrieved


def assert_joined(judged: dict, found: dict):
    joined = join(Qrels.from_dict(judged), Run.from_dict(found))
    rows, n_retrieved = slow_join(judged, found)
    qid = np.repeat(joined.ids, np.diff(joined.indptr)).tolist()
    columns = (joined.docid.tolist(), joined.labels.tolist(), joined.scores.tolist(), joined.is_judged.tolist())
    assert list(zip(qid, *columns, strict=True)) == rows
    assert joined.n_retrieved.tolist() == n_retrieved
    assert joined.n_ignored_queries == sum(1 for key in found if key not in judged)


def test_the_join_of_a_small_case_is_what_a_hand_writes():
    qrels = Qrels(["q1", "q2", "q1", "q3"], ["a", "x", "b", "y"], [1, 2, 3, 1])
    run = Run(["q9", "q1", "q2", "q1"], ["a", "c", "x", "b"], [9.0, 0.5, 0.25, 0.75])
    joined = join(qrels, run)
    assert joined.ids.tolist() == ["q1", "q2", "q3"]
    assert joined.indptr.tolist() == [0, 3, 4, 5]
    assert joined.docid.tolist() == ["c", "b", "a", "x", "y"]
    assert joined.labels.tolist() == [0, 3, 1, 2, 1]
    assert joined.scores.tolist() == [0.5, 0.75, 0, 0.25, 0]
    assert joined.is_judged.tolist() == [False, True, True, True, True]
    assert joined.n_retrieved.tolist() == [2, 1, 0]
    assert joined.n_ignored_queries == 1


queries = st.sampled_from(["1", "2", "30", "4"])
docs = st.sampled_from(["a", "b", "cc", "d", "x" * 70])


@given(
    st.dictionaries(queries, st.dictionaries(docs, st.integers(-1, 3), min_size=1)),
    st.dictionaries(queries, st.dictionaries(docs, st.floats(-9, 9), min_size=1)),
)
def test_the_join_equals_a_slow_one(judged, found):
    assert_joined(judged, found)


@given(
    st.dictionaries(queries, st.dictionaries(docs, st.integers(-1, 3), min_size=1)),
    st.lists(st.dictionaries(queries, st.dictionaries(docs, st.floats(-9, 9), min_size=1)), max_size=3),
)
def test_a_pool_has_every_document_once_with_its_label_scores_and_ranks(judged, found):
    runs = {f"run {place}": Run.from_dict(one) for place, one in enumerate(found)}
    pool = PooledRuns(runs, Qrels.from_dict(judged))
    queries = pool.to_queries()
    assert pool.names == list(runs)
    assert queries.ids.tolist() == list(dict.fromkeys([*judged, *(query for one in found for query in one)]))
    for q, query in enumerate(queries.ids.tolist()):
        rows, labels = slice(queries.indptr[q], queries.indptr[q + 1]), judged.get(query, {})
        names = queries.docid[rows].tolist()
        assert names[: len(labels)] == list(labels)
        assert len(names) == len(set(names)) == len(set(labels).union(*(one.get(query, ()) for one in found)))
        expected = [labels.get(name, np.nan) for name in names]
        np.testing.assert_array_equal(queries.labels[rows], expected)
        for place, one in enumerate(found):
            own = one.get(query, {})
            np.testing.assert_array_equal(pool.scores[place, rows], [own.get(name, np.nan) for name in names])
            ranked = pool_order(own)
            assert pool.lengths[place, q] == len(own)
            assert pool.ranks[place, rows].tolist() == [
                (ranked.index(name) + 1) if name in own else 0 for name in names
            ]
    for place, (name, run) in enumerate(runs.items()):
        again = pool.run_of(np.nan_to_num(pool.scores[place], nan=-99.0), name)
        for query, own in run.to_dict().items():
            assert list(again.to_dict()[query])[: len(own)] == list(pool_order(own))
        assert again.rank[:1].tolist() == [1] * bool(len(again))


def pool_order(scores):
    return sorted(sorted(scores, reverse=True), key=lambda name: -scores[name])


@pytest.mark.parametrize("make", [
    lambda rng: rng.normal(size=700),
    lambda rng: rng.integers(-3, 3, size=700) * 0.5,  # ties, and both zeros
    lambda rng: rng.choice([0.0, -0.0, np.inf, -np.inf, 1e-310, -1e300], size=700),
    lambda rng: 1.0 + rng.integers(0, 5, size=700) * 2.0**-50,  # equal in their upper halves
])  # fmt: skip
def test_long_lists_are_ordered_by_score_and_then_by_name(make):
    rng = np.random.default_rng(0)
    scores = dict(zip([f"d{doc}" for doc in rng.permutation(700)], make(rng).tolist(), strict=True))
    pool = PooledRuns({"a": Run.from_dict({"q": scores})})
    assert pool.run_of(pool.scores[0], "a").docid.tolist() == list(pool_order(scores))


def test_a_pool_takes_ids_of_any_length():
    """Very long ids are kept as objects."""
    names = ["x" * 9000 + end for end in "abca"]
    pool = PooledRuns({"a": Run([1, 1, 1], names[:3], [3, 2, 1]), "b": Run([1], names[3:], [5])})
    assert pool.docid.tolist() == names[:3]
    assert pool.ranks.tolist() == [[1, 2, 3], [1, 0, 0]]


@given(st.permutations(range(12)))
def test_the_order_of_scattered_rows_is_kept_within_each_query(order):
    qid, docid = np.array(["a", "b", "c"] * 4)[order], np.array([f"d{row}" for row in range(12)])[order]
    joined = join(Qrels(["c", "a", "b"], ["d2", "d0", "d1"], [1, 2, 3]), Run(qid, docid, np.arange(12.0)))
    for place, key in enumerate(["c", "a", "b"]):
        rows = slice(joined.indptr[place], joined.indptr[place + 1])
        assert joined.docid[rows].tolist() == docid[qid == key].tolist()
        assert joined.scores[rows].tolist() == np.arange(12.0)[qid == key].tolist()


# the files of trec_eval


def summary(path, query="all"):
    """What trec_eval prints, as numbers."""
    lines = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
    return {name: value for name, key, value in lines if key == query}


@pytest.mark.parametrize("name", ["out.test", "out.test.a"])
def test_counts_equal_those_of_trec_eval(shared_data, name):
    folder = shared_data / "trec-eval"
    qrels, run = read_qrels(folder / "qrels.test.gz"), read_trec_run(folder / "results.test.gz")
    printed, joined = summary(folder / name), join(qrels, run)
    is_retrieved = np.arange(joined.labels.size) - np.repeat(joined.indptr[:-1], np.diff(joined.indptr)) < np.repeat(
        joined.n_retrieved, np.diff(joined.indptr)
    )
    assert run.tag == printed["runid"]
    assert (joined.n_retrieved > 0).sum() == int(printed["num_q"])
    assert joined.n_retrieved.sum() == int(printed["num_ret"])
    assert (joined.labels > 0).sum() == int(printed["num_rel"])
    assert (joined.labels[is_retrieved] > 0).sum() == int(printed["num_rel_ret"])
    assert joined.n_ignored_queries == 0


def test_a_run_with_junk_behind_its_tags_counts_as_in_trec_eval(shared_data):
    folder = shared_data / "trec-eval"
    joined = join(read_qrels(folder / "qrels.test.gz"), read_trec_run(folder / "results.trunc"))
    for place, query in enumerate(joined.ids.tolist()):
        printed = summary(folder / "out.test.aqc", query)
        assert joined.n_retrieved[place] == int(printed.get("num_ret", 0))
        rows = slice(joined.indptr[place], joined.indptr[place + 1])
        assert (joined.labels[rows] > 0).sum() == int(printed["num_rel"])


def test_groups_of_judgements_are_refused_by_line(shared_data):
    message = "line 3682: document 'CR93E-10279' of query '301' was already judged in line 1"
    with pytest.raises(DataFormatError, match=message):
        read_qrels(shared_data / "trec-eval" / "qrels.123.gz")


def test_the_judgements_of_scifact_have_their_known_sizes(shared_data):
    for name, n_pairs, n_queries in (("train", 919, 809), ("test", 339, 300)):
        qrels = read_qrels(shared_data / "scifact" / f"beir-qrels.{name}.tsv")
        assert (len(qrels), qrels.groups.ids.size) == (n_pairs, n_queries)


# --- Labels that are not whole numbers --------------------------------------------------------------------------------


@pytest.mark.parametrize("label", [0.5, 1e-9, 2.0**31, -1e300], ids=str)
def test_labels_that_other_tools_cannot_read_are_refused_and_nothing_is_written(label, tmp_path):
    qrels = Qrels(["7", "7"], ["a", "b"], [1, label])
    with pytest.raises(ValueError, match=r"document 'b' of query '7' has the label .*qrels\.rounded\(\)"):
        write_qrels(qrels, tmp_path / "qrels")
    assert list(tmp_path.iterdir()) == []


def test_labels_are_rounded_to_the_nearest_whole_number_and_halves_down(tmp_path):
    labels = [0.5, 0.51, 1.5, 2.0, 0.0, -0.5, -0.4, 2 / 3]
    docid = [f"d{row}" for row in range(len(labels))]
    qrels = Qrels(["7"] * len(labels), docid, labels, iteration=docid)
    write_qrels(qrels.rounded(), tmp_path / "qrels")
    found = read_qrels(tmp_path / "qrels")
    assert found.labels.tolist() == [0, 1, 1, 2, 0, -1, 0, 1]
    assert found.docid.tolist() == found.iteration.tolist() == docid
    assert not np.signbit(qrels.rounded().labels[[4, 6]]).any()


def test_qrels_without_subtopics_are_noticed():
    with pytest.warns(DataWarning, match="second column is 0 in all rows"):
        qrels = read_qrels(io.StringIO("1 0 a 1\n1 0 b 0\n"), subtopics=True)
    assert qrels.subtopics is not None
