"""What importing costs, and that the public names are there."""

import subprocess
import sys

import pytest

import plackett

HEAVY = ["numba", "sklearn", "pandas", "matplotlib", "scipy", "pydantic", "rich", "sqlalchemy"]


def run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


def test_importing_loads_nothing_heavy():
    loaded = run(f"import sys, plackett; print([name for name in {HEAVY} if name in sys.modules])")
    assert loaded.strip() == "[]"


def test_asking_the_command_for_help_loads_nothing_heavy():
    code = (
        "import sys; sys.argv = ['plackett', '--help']\n"
        "from plackett.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = ['numba', 'sklearn', 'pandas', 'matplotlib', 'scipy', 'sqlalchemy']\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    assert run(code).splitlines()[-1] == "[]"


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
