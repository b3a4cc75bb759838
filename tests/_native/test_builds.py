"""The two builds agree: kernels to 1e-12, fits to 1e-6."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from plackett import _native

pytestmark = pytest.mark.skipif(
    len(_native.runnable) < 2, reason="one build is compiled here: make builds compares two"
)

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
    "prank",
    "qsvm",
]
REFINERS = ["MultiplicativeRefiner", "LinearRefiner"]
OTHERS = ["measures", "letor", "query-minmax", "query-zscore", "query-rank", "search", "significance"]

CODE = f"""
import io
import json
import numpy as np
import plackett as pk
from plackett.data.preprocessing.scaling import get_normalizer
from plackett.evaluation.significance import randomisation
from plackett.text import build_index
rng = np.random.default_rng(1)
data = pk.datasets.make_web_like(40, n_features=9, random_state=5)
scores = np.random.default_rng(0).normal(size=data.n_docs)
kernels = {{}}
for name in {LOSSES + PAIRWISE}:
    value, slope = pk.losses.get_loss(name).value_and_slope(scores, data)
    kernels[name] = [value, *slope]
measures = ["ndcg@10", "map", "err@10", "rr", "kendall", "p@5"]
table = pk.evaluate(data.y, scores, qid=data.qid, metrics=measures)
kernels["measures"] = [table.mean()[name] for name in measures]
text = io.StringIO()
pk.write_letor(data, text)
kernels["letor"] = [ord(letter) for letter in text.getvalue()]  # the same text from both builds
for name in ("query-minmax", "query-zscore", "query-rank"):
    kernels[name] = get_normalizer(name).fit_transform(data.X, qid=data.qid).ravel().tolist()
words = ["wing", "flow", "heat", "shock", "plate", "body"]
texts = [" ".join(rng.choice(words, 30)) for _ in range(200)]
kernels["search"] = build_index(texts).search("wing shock", k=50).scores.tolist()
kernels["significance"] = [randomisation(scores[:40], scores[40:80])]
fits = {{}}
for name in {RANKERS}:
    ranker = pk.ranker(name)
    if "tol" in ranker.get_params():
        ranker.set_params(tol=1e-10)
    if "random_state" in ranker.get_params():
        ranker.set_params(random_state=0)
    fits[name] = ranker.fit(data.X, data.y, qid=data.qid).predict(data.X, qid=data.qid).tolist()
X, base = data.X[:200], scores[:200]
labels = np.where(np.arange(200) % 20 == 0, data.y[:200], np.nan)
for name in {REFINERS}:
    fits[name] = getattr(pk, name)().fit(X, labels, base_score=base).predict(X, base_score=base).tolist()
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


@pytest.mark.parametrize("name", [*LOSSES, *PAIRWISE, *OTHERS])
def test_kernels_agree(answers, name):
    baseline, v3 = (np.array(answer[0][name]) for answer in answers)
    np.testing.assert_allclose(v3, baseline, rtol=1e-12, atol=1e-12 * np.abs(baseline).max())


@pytest.mark.parametrize("name", [*RANKERS, *REFINERS])
def test_fits_agree(answers, name):
    baseline, v3 = (np.array(answer[1][name]) for answer in answers)
    np.testing.assert_allclose(v3, baseline, rtol=1e-6, atol=1e-6 * np.abs(baseline).max())
