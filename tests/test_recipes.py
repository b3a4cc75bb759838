"""Spark and MLflow as docs/scale.md shows them; no other test needs pyspark[sql], Java 17 or mlflow."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import plackett as pk

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "spark.py"
PAGE = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")


def test_the_page_shows_the_functions_of_the_example():
    section = PAGE[PAGE.index("\n### Spark\n") : PAGE.index("\n### MLflow\n")]
    shown = [
        line.strip()
        for block in re.findall(r"```(?:python|sql)\n(.*?)```", section, re.S)
        for line in block.splitlines()
    ]
    example = [line.partition("  #")[0].strip() for line in EXAMPLE.read_text(encoding="utf-8").splitlines()]
    assert len(shown) > 20
    assert set(shown) <= {*example}


def test_the_example_runs_on_two_threads(tmp_path):
    pytest.importorskip("pyspark", reason="the example needs pyspark: pip install 'pyspark[sql]'")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java 17, and there is no java")
    done = subprocess.run(
        [sys.executable, EXAMPLE], cwd=tmp_path, capture_output=True, text=True, timeout=500, check=False
    )
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(
        r"200 queries, ndcg@10 0\.\d+\npropensities \[1\.0, .*\] from ClickLog\(counts by rank, .*\)\n", done.stdout
    )


def test_a_saved_ranker_is_loaded_by_mlflow(tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("mlflow", reason="the example needs mlflow: pip install mlflow-skinny")
    block = re.search(r"```python\n(import mlflow.*?)```", PAGE, re.S)[1]
    data = pk.datasets.make_web_like(20, n_features=4, random_state=0)
    ranker = pk.LinearRanker().fit(data)
    ranker.save(tmp_path / "model.plackett")
    rows = data.to_frame()
    rows[rows.columns[-4:]].to_pickle(tmp_path / "rows")
    score = "import pandas; pandas.Series(loaded.predict(pandas.read_pickle('rows'))).to_pickle('scores')"
    code = f"{block}\n{score}"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(pd.read_pickle(tmp_path / "scores"), ranker.predict(data))
