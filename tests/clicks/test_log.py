"""ClickLog: codes, parts, files and what it rejects."""

import pickle

import numpy as np
import pytest

import plackett as pk
from plackett.clicks import ClickLog
from plackett.exceptions import DataFormatError

from .logs import lists_of

QUERIES = ["shoe", "hat", "shoe", "10", "hat"]
LISTS = [["a", "b", "c"], ["x", "a"], ["c", "a", "b"], ["b"], ["a", "é", "x"]]
CLICKS = [[0, 1, 0], [1, 0], [0, 0, 1], [0], [0, 1, 1]]


def make(order=range(5), **more):
    order = list(order)
    return ClickLog.from_arrays(
        [QUERIES[i] for i in order],
        [doc for i in order for doc in LISTS[i]],
        [click for i in order for click in CLICKS[i]],
        indptr=np.cumsum([0] + [len(LISTS[i]) for i in order]),
        **more,
    )


GIVEN = list(zip(QUERIES, LISTS, CLICKS, strict=True))


def test_names_and_clicks_come_back():
    log = make()
    assert lists_of(log) == GIVEN
    assert (len(log), log.n_shown, log.n_clicks, log.n_pairs, log.longest) == (5, 12, 5, 7, 3)
    assert log.rank.tolist() == [1, 2, 3, 1, 2, 1, 2, 3, 1, 1, 2, 3]
    assert repr(log) == "ClickLog(5 sessions of 3 queries, 12 shown, 5 clicks, 7 pairs)"


def test_codes_do_not_depend_on_the_order_of_sessions():
    log, other = make(), make([3, 1, 4, 0, 2])
    assert list(log.queries) == list(other.queries) == ["10", "hat", "shoe"]
    assert list(log.docids) == ["a", "b", "c", "x", "é"]
    assert log.docid.tolist() == [list(log.docids)[code] for code in log.pair_doc[log.pair]]
    assert log.docid.shape == log.click.shape
    for name in ("pair_query", "pair_doc"):
        np.testing.assert_array_equal(getattr(log, name), getattr(other, name))


def test_slices_masks_and_positions_keep_the_codes():
    log = make(session_ids=list("vwxyz"), times=range(5), ranker=["old", "new", "old", "old", "new"])
    for which in (slice(1, 3), slice(None, None, 2), [4, 0], np.array([0, 1, 0, 1, 1], dtype=bool), slice(3, 1)):
        part = log[which]
        chosen = np.arange(5)[which].tolist()
        assert lists_of(part) == [GIVEN[i] for i in chosen]
        assert part.pairs is log.pairs
        assert list(part.session_ids) == ["vwxyz"[i] for i in chosen]
        assert part.times.tolist() == chosen
        assert [part.rankers[int(code)] for code in part.ranker] == [["new", "old"][i in (0, 2, 3)] for i in chosen]
    with pytest.raises(TypeError, match=r"log\[2\]: a slice, a mask or positions"):
        log[2]


def test_a_split_by_query_keeps_queries_together():
    log = make()
    first, second = log.split(0.5, by="query", random_state=3)
    assert not {*first.session_query.tolist()} & {*second.session_query.tolist()}
    assert len(first) + len(second) == 5
    again = log.split(0.5, by="query", random_state=3)
    assert lists_of(again[0]) == lists_of(first)
    with pytest.raises(ValueError, match="below 1"):
        log.split(1.0)


def test_a_compact_log_holds_the_shown_pairs_only():
    features = np.arange(14.0).reshape(7, 2)
    log = make(features=features)
    part = log[3:4].compact()
    assert lists_of(part) == GIVEN[3:4]
    assert (part.n_pairs, len(part.docids), len(part.queries)) == (1, 1, 1)
    np.testing.assert_array_equal(part.features, features[log.pair[8:9]])


def test_pairs_are_matched_by_name():
    log, part = make(), make([4, 1])
    place = part.pairs.match(log.pairs)
    assert [log.pairs[int(code)] for code in place] == [part.pairs[code] for code in range(part.n_pairs)]
    back = log.pairs.match(part.pairs)
    known = {part.pairs[code]: code for code in range(part.n_pairs)}
    assert back.tolist() == [known.get(log.pairs[code], -1) for code in range(log.n_pairs)]


def test_a_log_comes_back_from_its_file(tmp_path):
    log = make(
        session_ids=list("vwxyz"),
        times=range(5),
        ranker=list("uvuvu"),
        is_random=[0, 0, 1, 0, 1],
        features=np.arange(7.0).reshape(7, 1),
        feature_names=["bm25"],
    )
    log[1:].save(tmp_path / "clicks.plackett")
    again = ClickLog.load(tmp_path / "clicks.plackett")
    assert lists_of(again) == GIVEN[1:]
    assert list(again.session_ids) == list("wxyz")
    assert again.feature_names == ["bm25"]
    for name in ("times", "ranker", "is_random"):
        np.testing.assert_array_equal(getattr(again, name), getattr(log, name)[1:])
    np.testing.assert_array_equal(again.features, log.features)
    assert lists_of(pickle.loads(pickle.dumps(again))) == GIVEN[1:]


def test_arrays_cannot_be_written_to():
    with pytest.raises(ValueError, match="read-only"):
        make().click[0] = True


def test_damaged_files_are_rejected(tmp_path):
    path = tmp_path / "clicks.plackett"
    make().save(path)
    content = bytearray(path.read_bytes())
    content[70] ^= 1
    path.write_bytes(content)
    with pytest.raises(DataFormatError, match="damaged"):
        ClickLog.load(path)
    path.write_text("hello")
    with pytest.raises(DataFormatError, match="not a plackett click log"):
        ClickLog.load(path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["q"], ["a", "b"], [0, 1, 1], [0, 2]), r"click has shape \(3,\) but docid has 2 values"),
        ((["q"], ["a", "b"], [0, 2], [0, 2]), "click is 2 in row 1; booleans, or 0 and 1, are needed"),
        ((["q"], ["a", "a"], [0, 1], [0, 2]), "session 0 shows document 'a' twice"),
        ((["q", "r"], ["a", "b"], [0, 1], [0, 0, 2]), "session 0 shows no document"),
        ((["q"], ["a", "b"], [0, 1], [0, 1]), "but there are 2 shown documents"),
        ((["q"], ["a", "b"], [0, 1], [0, 1, 2]), "2 bounds for 1 session"),
    ],
)
def test_what_does_not_fit_is_rejected(arguments, message):
    query, docid, click, indptr = arguments
    with pytest.raises(ValueError, match=message):
        ClickLog.from_arrays(query, docid, click, indptr=indptr)


def test_features_of_queries_are_found_by_names():
    log = pk.clicks.ClickLog.from_arrays(["q", "r"], ["b", "a", "c"], [1, 0, 0], indptr=[0, 2, 3])
    lists = pk.Queries([[3.0], [1.0], [2.0]], qid=["r", "q", "q"], docid=["c", "a", "b"], feature_names=["x"])
    found = log.with_features(lists)
    assert found.features[:, 0].tolist() == [1.0, 2.0, 3.0]
    assert found.feature_names == ["x"]
    with pytest.raises(ValueError, match="1 shown pair"):
        log.with_features(pk.Queries([[1.0], [2.0]], qid=["q", "q"], docid=["a", "b"]))
