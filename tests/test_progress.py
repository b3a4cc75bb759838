"""Progress bars: in notebooks without widgets, only one at a time, and on one line of any terminal."""

import contextlib
import io
import re
import sys
import types

import pytest

from plackett._progress import MARGIN, Progress, is_notebook, is_watched


@pytest.fixture
def notebook(monkeypatch):
    """The HTML that a notebook shows, one text for each change."""
    shown = []

    class Handle:
        def update(self, html):
            shown.append(html)

    def display(html, display_id):
        shown.append(html)
        return Handle()

    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    ipython.display = types.ModuleType("IPython.display")
    ipython.display.HTML, ipython.display.display = str, display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", ipython.display)
    return shown


def test_a_notebook_shows_a_bar_without_widgets(notebook):
    assert is_notebook()
    assert is_watched()
    with Progress("comparing", 2, is_shown=True) as bar:
        bar.show("<listmle>, fold 1")
        bar.advance("listmle, fold 2")
    assert notebook[0] == 'comparing <progress value="0" max="2"></progress> 0/2 '
    assert notebook[1].endswith("0/2 &lt;listmle&gt;, fold 1")
    assert notebook[2].endswith('value="1" max="2"></progress> 1/2 listmle, fold 2')


def test_a_bar_inside_another_one_is_silent(notebook):
    with Progress("comparing", 1, is_shown=True) as outer:
        with Progress("fitting", 9, is_shown=True) as inner:
            inner.advance("objective 1")
        outer.advance()
    assert not any("fitting" in html for html in notebook)
    with Progress("fitting", 9, is_shown=True):
        pass
    assert "fitting" in notebook[-1]


def test_a_shell_without_a_kernel_is_no_notebook(monkeypatch):
    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: None
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    assert not is_notebook()


# --- Terminals --------------------------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self):
        return True


@contextlib.contextmanager
def terminal(width=80, kind="xterm"):
    """Standard output and standard error as a terminal."""
    screen = Terminal()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", screen)
        patch.setattr(sys, "stderr", screen)
        patch.setenv("TERM", kind)
        patch.setenv("COLUMNS", str(width))
        patch.delenv("NO_COLOR", raising=False)
        yield screen


def lines_of(screen):
    """The lines that were drawn, in plain text."""
    plain = re.sub(r"\033\[[0-9;?]*[A-Za-z]", "", screen.getvalue())
    return [line.rstrip() for line in re.split(r"[\r\n]+", plain) if line.strip()]


@pytest.mark.parametrize("width", [30, 45, 80, 200])
def test_a_line_of_any_width_keeps_the_bar_and_the_time_left_and_cuts_the_text(width):
    with terminal(width) as screen, Progress("tuning", 7.0, is_shown=True) as bar:
        bar.advance_to(1, "n_estimators=500, learning_rate=0.05, num_leaves=31: 0.4567")
    last = lines_of(screen)[-1]
    assert re.match(r"\S+ [━╸╺]{5,} +14% [-\d]+:[-\d]+", last)
    assert len(last) <= width - MARGIN  # room for the ^C of an interruption
    assert ("0.4567" if width == 200 else "…") in last


def test_what_is_printed_above_a_bar_is_not_wrapped():
    row = f"| {'p 0.85 ' * 12}|"
    with terminal(40) as screen, Progress("p-listmle", 2, is_shown=True):
        sys.stdout.write(f"{row}\n")
        sys.stderr.write(f"{row}\n")
    assert lines_of(screen).count(row) == 2


def test_a_bar_without_a_total_ends_full_or_empty_after_an_error():
    with terminal() as screen, Progress("reading", None, is_shown=True) as bar:
        bar.show("6,000 documents")
    assert re.fullmatch(r"reading ━{20} 100% \d\d:\d\d 6,000 documents", lines_of(screen)[-1])
    with terminal() as screen, pytest.raises(KeyboardInterrupt), Progress("reading", None, is_shown=True):
        raise KeyboardInterrupt
    assert re.fullmatch(r"reading ━{20} +0%", lines_of(screen)[-1])


def test_a_terminal_that_cannot_redraw_a_line_shows_no_bar():
    with terminal():
        assert is_watched()
    with terminal(kind="dumb"):
        assert not is_watched()
