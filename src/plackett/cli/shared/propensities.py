"""Propensities of the option ``--propensities``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from plackett.clicks.log import ClickLog
    from plackett.clicks.propensities.propensities import Propensities
    from plackett.data.queries import Queries


def propensities_of(given: str, log: ClickLog, features: Queries | None, seed: int) -> Propensities:
    """Return propensities: estimated by the method of that name, given as numbers, or loaded from a file."""
    from plackett.clicks.propensities.estimate import METHODS, estimate_propensities
    from plackett.clicks.propensities.propensities import Propensities

    if given in METHODS:
        if given == "regression-em" and features is not None:
            log = log.with_features(features)
        return estimate_propensities(log, given, random_state=seed)
    try:
        return Propensities([float(part) for part in given.split(",")])
    except ValueError:
        pass
    try:
        return Propensities.load(given)
    except FileNotFoundError:
        raise click.BadParameter(
            f"--propensities {given}: there is no such file; give a file of Propensities.save, numbers such as "
            f"1,0.6,0.4, or a method: {', '.join(METHODS)}."
        ) from None
