"""``check_measure`` passes ours, and names what is wrong with others."""

import threading

import numpy as np
import pytest

from plackett.metrics import make_measure
from plackett.testing import check_measure


@pytest.mark.parametrize("name", ["ndcg@3", "map", "kendall", "bpref", "infap", "auc", "rbp", "average-rank", "exact"])
def test_our_measures_pass(name):
    check_measure(name)


def top(labels, k=2):
    return float(labels[:k].sum())


def test_functions_pass():
    check_measure(top)
    check_measure(make_measure(lambda labels, indptr: labels[indptr[:-1]], name="first", vectorized=True))
    expectation = make_measure(top, name="top2", expectation=lambda labels, k=2: labels.mean() * min(k, len(labels)))
    check_measure(expectation)


def changing(labels):
    labels.sort()
    return float(labels[0])


class Counting:
    """Returns another value at every call."""

    def __init__(self):
        self.n = 0

    def __call__(self, labels):
        self.n += 1
        return float(self.n)


def of_one_document(labels):
    return float(labels[1])


locked = threading.Lock()


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        (of_one_document, "raised IndexError: .*in the measure of_one_document, called with query"),
        (make_measure(Counting(), name="mine"), "two calls with the same labels differ"),
        (make_measure(lambda labels: np.nan, name="mine"), r"has no value \(NaN\) for any list"),
        (make_measure(top, name="mine", higher_is_better=False), "lower is said to be better. Set higher_is_better"),
        (make_measure(top, name="mine", expectation=lambda labels, k=2: 7.0), "is given as 7, but the mean over all"),
        (make_measure(top, name="mine", ties="stable"), "the order of the rows or of the queries changes a value"),
        (
            make_measure(lambda labels, indptr: labels[indptr[:-1]] - labels.mean(), name="mine", vectorized=True),
            "the value of a query depends on the other queries",
        ),
        (make_measure(lambda labels: float(labels[0]) if locked else 0.0, name="mine"), "cannot be sent to worker"),
    ],
)
def test_what_is_wrong_is_named(measure, message):
    with pytest.raises(AssertionError, match=message):
        check_measure(measure)


def test_a_function_cannot_change_the_labels_of_others():
    check_measure(make_measure(changing, name="mine"))  # it gets a copy


def test_only_measures_of_labels_are_tested():
    for name in ("alpha-ndcg", "err-ia@5"):
        with pytest.raises(ValueError, match="tests measures of labels with a value per query"):
            check_measure(name)
