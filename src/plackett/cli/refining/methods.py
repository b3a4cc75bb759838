"""The methods of ``plackett refine`` and their parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click

from plackett.cli.shared import completion
from plackett.cli.shared.options import METHOD, Number, Options, one

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

    method: str = one(
        "--method", metavar="NAMES", default="mrr", help="mrr, lrr, rocchio; trials take several.", panel=METHOD,
        complete=completion.of_names(METHODS),
    )  # fmt: skip
    n_rounds: int | None = one("--rounds", type=click.IntRange(min=1), help="mrr, lrr: rounds (50).", panel=METHOD)
    eta: float | None = one("--eta", type=Number(0, 1), help="mrr, lrr: noise of the feedback.", panel=METHOD)
    gamma: float | None = one("--gamma", type=AT_LEAST_0, help="lrr: weight of the base (0.1).", panel=METHOD)
    alpha: float | None = one("--alpha", type=AT_LEAST_0, help="rocchio: weight of the relevant (2).", panel=METHOD)
    beta: float | None = one("--beta", type=AT_LEAST_0, help="rocchio: weight of the irrelevant (1).", panel=METHOD)
    relevant_from: float | None = one(
        "--relevant-from", type=float, help="Labels of X or more count 1, others 0.", panel=METHOD
    )

    def __post_init__(self) -> None:
        from plackett.validation import check_choice

        for name in self.names:
            check_choice(name, "method", tuple(METHODS))
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
