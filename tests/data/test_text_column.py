import numpy as np
import pytest

from plackett.data.text_column import TextColumn

TEXTS = ["docid = GX1 inc = 1", "", "plain", "häß", "\udcff\udcfe", "x" * 50]


@pytest.fixture
def column():
    return TextColumn.from_strings(TEXTS)


def test_texts_come_back_as_they_were_given(column):
    assert list(column) == TEXTS
    assert len(column) == 6
    assert column[-1] == "x" * 50
    assert np.asarray(column).tolist() == TEXTS
    assert column.bytes_of(4) == b"\xff\xfe"
    assert repr(column) == "TextColumn(6 texts)"


@pytest.mark.parametrize(
    "which", [slice(1, 4), slice(4, 1), slice(None, None, 2), slice(None, None, -1), [5, 0, 0], [-1, -6], []]
)
def test_chosen_texts_are_those_of_a_list(column, which):
    expected = TEXTS[which] if isinstance(which, slice) else [TEXTS[k] for k in which]
    assert list(column[which]) == expected
    assert list(column[1:][: len(expected)]) == TEXTS[1:][: len(expected)]


def test_a_mask_chooses_and_places_beyond_the_end_are_refused(column):
    assert list(column[np.array([True, False, False, True, False, False])]) == [TEXTS[0], TEXTS[3]]
    with pytest.raises(IndexError):
        column[[6]]
    with pytest.raises(IndexError):
        column[6]


def test_columns_are_equal_when_their_texts_are(column):
    assert column == TextColumn.from_strings(TEXTS)
    assert column[2:] == TextColumn.from_strings(TEXTS[2:])
    assert column != TextColumn.from_strings([*TEXTS[:5], "y" * 50])
    assert TextColumn.from_strings(["ab", "c"]) != TextColumn.from_strings(["a", "bc"])
    assert column != TEXTS


def test_columns_are_put_one_after_the_other(column):
    assert list(TextColumn.concat([column[2:4], column[:1], column[:0]])) == [TEXTS[2], TEXTS[3], TEXTS[0]]
