"""The LETOR reader against a slow one written here, against real files, and against everything that can go wrong."""

import gzip
import io
import lzma
import math
import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from plackett.data.letor import text as letor_text
from plackett.data.letor.read import read_letor
from plackett.exceptions import DataFormatError

NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|infinity|nan)", re.IGNORECASE | re.ASCII)


@pytest.fixture(params=["large chunks", "tiny chunks"])
def chunks(request, monkeypatch):
    """Files are cut into chunks at line ends; where the cuts fall must not matter."""
    if request.param == "tiny chunks":
        monkeypatch.setattr(letor_text, "WAVE_BYTES", 48)
        monkeypatch.setattr(letor_text, "CHUNK_BYTES", 16)


def read(text, **options):
    return read_letor(io.BytesIO(text if isinstance(text, bytes) else text.encode()), **options)


class Wrong(Exception):
    def __init__(self, line):
        self.line = line


def _slow_number(token, line):
    if not NUMBER.fullmatch(token):
        raise Wrong(line)
    number = float(token)
    if math.isinf(number) and b"n" not in token.lower():
        raise Wrong(line)  # a finite number that is too large
    return number


def read_slowly(text, first_index=1, n_features=None, dtype=np.float32):
    """One line after the other, as the docstring of read_letor says."""
    text = text.removeprefix(b"\xef\xbb\xbf")
    rows = []
    lines = text.split(b"\n")
    for number, whole in enumerate(lines, 1):
        line = whole.removesuffix(b"\r") if number < len(lines) or whole.endswith(b"\r") else whole
        data, _, comment = line.partition(b"#")
        tokens = [token for token in re.split(rb"[ \t]", data) if token]
        if not tokens:
            continue
        label = _slow_number(tokens[0], number)
        if not math.isfinite(label) or len(tokens) < 2 or not re.fullmatch(rb"qid:[^\x00-\x20]+", tokens[1]):
            raise Wrong(number)
        try:
            qid = tokens[1][4:].decode("utf-8")
        except UnicodeDecodeError:
            raise Wrong(number) from None
        pairs = {}
        for token in tokens[2:]:
            key, colon, value = token.partition(b":")
            if not colon or not re.fullmatch(rb"[0-9]{1,10}", key):
                raise Wrong(number)
            column = int(key) - first_index
            if column < 0 or column >= (n_features or 2**31 - 2) or column in pairs:
                raise Wrong(number)
            pairs[column] = math.nan if value == b"NULL" else _slow_number(value, number)
            if dtype == np.float32 and 3.4028235677973366e38 <= abs(pairs[column]) < math.inf:
                raise Wrong(number)
        rows.append((label, qid, pairs, comment))
    return rows


def assert_same(data, rows, missing=0.0):
    ids = [qid for _, qid, _, _ in rows]
    are_numbers = all(re.fullmatch(r"0|-?[1-9][0-9]*", qid) and -(2**63) <= int(qid) < 2**63 for qid in ids)
    assert data.qid.tolist() == ([int(qid) for qid in ids] if are_numbers else ids)
    assert data.y.tolist() == [label for label, _, _, _ in rows]
    comments = [comment for _, _, _, comment in rows]
    if any(comments):
        assert [data.comments.bytes_of(k) for k in range(len(rows))] == comments
    else:
        assert data.comments is None
    width = max([column + 1 for _, _, pairs, _ in rows for column in pairs], default=0)
    expected = np.full((len(rows), width), missing)
    for k, (_, _, pairs, _) in enumerate(rows):
        for column, value in pairs.items():
            expected[k, column] = value
    dense = data.X if isinstance(data.X, np.ndarray) else data.X.toarray()
    np.testing.assert_array_equal(dense, expected.astype(dense.dtype))
    assert np.array_equal(np.signbit(dense), np.signbit(expected)) or not isinstance(data.X, np.ndarray)


# --- the format


def test_rows_are_read_with_labels_ids_and_comments(chunks):
    text = "2 qid:10 1:0.5 2:-3 #docid = GX1 inc = 1\n0 qid:10 3:1e-3\n-1.5 qid:7 2:.25\n"
    data = read(text)
    np.testing.assert_array_equal(data.X, np.float32([[0.5, -3, 0], [0, 0, 1e-3], [0, 0.25, 0]]))
    assert data.X.dtype == np.float32
    assert data.y.tolist() == [2, 0, -1.5]
    assert data.qid.tolist() == [10, 10, 7]
    assert data.ids.dtype == np.int64
    assert list(data.comments) == ["docid = GX1 inc = 1", "", ""]
    assert data.docid.tolist() == ["GX1", "", ""]


