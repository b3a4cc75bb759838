"""The methods of ``plackett refine`` and their parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click

from plackett.cli.shared.options import METHOD, Number, Options, option

METHODS = {"mrr": "MultiplicativeRefiner", "lrr": "LinearRefiner", "rocchio": "RocchioRefiner"}
BOOSTED = ("mrr", "lrr")
PARAMETERS = {  # parameter -> its option, and the methods that have it
    "n_rounds": ("--rounds", BOOSTED),
    "eta": ("--eta", BOOSTED),
    "gamma": ("--gamma", ("lrr",)),
    "alpha": ("--alpha", ("rocchio",)),
    "beta": ("--beta", ("rocchio",)),
}
AT_LEAST_0 = Number(min=0, max=float("inf"), max_open=True)


@dataclass(frozen=True)
class Methods(Options):
    """The refiners that are named, and their parameters."""

    method: str = option(
        "mrr, lrr, rocchio; trials take several.", metavar="NAMES", default="mrr", panel=METHOD, choice=METHODS
    )
    n_rounds: int | None = option("mrr, lrr: rounds (50).", "--rounds", min=1, panel=METHOD)
    eta: float | None = option("mrr, lrr: noise of the feedback.", min=0.0, max=1, panel=METHOD)
    gamma: float | None = option("lrr: weight of the base (0.1).", type=AT_LEAST_0, panel=METHOD)
    alpha: float | None = option("rocchio: weight of the relevant (2).", type=AT_LEAST_0, panel=METHOD)
    beta: float | None = option("rocchio: weight of the irrelevant (1).", type=AT_LEAST_0, panel=METHOD)
    relevant_from: float | None = option("Labels of X or more count 1, others 0.", panel=METHOD)

    def __post_init__(self) -> None:
        if len(set(self.names)) < len(self.names):
            raise click.BadParameter(f"--method {self.method}: a method is named twice.")
        for param in self.given():
            option, having = PARAMETERS[param]
            if not set(having) & set(self.names):
                raise click.BadParameter(f"{option} is a parameter of {' and '.join(having)}, not of {self.method}.")

    @property
    def names(self) -> list[str]:
        """The names of the methods."""
        return [name.strip() for name in self.method.split(",")]

    def given(self) -> dict[str, Any]:
        """Return the parameters that were given."""
        return {name: value for name in PARAMETERS if (value := getattr(self, name)) is not None}

    @property
    def is_boosted(self) -> bool:
        """Whether the first method learns from pairs of documents, not from labels."""
        return self.names[0] in BOOSTED

    def refiners(self, *, eta: float | None = None) -> dict[str, Any]:
        """Return a refiner for each name; ``eta`` is the default of methods that have one."""
        import plackett

        params = self.given() if eta is None else {"eta": eta, **self.given()}
        return {
            name: getattr(plackett, METHODS[name])(
                **{param: value for param, value in params.items() if name in PARAMETERS[param][1]}
            )
            for name in self.names
        }
