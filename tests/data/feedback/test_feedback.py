"""Feedback from judgements, clicks and pairs: what it says, counts and keeps, and where it lands in the rows."""

from __future__ import annotations

import gzip
import io
import json
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plackett.data.feedback.feedback import ETA, Feedback
from plackett.data.feedback.log import read_feedback
from plackett.data.queries import Queries
from plackett.exceptions import DataFormatError
from plackett.rankers.refinement.boosted import LinearRefiner, MultiplicativeRefiner

IDS = st.sampled_from("abcde")
JUDGEMENTS = st.lists(st.tuples(st.sampled_from("pq"), IDS, st.integers(-1, 2)), max_size=12)
PAIRS = st.lists(
    st.tuples(st.sampled_from("pq"), IDS, IDS).filter(lambda pair: pair[1] != pair[2]), max_size=12
)  # fmt: skip


def columns(rows, n=3):
    return tuple(list(column) for column in zip(*rows, strict=True)) if rows else ([],) * n


def pairs_of(feedback):
    """{(qid, better, worse): times}."""
    found = feedback.preferences
    keys = zip(found.qid.tolist(), found.better.tolist(), found.worse.tolist(), strict=True)
    return dict(zip(keys, found.times.tolist(), strict=True))


def literal_clicks(shown, clicked, strategy):
    """Pairs of places, straight from the definitions of Joachims et al."""
    pairs = set()
    for i in range(len(shown)):
        for j in range(len(shown)):
            is_click, is_skipped = shown[i] in clicked, shown[j] not in clicked
            if strategy == "clicked-above-skipped":
                holds = is_click and is_skipped and j < i
            elif strategy == "last-click-above-skipped":
                holds = bool(clicked) and shown[i] == clicked[-1] and is_skipped and j < i
            else:
                holds = is_click and is_skipped and j == i + 1
            if holds:
                pairs.add((shown[i], shown[j]))
    return pairs


STRATEGIES = ["clicked-above-skipped", "last-click-above-skipped", "clicked-above-next"]


@pytest.mark.parametrize("strategy", STRATEGIES)
@settings(max_examples=60, deadline=None)
@given(lists=st.lists(st.tuples(st.permutations("abcdef"), st.lists(st.sampled_from("abcdef"))), max_size=4))
def test_clicks_say_what_the_definitions_say(strategy, lists):
    shown, clicked = [list(one) for one, _ in lists], [clicks for _, clicks in lists]
    feedback = Feedback.from_clicks(["q"] * len(lists), shown, clicked, strategy=strategy)
    expected = Counter(pair for one in zip(shown, clicked, strict=True) for pair in literal_clicks(*one, strategy))
    assert pairs_of(feedback) == {("q", *pair): times for pair, times in expected.items()}
    assert (feedback.preferences.eta == ETA[strategy]).all()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_log_with_a_row_per_document_says_the_same(strategy):
    lists = Feedback.from_clicks(
        ["q", "r", "q"], [["a", "b", "c"], ["d", "a"], ["c", "b"]], [["c", "b"], ["a"], []], strategy=strategy
    )
    rows = "s1,q,c,5,3\ns1,r,a,9,2\ns1,q,a,0,1\ns2,q,c,0,1\ns1,q,b,8,2\ns1,r,d,0,1\ns2,q,b,0,2\n"
    log = io.StringIO(f"session,qid,docid,clicked,position\n{rows}")
    assert pairs_of(read_feedback(log, strategy=strategy)) == pairs_of(lists)


def test_of_clicks_without_times_the_lowest_is_the_last():
    log = io.StringIO("session,qid,docid,clicked\n1,7,a,false\n1,7,b,true\n1,7,c,true\n")
    assert pairs_of(read_feedback(log, strategy="last-click-above-skipped")) == {("7", "c", "a"): 1}