def test_blank_lines_comment_lines_crlf_tabs_and_a_missing_last_newline_are_fine(chunks):
    text = b"# a header\r\n\r\n1 qid:1\t1:2 \t2:3\t\r\n   \n\t# more\n0   qid:1 2:5#tail\r\n\n2 qid:2 1:7 #end\r"
    data = read(text)
    assert data.X.tolist() == [[2, 3], [0, 5], [7, 0]]
    assert list(data.comments) == ["", "tail", "end"]


def test_a_byte_order_mark_is_skipped():
    assert read(b"\xef\xbb\xbf1 qid:1 1:2\n").X.tolist() == [[2]]
    assert read(gzip.compress(b"\xef\xbb\xbf1 qid:1 1:2\n")).X.tolist() == [[2]]


def test_null_is_nan_or_what_is_asked_for(chunks):
    text = "1 qid:1 1:NULL 2:4\n0 qid:1 2:NULL\n"
    assert np.isnan(read(text).X).tolist() == [[True, False], [False, True]]
    assert read(text, null=-1).X.tolist() == [[-1, 4], [0, -1]]


def test_missing_indices_are_zero_or_what_is_asked_for(chunks):
    text = "1 qid:1 2:4 4:0\n0 qid:1 1:NULL\n1 qid:2 5:1\n"
    nan = np.nan
    expected = [[nan, 4, nan, 0, nan], [-1, nan, nan, nan, nan], [nan, nan, nan, nan, 1]]
    np.testing.assert_array_equal(read(text, missing=nan, null=-1).X, np.float32(expected))


def test_indices_may_start_from_zero():
    assert read("1 qid:1 0:3 2:4\n", first_index=0).X.tolist() == [[3, 0, 4]]


def test_indices_may_come_in_any_order(chunks):
    text = "1 qid:1 3:3 1:1 2:2\n1 qid:1 1:1 5:5 4:4\n"
    expected = [[1, 2, 3, 0, 0], [1, 0, 0, 4, 5]]
    assert read(text).X.tolist() == expected
    sparse = read(text, sparse=True).X
    assert sparse.toarray().tolist() == expected
    assert sparse.indices.tolist() == [0, 1, 2, 0, 3, 4]


def test_a_very_wide_unsorted_row_is_sorted():
    columns = np.random.default_rng(0).permutation(20_000) + 1
    text = "1 qid:1 " + " ".join(f"{c}:{c}" for c in columns.tolist())
    assert np.array_equal(read(text).X[0], np.arange(1, 20_001))


def test_rows_without_features_have_no_columns():
    data = read("1 qid:1\n0 qid:1 #c\n")
    assert data.X.shape == (2, 0)
    assert data.y.tolist() == [1, 0]


def test_n_features_fixes_the_number_of_columns(chunks):
    assert read("1 qid:1 2:4\n", n_features=5).X.tolist() == [[0, 4, 0, 0, 0]]
    assert read("1 qid:1 2:4\n", n_features=3, sparse=True).X.shape == (1, 3)
    with pytest.raises(
        DataFormatError, match=r'^<BytesIO>, line 2: found "6:1", but n_features=5 allows indices 1 to 5\.$'
    ):
        read("1 qid:1 2:4\n1 qid:1 6:1\n", n_features=5)
    with pytest.raises(DataFormatError, match=r"n_features=5 allows indices 0 to 4\."):
        read("1 qid:1 5:1\n", n_features=5, first_index=0)


def test_columns_that_appear_late_widen_the_rows_before(chunks):
    lines = [f"1 qid:1 {k + 1}:{k + 1}" for k in range(60)]
    np.testing.assert_array_equal(read("\n".join(lines), missing=-1).X, np.diag(np.arange(1.0, 61)) - (1 - np.eye(60)))


def test_float64_is_kept_to_the_last_digit():
    text = "1 qid:1 1:0.1 2:0.30000000000000004 3:1e-300 4:123456789012345678901234567890\n"
    assert read(text, dtype=np.float64).X.tolist() == [
        [0.1, 0.30000000000000004, 1e-300, 123456789012345678901234567890.0]
    ]


# --- query ids


