"""Progress bars on terminals and in notebooks, on standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from html import escape
from typing import Any

Reporter = Callable[[str], Any] | bool | None  # ``progress=`` of a comparison: lines of text, a bar, or nothing
MARGIN = 3  # columns after a bar: where it fills the line, the ^C of an interruption would wrap, and the bar stay twice
_active: list[Progress] = []  # a fit inside a comparison must not draw a second bar over the first


class Progress:
    """A progress bar with the time that is left; silent unless ``is_shown``, or inside another one.

    ``total`` is the number of steps, or None where it is not known; a float is shown as a percentage.

    Examples
    --------
    >>> with Progress("fitting", 3, is_shown=False) as progress:
    ...     progress.advance("objective 0.5")
    """

    def __init__(self, title: str, total: float | None, *, is_shown: bool):
        self._title, self._total, self._is_shown = title, total, is_shown
        self._done: float = 0
        self._bar: Any = None

    def __enter__(self) -> Progress:
        if self._is_shown and not _active:
            kind = _NotebookBar if is_notebook() else _TerminalBar
            self._bar = kind(self._title, self._total)
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

    def __init__(self, title: str, total: float | None):
        from rich.console import Console
        from rich.constrain import Constrain
        from rich.progress import BarColumn, MofNCompleteColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bars
        from rich.table import Column

        class Line(Bars):
            def get_renderable(self) -> Any:
                return Constrain(super().get_renderable(), max(1, console.width - MARGIN))

        class Words(TextColumn):
            def render(self, task: Any) -> Any:
                text = super().render(task)
                text.no_wrap, text.overflow = True, "ellipsis"
                return text

        # lines that are printed above the bar are left to the terminal to wrap
        console, fixed = Console(stderr=True, soft_wrap=True), Column(no_wrap=True)
        done = MofNCompleteColumn if isinstance(total, int) else TaskProgressColumn
        self._line = Line(
            Words("{task.description}", markup=False, table_column=Column()),
            BarColumn(min(max(5, console.width // 4), 40), table_column=fixed),
            done(table_column=fixed),
            TimeRemainingColumn(compact=True, elapsed_when_finished=True, table_column=fixed),
            Words("{task.fields[shown]}", markup=False, table_column=Column()),
            console=console,
            redirect_stdout=getattr(sys.stdout, "isatty", bool)(),  # not if it is a pipe
        )
        self._line.start()
        self._task = self._line.add_task(title, total=total, shown="")

    def update(self, done: float, shown: str) -> None:
        self._line.update(self._task, completed=done, shown=shown)

    def stop(self, *, is_complete: bool) -> None:
        if self._line.tasks[0].total is None:  # an end for a bar without one
            self._line.update(self._task, total=1, completed=int(is_complete))
        self._line.stop()


class _NotebookBar:
    """An HTML element that is replaced at each step; needs IPython only, no widgets."""

    def __init__(self, title: str, total: float | None):
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


def is_drawn() -> bool:
    """Return whether a bar is being drawn."""
    return bool(_active)


def is_watched() -> bool:
    """Return whether a progress bar would be seen: in a notebook, or on a terminal that can redraw a line."""
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    return is_notebook() or (is_terminal and os.environ.get("TERM") not in ("dumb", "unknown"))


def is_bar(progress: Callable[..., Any] | bool | None) -> bool:
    """Return whether to draw a bar: if one would be seen, unless progress is turned off or a callable."""
    return not callable(progress) and progress is not False and is_watched()


def tell(progress: Reporter, line: str) -> None:
    """Pass a line to a callable; if progress was requested where no bar would be seen, write it to standard error."""
    if callable(progress):
        progress(line)
    elif progress and not is_watched():
        sys.stderr.write(line + "\n")
        sys.stderr.flush()
