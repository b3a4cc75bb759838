"""Comparison of finished rankings: TREC runs or score vectors, on the same judgements."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Unpack

import numpy as np

import plackett
from plackett._tables import listed
from plackett.data.judged import Columns, as_judged, check_no_columns
from plackett.data.queries import Queries
from plackett.data.runs import as_qrels, as_run
from plackett.data.tables.frames import is_frame
from plackett.data.trec.pool import PooledRuns
from plackett.data.trec.qrels import Qrels
from plackett.data.trec.run import Run
from plackett.evaluation.compare.comparison import BEST, RUN, Comparison
from plackett.evaluation.evaluate import DEFAULT_METRICS, Evaluation, evaluate, is_run_like, parse_metrics
from plackett.evaluation.judges.corrected import correct
from plackett.evaluation.reference_scores import RANDOM_ORDER, notes_on_sampling, random_values
from plackett.exceptions import ParameterError
from plackett.metrics.conventions import Convention, get_convention
from plackett.metrics.judged_lists import JudgedLists
from plackett.metrics.measure import Measure
from plackett.storage.remote import shown
from plackett.validation import check_scores, check_seed, count_of

TOP = 10  # documents of each query among which unjudged ones are counted


def compare_runs(
    qrels: Any,
    runs: Any,
    *,
    metrics: Sequence[str | Measure] | str | Measure = DEFAULT_METRICS,
    convention: str | Convention = "standard",
    complete: bool = True,
    baseline: str | None = None,
    random_state: int = 0,
    model_labels: Any = None,
    sampled: Any = None,
    estimand: str = "queries like these",
    interval: str = "studentised",
    **columns: Unpack[Columns],
) -> Comparison:
    """Evaluate runs on the same judged queries, and test which differences are significant.

    The result has the tables, tests, views of single queries and ``write_report`` of ``compare``, without folds.
    Queries are matched by id. Queries without judgements are left out. Retrieved documents without a judgement count as
    not relevant. The notes of the result count and name the queries that a run does not answer and those without
    judgements, and give the share of unjudged documents at the top of each run.

    The list of a query has all documents that are judged or that any run retrieved; those that a run did not retrieve
    are at its end. Measures of the whole list, such as ``average-rank``, thus use the same documents for all runs.

    Parameters
    ----------
    qrels : Qrels, path, dict of dicts, Queries or data frame
        Judgements: as ``read_qrels`` returns them, a file or frame of judgements, or ``{qid: {docid: label}}``. A
        ``Queries``, or a frame where runs are one score per row, is matched to scores by its rows.
    runs : mapping of str to run, or sequence of runs
        A run is a ``Run``, a data frame, a file (CSV, TSV, JSON, Parquet, Arrow or TREC), or ``{qid: {docid: score}}``;
        for a ``Queries``, one score per row.
        The runs of a sequence are named by their tags.
    metrics : sequence of str, Measure or callable, or text with commas, default=("ndcg@10", "map", "mrr")
    convention : str or Convention, default="standard"
        As in ``evaluate``.
    complete : bool, default=True
        Whether a judged query that a run does not answer counts with the worst value (0 for most measures), as in
        ``trec_eval -c``. False leaves out, for all runs, every query that any run does not answer. In both cases all
        means are over the same queries.
    baseline : str, default=None
        The run that the others are compared with; None takes the first. ``"best"`` takes the one with the best mean of
        the first measure, with p-values corrected for all pairs, as in ``compare``.
    random_state : int, default=0
        Seed of randomisation tests and bootstrap intervals.
    model_labels, sampled, estimand, interval
        As in ``evaluate``. ``corrected`` of the result has the means and the differences from the baseline by people
        and the model together; the other tables are those of people alone. ``baseline="best"`` is then refused.
    **columns
        Columns of a data frame, as in ``from_frame``.

    Examples
    --------
    >>> from plackett import compare_runs
    >>> qrels = {"1": {"d1": 2, "d2": 1}, "2": {"d1": 1}, "3": {"d4": 1}}
    >>> bm25 = {"1": {"d2": 9.5, "d8": 7.0, "d1": 6.0}, "2": {"d8": 4.5, "d1": 1.0}, "3": {"d4": 2.0}}
    >>> dense = {"1": {"d1": 0.9, "d2": 0.8}, "2": {"d1": 0.7, "d8": 0.2}}
    >>> result = compare_runs(qrels, {"bm25": bm25, "dense": dense}, metrics="ndcg@10,map")
    >>> print(result)
    bm25 is the best by ndcg@10, with 0.7732.
    Its lead over the other one is not significant.
           ndcg@10        map
    bm25    0.7732     0.7778
    dense   0.6667     0.6667
    3 queries, convention standard
    ▲ better, ▼ worse than bm25: p ≤ 0.05, doubled p ≤ 0.01 (randomisation test, Holm over one pair)
    dense does not answer 1 of 3 judged queries (3), which counts with the worst value
    unjudged documents in the top 10, which count as not relevant: bm25 33.3 %, dense 25.0 %
    """
    rules, (measures, names) = get_convention(convention), parse_metrics(metrics)
    given = {"qrels": qrels, "runs": runs}
    has_runs = any(map(is_run_like, runs.values() if isinstance(runs, Mapping) else [runs]))
    if is_frame(qrels) and not has_runs:
        qrels = as_judged(qrels, **columns)
    else:
        check_no_columns(columns, "these judgements have their own ids")
    corrected = None
    if sampled is not None and model_labels is None:
        raise TypeError("sampled says how people's queries were chosen among those of model_labels, which is missing.")
    if isinstance(qrels, Queries):
        if model_labels is not None:
            raise TypeError("model_labels needs qrels and runs with ids of documents, not one score per row.")
        queries, tables, scores = _of_rows(qrels, runs, metrics, rules)
        notes = notes_on_sampling(measures, names)
        random = random_values(measures, JudgedLists.of_queries(queries), rules)
        references = {RANDOM_ORDER: Evaluation(names, queries.ids, random, convention=rules.name)}
    else:
        judged = as_qrels(qrels, subtopics=any(measure.kind.needs_subtopics for measure in measures))
        named = named_runs(runs)
        if model_labels is not None:
            if baseline == BEST:
                raise ParameterError(
                    "baseline", BEST, "it is chosen on the same queries; with model_labels name a run."
                )
            settings: dict[str, Any] = {"estimand": estimand, "interval": interval, "random_state": random_state}
            corrected = correct(
                judged, named, model_labels, evaluate, metrics=dict(zip(names, measures, strict=True)),
                convention=convention, complete=complete, sampled=sampled, baseline=baseline, **settings,
            )  # fmt: skip
        queries, tables, scores, notes = _of_runs(judged, named, metrics, rules, complete)
        notes += [] if corrected is None else [table.title for table in corrected.tables()]
        references = {}
    if baseline not in (None, BEST) and baseline not in tables:
        raise ParameterError("baseline", baseline, f"it is not among the runs {', '.join(tables)}.")
    versions = {"plackett": plackett.__version__, "numpy": np.__version__, "platform": platform.platform()}
    return Comparison(
        metrics=names,
        measures=dict(zip(names, measures, strict=True)),
        convention=rules.name,
        baseline=next(iter(tables)) if baseline is None else baseline,
        tables=tables,
        fold_of=np.ones(queries.n_queries, dtype=np.int64),
        queries=queries,
        scores=scores,
        fits={},
        reference_scores=references,
        description=queries.describe().to_dict(),
        settings={
            **{name: shown(value) for name, value in given.items() if isinstance(value, (str, os.PathLike))},
            "metrics": names,
            "convention": rules.name,
            "complete": complete,
            "random_state": check_seed(random_state),
            "versions": versions,
        },
        notes=notes,
        kind=RUN,
        corrected=corrected,
    )


def _of_runs(
    qrels: Qrels, runs: dict[str, Run], metrics: Any, rules: Convention, complete: bool
) -> tuple[Queries, dict[str, Evaluation], dict[str, np.ndarray], list[str]]:
    """Return the pooled documents, the table and scores of each run, and notes on queries and documents."""
    judged = qrels.groups.ids.tolist()
    answered = {name: set(run.groups.ids.tolist()) for name, run in runs.items()}
    if not judged:
        raise ValueError("the qrels have no judgements.")
    for name, found in answered.items():
        if found.isdisjoint(judged):
            example = f"the qrels have {judged[0]!r}, the run {min(found, default='no query')!r}"
            raise ValueError(f"{name} answers none of the {len(judged):,} judged queries; {example}.")
    kept = judged if complete else [qid for qid in judged if all(qid in found for found in answered.values())]
    if not kept:
        raise ValueError("no judged query is answered by every run. Set complete=True, or leave a run out.")
    qrels = qrels.of_queries(kept)
    runs = {name: run.of_queries(kept) for name, run in runs.items()}
    pool = PooledRuns(runs, qrels)
    queries = pool.to_queries()
    pooled = Qrels.of_pool(queries)  # positions beyond the end of a run are then the same for all runs
    tables = {
        name: evaluate(pooled, run, metrics=metrics, convention=rules, complete=True) for name, run in runs.items()
    }
    for name, table in tables.items():
        if not answered[name].issuperset(kept):
            del table.notes[0]  # on unanswered queries; the notes of the comparison name them
    scores = dict(zip(runs, pool.scores, strict=True))
    notes = _notes_on_queries(judged, answered, complete) + _notes_on_documents(queries, scores)
    return queries, tables, scores, notes


def _notes_on_queries(judged: list[str], answered: Mapping[str, set[str]], complete: bool) -> list[str]:
    """Name and count the judged queries that runs do not answer, and the queries of runs without judgements."""
    lacking: dict[tuple[str, ...], list[str]] = {}  # runs by the queries that they do not answer
    for name, found in answered.items():
        lacking.setdefault(tuple(qid for qid in judged if qid not in found), []).append(name)
    notes = []
    for unanswered, who in lacking.items():
        if unanswered:
            how = f"count{'s' if len(unanswered) == 1 else ''} with the worst value"
            how = how if complete else f"{'is' if len(unanswered) == 1 else 'are'} left out for all runs"
            which = f"{len(unanswered):,} of {count_of(len(judged), 'judged query', 'judged queries')}"
            verb = "does" if len(who) == 1 else "do"
            notes.append(f"{listed(who)} {verb} not answer {which} ({listed(unanswered)}), which {how}")
    unjudged = sorted(set().union(*answered.values()).difference(judged))
    if unjudged:
        number = count_of(len(unjudged), "query of the runs has", "queries of the runs have")
        verb = "is" if len(unjudged) == 1 else "are"
        notes.append(f"{number} no judgements and {verb} left out: {listed(unjudged)}")
    return notes


def _notes_on_documents(queries: Queries, scores: Mapping[str, np.ndarray]) -> list[str]:
    """Say how many of the top documents of each run are not judged."""
    shares = {}
    for name, column in scores.items():
        rows = np.flatnonzero(~np.isnan(column))
        rows = rows[np.lexsort((-column[rows], queries.query_of_row[rows]))]
        query = queries.query_of_row[rows]
        is_top = np.arange(rows.size) - np.searchsorted(query, query) < TOP
        shares[name] = float((~queries.judged[rows[is_top]]).mean())
    if not any(shares.values()):
        return []
    words = ", ".join(f"{name} {100 * share:.1f} %" for name, share in shares.items())
    return [f"unjudged documents in the top {TOP}, which count as not relevant: {words}"]


def _of_rows(
    queries: Queries, runs: Any, metrics: Any, rules: Convention
) -> tuple[Queries, dict[str, Evaluation], dict[str, np.ndarray]]:
    """Return grouped queries, and the table and scores of each vector of scores, in the order of their rows."""
    if not isinstance(runs, Mapping) or not runs:
        raise ValueError('for a Queries, runs must map names to one score per row, such as {"bm25": scores}.')
    scores = {str(name): check_scores(values, queries.n_docs, name=str(name)) for name, values in runs.items()}
    tables = {name: evaluate(queries, values, metrics=metrics, convention=rules) for name, values in scores.items()}
    in_groups = {name: queries.in_groups(values.astype(np.float64)) for name, values in scores.items()}
    return queries.grouped, tables, in_groups


def named_runs(runs: Any) -> dict[str, Run]:
    """Return the runs by name; without names, by their tags."""
    if isinstance(runs, Mapping):
        answer = {str(name): as_run(run, str(name)) for name, run in runs.items()}
    else:
        is_one = isinstance(runs, (str, os.PathLike, Run)) or not isinstance(runs, Iterable)
        every = [as_run(run, f"run {place}") for place, run in enumerate([runs] if is_one else runs, 1)]
        answer = {run.tag: run for run in every}
        if len(answer) < len(every):
            tags = [run.tag for run in every]
            twice = next(tag for tag in tags if tags.count(tag) > 1)
            raise ValueError(f"several runs have the tag {twice!r}; pass a mapping with a name for each.")
    if not answer:
        raise ValueError("there are no runs to compare.")
    for name in (BEST, RANDOM_ORDER):
        if name in answer:
            raise ValueError(f"{name!r} is a reserved name in a comparison; choose another name for this run.")
    return answer