def test_ids_are_numbers_only_when_all_are_written_plainly(chunks):
    assert read("1 qid:-5 1:1\n1 qid:9223372036854775807 1:1\n").ids.tolist() == [-5, 9223372036854775807]
    for odd in ["007", "+7", "-0", "7.0", "9223372036854775808", "-9223372036854775809", "q7", "7_0", "é"]:
        data = read(f"1 qid:7 1:1\n1 qid:{odd} 1:2\n1 qid:{odd} 1:3\n")
        assert data.ids.tolist() == ["7", odd]
        assert data.qid.tolist() == ["7", odd, odd]


def test_rows_keep_the_order_of_the_file_and_are_grouped_on_demand(chunks):
    for b in ("2", "b"):
        data = read(f"1 qid:1 1:0\n2 qid:{b} 1:1\n3 qid:1 1:2\n4 qid:{b} 1:3\n")
        assert data.y.tolist() == [1, 2, 3, 4]
        assert data.ids.tolist() == ([1, 2] if b == "2" else ["1", "b"])
        assert data.qid.tolist() == ([1, 2, 1, 2] if b == "2" else ["1", "b", "1", "b"])
        assert data.grouped.y.tolist() == [1, 3, 2, 4]


# --- where text comes from

TEXT = b"1 qid:1 1:2 2:0.25 #docid = a\n0 qid:1 1:3 #docid = b\n2 qid:2 2:1 #docid = c\n"


