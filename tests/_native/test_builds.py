"""The two builds against each other: kernels agree to 1e-12, fits to 1e-6."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from plackett import _native

pytestmark = pytest.mark.skipif(not _native._module.runs_v3(), reason="this processor has no AVX2, so one build runs")

LOSSES = ["listmle", "p-listmle", "listnet", "rankcosine", "cs-listmle", "squared"]
PAIRWISE = ["hinge", "squared-hinge", "logistic", "exponential", "psi"]
RANKERS = [
    "listmle",
    "ranksvm",
    "ranknet",
    "featurerank",
    "bl-featurerank",
    "diffrank",
    "adarank",
    "rankboost",
    "svm-map",
]

CODE = f"""
import json
import numpy as np
import plackett as pk
data = pk.datasets.make_web_like(40, n_features=9, random_state=5)
scores = np.random.default_rng(0).normal(size=data.n_docs)
kernels = {{}}
for name in {LOSSES + PAIRWISE}:
    value, slope = pk.losses.get_loss(name).value_and_slope(scores, data)
    kernels[name] = [value, *slope]
measures = ["ndcg@10", "map", "err@10", "rr", "kendall", "p@5"]
table = pk.evaluate(data.y, scores, qid=data.qid, metrics=measures)
kernels["measures"] = [table.mean()[name] for name in measures]
fits = {{}}
for name in {RANKERS}:
    ranker = pk.ranker(name)
    if "tol" in ranker.get_params():
        ranker.set_params(tol=1e-10)
    fits[name] = ranker.fit(data.X, data.y, qid=data.qid).predict(data.X, qid=data.qid).tolist()
print(json.dumps([kernels, fits]))
"""


@pytest.fixture(scope="module")
def answers():
    def of(build):
        result = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", CODE],
            env={**os.environ, "PLACKETT_NATIVE": build},
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)

    return of("baseline"), of("v3")


@pytest.mark.parametrize("name", [*LOSSES, *PAIRWISE, "measures"])
def test_kernels_agree(answers, name):
    baseline, v3 = (np.array(answer[0][name]) for answer in answers)
    np.testing.assert_allclose(v3, baseline, rtol=1e-12, atol=1e-12 * np.abs(baseline).max())


@pytest.mark.parametrize("name", RANKERS)
def test_fits_agree(answers, name):
    baseline, v3 = (np.array(answer[1][name]) for answer in answers)
    np.testing.assert_allclose(v3, baseline, rtol=1e-6, atol=1e-6 * np.abs(baseline).max())
