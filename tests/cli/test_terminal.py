"""The command on a terminal: bars with the time left, bold winner, coloured marks; none of it in a pipe."""

import io
import re
import sys
import warnings

import pytest

import plackett as pk
from plackett.cli import main
from plackett.cli.shared import output
from plackett.rankers.progress import _time_left

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
    return made


def test_the_winner_is_bold_and_marks_are_coloured_on_a_terminal(on_terminal):
    shown, _, status = on_terminal("evaluate", "data.txt", "good.txt", "bad.txt", "-m", "map")
    assert status == 0
    assert re.search(r"^\033\[1mgood\.txt +1\.0000", shown, re.M)
    assert "\033[31m▼▼\033[0m" in shown
    assert not re.search(r"\033\[1mbad", shown)


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
    assert re.search(r"6/6\S* \d+:\d\d", shown)  # a quick run may end before it shows the time left
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
    assert ("documents" if words[0] == "index" else "## ") in piped
    assert "━" not in piped


def test_errors_are_one_line_with_a_hint_in_one_style(on_terminal):
    for words, message, hint in [
        (["info", "dat.txt"], r"there is no file 'dat\.txt' .*", "did you mean data.txt?"),
        (["info", "data.txt", "--colums"], r"No such option:? '?--colums'?.*", "plackett info --help shows the usage."),
        (["inof", "data.txt"], r"there is no verb 'inof'\. Did you mean info\?", "plackett --help shows the usage."),
    ]:
        shown = on_terminal(*words, NO_COLOR="1")[0]
        assert re.fullmatch(rf"plackett: error: {message}\n  hint: {re.escape(hint)}\n", shown), shown


def test_the_word_error_is_red(on_terminal):
    assert on_terminal("info", "nowhere")[0].startswith("plackett: \033[31merror:\033[0m there is no file")


@pytest.mark.parametrize(
    ("elapsed", "remaining", "is_finished", "expected"),
    [(5, None, False, "0:05"), (5, 125, False, "2:05 left"), (61, 0, True, "1:01"), (None, None, False, "0:00")],
)
def test_a_bar_tells_the_time_left_or_the_time_needed(elapsed, remaining, is_finished, expected):
    assert _time_left(elapsed, remaining, is_finished=is_finished) == expected


def test_styles_need_a_terminal():
    assert output.styled("listmle", "bold") == "listmle"  # pytest captures standard output
