"""What write_letor writes, read_letor gives back."""

import gzip
import io
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plackett.data.letor.read import read_letor
from plackett.data.letor.write import write_letor
from plackett.data.queries import Queries


def written(queries, **options):
    target = io.BytesIO()
    write_letor(queries, target, **options)
    return target.getvalue()


def assert_round_trip(queries, **options):
    text = written(queries, **options)
    reading = {"dtype": queries.X.dtype, "sparse": not isinstance(queries.X, np.ndarray)}
    back = read_letor(io.BytesIO(text), first_index=options.get("first_index", 1), **reading)
    assert back.X.shape == queries.X.shape
    ours, theirs = (X if isinstance(X, np.ndarray) else X.toarray() for X in (queries.X, back.X))
    # bit by bit, except that one NaN is as good as another
    assert np.where(np.isnan(ours), 0, ours).tobytes() == np.where(np.isnan(theirs), 0, theirs).tobytes()
    np.testing.assert_array_equal(np.isnan(ours), np.isnan(theirs))
    assert back.y.tolist() == queries.y.tolist()
    assert back.ids.tolist() == queries.ids.tolist()
    assert back.query_of_row.tolist() == queries.query_of_row.tolist()
    notes = [""] * queries.n_docs if queries.comments is None else list(queries.comments)
    assert ([""] * queries.n_docs if back.comments is None else list(back.comments)) == notes


def test_lines_look_as_the_format_has_them():
    data = Queries(
        [[0.5, 0.0], [0.1, np.nan], [-3e-30, 1e20]], y=[2, 0, -1.5], qid=["a", "a", "b"], docid=["x", "", "y z"]
    )
    assert written(data) == (b"2 qid:a 1:0.5 2:0 #docid = x\n0 qid:a 1:0.1 2:NULL\n-1.5 qid:b 1:-3e-30 2:1e+20 #y z\n")
    assert written(data, first_index=0, zeros=False, comments=False) == (
        b"2 qid:a 0:0.5 1:0\n0 qid:a 0:0.1 1:NULL\n-1.5 qid:b 0:-3e-30 1:1e+20\n"
    )


def test_float32_is_written_with_the_fewest_digits():
    data = Queries(np.float32([[0.1, 1 / 3, 16777216, 1e-40]]), y=[0])
    assert written(data) == b"0 qid:0 1:0.1 2:0.33333334 3:16777216 4:1e-40\n"
    assert_round_trip(data)


def test_the_number_of_columns_is_kept_when_zeros_are_left_out():
    from scipy.sparse import csr_matrix

    for width in (3, 300):
        X = np.zeros((3, width), dtype=np.float32)
        X[1, 1] = 4
        assert_round_trip(Queries(X, y=[0, 1, 2]), zeros=False)
        assert_round_trip(Queries(csr_matrix(X), y=[0, 1, 2]))
        assert_round_trip(Queries(csr_matrix(X), y=[0, 1, 2]), zeros=True)
        assert written(Queries(csr_matrix(X), y=[0, 1, 2])) == b"0 qid:0 %d:0\n1 qid:0 2:4\n2 qid:0\n" % width


FLOAT32 = st.floats(width=32, allow_infinity=True, allow_nan=True)
FLOAT64 = st.floats(allow_infinity=True, allow_nan=True)
SHORT = st.integers(-(10**9), 10**9).map(lambda n: n / 10**6)
IDS = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.text(st.characters(codec="utf-8", min_codepoint=33, exclude_characters="#"), min_size=1),
)
COMMENTS = st.text(st.characters(codec="utf-8", exclude_characters="\n\r"))


@settings(max_examples=150, deadline=None)
@given(st.data(), st.sampled_from([np.float32, np.float64]), st.booleans(), st.sampled_from([0, 1]))
def test_any_queries_come_back_exactly(data, dtype, zeros, first_index):
    n_docs, n_features = data.draw(st.integers(1, 6)), data.draw(st.integers(0, 4))
    values = st.one_of(SHORT, FLOAT32 if dtype == np.float32 else FLOAT64)
    X = np.array([[data.draw(values) for _ in range(n_features)] for _ in range(n_docs)], dtype=dtype)
    labels = [data.draw(st.floats(allow_nan=False, allow_infinity=False)) for _ in range(n_docs)]
    is_text = data.draw(st.booleans())
    ids = [data.draw(IDS) for _ in range(n_docs)]
    ids = [f"q{key}" for key in ids] if is_text else [key if isinstance(key, int) else len(key) for key in ids]
    comments = data.draw(st.none() | st.lists(COMMENTS, min_size=n_docs, max_size=n_docs))
    queries = Queries(X.reshape(n_docs, n_features), labels, ids, comments=comments)
    assert_round_trip(queries, zeros=zeros, first_index=first_index)


