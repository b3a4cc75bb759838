"""Measures of scores against labels, query by query, under a named convention."""

from __future__ import annotations

import contextlib
import functools
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Unpack

import numpy as np

from plackett._drawing import COLOURS, axes_of, draw_references
from plackett._lazy import importing
from plackett._optional import import_optional
from plackett._tables import Column, Table, csv_text, json_value, notebook_html, plain_id
from plackett.data.judged import Columns, as_judged, check_columns, check_no_columns
from plackett.data.list_warnings import warn_of_one_list
from plackett.data.queries import Queries
from plackett.data.tables.arrow_table import is_frame
from plackett.data.trec.pool import join
from plackett.data.trec.qrels import Qrels
from plackett.data.trec.run import Run
from plackett.evaluation.reference_scores import (
    BEST_FEATURE,
    RANDOM_ORDER,
    best_single_features,
    notes_on_sampling,
    random_values,
)
from plackett.metrics.conventions import CONVENTIONS, Convention, get_convention
from plackett.metrics.judged_lists import JudgedLists, judge, mean_of_counted
from plackett.metrics.measure import Measure, split_measures
from plackett.storage.file_names import is_table
from plackett.storage.remote import is_remote
from plackett.validation import check_index, check_labels, check_scores, count_of

DEFAULT_METRICS = ("ndcg@10", "map", "mrr")


