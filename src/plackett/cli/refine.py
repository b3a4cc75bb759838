"""``plackett refine``: improve an existing ranking with feedback."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

import plackett as pk
from plackett._names import count_of
from plackett.cli.shared import inputs, options, output, results
from plackett.cli.shared.options import METHOD, Options, Source, command, option, written

if TYPE_CHECKING:
    from plackett.data.feedback.feedback import FeedbackRows

METHODS = {"mrr": "MultiplicativeRefiner", "lrr": "LinearRefiner", "rocchio": "RocchioRefiner"}
BOOSTED = ("mrr", "lrr")
PARAMETERS = {  # parameter -> its option, and the methods that have it
    "n_rounds": ("--rounds", BOOSTED),
    "eta": ("--eta", BOOSTED),
    "gamma": ("--gamma", ("lrr",)),
    "alpha": ("--alpha", ("rocchio",)),
    "beta": ("--beta", ("rocchio",)),
}
DATA = options.data_argument("LETOR or Parquet files, '-', or a known set.")
BASE = option("Base ranking: feature, run, scores, model.", "-b", "--base", metavar="WHAT", required=True)
PIN_JUDGED = option("Pin judged documents first or last.", "--pin-judged", is_flag=True)


@dataclass(frozen=True)
class Methods(Options):
    """The refiners that are named, and their parameters."""

    method: str = option(
        "mrr, lrr, rocchio; trials take several.", metavar="NAMES", default="mrr", panel=METHOD, choice=METHODS
    )
    n_rounds: int | None = option("mrr, lrr: rounds (50).", "--rounds", min=1, panel=METHOD)
    eta: float | None = option("mrr, lrr: noise of the feedback.", min=0.0, max=1, panel=METHOD)
    gamma: float | None = option("lrr: weight of the base (0.1).", min=0.0, panel=METHOD)
    alpha: float | None = option("rocchio: weight of the relevant (2).", min=0.0, panel=METHOD)
    beta: float | None = option("rocchio: weight of the irrelevant (1).", min=0.0, panel=METHOD)
    relevant_from: float | None = option("Labels of X or more count 1, others 0.", panel=METHOD)

    def __post_init__(self) -> None:
        if len(set(self.names)) < len(self.names):
            raise click.BadParameter(f"--method {self.method}: a method is named twice.")
        for param in self.params():
            option, having = PARAMETERS[param]
            if not set(having) & set(self.names):
                raise click.BadParameter(f"{option} is a parameter of {' and '.join(having)}, not of {self.method}.")

    @property
    def names(self) -> list[str]:
        """The names of the methods."""
        return [name.strip() for name in self.method.split(",")]

    def params(self) -> dict[str, Any]:
        """Return the parameters that were given."""
        return {name: value for name in PARAMETERS if (value := getattr(self, name)) is not None}

    def refiners(self, **defaults: Any) -> dict[str, Any]:
        """Return a refiner for each name."""
        params = {**defaults, **self.params()}
        return {
            name: getattr(pk, METHODS[name])(
                **{param: value for param, value in params.items() if name in PARAMETERS[param][1]}
            )
            for name in self.names
        }


@options.group_of_commands()
def refine() -> None:
    """Refine a ranking with judgements or clicks; plackett refine trial --help: what that is worth."""


@command(refine, "")
def by_feedback(
    data: list[str] = DATA,
    base: str = BASE,
    feedback: list[str] = option("Judgements, pairs, clicks: qrels, CSV, JSONL.", "-f", metavar="FILE", reads="file"),
    judgements: list[str] = option("", "-j", hidden=True),
    strategy: str | None = option(
        "Click strategy (clicked-above-skipped).", choice="plackett.data.feedback.clicks:STRATEGIES"
    ),
    pin_judged: bool = PIN_JUDGED,
    methods: Methods = Methods(),
    target: str = written("scores"),
    tag: str | None = options.TAG,
    source: Source = Source(),
    as_json: bool = options.JSON,
) -> None:
    """Refine a ranking with judgements or clicks; plackett refine trial --help: what that is worth."""
    feedback += judgements  # an alias
    if not feedback:
        raise click.BadParameter("--feedback (-f) is missing.")
    if len(methods.names) > 1:
        raise click.BadParameter("--feedback takes one --method; plackett refine trial compares several.")
    if as_json and (target != "-" or tag is not None):
        raise click.BadParameter("--json prints to standard output; it cannot be combined with --output or --run.")

    queries, ranks_now = _read_base(base, data, source)
    from plackett.rankers.refinement.base_score import as_base_score
    from plackett.rankers.refinement.judgements import as_relevance

    rows = _read_feedback(feedback, strategy, queries)
    rows = rows._replace(y=as_relevance(rows.y, methods.relevant_from))
    before = as_base_score(ranks_now, queries)
    after = _refined(queries, ranks_now, before, rows, methods)
    _echo_base(ranks_now, queries)
    if pin_judged:
        after = queries.pin_judged(after, rows.y)
        n_judged = int((rows.y == rows.y).sum())
        put = f"{count_of(n_judged, 'judged document is', 'judged documents are')} put first or last"
        output.note(put if n_judged else "no document was judged; --pin-judged has no effect")
    if as_json:
        output.write_json(_as_dict(queries, before, after, rows, methods.method))
    else:
        results.write_scores(queries, after, target, tag)
        results.next_step_of_scores(target, is_run=tag is not None)


@command(refine)
def trial(
    data: list[str] = DATA,
    base: str = BASE,
    n: int = option("Labels of DATA judge the first N.", "-n", min=1, default=10),
    pin_judged: bool = PIN_JUDGED,
    methods: Methods = Methods(),
    metrics: Any = options.measures_option("Measures.", "p@1,p@5,p@10,map"),
    source: Source = Source(),
    as_json: bool = options.JSON,
) -> None:
    """Judge the first documents of each list by the labels of DATA, and measure the ranking before and after."""
    queries, ranks_now = _read_base(base, data, source)
    how: dict[str, Any] = {"n_judged": n, "relevant_from": methods.relevant_from, "pin_judged": pin_judged}
    found = pk.evaluation.relevance_feedback(queries, ranks_now, methods.refiners(), metrics=metrics, **how)
    _echo_base(ranks_now, queries)
    if as_json:
        output.write_json(found.to_dict())
        return
    output.write_table(found.to_table())
    judged = count_of(int(found.judged.sum()), "document")
    output.note(f"{count_of(queries.n_queries, 'query', 'queries')}, {judged} judged; p-values: paired t-test")
    output.notes(found.notes)


# --- The base and the feedback ----------------------------------------------------------------------------------------


def _read_base(base: str, data: list[str], source: Source) -> tuple[pk.Queries, Any]:
    """Load the data, and the base as a column or as scores of its rows."""
    if base == "-":
        raise click.BadParameter("standard input (-) can be used for DATA or for feedback, not for --base.")
    queries = inputs.load_queries(data, source)
    name = inputs.name_of_data(data)
    inputs.check_features(queries, name)
    return queries, inputs.read_ranking(base, queries, name)


def _echo_base(ranks_now: Any, queries: pk.Queries) -> None:
    """Print which feature is the base, if it is one."""
    from plackett.validation import feature_number

    if isinstance(ranks_now, int):
        output.note(f"the base is {feature_number(ranks_now, queries.first_index, queries.feature_names)}")


def _read_feedback(paths: list[str], strategy: str | None, queries: pk.Queries) -> FeedbackRows:
    """Match the feedback to the documents of the data; print notes on merged, contradictory and ignored feedback."""
    how: dict[str, Any] = {} if strategy is None else {"strategy": strategy}
    feedback = sum((pk.read_feedback(path, **how) for path in paths), pk.Feedback.empty())
    if queries.docid is None:
        raise ValueError("the data have no document names (# docid = NAME) to match feedback with.")
    rows = feedback.for_queries(queries)
    if not rows.pairs.size and (rows.y != rows.y).all():
        name = " and ".join(paths)
        raise ValueError(f"{name} has no feedback on the data; the ids of queries and documents must be the same.")
    if feedback.n_duplicates:
        merged = count_of(feedback.n_duplicates, "duplicate statement was", "duplicate statements were")
        output.note(f"{merged} merged")
    if feedback.n_disputed:
        judged = count_of(feedback.n_disputed, "document was", "documents were")
        output.note(f"{judged} judged with different labels; the mean of these labels is used")
    if feedback.n_contradictory:
        pairs = count_of(feedback.n_contradictory, "pair of documents is", "pairs of documents are")
        output.note(f"{pairs} contradictory: each document is preferred in some statements; both preferences count")
    if rows.n_unmatched:
        words = ("judgement or preference", "judgements or preferences")
        ignored = count_of(rows.n_unmatched, *(words if feedback.preferences.qid.size else ["judged document"]))
        output.note(f"{ignored} ignored: not in the data")
    return rows


# --- Refinement -------------------------------------------------------------------------------------------------------


def _refined(queries: pk.Queries, ranks_now: Any, before: Any, rows: FeedbackRows, methods: Methods) -> Any:
    """Return scores in the order of ``queries.X``; lists without usable feedback keep the base scores."""
    import numpy as np

    is_boosted = methods.method in BOOSTED
    is_refined = _learns(queries, rows, methods, is_boosted=is_boosted)
    if not is_refined.any():
        return before
    targets: dict[str, Any] = {"pairs": rows.as_pairs()[0]} if is_boosted and rows.pairs.size else {"y": rows.y}
    (refiner,) = methods.refiners(eta=rows.eta).values()
    scores = refiner.fit(queries, base_score=ranks_now, **targets).scores_
    return np.where(is_refined[queries.query_of_row], scores, before)


def _learns(queries: pk.Queries, rows: FeedbackRows, methods: Methods, *, is_boosted: bool) -> Any:
    """Return for each query whether its feedback can be learned from; print notes about the others."""
    import numpy as np

    method, starts, labels = methods.method, queries.grouped.indptr[:-1], queries.in_groups(rows.y)
    has_labels = np.logical_or.reduceat(~np.isnan(labels), starts)
    has_pairs = np.zeros(queries.n_queries, dtype=bool)
    has_pairs[queries.query_of_row[rows.pairs[:, 0]]] = True
    preferences = count_of(len(rows.pairs), "preference")
    if is_boosted:
        has_levels = np.fmax.reduceat(labels, starts) > np.fmin.reduceat(labels, starts)
        learns = has_pairs | has_levels
        if has_pairs.any():
            output.note(f"{preferences} between documents, eta {rows.eta if methods.eta is None else methods.eta:.2g}")
        n_level = int((has_labels & has_pairs & ~has_levels).sum())
        if n_level:
            have = count_of(n_level, "query has", "queries have")
            output.note(f"{have} labels that are all equal; {method} learns from the preferences alone there")
    else:
        learns = has_labels
        if not has_labels.any():
            raise ValueError(f"{method} learns from labels, but there are only {preferences}. Try mrr.")
        if has_pairs.any():
            output.note(f"{method} learns from labels; {preferences} ignored")
    for is_so, why in (
        (~has_labels & ~has_pairs, "no feedback"),
        ((has_labels | has_pairs) & ~learns, f"feedback without a better and a worse document for {method}"),
    ):
        if is_so.any():
            have = count_of(int(is_so.sum()), "query has", "queries have")
            output.note(f"{have} {why} and {'keeps' if is_so.sum() == 1 else 'keep'} the scores of the base")
    return learns


def _as_dict(queries: pk.Queries, before: Any, after: Any, rows: FeedbackRows, method: str) -> dict[str, Any]:
    """Return every list in its new order, with the previous rank of each document."""
    import numpy as np

    docid: Any = queries.docid
    lists = []
    for place, key in enumerate(queries.ids.tolist()):
        own = queries.rows_of(place)
        rank = dict(zip(own[np.argsort(-before[own], kind="stable")].tolist(), range(1, own.size + 1), strict=True))
        documents = [
            {
                "docid": str(docid[row]),
                "score": float(after[row]),
                "base_score": float(before[row]),
                "base_rank": rank[row],
                "judged": float(rows.y[row]),  # null if it is NaN
            }
            for row in own[np.argsort(-after[own], kind="stable")].tolist()
        ]
        lists.append({"qid": key, "documents": documents})
    n_judged, n_preferences = int((~np.isnan(rows.y)).sum()), len(rows.pairs)
    return {"method": method, "n_judged": n_judged, "n_preferences": n_preferences, "queries": lists}