@settings(max_examples=80, deadline=None)
@given(judged=JUDGEMENTS, more=JUDGEMENTS, pairs=PAIRS, others=PAIRS)
def test_merging_and_counting_match_literal_loops(judged, more, pairs, others):
    feedback = (
        Feedback.from_judgements(*columns(judged))
        + Feedback.from_pairs(*columns(pairs))
        + (Feedback.from_judgements(*columns(more)) + Feedback.from_pairs(*columns(others), eta=0.8))
    )
    said, labels = Counter(pairs + others), {}
    for qid, docid, label in judged + more:
        labels.setdefault((qid, docid), []).append(label)
    mean = {document: np.mean(values) for document, values in labels.items()}
    assert pairs_of(feedback) == said
    assert list(pairs_of(feedback)) == list(dict.fromkeys(pairs + others))  # in order of first appearance
    statements = len(judged + more + pairs + others)
    assert feedback.n_duplicates == statements - len(said) - len(set(judged + more))
    assert feedback.n_disputed == sum(len(set(values)) > 1 for values in labels.values())
    contradictory = {
        (qid, *sorted((a, b)))
        for qid, a, b in said
        if (qid, b, a) in said or mean.get((qid, a), np.nan) < mean.get((qid, b), np.nan) - 1e-12
    }
    assert feedback.n_contradictory == len(contradictory)
    implied = sum(a[0] == b[0] and mean[a] != mean[b] for a, b in combinations(mean, 2))
    total = implied + sum(said.values())
    if total:
        expected = (0.02 * implied + 0.2 * len(pairs) + 0.8 * len(others)) / total
        lost = sum(min(times, said.get((qid, b, a), 0)) for (qid, a, b), times in said.items()) / 2
        assert feedback.eta == pytest.approx(max(expected, 2 * lost / max(sum(said.values()), 1)))


@settings(max_examples=40, deadline=None)
@given(judged=JUDGEMENTS, pairs=PAIRS, seed=st.integers(0, 1000))
def test_feedback_lands_in_the_rows_of_the_queries(judged, pairs, seed):
    rng = np.random.default_rng(seed)
    known = [(qid, docid) for qid in "qr" for docid in "abcd"]  # neither query p nor document e
    known = [known[place] for place in rng.permutation(len(known))]
    queries = Queries(np.zeros((len(known), 1)), qid=[qid for qid, _ in known], docid=[docid for _, docid in known])
    place = {key: row for row, key in enumerate(zip(queries.qid.tolist(), queries.docid.tolist(), strict=True))}
    rows = (Feedback.from_judgements(*columns(judged)) + Feedback.from_pairs(*columns(pairs))).for_queries(queries)
    y = np.full(queries.n_docs, np.nan)
    for key, row in place.items():
        own = [label for qid, docid, label in judged if (qid, docid) == key]
        y[row] = np.mean(own) if own else np.nan
    np.testing.assert_allclose(rows.y, y)
    found = dict(zip(map(tuple, rows.pairs.tolist()), rows.times.tolist(), strict=True))
    said = Counter(pairs)
    assert found == {
        (place[q, a], place[q, b]): n for (q, a, b), n in said.items() if (q, a) in place and (q, b) in place
    }
    n_documents = len({(qid, docid) for qid, docid, _ in judged})
    assert rows.n_unmatched == n_documents + len(said) - len(found) - int((~np.isnan(y)).sum())
    everything = Counter(found)
    for i in range(queries.n_docs):
        for j in range(queries.n_docs):
            everything[i, j] += int(queries.qid[i] == queries.qid[j] and rows.y[i] > rows.y[j])
    all_pairs, times = rows.as_pairs()
    assert dict(zip(map(tuple, all_pairs.tolist()), times.tolist(), strict=True)) == +everything


def test_documents_without_ids_go_by_their_row_numbers_and_numbers_match_text():
    queries = Queries(np.zeros((4, 1)), qid=[7, 7, 8, 8])
    rows = Feedback.from_judgements(["7", 8], [1, "2"], [0.5, 3]).for_queries(queries)
    np.testing.assert_array_equal(rows.y, [np.nan, 0.5, 3, np.nan])
    assert rows.pairs.shape == (0, 2)
    assert rows.n_unmatched == 0


def test_a_document_that_stands_twice_in_a_query_is_an_error_only_if_it_has_feedback():
    queries = Queries(np.zeros((3, 1)), qid=[7] * 3, docid=["a", "b", "a"])
    assert Feedback.from_judgements([7], ["b"], [1]).for_queries(queries).y[1] == 1
    with pytest.raises(ValueError, match="query '7' has document 'a' twice, in rows 0 and 2"):
        Feedback.from_judgements([7], ["a"], [1]).for_queries(queries)
    with pytest.raises(ValueError, match="the same as text"):
        Feedback.empty().for_queries(Queries(np.zeros((2, 1)), qid=[7, "7"]))


