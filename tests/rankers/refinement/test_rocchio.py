"""Rocchio's refiner against its formula."""

import numpy as np
import pytest

import plackett as pk
from plackett.exceptions import ModelFormatError
from plackett.rankers.refinement.rocchio import RocchioRefiner
from tests.rankers.refinement.refined_lists import make_list


def test_rocchio_needs_the_base_scores_of_further_documents():
    X, base, y = make_list(0)
    fitted = RocchioRefiner().fit(X, y, base_score=base)
    with pytest.raises(ValueError, match=r"were not in fit\. Pass base_score"):
        fitted.predict(X + 1.0)
    assert fitted.predict(X + 1.0, base_score=base).shape == base.shape


@pytest.mark.parametrize("kinds", ["both", "relevant", "others", "none"])
def test_rocchio_is_the_mean_of_the_relevant_less_that_of_the_others(kinds):
    X, base, y = make_list(7, n_levels=2)
    y[np.flatnonzero(~np.isnan(y))[:2]] = [0, 1]
    if kinds == "relevant":
        y[y == 0] = np.nan
    elif kinds == "others":
        y[y == 1] = np.nan
    elif kinds == "none":
        y[:] = np.nan
    table = np.column_stack([X, base])
    table = table / np.sqrt((table**2).sum(axis=0))
    query = np.zeros(table.shape[1])
    if (y == 1).any():
        query = query + 3.0 * table[y == 1].mean(axis=0)
    if (y == 0).any():
        query = query - 2.0 * table[y == 0].mean(axis=0)
    fitted = RocchioRefiner(alpha=3.0, beta=2.0).fit(X, y, base_score=base)
    np.testing.assert_allclose(fitted.scores_, table @ query, atol=1e-6)
    if kinds == "none":
        np.testing.assert_array_equal(np.argsort(fitted.scores_), np.argsort(base))


def test_rocchio_counts_a_base_score_that_is_a_column_once():
    X, base, y = make_list(7)
    expected = RocchioRefiner().fit(X, y, base_score=base)
    fitted = RocchioRefiner().fit(np.column_stack([base, X]), y, base_score=0)
    assert fitted.coef_.shape == expected.coef_.shape
    np.testing.assert_allclose(fitted.scores_, expected.scores_, atol=1e-12)
    np.testing.assert_array_equal(fitted.predict(np.column_stack([base, X])), fitted.scores_)


def test_rocchio_takes_labels_from_relevant_from_on():
    X, base, y = make_list(7, n_levels=3)
    at_two = RocchioRefiner(relevant_from=2).fit(X, y, base_score=base)
    binary = RocchioRefiner().fit(X, np.where(np.isnan(y), y, y >= 2), base_score=base)
    np.testing.assert_array_equal(at_two.scores_, binary.scores_)


@pytest.mark.parametrize(("column", "name"), [(1, "column 1"), (None, "base score")])
@pytest.mark.parametrize("size", [1.7e308, 1e-310])
def test_rocchio_refuses_what_has_no_length(column, name, size):
    X, base = np.eye(3), np.array([1.0, 1.0, 0.5])
    if column is None:
        base = base * size
    else:
        X[:, column] = size
    with pytest.raises(ValueError, match=f"{name} has values up to .* cannot be scaled to unit length"):
        RocchioRefiner().fit(X, [0, 1, np.nan], base_score=base)


def test_rocchio_survives_empty_and_huge_columns():
    X = np.array([[0.0, 1e200], [0.0, 2e200], [0.0, 3e200]])
    fitted = RocchioRefiner().fit(X, [0, np.nan, 1], base_score=1)
    assert np.isfinite(fitted.coef_).all()
    assert (np.diff(fitted.scores_) > 0).all()


def test_a_file_with_a_wrong_query_vector_is_refused(data, feedback, tmp_path):
    fitted = RocchioRefiner().fit(data, feedback, base_score=1)
    fitted.coef_ = fitted.coef_[:, :-1].copy()
    fitted.save(tmp_path / "model.plackett")
    with pytest.raises(ModelFormatError, match="coef_ must have 5 columns"):
        pk.load(tmp_path / "model.plackett")
