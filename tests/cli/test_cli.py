"""The command as a user types it: results on standard output, the rest on standard error, exit codes."""

import csv
import io
import json
import os
import re
import subprocess
import sys

import pytest

LETOR = """\
2 qid:10 1:0.1 2:5 #docid = a
0 qid:10 1:0.4 2:5 #docid = b
1 qid:10 1:0.2 2:5 #docid = c
0 qid:11 1:0.9 2:5 #docid = d
1 qid:11 1:0.3 2:5 #docid = e
"""
SCORES = "0.9\n0.4\n0.1\n0.7\n0.2\n"
QRELS = "10 0 a 2\n10 0 b 0\n10 0 c 1\n11 0 d 0\n11 0 e 1\n12 0 f 1\n"
RUN = "10 Q0 a 1 0.9 x\n10 Q0 b 2 0.4 x\n10 Q0 c 3 0.1 x\n11 Q0 d 1 0.7 x\n11 Q0 e 2 0.2 x\n"


@pytest.fixture
def folder(tmp_path):
    for name, text in {"data.txt": LETOR, "scores.txt": SCORES, "qrels.txt": QRELS, "run.txt": RUN}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def plackett(folder, *words, stdin=None):
    command = [sys.executable, "-c", "from plackett.cli import main; main()", *words]
    return subprocess.run(command, cwd=folder, input=stdin, capture_output=True, text=True, timeout=300)


def test_info_describes_a_file(folder):
    done = plackett(folder, "info", "data.txt")
    assert done.returncode == 0
    lines = dict(line.split("  ", 1) for line in done.stdout.splitlines())
    facts = {heading: value.strip() for heading, value in lines.items()}
    assert facts["queries"] == "2"
    assert facts["documents"] == "5"
    assert facts["labels"] == "0: 2, 1: 2, 2: 1"
    assert facts["documents per query"] == "2 to 3, median 2.5, mean 2.5"
    assert facts["constant columns"] == "1: feature 2"


def test_info_in_json_has_plain_values(folder):
    facts = json.loads(plackett(folder, "info", "data.txt", "--json").stdout)
    assert (facts["n_queries"], facts["n_docs"], facts["n_features"]) == (2, 5, 2)
    assert facts["label_histogram"] == {"0": 2, "1": 2, "2": 1}
    assert facts["constant_columns"] == [2]  # its number in the file


def test_info_reads_standard_input(folder):
    assert "documents" in plackett(folder, "info", "-", stdin=LETOR).stdout


def test_evaluate_prints_a_table_on_stdout_and_notes_on_stderr(folder):
    done = plackett(folder, "evaluate", "data.txt", "scores.txt", "-m", "ndcg@10,map")
    assert done.returncode == 0
    heading, values = done.stdout.splitlines()
    assert heading.split() == ["standard", "ndcg@10", "map"]
    assert values.split() == ["mean", "0.7974", "0.6667"]  # as in the docstring of evaluate, by hand
    assert "2 queries" in done.stderr


def test_evaluate_in_json_and_csv(folder):
    plain = json.loads(plackett(folder, "evaluate", "data.txt", "scores.txt", "--json", "--per-query").stdout)
    assert plain["convention"] == "standard"
    assert [row["qid"] for row in plain["queries"]] == [10, 11]
    table = plackett(folder, "evaluate", "data.txt", "scores.txt", "--csv").stdout
    assert [row["qid"] for row in csv.DictReader(io.StringIO(table))] == ["10", "11"]


