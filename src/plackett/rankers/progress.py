"""Progress bars on terminals and in notebooks, on standard error."""

from __future__ import annotations

import sys
from html import escape
from typing import Any

_active: list[Progress] = []  # a fit inside a comparison must not draw a second bar over the first


class Progress:
    """A progress bar with the time that is left; silent unless ``is_shown``, or inside another one.

    ``total`` is the number of steps, or None where it is not known.

    Examples
    --------
    >>> with Progress("fitting", 3, is_shown=False) as progress:
    ...     progress.advance("objective 0.5")
    """

    def __init__(self, title: str, total: float | None, *, is_shown: bool):
        self._title, self._total, self._is_shown = title, total, is_shown
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
            self._bar.update(0, text)

    def advance(self, shown: str = "", steps: float = 1) -> None:
        """Advance by one step, or another number of them, with a short text about it."""
        if self._bar is not None:
            self._bar.update(steps, shown)

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
            _active.remove(self)


class _TerminalBar:
    def __init__(self, title: str, total: float | None):
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, TaskProgressColumn, TextColumn
        from rich.progress import Progress as Bar
        from rich.text import Text

        class TimeLeft(ProgressColumn):
            max_refresh = 0.5  # seconds

            def render(self, task: Any) -> Text:
                return Text(_time_left(task.elapsed, task.time_remaining, is_finished=task.finished))

        before, after = (TextColumn(text, markup=False) for text in ("{task.description}", "{task.fields[shown]}"))
        done = MofNCompleteColumn() if isinstance(total, int) else TaskProgressColumn()
        columns = (before, BarColumn(), done, TimeLeft(), after)
        # the time left is estimated from all steps: a fit may take minutes. Output to a pipe is not redirected.
        self._bar = Bar(
            *columns,
            console=Console(stderr=True),
            speed_estimate_period=float("inf"),
            redirect_stdout=sys.stdout is not None and sys.stdout.isatty(),
        )
        self._bar.start()
        self._task = self._bar.add_task(title, total=total, shown="")

    def update(self, steps: float, shown: str) -> None:
        self._bar.update(self._task, advance=steps, shown=shown)

    def stop(self) -> None:
        self._bar.stop()


def _time_left(elapsed: float | None, remaining: float | None, *, is_finished: bool) -> str:
    """Return the estimated time that is left, such as ``2:05 left``, or the time that was needed."""
    seconds = elapsed if is_finished or remaining is None else remaining
    minutes, rest = divmod(round(seconds or 0), 60)
    return f"{minutes}:{rest:02}" + (" left" if not is_finished and remaining is not None else "")


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

    def update(self, steps: float, shown: str) -> None:
        self._n_done += steps
        self._handle.update(self._html(self._text(shown)))

    def stop(self) -> None:
        self.update(0, "")


def is_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and getattr(ipython.get_ipython(), "kernel", None) is not None


def is_watched() -> bool:
    """Return whether a progress bar would be seen: in a notebook, or if standard error is a terminal."""
    return is_notebook() or (sys.stderr is not None and sys.stderr.isatty())
