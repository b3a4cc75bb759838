"""The command on a terminal: bars with the time left, bold winner, coloured marks; none of it in a pipe."""

import io
import re
import shlex
import sys
import threading
import warnings

import pytest

import plackett as pk
from plackett.cli import main
from plackett.cli.shared import output

ESCAPE = "\033["


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def on_terminal(folder, monkeypatch):
    """Return what a terminal shows, standard output if that is a pipe, and the exit status."""

    def on_terminal(*words, is_piped=False, **environment):
        screen = Terminal()
        piped = io.StringIO() if is_piped else screen
        monkeypatch.chdir(folder)
        monkeypatch.delenv("NO_COLOR", raising=False)
        for name, value in {"TERM": "xterm", "COLUMNS": "120", **environment}.items():
            monkeypatch.setenv(name, value)
        with monkeypatch.context() as patched:
            patched.setattr(sys, "stdout", piped)
            patched.setattr(sys, "stderr", screen)
            patched.setattr(warnings, "showwarning", warnings.showwarning)
            patched.setattr(sys, "argv", ["plackett", *words])
            with pytest.raises(SystemExit) as end:
                main()
        return screen.getvalue(), piped.getvalue(), end.value.code

    return on_terminal


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("terminal")
    lists = pk.datasets.make_web_like(24, 12, 6, random_state=0)
    pk.write_letor(lists, made / "data.txt")
    scores = {"good": lists.y, "bad": -lists.y}
    for name, values in scores.items():
        (made / f"{name}.txt").write_text("".join(f"{value}\n" for value in values))
    pk.ranker("regression").fit(lists).save(made / "model.plackett")
    rows = [f"{session},q,d{rank},{rank},{int(rank == 1)}" for session in range(20) for rank in (1, 2)]
    (made / "log.csv").write_text("\n".join(["session,query,docid,rank,click", *rows]) + "\n")
    return made


def test_the_winner_is_bold_and_marks_are_coloured_on_a_terminal(on_terminal):
    shown, _, status = on_terminal("evaluate", "data.txt", "good.txt", "bad.txt", "-m", "map")
    assert status == 0
    assert re.search(r"^\033\[1mgood\.txt +1\.0000", shown, re.M)
    assert "\033[31m▼▼\033[0m" in shown
    assert not re.search(r"\033\[1mbad", shown)


def test_a_line_says_what_is_being_done_until_it_is_done(on_terminal, monkeypatch):
    class Now(threading.Timer):
        def start(self):
            self.function()

        def join(self):
            pass

    monkeypatch.setattr(threading, "Timer", Now)
    shown, _, status = on_terminal("train", "data.txt", "-o", "model")
    assert status == 0
    assert shown.startswith("\rloading listmle …\r\033[2K\rreading data.txt …\r\033[2K")
    assert "reading" not in on_terminal("train", "data.txt", "-o", "model", "--quiet")[0]


def test_the_winner_of_tune_is_bold(on_terminal):
    shown, _, status = on_terminal("tune", "data.txt", "-g", "l2=1,0.1", "--quiet")
    assert status == 0
    assert len(re.findall(r"^\033\[1m\* +", shown, re.M)) == 1
    assert shown.count("\033[1m") == 1


NEXT = [
    ("train data.txt -o m.plackett", "Evaluate it: plackett evaluate DATA m.plackett"),
    ("tune data.txt -g l2=1 -o t.plackett", "Evaluate it: plackett evaluate DATA t.plackett"),
    ("compare data.txt -r prank,listmle -f 2 -o b.plackett", "Evaluate it: plackett evaluate DATA b.plackett"),
    ("rank model.plackett data.txt -o 'my scores.txt'", "Evaluate them: plackett evaluate DATA 'my scores.txt'"),
    ("rank model.plackett data.txt --run x -o s.run", "Evaluate it: plackett evaluate QRELS s.run"),
    (
        "export model.plackett --to ranklib -o r.txt",
        "Load it: java -jar RankLib.jar -load r.txt -rank DATA -score SCORES",
    ),
    ("clicks judge log.csv -m dctr --cuts 0.5 -o c.qrels", "Evaluate a run by them: plackett evaluate c.qrels RUN"),
    ("clicks convert log.csv -o c.plackett", "Grade its documents: plackett clicks judge c.plackett"),
]


@pytest.mark.parametrize(("command", "line"), NEXT)
def test_a_command_that_writes_a_file_ends_with_what_to_do_next(on_terminal, command, line):
    shown, piped, status = on_terminal(*shlex.split(command), is_piped=True)
    assert status == 0
    assert shown.splitlines()[-1].endswith(f"\033[1m{line}\033[0m")
    assert line not in piped


@pytest.mark.parametrize("command", [command for command, _ in NEXT[:3]])
def test_quiet_commands_say_nothing_about_what_to_do_next(on_terminal, command):
    assert "plackett evaluate" not in on_terminal(*command.split(), "--quiet")[0]


def test_a_note_is_wrapped_between_words(on_terminal):
    shown = on_terminal("compare", "data.txt", "-r", "prank,listmle", "-f", "2", COLUMNS="60", NO_COLOR="1")[0]
    notes = shown[shown.index("test queries in") :].splitlines()
    assert all(len(line) <= 60 for line in notes)
    assert "doubled p ≤ 0.01 (randomisation test, Holm over one pair)" in " ".join(notes)