@pytest.mark.parametrize("words", [[], ["--per-query"], ["--every-convention"]])
def test_measures_without_a_value_are_null_in_json(folder, words):
    (folder / "data.txt").write_text("0 qid:1 1:1\n0 qid:1 1:2\n")
    (folder / "scores.txt").write_text("1\n2\n")
    done = plackett(folder, "evaluate", "data.txt", "scores.txt", "-m", "map", "-c", "gdeval", "--json", *words)
    plain = json.loads(done.stdout, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert plain.get("gdeval", plain)["mean"] == {"map": None}


@pytest.mark.parametrize("name", ["é", "\udcff"])
def test_json_escapes_what_the_terminal_cannot_show(folder, name):
    (folder / "qrels.txt").write_bytes(f"{name} 0 a 1\n".encode("utf-8", "surrogateescape"))
    (folder / "run.txt").write_bytes(f"{name} Q0 a 1 1.0 x\n".encode("utf-8", "surrogateescape"))
    code = "import sys; sys.stdout.reconfigure(encoding='ascii'); from plackett.cli import main; main()"
    command = [sys.executable, "-c", code, "evaluate", "qrels.txt", "run.txt", "--json", "-q"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert [row["qid"] for row in json.loads(done.stdout)["queries"]] == [name]


def test_evaluate_per_query_with_floors(folder):
    done = plackett(folder, "evaluate", "data.txt", "scores.txt", "-q", "--reference-scores", "-m", "map")
    names = [line.split("  ")[0] for line in done.stdout.splitlines()]
    assert names == ["standard", "10", "11", "mean", "random order", "best feature"]
    assert "best feature by map: feature 1 (ascending)" in done.stderr


def test_evaluate_takes_measures_with_commas_inside(folder):
    done = plackett(
        folder, "evaluate", "data.txt", "scores.txt", "-m", "ndcg@3(gain=linear, ties=average)", "-m", "p@2"
    )
    assert done.returncode == 0
    assert "ndcg@3(gain=linear, ties=average)" in done.stdout


def test_evaluate_reads_qrels_and_a_run(folder):
    done = plackett(folder, "evaluate", "qrels.txt", "run.txt", "-m", "map", "-c", "trec")
    assert done.stdout.split() == ["trec", "map", "mean", "0.6667"]
    assert "1 judged query is not answered by the run; it is left out" in done.stderr
    complete = plackett(folder, "evaluate", "qrels.txt", "run.txt", "-m", "map", "-c", "trec", "--complete")
    assert complete.stdout.split()[-1] == "0.4444"


def test_every_convention_side_by_side(folder):
    done = plackett(folder, "evaluate", "data.txt", "scores.txt", "--every-convention", "-m", "ndcg@10")
    names = [line.split()[0] for line in done.stdout.splitlines()]
    assert names == [
        "convention",
        "standard",
        "paper",
        "letor3",
        "letor4",
        "trec",
        "sklearn",
        "lightgbm",
        "xgboost",
        "gdeval",
        "ranx",
    ]
    plain = json.loads(plackett(folder, "evaluate", "data.txt", "scores.txt", "--every-convention", "--json").stdout)
    assert plain["letor4"]["mean"]["ndcg@10"] == 0


def test_every_convention_as_csv_keeps_all_digits_and_quotes_commas(folder):
    measure = "ndcg@10(gain=linear, ties=best)"
    done = plackett(folder, "evaluate", "data.txt", "scores.txt", "--every-convention", "--csv", "-m", measure)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert len(rows) == 10
    assert len(rows[0][measure]) > 10


def test_every_convention_shows_how_many_queries_count(folder):
    (folder / "data.txt").write_text(LETOR + "0 qid:12 1:0.5 #docid = z\n")
    (folder / "scores.txt").write_text(SCORES + "1\n")
    done = plackett(folder, "evaluate", "data.txt", "scores.txt", "--every-convention", "-m", "map")
    counted = {line.split()[0]: line.split()[-1] for line in done.stdout.splitlines()[1:]}
    assert counted["standard"] == "3"
    assert counted["gdeval"] == "2"


def test_warnings_are_one_line_without_a_source_path(folder):
    code = """
import warnings
from plackett.cli import main
from plackett.cli.shared import inputs
inputs.load_queries = lambda *arguments, **keywords: warnings.warn("odd")
main()
"""
    done = subprocess.run([sys.executable, "-c", code, "info", "data.txt"], cwd=folder, capture_output=True, text=True)
    assert done.stderr.splitlines()[0] == "plackett: warning: odd"


def test_markdown_and_latex(folder):
    assert plackett(folder, "evaluate", "data.txt", "scores.txt", "--markdown").stdout.startswith(
        "| standard | ndcg@10"
    )
    assert plackett(folder, "evaluate", "data.txt", "scores.txt", "--latex").stdout.startswith(r"\begin{tabular}")


def test_scores_follow_rows_that_are_grouped_on_reading(folder):
    rows, scores = LETOR.splitlines(), SCORES.splitlines()
    order = [3, 0, 4, 1, 2]
    (folder / "torn.txt").write_text("\n".join(rows[i] for i in order) + "\n")
    (folder / "torn-scores.txt").write_text("\n".join(scores[i] for i in order) + "\n")
    done = plackett(folder, "evaluate", "torn.txt", "torn-scores.txt", "-m", "ndcg@10,map")
    assert done.stdout.splitlines()[1].split() == ["mean", "0.7974", "0.6667"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["evaluate", "data.txt", "nowhere.txt"], "plackett: error: there is no file 'nowhere.txt'"),
        (["evaluate", "data.txt", "run.txt"], 'run.txt, line 1: expected one number, found "10 Q0 a 1 0.9 x".'),
        (["evaluate", "data.txt", "short.txt"], "short.txt has 2 scores but data.txt has 5 rows."),
        (["evaluate", "scores.txt", "run.txt"], 'expected "qid iteration docid label" (4 columns), found 1'),
        (["evaluate", "empty.txt", "scores.txt"], "empty.txt: the file has no rows."),
        (["info", "bad.txt"], "bad.txt, line 2:"),
        (["info", "nowhere.txt"], "nowhere.txt"),
        (["info", "zero.txt"], "pass first_index=0 (on the command line, --zero-based)."),
    ],
)
def test_failures_are_one_line_on_stderr_and_exit_1(folder, words, message):
    (folder / "short.txt").write_text("1\n2\n")
    (folder / "empty.txt").write_text("\n# nothing\n")
    (folder / "bad.txt").write_text("1 qid:1 1:0.5\n2 1:0.5\n")
    (folder / "zero.txt").write_text("1 qid:1 0:0.5\n")
    done = plackett(folder, *words)
    assert done.returncode == 1
    assert done.stdout == ""
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("plackett: error:")]
    assert len(errors) == 1


