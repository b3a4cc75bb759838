"""Progress bars: in notebooks without widgets, and only one at a time."""

import sys
import types

import pytest

from plackett.rankers.progress import Progress, is_notebook, is_watched


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
