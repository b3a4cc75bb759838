"""Refining lists with feedback in ``plackett refine``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    import numpy as np

    from plackett.cli.refining.methods import Methods
    from plackett.cli.shared.options import Source
    from plackett.data.feedback.feedback import FeedbackRows
    from plackett.data.queries import Queries


def refine_lists(
    data: list[str],
    base: str,
    methods: Methods,
    feedback: list[str],
    strategy: str | None,
    target: str,
    tag: str | None,
    source: Source,
    *,
    pin_judged: bool,
    as_json: bool,
) -> None:
    """Write the refined scores."""
    from plackett.cli.refining import feedback as feedback_files
    from plackett.cli.refining.base import echo_base, read_base
    from plackett.cli.shared import output
    from plackett.cli.shared import scores as scores_out
    from plackett.data.feedback.clicks import STRATEGIES
    from plackett.rankers.refinement.base_score import as_base_score
    from plackett.rankers.refinement.judgements import as_relevance
    from plackett.validation import check_choice, count_of

    if strategy is not None:
        check_choice(strategy, "strategy", tuple(STRATEGIES))
    if as_json and (target != "-" or tag is not None):
        raise click.BadParameter("--json prints to standard output; it cannot be combined with --output or --run.")
    queries, ranks_now = read_base(base, data, source)
    rows = feedback_files.on_rows(feedback_files.read(feedback, strategy), queries, " and ".join(feedback))
    rows = rows._replace(y=as_relevance(rows.y, methods.relevant_from))
    before = as_base_score(ranks_now, queries)
    after = _refined(queries, ranks_now, before, rows, methods)
    echo_base(ranks_now, queries)
    if pin_judged:
        after = queries.pin_judged(after, rows.y)
        n_judged = int((rows.y == rows.y).sum())
        put = f"{count_of(n_judged, 'judged document is', 'judged documents are')} put first or last"
        output.note(put if n_judged else "no document was judged; --pin-judged has no effect")
    if as_json:
        output.write_json(_as_dict(queries, before, after, rows, methods.names[0]))
    else:
        scores_out.write(queries, after, target, tag)
        scores_out.next_step(target, is_run=tag is not None)


def _refined(queries: Queries, ranks_now: Any, before: np.ndarray, rows: FeedbackRows, methods: Methods) -> np.ndarray:
    """Return scores in the order of ``queries.X``; lists without usable feedback keep the base scores."""
    import numpy as np

    from plackett.data.queries import Queries as AnyQueries
    from plackett.rankers.refinement.base_score import is_column

    is_refined = _learns(queries, rows, methods)
    after = before.copy()
    if not is_refined.any():
        return after
    kept = is_refined[queries.query_of_row]
    part = AnyQueries(
        queries.X[kept], qid=queries.qid[kept], feature_names=queries.feature_names, first_index=queries.first_index
    )
    targets: dict[str, Any] = {"y": rows.y[kept]}
    if methods.is_boosted and rows.pairs.size:
        targets = {"pairs": (np.cumsum(kept) - 1)[rows.as_pairs()[0]]}
    refiner = next(iter(methods.refiners(eta=rows.eta).values()))
    base = ranks_now if is_column(ranks_now) else before[kept]
    after[kept] = refiner.fit(part, base_score=base, **targets).scores_
    return after


def _learns(queries: Queries, rows: FeedbackRows, methods: Methods) -> np.ndarray:
    """Return for each query whether its feedback can be learned from; print notes about the others."""
    import numpy as np

    from plackett.cli.shared import output
    from plackett.validation import count_of

    starts, labels = queries.grouped.indptr[:-1], queries.in_groups(rows.y)
    has_labels = np.logical_or.reduceat(~np.isnan(labels), starts)
    has_pairs = np.zeros(queries.n_queries, dtype=bool)
    has_pairs[queries.query_of_row[rows.pairs[:, 0]]] = True
    preferences = count_of(len(rows.pairs), "preference")
    if methods.is_boosted:
        has_levels = np.fmax.reduceat(labels, starts) > np.fmin.reduceat(labels, starts)
        learns = has_pairs | has_levels
        if has_pairs.any():
            output.note(f"{preferences} between documents, eta {rows.eta if methods.eta is None else methods.eta:.2g}")
        n_level = int((has_labels & has_pairs & ~has_levels).sum())
        if n_level:
            have = count_of(n_level, "query has", "queries have")
            output.note(f"{have} labels that are all equal; {methods.names[0]} learns from the preferences alone there")
    else:
        learns = has_labels
        if not has_labels.any():
            raise ValueError(f"{methods.names[0]} learns from labels, but there are only {preferences}. Try mrr.")
        if has_pairs.any():
            output.note(f"{methods.names[0]} learns from labels; {preferences} ignored")
    for is_so, why in (
        (~has_labels & ~has_pairs, "no feedback"),
        ((has_labels | has_pairs) & ~learns, f"feedback without a better and a worse document for {methods.names[0]}"),
    ):
        if is_so.any():
            have = count_of(int(is_so.sum()), "query has", "queries have")
            keep = "keeps" if is_so.sum() == 1 else "keep"
            output.note(f"{have} {why} and {keep} the scores of the base")
    return learns


def _as_dict(queries: Queries, before: np.ndarray, after: np.ndarray, rows: FeedbackRows, method: str) -> dict:
    """Return every list in its new order, with the previous rank of each document."""
    import numpy as np

    docid = queries.docid
    assert docid is not None
    lists = []
    for place, key in enumerate(queries.ids.tolist()):
        own = queries.rows_of(place)
        old = np.empty(own.size, dtype=np.int64)
        old[np.argsort(-before[own], kind="stable")] = np.arange(1, own.size + 1)
        documents = [
            {
                "docid": str(docid[row]),
                "score": float(after[row]),
                "base_score": float(before[row]),
                "base_rank": int(old[place_of_row]),
                "judged": None if np.isnan(rows.y[row]) else float(rows.y[row]),
            }
            for place_of_row in np.argsort(-after[own], kind="stable").tolist()
            for row in (own[place_of_row],)
        ]
        lists.append({"qid": key, "documents": documents})
    n_judged, n_preferences = int((~np.isnan(rows.y)).sum()), len(rows.pairs)
    return {"method": method, "n_judged": n_judged, "n_preferences": n_preferences, "queries": lists}