def _zstd(data):
    return pytest.importorskip("zstandard").ZstdCompressor().compress(data)


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress, _zstd], ids=["plain", "gz", "xz", "zst"])
def test_compression_is_recognised_by_content(pack, tmp_path, chunks):
    path = tmp_path / "any-name"
    path.write_bytes(pack(TEXT[:30]) + pack(TEXT[30:]))  # two members, as `cat a.gz b.gz` makes them
    assert_same(read_letor(path), read_slowly(TEXT))
    assert_same(read_letor(str(path)), read_slowly(TEXT))
    with path.open("rb") as file:
        assert_same(read_letor(file), read_slowly(TEXT))


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, _zstd], ids=["gz", "xz", "zst"])
def test_compressed_files_that_were_cut_short_are_refused(pack, tmp_path):
    rng = np.random.default_rng(0)
    whole = b"".join(b"1 qid:1 1:%.6f #c\n" % x for x in rng.normal(size=3000))
    packed = pack(whole)
    path = tmp_path / "torn"
    for n in (10, len(packed) // 2, len(packed) - 3):
        path.write_bytes(packed[:n])
        with pytest.raises(
            DataFormatError, match=rf"^{re.escape(str(path))}: the compressed data are damaged or truncated"
        ):
            read_letor(path)


def test_several_files_are_one_set_and_a_query_may_go_on_in_the_next(tmp_path, chunks):
    parts = [tmp_path / f"part{k}" for k in range(3)]
    parts[0].write_bytes(b"1 qid:1 1:1\n2 qid:2 1:2")  # no newline at the end
    parts[1].write_bytes(gzip.compress(b"3 qid:2 1:3 4:4\n"))
    parts[2].write_bytes(b"4 qid:1 1:5 #late\n")
    data = read_letor(parts)
    assert data.y.tolist() == [1, 2, 3, 4]
    assert data.X[:, 0].tolist() == [1, 2, 3, 5]
    assert data.grouped.y.tolist() == [1, 4, 2, 3]
    assert data.ids.tolist() == [1, 2]
    parts[1].write_bytes(b"\n3 qid:2 1:x\n")
    with pytest.raises(DataFormatError) as caught:
        read_letor(parts)
    assert (caught.value.path, caught.value.line) == (str(parts[1]), 2)


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gz"])
def test_standard_input_is_read_for_a_dash(pack):
    code = 'from plackett.data.letor.read import read_letor; print(read_letor("-").X.tolist())'
    done = subprocess.run([sys.executable, "-c", code], input=pack(TEXT), capture_output=True, check=True)
    assert done.stdout.decode().strip() == "[[2.0, 0.25], [3.0, 0.0], [0.0, 1.0]]"


class _OnlyRead:
    def __init__(self, data):
        self._data = io.BytesIO(data)

    def read(self, n=-1):
        return self._data.read(min(n, 5))


def test_a_file_object_needs_nothing_but_read():
    assert_same(read_letor(_OnlyRead(TEXT)), read_slowly(TEXT))


def test_files_that_are_not_there_or_hold_no_rows_say_so(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_letor(tmp_path / "absent")
    with pytest.raises(IsADirectoryError):
        read_letor(tmp_path)
    empty = tmp_path / "empty"
    for content in (b"", b"\n\n", b"# only a comment", gzip.compress(b"")):
        empty.write_bytes(content)
        with pytest.raises(DataFormatError, match=r"empty: no rows found; expected lines"):
            read_letor(empty)
    with pytest.raises(ValueError, match="no file was given"):
        read_letor([])
    with pytest.raises(TypeError, match="source is int"):
        read_letor(7)


def test_importing_the_reader_imports_neither_numba_nor_scipy():
    heavy = ("numba", "scipy", "sklearn", "pandas")
    code = f"import sys, plackett.data.letor.read; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.strip() == "[]"


# --- dense or sparse


def test_sparse_is_obeyed_and_stores_no_zeros(chunks):
    text = "1 qid:1 1:0 2:4 3:-0\n0 qid:1 3:NULL 9:1\n0 qid:2\n1 qid:2 2:1e-60 9:0\n"
    X = read(text, sparse=True).X
    assert X.format == "csr"
    assert X.dtype == np.float32
    assert X.nnz == 3
    np.testing.assert_array_equal(X.toarray(), read(text, sparse=False).X)
    with pytest.raises(ValueError, match="missing=nan needs sparse=False"):
        read(text, sparse=True, missing=np.nan)


def test_tables_of_low_fill_are_dense_unless_asked(chunks):
    full, wide = "1 qid:1 1:1 2:1 3:1\n", "1 qid:1 99:7\n"
    for text in (full * 40, wide * 40, full * 40 + wide * 40, wide + full * 5):
        data = read(text)
        assert isinstance(data.X, np.ndarray)
        assert_same(data, read_slowly(text.encode()))
        np.testing.assert_array_equal(read(text, sparse=True).X.toarray(), data.X)


# --- errors


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("2 1:0.5", 'expected "label qid:ID index:value ...", found "2 1:0.5".'),
        ("2", 'expected "label qid:ID index:value ...", found "2".'),
        ("x qid:1 1:1", 'expected "label qid:ID index:value ...", found "x qid:1 1:1".'),
        ("2 qid: 1:1", 'expected "label qid:ID index:value ...", found "2 qid: 1:1".'),
        ("qid:1 1:1", 'expected "label qid:ID index:value ...", found "qid:1 1:1".'),
        ("nan qid:1 1:1", 'the label is "nan"; labels must be finite numbers.'),
        ("NULL qid:1 1:1", 'the label is "NULL"; labels must be finite numbers.'),
        ("1e999 qid:1 1:1", 'the label is "1e999"; labels must be finite numbers.'),
        ("1 qid:1 qid:1 1:1", 'expected index:value, found "qid:1" in "1 qid:1 qid:1 1:1".'),
        ("1 qid:1 1:1 1:qid", 'expected index:value, found "1:qid" in "1 qid:1 1:1 1:qid".'),
        ("1 qid:1 1 :1", 'expected index:value, found "1" in "1 qid:1 1 :1".'),
        ("1 qid:1 -1:1", 'expected index:value, found "-1:1" in "1 qid:1 -1:1".'),
        ("1 qid:1 1:1_0", 'expected index:value, found "1:1_0" in "1 qid:1 1:1_0".'),
        ("1 qid:1 1:null", 'expected index:value, found "1:null" in "1 qid:1 1:null".'),
        ("1 qid:1 1:\x00", 'expected index:value, found "1:\\x00" in "1 qid:1 1:\\x00".'),
        (
            "1 qid:1 0:1",
            'found "0:1", but indices start from 1. If this file counts from 0, pass first_index=0 '
            "(on the command line, --zero-based).",
        ),
        ("1 qid:1 2147483647:1", 'found "2147483647:1", but indices end at 2147483646.'),
        ("1 qid:1 99999999999999999999999:1", 'found "99999999999999999999999:1", but indices end at 2147483646.'),
        ("1 qid:1 7:1 2:1 7:0", 'index 7 occurs twice in "1 qid:1 7:1 2:1 7:0".'),
        ("1 qid:1 1:1e39", "the value 1e39 does not fit into float32. Pass dtype=numpy.float64."),
        ("1 qid:1 1:1e999", "the value 1e999 does not fit into float32. Pass dtype=numpy.float64."),
    ],
)
def test_errors_name_file_and_line_and_say_what_was_expected(line, message, tmp_path, chunks):
    path = tmp_path / "train.txt"
    path.write_text(f"1 qid:1 1:1\n\n# a comment\n{line}\n1 qid:1 1:1\n", newline="\n")
    with pytest.raises(DataFormatError) as caught:
        read_letor(path)
    assert str(caught.value) == f"{path}, line 4: {message}"


