"""``plackett reproduce``: a paper's tables beside what comes out here."""

import json

import pytest


@pytest.fixture(autouse=True)
def _without_data(monkeypatch):
    monkeypatch.delenv("PLACKETT_DATA", raising=False)


def test_tables_come_as_text_and_progress_on_standard_error(run):
    done = run("reproduce", "p-listmle", "--quick", "--only", "worked")
    assert done.returncode == 0
    assert "\nThe worked example (section 3.1)\n" in done.stdout
    words = ["ListMLE", "prefers", "the", "first", "first", "first", "confirmed"]
    assert words in [line.split() for line in done.stdout.splitlines()]
    assert done.stdout.splitlines()[-1] == "7 rows: 4 confirmed, 1 not confirmed, 2 not comparable"
    assert "about 1 s on two cores" in done.stderr
    assert "The worked example (section 3.1) (1 of 1)" in done.stderr


def test_json_holds_every_row(run):
    done = run("reproduce", "p-listmle", "--quick", "--only", "worked", "--json")
    answer = json.loads(done.stdout)
    assert answer["paper"] == "p-listmle"
    assert [row["verdict"] for row in answer["tables"][0]["rows"]].count("confirmed") == 4


def test_without_any_data_the_error_says_what_is_needed(run):
    done = run("reproduce", "p-listmle", "--quick", "--only", "Figure 1")
    assert (done.returncode, done.stdout) == (1, "")
    message, hint = done.stderr.splitlines()
    assert message == "plackett: error: this needs one of mq2007-list, mq2008-list, mq2008-agg."
    assert hint == "  hint: give --data FOLDER or set PLACKETT_DATA to the folder of the data sets."


def test_the_list_runs_nothing(run):
    done = run("reproduce", "p-listmle", "--list")
    assert done.returncode == 0
    assert "mq2008-list; or mq2008-agg" in done.stdout
    assert done.stderr == ""


def test_simulations_resume_and_say_how_long_the_others_take(run, tmp_path):
    words = ("reproduce", "qsvm", "--quick", "--only", "Figure 1", "--folder", str(tmp_path / "runs"))
    first, again = run(*words), run(*words, "--hours", "1")
    assert first.returncode == again.returncode == 0
    assert "3 of 6 replications are done; extrapolated from the first of each setting, the others take" in first.stderr
    assert "extrapolated" not in again.stderr
    assert len(list((tmp_path / "runs").iterdir())) == 6
    rows = [[line for line in done.stdout.splitlines() if line.startswith("|")] for done in (first, again)]
    assert rows[0] == rows[1]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["p-listmel"], "Did you mean p-listmle?"),
        (["p-listmle", "--only", "Table 9"], "no title contains it"),
        (["p-listmle", "--data", "train.txt"], "it must be a folder"),
        (["p-listmle", "--hours", "1"], "--hours and --folder are for simulations; p-listmle has none."),
        (["qsvm", "--hours", "0"], "--hours 0: it must be above 0."),
    ],
)
def test_wrong_usage(run, words, complaint):
    done = run("reproduce", *words)
    assert done.returncode == 2
    assert complaint in " ".join(done.stderr.replace("│", " ").split())
