"""Training from clicks: labels of a click log, and losses that may learn from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import typer

if TYPE_CHECKING:
    from plackett.clicks.correction.diagnosis import CorrectionDiagnosis
    from plackett.clicks.log import ClickLog
    from plackett.clicks.propensities.propensities import Propensities
    from plackett.data.queries import Queries

DEFAULT_LOSS, DEFAULT_METHOD = "softmax", "policy-aware"
ANY_LOSS = ("linear", "trees", "neural", "kernel")  # rankers that take any loss


class Options(NamedTuple):
    """A click log, and how its labels are corrected; None uses the defaults."""

    log: str
    method: str
    propensities: str | None
    clip: float | None


class ClickLabels(NamedTuple):
    """Queries with labels from clicks, their weights, and a diagnosis of the labels."""

    queries: Queries
    weights: Any
    diagnosis: CorrectionDiagnosis


def options_of(
    clicks: str | None, correct: str | None, propensities: str | None, clip: float | None, data: list[str]
) -> Options | None:
    """Return the options about clicks, or None; raise if an option needs a log, or if there are no data."""
    from plackett.clicks.correction.correct import METHODS
    from plackett.validation import check_choice

    if clicks is None:
        for option, value in (("--correct", correct), ("--propensities", propensities), ("--clip", clip)):
            if value is not None:
                raise typer.BadParameter(f"{option} requires --clicks LOG.")
        if not data:
            raise typer.BadParameter("DATA is missing: give judged lists, or features and --clicks LOG.")
        return None
    method = correct or DEFAULT_METHOD
    check_choice(method, "correct", tuple(METHODS))
    if method == "naive" and propensities is not None:
        raise typer.BadParameter("--correct naive needs no --propensities.")
    return Options(clicks, method, propensities, clip)


def take_linear_loss(estimator: Any, name: str, *, has_loss: bool) -> str | None:
    """Set a loss that is linear in the labels; return a note if it replaces the requested loss."""
    from plackett.losses import get_loss, linear_form

    if not getattr(estimator, "takes_loss_objects", False):
        raise typer.BadParameter(
            f"--ranker {name} cannot learn from --clicks: it has no loss that is linear in the labels. Use linear, "
            "kernel, trees or neural."
        )
    if name in ANY_LOSS and not has_loss:
        estimator.set_params(loss=DEFAULT_LOSS)
        return None
    own = get_loss(estimator.loss)
    try:
        linear = linear_form(own)
    except ValueError as error:
        raise typer.BadParameter(f"--clicks: {error}") from error
    if linear is own:
        return None
    estimator.set_params(loss=linear)
    return f"the loss {own!r} was replaced by {linear!r}, which is linear in the labels."


def label_by_clicks(options: Options, features: Queries | None, seed: int) -> ClickLabels:
    """Return the shown documents with labels from clicks."""
    from plackett.clicks.correction.correct import corrected_labels
    from plackett.clicks.reading.read import read_clicks

    log = read_clicks(options.log)
    if features is None and log.features is None:
        raise ValueError(f"{options.log} has no features. Give DATA, which holds them by query and document.")
    found = None if options.method == "naive" else _propensities(options, log, features, seed)
    labels = corrected_labels(
        log, found, options.method, clip=options.clip, features=features, random_state=seed
    )  # fmt: skip
    queries = labels.to_queries()
    return ClickLabels(queries, labels.sample_weight(queries), labels.diagnose())


def _propensities(options: Options, log: ClickLog, features: Queries | None, seed: int) -> Propensities:
    """Return propensities: estimated by the method of that name, given as numbers, or loaded from a file."""
    from plackett.cli.shared.propensities import propensities_of

    given = options.propensities or ("trust" if options.method == "affine" else "harvesting")
    return propensities_of(given, log, features, seed)
