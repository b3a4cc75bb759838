"""Files with one score per line."""

import gzip

import pytest

from plackett.data.text_table import read_scores
from plackett.exceptions import DataFormatError


@pytest.mark.parametrize(
    ("content", "scores"),
    [
        (b"1\n-2.5e3\n0.1\n", [1, -2500, 0.1]),
        (b"1\r\n2\r\n\n\n", [1, 2]),
        (b"\xef\xbb\xbf1\n2", [1, 2]),
        (b"  1 \n\t2\n", [1, 2]),
        (b"inf\n-inf\n", [float("inf"), float("-inf")]),
        (b"", []),
    ],
)
def test_numbers_are_read_line_by_line(tmp_path, content, scores):
    (tmp_path / "scores.txt").write_bytes(content)
    (tmp_path / "scores.txt.gz").write_bytes(gzip.compress(content))
    assert read_scores(tmp_path / "scores.txt").tolist() == scores
    assert read_scores(tmp_path / "scores.txt.gz").tolist() == scores


@pytest.mark.parametrize(
    ("content", "line"),
    [(b"1\nx\n3\n", 2), (b"1\n\n3\n", 2), (b"1_0\n", 1), (b"1\n2\x00\n", 2), (b"1 2\n", 1), (b"1\nnan\n", 2)],
)
def test_what_is_not_one_number_is_named(tmp_path, content, line):
    (tmp_path / "scores.txt").write_bytes(content)
    with pytest.raises(DataFormatError) as caught:
        read_scores(tmp_path / "scores.txt")
    assert caught.value.line == line
