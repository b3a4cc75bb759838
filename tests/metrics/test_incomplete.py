"""bpref and infAP: documents that were not judged, or are not in the pool."""

import itertools

import numpy as np
import pytest

import plackett as pk
from plackett.data.trec.qrels import Qrels
from plackett.data.trec.run import Run
from tests.metrics import literal


def test_a_missing_label_means_not_judged():
    labels = [1, 0, np.nan, 2, 0, np.nan]
    data = pk.Queries(np.zeros((6, 1)), labels, qid=[7] * 6)
    assert data.judged.tolist() == [True, True, False, True, True, False]
    scores = [6, 5, 4, 3, 2, 1]
    found = pk.evaluate(data, scores, metrics="bpref,infap")
    marked = [-1 if np.isnan(label) else label for label in labels]
    assert found["bpref"][0] == pytest.approx(literal.bpref(marked))
    assert found["infap"][0] == pytest.approx(literal.infap(marked))
    assert pk.metrics.bpref(labels, scores)[0] == found["bpref"][0]
    with pytest.raises(ValueError, match=r"2 documents of these queries are not judged.*Only bpref and infap"):
        pk.evaluate(data, scores, metrics="bpref,ndcg")
    with pytest.raises(ValueError, match="labels has a NaN in row 2"):
        pk.evaluate(labels, scores, qid=[7] * 6, metrics="bpref,ndcg")


def test_the_qrels_say_what_is_judged():
    assert Qrels(["1"] * 3, ["a", "b", "c"], [1, 0, -1]).judged.tolist() == [True, True, False]


@pytest.mark.parametrize("seed", range(6))
def test_ties_are_averaged_over_all_their_orders_also_outside_the_pool(seed):
    rng = np.random.default_rng(seed)
    labels = [[1, 2, 0, 0, -1, None][place] for place in rng.integers(0, 6, 6)]
    scores = rng.integers(0, 2, 6).astype(float)
    names = [f"d{place}" for place in range(6)]
    judged = [place for place, label in enumerate(labels) if label is not None]
    qrels = Qrels(["1"] * (len(judged) + 1), [*(names[at] for at in judged), "x"], [*(labels[at] for at in judged), 1])
    run = Run(["1"] * 6, names, scores)
    groups = [[labels[at] for at in range(6) if scores[at] == level] for level in (1.0, 0.0)]
    orders = [[*a, *b] for a in itertools.permutations(groups[0]) for b in itertools.permutations(groups[1])]
    n_relevant = 1 + sum(label is not None and label > 0 for label in labels)
    slow = {
        "infap": np.mean([literal.infap([*order, 1]) - _last(order) / n_relevant for order in orders]),
        "bpref": np.mean([literal.bpref([one for one in [*order, 1] if one is not None]) for order in orders]),
    }
    # the relevant document x was not retrieved: it counts in R only
    n_others = sum(label is not None and 0 <= label < 1 for label in labels)
    slow["bpref"] -= (1 - (min(n_others, n_relevant) / min(n_others, n_relevant) if n_others else 0)) / n_relevant
    found = pk.evaluate(qrels, run, metrics="infap,bpref").mean()
    assert found == pytest.approx(slow, abs=1e-12)


def _last(order):
    """The share of a relevant document behind the order in literal.infap."""
    pooled = [one for one in order if one is not None]
    relevant, judged, i = sum(one > 0 for one in pooled), sum(one >= 0 for one in pooled), len(order) + 1
    return 1 / i + len(pooled) / i * (relevant + 1e-5) / (judged + 2e-5)


def test_a_threshold_below_the_mark_of_unjudged_documents_is_refused():
    with pytest.raises(ValueError, match="relevant_from=0; it must be above 0"):
        pk.metrics.bpref([1, 0], [2, 1], relevant_from=0)
