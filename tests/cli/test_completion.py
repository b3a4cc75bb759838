"""Shell completion: verbs, options, and the names of rankers, measures, conventions, data sets and papers."""

import subprocess
import sys

import pytest

from plackett.cli import main

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
        return capsys.readouterr().out.splitlines()

    return completed


def variables(words):
    return {"COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1), "_PLACKETT_COMPLETE": "complete_bash"}


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
    ],
)
def test_the_last_word_is_completed(words, some, completed):
    assert set(some) <= set(completed(*words))


def test_a_name_that_is_in_the_list_is_not_offered_again(completed):
    assert "listmle,listmle" not in completed("plackett", "compare", "-r", "listmle,list")


def test_completion_imports_nothing_heavy():
    words = ["plackett", "compare", "-m", "n"]
    code = f"""
import os, sys
os.environ.update({variables(words)})
from plackett.cli import main
try: main()
finally: print([name for name in {HEAVY} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[0] == "ndcg"
    assert done.stdout.splitlines()[-1] == "[]"


def test_completion_can_be_installed(monkeypatch, capsys):
    shellingham = pytest.importorskip("shellingham", reason="typer asks it which shell runs")
    monkeypatch.setattr(shellingham, "detect_shell", lambda: ("bash", "/bin/bash"))  # tests may run in another one
    monkeypatch.setattr(sys, "argv", ["plackett", "--show-completion"])
    with pytest.raises(SystemExit):
        main()
    assert "_PLACKETT_COMPLETE=complete_bash" in capsys.readouterr().out
