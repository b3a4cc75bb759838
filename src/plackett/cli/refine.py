"""``plackett refine``: a better ranking from the one that there is and a few judgements."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import numpy as np

    from plackett.data.queries import Queries

METHODS = {"mrr": "MultiplicativeRefiner", "lrr": "LinearRefiner", "rocchio": "RocchioRefiner"}
WORDS_OF_RUN = 6


def refine(
    data: Annotated[list[str], typer.Argument(metavar="DATA", help="LETOR files, '-', or a known set's name.")],
    base: Annotated[
        str,
        typer.Option(
            "--base", "-b", metavar="COLUMN|FILE",
            help="What ranks now: a column of DATA by number, from 0, or name; a TREC run; one score per row; a model.",
        ),
    ],
    judgements: Annotated[
        str | None,
        typer.Option(
            "--judgements", "-j", metavar="FILE", help="Judged documents: qrels, or LETOR rows with document ids."
        ),
    ] = None,
    judge_first: Annotated[
        int | None,
        typer.Option(
            "--judge-first", metavar="N", help="Try it out: judge the first N of each list by the labels of DATA."
        ),
    ] = None,
    method: Annotated[str, typer.Option("--method", help="mrr, lrr, rocchio; several with commas to compare.")] = "mrr",
    rounds: Annotated[int | None, typer.Option("--rounds", help="Rounds of mrr and lrr (50).")] = None,
    eta: Annotated[
        float | None, typer.Option("--eta", help="Noise of the judgements for mrr and lrr, 0 to 1 (0.02).")
    ] = None,
    relevant_from: Annotated[
        float | None, typer.Option("--relevant-from", help="Labels from this on count 1, others 0.")
    ] = None,
    pseudo: Annotated[
        bool, typer.Option("--pseudo", help="With --judge-first: take the first for relevant, the last for not.")
    ] = False,
    metrics: Annotated[str, typer.Option("--metrics", "-m", help="Measures of --judge-first.")] = "p@1,p@5,p@10,map",
    target: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Where the scores go; - is standard output.")
    ] = "-",
    tag: Annotated[
        str | None, typer.Option("--run", metavar="TAG", help="A TREC run under this name instead of bare scores.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    zero_based: Annotated[bool, typer.Option("--zero-based", help="Feature numbers start at 0.")] = False,
    cache: Annotated[bool, typer.Option("--cache", help="Keep a fast copy of DATA for the next time.")] = False,
) -> None:  # fmt: skip
    """Refine a ranking with judgements: one score per row of DATA, or with --judge-first what that would be worth."""
    from plackett.cli import inputs, measures, output

    if (judgements is None) == (judge_first is None):
        raise typer.BadParameter("give --judgements FILE, or --judge-first N to try it out.")
    if judge_first is None:
        if pseudo:
            raise typer.BadParameter("--pseudo goes with --judge-first.")
        if as_json and (target != "-" or tag is not None):
            raise typer.BadParameter("--json goes to standard output, without --output and --run.")
    elif target != "-" or tag is not None:
        raise typer.BadParameter("--judge-first prints a table; --output and --run go with --judgements.")
    elif judge_first < 1:
        raise typer.BadParameter(f"--judge-first {judge_first}: at least 1 is needed.")
    if tag is not None and tag.split() != [tag]:
        raise typer.BadParameter(f"--run {tag!r}: a run's name must be one word without blanks.")
    if eta is not None and not 0 <= eta <= 1:
        raise typer.BadParameter(f"--eta {eta:g}: it must be between 0 and 1.")
    if rounds is not None and rounds < 1:
        raise typer.BadParameter(f"--rounds {rounds}: at least 1 is needed.")
    names = _methods(method, has_parameters=rounds is not None or eta is not None)
    if judge_first is None and len(names) > 1:
        raise typer.BadParameter("--judgements goes with one --method; --judge-first compares several.")
    if base == "-" or (judgements == "-" and "-" in data):
        raise typer.BadParameter("standard input (-) can stand for DATA or for the judgements only.")
    if target != "-":
        output.check_target(target, "scores" if tag is None else "run")
    inputs.check_data(data)
    inputs.check_exists(*([] if judgements is None else [judgements]))
    output.tell_when_compiling()
    wanted = measures.parse_measures(metrics)
    refiners = _refiners(names, rounds, eta)
    queries = inputs.load_queries(data, zero_based=zero_based, cache=cache)
    queries, ranks_now = _base(base, queries, data)
    if judge_first is not None:
        from plackett.evaluation.feedback import relevance_feedback

        result = relevance_feedback(
            queries, ranks_now, refiners, n_judged=judge_first, relevant_from=relevant_from, metrics=wanted,
            pseudo=pseudo,
        )  # fmt: skip
        _print_comparison(result, as_json=as_json)
        return
    assert judgements is not None
    labels = _judgements(judgements, queries, relevant_from)
    before, after = _refined(queries, ranks_now, labels, next(iter(refiners.values())))
    if as_json:
        output.write_json(_as_dict(queries, before, after, labels, method))
        return
    from plackett.cli import rank

    if tag is None:
        rank._write_scores(queries.in_row_order(after), target)
    else:
        rank._write_run(queries, after, target, tag)


def _methods(method: str, *, has_parameters: bool) -> list[str]:
    """The methods that the user named; a wrong one is wrong usage."""
    names = [name.strip() for name in method.split(",")]
    for name in names:
        if name not in METHODS:
            raise typer.BadParameter(f"--method {name!r}: there are {', '.join(METHODS)}.")
    if len(set(names)) < len(names):
        raise typer.BadParameter(f"--method {method}: one of them is named twice.")
    if has_parameters and names == ["rocchio"]:
        raise typer.BadParameter("--rounds and --eta are parameters of mrr and lrr; rocchio has neither.")
    return names


def _refiners(names: list[str], rounds: int | None, eta: float | None) -> dict[str, Any]:
    import plackett

    given = {key: value for key, value in (("n_rounds", rounds), ("eta", eta)) if value is not None}
    return {name: getattr(plackett, METHODS[name])(**({} if name == "rocchio" else given)) for name in names}


def _base(base: str, queries: Queries, data: list[str]) -> tuple[Queries, Any]:
    """What ranks now, as a column or as scores in the order of ``queries.X``; and queries with as many columns."""
    from plackett.cli import inputs, models, output
    from plackett.cli.info import _is_model

    models.check_features(queries, models.name_of_data(data))
    if base.isdecimal():
        if int(base) >= queries.n_features:
            last = queries.n_features - 1
            raise ValueError(f"--base {base}: {models.name_of_data(data)} has columns 0 to {last:,}.")
        return queries, int(base)
    if base in (queries.feature_names or []):
        return queries, base
    inputs.check_exists(base)
    if _is_model(base):
        ranker = models.load_ranker(base)
        queries, note = models.fit_columns(
            queries, ranker.n_features_in_, models.name_of_data(data), f"the model {base}"
        )
        if note is not None:
            output.note(note)
        return queries, ranker.predict(queries)
    if _n_words(base) == WORDS_OF_RUN:
        from plackett.data.trec import read_trec_run
        from plackett.rankers.base_score import as_base_score

        return queries, as_base_score(read_trec_run(base), queries)
    from plackett.data.score_file import read_scores

    scores = read_scores(base)
    if scores.size != queries.n_docs:
        name = models.name_of_data(data)
        raise ValueError(f"{base} has {scores.size:,} scores but {name} has {queries.n_docs:,} rows.")
    return queries, scores if queries.row_order is None else scores[queries.row_order]


def _n_words(path: str) -> int:
    """How many words the first line has that is not empty."""
    from plackett.data.opening import open_bytes

    with open_bytes(path) as file:
        return next((len(line.split()) for line in file if line.strip()), 0)


def _judgements(path: str, queries: Queries, relevant_from: float | None) -> np.ndarray:
    """The label of each judged document, NaN for others."""
    import numpy as np

    from plackett.cli import inputs, output
    from plackett.data.feedback import Feedback
    from plackett.data.trec import read_qrels
    from plackett.validation import count_of

    if queries.docid is None:
        raise ValueError("the data name no documents (# docid = NAME), so that judgements cannot find them.")
    source = inputs.StandardInput(sys.stdin.buffer.read()) if path == "-" else path
    if inputs.is_letor(source):
        judged = inputs.load_queries([source], zero_based=True, cache=False)  # columns do not matter here
        if judged.docid is None:
            raise ValueError(f"{path} names no documents (# docid = NAME), so that its labels have no place.")
        feedback = Feedback.from_judgements(judged.qid, judged.docid, judged.labels)
    else:
        qrels = read_qrels(source)
        feedback = Feedback.from_judgements(qrels.qid, qrels.docid, qrels.labels)
    rows = feedback.for_queries(queries)
    if np.isnan(rows.y).all():
        raise ValueError(f"{path} judges no document of the data; the ids of queries and documents must be the same.")
    if rows.n_unmatched:
        are = count_of(rows.n_unmatched, "judged document is", "judged documents are")
        output.note(f"{are} not in the data and left out")
    if relevant_from is None:
        return rows.y
    return np.where(np.isnan(rows.y), np.nan, rows.y >= relevant_from)


def _refined(queries: Queries, ranks_now: Any, labels: np.ndarray, refiner: Any) -> tuple[np.ndarray, np.ndarray]:
    """Scores before and after, grouped; lists without judgements keep the scores that they have."""
    import numpy as np

    from plackett.cli import output
    from plackett.data.queries import Queries as AnyQueries
    from plackett.rankers.base_score import as_base_score, is_column
    from plackett.validation import count_of

    before = as_base_score(ranks_now, queries)
    n_judged = np.add.reduceat(~np.isnan(labels), queries.indptr[:-1], dtype=np.int64)
    is_judged = n_judged > 0
    n_without = int((~is_judged).sum())
    if n_without:
        have = count_of(n_without, "query has", "queries have")
        output.note(f"{have} no judgements and {'keeps' if n_without == 1 else 'keep'} the scores of the base")
    lengths = np.diff(queries.indptr)
    rows = np.repeat(is_judged, lengths)
    part = AnyQueries.from_groups(
        queries.X[rows], None, queries.ids[is_judged], np.concatenate([[0], np.cumsum(lengths[is_judged])]),
        feature_names=queries.feature_names,
    )  # fmt: skip
    after = before.copy()
    after[rows] = refiner.fit(
        part, labels[rows], base_score=ranks_now if is_column(ranks_now) else before[rows]
    ).scores_
    return before, after


def _as_dict(queries: Queries, before: np.ndarray, after: np.ndarray, labels: np.ndarray, method: str) -> dict:
    """Every list in its new order, with the place that each document had."""
    import numpy as np

    docid = queries.docid
    assert docid is not None
    lists = []
    for place, key in enumerate(queries.ids.tolist()):
        first, last = queries.indptr[place], queries.indptr[place + 1]
        old = np.empty(last - first, dtype=np.int64)
        old[np.argsort(-before[first:last], kind="stable")] = np.arange(1, last - first + 1)
        documents = [
            {
                "docid": str(docid[first + row]),
                "score": float(after[first + row]),
                "base_score": float(before[first + row]),
                "base_rank": int(old[row]),
                "judged": None if np.isnan(labels[first + row]) else float(labels[first + row]),
            }
            for row in np.argsort(-after[first:last], kind="stable").tolist()
        ]
        lists.append({"qid": key, "documents": documents})
    return {"method": method, "n_judged": int((~np.isnan(labels)).sum()), "queries": lists}


def _print_comparison(result: Any, *, as_json: bool) -> None:
    from plackett.cli import measures, output
    from plackett.validation import count_of

    if as_json:
        output.write_json(result.to_dict())
        return
    rows = [[name, *(measures.number(row[metric]) for metric in result.metrics)] for name, row in result.rows()]
    output.write_table(["list: ranking", *result.metrics], rows)
    n_judged = count_of(int(result.judged.sum()), "document")
    output.note(f"{count_of(result.queries.n_queries, 'query', 'queries')}, {n_judged} judged; p-values: paired t-test")
    for text in result.notes:
        output.note(text)