def test_no_feedback_says_nothing():
    feedback = Feedback.empty() + Feedback.from_clicks([], [], [])
    assert (feedback.n_duplicates, feedback.n_contradictory, feedback.n_disputed) == (0, 0, 0)
    rows = feedback.for_queries(Queries(np.zeros((2, 1))))
    assert np.isnan(rows.y).all()
    assert rows.as_pairs()[0].shape == (0, 2)
    assert 0 <= rows.eta <= 1


def test_noise_is_that_of_the_sources_and_of_what_must_be_wrong():
    pairs = Feedback.from_pairs(["q", "q"], ["a", "c"], ["b", "d"], times=[3, 1], eta=0.1)
    assert pairs.eta == pytest.approx(0.1)
    clicks = Feedback.from_clicks(["q"], [["x", "y"]], [["y"]])
    assert (pairs + clicks).eta == pytest.approx((4 * 0.1 + 0.4) / 5)
    torn = pairs + Feedback.from_pairs(["q"], ["b"], ["a"], times=[2], eta=0.1)
    assert torn.eta == pytest.approx(2 * 2 / 6)  # two of six must be wrong
    assert torn.n_contradictory == 1
    assert pairs_of(torn) == {("q", "a", "b"): 3, ("q", "c", "d"): 1, ("q", "b", "a"): 2}
    assert Feedback.from_judgements(["q"], ["a"], [1], eta=0.03).eta == pytest.approx(0.03)


def test_the_same_labels_in_another_order_have_the_same_mean():
    once = Feedback.from_judgements(["q"] * 3, ["a"] * 3, [1, 0, 0])
    again = Feedback.from_judgements(["q"] * 3, ["b"] * 3, [0, 0, 1])
    both = once + again + Feedback.from_pairs(["q", "q"], ["a", "b"], ["b", "a"])
    y = both.for_queries(Queries(np.zeros((2, 1)), qid=["q", "q"], docid=["a", "b"])).y
    assert y[0] == y[1] == pytest.approx(1 / 3)
    assert (both.n_contradictory, both.eta) == (1, 1.0)


@pytest.mark.parametrize("refiner", [MultiplicativeRefiner, LinearRefiner])
def test_judgements_have_the_noise_that_refiners_take_by_default(refiner):
    assert Feedback.from_judgements(["q", "q"], ["a", "b"], [1, 0]).eta == refiner().eta


def test_words_of_any_length_stay_as_they_are():
    long = "x" * 300
    feedback = Feedback.from_pairs(["q"], [long], ["a"]) + Feedback.from_pairs(["q"], ["é" * 70], ["a"])
    assert list(pairs_of(feedback)) == [("q", long, "a"), ("q", "é" * 70, "a")]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Feedback.from_judgements(["q"], ["a"], [np.nan]), "label has a NaN in row 0"),
        (lambda: Feedback.from_judgements(["q"], ["a", "b"], [1, 2]), "different lengths: qid 1, docid 2, label 2"),
        (lambda: Feedback.from_judgements("q", ["a"], [1]), "qid is a single string"),
        (lambda: Feedback.from_judgements([None], ["a"], [1]), "qid is None in row 0"),
        (lambda: Feedback.from_judgements(["q"], ["a"], [1], eta=1.5), "eta=1.5; it must be at most 1"),
        (lambda: Feedback.from_pairs(["q"], ["a"], ["a"]), "prefers document 'a' of query 'q' to itself"),
        (lambda: Feedback.from_pairs(["q"], ["a"], ["b"], times=[0]), "times is 0 in row 0"),
        (lambda: Feedback.from_pairs(["q"], ["a"], ["b"], times=[1.5]), "times is 1.5 in row 0"),
        (lambda: Feedback.from_pairs(["q"], ["a"], ["b"], eta=-1), "eta=-1"),
        (lambda: Feedback.from_clicks(["q"], [["a", "a"]], [[]]), "list 0: document 'a' was shown twice"),
        (lambda: Feedback.from_clicks(["q"], [["a"]], [["b"]]), "list 0: document 'b' was clicked but not shown"),
        (lambda: Feedback.from_clicks(["q"], [["a"]], []), "1 queries, 1 lists shown and 0 lists of clicks"),
        (lambda: Feedback.from_clicks(["q"], ["ab"], [["a"]]), "shown holds 'ab' at position 0"),
        (lambda: Feedback.from_clicks(["q"], [["a"]], [["a"]], strategy="best"), "strategy='best' is not known"),
    ],
)
def test_feedback_that_makes_no_sense_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_too_many_pairs_are_refused_before_they_fill_the_memory(monkeypatch):
    monkeypatch.setattr("plackett.data.feedback.feedback.MAX_PAIRS", 10)
    with pytest.raises(ValueError, match="the clicks imply more than 10 pairs"):
        Feedback.from_clicks(["q"], [range(8)], [range(4, 8)])
    queries = Queries(np.zeros((6, 1)), docid=list("abcdef"))
    rows = Feedback.from_judgements([0] * 6, list("abcdef"), range(6)).for_queries(queries)
    with pytest.raises(ValueError, match="imply more than 10 pairs"):
        rows.as_pairs()


