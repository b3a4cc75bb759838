"""The methods of ``plackett refine`` and their parameters."""

from __future__ import annotations

from typing import Any

import typer

from plackett.validation import check_choice

METHODS = {"mrr": "MultiplicativeRefiner", "lrr": "LinearRefiner", "rocchio": "RocchioRefiner"}
BOOSTED = ("mrr", "lrr")
PARAMETERS = {  # option -> parameter, and the methods that have it
    "rounds": ("n_rounds", BOOSTED),
    "eta": ("eta", BOOSTED),
    "gamma": ("gamma", ("lrr",)),
    "alpha": ("alpha", ("rocchio",)),
    "beta": ("beta", ("rocchio",)),
}


class Methods:
    """The refiners named by ``--method``; raises for unknown names and parameters.

    Parameters
    ----------
    text : str
        Names, comma-separated.
    relevant_from : float or None
        Labels of at least this value count 1, others 0.
    **options : float or None
        Parameters by the names of their options.
    """

    def __init__(self, text: str, relevant_from: float | None, **options: float | None):
        self.names = [name.strip() for name in text.split(",")]
        self.relevant_from = relevant_from
        self.options = {name: value for name, value in options.items() if value is not None}
        for name in self.names:
            check_choice(name, "method", tuple(METHODS))
        if len(set(self.names)) < len(self.names):
            raise typer.BadParameter(f"--method {text}: a method is named twice.")
        for name, value in self.options.items():
            having = PARAMETERS[name][1]
            if not set(having) & set(self.names):
                raise typer.BadParameter(f"--{name} is a parameter of {' and '.join(having)}, not of {text}.")
            if not value >= (1 if name == "rounds" else 0) or value == float("inf"):
                raise typer.BadParameter(f"--{name} {value:g}: it must be at least {1 if name == 'rounds' else 0}.")
        if self.options.get("eta", 0) > 1:
            raise typer.BadParameter(f"--eta {self.options['eta']:g}: it must be between 0 and 1.")

    def check_single(self, use: str) -> None:
        """Raise if there are several methods."""
        if len(self.names) > 1:
            raise typer.BadParameter(f"{use} takes one --method; --judge-first and --ratings compare several.")

    @property
    def is_boosted(self) -> bool:
        """Whether the first method learns from pairs of documents, not from labels."""
        return self.names[0] in BOOSTED

    def refiners(self, *, eta: float | None = None) -> dict[str, Any]:
        """Return a refiner for each name; ``eta`` is the default of methods that have one."""
        import plackett

        options = self.options if eta is None else {"eta": eta, **self.options}
        return {
            name: getattr(plackett, METHODS[name])(
                **{PARAMETERS[key][0]: value for key, value in options.items() if name in PARAMETERS[key][1]}
            )
            for name in self.names
        }
