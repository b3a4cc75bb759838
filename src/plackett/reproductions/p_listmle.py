"""Position-aware ListMLE (lan2014): its worked example, and its comparison with other listwise losses (Figure 1)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from plackett.data.queries import Queries
from plackett.losses import ListMLE, PListMLE
from plackett.metrics.graded import ndcg
from plackett.rankers.linear.ranker import LinearRanker
from plackett.reproductions.base import Figure, Item, Job, Paper, Row, Table, gap_and_p
from plackett.reproductions.strict_orders import INSTEAD, NEEDS, strict_lists, values_of_best
from plackett.solvers import SGD

LABELS = np.array([5.0, 4.0, 3.0, 2.0, 1.0])
FIRST, SECOND = np.log([4.0, 5.0, 3.0, 2.0, 1.0]), np.log([5.0, 4.0, 1.0, 2.0, 3.0])
# the fractions that the paper prints, multiplied out; it gives no decimals
PRINTED_LOSS = {"first": -np.log(4 / 15 * 5 / 11 * 3 / 6 * 2 / 3), "second": -np.log(5 / 15 * 4 / 10 * 1 / 6 * 2 / 5)}
EXACT = 1e-9
BASES = (2.0, 3.0, 4.0)


def worked_example(job: Job) -> Table:
    """Return which of two rankings of five documents each loss prefers."""
    lists = Queries(np.zeros((5, 1)), LABELS)

    def both(loss: ListMLE | PListMLE) -> tuple[float, float]:
        return tuple(float(loss.value_and_slope(scores, lists)[0]) for scores in (FIRST, SECOND))  # type: ignore[return-value]

    first, second = both(ListMLE())
    rows = [
        Row.of_number(f"ListMLE's loss of the {which} ranking", printed, ours, tolerance=EXACT, is_error=True)
        for (which, printed), ours in zip(PRINTED_LOSS.items(), (first, second), strict=True)
    ]
    preferred = "first" if first < second else "second"
    rows.append(Row.of_claim("ListMLE prefers the first", "first", preferred, first < second))
    one, other = (float(ndcg(LABELS, scores)[0]) for scores in (FIRST, SECOND))
    rows.append(Row.of_claim("NDCG@5 prefers the second", "second", f"{one:.4f} and {other:.4f}", one < other))
    for base in BASES:
        first, second = both(PListMLE(position_weights="exp", base=base))
        ours = f"{first:.4f} and {second:.4f}"
        if base == BASES[0]:
            what = "p-ListMLE prefers the second, weights 2^(n−i) − 1"
            reason = "with α(i) = 2^(n−i) − 1 the weight falls too slowly for the paper's own condition (10)"
            rows.append(Row.of_claim(what, "second", ours, second < first, reason))
        else:
            what, reason = f"the same with base {base:g}", "not in the paper: steeper weights do"
            rows.append(Row.not_comparable(what, None, ours, reason))
    return Table(
        "The worked example (section 3.1)",
        "Scores ln(4, 5, 3, 2, 1) and ln(5, 4, 1, 2, 3) for documents labelled 5 to 1. Losses of p-ListMLE are divided "
        "by the first weight.",
        f"losses to {EXACT:g}; a preference is confirmed or not",
        tuple(rows),
    )


# improvement of p-ListMLE over the others in NDCG@10, in percent of theirs; the figure itself has no numbers
PRINTED_GAIN = {
    "mq2007-list": {"ListMLE": 0.95, "ListNet": 0.85, "RankCosine": 1.48},
    "mq2008-list": {"ListMLE": 0.54, "ListNet": 0.22, "RankCosine": 0.32},
}
LOSSES = {"p-ListMLE": "p-listmle", "ListMLE": "listmle", "ListNet": "listnet", "RankCosine": "rankcosine"}
POWERS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
PASSES = 500
CUTOFFS = (10, *range(1, 10))  # the first chooses the settings
GAINS = {"linear gain": "ndcg@{}(gain=linear)", "exponential gain": "ndcg@{}"}
FIGURES = {"mq2007-list": "Figure 1 (a): MQ2007-list", "mq2008-list": "Figure 1 (b): MQ2008-list"}


def figure_1(job: Job, original: str = "mq2008-list") -> Table:
    """Return NDCG of four losses, trained by stochastic gradients as in the paper."""
    lists = strict_lists(job, original)
    metrics = [form.format(k) for form in GAINS.values() for k in CUTOFFS]
    values: dict[str, np.ndarray] = {}
    for name, loss in LOSSES.items():
        job.progress(f"  {name}")
        values[name] = values_of_best(list(_candidates(loss, job)), lists, metrics, "paper")
    rows, figures = [], []
    for place, gain in enumerate(GAINS):
        own = {name: found[:, place * len(CUTOFFS) :][:, : len(CUTOFFS)] for name, found in values.items()}
        leader = own["p-ListMLE"][:, 0]
        what, reason = f"p-ListMLE, NDCG@10, {gain}", "a figure without numbers"
        rows.append(Row.not_comparable(what, None, float(leader.mean()), reason))
        for name, printed in PRINTED_GAIN[original].items():
            rows.append(_improvement(name, gain, printed, leader, own[name][:, 0]).at(PRINTED_IN, name, gain))
        curves = {name: sorted(zip(CUTOFFS, found.mean(axis=0), strict=True)) for name, found in own.items()}
        title = FIGURES[original] if lists.is_original else "Figure 1 (b): on the lists of MQ2008"
        figures.append(Figure(f"{title}, {gain}", x="k", y="NDCG@k", series=curves))
    return Table(
        f"{FIGURES[original].partition(':')[0]}: NDCG, {lists.description}",
        f"Linear scores, stochastic gradients over queries, at most {_passes(job)} passes; learning rate and threshold "
        f"from {{0.1, …, 0.00001}} by NDCG@10 on the validation lists; {len(lists.folds)} of five folds, "
        f"{len(values['p-ListMLE'])} test lists. The paper does not say "
        "whether the gain of a strict order is n − y or 2^(n − y).",
        "an improvement is confirmed if a paired t-test over the lists finds it at 5 %, undecided if it finds none",
        tuple(rows),
        () if lists.is_original else (SHORTER,),
        tuple(figures),
    )


PRINTED_IN = "NDCG@10 of p-ListMLE above that of"
SHORTER = "The lists are far shorter than the paper's (ten to 121 documents, not a thousand)."


def _improvement(name: str, gain: str, printed: float, own: np.ndarray, other: np.ndarray) -> Row:
    percent = 100 * (own.mean() - other.mean()) / other.mean()
    gap, p_value = gap_and_p(own, other)
    what = f"p-ListMLE above {name}, {gain}"
    return Row.of_gaps(what, f"+{printed:.2f} %", f"{percent:+.2f} %", [(gap, p_value)], f"p {p_value:.2g}")


def _passes(job: Job) -> int:
    return 50 if job.is_quick else PASSES


def _candidates(loss: str, job: Job) -> Iterator[LinearRanker]:
    for rate in POWERS:
        for threshold in POWERS[2:3] if job.is_quick else POWERS:
            solver = SGD(learning_rate=rate, threshold=threshold)
            yield LinearRanker(loss=loss, l2=0.0, solver=solver, max_iter=_passes(job), random_state=job.rng_seed)


_LARGER = "mq2007-list"
_IN_PRINT = tuple(
    Row.not_comparable(f"p-ListMLE above {name}", f"+{gain:.2f} %", None, f"not available: {_LARGER}")
    for name, gain in PRINTED_GAIN[_LARGER].items()
)
_run_larger = partial(figure_1, original=_LARGER)
PAPER = Paper(
    "p-listmle",
    "Position-aware ListMLE (Lan, Zhu, Guo, Niu and Cheng 2014)",
    "lan2014",
    (
        Item("The worked example (section 3.1)", worked_example, 1, 1),
        Item("Figure 1 (a)", _run_larger, 40_000, 900, (_LARGER,), figures=(FIGURES[_LARGER],), printed=_IN_PRINT),
        Item("Figure 1 (b)", figure_1, 400, 10, NEEDS, INSTEAD, (FIGURES["mq2008-list"],)),
    ),
)