def test_the_first_wrong_line_is_the_one_that_is_named():
    wrong = ["1 qid:1 1:1e999", "1 qid:1", "1 qid:\udcff 1:1", "1 qid:1 1:x", "1e999 qid:1", "1 qid:1 1:1 1:1"]
    for k in range(len(wrong)):
        text = "\n".join(wrong[k:]).encode("utf-8", "surrogateescape")
        with pytest.raises(DataFormatError) as caught:
            read(text)
        assert caught.value.line == (2 if wrong[k] == "1 qid:1" else 1)


def test_bytes_that_are_not_utf8_are_kept_in_comments_and_refused_in_ids(chunks):
    data = read(b"1 qid:1 1:1 #\xff\x00\xfe\n")
    assert data.comments.bytes_of(0) == b"\xff\x00\xfe"
    assert data.comments[0] == "\udcff\x00\udcfe"
    with pytest.raises(
        DataFormatError, match=r'^<BytesIO>, line 1: the query id in "1 qid:a\\xff 1:1" is not UTF-8\.$'
    ):
        read(b"1 qid:a\xff 1:1\n")


def test_long_lines_are_shortened_in_messages():
    with pytest.raises(DataFormatError) as caught:
        read("2 1:0.5 " + "x" * 5000)
    assert len(str(caught.value)) < 160
    assert str(caught.value).endswith('..."' + ".")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"first_index": 2}, "first_index=2 is not known"),
        ({"n_features": -1}, "n_features=-1"),
        ({"n_features": True}, "n_features=True"),
        ({"dtype": np.int32}, "dtype=int32; X can be float32 or float64."),
        ({"sparse": "yes"}, "sparse='yes' is not known"),
        ({"missing": "nan"}, "missing='nan'; it must be a number."),
    ],
)
def test_arguments_that_make_no_sense_are_refused(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        read(TEXT, **options)


# --- numbers


@settings(max_examples=150, deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=60))
def test_every_double_is_read_as_python_reads_it(values):
    texts = [
        form(x) for x in values for form in (repr, "{:.17e}".format, "{:.16g}".format, "{:.25g}".format, "{:g}".format)
    ]
    texts = [text for text in texts if math.isfinite(float(text))]
    row = "1 qid:1 " + " ".join(f"{k}:{text}" for k, text in enumerate(texts, 1))
    got = read(row, dtype=np.float64).X[0]
    assert got.tobytes() == np.array([float(text) for text in texts]).tobytes()


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.from_regex(rb"[+-]?([0-9]{1,25}(\.[0-9]{0,25})?|\.[0-9]{1,25})([eE][+-]?[0-9]{1,3})?", fullmatch=True))
)
@example(
    [b"9007199254740993", b"9007199254740992.5", b"4.9e-324", b"2.2250738585072011e-308", b"0e999", b"-0.0", b"1e-400"]
)
@example([b"1.7976931348623157e308", b"8.5e-322", b"0.000000000000000000000000000000000001", b"1" * 25 + b".5"])
def test_every_way_to_write_a_number_is_read_as_python_reads_it(texts):
    texts = [text for text in texts if math.isfinite(float(text))]
    row = b"1 qid:1 1:0 " + b" ".join(b"%d:%s" % (k, text) for k, text in enumerate(texts, 2))
    got = read(row, dtype=np.float64).X[0, 1:]
    assert got.tobytes() == np.array([float(text) for text in texts]).tobytes()


def test_halfway_cases_round_to_even():
    odd = np.random.default_rng(0).integers(2**52, 2**53, size=2000) | 1
    texts = (
        [str(2 * int(n) + 1) for n in odd] + [str(int(n)) + ".5" for n in odd] + [f"{2 * int(n) + 1}e3" for n in odd]
    )
    row = "1 qid:1 " + " ".join(f"{k}:{text}" for k, text in enumerate(texts, 1))
    assert read(row, dtype=np.float64).X[0].tolist() == [float(text) for text in texts]


def test_thousands_of_numbers_that_only_python_can_read(chunks):
    texts = [f"{k}e-32{k % 4}" for k in range(1, 5000)]
    data = read("\n".join(f"1 qid:1 2:0 1:{text}" for text in texts), dtype=np.float64)
    assert data.X[:, 0].tolist() == [float(text) for text in texts]
    sparse = read("\n".join(f"1 qid:1 2:0 1:{text}" for text in texts), dtype=np.float64, sparse=True)
    assert sparse.X.toarray().tolist() == data.X.tolist()