def test_control_characters_in_a_message_do_not_reach_the_terminal(capsys):
    output.alert("error", "found \033[2Jx\a")
    assert capsys.readouterr().err == "plackett: error: found  [2Jx \n"


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=["NO_COLOR", "dumb"])
def test_a_terminal_without_colours_gets_none(on_terminal, environment):
    words = ("evaluate", "data.txt", "good.txt", "bad.txt", "-m", "map")
    assert ESCAPE not in on_terminal(*words, **environment)[0]
    assert ESCAPE not in on_terminal("--help", **environment)[0]
    assert ESCAPE not in on_terminal("info", "nowhere", **environment)[0]


def test_a_pipe_gets_the_plain_table_while_the_terminal_shows_a_bar(on_terminal):
    words = ("compare", "data.txt", "-r", "regression,prank", "-f", "3", "-m", "map", "--report", "report.html")
    shown, piped, status = on_terminal(*words, is_piped=True)
    assert status == 0
    assert ESCAPE not in piped
    assert "regression" in piped
    assert re.search(r"6/6\S* \S*\d+:\d\d", shown)  # a quick run may end before it shows the time left
    assert "Open report.html in a browser." in shown.splitlines()[-1]


@pytest.mark.parametrize(
    "words",
    [["index", "stdlib", "-o", "python.index"], ["reproduce", "refinement", "--quick", "--only", "Figure 7"]],
    ids=["index", "reproduce"],
)
def test_index_and_reproduce_show_a_bar_on_a_terminal_and_keep_their_output_in_the_pipe(on_terminal, words):
    shown, piped, status = on_terminal(*words, is_piped=True)
    assert status == 0
    assert "100%" in shown
    assert ("documents" if words[0] == "index" else "Tolerance: ") in piped
    assert "━" not in piped
    quiet, same, status = on_terminal(*words, "--quiet", is_piped=True)
    assert (quiet, status) == ("", 0)
    assert same.splitlines()[0] == piped.splitlines()[0]


def test_finished_bars_of_an_index_are_full_and_count_documents(on_terminal, folder):
    (folder / "texts.jsonl").write_text("".join(f'{{"title": "wing {i}", "body": "lift"}}\n' for i in range(3000)))
    shown = re.sub(r"\033\[[0-9;?]*[A-Za-z]", "", on_terminal("index", "texts.jsonl", "-o", "texts.index")[0])
    for title in ("reading", "indexing"):
        assert re.search(rf"{title} ━+ 100% \d\d:\d\d 3,000 documents *\n", shown), shown


def test_tables_of_a_paper_fit_the_terminal_and_verdicts_have_colours(on_terminal):
    shown, _, status = on_terminal("reproduce", "p-listmle", "--quick", "--only", "worked", COLUMNS="80")
    assert status == 0
    assert "\033[32mconfirmed\033[0m" in shown
    assert "\033[31mnot confirmed\033[0m" in shown
    lines = re.sub(r"\033\[[0-9;?]*[A-Za-z]", "", shown[shown.index("ListMLE's loss") :]).splitlines()
    assert max(map(len, lines)) <= 80


def test_errors_are_one_line_with_a_hint_in_one_style(on_terminal):
    for words, message, hint in [
        (["info", "dat.txt"], r"there is no file 'dat\.txt' .*", "did you mean data.txt?"),
        (["info", "mq208"], r"there is no file 'mq208' .*", "did you mean mq2008?"),
        (["info", "MQ2008"], r"there is no file 'MQ2008' .*", "did you mean mq2008?"),
        (
            ["info", "data.txt", "--colums"],
            r"there is no option --colums\. Did you mean --columns\?",
            "plackett info --help shows the usage.",
        ),
        (["train", "data.txt", "-o"], "-o needs a value\\.", "plackett train --help shows the usage."),
        (["train", "data.txt"], r"--model \(-o\) is missing\.", "plackett train --help shows the usage."),
        (
            ["version"],
            r"there is no verb 'version'\. Did you mean plackett --version\?",
            "plackett --help shows the usage.",
        ),
        (["-v"], r"there is no option -v\. Did you mean plackett --version\?", "plackett --help shows the usage."),
        (["rank", ".", "data.txt"], r"\.: is a directory\.", "give the name of a file."),
        (
            ["compare", "mq2008", "-r", "listmle", "ranksvm"],
            r"ranksvm is a ranker, not DATA\. Separate rankers by commas: -r listmle,ranksvm\.",
            "plackett compare --help shows the usage.",
        ),
        (["inof", "data.txt"], r"there is no verb 'inof'\. Did you mean info\?", "plackett --help shows the usage."),
    ]:
        shown = on_terminal(*words, NO_COLOR="1")[0]
        assert re.fullmatch(rf"plackett: error: {message}\n  hint: {re.escape(hint)}\n", shown), shown


def test_the_word_error_is_red(on_terminal):
    assert on_terminal("info", "nowhere")[0].startswith("plackett: \033[31merror:\033[0m there is no file")


def test_styles_need_a_terminal():
    assert output.styled("listmle", "bold") == "listmle"  # pytest captures standard output
