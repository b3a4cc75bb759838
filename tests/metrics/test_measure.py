"""Measures as values: parsed, printed, compared, copied."""

import copy
import pickle
import re

import numpy as np
import pytest

from plackett import metrics
from plackett.metrics.measure import Measure, split_measures
from plackett.metrics.registry import KINDS


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("ndcg@10", "ndcg@10"),
        ("NDCG@10", "ndcg@10"),
        (" ndcg @ 10 ", "ndcg@10"),
        ("map", "map"),
        ("AP", "map"),
        ("rr@5", "mrr@5"),
        ("precision@5", "p@5"),
        ("err@20(max_label=4)", "err@20(max_label=4)"),
        ("ndcg(ties=average, gain=linear)", "ndcg(gain=linear, ties=average)"),
        ("sharp_ndcg", "sharp-ndcg"),
        ("MeanNDCG", "mean-ndcg"),
        ("wpd(normalize=True)", "wpd(normalize=True)"),
        ("map(relevant_from=1.5)", "map(relevant_from=1.5)"),
        ("ndcg@3(empty=skip)", "ndcg@3(empty=skip)"),
        ("wpd(normalize=false)", "wpd(normalize=False)"),
        ("err@5(max_label=None)", "err@5(max_label=None)"),
        ("p@5(relevant_from=inf)", "p@5(relevant_from=inf)"),
    ],
)
def test_measures_parse_and_print(text, printed):
    measure = Measure.parse(text)
    assert str(measure) == printed
    assert Measure.parse(str(measure)) == measure
    assert hash(Measure.parse(str(measure))) == hash(measure)
    assert pickle.loads(pickle.dumps(measure)) == measure
    assert repr(measure) == f"Measure({printed!r})"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ndgc@10", "there is no measure 'ndgc'. Did you mean 'ndcg'?"),
        ("ndcg@0", "k=0; it must be a whole number of at least 1"),
        ("ndcg@ten", "the cut-off after @ must be an integer of at least 1, not 'ten'"),
        ("ndcg@-3", "the cut-off after @"),
        ("ndcg@10(gain)", "expected key=value between the brackets, found 'gain'"),
        ("ndcg@10(gain=linear", "is not a measure; write it like"),
        ("ndcg(gain=linear, gain=linear)", "gain is given twice"),
        ("ndcg(max_label=3)", "ndcg has no parameter 'max_label'; it has discount, empty, gain"),
        ("ndcg(empty=2)", "empty=2 is not known"),
        ("kendall@5", "kendall uses the whole list; it has no cut-off"),
        ("persistence", "persistence needs a cut-off, such as persistence@10"),
        ("", "is not a measure"),
        ("ndcg@10(gain=linear))", "gain='linear)' is not known"),
        ("ndcg@10(gain==linear)", "gain='=linear' is not known"),
        ("ndcg(ties=foo)", "ties='foo' is not known"),
        ("wpd(normalize=1)", "normalize=1 is not known"),
        ("wpd(weights=foo)", "position_weights='foo' is not known"),
        ("ndcg@10(k=5)", "write the cut-off after @, as in ndcg@5"),
        ("p@1(relevant_from=x)", "p(relevant_from=x): relevant_from must be a number."),
        ("err(max_label=nan)", "err(max_label=nan): max_label must be a number."),
    ],
)
def test_what_is_not_a_measure_is_explained(text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Measure.parse(text)


def test_a_measure_with_a_function_can_be_copied():
    measure = Measure("wpd", weights=linear_weights)
    for copied in (copy.deepcopy(measure), pickle.loads(pickle.dumps(measure))):
        assert copied == measure
        assert copied([2, 1, 0], [1, 2, 3])[0] == measure([2, 1, 0], [1, 2, 3])[0]


def linear_weights(positions, n):
    return n - positions


def test_a_switch_is_only_true_or_false():
    labels, scores = [2, 0, 1], [0.9, 0.4, 0.1]
    assert Measure.parse("wpd(normalize=false)")(labels, scores)[0] == pytest.approx(1 / 3)
    assert Measure.parse("wpd(normalize=TRUE)")(labels, scores)[0] == pytest.approx(1 / 7)
    with pytest.raises(ValueError, match="normalize='no' is not known; choose one of True, False"):
        Measure.parse("wpd(normalize=no)")


def test_measures_are_split_at_commas_outside_brackets():
    assert split_measures("ndcg@3(gain=linear, ties=best), map,") == ["ndcg@3(gain=linear, ties=best)", "map"]


def test_measures_do_not_change():
    with pytest.raises(AttributeError, match="is immutable"):
        Measure.parse("ndcg").k = 3
    with pytest.raises(TypeError):
        Measure.parse("ndcg(gain=linear)").parameters["gain"] = "exponential"


def test_a_measure_gives_what_its_function_gives():
    labels, scores, qid = [2, 0, 1, 0], [1, 2, 3, 4], [1, 1, 1, 2]
    assert Measure.parse("ndcg@2(gain=linear)")(labels, scores, qid=qid) == pytest.approx(
        metrics.ndcg(labels, scores, qid=qid, k=2, gain="linear")
    )
    assert np.isnan(Measure.parse("map(empty=skip)")(labels, scores, qid=qid)[1])


def test_every_measure_says_whether_higher_is_better():
    lower = {name for name, kind in KINDS.items() if not kind.higher_is_better}
    assert lower == {"kendall", "mre", "wpd", "average-rank"}