# --- any text at all

TOKENS = st.sampled_from(
    [
        "0",
        "1",
        "2",
        "-1",
        "+3",
        "1.5",
        "1e5",
        "qid:1",
        "qid:2",
        "qid:a",
        "qid:",
        "qid",
        "1:1",
        "2:0.5",
        "3:NULL",
        "1:nan",
        "2:-inf",
        "4:1e400",
        "0:1",
        "7:.",
        "1:1:1",
        "5:",
        ":5",
        "#",
        "#c",
        "\t",
    ]
)
LINES = st.one_of(
    st.lists(TOKENS, max_size=7).map(" ".join),
    st.builds(
        lambda label, qid, pairs, tail: f"{label} qid:{qid} " + " ".join(f"{k}:{v}" for k, v in pairs) + tail,
        st.sampled_from(["0", "1", "2.5", "-1"]),
        st.sampled_from(["1", "2", "30", "a", "007"]),
        st.lists(
            st.tuples(st.integers(1, 12), st.one_of(st.floats(width=32).map(repr), st.just("NULL"), st.just("1e-50"))),
            max_size=6,
        ),
        st.sampled_from(["", " ", " #docid = x", "#", "# a # b\t", "\r", " #c\r"]),
    ),
)
TEXTS = st.one_of(
    st.lists(LINES, max_size=12).map(lambda lines: "\n".join(lines).encode()),
    st.binary(max_size=60),
    st.lists(
        st.sampled_from([b"1", b" ", b"\n", b"\r", b"qid:1", b":", b"2", b".", b"#", b"e", b"-", b"\x00", b"\xff"])
    ).map(b"".join),
)


def _rows_or_wrong_line(text, first_index, dtype):
    try:
        return read_slowly(text, first_index, dtype=dtype), None
    except Wrong as wrong:
        return None, wrong.line


@settings(max_examples=600, deadline=None)
@given(TEXTS, st.sampled_from([0, 1]), st.sampled_from([np.float32, np.float64]), st.booleans())
def test_any_text_is_read_as_the_slow_reader_reads_it_or_refused_at_the_same_line(text, first_index, dtype, is_tiny):
    if text.startswith(
        (b"\x1f\x8b", b"\xfd7zXZ", b"BZh", b"\x28\xb5\x2f\xfd")
    ):  # compressed, as far as its first bytes say
        return
    with pytest.MonkeyPatch.context() as patch:
        if is_tiny:
            patch.setattr(letor_text, "WAVE_BYTES", 64)
            patch.setattr(letor_text, "CHUNK_BYTES", 20)
        rows, wrong_line = _rows_or_wrong_line(text, first_index, dtype)
        if wrong_line is not None:
            with pytest.raises(ValueError) as caught:
                read(text, first_index=first_index, dtype=dtype)
            assert caught.value.line == wrong_line
            return
        if not rows:
            with pytest.raises(DataFormatError, match="no rows"):
                read(text, first_index=first_index)
            return
        data = read(text, first_index=first_index, dtype=dtype, sparse=False)
        assert_same(data, rows)
        assert_same(read(text, first_index=first_index, dtype=dtype, sparse=True), rows)
        assert_same(read(text, first_index=first_index, dtype=dtype, sparse=False, missing=7.0), rows, missing=7.0)


# --- real files


@pytest.mark.parametrize(
    ("folder", "files", "n_rows", "n_queries", "n_features"),
    [
        ("letor4-mq2008", "S?.txt.gz", 15211, 784, 46),
        ("letor4-mq2008-agg", "A?.txt.gz", 15211, 784, 25),
        ("letor3-ohsumed/Feature-null", "S?.txt.gz", 16140, 106, 45),
        ("letor2-ohsumed", "S?.txt.gz", 16140, 106, 25),
    ],
)
def test_real_sets_have_their_published_sizes(shared_data, folder, files, n_rows, n_queries, n_features):
    paths = sorted((shared_data / folder).glob(files))
    data = read_letor(paths)
    assert (data.n_docs, data.n_queries, data.n_features) == (n_rows, n_queries, n_features)
    text = b"".join(gzip.decompress(path.read_bytes()) for path in paths[:1])
    assert_same(read_letor(paths[0]), read_slowly(text))
