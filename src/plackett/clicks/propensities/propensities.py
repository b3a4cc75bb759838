"""The result of ``estimate_propensities``."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from plackett._drawing import axes_of
from plackett._tables import Column, Table, json_value, notebook_html
from plackett.exceptions import DataFormatError
from plackett.storage.container import ContainerError, open_container, write_container

KIND, VERSION = "plackett propensities", 1
GIVEN = "given"  # method of propensities that were not estimated
_ARRAYS = ("values", "intervals", "a", "b")


class Propensities:
    """Propensities of ranks, relative to rank 1, with intervals.

    Parameters
    ----------
    values : array-like of shape (n_ranks,)
        Examination probability of each rank relative to that of rank 1; NaN where it cannot be estimated. Absolute
        probabilities are kept as they are: relevance is then the probability of a click on an examined document, not
        that of a click at rank 1.
    intervals : array-like of shape (n_ranks, 2), default=None
        Lower and upper ends; NaN where there are none.
    level : float, default=None
        Level of the intervals.
    a, b : array-like of shape (n_ranks,), default=None
        Trust bias: a document is clicked at rank r with probability ``a[r - 1] * P(relevant) + b[r - 1]``. Without
        them it is ``values[r - 1] * attractiveness``.
    method : str, default="given"
        How they were estimated.
    notes : list of str, default=None
        Which ranks cannot be estimated, and why.

    Examples
    --------
    >>> import plackett as pk
    >>> pk.clicks.Propensities([1.0, 0.5, 0.25])
    Propensities(1, 0.5, 0.25; given)
    """

    def __init__(
        self,
        values: Any,
        intervals: Any = None,
        *,
        level: float | None = None,
        a: Any = None,
        b: Any = None,
        method: str = GIVEN,
        notes: list[str] | None = None,
    ):
        self.values = np.array(values, dtype=np.float64)
        if self.values.ndim != 1 or not self.values.size:
            raise ValueError(f"values has shape {self.values.shape}; a number for each rank is needed.")
        _check_values(self.values)
        n_ranks = self.values.size
        self.intervals = _of_shape(intervals, "intervals", (n_ranks, 2))
        self.a, self.b = _of_shape(a, "a", (n_ranks,)), _of_shape(b, "b", (n_ranks,))
        if (self.a is None) != (self.b is None):
            raise ValueError("a and b belong together: pass both or neither.")
        self.level, self.method, self.notes = level, method, list(notes or [])

    def __len__(self) -> int:
        return self.values.size

    def to_table(self) -> Table:
        """Return a table with a row for each rank."""
        columns, parts = [Column("rank", digits=0), Column("propensity", digits=3)], [self.values]
        if self.intervals is not None:
            columns += [Column("from", digits=3), Column("to", digits=3)]
            parts += list(self.intervals.T)
        if self.a is not None and self.b is not None:
            columns += [Column("a", digits=3), Column("b", digits=3)]
            parts += [self.a, self.b]
        return Table(columns, [[rank, *map(float, row)] for rank, row in enumerate(zip(*parts, strict=True), start=1)])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None for values that cannot be estimated."""
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        return json_value(
            {name: None if values is None else values.tolist() for name, values in arrays.items()}
            | {"level": self.level, "method": self.method, "notes": self.notes}
        )

    def plot(self, *, ax: Any = None, label: str | None = None) -> Any:
        """Plot the propensity of each rank with its interval, and return the Axes.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None makes a new figure. Several propensities may share one.
        label : str, default=None
            Name in the legend; None uses the method.
        """
        ax = axes_of(ax, needed_for="Propensities.plot")
        ranks = np.arange(1, len(self) + 1)
        (line,) = ax.plot(ranks, self.values, "o-", linewidth=1, markersize=4, label=label or self.method)
        if self.intervals is not None:
            ax.vlines(ranks, *self.intervals.T, color=line.get_color(), linewidth=2, alpha=0.6)
        ax.set_xlabel("rank")
        ax.set_ylabel("propensity, relative to rank 1")
        ax.set_ylim(bottom=0)
        ax.legend(frameon=False)
        return ax

    def save(self, path: str | os.PathLike) -> None:
        """Save the propensities; nothing in the file is executable.

        Parameters
        ----------
        path : path
            Replaced only when everything was written.
        """
        with write_container(path, KIND, VERSION) as writer:
            for name in _ARRAYS:
                if getattr(self, name) is not None:
                    writer.add(name, getattr(self, name))
            writer.finish({"level": self.level, "method": self.method, "notes": self.notes})

    @classmethod
    def load(cls, path: str | os.PathLike) -> Propensities:
        """Return the propensities in a file of ``save``.

        Parameters
        ----------
        path : path

        Raises
        ------
        DataFormatError
            If the file is damaged, or holds something else.
        """
        try:
            with open_container(path, KIND, VERSION) as container:
                arrays: dict[str, Any] = {name: container.array(name) for name in _ARRAYS if name in container.arrays}
                header = container.header
            about = {name: header[name] for name in ("level", "method", "notes")}
            return cls(**arrays, **about)
        except (ContainerError, ValueError, KeyError, TypeError) as error:
            raise DataFormatError(os.fspath(path), None, f"these propensities cannot be read: {error}") from error

    def __repr__(self) -> str:
        shown = ", ".join(f"{value:.3g}" for value in self.values[:10])
        return f"Propensities({shown}{', …' if len(self) > 10 else ''}; {self.method})"

    def __str__(self) -> str:
        return "\n\n".join([self.to_table().to_text(), *self.notes])

    def _repr_html_(self) -> str:
        return notebook_html(self.to_table(), after=self.notes)


def _check_values(values: np.ndarray) -> None:
    wrong = np.flatnonzero((values < 0) | np.isinf(values))
    if wrong.size:
        raise ValueError(
            f"the propensity at rank {wrong[0] + 1} is {values[wrong[0]]:g}; a number of at least 0, or NaN if it is "
            "not known, is needed."
        )
    if not (values > 0).any():
        what = "NaN" if np.isnan(values).all() else "0 or NaN"
        raise ValueError(f"all propensities are {what}; one above 0 is needed, such as 1 at rank 1.")


def _of_shape(values: Any, name: str, shape: tuple[int, ...]) -> np.ndarray | None:
    if values is None:
        return None
    array = np.asarray(values, dtype=np.float64)
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}; {shape} is needed.")
    return array