def test_many_rows_of_every_kind_come_back_exactly():
    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.float64):
        X = rng.normal(size=(5000, 30)) * 10.0 ** rng.integers(-12, 12, size=30)
        X[:, ::3] = X[:, ::3].round(3)
        X[rng.random(X.shape) < 0.1] = np.nan
        data = Queries(X.astype(dtype), rng.integers(0, 5, 5000), np.repeat(np.arange(100), 50))
        assert_round_trip(data)
        assert_round_trip(data, zeros=False)


def test_document_names_come_back_from_comments():
    names = ["GX1", "a name with blanks", "", "ü"]
    back = read_letor(io.BytesIO(written(Queries(np.ones((4, 1)), y=[0] * 4, docid=names))))
    assert back.docid.tolist() == names


def test_comments_with_bytes_that_are_not_utf8_come_back():
    text = b"1 qid:1 1:0.5 #\xff\x00 # \r x\n"
    assert written(read_letor(io.BytesIO(text))) == text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": None}, "these queries have no labels."),
        ({"y": [1, np.nan]}, "y is nan in row 1; a LETOR file holds finite labels only."),
        ({"qid": ["a b", "c"]}, "query id 'a b' cannot be written"),
        ({"qid": ["a#b", "c"]}, "query id 'a#b' cannot be written"),
        ({"qid": ["", "c"]}, "query id '' cannot be written"),
        ({"qid": ["\udcff", "c"]}, "cannot be written as UTF-8"),
        ({"qid": [1.5, 2.5]}, "query id 1.5 is a float"),
        ({"comments": ["a", "b\nc"]}, "the comment of row 1 holds a line break: 'b\\nc'."),
        ({"comments": ["a\r", "b"]}, "the comment of row 0 ends in a carriage return"),
        ({"docid": ["docid = x y", "z"]}, "document name 'docid = x y' would not be read back"),
        ({"docid": [" x", "z"]}, "document name ' x' would not be read back"),
        ({"docid": ["x", "z"], "comments": ["x", "y"]}, "docid and the comments name different documents"),
    ],
)
def test_what_the_format_cannot_hold_is_refused(change, message, tmp_path):
    parts = {"y": [1, 0], "qid": [1, 2]} | change
    path = tmp_path / "out.txt"
    path.write_text("as it was")
    with pytest.raises(ValueError, match=re.escape(message)):
        write_letor(Queries(np.ones((2, 1)), **parts), path)
    assert path.read_text(encoding="utf-8") == "as it was"


def test_arguments_are_checked():
    data = Queries(np.ones((2, 1)), y=[1, 0])
    with pytest.raises(ValueError, match="first_index=2 is not known"):
        write_letor(data, io.BytesIO(), first_index=2)
    with pytest.raises(TypeError, match="queries is ndarray; write_letor needs a Queries"):
        write_letor(data.X, io.BytesIO())
    with pytest.raises(ValueError, match="no rows to write"):
        write_letor(data[:0], io.BytesIO())


@pytest.mark.parametrize("ending", ["", ".gz", ".xz", ".zst"])
def test_files_are_compressed_by_their_names(ending, tmp_path):
    if ending == ".zst":
        pytest.importorskip("zstandard")
    path = tmp_path / f"out.txt{ending}"
    data = Queries(np.float32([[1, 2], [3, 4]]), y=[1, 0], qid=[5, 5])
    write_letor(data, path)
    assert read_letor(path).X.tolist() == data.X.tolist()
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    if ending == ".gz":
        assert gzip.decompress(path.read_bytes()) == b"1 qid:5 1:1 2:2\n0 qid:5 1:3 2:4\n"
