"""The example on Cranfield: from text to a refined ranking."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import plackett as pk
from plackett.data.documents.collections import read_smart
from plackett.evaluation.simulated_feedback import relevance_feedback

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def load(name):
    found = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_on_cranfield_features_and_judgements_improve_bm25(shared_data):
    folder = shared_data / "ir-classic" / "cranfield"
    if not folder.is_dir():
        pytest.skip("Cranfield is not there")
    cranfield = load("cranfield")
    collection = read_smart("cranfield", folder)
    queries = cranfield.make_candidates(collection)
    assert queries.n_queries == 225
    assert np.diff(queries.indptr).max() == cranfield.N_CANDIDATES
    bm25 = queries.X[:, queries.feature_names.index("bm25_body")]
    for first, last in zip(queries.indptr[:-1], queries.indptr[1:], strict=True):
        assert np.all(np.diff(bm25[first:last]) <= 0)  # in the order of the run
    base = cranfield.measure(collection, queries, bm25)
    refined = relevance_feedback(queries, bm25, pk.MultiplicativeRefiner(), relevant_from=1, metrics="map").scores
    assert base.mean()["map"] > 0.35
    assert cranfield.measure(collection, queries, refined["refined"]).mean()["map"] > base.mean()["map"] + 0.08
