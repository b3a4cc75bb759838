"""``plackett clicks evaluate``: the value of rankings, estimated from clicks on others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from plackett.storage.remote import local_files

if TYPE_CHECKING:
    from plackett.cli.clicks import Columns
    from plackett.clicks.log import ClickLog
    from plackett.data.queries import Queries

LOGGED = "logged"


def evaluate_clicks(
    path: str,
    words: list[str],
    metric: str,
    propensities: str | None,
    settings: dict[str, Any],
    columns: Columns,
    form: str,
) -> None:
    """Print the values of rankings: runs, models, scores of the rows of a LETOR file, or the logged order."""
    from plackett._warnings import recorded
    from plackett.cli.shared import comparisons, files, inputs, output
    from plackett.cli.shared.propensities import propensities_of
    from plackett.clicks.counterfactual.evaluate import evaluate_from_clicks
    from plackett.clicks.counterfactual.result import ClickEvaluations
    from plackett.clicks.counterfactual.slates import BY_LOGGING
    from plackett.clicks.propensities.estimate import METHODS
    from plackett.exceptions import warn

    if "," in metric.partition("(")[0]:
        raise click.BadParameter("give one measure, such as -m dcg@5 or -m clicks.")
    files.check_exists(*(word for word in words if word != LOGGED and not files.is_known_name(word)))
    log = columns.read((path,))
    features = None
    if _is_data(words[0]):
        features, words = inputs.load_queries(words[:1]), words[1:]
        if not words:
            raise click.BadParameter("rankings are missing: give runs, models, files of scores, or the word logged.")
    if settings.get("estimator") in BY_LOGGING:
        settings["logging"] = "shuffled"
    if propensities is not None:
        # regression-em scores the features
        is_method = propensities in METHODS and (features is None or propensities != "regression-em")
        settings["propensities"] = propensities if is_method else propensities_of(propensities, log, features, 0)
    rankings = {
        name: _ranking(word, features, log)
        for name, word in zip(comparisons.names_of(words, words), words, strict=True)
    }
    with recorded() as caught:
        found = evaluate_from_clicks(log, rankings, metric=metric, **settings)
    assert isinstance(found, ClickEvaluations)
    notes = dict.fromkeys(note for one in found.results.values() for note in one.notes)
    for one in caught:
        if str(one.message) not in notes:  # others are shown as notes
            warn(str(one.message), one.category)
    if form == "json":
        output.write_json(found.to_dict())
        return
    tables = [found.to_table(), *([found.to_differences()] if found.differences else [])]
    way = {"table": "to_text", "csv": "to_csv", "markdown": "to_markdown", "latex": "to_latex"}[form]
    output.write("\n\n".join(getattr(table, way)().rstrip("\n") for table in tables))
    first = next(iter(found.results.values()))
    output.note(f"{first.n_sessions:,} sessions with {first.n_clicks:,} clicks, estimator {first.estimator}")
    for note in notes:
        output.note(note)


@local_files
def _is_data(word: str) -> bool:
    """Whether an argument names rows with features rather than a ranking."""
    from plackett.cli.shared import files, inputs
    from plackett.exceptions import DataFormatError

    if word == LOGGED or files.is_known_name(word):
        return word != LOGGED
    if inputs.is_model(word):
        return False
    try:
        return inputs.is_letor(word)
    except DataFormatError:  # neither LETOR rows nor qrels, such as a run
        return False


def _ranking(word: str, features: Queries | None, log: ClickLog) -> Any:
    """Return the ranking that an argument names: LOGGED, a run, or a ranker."""
    from plackett.cli.shared import inputs, models
    from plackett.data.text_table import read_scores
    from plackett.data.trec.files import read_trec_run
    from plackett.data.trec.run import Run

    if word == LOGGED:
        return LOGGED
    if inputs.is_model(word):
        ranker = models.load_ranker(word)
        if features is None:
            if log.features is None:
                raise ValueError(
                    f"{word} is a model, which needs features: give a LETOR file with the documents of the log, as in "
                    f"plackett clicks evaluate LOG features.txt {word}."
                )
            return ranker
        return Run.from_scores(features, ranker.predict(models.for_model(features, ranker, "the features", word)))
    if features is not None:
        try:
            scores = read_scores(word)
        except ValueError:
            return read_trec_run(word)
        if scores.size != features.n_docs:
            raise ValueError(f"{word} has {scores.size:,} scores but the features have {features.n_docs:,} rows.")
        return Run.from_scores(features, scores)
    return read_trec_run(word)