JSON = """{"qid": 7, "docid": "a", "label": 2, "judge": "ann"}

{"query": "7", "better": "a", "worse": 5}
{"qid": "7", "shown": ["b", "a"], "clicked": ["a"]}
"""


def test_json_lines_of_all_kinds_are_read():
    feedback = read_feedback(io.BytesIO(b"\xef\xbb\xbf\n" + JSON.encode()))
    assert feedback.judgements.label.tolist() == [2]
    assert pairs_of(feedback) == {("7", "a", "5"): 1, ("7", "a", "b"): 1}
    assert feedback.preferences.eta.tolist() == [0.2, 0.4]
    assert read_feedback(io.StringIO(JSON), eta=0.5).eta == 0.5


CSV = {
    "judgements": "qid,docid,label\r\n7,a,1.5\r\n7,a,1.5\r\n",
    "pairs": 'note,Query,better,worse,times\n"so, so",7,a,b,3\n\n,7,"b ""x""",c,1\n',
    "clicks": "session,qid,docid,clicked,position\ns,7,a,TRUE,2\ns,7,b,0,1\ns,8,b,0,1\n",
}


def test_csv_of_all_kinds_is_read(tmp_path):
    judged = read_feedback(io.StringIO(CSV["judgements"]))
    assert (judged.judgements.label.tolist(), judged.n_duplicates) == ([1.5], 1)
    assert pairs_of(read_feedback(io.StringIO(CSV["pairs"]))) == {("7", "a", "b"): 3, ("7", 'b "x"', "c"): 1}
    path = tmp_path / "log.csv.gz"
    path.write_bytes(gzip.compress(CSV["clicks"].encode()))
    assert pairs_of(read_feedback(path)) == {("7", "a", "b"): 1}
    assert pairs_of(read_feedback(path, strategy="clicked-above-next")) == {}
    assert repr(read_feedback(io.StringIO("\n"))).startswith("Feedback(0 judgements, 0 preferences")