@dataclass(eq=False, repr=False)
class Evaluation:
    """Values of measures, query by query; returned by `evaluate`.

    Indexing with the name of a measure gives its values, one per query. NaN marks a query that the convention skips.

    Attributes
    ----------
    metrics : list of str
        The measures, named as in the call.
    queries : ndarray of shape (n_queries,)
        Query ids.
    values : ndarray of shape (n_queries, n_metrics)
        The value of each measure for each query; NaN if the convention skips the query.
    convention : str
        The convention under which the values were computed.
    n_empty : dict of str to int
        For each measure, how many queries have no relevant document or are too short.
    notes : list of str
        Remarks on the data, such as skipped queries.
    reference_scores : dict of str to dict
        For "random order" and "best feature" the value of each measure; empty unless requested.
    best_features : dict of str to str
        For each measure the feature behind its "best feature" score.
    corrected : Corrected or None
        With ``model_labels``: the means by people and a model together. The other values are those of people alone.

    Examples
    --------
    >>> import plackett as pk
    >>> result = pk.evaluate([2, 0, 1, 0, 1], [0.9, 0.4, 0.1, 0.7, 0.2], qid=[1, 1, 1, 2, 2], metrics="ndcg@10,map")
    >>> result
    Evaluation(2 queries × ndcg@10, map; convention 'standard')
    >>> print(result)
          ndcg@10     map
    mean   0.7974  0.6667
    2 queries, convention standard
    """

    metrics: list[str]
    queries: np.ndarray
    values: np.ndarray
    _: KW_ONLY
    convention: str
    n_empty: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    reference_scores: dict[str, dict[str, float]] = field(default_factory=dict)
    best_features: dict[str, str] = field(default_factory=dict)
    corrected: Any = None

    def __getitem__(self, metric: str | Measure) -> np.ndarray:
        try:
            return self.values[:, self.metrics.index(find_metric(metric, self.metrics))]
        except ValueError as error:
            raise KeyError(str(error)) from None

    def __len__(self) -> int:
        return self.queries.size

    def mean(self) -> dict[str, float]:
        """Return the mean of each measure over the queries that count, NaN if none does."""
        return {metric: mean_of_counted(self.values[:, column]) for column, metric in enumerate(self.metrics)}

    def _rows(self) -> list[list[Any]]:
        """Return the id and the values of every query."""
        return [[key, *row] for key, row in zip(self.queries.tolist(), self.values.tolist(), strict=True)]

    def rows(self) -> list[tuple[str, dict[str, float]]]:
        """Return the rows of the summary: the mean and the reference scores."""
        return [("mean", self.mean()), *self.reference_scores.items()]

    def to_dict(self, *, per_query: bool = True) -> dict[str, Any]:
        """Return plain values for JSON; NaN becomes None."""
        answer: dict[str, Any] = {
            "convention": self.convention,
            "n_queries": len(self),
            "mean": json_value(self.mean()),
            "n_empty": self.n_empty,
        }
        if self.reference_scores:
            answer["reference_scores"] = json_value(self.reference_scores)
        if self.best_features:
            answer["best_features"] = self.best_features
        if self.notes:
            answer["notes"] = self.notes
        if self.corrected is not None:
            answer["corrected"] = self.corrected.to_dict()
        if per_query:
            answer["queries"] = [
                {"qid": plain_id(key), **json_value(dict(zip(self.metrics, row, strict=True)))}
                for key, *row in self._rows()
            ]
        return answer

    def to_json(self, *, per_query: bool = True, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON text."""
        values = self.to_dict(per_query=per_query)
        text = json.dumps(values, indent=indent, ensure_ascii=False)
        try:
            text.encode()
        except UnicodeEncodeError:  # ids that are not valid UTF-8 in their file cannot be encoded, only escaped
            return json.dumps(values, indent=indent)
        return text

    def to_csv(self) -> str:
        """Return the per-query values as CSV, one line per query, with the convention in the last column."""
        rows = [[*row, self.convention] for row in self._rows()]
        return csv_text(["qid", *self.metrics, "convention"], rows)

    def to_table(self, *, per_query: bool = False, heading: str | None = None, digits: int = 4) -> Table:
        """Return the summary as a `Table`; with ``per_query``, below a row for each query.

        Parameters
        ----------
        per_query : bool, default=False
        heading : str, default=None
            Name of the first column; None takes the name of the convention.
        digits : int, default=4
            Decimal places.
        """
        first = Column(self.convention if heading is None else heading, "text")
        return Table(
            [first, *(Column(metric, digits=digits) for metric in self.metrics)],
            [[str(key), *values] for key, *values in (self._rows() if per_query else ())],
            [[name, *(row[metric] for metric in self.metrics)] for name, row in self.rows()],
        )

    def to_markdown(self, *, digits: int = 4) -> str:
        """Return the summary as a Markdown table."""
        return self.to_table(digits=digits).to_markdown()

    def to_latex(self, *, digits: int = 4) -> str:
        """Return the summary as a LaTeX ``tabular`` with booktabs rules."""
        return self.to_table(digits=digits).to_latex()

    def to_frame(self):
        """Return the per-query values as a pandas data frame indexed by query; ``frame.attrs`` has the convention."""
        pandas = import_optional("pandas", extra=None, needed_for="Evaluation.to_frame")
        index = pandas.Index(self.queries, name="qid", tupleize_cols=False)
        frame = pandas.DataFrame(self.values, index=index, columns=self.metrics)
        frame.attrs["convention"] = self.convention
        return frame

    def __str__(self) -> str:
        if self.corrected is not None:
            return str(self.corrected)
        return "\n".join([self.to_table(heading="").to_text(), *self._remarks()])

    def __repr__(self) -> str:
        queries = count_of(len(self), "query", "queries")
        return f"Evaluation({queries} × {', '.join(self.metrics)}; convention {self.convention!r})"

    def _repr_html_(self) -> str:
        if self.corrected is not None:
            return self.corrected._repr_html_()
        return notebook_html(self.to_table(heading=""), after=self._remarks())

    def _remarks(self) -> list[str]:
        return [f"{count_of(len(self), 'query', 'queries')}, convention {self.convention}", *self.notes]

    def plot(self, metric: str | Measure | None = None, *, ax: Any = None) -> Any:
        """Plot the value of each query, the highest first, with the mean and the reference scores as dashed lines.

        Parameters
        ----------
        metric : str, default=None
            None plots the first measure.
        ax : matplotlib Axes, default=None
            None makes a new figure.
        """
        name = find_metric(self.metrics[0] if metric is None else metric, self.metrics)
        ax, values = axes_of(ax, needed_for="Evaluation.plot"), self[name]
        values = np.sort(values[~np.isnan(values)])[::-1]
        ax.fill_between(
            np.arange(values.size + 1), np.append(values, values[-1:]), step="post", color=COLOURS[0], alpha=0.8
        )
        draw_references(ax, {row: means[name] for row, means in self.rows()})
        ax.set_xlim(0, max(1, values.size))
        ax.set_xlabel("queries, the best first")
        ax.set_ylabel(name)
        return ax


def find_metric(metric: str | Measure, metrics: Sequence[str]) -> str:
    """Return the one of ``metrics`` that is the same measure: "NDCG@10" finds "ndcg@10"."""
    if isinstance(metric, str) and metric in metrics:
        return metric
    wanted = Measure.parse(metric)
    if str(wanted) in metrics:
        return str(wanted)
    for name in metrics:
        with contextlib.suppress(ValueError):  # the name of a measure of the user
            if Measure.parse(name) == wanted:
                return name
    raise ValueError(f"{str(metric)!r} was not evaluated; the measures are {', '.join(metrics)}.")


def evaluate(
    labels: Any,
    scores: Any = None,
    *,
    ranker: Any = None,
    metrics: Any = DEFAULT_METRICS,
    convention: str | Convention = "standard",
    complete: bool | None = None,
    reference_scores: bool = False,
    model_labels: Any = None,
    sampled: Any = None,
    estimand: str = "queries like these",
    interval: str = "studentised",
    **columns: Unpack[Columns],
) -> Evaluation:
    """Compute ``metrics`` for every query, under the rules of a convention.

    Parameters
    ----------
    labels : array-like of shape (n_docs,), Queries, data frame, path, Qrels, or dict of dicts
        A ``Queries`` has its own query ids, document ids and features, as do a LETOR or Parquet file, a folder of
        Parquet files, or a pattern. For a data frame, or a CSV, TSV or Arrow file, ``qid``, ``label``, ``docid`` and
        ``scores`` name columns. Judgements of single documents, as ``Qrels``, ``{qid: {docid: label}}``, a frame or a
        file with the columns query, docid and rating, need a run as scores.
    scores : array-like of shape (n_docs,), str, Run, dict of dicts, data frame or path
        Higher is better. For a ``Queries`` or files, in the order of their rows. For a data frame, also a column name.
    ranker : fitted ranker, default=None
        Scores the documents, instead of ``scores``. The first argument may then also be data in parts, as
        ``TreeRanker.fit`` takes them: Dask collections (with ``qid`` and ``label``), lists of paths or futures, and,
        with an active Dask client, a path. They are scored and measured where they are; only values come back.
    metrics : sequence of str, Measure or callable, or text with commas, default=("ndcg@10", "map", "mrr")
        A callable is a custom measure: see ``plackett.metrics.make_measure``. A mapping of names to measures names
        the columns.
    convention : str or Convention, default="standard"
        ``standard``, ``paper``, ``letor3``, ``letor4``, ``trec``, ``sklearn``, ``lightgbm``, ``xgboost``, ``gdeval`` or
        ``ranx``: how that tool breaks ties, discounts, and counts queries without a relevant document. ``standard``
        averages ties over all their orders, so the order of the rows has no influence. Parameters of a measure, as
        in ``"ndcg@10(gain=linear)"`` and ``"ndcg@10(convention=letor4)"``, take precedence.
    complete : bool, default=None
        For qrels and a run: whether queries of the qrels that the run does not answer count, with the worst value.
        None follows the convention of each measure (``trec`` and ``gdeval`` skip them, all others count them).
    reference_scores : bool, default=False
        Also compute the exact expectation of a random order and, for a ``Queries``, the value of the best single
        feature, ascending or descending, its ties averaged. That feature is chosen on the same queries, so its value
        is optimistic.
    model_labels : as qrels, default=None
        Labels by a language model for all queries; the qrels are then people's judgements of whole lists of some of
        them. The result's ``corrected`` has the means by both together, with intervals.
    sampled : {"random", "all", "head"}, mapping or path, default=None
        With ``model_labels``: how people's queries were chosen. ``"random"``: drawn by chance; ``"all"``: every query
        is judged; ``"head"``: otherwise, which allows no interval. Or the known probability of each query, as a dict or
        a CSV file with the columns query and probability.
    estimand : {"queries like these", "this set of queries"}, default="queries like these"
        With ``model_labels``: the mean of the population that the queries are a sample of, or that of the set itself.
    interval : {"studentised", "normal"}, default="studentised"
        With ``model_labels``: a studentised bootstrap of queries, or the interval of PPI++ as published.
    **columns
        For labels in an array, ``qid`` is the query of each row, in any order, or one id for all rows; without it, all
        rows are one list. ``docid`` is the document of each row; conventions that break ties by it (``trec``,
        ``gdeval``) need it where scores tie. For a data frame or table, ``qid``, ``label`` and ``docid`` name columns,
        as do ``features``, ``drop`` and ``categorical``, as in ``from_frame``.

    Examples
    --------
    >>> from plackett import evaluate
    >>> result = evaluate([2, 0, 1, 0, 1], [0.9, 0.4, 0.1, 0.7, 0.2], qid=[1, 1, 1, 2, 2], metrics=["ndcg@10", "map"])
    >>> {metric: round(value, 4) for metric, value in result.mean().items()}
    {'ndcg@10': 0.7974, 'map': 0.6667}
    >>> result["map"].round(4)
    array([0.8333, 0.5   ])
    """
    rules = get_convention(convention)
    measures, names = parse_metrics(metrics)
    if callable(getattr(scores, "predict", None)):
        name = type(scores).__name__
        raise TypeError(f"scores is a {name}; pass its scores: evaluate(data, ranker.predict(data)).")
    given = check_columns(columns) if columns else {}
    if (ranker is None) == (scores is None):
        raise TypeError("evaluate needs scores, or ranker=, and not both.")
    if sampled is not None and model_labels is None:
        raise TypeError("sampled says how people's queries were chosen among those of model_labels, which is missing.")
    if ranker is not None:
        if model_labels is not None:
            raise TypeError("model_labels needs qrels and a run; pass the ranker's run as scores.")
        with importing:
            from plackett.evaluation.parts import has_parts, measured_parts

        if has_parts(labels):
            if reference_scores or complete is not None:
                raise ValueError("reference_scores and complete need all rows in one place, but the data are in parts.")
            named = dict(zip(names, measures, strict=True))  # workers do not know the names of users' measures
            ids = given.pop("qid", None), given.pop("label", None)
            check_no_columns(given, "the data are in parts, of which qid and label can be named")
            of_part = functools.partial(evaluate, metrics=named, convention=convention)
            return _joined(measured_parts(labels, ranker, *ids, of_part), measures, rules)
        labels, given = as_judged(labels, **given), {}
        scores = ranker.predict(labels)
    queries: Queries | None = None
    notes: list[str] = []
    if model_labels is not None:
        with importing:
            from plackett.data.runs import as_qrels, as_run
            from plackett.evaluation.judges.corrected import correct

        check_no_columns(given, "qrels and a run have their own ids")
        judged, run = as_qrels(labels), as_run(scores)
        options: dict[str, Any] = {"metrics": dict(zip(names, measures, strict=True)), "convention": convention}
        corrected = correct(
            judged, {run.tag: run}, model_labels, evaluate, **options, complete=complete, sampled=sampled,
            estimand=estimand, interval=interval,
        )  # fmt: skip
        table = evaluate(judged, run, complete=True, reference_scores=reference_scores, **options)
        table.corrected = corrected
        return table
    if isinstance(labels, (Qrels, Mapping)) or is_run_like(scores, labels):
        check_no_columns(given, "qrels and a run have their own ids")
        with importing:
            from plackett.data.runs import as_qrels, as_run
        is_complete = [(measure.convention or rules).is_complete for measure in measures]
        counts = any(is_complete) if complete is None else complete
        lists, notes = _lists_of_run(as_qrels(labels), as_run(scores), counts)
    elif complete is not None:
        raise ValueError("complete was given, but complete is an option for qrels and a run.")
    elif isinstance(labels, (Queries, str, os.PathLike)) or is_frame(labels):
        queries, scores = _with_scores(labels, scores, given, with_features=reference_scores)
        check_judged(queries, measures)
        check_labels(queries.labels, allow_nan=True)
        lists = JudgedLists.of_queries(queries, check_scores(scores, queries.n_docs))
    else:
        qid, docid = given.pop("qid", None), given.pop("docid", None)
        check_no_columns(given, "the labels are an array, which has no columns")
        lists = judge(labels, scores, qid, docid, has_nan=all(measure.kind.takes_unjudged for measure in measures))
        if qid is None:
            warn_of_one_list(lists.scores.size, "evaluate")
    every = {one.name: one for one in (rules, *(measure.convention for measure in measures)) if one is not None}
    notes += [refused for one in every.values() if (refused := one.refused_labels(lists)) is not None]
    values, is_empty = rules.table(measures, lists)
    notes += [
        f"{name}: the equal scores of {count_of(n, 'query', 'queries')} are averaged over random orders"
        for name, n in lists.n_sampled.items()
    ]
    if complete is None and lists.n_retrieved is not None:  # measures of several conventions may differ in this
        values[np.ix_(lists.n_retrieved == 0, np.logical_not(is_complete))] = np.nan
    n_empty = {name: int(is_empty[:, column].sum()) for column, name in enumerate(names)}
    references: dict[str, dict[str, float]] = {}
    best: dict[str, str] = {}
    if reference_scores:
        random = random_values(measures, lists, rules)
        references[RANDOM_ORDER] = {name: mean_of_counted(random[:, column]) for column, name in enumerate(names)}
        notes += notes_on_sampling(measures, names)
        if queries is not None:
            features = best_single_features(measures, lists, rules, queries.grouped)
            if features:  # else all columns are categories
                references[BEST_FEATURE] = {name: one.mean for name, one in zip(names, features, strict=True)}
            best = {name: one.in_words(queries.grouped) for name, one in zip(names, features, strict=False)}
    return Evaluation(
        names,
        lists.ids if lists.ids is not None else np.arange(lists.n_queries),
        values,
        convention=rules.name,
        n_empty=n_empty,
        notes=notes + _notes_on_empty(measures, n_empty, rules),
        reference_scores=references,
        best_features=best,
    )


def _joined(parts: Sequence[Evaluation], measures: list[Measure], rules: Convention) -> Evaluation:
    """Return the evaluation of the queries of all parts, in their order."""
    n_empty = {name: sum(part.n_empty[name] for part in parts) for name in parts[0].metrics}
    notes = [
        note for part in parts for note in part.notes if note not in _notes_on_empty(measures, part.n_empty, rules)
    ]
    return Evaluation(
        parts[0].metrics,
        np.concatenate([part.queries for part in parts]),
        np.concatenate([part.values for part in parts]),
        convention=rules.name,
        n_empty=n_empty,
        notes=list(dict.fromkeys(notes)) + _notes_on_empty(measures, n_empty, rules),
    )


def is_run_like(scores: Any, labels: Any = None) -> bool:
    """Return whether scores are a run of their own: not one per row, nor a column of ``labels``."""
    if isinstance(scores, (str, os.PathLike)):
        is_column = is_frame(labels) and scores in list(labels.columns)
        return (os.path.isfile(scores) or is_remote(scores)) and not is_column
    return isinstance(scores, (Run, Mapping)) or is_frame(scores)


def parse_metrics(metrics: Any) -> tuple[list[Measure], list[str]]:
    """Return the measures and their names as given; raise where there are none, or one of them twice.

    ``metrics`` is a text with commas, a measure, a sequence of these, or a mapping of names to measures.
    """
    if isinstance(metrics, Mapping):
        measures, names = [Measure.parse(metric) for metric in metrics.values()], [str(name) for name in metrics]
    else:
        if isinstance(metrics, str):
            metrics = split_measures(metrics)
        elif isinstance(metrics, Measure) or callable(metrics):
            metrics = [metrics]
        parsed = [(metric, Measure.parse(metric)) for metric in metrics]
        measures = [measure for _, measure in parsed]
        names = [metric if isinstance(metric, str) else str(measure) for metric, measure in parsed]
    if not measures:
        raise ValueError('metrics is empty; name at least one, such as "ndcg@10".')
    for measure in measures:
        if not measure.has_known_rules:
            raise ValueError(
                f"{measure} has a convention that is not in plackett.metrics.CONVENTIONS. Add it there, or pass it as "
                "convention= for all measures."
            )
    if len(set(names)) < len(names):
        raise ValueError(f"metrics names {next(n for n in names if names.count(n) > 1)!r} twice.")
    return measures, names


def _with_scores(data: Any, scores: Any, columns: dict[str, Any], *, with_features: bool) -> tuple[Queries, Any]:
    """Return judged lists and their scores, which may be a column of the data."""
    if isinstance(data, Queries):
        return as_judged(data, **columns) if columns else data, scores
    with importing:
        from plackett.data.tables.files import read_columns
        from plackett.data.tables.frames import from_frame
    is_column = isinstance(scores, str)
    if is_column and not is_frame(data):
        ids = {role: columns.get(role) for role in ("qid", "docid")}
        data = read_columns(data, **ids, sql=columns.pop("sql", None))
    if not with_features and (columns or is_frame(data) or is_table(data)):
        columns = {name: columns[name] for name in columns if name not in ("drop", "categorical")} | {"features": []}
    elif is_column and "features" not in columns and scores != columns.get("label", "label"):
        dropped = columns.get("drop", ())
        columns["drop"] = [scores, *([dropped] if isinstance(dropped, str) else dropped)]
    queries = as_judged(data, **columns)
    if is_column:
        return queries, from_frame(data, qid=columns.get("qid", "qid"), label=scores, docid=None, features=[]).y
    if is_frame(data):
        check_index(scores, "scores", data, "the frame")
    return queries, scores


def check_judged(queries: Queries, measures: Sequence[Measure] = ()) -> None:
    """Raise an error if labels are missing, for all documents or for some, unless all measures allow it."""
    if np.isnan(queries.labels).any() and not (measures and all(measure.kind.takes_unjudged for measure in measures)):
        unjudged = int(np.isnan(queries.labels).sum())
        raise ValueError(
            f"{count_of(unjudged, 'document of these queries is', 'documents of these queries are')} not judged "
            "(label NaN). Leave them out, or give them a label, before measuring. Only bpref and infap "
            "accept unjudged documents."
        )


def _lists_of_run(qrels: Qrels, run: Run, complete: bool) -> tuple[JudgedLists, list[str]]:
    judged = join(qrels, run)
    about: dict[str, Any] = {"ids": judged.ids, "docid": judged.docid, "subtopics": judged.subtopics}
    about |= {"n_retrieved": judged.n_retrieved, "is_pooled": judged.is_judged}
    lists = JudgedLists(judged.labels, judged.scores, judged.indptr, **about)
    notes = []
    if n := judged.n_ignored_queries:
        ignored = count_of(n, "query of the run has", "queries of the run have")
        notes.append(f"{ignored} no judgements and {'was' if n == 1 else 'were'} left out")
    answered = judged.n_retrieved > 0
    if n := int((~answered).sum()):
        words = "judged query is not answered by the run; it", "judged queries are not answered by the run; they"
        verb = ("counts" if n == 1 else "count") if complete else ("is" if n == 1 else "are")
        notes.append(f"{count_of(n, *words)} {verb} {'with the worst value' if complete else 'left out'}")
        lists = lists if complete else lists.keep(answered)
    return lists, notes


def _notes_on_empty(measures: list[Measure], n_empty: dict[str, int], convention: Convention) -> list[str]:
    """Return one sentence if all measures treat empty queries alike; otherwise one for each measure that has some."""
    sentences = {}
    for measure, (name, n) in zip(measures, n_empty.items(), strict=True):
        empty = convention.rules_for(measure)["empty"]
        one, many = ("is", "are") if empty == "skip" else ("counts", "count")
        what = "left out" if empty == "skip" else str(empty)
        start = f"{count_of(n, 'query', 'queries')} {'has' if n == 1 else 'have'} no relevant document, or "
        sentences[name] = start + f"{'is' if n == 1 else 'are'} too short, and {one if n == 1 else many} {what}"
    if len(set(sentences.values())) == 1:
        return [next(iter(sentences.values()))] if any(n_empty.values()) else []
    return [f"{name}: {sentence}" for name, sentence in sentences.items() if n_empty[name]]


def evaluate_every_convention(labels: Any, scores: Any, **arguments: Any) -> dict[str, Evaluation | str]:
    """Return the result of ``evaluate`` under each convention by its name; where it does not apply, the reason.

    Parameters
    ----------
    labels, scores
        As in :func:`evaluate`.
    **arguments
        Further arguments of :func:`evaluate`, except ``convention``.

    Examples
    --------
    >>> from plackett.evaluation import evaluate_every_convention
    >>> results = evaluate_every_convention([0, 1], [0.5, 0.5], qid=[7, 7], metrics="mrr")
    >>> results["standard"].mean()  # (1/1 + 1/2) / 2: both orders of the tie
    {'mrr': 0.75}
    >>> results["lightgbm"].mean()  # ties keep the order of the rows
    {'mrr': 0.5}
    >>> results["trec"]
    'ties="trec" orders equal scores by document id, but there are no ids. Pass docid, or choose another rule for ties.'
    """
    results: dict[str, Evaluation | str] = {}
    for name in CONVENTIONS:
        try:
            results[name] = evaluate(labels, scores, convention=name, **arguments)
        except ValueError as error:
            results[name] = str(error)
    return results
