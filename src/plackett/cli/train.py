"""``plackett train``: fit a ranker to judged lists, or to clicks, and save it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import click

import plackett as pk
from plackett._names import count_of
from plackett._progress import is_watched
from plackett.cli.fit_summary import Fit, as_dict, print_summary, step_word
from plackett.cli.shared import clusters, completion, inputs, options, output, own_parts, parameters, results
from plackett.cli.shared.clusters import Cluster
from plackett.cli.shared.options import CLICKS, Numbers, Options, Source, command, option
from plackett.cli.shared.rankers import DEFAULT, RankerCommand
from plackett.exceptions import DataWarning, warn

CHOOSE_L2_IN_FIT = ("qsvm", "knn-svm", "indv-svm", "query-dependent")  # rankers whose l2 may hold several strengths
ANY_LOSS = ("linear", "trees", "neural", "kernel")  # rankers that take any loss
LOSS_OF_CLICKS = "softmax"


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

    def check(self, data: list[str]) -> None:
        """Raise if an option needs a log, or if there are no data."""
        if self.log is None:
            for name in ("correct", "propensities", "clip"):
                if getattr(self, name) is not None:
                    raise click.BadParameter(f"--{name} requires --clicks LOG.")
            if not data:
                raise click.BadParameter("DATA is missing: give judged lists, or features and --clicks LOG.")
        elif self.correct == "naive" and self.propensities is not None:
            raise click.BadParameter("--correct naive needs no --propensities.")

    def labels(self, features: pk.Queries | None, seed: int) -> pk.clicks.CorrectedLabels:
        """Return the labels of the shown documents."""
        from plackett.cli.clicks import propensities_of

        assert self.log is not None
        log = pk.clicks.read_clicks(self.log)
        if features is None and log.features is None:
            raise ValueError(f"{self.log} has no features. Give DATA, which holds them by query and document.")
        if features is not None and features.docid is None:
            pair = log.pairs[0]
            warn(
                f"the features have no document names: document {pair[1]!r} of the log is taken for row {pair[1]}, "
                "counted from 0. Give the names, such as in the comments of LETOR rows or with --docid.",
                DataWarning,
            )
        method, found = self.correct or "policy-aware", None
        if method != "naive":
            words = self.propensities or ("trust" if method == "affine" else "harvesting")
            found = propensities_of(words, log, features, seed)
        return pk.clicks.corrected_labels(log, found, method, clip=self.clip, features=features, random_state=seed)


def _list_rankers(ctx: click.Context, param: click.Parameter, is_asked: bool) -> None:
    if is_asked:
        output.write_pairs(completion.known_names("plackett.rankers.registry:ENTRIES").items())
        ctx.exit()


@command(cls=RankerCommand)
@option("Describe each ranker.", "--rankers", is_eager=True, expose_value=False, callback=_list_rankers, is_flag=True)
def train(
    params: dict[str, Any],
    data: list[str] = options.data_argument(required=False),
    model: str = option("Model file.", "-o", metavar="FILE", required=True, written="model"),
    ranker: str | None = option(
        f"Ranker ({DEFAULT}); -r NAME --help: its options.", "-r", metavar="NAME", complete=completion.rankers
    ),
    settings: list[str] = options.SETTINGS_OPTION,
    validation: str | None = option("Lists for early stopping, or for l2.", metavar="DATA", reads="data"),
    metrics: Any = options.measures_option("Measures; the first decides.", "ndcg@10,map"),
    tune_l2: bool = option("Choose l2 by validation."),
    l2_path: list[float] | None = option("Values of l2 to choose from.", type=Numbers(), metavar="L2,L2,…"),
    clicks: Clicks = Clicks(),
    source: Source = Source(),
    cluster: Cluster = Cluster(),
    as_json: bool = options.JSON,
    quiet: bool = options.QUIET,
) -> None:
    """Fit a ranker to judged lists, or to clicks, and save it as a model file."""
    params = _with_settings(params, settings)
    is_tuned, has_clicks = tune_l2 or l2_path is not None, clicks.log is not None
    if is_tuned and validation is None:
        raise click.BadParameter("--tune-l2 and --l2-path need a --validation set.")
    if is_tuned and ("l2" in params or "patience" in params):
        raise click.BadParameter("--l2 and --patience cannot be combined with --tune-l2 and --l2-path.")
    if params.get("patience") is not None and validation is None:
        raise click.BadParameter("--patience needs a --validation set.")
    clicks.check(data)
    cluster.check(data, cache=source.cache)
    if has_clicks and cluster.option:
        raise click.BadParameter("--clicks cannot be combined with a cluster.")

    name = ranker or ("linear" if "loss" in params or has_clicks else DEFAULT)
    if is_tuned and name in CHOOSE_L2_IN_FIT:
        params["l2"], is_tuned = "grid" if l2_path is None else l2_path, False
    with output.doing(f"loading {name}"):
        estimator = _build(name, params, is_tuned=is_tuned)
    note_of_loss = _take_linear_loss(estimator, name, has_loss="loss" in params) if has_clicks else None
    if cluster.option and not getattr(estimator, "takes_parts", False):
        raise click.BadParameter(f"a cluster supports only linear rankers and trees, not {name!r}.")
    fit = Fit(name, estimator.set_params(verbose=is_watched() and not quiet), metrics, model)

    start = time.perf_counter()
    queries: Any = None
    with cluster.connection() as client:
        if client is None and data:
            queries, fit.held_back = inputs.load_sets(
                data, validation, source, needs_labels=not has_clicks, is_quiet=quiet
            )
        else:
            queries = None if client is None else clusters.parts_of(data, client, source)
            fit.held_back = None if validation is None else inputs.load_queries([validation], source)
        weights = None
        if has_clicks:
            labels = clicks.labels(queries, params.get("random_state") or 0)
            queries, fit.clicks = labels.to_queries(), labels.diagnose()
            weights = labels.sample_weight(queries)
            if not quiet:
                output.note("\n".join(filter(None, [f"{fit.clicks}\n", note_of_loss])))
        fit.sizes = queries
        read = time.perf_counter()
        if is_tuned:
            _choose_l2(fit, queries, weights, l2_path)
        else:
            _fit(fit, queries, weights)
        fit.seconds = {"reading": read - start, "fitting": time.perf_counter() - read}
        fit.ranker.set_params(verbose=False)  # not stored in the model
        fit.ranker.save(model)
        _measure(fit, queries, is_on_cluster=client is not None)
    if as_json:
        output.write_json(as_dict(fit))
    elif not quiet:
        print_summary(fit)
        results.next_step_of_model(model)


# --- Options ----------------------------------------------------------------------------------------------------------


def _with_settings(params: dict[str, Any], words: list[str]) -> dict[str, Any]:
    """Return all parameters, those given as ``key=value`` too; raise for those that are given twice."""
    answer = {name: parameters.as_parameter(name, value, f"--{name}") for name, value in params.items()}
    for name, value in parameters.settings_of(words).items():
        if name == "verbose":
            raise click.BadParameter("--set verbose: verbose has its own option, --quiet.")
        if name in params:
            option = "seed" if name == "random_state" else name.replace("_", "-")
            raise click.BadParameter(f"--set {name} and --{option} are the same parameter; give one of them.")
        answer[name] = value
    return answer


def _build(name: str, params: dict[str, Any], *, is_tuned: bool) -> Any:
    """Return the unfitted ranker; raise for unknown parameters and invalid values."""
    if own_parts.is_own_ranker(name):
        raise click.BadParameter(
            f"--ranker {name}: plackett cannot save user-defined rankers. Use it in compare or tune."
        )
    with parameters.usage_errors():
        estimator = pk.ranker(name, **params)
        estimator.check_parameters()
    if not hasattr(estimator, "save"):
        raise click.BadParameter(f"--ranker {name}: plackett cannot save this model. Use it in compare or tune.")
    if is_tuned and "l2" not in estimator.get_params(deep=False):
        raise click.BadParameter(f"--tune-l2 and --l2-path: the ranker {name!r} has no l2.")
    return estimator


def _take_linear_loss(estimator: Any, name: str, *, has_loss: bool) -> str | None:
    """Set a loss that is linear in the labels; return a note if it replaces the requested loss."""
    if not getattr(estimator, "takes_loss_objects", False):
        raise click.BadParameter(
            f"--ranker {name} cannot learn from --clicks: it has no loss that is linear in the labels. Use linear, "
            "kernel, trees or neural."
        )
    if name in ANY_LOSS and not has_loss:
        estimator.set_params(loss=LOSS_OF_CLICKS)
        return None
    own = pk.losses.get_loss(estimator.loss)
    with parameters.usage_errors("--clicks: "):
        linear = pk.losses.linear_form(own)
    if linear is own:
        return None
    estimator.set_params(loss=linear)
    return f"the loss {own!r} was replaced by {linear!r}, which is linear in the labels."


# --- The fit ----------------------------------------------------------------------------------------------------------


def _fit(fit: Fit, queries: Any, weights: Any) -> None:
    """Fit the ranker. After Ctrl-C, save the best model found so far."""
    from plackett.solvers.base import INTERRUPTED

    ranker, held_back = fit.ranker, fit.held_back
    arguments = {} if held_back is None else {"eval_set": held_back, "eval_metric": fit.metrics[0]}
    if weights is not None:
        arguments["sample_weight"] = weights
    try:
        fit.ranker = ranker.fit(queries, **arguments)
    except KeyboardInterrupt:
        n_steps, word = getattr(ranker, "n_iter_", 0), step_word(ranker)
        is_empty = getattr(ranker, "n_rounds_", n_steps) == 0  # rounds kept by a boosted ranker
        if getattr(ranker, "stop_reason_", None) != INTERRUPTED or is_empty:
            output.note("the fit had not started; no model was written.")
            raise
        ranker.set_params(verbose=False).save(fit.model)
        kept = "best coefficients" if word == "iteration" else f"{'' if held_back is None else 'best '}{word}s"
        output.note(f"stopped after {count_of(n_steps, word)}; the {kept} so far are in {fit.model}.")
        raise


def _choose_l2(fit: Fit, queries: Any, weights: Any, strengths: list[float] | None) -> None:
    """Fit the ranker with each l2, and choose on the validation set."""
    try:
        fit.path = fit.ranker.l2_path(
            queries, l2=strengths, sample_weight=weights, eval_set=fit.held_back, eval_metric=fit.metrics[0]
        )
    except KeyboardInterrupt:
        output.note("stopped before l2 was chosen; no model was written.")
        raise
    fit.ranker = fit.path.best


def _measure(fit: Fit, queries: Any, *, is_on_cluster: bool) -> None:
    """Measure the fitted ranker on each set. The model is already saved and survives a Ctrl-C here."""
    sets = {} if fit.clicks is not None or is_on_cluster else {"training": queries}  # measures expect judgements
    sets |= {} if fit.held_back is None else {"validation": fit.held_back}
    try:
        if is_on_cluster:
            fit.sizes, fit.measured["training"] = clusters.measure(queries, fit.ranker, fit.metrics)
        for name, lists in sets.items():
            fit.measured[name] = pk.evaluate(lists, fit.ranker.predict(lists), metrics=fit.metrics).mean()
    except KeyboardInterrupt:
        output.note(f"stopped during the evaluation; the fitted model is in {fit.model}.")
        raise
