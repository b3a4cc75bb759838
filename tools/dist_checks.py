"""Check a wheel in clean environments: minimal, each extra alone, the oldest and the newest dependencies.

The size of each environment is printed, without pip: of plackett itself, of all packages, and what an extra adds.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DATA = """
import numpy as np, plackett as pk
data = pk.datasets.make_web_like(20, n_features=6, random_state=0)
"""
MINIMAL = """
import shutil
import plackett as pk
from plackett import _native
assert not any(map(shutil.which, ("c++", "g++", "clang++", "cc"))), "a compiler is on the path"
data = pk.datasets.make_web_like(30, n_features=8, random_state=0)
ranker = pk.LinearRanker().fit(data.X, data.y, qid=data.qid)
scores = ranker.predict(data.X, qid=data.qid)
ndcg = pk.evaluate(data.y, scores, qid=data.qid, metrics=["ndcg@10"]).mean()["ndcg@10"]
assert 0.3 < ndcg <= 1.0, ndcg
print(f"build {_native.build}, NDCG@10 of a small fit {ndcg:.3f}")
"""
# a use of each extra, with nothing else installed
EXTRAS = {
    "report": "pk.write_report(pk.compare('listmle,regression', data, cv=2), 'report.html')",
    "tables": "pk.write_parquet(data, 'data.parquet'); assert len(pk.read_parquet('data.parquet')) == len(data)",
    "remote": "pk.write_letor(data, 'memory://data.txt'); assert len(pk.read_letor('memory://data.txt')) == len(data)",
    "zstd": "pk.write_letor(data, 'data.txt.zst'); assert len(pk.read_letor('data.txt.zst')) == len(data)",
    "trec": "import ir_measures",
    "text": "from plackett.text import Analyser; assert Analyser(stemmer='english')('wings') == ['wing']",
    "tune": "pk.select('listmle', data, grid={'l2': [1.0, 0.1]}, cv=2, method='optuna', n_trials=2)",
    "onnx": "pk.export(pk.LinearRanker().fit(data), 'onnx', 'model.onnx', check=data)",
    "web": "import plackett.apps.workbench.app, plackett.apps.serve.service",
    "postgres": "import psycopg",
    "trees": "pk.ranker('lightgbm').fit(data).predict(data)",
    "neural": "pk.NeuralRanker(n_epochs=2).fit(data).predict(data)",
    "dask": "import dask.distributed, plackett.distributed",
}
# quick tests of all parts that use other packages
TESTS = (
    "tests/metrics",
    "tests/losses/test_base.py",
    "tests/data/tables",
    "tests/cli/test_cli.py",
    "tests/cli/test_help.py",
    "tests/rankers/linear",
    "tests/evaluation/test_evaluate.py",
    "tests/text",
    "tests/rankers/trees",
    "tests/exporting/test_targets.py",
    "tests/distributed/test_partitions.py",
    "tests/report/test_html.py",
    "tests/apps/serve/test_rank.py",
    "tests/apps/workbench/http/test_routes.py",
    "tests/apps/workbench/store/test_store.py",
)
TOOLS = ("pytest", "pytest-xdist", "pytest-timeout", "hypothesis", "httpx", "pandas", "polars")
SET = tuple(extra for extra in EXTRAS if extra != "neural")  # of the oldest and the newest set; torch is too large

OWN_LIMIT = 15  # MB of plackett itself in an installation

Make = Callable[..., Path]  # makes an environment: its name, the packages, and more words for pip


def oldest() -> list[str]:
    """Return every direct dependency of the core and the extras at its lower bound."""
    texts = [*PROJECT["dependencies"], *(text for extra in SET for text in PROJECT["optional-dependencies"][extra])]
    found = {}
    for requirement in map(Requirement, texts):
        (bound,) = requirement.specifier
        found[requirement.name] = f"{requirement.name}=={bound.version}"
    return sorted(found.values())


def check_minimal(make: Make, wheel: Path, version: str) -> float:
    """Return the size of the installation without extras, in MB."""
    trial = make("minimal", str(wheel))
    own, total = _megabytes(trial, "plackett*"), _megabytes(trial)
    print(f"  {version}, minimal: plackett {own:.1f} MB, {total:.0f} MB with its dependencies")
    assert own <= OWN_LIMIT, f"plackett itself takes {own:.1f} MB, allowed are {OWN_LIMIT}"
    said = _run(trial, "-c", MINIMAL, PATH=str(trial.parent))
    print(f"  {version}, minimal, no compiler: {said}")
    print(f"  {version}, minimal: {_run(trial, str(ROOT / 'tools' / 'first_example.py'))}")
    return total


def check_extras(make: Make, wheel: Path, version: str, minimal: float) -> None:
    missing = set(PROJECT["optional-dependencies"]) - set(EXTRAS) - {"all", "peers", "test", "check", "docs"}
    assert not missing, f"no check of the extras {missing}"
    for extra, code in EXTRAS.items():
        trial = make(extra, str(wheel))
        if extra == "neural":  # pip alone would fetch the build for CUDA, of several GB
            _run(trial, str(ROOT / "tools" / "torch_cpu.py"))
            if not _has(trial, "torch"):
                print(f"  {version}, [{extra}]: skipped, no CPU build of torch was found")
                continue
        _run(trial, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"{wheel}[{extra}]")
        added = _megabytes(trial) - minimal
        with tempfile.TemporaryDirectory() as folder:
            _run(trial, "-c", DATA + code, cwd=folder)
        print(f"  {version}, [{extra}] alone: works, adds {added:.0f} MB")


def check_sets(make: Make, wheel: Path, version: str, *, with_oldest: bool) -> None:
    """Run some of the tests with the newest dependencies, and with the oldest ones where they have wheels."""
    extras = ",".join(SET)
    for name, pins in [("newest", []), *([("oldest", oldest())] if with_oldest else [])]:
        trial = make(name, f"{wheel}[{extras}]", *pins, *TOOLS)
        # other versions warn of other things
        said = _run(trial, "-m", "pytest", "-q", "-n", "2", "-W", "default", "-p", "no:cacheprovider", *TESTS)
        print(f"  {version}, {name} dependencies: {said.splitlines()[-1].strip('= ')}")


def _megabytes(python: Path, pattern: str = "*") -> float:
    """Return the size of the installed packages that match, without pip and files that are made by running them."""
    (site,) = python.parents[1].glob("lib/python*/site-packages")
    files = (file for folder in site.glob(pattern) for file in ([folder] if folder.is_file() else folder.rglob("*")))
    kept = (file for file in files if file.is_file() and file.suffix != ".pyc")
    return sum(file.stat().st_size for file in kept if file.relative_to(site).parts[0].split("-")[0] != "pip") / 1e6


def _has(python: Path, module: str) -> bool:
    return subprocess.run([str(python), "-c", f"import {module}"], capture_output=True, check=False).returncode == 0


def _run(python: Path, *words: str, cwd: Path | str = ROOT, **environment: str) -> str:
    done = subprocess.run(
        [str(python), *words], cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"failed: {python} {' '.join(words)[:200]}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout.strip()
