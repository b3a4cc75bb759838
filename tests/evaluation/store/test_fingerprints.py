"""Any change of the data changes its fingerprint."""

import numpy as np
from scipy import sparse

import plackett as pk
from plackett.evaluation.store.keys import data_fingerprint


def lists(**changes):
    given = {
        "X": np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
        "y": np.array([0.0, 1.0, 2.0]),
        "qid": [1, 1, 2],
        "docid": ["a", "b", "c"],
        "feature_names": ["f", "g"],
    }
    return pk.Queries(**{**given, **changes})


def test_any_change_of_the_data_is_another_content():
    X = lists().X
    variants = {
        "the same": lists(),
        "a value": lists(X=np.where(X == 4.0, np.nextafter(4.0, 5.0), X)),
        "precision": lists(X=X.astype(np.float32)),
        "shape": lists(X=np.column_stack([X, X]), feature_names=None),
        "sparse": lists(X=sparse.csr_array(X)),
        "a label": lists(y=[0.0, 1.0, 1.0]),
        "no labels": lists(y=None),
        "an id": lists(qid=[1, 1, 3]),
        "its kind": lists(qid=["1", "1", "2"]),
        "bounds": lists(qid=[1, 2, 2]),
        "a document's name": lists(docid=["a", "b", "d"]),
        "a column's name": lists(feature_names=["f", "h"]),
    }
    contents = {name: data_fingerprint(queries) for name, queries in variants.items()}
    assert contents["the same"] == data_fingerprint(lists())
    assert len(set(contents.values())) == len(variants)


def test_ids_may_be_dates():
    days = np.array(["2024-02-28", "2024-02-28", "2024-02-29"], dtype="datetime64[D]")
    contents = {
        data_fingerprint(pk.Queries(np.eye(3), [0, 1, 0], days + np.timedelta64(shift, "D"))) for shift in (0, 0, 1)
    }
    assert len(contents) == 2