@pytest.mark.parametrize(
    "words",
    [
        ["info", "nowhere.txt"],
        ["train", "nowhere.txt", "-o", "model"],
        ["train", "data.txt", "--validation", "nowhere.txt", "-o", "model"],
        ["rank", "nowhere", "data.txt"],
        ["rank", "data.txt", "nowhere.txt"],
        ["explain", "data.txt", "nowhere.txt", "--query", "1"],
        ["evaluate", "nowhere.txt", "scores.txt"],
        ["evaluate", "data.txt", "nowhere.txt"],
    ],
)
def test_a_missing_file_is_noticed_before_anything_heavy_is_loaded(folder, words):
    code = """
import sys
from plackett.cli import main
try: main()
finally: print([name for name in ("numba", "sklearn", "scipy") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code, *words], cwd=folder, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "[]\n")
    assert "plackett: error: there is no file 'nowhere" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["info", "-", "-"],
        ["evaluate", "-", "-"],
        ["evaluate", "data.txt"],
        ["evalute", "data.txt"],
        ["info", "data.txt", "--no-such-option"],
        ["evaluate", "data.txt", "scores.txt", "--json", "--csv"],
        ["evaluate", "data.txt", "scores.txt", "-m", "ndgc"],
        ["evaluate", "data.txt", "scores.txt", "-m", "ndcg(ties=foo)"],
        ["evaluate", "data.txt", "scores.txt", "-m", "map,map"],
        ["evaluate", "data.txt", "scores.txt", "--csv", "--reference-scores"],
        ["evaluate", "data.txt", "scores.txt", "--latex", "-q"],
        ["evaluate", "data.txt", "scores.txt", "--complete"],
        ["evaluate", "data.txt", "scores.txt", "-m", ""],
        ["evaluate", "data.txt", "scores.txt", "-c", "letor"],
    ],
)
def test_wrong_usage_exits_2(folder, words):
    done = plackett(folder, *words)
    assert done.returncode == 2
    assert done.stdout == ""


def test_version_and_help(folder):
    import plackett as package

    assert plackett(folder, "--version").stdout == f"plackett {package.__version__}\n"
    assert "evaluate" in plackett(folder, "--help").stdout
    done = subprocess.run([sys.executable, "-m", "plackett", "--version"], capture_output=True, text=True, timeout=60)
    assert done.stdout == f"plackett {package.__version__}\n"


def test_a_closed_pipe_leaves_no_traceback(folder):
    rows = "".join(f"{i % 3} qid:{i // 4} 1:{i}\n" for i in range(40_000))
    (folder / "many.txt").write_text(rows)
    (folder / "many-scores.txt").write_text("".join(f"{i}\n" for i in range(40_000)))
    command = (
        f"{sys.executable} -c 'from plackett.cli import main; main()' evaluate many.txt many-scores.txt --csv | head -1"
    )
    done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.stdout == "qid,ndcg@10,map,mrr,convention\n"
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


def test_ids_are_shown_as_they_are(folder):
    ids = ["[red]q1", ":smile:", "[/b]"]
    (folder / "qrels.txt").write_text("".join(f"{name} 0 a 1\n" for name in ids))
    (folder / "run.txt").write_text("".join(f"{name} Q0 a 1 1.0 x\n" for name in ids))
    done = plackett(folder, "evaluate", "qrels.txt", "run.txt", "-q", "-m", "map")
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["standard", *ids, "mean"]


def test_what_standard_input_holds_is_recognised(folder):
    assert (
        plackett(folder, "evaluate", "-", "run.txt", "-m", "map", "-c", "trec", stdin=QRELS).stdout.split()[-1]
        == "0.6667"
    )
    assert plackett(folder, "evaluate", "-", "scores.txt", "-m", "map", stdin=LETOR).stdout.split()[-1] == "0.6667"


def test_notes_accompany_every_table_but_json(folder):
    (folder / "data.txt").write_text(LETOR + "0 qid:12 1:0.5 #docid = z\n")
    (folder / "scores.txt").write_text(SCORES + "1\n")
    for option in ("--csv", "--markdown", "--latex"):
        assert (
            "1 query has no relevant document" in plackett(folder, "evaluate", "data.txt", "scores.txt", option).stderr
        )


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as on POSIX systems")
def test_control_c_ends_cleanly_while_the_command_is_still_loading(monkeypatch, capsys):
    import builtins

    from plackett.cli import main

    really_import = builtins.__import__

    def interrupted(name, *others):
        if name == "plackett.cli.app":
            raise KeyboardInterrupt
        return really_import(name, *others)

    monkeypatch.setattr(builtins, "__import__", interrupted)
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 130
    assert capsys.readouterr() == ("", "plackett: stopped.\n")


def test_control_c_ends_cleanly(folder):
    code = """
import os, signal, time
from plackett.cli import main
from plackett.cli.shared import inputs

def read_forever(*arguments, **keywords):
    os.kill(os.getpid(), signal.SIGINT)  # what Ctrl-C sends
    time.sleep(60)

inputs.load_queries = read_forever
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", code, "info", "data.txt"], cwd=folder, capture_output=True, text=True, timeout=55
    )
    assert done.returncode == 130
    assert done.stderr.strip() == "plackett: stopped."
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["serve", "model.plackett", "--port", "x7"], r"error: --port: .*'x7'.*\."),
        (["serve", "model.plackett", "--port", "99999"], r"--port 99999: it must be from 0 to 65535\."),
        (["refine", "lists.txt", "-b", "1", "-f", "x", "--relevant-from", "good"], r"--relevant-from: .*'good'"),
    ],
)
def test_a_value_that_is_not_valid_is_shown_in_the_error(words, expected, folder):
    done = plackett(folder, *words)
    assert done.returncode == 2
    assert re.search(expected, done.stderr), done.stderr
    assert "Input should" not in done.stderr