@pytest.mark.parametrize(
    "text",
    [
        "7 0 a 2\n",
        "2 qid:7 1:0.5 # docid = a\n",
        "Query;Doc ID;Rating\n7;a;2\n",
        "query,docid,rating\n7,a,2\n7,b,\n",
        '[{"query": "7", "docid": "a", "grade": 2}]',
        '{\n"judgements": [{"query": "7", "docid": "a", "grade": 2}]}',
    ],
)
def test_files_of_judgements_are_read(text):
    found = read_feedback(io.StringIO(text)).judgements
    assert (found.qid.tolist(), found.docid.tolist(), found.label.tolist()) == (["7"], ["a"], [2.0])


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('{"qid": 7, "docid": "a", "label": 2}\n{"qid": 7', 2, "expected a JSON object"),
        ('{"qid": 7, "docid": "a", "label": 2}\n[1]', 2, r"expected a JSON object .* found '\[1\]'"),
        ('{"qid": 7, "docid": "a"}', 1, "expected the keys qid, docid, label or"),
        ('{"docid": "a", "label": 2}', 1, "expected the keys qid, docid, label or"),
        ('{"qid": 7, "docid": "a", "label": NaN}', 1, 'finite number as label, found "NaN"'),
        ('{"qid": 7, "docid": "a", "label": "2"}', 1, "finite number as label"),
        ('{"qid": 7, "docid": "a", "label": true}', 1, "finite number as label"),
        ('{"qid": [7], "docid": "a", "label": 1}', 1, "text or a whole number as qid"),
        ('{"qid": "", "docid": "a", "label": 1}', 1, "text or a whole number as qid"),
        ('{"qid": 7, "docid": "a\\u0000", "label": 1}', 1, "text or a whole number as docid"),
        ('{"qid": 7, "better": 5, "worse": "5"}', 1, "document '5' is preferred to itself"),
        ('\n{"qid": 7, "shown": ["a", "a"], "clicked": []}', 2, "document 'a' was shown twice"),
        ('{"qid": 7, "shown": ["a"], "clicked": ["b"]}', 1, "document 'b' was clicked but not shown"),
        ('{"qid": 7, "shown": "ab", "clicked": ["a"]}', 1, "a list of document ids as shown"),
        ('{"qid": ' + "[" * 100_000, 1, "expected a JSON object"),
        ("a b\n", 1, "expected the header qid,docid,label or"),
        ("a b c\n", 1, "expected .*qid iteration docid label"),
        ("qid,docid,label,label\n", 1, "expected the header qid,docid,label or"),
        ("qid,docid,label\n7,a\n", 2, "expected 3 columns, found 2"),
        ("qid,docid,label\n7,a,good\n", 2, 'expected a finite number as label, found "good"'),
        ("qid,docid,label\n7,a,inf\n", 2, "expected a finite number as label"),
        ("qid,docid,label\n\n7,,1\n", 3, "expected text or a whole number as docid"),
        ('qid,docid,label\n7,"a,1\n', 2, "unexpected end of data"),
        ("qid,docid,label\n7," + "a" * 200_000 + ",1\n", 2, "field larger than field limit"),
        ("qid,better,worse,times\n7,a,b,0\n", 2, "a whole number of at least 1 as times"),
        ("qid,better,worse\n7,a,a\n", 2, "document 'a' is preferred to itself"),
        ("session,qid,docid,clicked\n1,7,a,-1\n", 2, "0, 1 or the time of the click as clicked"),
        ("session,qid,docid,clicked\n1,7,a,0\n1,7,a,1\n", 2, "document 'a' was shown twice"),
        (
            "session,qid,docid,clicked,position\n1,7,a,0,1\n1,7,b,1,1\n",
            2,
            "two documents of query '7' are at one position",
        ),
    ],
)
def test_a_bad_line_says_where_and_what(text, line, message):
    with pytest.raises(DataFormatError, match=message) as caught:
        read_feedback(io.StringIO(text))
    assert caught.value.line == line


def test_bytes_that_are_no_text_are_refused():
    with pytest.raises(DataFormatError, match="line 2: this is not UTF-8 text"):
        read_feedback(io.BytesIO(b"qid,docid,label\n\xff,a,1\n"))


SCRAPS = st.sampled_from(
    ["qid", "docid", "label", "better", "worse", ",", '"', "\n", "\r", "7", "-", "{", "}", "\0", " "]
)


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.binary(max_size=60), st.lists(SCRAPS, max_size=25).map(lambda words: "".join(words).encode())))
def test_whatever_a_file_holds_it_is_read_or_refused(content):
    try:
        feedback = read_feedback(io.BytesIO(content))
    except DataFormatError:
        return
    assert 0 <= feedback.eta <= 1


@settings(max_examples=50, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["qid", "docid", "label", "better", "worse", "shown", "clicked"]),
        st.one_of(
            st.none(), st.integers(), st.floats(), st.text(max_size=3), st.lists(st.text(max_size=2), max_size=3)
        ),
    )
)
def test_whatever_an_object_holds_it_is_read_or_refused(record):
    try:
        feedback = read_feedback(io.StringIO(json.dumps(record)))
    except DataFormatError:
        return
    assert len(feedback.judgements.qid) + len(feedback.preferences.qid) <= 3
