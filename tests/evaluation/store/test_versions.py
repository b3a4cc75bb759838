"""Versions of the code that results depend on."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import plackett as pk
from plackett import _native
from plackett.data.preprocessing import QueryZScore
from plackett.evaluation.store import versions as packages
from plackett.evaluation.store.fingerprints import key_fingerprint
from plackett.evaluation.store.identity import identity_of
from plackett.evaluation.store.versions import code_versions


def test_the_versions_of_what_results_rest_on_are_part_of_the_code():
    code = code_versions(pk.LinearRanker())
    assert code["plackett"].startswith(pk.__version__)
    assert {"numpy", "scipy", "scikit-learn", "native", "python"} < code.keys()
    assert code["numpy"] == np.__version__
    assert code["native"].startswith(f"{_native.build} ")


def test_results_of_another_build_of_the_kernels_are_not_taken(monkeypatch, tmp_path):
    keys = set()
    for name, content in (("baseline", b"a"), ("v3", b"a"), ("v3", b"b")):
        file = tmp_path / "kernels"
        file.write_bytes(content)
        monkeypatch.setattr(_native, "build", name)
        monkeypatch.setattr(_native, "path", str(file))
        packages._native_digest.cache_clear()
        keys.add(key_fingerprint(code_versions(pk.LinearRanker())))
    packages._native_digest.cache_clear()
    assert len(keys) == 3


def test_estimators_of_others_are_known_by_class_parameters_and_version(monkeypatch):
    lightgbm = pytest.importorskip("lightgbm")

    def pipeline(**changes):
        steps = make_pipeline(FunctionTransformer(np.log1p), QueryZScore(), lightgbm.LGBMRanker(n_estimators=3))
        return steps.set_params(**changes)

    def key(estimator):
        return key_fingerprint({"estimator": identity_of(estimator)})

    with config_context(enable_metadata_routing=True):
        unasked = QueryZScore().set_fit_request(qid=False)
    keys = [
        key(pipeline()),
        key(pipeline(lgbmranker__n_estimators=4)),
        key(pipeline(lgbmranker__lambda_l2=1.0)),
        key(pipeline(functiontransformer__func=np.sqrt)),
        key(pipeline(queryzscore=pk.preprocessing.QueryMinMax())),
        key(pipeline(queryzscore=unasked)),
        key(pipeline()[-1]),
    ]
    assert len(set(keys)) == len(keys)
    assert key(pipeline()) == keys[0]
    code = code_versions(pipeline())
    assert code["lightgbm"] == lightgbm.__version__
    assert "sklearn" not in code, "which is there as scikit-learn"
    packages.build_of.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(packages, "version_of", lambda package: "another")
        assert key(pipeline()) not in keys
    packages.build_of.cache_clear()
    assert key(pipeline()) == keys[0]
