"""Checks of input."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from plackett._optional import import_optional
from plackett.exceptions import DataFormatError
from plackett.validation import check_choice, check_finite, check_labels, check_positive_int, check_scores


def test_a_nan_feature_is_named_by_row_and_column():
    X = np.zeros((40, 5), dtype=np.float32)
    X[31, 4] = np.nan
    names = ["a", "b", "c", "d", "bm25_title"]
    message = r'X has a NaN in row 31, column 4 \("bm25_title"\). Fill or drop it first'
    with pytest.raises(ValueError, match=message):
        check_finite(X, names)
    with pytest.raises(ValueError, match=r"X has a NaN in row 31, column 4\. Fill"):
        check_finite(sparse.csr_matrix(X))


def test_an_infinite_feature_in_a_later_block_is_found(monkeypatch):
    monkeypatch.setattr("plackett.validation.ROWS_PER_CHECK", 8)
    X = np.zeros((40, 2))
    X[39, 0] = -np.inf
    with pytest.raises(ValueError, match="X has an infinite value in row 39, column 0"):
        check_finite(X)


def test_large_finite_values_pass_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_finite(np.full((10, 10), 1e308))
        check_labels(np.full(10, 1e308))
        check_scores(np.array([np.inf, -np.inf, 1.0]))


def test_float32_scores_stay_float32_and_other_numbers_become_float64():
    assert check_scores(np.float32([1, 2])).dtype == np.float32
    assert check_scores([1, 2]).dtype == np.float64
    assert check_labels(np.array([True, False])).tolist() == [1.0, 0.0]
    assert check_labels(np.array([1, 2], dtype=object)).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("labels", [["a"], np.array([], dtype="U1"), [None], [[1, 2], [3, 4]], [1j]])
def test_labels_that_are_not_numbers_are_refused(labels):
    with pytest.raises(ValueError, match="y has"):
        check_labels(labels)


def test_masked_values_are_refused():
    with pytest.raises(ValueError, match="y is a masked array with masked values"):
        check_labels(np.ma.array([1, 2], mask=[False, True]))


@pytest.mark.parametrize("value", [0, -1, 2.0, True, "3", None])
def test_only_whole_positive_numbers_pass_as_counts(value):
    with pytest.raises(ValueError, match=r"k=.*it must be a whole number of at least 1"):
        check_positive_int(value, "k")


def test_choices_are_listed():
    with pytest.raises(ValueError, match="side='up' is not known; choose one of 'left', 'right'"):
        check_choice("up", "side", ("left", "right"))


def test_a_missing_extra_says_how_to_install_it():
    with pytest.raises(
        ModuleNotFoundError, match=r"Plots needs surely_not_there. Install it with: pip install 'plackett\[report\]'"
    ):
        import_optional("surely_not_there.pyplot", extra="report", needed_for="Plots")


def test_a_broken_package_shows_its_own_error(tmp_path, monkeypatch):
    (tmp_path / "broken_package.py").write_text("import something_it_lacks")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="something_it_lacks"):
        import_optional("broken_package", extra="report", needed_for="Plots")


def test_format_errors_can_be_sent_to_another_process():
    import pickle

    error = pickle.loads(pickle.dumps(DataFormatError("train.txt", 12, "expected a label.")))
    assert str(error) == "train.txt, line 12: expected a label."
    assert error.line == 12
