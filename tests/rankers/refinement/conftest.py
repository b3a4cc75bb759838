"""Lists with names and the judgements of three documents each."""

import numpy as np
import pytest

import plackett as pk


@pytest.fixture(scope="module")
def data():
    made = pk.datasets.make_web_like(6, n_features=5, random_state=0)
    names = [f"d{place}" for place in range(made.n_docs)]
    return pk.Queries(made.X, made.y, made.qid, docid=names, feature_names=["bm25", "title", "url", "age", "rank"])


@pytest.fixture(scope="module")
def feedback(data):
    """Each query's first three documents are judged."""
    places = np.arange(data.n_docs) - np.repeat(data.indptr[:-1], np.diff(data.indptr))
    return np.where(places < 3, data.y, np.nan)
