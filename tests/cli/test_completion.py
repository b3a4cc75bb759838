"""Shell completion: verbs, options, and the names of rankers, measures, conventions, data sets and papers."""

import subprocess
import sys

import pytest

from plackett.cli import export, main
from plackett.cli.shared import completion, options
from plackett.data.preprocessing.scaling import NAMES
from plackett.exporting.targets import TARGETS

HEAVY = ("sklearn", "scipy", "pandas", "matplotlib")


@pytest.fixture
def completed(tmp_path, monkeypatch, capsys):
    """Return what bash is offered for the last of the words."""
    (tmp_path / "train.txt").touch()

    def completed(*words):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["plackett"])
        for name, value in variables(words).items():
            monkeypatch.setenv(name, value)
        with pytest.raises(SystemExit):
            main()
        return [line.removeprefix("plain,") for line in capsys.readouterr().out.splitlines()]

    return completed


def variables(words):
    return {"COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1), "_PLACKETT_COMPLETE": "bash_complete"}


@pytest.mark.parametrize(
    ("words", "some"),
    [
        (["plackett", "comp"], ["compare"]),
        (["plackett", "compare", "--rep"], ["--report"]),
        (["plackett", "train", "-r", "listm"], ["listmle"]),
        (["plackett", "compare", "-r", "listmle,ranks"], ["listmle,ranksvm"]),
        (["plackett", "compare", "-m", "ndcg@10,er"], ["ndcg@10,err", "ndcg@10,err@10"]),
        (["plackett", "evaluate", "-c", "let"], ["letor3", "letor4"]),
        (["plackett", "compare", "mq2008"], ["mq2008", "mq2008-list", "mq2008-agg"]),
        (["plackett", "info", "tra"], ["train.txt"]),
        (["plackett", "reproduce", "q"], ["qsvm"]),
        (["plackett", "export", "--to", "so"], ["solr"]),
        (["plackett", "clicks", "co"], ["convert", "compare"]),
        (["plackett", "clicks", "judge", "tra"], ["train.txt"]),
        (["plackett", "clicks", "judge", "-m", "dbn,ub"], ["dbn,ubm"]),
        (["plackett", "clicks", "report", "--method", "har"], ["harvesting"]),
        (["plackett", "interleave", "simulate", "mq2008"], ["mq2008"]),
        (["plackett", "interleave", "simulate", "x", "-m", "opt"], ["optimised"]),
        (["plackett", "tune", "--method", "gr"], ["grid"]),
        (["plackett", "refine", "--method", "mrr,roc"], ["mrr,rocchio"]),
        (["plackett", "search", "x", "-r", "lm-d"], ["lm-dirichlet"]),
        (["plackett", "train", "--normalize", "query-m"], ["query-minmax"]),
        (["plackett", "train", "--loss", "listm"], ["listmle"]),
        (["plackett", "train", "-r", "adarank", "--metric", "nd"], ["ndcg@10"]),
        (["plackett", "index", "c"], ["cranfield", "cisi", "cacm"]),
    ],
)
def test_the_last_word_is_completed(words, some, completed):
    assert set(some) <= set(completed(*words))


def test_names_that_are_slow_to_import_are_those_of_the_library():
    assert set(export.TARGETS) == {name for targets in TARGETS.values() for name in targets}
    assert set(options.NORMALIZERS) == set(NAMES)


def test_text_collections_are_not_offered_as_judged_lists(completed):
    assert not {"cacm", "cisi"} & set(completed("plackett", "train", "c"))


def test_measures_have_a_description():
    texts = dict(completion.measures("ndcg"))
    assert texts["ndcg@10"].startswith("the normalised discounted cumulative gain")
    assert "persistence" not in dict(completion.measures("per"))  # it needs a cut-off


def test_a_name_that_is_in_the_list_is_not_offered_again(completed):
    assert "listmle,listmle" not in completed("plackett", "compare", "-r", "listmle,list")


@pytest.mark.parametrize(
    ("words", "first"),
    [
        (["plackett", "compare", "-m", "n"], "ndcg"),
        (["plackett", "export", "--to", "so"], "solr"),
        (["plackett", "clicks", "judge", "-m", "ub"], "ubm"),
        (["plackett", "train", "--normalize", "minm"], "minmax"),
    ],
)
def test_completion_imports_nothing_heavy(words, first):
    code = f"""
import os, sys
os.environ.update({variables(words)})
from plackett.cli import main
try: main()
finally: print([name for name in {HEAVY} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[0] == f"plain,{first}"
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("shell", completion.STARTS)
def test_completion_can_be_installed_and_is_installed_once(shell, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", f"/bin/{shell}")
    monkeypatch.setattr(sys, "argv", ["plackett", "--install-completion"])
    for _ in range(2):
        with pytest.raises(SystemExit) as end:
            main()
        assert end.value.code == 0
    path = tmp_path / completion.STARTS[shell]
    assert path.read_text(encoding="utf-8").count(f"_PLACKETT_COMPLETE={shell}_source plackett") == 1
    assert str(path) in capsys.readouterr().out
