from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from plackett.data.datasets.synthetic import make_web_like
from plackett.data.queries import Queries

# web-like lists


@pytest.fixture(scope="module")
def web() -> Queries:
    return make_web_like(1500, random_state=3)


def columns_of(queries: Queries, kind: str) -> list[int]:
    return [column for column, name in enumerate(queries.feature_names) if name.startswith(f"{kind}_")]


def test_labels_have_the_shares_of_mslr(web):
    shares = np.bincount(web.y.astype(int), minlength=5) / web.n_docs
    # MSLR-WEB30K: 1,940,952 1,225,770 504,958 69,010 30,435 of 3,771,125 rows
    np.testing.assert_allclose(shares, [0.515, 0.325, 0.134, 0.018, 0.008], atol=0.02)


def test_list_lengths_are_skewed_like_those_of_mslr(web):
    lengths = np.diff(web.indptr)
    assert lengths.mean() == pytest.approx(120, rel=0.05)
    assert np.median(lengths) < lengths.mean()
    assert lengths.min() >= 1
    assert lengths.max() > 400


def test_lists_can_have_a_fixed_length():
    queries = make_web_like(7, 11, 5)
    assert np.diff(queries.indptr).tolist() == [11] * 7
    assert queries.ids.tolist() == [1, 2, 3, 4, 5, 6, 7]


def test_some_queries_have_nothing_relevant(web):
    best = np.maximum.reduceat(web.y, web.indptr[:-1])
    assert 0.01 < np.mean(best == 0) < 0.06


def test_columns_are_what_their_names_say(web):
    assert len(set(web.feature_names)) == web.n_features == 136
    assert np.isfinite(web.X).all()
    counts, ratios = web.X[:, columns_of(web, "count")], web.X[:, columns_of(web, "ratio")]
    assert (counts == np.floor(counts)).all()
    assert (counts.max(axis=0) > 20 * counts.mean(axis=0)).mean() > 0.5  # heavy tails
    assert ratios.min() >= 0
    assert ratios.max() <= 1
    assert (web.X[:, columns_of(web, "tfidf")] == 0).mean() > 0.2
    for column in columns_of(web, "constant"):
        assert np.ptp(web.X[:, column]) == 0
    assert columns_of(web, "constant") == [44, 89, 134]


def test_query_columns_are_the_only_ones_constant_within_every_query(web):
    spans = np.max([np.ptp(query.X, axis=0) for query in web[:50]], axis=0)
    query_level = set(columns_of(web, "query")) | set(columns_of(web, "constant"))
    assert query_level <= set(np.flatnonzero(spans == 0).tolist())
    copies_of_those = set(np.flatnonzero(spans == 0).tolist()) - query_level
    assert copies_of_those <= set(columns_of(web, "copy"))


def test_every_copy_is_close_to_an_earlier_column(web):
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = np.abs(np.nan_to_num(np.corrcoef(web[:100].X, rowvar=False)))
    for column in columns_of(web, "copy"):
        assert np.ptp(web.X[:, column]) == 0 or correlation[column, :column].max() > 0.95


def test_columns_tell_of_relevance_to_different_degrees_and_noise_not_at_all(web):
    def strength(column):
        varied = web.X[:, column]
        ranks = np.argsort(np.argsort(varied, kind="stable"), kind="stable")
        return abs(np.corrcoef(ranks, web.y)[0, 1])

    models = [strength(column) for column in columns_of(web, "count")]
    assert max(models) > 0.2
    assert min(models) < 0.1
    assert max(strength(column) for column in columns_of(web, "noise")) < 0.02


def test_less_noise_tells_more():
    def best_correlation(noise):
        queries = make_web_like(200, 30, 20, noise=noise, random_state=1)
        column = queries.feature_names.index("tfidf_2")
        return abs(np.corrcoef(queries.X[:, column], queries.y)[0, 1])

    assert best_correlation(0.0) > best_correlation(1.0) > best_correlation(10.0)


def test_latent_relevance_orders_the_documents_as_the_labels_do():
    graded = make_web_like(60, 40, 10, random_state=5)
    latent = make_web_like(60, 40, 10, random_state=5, graded=False)
    np.testing.assert_array_equal(graded.X, latent.X)
    order = np.argsort(latent.y)
    assert (np.diff(graded.y[order]) >= 0).all()
    assert np.unique(latent.y).size == latent.n_docs


def test_equal_seeds_give_equal_data_and_others_do_not():
    first, again, other = (make_web_like(40, None, 30, random_state=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.y, again.y)
    assert first.n_docs != other.n_docs
    generator = np.random.default_rng(1)
    np.testing.assert_array_equal(make_web_like(40, None, 30, random_state=generator).X, first.X)
    assert not np.array_equal(make_web_like(40, 10, 3, random_state=generator).X, make_web_like(40, 10, 3).X)


def test_precision_changes_the_type_and_nothing_else():
    single, double = (make_web_like(20, 10, 20, dtype=kind) for kind in (np.float32, np.float64))
    assert (single.X.dtype, double.X.dtype) == (np.float32, np.float64)
    np.testing.assert_array_equal(single.X, double.X)


def test_data_do_not_depend_on_the_number_of_threads():
    code = (
        "import hashlib; from plackett.data.datasets.synthetic import make_web_like; "
        "print(hashlib.sha256(make_web_like(300, None, 40).X.tobytes()).hexdigest())"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in ("1", "2")
    }
    assert len(answers) == 1


def test_chunks_leave_no_seam():
    """More rows than are drawn at once: no row stays empty and all keep their shares."""
    queries = make_web_like(3, 20_000, 3, random_state=0)
    assert queries.n_docs == 60_000
    for query in queries:
        assert (query.X[:, 0] > 0).mean() > 0.3
        assert set(np.unique(query.y)) <= {0, 1, 2, 3, 4}


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"n_queries": 0}, "n_queries=0; it must be a whole number of at least 1"),
        ({"docs_per_query": 2.5}, r"docs_per_query=2\.5"),
        ({"n_features": -1}, "n_features=-1"),
        ({"noise": -1}, "noise=-1; it must be at least 0"),
        ({"dtype": np.int64}, "dtype='int64' is not known; choose one of 'float32', 'float64'"),
    ],
)
def test_wrong_arguments_of_web_like_lists_are_named(wrong, match):
    with pytest.raises(ValueError, match=match):
        make_web_like(**wrong)
