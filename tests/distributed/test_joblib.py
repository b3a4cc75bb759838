"""Work that joblib divides runs on a Dask cluster by ``parallel_config``, with the same results."""

import contextlib
import logging

import joblib
import numpy as np
import pytest

import plackett as pk

distributed = pytest.importorskip("distributed", reason="joblib's Dask backend needs dask[distributed]")

DATA = pk.datasets.make_web_like(24, n_features=5, random_state=0)


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=False,
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster) as connected,
    ):
        yield connected


@contextlib.contextmanager
def on_dask(client):
    """joblib's work goes to the cluster, and at least some of it arrives there."""
    before = n_tasks(client)
    with joblib.parallel_config(backend="dask"):
        yield
    assert n_tasks(client) > before


def n_tasks(client):
    return client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.transition_counter)


def test_cross_validate(client):
    def validate():
        return pk.cross_validate(pk.LinearRanker(normalize="query-zscore"), DATA, cv=3)

    expected = validate()
    with on_dask(client):
        found = validate()
    assert found.mean() == expected.mean()
    np.testing.assert_array_equal(found.scores, expected.scores)


def test_compare(client):
    def compare():
        rankers = {"linear": pk.LinearRanker(), "features": pk.FeatureRank()}
        return pk.compare(rankers, DATA, cv=3)

    expected = compare()
    with on_dask(client):
        found = compare()
    assert found.mean() == expected.mean()


@pytest.mark.parametrize("name", ["qsvm", "knn-svm"])
def test_query_dependent_rankers(client, name):
    expected = pk.ranker(name).fit(DATA)
    with on_dask(client):
        found = pk.ranker(name).fit(DATA)
        scores = found.predict(DATA)
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    np.testing.assert_array_equal(scores, expected.predict(DATA))


@pytest.mark.parametrize(
    "refiner", [pk.MultiplicativeRefiner(), pk.LinearRefiner(), pk.RocchioRefiner()], ids=lambda one: type(one).__name__
)
def test_refiners(client, refiner):
    """Lists of different users, refined apart from each other."""
    judged = np.where(np.random.default_rng(0).random(DATA.n_docs) < 0.4, DATA.y, np.nan)
    lists = [pk.Queries(DATA.X, judged, DATA.qid)[first : first + 6] for first in range(0, 24, 6)]
    expected = [refine(refiner, one) for one in lists]
    with on_dask(client):
        found = joblib.Parallel()(joblib.delayed(refine)(refiner, one) for one in lists)
    for scores, known in zip(found, expected, strict=True):
        np.testing.assert_array_equal(scores, known)


def refine(refiner, queries):
    return refiner.fit(queries.X, queries.y, qid=queries.qid, base_score=queries.X[:, 0]).predict(
        queries.X, qid=queries.qid, base_score=queries.X[:, 0]
    )
