"""From labels and scores to a table of measures under a named convention."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from plackett.data.list_checks import warn_of_one_list
from plackett.data.queries import Queries
from plackett.data.sources import read_queries
from plackett.data.trec import Qrels, Run, join
from plackett.evaluation.reference_scores import BEST_FEATURE, RANDOM_ORDER, best_feature_floor, random_floor
from plackett.evaluation.table import Evaluation
from plackett.metrics.conventions import CONVENTIONS, Convention, get_convention
from plackett.metrics.judged import JudgedLists, judge
from plackett.metrics.measure import Measure, split_measures
from plackett.validation import check_labels, check_scores, count_of

DEFAULT_METRICS = ("ndcg@10", "map", "mrr")


def evaluate(
    labels: Any,
    scores: Any,
    *,
    qid: Any = None,
    metrics: Sequence[str | Measure] | str | Measure = DEFAULT_METRICS,
    convention: str | Convention = "standard",
    docid: Any = None,
    complete: bool | None = None,
    floors: bool = False,
) -> Evaluation:
    """Values of ``metrics`` for every query, under the rules of a convention.

    Parameters
    ----------
    labels : array-like of shape (n_docs,), Queries, path, Qrels, or dict of dicts
        A ``Queries`` brings its query ids, document ids and features along, as do a LETOR or Parquet file, a folder of
        Parquet files, or a pattern; ``Qrels`` go with a ``Run`` as scores, and ``{qid: {docid: label}}`` with
        ``{qid: {docid: score}}``.
    scores : array-like of shape (n_docs,), Run, or dict of dicts
        Higher is better. For a ``Queries`` or files, in the order of their rows.
    qid : array-like of shape (n_docs,), or one id for all rows; default=None
        The query of each row, in any order; None means one list.
    metrics : sequence of str or Measure, or text with commas, default=("ndcg@10", "map", "mrr")
    convention : str or Convention, default="standard"
        ``standard``, ``paper``, ``letor3``, ``letor4``, ``trec``, ``sklearn``, ``lightgbm``, ``xgboost``, ``gdeval`` or
        ``ranx``: how that tool breaks ties, discounts, and counts queries without a relevant document. ``standard``
        averages ties over all their orders, so that the order of the rows has no influence. What a measure spells out,
        as in ``"ndcg@10(gain=linear)"`` and ``"ndcg@10(convention=letor4)"``, wins.
    docid : array-like of shape (n_docs,), default=None
        Document ids; conventions that break ties by them (``trec``, ``gdeval``) need them where scores tie.
    complete : bool, default=None
        For qrels and a run: whether queries of the qrels that the run does not answer count, with the worst value.
        None leaves it to the convention of each measure (``trec`` and ``gdeval`` leave them out, all others count
        them).
    floors : bool, default=False
        Also compute what a random order would reach on average (exactly) and, for a ``Queries``, the best single
        feature, rising or falling, its ties averaged. The latter is chosen on the same queries: a generous floor.

    Returns
    -------
    Evaluation
        A table of query × metric with ``.mean()``, ``.to_frame()``, ``.to_json()`` and more.

    Examples
    --------
    >>> result = evaluate([2, 0, 1, 0, 1], [0.9, 0.4, 0.1, 0.7, 0.2], qid=[1, 1, 1, 2, 2], metrics=["ndcg@10", "map"])
    >>> {metric: round(value, 4) for metric, value in result.mean().items()}
    {'ndcg@10': 0.7974, 'map': 0.6667}
    >>> result["map"].round(4)
    array([0.8333, 0.5   ])
    """
    rules = get_convention(convention)
    measures, names = _parse_metrics(metrics)
    labels, scores = _as_trec(labels, scores)
    if isinstance(labels, (str, os.PathLike)) and not isinstance(scores, Run):
        _refuse(
            "files bring their own ids; of columns with other names, read_parquet makes a Queries", qid=qid, docid=docid
        )
        labels = read_queries(labels)
    queries = labels if isinstance(labels, Queries) else None
    notes: list[str] = []
    if isinstance(labels, Qrels) or isinstance(scores, Run):
        _refuse("qrels and a run bring their own ids", qid=qid, docid=docid)
        is_complete = [(measure.convention or rules).is_complete for measure in measures]
        lists, notes = _lists_of_run(labels, scores, any(is_complete) if complete is None else complete)
    else:
        _refuse("complete goes with qrels and a run", complete=complete)
        if queries is not None:
            _refuse("a Queries brings its own ids", qid=qid, docid=docid)
            check_judged(queries)
            check_labels(queries.labels)
            scores = check_scores(scores, queries.n_docs)
            lists = JudgedLists.of_queries(queries, scores, with_docid=any(map(rules.needs_docid, measures)))
        else:
            lists = judge(labels, scores, qid, docid)
            if qid is None:
                warn_of_one_list(lists.scores.size, "evaluate")
    every = {one.name: one for one in (rules, *(measure.convention for measure in measures)) if one is not None}
    notes += [refused for one in every.values() if (refused := one.refused_labels(lists)) is not None]
    values, is_empty = rules.table(measures, lists)
    if complete is None and lists.n_retrieved is not None:  # measures of several conventions may differ in this
        values[np.ix_(lists.n_retrieved == 0, np.logical_not(is_complete))] = np.nan
    n_empty = {name: int(is_empty[:, column].sum()) for column, name in enumerate(names)}
    rows: dict[str, dict[str, float]] = {}
    best: dict[str, str] = {}
    if floors:
        rows[RANDOM_ORDER] = random_floor(measures, names, lists, rules)
        if queries is not None:
            rows[BEST_FEATURE], best = best_feature_floor(measures, names, lists, rules, queries.grouped)
    return Evaluation(
        names,
        lists.ids if lists.ids is not None else np.arange(lists.n_queries),
        values,
        convention=rules.name,
        n_empty=n_empty,
        notes=notes + _notes_on_empty(measures, n_empty, rules),
        floors=rows,
        best_features=best,
    )


def _parse_metrics(metrics: Sequence[str | Measure] | str | Measure) -> tuple[list[Measure], list[str]]:
    if isinstance(metrics, (str, Measure)):
        metrics = split_measures(metrics) if isinstance(metrics, str) else [metrics]
    metrics = list(metrics)
    measures = [Measure.parse(metric) for metric in metrics]
    if not measures:
        raise ValueError('metrics is empty; name at least one, such as "ndcg@10".')
    names = [str(metric) for metric in metrics]
    for measure in measures:
        if not measure.has_known_rules:
            raise ValueError(
                f"{measure} has a convention that is not in plackett.metrics.CONVENTIONS, so that a table cannot name "
                "it. Add it there, or give it as convention= for all measures."
            )
    if len(set(names)) < len(names):
        raise ValueError(f"metrics names {next(n for n in names if names.count(n) > 1)!r} twice.")
    return measures, names


def _as_trec(labels: Any, scores: Any) -> tuple[Any, Any]:
    """``{qid: {docid: value}}``, the shape of pytrec_eval and ranx, as qrels and a run."""
    labels = Qrels.from_dict(labels) if isinstance(labels, Mapping) else labels
    return labels, Run.from_dict(scores) if isinstance(scores, Mapping) else scores


def _refuse(why: str, **arguments: object) -> None:
    for name, value in arguments.items():
        if value is not None:
            raise ValueError(f"{name} was given, but {why}.")


def check_judged(queries: Queries) -> None:
    """Refuse queries without labels, and those of which some documents have none: they cannot be measured."""
    if np.isnan(queries.labels).any():
        unjudged = int(np.isnan(queries.labels).sum())
        raise ValueError(
            f"{count_of(unjudged, 'document of these queries is', 'documents of these queries are')} not judged "
            "(label NaN). Leave them out, or give them a label, before measuring."
        )


def _lists_of_run(qrels: Any, run: Any, complete: bool) -> tuple[JudgedLists, list[str]]:
    if not isinstance(qrels, Qrels) or not isinstance(run, Run):
        raise TypeError(
            f"qrels go with a run: evaluate(read_qrels(...), read_trec_run(...)); "
            f"here are {type(qrels).__name__} and {type(run).__name__}."
        )
    judged = join(qrels, run)
    lists = JudgedLists(
        judged.labels,
        judged.scores,
        judged.indptr,
        docid=judged.docid,
        n_retrieved=judged.n_retrieved,
        ids=judged.ids,
    )
    notes = []
    if judged.n_ignored_queries:
        ignored = count_of(judged.n_ignored_queries, "query of the run has", "queries of the run have")
        notes.append(f"{ignored} no judgements and {'was' if judged.n_ignored_queries == 1 else 'were'} left out")
    answered = judged.n_retrieved > 0
    if not answered.all():
        n = int((~answered).sum())
        subject = count_of(
            n, "judged query is not answered by the run; it", "judged queries are not answered by the run; they"
        )
        verb = ("counts" if n == 1 else "count") if complete else ("is" if n == 1 else "are")
        notes.append(f"{subject} {verb} {'with the worst value' if complete else 'left out'}")
        lists = lists if complete else lists.keep(answered)
    return lists, notes


def _notes_on_empty(measures: list[Measure], n_empty: dict[str, int], convention: Convention) -> list[str]:
    """One sentence where all measures agree; otherwise one for each that has empty queries."""
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
    """``evaluate`` under every convention, by name; where one cannot apply (it needs document ids, say), the reason."""
    results: dict[str, Evaluation | str] = {}
    for name in CONVENTIONS:
        try:
            results[name] = evaluate(labels, scores, convention=name, **arguments)
        except ValueError as error:
            results[name] = str(error)
    return results
