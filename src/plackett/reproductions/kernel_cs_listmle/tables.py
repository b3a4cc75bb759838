"""Kernelised cost-sensitive listwise ranking (olinto2016): Tables 5.2 to 5.6, Figures 3.1 and 5.2 to 5.5.

The thesis keeps the first 3, 5 or 10 rows of each query in file order, in training and test, and divides the DCG of a
ranking's first k documents by that of the best order of these same documents. A random order has between 0.5 and 0.6 by
this measure, which is uninformative about whole lists. So a protocol that tests on whole lists is added to that of the
thesis, which is run by its code and by its formulas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from plackett.data.queries import Queries
from plackett.losses import ListMLE
from plackett.reproductions import base
from plackett.reproductions.base import LEVEL, Figure, Item, Job, Paper, Row, Table, gap_and_p
from plackett.reproductions.kernel_cs_listmle.protocols import (
    BASELINES,
    COLUMNS,
    INSTEAD,
    KERNELS,
    METRICS,
    NEEDS,
    PLAIN,
    RANDOM,
    WHOLE,
    Outcomes,
    by_appendix,
    by_model,
    by_sound_protocol,
    cells,
    is_original,
    metrics_of,
    on_first_rows,
    on_whole_lists,
    over_folds,
)

PRINTED = base.printed("kernel_cs_listmle")
NOTES = PRINTED["notes"]
TABLE_OF = {3: "5.3", 5: "5.4", 10: "5.5"}
FIGURE_OF = {3: "5.2", 5: "5.3", 10: "5.4"}
TOLERANCE, TOLERANCE_OF_ITERATIONS = 0.02, 2
FEW = 75  # iterations: the largest number in the thesis


def printed(method: str, column: str, k: int) -> float:
    """Return a printed nDCG@k; baselines have no columns."""
    values = PRINTED["baselines"][method] if method in BASELINES else PRINTED["ndcg"][method][column]
    return values[METRICS.index(k)]


SHIFTS = (-2.0, 0.0, 3.0)


def figure_3_1(job: Job) -> Table:
    """Return how the likelihood loss of two documents depends on d = g2 − g1, if the second is the better one."""
    pair = Queries(np.zeros((2, 1)), np.array([0.0, 1.0]))
    gaps = np.linspace(-4.0, 4.0, 81)

    def losses(g1: float) -> np.ndarray:
        return np.array([ListMLE().value_and_slope(np.array([g1, g1 + d]), pair)[0] for d in gaps])

    loss = losses(0.0)
    spread = float(max(np.abs(losses(g1) - loss).max() for g1 in SHIFTS))
    falls, is_more = bool((np.diff(loss) < 0).all()), bool((loss[gaps < 0] > loss[gaps > 0][::-1]).all())
    same, ends = f"differs by {spread:.1g} at most", f"{loss[0]:.3f} at −4, {loss[-1]:.3f} at 4"
    whole = f"from {loss[0]:.3f} to {loss[-1]:.3f}"
    rows = (
        Row.of_claim("the loss is the same along g2 = g1 + d", "only d", same, spread < 1e-9),
        Row.of_claim("the loss decreases as d increases", "monotonously", whole, falls),
        Row.of_claim("negative d is penalised more than positive d", "more", ends, is_more),
    )
    curve = list(zip(gaps, loss, strict=True))
    lines = {f"d = {d:g}": [(g1, g1 + d) for g1 in (-2.0, 2.0)] for d in (1, 0, -1)}
    return Table(
        "Figure 3.1: the likelihood loss of two documents",
        "ListMLE for two documents, d from −4 to 4, g1 of −2, 0 and 3.",
        "a claim holds at every d, or does not",
        rows,
        figures=(
            Figure("Figure 3.1, left: lines of equal loss", x="g1", y="g2", series=lines),
            Figure("Figure 3.1, right: the loss", x="d", y="loss", series={"ListMLE": curve}),
        ),
    )


# --- Its own protocol -------------------------------------------------------------------------------------------------

_CLAIMED = (
    "a claim is confirmed if paired t-tests over the test queries find it at 5 % without correction, not confirmed if "
    "one finds the opposite, otherwise undecided"
)


def table_5_2(job: Job) -> Table:
    """Return ListNet and RankSVM on whole lists and on first rows, since the thesis does not say which it uses."""
    readings = {WHOLE: over_folds(job, on_whole_lists), "first ten rows": over_folds(job, on_first_rows)}
    rows: list[Row] = []
    for reading, found in readings.items():
        column = WHOLE if reading == WHOLE else "at.10"
        for k in METRICS:
            for name in BASELINES:
                value = _mean(found, name, column, k)
                row = _number(f"{name}, nDCG@{k}, {reading}", printed(name, WHOLE, k), value, job)
                rows.append(row.at(f"Table 5.2, {reading}", f"nDCG@{k}", name))
            rows.append(_random_order(f"{RANDOM}, nDCG@{k}, {reading}", found, column, k))
        rows += [_above(f"{reading}: ", found, ("ListNet", column), ("RankSVM", column), k) for k in METRICS]
    return Table(
        f"Table 5.2: ListNet and RankSVM, {_on(job)}",
        "Linear scores, columns scaled to unit length within each query, l2 chosen on validation queries by NDCG@10. "
        "The thesis does not truncate their training lists and says nothing about their test lists: both readings are "
        "shown, in its own measure.",
        _tolerance(job),
        tuple(rows),
        (_measure_note(job),),
    )


def tables_by_appendix(job: Job) -> Table:
    """Return Tables 5.3 to 5.6 by the code in the appendix."""
    found = over_folds(job, by_appendix)
    halted = [f"{method} {column}" for (method, column), one in found.items() if one.n_left_out]
    notes = [NOTES["appendix"]]
    if halted:
        notes.append(
            f"In the fits {', '.join(halted)} some steps are not finite (kernel values underflow, or exponentials "
            "overflow), at which R stops with an error: the printed code cannot finish them. Such steps are ignored "
            "here."
        )
    return _own_protocol(
        f"Tables 5.3 to 5.6, the appendix's code, {_on(job)}",
        "The R code of the appendix, statement by statement, on the first 3, 5 or 10 rows of each query. Coefficients "
        "have norm 1, as in the text; 10 for the special Gaussian, the one kernel fit whose call is printed.",
        found,
        job,
        tuple(notes),
    )


def tables_by_model(job: Job) -> Table:
    """Return Tables 5.3 to 5.6 by the formulas and the algorithm of the thesis."""
    return _own_protocol(
        f"Tables 5.3 to 5.6, the thesis's model, {_on(job)}",
        "The first 3, 5 or 10 rows of each query, one coefficient for each position (equation 4.1), the weights of the "
        "appendix; its Algorithms 2 and 3 with the true first derivative and a bound on the second, on the unit "
        f"sphere, until the loss changes by less than 0.001. {PLAIN} is linear. Highest scores first.",
        over_folds(job, by_model),
        job,
        (NOTES["model"],),
    )


def _own_protocol(title: str, protocol: str, found: Outcomes, job: Job, notes: tuple[str, ...]) -> Table:
    others = over_folds(job, on_first_rows)
    rows: list[Row] = []
    for k in METRICS:
        rows += _cells(found, "nDCG", k, partial(_number, job=job))
        rows += [
            _random_order(f"{RANDOM}, {column}, nDCG@{k}", others, column, k)
            for column in ("at.3", "at.5", "at.10")
            if k in metrics_of(column)
        ]
    rows.append(_above_chance(found, others))
    rows += _iterations(found, partial(_number, job=job, is_count=True))
    rows += _claims(found, others, "at.10")
    rows += _claims_on_iterations(found)
    return Table(title, protocol, _tolerance(job), tuple(rows), (*notes, _measure_note(job)), _figures(found, "nDCG"))


# --- The sound protocol -----------------------------------------------------------------------------------------------


def tables_by_sound_protocol(job: Job) -> Table:
    """Return Tables 5.2 to 5.6 by a present-day protocol."""
    if is_original(job) and not job.is_quick:
        job.progress("  with 10,000 queries this takes hours")
    found = over_folds(job, by_sound_protocol)
    number = partial(Row.not_comparable, reason="another quantity: whole lists, NDCG over all of their documents")
    rows: list[Row] = []
    for k in METRICS:
        for name in BASELINES:
            row = number(f"Table 5.2: {name}, NDCG@{k}", printed(name, WHOLE, k), _mean(found, name, WHOLE, k))
            rows.append(row.at("Table 5.2", f"NDCG@{k}", name))
    for k in METRICS:
        rows += _cells(found, "NDCG", k, number)
        rows.append(_random_order(f"{RANDOM}, NDCG@{k}", found, WHOLE, k))
    rows.append(_above_chance(found, {(RANDOM, column): found[RANDOM, WHOLE] for column in COLUMNS}))
    why = "truncated Newton to the minimum, from a nearby start"
    rows += _iterations(found, partial(Row.not_comparable, reason=why))
    rows += _claims(found, found, WHOLE)
    return Table(
        f"Tables 5.2 to 5.6, sound protocol, {_on(job)}",
        "All documents of every query, columns with mean 0 and deviation 1 within it; CSListMLE with k = 3, 5, 10 (its "
        "own weights), kernels between all training documents through landmarks; kernel parameters and l2 by NDCG at "
        "that k on validation queries, for special columns l2 alone. Test: NDCG@k of whole lists.",
        f"numbers are not compared; {_CLAIMED}",
        tuple(rows),
        ()
        if is_original(job)
        else (f"The validation queries are a quarter of the training queries. {NOTES['power']}",),
        _figures(found, "NDCG"),
    )


def _claims(found: Outcomes, others: Outcomes, baseline_column: str) -> Iterator[Row]:
    """Yield the claims of section 5.4 and the conclusion about which ranker is best."""
    for k in METRICS:
        for column in COLUMNS:
            if k in metrics_of(column):
                yield _leads(found, column, k)
    both = {**others, **found}
    for k in METRICS:
        for method in (PLAIN, "Polynomial"):
            for name in BASELINES:
                yield _above("", both, (method, "at.10"), (name, baseline_column), k)
    for column, k in (("at.3", 3), ("at.5", 5), ("at.10", 10)):
        prefix = "conclusion, a kernel where training cut and metric agree: "
        yield _above(prefix, found, ("Polynomial", column), (PLAIN, column), k)
    for k in METRICS:
        yield _above("conclusion, tanh gains from other parameters: ", found, ("Tanh", "special"), ("Tanh", "at.10"), k)


def _leads(found: Outcomes, column: str, k: int) -> Row:
    """Return whether the printed winner of a column is above each of the others."""
    leader = PRINTED["leaders"][column]
    rivals = [method for method, where in cells() if where == column and method != leader]
    own = found[leader, column].values[k]
    values = {name: found[name, column].values[k] for name in rivals}
    compared = {name: gap_and_p(own, one) for name, one in values.items()}
    n_beaten = sum(gap > 0 and p_value < LEVEL for gap, p_value in compared.values())
    best = max(rivals, key=lambda name: values[name].mean())
    best_printed = max(rivals, key=lambda name: printed(name, column, k))
    return Row.of_gaps(
        f"nDCG@{k}, {column}: {leader} above all others",
        f"{printed(leader, column, k):.4f}, next {best_printed} {printed(best_printed, column, k):.4f}",
        f"{own.mean():.4f}, best other {best} {values[best].mean():.4f}",
        list(compared.values()),
        f"above {n_beaten} of {len(rivals)}; p {compared[best][1]:.2g} against {best}",
    )


def _above(prefix: str, found: Outcomes, one: tuple[str, str], other: tuple[str, str], k: int) -> Row:
    first, second = (found[key].values[k] for key in (one, other))
    gap, p_value = gap_and_p(first, second)
    names = [f"{method} {column}" if method not in BASELINES else method for method, column in (one, other)]
    in_print = [printed(method, column, k) for method, column in (one, other)]
    contradiction = "; the printed numbers contradict the claim" if in_print[0] < in_print[1] else ""
    return Row.of_gaps(
        f"{prefix}nDCG@{k}: {names[0]} above {names[1]}",
        f"{in_print[0]:.4f} and {in_print[1]:.4f}",
        f"{first.mean():.4f} and {second.mean():.4f}",
        [(gap, p_value)],
        f"{gap:+.4f}, p {p_value:.2g}" + contradiction,
    )


def _above_chance(found: Outcomes, others: Outcomes) -> Row:
    compared = [
        gap_and_p(one.values[k], others[RANDOM, "at.10" if column == "special" else column].values[k])
        for (method, column), one in found.items()
        if method in (*KERNELS, PLAIN)
        for k in metrics_of(column)
    ]
    above, below = (sum(sign * gap > 0 and p_value < LEVEL for gap, p_value in compared) for sign in (1, -1))
    ours = f"above {above}, below {below}, of {len(compared)}"
    return Row.not_comparable(f"numbers that differ from {RANDOM} at 5 %", None, ours, "not in the thesis")


def _cells(found: Outcomes, measure: str, k: int, number: Callable[..., Row]) -> Iterator[Row]:
    """Yield the rows of Tables 5.3 to 5.5, made by ``number``."""
    for method, column in cells():
        if k in metrics_of(column):
            what = f"Table {TABLE_OF[k]}: {method}, {column}, {measure}@{k}"
            row = number(what, printed(method, column, k), _mean(found, method, column, k))
            yield row.at(f"Table {TABLE_OF[k]}", method, column)


def _iterations(found: Outcomes, number: Callable[..., Row]) -> Iterator[Row]:
    """Yield the rows of Table 5.6, made by ``number``."""
    for method, column in cells():
        ours = float(np.mean(found[method, column].iterations))
        what, printed_number = f"Table 5.6: {method}, {column}, iterations", PRINTED["iterations"][method][column]
        yield number(what, printed_number, ours).at("Table 5.6", method, column)


def _figures(found: Outcomes, measure: str) -> tuple[Figure, ...]:
    """Return Figures 5.2 to 5.5: the bars of Tables 5.3 to 5.6."""
    values = {
        f"Figure {number}: {measure}@{k}": {key: _mean(found, *key, k) for key in cells() if k in metrics_of(key[1])}
        for k, number in FIGURE_OF.items()
    }
    values["Figure 5.5: iterations"] = {key: float(np.mean(found[key].iterations)) for key in cells()}
    answer = []
    for title, own in values.items():
        series: dict[str, list[tuple[str, float]]] = {}
        for (method, column), value in own.items():
            series.setdefault(method, []).append((column, value))
        y = title.rpartition(" ")[2]
        answer.append(Figure(title, "bars", x="documents of a training list", y=y, series=series))
    return tuple(answer)


def _claims_on_iterations(found: Outcomes) -> Iterator[Row]:
    mean = {key: float(np.mean(one.iterations)) for key, one in found.items()}
    slowest = max(mean, key=lambda key: mean[key])
    shown, reason = f"{min(mean.values()):g} to {mean[slowest]:g}", f"most for {' '.join(slowest)}"
    yield Row.of_claim("iterations: relatively few", f"2 to {FEW}", shown, mean[slowest] <= FEW, reason)
    for column, expected in PRINTED["fastest"].items():
        here = {method: mean[method, where] for method, where in cells() if where == column}
        least, claimed = min(here.values()), " and ".join(expected)
        fastest = [method for method, n in here.items() if n == least]
        what, holds = f"iterations, {column}: {claimed} fastest", set(expected) <= set(fastest)
        yield Row.of_claim(what, claimed, " and ".join(fastest), holds, f"least: {least:g}")


def _number(what: str, value: float, ours: float, job: Job, *, is_count: bool = False) -> Row:
    if is_original(job):
        tolerance = TOLERANCE_OF_ITERATIONS if is_count else TOLERANCE
        return Row.of_number(what, value, ours, tolerance=tolerance, is_error=is_count)
    return Row.not_comparable(what, value, ours, "86 queries, not 10,000")


def _random_order(what: str, found: Outcomes, column: str, k: int) -> Row:
    return Row.not_comparable(what, None, _mean(found, RANDOM, column, k), "not in the thesis")


def _mean(found: Outcomes, method: str, column: str, k: int) -> float:
    return float(found[method, column].values[k].mean())


def _on(job: Job) -> str:
    if is_original(job):
        return "MSLR-WEB10K"
    return "on 43 training and 43 test queries of MSLR-WEB10K, not on all of it"


def _tolerance(job: Job) -> str:
    if is_original(job):
        return f"numbers to {TOLERANCE}, iterations to {TOLERANCE_OF_ITERATIONS}; {_CLAIMED}"
    return f"numbers are not compared, since a sample's would differ anyway; {_CLAIMED}"


def _measure_note(job: Job) -> str:
    return NOTES["measure"] if is_original(job) else f"{NOTES['measure']} {NOTES['power']}"


PAPER = Paper(
    "kernel-cs-listmle",
    "Kernelized cost-sensitive listwise ranking (Guimaraes Olinto 2016)",
    "olinto2016",
    (
        Item("Figure 3.1", figure_3_1, 1, 1),
        Item("Table 5.2", table_5_2, 10, 10, NEEDS, INSTEAD),
        Item("Tables 5.3 to 5.6, the appendix's code", tables_by_appendix, 10, 10, NEEDS, INSTEAD),
        Item("Tables 5.3 to 5.6, the thesis's model", tables_by_model, 10, 10, NEEDS, INSTEAD),
        Item("Tables 5.2 to 5.6, sound protocol", tables_by_sound_protocol, 90, 15, NEEDS, INSTEAD),
    ),
)
