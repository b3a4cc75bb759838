"""Importing is fast and loads little, and the public names exist."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import plackett

HEAVY = ["numba", "sklearn", "pandas", "matplotlib", "scipy", "pydantic", "rich", "sqlalchemy", "joblib", "skops"]
DATA = "X, y, qid = np.arange(12.0).reshape(6, 2), [2, 0, 1, 0, 1, 0], [1, 1, 1, 2, 2, 2]"
WITHOUT_SKLEARN = {
    "measures": "pk.metrics.ndcg(y, X[:, 0], qid=qid, k=2); pk.metrics.kendall(y, X[:, 0], qid=qid)",
    "evaluate": "print(pk.evaluate(y, X[:, 0], qid=qid, metrics='ndcg@10,map,err@10'))",
    "every convention": "pk.evaluation.evaluate_every_convention(y, X[:, 0], qid=qid, docid=[*'abcdef'])",
    "files": (
        "pk.write_letor(pk.Queries(X, y, qid), sys.argv[1]); pk.evaluate(sys.argv[1], X[:, 0], reference_scores=True)"
    ),
    "made lists": "print(pk.datasets.make_web_like(5, 4, random_state=0).describe())",
}


def run(code, *words):
    command = [sys.executable, "-c", code, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def loaded(code, heavy, *words):
    """Return which of the packages a process has imported after it ran the code, which may exit."""
    code = f"import sys\ntry:\n    {code}\nexcept SystemExit: pass\nprint([m for m in {heavy} if m in sys.modules])"
    return run(code, *words).splitlines()[-1]


def test_importing_loads_nothing_heavy():
    assert loaded("import plackett", [*HEAVY, "numpy"]) == "[]"


def test_asking_the_command_for_help_loads_nothing_heavy():
    heavy = [name for name in HEAVY if name != "rich"]  # of the help
    assert loaded("from plackett.cli import main; main()", heavy, "--help") == "[]"


@pytest.mark.parametrize("code", WITHOUT_SKLEARN.values(), ids=WITHOUT_SKLEARN)
def test_reading_and_measuring_load_nothing_heavy(code, tmp_path):
    assert loaded(f"import numpy as np, plackett as pk; {DATA}; {code}", HEAVY, tmp_path / "a.txt") == "[]"


@pytest.mark.parametrize("verb", ["info", "evaluate"])
def test_commands_that_need_no_ranker_load_nothing_heavy(verb, tmp_path):
    data, scores = tmp_path / "a.txt", tmp_path / "scores.txt"
    data.write_text("2 qid:1 1:1 2:0\n0 qid:1 1:0 2:1\n")
    scores.write_text("1\n2\n")
    words = [data] if verb == "info" else [data, scores, "--reference-scores"]
    assert loaded("from plackett.cli import main; main()", HEAVY, verb, *words) == "[]"


# modules of plackett that a verb loads, at most
MODULES = {"info": 60, "train": 165, "evaluate": 110, "rank": 150}


@pytest.mark.parametrize("verb", MODULES)
def test_a_verb_loads_the_modules_that_it_uses(verb, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("lists.txt").write_text("2 qid:1 1:1 2:0\n0 qid:1 1:0 2:1\n")
    Path("scores.txt").write_text("1\n2\n")
    words = {
        "info": ["lists.txt"],
        "train": ["lists.txt", "-o", "model", "-q"],
        "evaluate": ["lists.txt", "scores.txt"],
        "rank": ["model", "lists.txt"],
    }
    if verb == "rank":
        plackett.LinearRanker().fit([[1.0, 0.0], [0.0, 1.0]], [2, 0]).save("model")
    code = """
import sys
from plackett.cli import main
try: main()
except SystemExit: pass
print(*(name for name in sys.modules if name.startswith("plackett.")))
"""
    modules = run(code, verb, *words[verb]).splitlines()[-1].split()
    assert len(modules) <= MODULES[verb]
    assert not {name.split(".")[1] for name in modules} & {"apps", "clicks", "explain", "exporting", "report", "text"}


def test_a_linear_ranker_loads_no_more_of_scikit_learn_than_its_base(tmp_path):
    use = f"""
import sys, sklearn.base
before = set(sys.modules)
import numpy as np, plackett as pk
{DATA}
pk.LinearRanker().fit(X, y, qid=qid).save(sys.argv[1])
pk.load(sys.argv[1]).predict(X)
print(sorted(name for name in set(sys.modules) - before if not name.startswith("plackett")))
print(sorted(name for name in sys.modules if name.startswith("plackett.rankers.")))
"""
    others, rankers = map(ast.literal_eval, run(use, tmp_path / "model").splitlines())
    packages = {name.partition(".")[0] for name in others} - set(sys.stdlib_module_names)
    assert not packages & {*HEAVY, "lightgbm", "torch", "narwhals"}
    assert not {f"plackett.rankers.{name}" for name in ("kernel", "neural", "trees", "query_dependent")} & set(rankers)


@pytest.mark.parametrize("name", plackett.__all__)
def test_every_public_name_can_be_had(name):
    assert getattr(plackett, name) is not None
    assert name in dir(plackett)


def test_the_names_of_the_contract_are_public():
    names = ["Queries", "read_letor", "write_letor", "read_trec_run", "read_qrels", "write_trec_run", "datasets"]
    assert set(names) | {"metrics", "evaluate"} <= set(plackett.__all__)
    metrics = (
        "ndcg dcg precision recall average_precision reciprocal_rank err kendall mre persistence exact sharp_ndcg wpd"
    )
    assert set(metrics.split()) <= set(plackett.metrics.__all__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'rank_everything'"):
        plackett.rank_everything  # noqa: B018


def test_the_version_is_that_of_the_package():
    from importlib.metadata import version

    assert version("plackett") == plackett.__version__


def test_no_module_of_the_package_names_numba_in_an_import():
    sources = Path(plackett.__file__).parent.rglob("*.py")
    found = [
        path
        for path in sources
        if re.search(r"^\s*(import|from) (numba|llvmlite)\b", path.read_text(encoding="utf-8"), re.M)
    ]
    assert found == []
