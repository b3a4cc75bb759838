"""Progress bars on terminals and in notebooks, on standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from html import escape
from typing import Any

MARGIN = 3  # columns after a bar: where it fills the line, the ^C of an interruption would wrap, and the bar stay twice
PRIOR = 0.25  # share of the steps that an expected duration counts for, beside the steps that were timed
_active: list[Progress] = []  # a fit inside a comparison must not draw a second bar over the first


class Progress:
    """A progress bar with the time that is left; silent unless ``is_shown``, or inside another one.

    ``total`` is the number of steps, or None where it is not known; a float is shown as a percentage. ``seconds`` is
    the expected duration of all steps, which gives an estimate of the time left before the first step is done.

    Examples
    --------
    >>> with Progress("fitting", 3, is_shown=False) as progress:
    ...     progress.advance("objective 0.5")
    """

    def __init__(self, title: str, total: float | None, *, is_shown: bool, seconds: float | None = None):
        self._title, self._total, self._is_shown, self._seconds = title, total, is_shown, seconds
        self._done: float = 0
        self._bar: Any = None

    def __enter__(self) -> Progress:
        if self._is_shown and not _active:
            kind = _NotebookBar if is_notebook() else _TerminalBar
            self._bar = kind(self._title, self._total, self._seconds)
            _active.append(self)
        return self

    def show(self, text: str) -> None:
        """Show a short text about the current step."""
        if self._bar is not None:
            self._bar.update(self._done, text)

    def advance(self, shown: str = "") -> None:
        """Advance by one step, with a short text about it."""
        self.advance_to(self._done + 1, shown)

    def advance_to(self, done: float, shown: str = "") -> None:
        """Advance to this number of finished steps, with a short text."""
        self._done = done
        self.show(shown)

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop(is_complete=error[0] is None)
            self._bar = None
            _active.remove(self)


class _TerminalBar:
    """A line with title, bar, steps, time left and text. If it is too long, the text is cut, then the title."""

    def __init__(self, title: str, total: float | None, seconds: float | None):
        from rich.console import Console
        from rich.constrain import Constrain
        from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, TaskProgressColumn
        from rich.progress import Progress as Bars
        from rich.table import Column
        from rich.text import Text

        class Line(Bars):
            def get_renderable(self) -> Any:
                return Constrain(super().get_renderable(), max(1, console.width - MARGIN))

        class Bar(BarColumn):
            def render(self, task: Any) -> Any:
                self.bar_width = min(max(5, console.width // 4), 40)
                return super().render(task)

        class TimeLeft(ProgressColumn):
            max_refresh = 0.5  # seconds

            def render(self, task: Any) -> Text:
                remaining = _seconds_left(task.completed, task.total, task.elapsed, task.fields["last"], seconds)
                return Text(_time_left(task.elapsed, remaining, is_finished=task.finished))

        class Words(ProgressColumn):
            def __init__(self, words: Callable[[Any], str]):
                super().__init__(Column())  # the columns without no_wrap are those that are made narrower
                self._words = words

            def render(self, task: Any) -> Text:
                return Text(self._words(task), no_wrap=True, overflow="ellipsis")

        # lines that are printed above the bar are left to the terminal to wrap
        console = Console(stderr=True, soft_wrap=True)
        done = MofNCompleteColumn if isinstance(total, int) else TaskProgressColumn
        self._line = Line(
            Words(lambda task: task.description),
            *(column(table_column=Column(no_wrap=True)) for column in (Bar, done, TimeLeft)),
            Words(lambda task: task.fields["shown"]),
            console=console,
            redirect_stdout=getattr(sys.stdout, "isatty", bool)(),  # not if it is a pipe
        )
        self._line.start()
        self._task = self._line.add_task(title, total=total, shown="", last=0.0)

    def update(self, done: float, shown: str) -> None:
        (task,) = self._line.tasks
        last = task.elapsed if done != task.completed else task.fields["last"]
        self._line.update(self._task, completed=done, shown=shown, last=last)

    def stop(self, *, is_complete: bool) -> None:
        if self._line.tasks[0].total is None:  # an end for a bar without one
            self._line.update(self._task, total=1, completed=int(is_complete))
        self._line.stop()


def _seconds_left(
    done: float, total: float | None, elapsed: float | None, last: float, expected: float | None
) -> float | None:
    """Return the estimated time that is left, or None if nothing is known about it.

    ``elapsed`` and ``last`` are the seconds until now and until the last step. The estimate follows the pace until the
    last step and counts down from there. A step that takes longer than that is not expected to end at once.
    """
    if not total or elapsed is None or (not done and expected is None):
        return None
    prior = 0.0 if expected is None else PRIOR
    pace = (last + prior * (expected or 0.0)) / (done + prior * total)
    since = elapsed - last
    return max(pace * (total - done) - since, since / 10)


def _time_left(elapsed: float | None, remaining: float | None, *, is_finished: bool) -> str:
    """Return the estimated time that is left, such as ``2:05 left``, or the time that was needed."""
    seconds = elapsed if is_finished or remaining is None else remaining
    minutes, rest = divmod(round(seconds or 0), 60)
    return f"{minutes}:{rest:02}" + (" left" if not is_finished and remaining is not None else "")


class _NotebookBar:
    """An HTML element that is replaced at each step; needs IPython only, no widgets."""

    def __init__(self, title: str, total: float | None, seconds: float | None):
        from IPython.display import HTML, display

        self._html, self._title, self._total = HTML, title, total
        self._n_done: float = 0
        self._handle = display(HTML(self._text("")), display_id=True)

    def _text(self, shown: str) -> str:
        bar = f'<progress value="{self._n_done}" max="{self._total}"></progress>'
        return f"{escape(self._title)} {bar} {self._n_done}/{self._total} {escape(shown)}"

    def update(self, done: float, shown: str) -> None:
        self._n_done = done
        self._handle.update(self._html(self._text(shown)))

    def stop(self, *, is_complete: bool) -> None:
        self.update(self._n_done, "")


def is_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and getattr(ipython.get_ipython(), "kernel", None) is not None


def is_watched() -> bool:
    """Return whether a progress bar would be seen: in a notebook, or on a terminal that can redraw a line."""
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    return is_notebook() or (is_terminal and os.environ.get("TERM") not in ("dumb", "unknown"))
