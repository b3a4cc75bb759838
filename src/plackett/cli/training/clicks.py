"""Training from clicks: labels of a click log, and losses that may learn from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from plackett.cli.shared.options import CLICKS, Options, option

if TYPE_CHECKING:
    from plackett.clicks.correction.diagnosis import CorrectionDiagnosis
    from plackett.data.queries import Queries

DEFAULT_LOSS, DEFAULT_METHOD = "softmax", "policy-aware"
ANY_LOSS = ("linear", "trees", "neural", "kernel")  # rankers that take any loss


class ClickLabels(NamedTuple):
    """Queries with labels from clicks, their weights, and a diagnosis of the labels."""

    queries: Queries
    weights: Any
    diagnosis: CorrectionDiagnosis


@dataclass(frozen=True)
class Clicks(Options):
    """A click log to learn from, and how its labels are corrected."""

    log: str | None = option(
        "Learn from clicks; DATA holds the features.", "--clicks", metavar="LOG", reads="file", panel=CLICKS
    )
    correct: str | None = option(
        "naive, ips, affine, policy-aware, dr.",
        metavar="METHOD",
        choice="plackett.clicks.correction.correct:METHODS",
        panel=CLICKS,
    )
    propensities: str | None = option("A file, numbers, harvesting, em, trust, …", metavar="FILE", panel=CLICKS)
    clip: float | None = option("Smallest propensity.", metavar="X", min=0.0, max=1.0, panel=CLICKS)

    @property
    def method(self) -> str:
        """How labels are corrected."""
        return self.correct or DEFAULT_METHOD

    def check(self, data: list[str]) -> None:
        """Raise if an option needs a log, or if there are no data."""
        if self.log is None:
            for option in ("correct", "propensities", "clip"):
                if getattr(self, option) is not None:
                    raise click.BadParameter(f"--{option} requires --clicks LOG.")
            if not data:
                raise click.BadParameter("DATA is missing: give judged lists, or features and --clicks LOG.")
            return
        if self.method == "naive" and self.propensities is not None:
            raise click.BadParameter("--correct naive needs no --propensities.")

    def labels(self, features: Queries | None, seed: int) -> ClickLabels:
        """Return the shown documents with labels from clicks."""
        from plackett.cli.shared.propensities import propensities_of
        from plackett.clicks.correction.correct import corrected_labels
        from plackett.clicks.reading.read import read_clicks
        from plackett.exceptions import DataWarning, warn

        assert self.log is not None
        log = read_clicks(self.log)
        if features is None and log.features is None:
            raise ValueError(f"{self.log} has no features. Give DATA, which holds them by query and document.")
        if features is not None and features.docid is None:
            pair = log.pairs[0]
            warn(
                f"the features have no document names: document {pair[1]!r} of the log is taken for row {pair[1]}, "
                "counted from 0. Give the names, such as in the comments of LETOR rows or with --docid.",
                DataWarning,
            )
        given = self.propensities or ("trust" if self.method == "affine" else "harvesting")
        found = None if self.method == "naive" else propensities_of(given, log, features, seed)
        labels = corrected_labels(log, found, self.method, clip=self.clip, features=features, random_state=seed)
        queries = labels.to_queries()
        return ClickLabels(queries, labels.sample_weight(queries), labels.diagnose())


def take_linear_loss(estimator: Any, name: str, *, has_loss: bool) -> str | None:
    """Set a loss that is linear in the labels; return a note if it replaces the requested loss."""
    from plackett.losses import get_loss, linear_form

    if not getattr(estimator, "takes_loss_objects", False):
        raise click.BadParameter(
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
        raise click.BadParameter(f"--clicks: {error}") from error
    if linear is own:
        return None
    estimator.set_params(loss=linear)
    return f"the loss {own!r} was replaced by {linear!r}, which is linear in the labels."
