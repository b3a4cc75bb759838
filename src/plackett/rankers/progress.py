"""A progress bar on standard error, for those who ask for one."""

from __future__ import annotations

from typing import Any


class Progress:
    """A bar that advances by one iteration at a time; silent unless ``is_shown``.

    Examples
    --------
    >>> with Progress("fitting", 3, is_shown=False) as progress:
    ...     progress.advance("objective 0.5")
    """

    def __init__(self, title: str, total: int, *, is_shown: bool):
        self._title, self._total, self._is_shown = title, total, is_shown
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        if self._is_shown:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar

            columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
            self._bar = Bar(*columns, TextColumn("{task.fields[shown]}"), console=Console(stderr=True))
            self._bar.start()
            self._task = self._bar.add_task(self._title, total=self._total, shown="")
        return self

    def advance(self, shown: str = "") -> None:
        """One iteration more, with a word on where it stands."""
        if self._bar is not None:
            self._bar.update(self._task, advance=1, shown=shown)

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
