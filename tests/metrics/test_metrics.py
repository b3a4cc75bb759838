"""Measures against literal loops, invariances and hand sums."""

import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from plackett import _threads, metrics
from plackett.metrics import Measure
from plackett.metrics.judged_lists import judge
from tests.metrics import literal

MAX_LABEL = 4

# name -> (public function, literal loop, keywords that both take)
CASES = [
    ("dcg", {}),
    ("dcg", {"k": 2, "gain": "linear"}),
    ("dcg", {"k": 3, "discount": "jarvelin"}),
    ("ndcg", {}),
    ("ndcg", {"k": 3}),
    ("ndcg", {"k": 2, "gain": "linear", "discount": "jarvelin"}),
    ("ndcg", {"k": 10}),
    ("mean_ndcg", {}),
    ("mean_ndcg", {"gain": "linear", "discount": "jarvelin"}),
    ("precision", {"k": 2}),
    ("precision", {"k": 9}),
    ("precision", {}),
    ("precision", {"k": 3, "relevant_from": 2}),
    ("recall", {"k": 2}),
    ("recall", {}),
    ("average_precision", {}),
    ("average_precision", {"k": 3}),
    ("average_precision", {"relevant_from": 2}),
    ("reciprocal_rank", {}),
    ("reciprocal_rank", {"k": 2}),
    ("reciprocal_rank", {"relevant_from": 3}),
    ("err", {"max_label": MAX_LABEL}),
    ("err", {"max_label": MAX_LABEL, "k": 3}),
    ("mre", {}),
    ("kendall", {}),
    ("persistence", {"k": 2}),
    ("persistence", {"k": 4}),
    ("exact", {}),
    ("sharp_ndcg", {}),
    ("sharp_ndcg", {"gain": "linear"}),
    ("wpd", {}),
    ("wpd", {"gain": "linear"}),
    ("success", {"k": 1}),
    ("success", {"k": 3, "relevant_from": 2}),
    ("success", {}),
    ("r_precision", {}),
    ("r_precision", {"relevant_from": 3}),
    ("rbp", {}),
    ("rbp", {"k": 2, "p": 0.5}),
    ("auc", {}),
    ("auc", {"relevant_from": 2}),
    ("average_rank", {}),
    ("average_rank", {"relevant_from": 2}),
    ("bpref", {}),
    ("bpref", {"relevant_from": 3}),
    ("infap", {}),
    ("infap", {"relevant_from": 2}),
]
IDS = [f"{name}-{'-'.join(map(str, keywords.values()))}" for name, keywords in CASES]

lists_with_ties = st.lists(st.tuples(st.integers(-1, MAX_LABEL), st.integers(0, 2)), min_size=1, max_size=6)


def public(name, labels, scores, **keywords):
    return getattr(metrics, name)(labels, scores, qid=[0] * len(labels), empty="skip", **keywords)[0]


def same(found, expected):
    return found == pytest.approx(expected, rel=1e-12, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize(("name", "keywords"), CASES, ids=IDS)
@given(rows=lists_with_ties)
@settings(max_examples=60, deadline=None)
def test_each_rule_for_ties_equals_the_literal_loop(name, keywords, rows):
    labels, scores = [label for label, _ in rows], [score for _, score in rows]
    slow = getattr(literal, name)

    def in_order(key):
        order = sorted(range(len(rows)), key=key)
        return slow([labels[i] for i in order], **keywords)

    assert same(public(name, labels, scores, ties="stable", **keywords), in_order(lambda i: -scores[i]))
    assert same(public(name, labels, scores, ties="worst", **keywords), in_order(lambda i: (-scores[i], labels[i])))
    assert same(public(name, labels, scores, ties="best", **keywords), in_order(lambda i: (-scores[i], -labels[i])))
    docid = [f"d{17 * i % 7}{i}" for i in range(len(rows))]
    by_docid = sorted(range(len(rows)), key=lambda i: docid[i], reverse=True)
    by_docid.sort(key=lambda i: -scores[i])
    assert same(
        public(name, labels, scores, ties="trec", docid=docid, **keywords),
        slow([labels[i] for i in by_docid], **keywords),
    )
    everything = [slow(order, **keywords) for order in literal.orders_of_ties(labels, scores)]
    assert same(public(name, labels, scores, **keywords), sum(everything) / len(everything))


@given(rows=lists_with_ties)
@settings(max_examples=200, deadline=None)
def test_kendall_counts_discordant_pairs_and_half_of_the_tied_ones(rows):
    n = len(rows)
    labels, scores = [a for a, _ in rows], [s for _, s in rows]
    discordant = sum((a - b) * (s - t) < 0 for a, s in rows for b, t in rows) / 2
    tied = sum(a != b and s == t for a, s in rows for b, t in rows) / 2
    n_pairs = n * (n - 1) / 2 if n > 1 else math.nan
    assert same(public("kendall", labels, scores), (discordant + tied / 2) / n_pairs)
    assert same(Measure.parse("kendall(convention=paper, empty=skip)")(labels, scores)[0], discordant / n_pairs)


@given(rows=lists_with_ties, gain=st.sampled_from(["exponential", "linear"]))
@settings(max_examples=200, deadline=None)
def test_weighted_disagreement_of_the_paper_equals_the_sum_over_pairs(rows, gain):
    labels, scores = [label for label, _ in rows], [score for _, score in rows]
    paper = Measure("wpd", convention="paper", gain=gain, empty="skip")
    assert same(paper(labels, scores)[0], literal.wpd_of_scores(labels, scores, gain))


@given(st.lists(st.integers(0, 5), min_size=2, max_size=40), st.randoms())
@settings(max_examples=100, deadline=None)
def test_weighted_disagreement_is_one_minus_sharp_ndcg(labels, random):
    scores = [random.randrange(len(labels)) for _ in labels]
    assert same(
        public("wpd", labels, scores, normalize=True),
        1 - public("sharp_ndcg", labels, scores),
    )


def test_weighted_disagreement_with_position_weights_follows_equation_11():
    labels, scores = [3, 2, 2, 0], [0.1, 0.9, 0.5, 0.4]
    # places 1..4 in the true order weigh 3, 2, 1, 0; the two labels 2 share (2 + 1) / 2
    weight = {3: 3.0, 2: 1.5, 0: 0.0}
    expected = sum(
        weight[a] - weight[b]
        for a, s in zip(labels, scores, strict=True)
        for b, t in zip(labels, scores, strict=True)
        if a > b and s <= t
    )
    assert same(public("wpd", labels, scores, weights="linear"), expected)
    assert same(public("wpd", labels, scores, weights=lambda positions, n: n - positions), expected)


def random_lists(rng, n_queries=30, longest=40, levels=5, score_levels=None):
    lengths = rng.integers(1, longest, n_queries)
    qid = np.repeat(np.arange(n_queries) * 7 + 3, lengths)
    labels = rng.integers(0, levels, qid.size)
    scores = rng.random(qid.size) if score_levels is None else rng.integers(0, score_levels, qid.size).astype(float)
    return labels, scores, qid


ALL = [
    (metrics.dcg, {}),
    (metrics.ndcg, {"k": 10}),
    (metrics.mean_ndcg, {}),
    (metrics.precision, {"k": 5}),
    (metrics.recall, {"k": 5}),
    (metrics.average_precision, {}),
    (metrics.reciprocal_rank, {}),
    (metrics.err, {"k": 10}),
    (metrics.kendall, {}),
    (metrics.mre, {}),
    (metrics.persistence, {"k": 5}),
    (metrics.exact, {}),
    (metrics.sharp_ndcg, {}),
    (metrics.wpd, {}),
    (metrics.success, {"k": 3}),
    (metrics.r_precision, {}),
    (metrics.rbp, {"k": 8}),
    (metrics.auc, {}),
    (metrics.average_rank, {}),
    (metrics.bpref, {}),
    (metrics.infap, {}),
]


@pytest.mark.parametrize(("metric", "keywords"), ALL, ids=lambda value: getattr(value, "__name__", ""))
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=15, deadline=None)
def test_shuffling_rows_changes_only_the_order_of_the_output(metric, keywords, seed):
    rng = np.random.default_rng(seed)
    labels, scores, qid = random_lists(rng, score_levels=8)
    values = dict(
        zip(dict.fromkeys(qid.tolist()), metric(labels, scores, qid=qid, ties="average", **keywords), strict=True)
    )
    shuffle = rng.permutation(qid.size)
    again = metric(labels[shuffle], scores[shuffle], qid=qid[shuffle], ties="average", **keywords)
    for query, value in zip(dict.fromkeys(qid[shuffle].tolist()), again, strict=True):
        assert value == pytest.approx(values[query], abs=1e-12, nan_ok=True)


@pytest.mark.parametrize(("metric", "keywords"), ALL, ids=lambda value: getattr(value, "__name__", ""))
def test_results_do_not_depend_on_the_number_of_threads(metric, keywords, monkeypatch):
    monkeypatch.setattr("plackett.metrics.judged_lists.DOCS_PER_BLOCK", 50)
    labels, scores, qid = random_lists(np.random.default_rng(5), n_queries=60, score_levels=6)
    results = []
    for n in (1, 2, 5):
        _threads.set_n_threads(n)
        results.append(metric(labels, scores, qid=qid, **keywords))
    _threads.set_n_threads(None)
    assert np.array_equal(results[0], results[1], equal_nan=True)
    assert np.array_equal(results[0], results[2], equal_nan=True)


@pytest.mark.parametrize("length", [3, 511, 512, 513, 1535, 1537, 4000])
@pytest.mark.parametrize("score_levels", [None, 40])
def test_lists_of_any_length_are_ordered_alike(length, score_levels):
    rng = np.random.default_rng(length)
    labels = rng.permutation(length)
    scores = rng.random(length) if score_levels is None else rng.integers(0, score_levels, length).astype(float)
    qid = np.zeros(length)
    ranked = labels[np.argsort(-scores, kind="stable")]
    assert np.array_equal(judge(labels, scores, qid).ranked("stable").labels, ranked)
    rises = sum(int((ranked[i + 1 :] > ranked[i]).sum()) for i in range(length))
    assert metrics.mre(labels, scores, qid=qid, ties="stable")[0] == pytest.approx(
        rises / (length * (length - 1) / 2), rel=1e-12
    )
    discordant = sum(int(((labels < labels[i]) & (scores > scores[i])).sum()) for i in range(length))
    tied = sum(int((scores[i + 1 :] == scores[i]).sum()) for i in range(length))
    expected = (discordant + tied / 2) / (length * (length - 1) / 2)
    assert metrics.kendall(labels, scores, qid=qid)[0] == pytest.approx(expected, rel=1e-12)


def test_scores_that_differ_below_single_precision_are_told_apart():
    labels, scores = [1, 0], [1.0, 1.0 + 1e-12]
    assert metrics.reciprocal_rank(labels, scores)[0] == 0.5
    assert metrics.reciprocal_rank(labels, np.float32(scores))[0] == 0.75


@given(st.lists(st.integers(0, 4), min_size=1, max_size=30), st.randoms())
@settings(max_examples=100, deadline=None)
def test_ndcg_lies_between_0_and_1_and_a_perfect_order_scores_1(labels, random):
    scores = [random.random() for _ in labels]
    for k in (None, 1, 3, 50):
        value = public("ndcg", labels, scores, k=k)
        assert math.isnan(value) if max(labels) == 0 else -1e-12 <= value <= 1 + 1e-12
        perfect = metrics.ndcg(labels, labels, k=k, empty=1)
        assert perfect[0] == pytest.approx(1.0, abs=1e-12)
        assert metrics.average_precision(labels, labels, k=None, empty=1)[0] == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("label", [1000, 5000, 1e6, 1e300])
def test_labels_of_a_thousand_and_more_overflow_nowhere(label):
    labels, scores = [label, label - 1, 0], [1.0, 2.0, 3.0]
    with np.errstate(all="raise"):
        for metric, keywords in ALL[1:]:
            value = metric(labels, scores, **keywords)
            assert np.isfinite(value).all(), metric.__name__
    assert metrics.ndcg([label, 0], [1.0, 2.0])[0] == pytest.approx(1 / math.log2(3))
    # 2^-1 relative to the best, in places 2 and 3 behind a document without gain
    if label < 1e15:
        expected = (0.5 / math.log2(3) + 1 / 2) / (1 + 0.5 / math.log2(3))
        assert metrics.ndcg(labels, scores)[0] == pytest.approx(expected)


def test_dcg_refuses_labels_whose_gain_overflows():
    with pytest.raises(ValueError, match=r"dcg with gain 2\*\*label overflows: a label is 1024, above 1023"):
        metrics.dcg([1024, 0], [1, 2])
    assert metrics.dcg([1024, 0], [2, 1], gain="linear")[0] == 1024

    with pytest.raises(ValueError, match="dcg overflows"):
        metrics.dcg([1023, 1023, 1023], [1, 2, 3])


@pytest.mark.parametrize("label", [1e-20, 1e-10, 1e-3, 0.3, 0.999])
def test_labels_below_one_lose_no_precision(label):
    # gains are very nearly proportional to small labels: 2^x − 1 = x ln 2 + …
    exact = math.expm1(2 * label * math.log(2)) / math.expm1(label * math.log(2))
    expected = (1 + exact / math.log2(3)) / (exact + 1 / math.log2(3))
    assert metrics.ndcg([label, 2 * label], [2, 1])[0] == pytest.approx(expected, rel=1e-12)
    assert metrics.mean_ndcg([label, 2 * label], [2, 1])[0] == pytest.approx((1 / exact + expected) / 2, rel=1e-12)


@pytest.mark.parametrize("label", [5e-324, 1e-323, 1e-310])
@pytest.mark.parametrize("gain", ["exponential", "linear"])
def test_the_smallest_labels_there_are_still_have_a_perfect_order(label, gain):
    assert metrics.ndcg([label, 0], [2, 1], gain=gain, empty="skip")[0] == 1
    assert metrics.ndcg([label, 0], [1, 2], gain=gain, k=1, empty="skip")[0] == 0
    assert metrics.mean_ndcg([label, 0], [2, 1], gain=gain, empty="skip")[0] == 1


def test_an_enormous_cutoff_is_the_whole_list():
    for metric, keywords in ALL:
        if "k" in keywords:
            huge, whole = metric([1, 0, 2], [1, 2, 3], k=10**30), metric([1, 0, 2], [1, 2, 3], k=10**15)
            assert huge == pytest.approx(whole, abs=1e-12)


def test_ties_by_document_id_compare_text_as_trec_eval_does():
    assert metrics.ndcg([1, 0], [1, 1], docid=[9, 10], ties="trec")[0] == 1
    assert metrics.ndcg([1, 0], [1, 1], docid=["9", "10"], ties="trec")[0] == 1
    assert metrics.ndcg([1, 0], [1, 1], docid=np.array([9, "10"], dtype=object), ties="trec")[0] == 1


def test_err_refuses_a_largest_label_that_is_too_small():
    with pytest.raises(ValueError, match="max_label=2 but a label is 3"):
        metrics.err([3, 0], [1, 2], max_label=2)


@pytest.mark.parametrize("metric", [metrics.ndcg, metrics.average_precision, metrics.recall, metrics.reciprocal_rank])
def test_queries_without_a_relevant_document_follow_the_rule(metric):
    labels, scores, qid = [0, 0, 1, 0], [1, 2, 3, 4], ["a", "a", "b", "b"]
    assert metric(labels, scores, qid=qid)[0] == 0
    assert metric(labels, scores, qid=qid, empty=1)[0] == 1
    assert math.isnan(metric(labels, scores, qid=qid, empty="skip")[0])
    with pytest.raises(ValueError, match='choose "skip"'):
        metric(labels, scores, qid=qid, empty="zero")


def test_lists_with_one_document_have_no_pairs():
    assert math.isnan(metrics.kendall([3], [1.0], empty="skip")[0])
    assert math.isnan(metrics.mre([3], [1.0], empty="skip")[0])
    assert metrics.exact([3], [1.0])[0] == 1
    assert metrics.ndcg([3], [1.0])[0] == 1


def test_infinite_scores_rank_first_and_last():
    assert metrics.ndcg([0, 2, 1], [-np.inf, np.inf, 0.0])[0] == 1


@pytest.mark.parametrize(
    ("labels", "scores", "message"),
    [
        ([1, 0], [1.0], "scores has 1 values but there are 2 labels"),
        ([1, np.nan], [1.0, 2.0], "labels has a NaN in row 1. Labels must be finite numbers."),
        ([1, np.inf], [1.0, 2.0], "labels has an infinite label in row 1"),
        ([1, 0], [1.0, np.nan], "scores has a NaN in row 1. NaN cannot be ranked."),
        (["a", "b"], [1.0, 2.0], "labels has text such as 'a'; numbers are needed"),
        ([[1, 0], [0, 1]], [1.0, 2.0], r"labels has shape \(2, 2\)"),
    ],
)
def test_bad_input_is_named(labels, scores, message):
    with pytest.raises(ValueError, match=message):
        metrics.ndcg(labels, scores)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"k": 0}, "k=0; it must be a whole number of at least 1"),
        ({"k": 2.5}, "k=2.5; it must be a whole number"),
        ({"ties": "random"}, "ties='random' is not known; choose one of 'stable', 'average'"),
        ({"gain": "cubic"}, "gain='cubic' is not known"),
        ({"discount": "none"}, "discount='none' is not known"),
        ({"qid": [1]}, "qid has 1 ids but there are 2 rows"),
        ({"docid": ["a"]}, r"docid has shape \(1,\) but there are 2 labels"),
    ],
)
def test_bad_parameters_are_named(keywords, message):
    with pytest.raises(ValueError, match=message):
        metrics.ndcg([1, 0], [0.5, 0.5], **keywords)


def test_ties_by_document_id_need_ids_only_where_scores_tie():
    assert metrics.ndcg([1, 0], [0.5, 0.4], ties="trec")[0] == 1
    with pytest.raises(ValueError, match='ties="trec" orders equal scores by document id'):
        metrics.ndcg([1, 0], [0.5, 0.5], ties="trec")


def test_average_precision_names_all_its_rules_for_ties():
    with pytest.raises(ValueError, match="'trec', 'together'"):
        metrics.average_precision([1, 0], [1, 2], ties="apart")


def test_no_documents_give_no_values():
    for metric, keywords in ALL:
        assert metric([], [], qid=[], **keywords).shape == (0,)


def test_the_examples_of_the_papers():
    # strict order of paper 000: one discordant pair of three is a Kendall distance of 1/3
    assert metrics.kendall([3, 2, 1], [3, 1, 2])[0] == pytest.approx(1 / 3)
    # p-ListMLE's example, section 3.1: f2 = ln(5,4,1,2,3) has the higher NDCG than f1 = ln(4,5,3,2,1)
    labels = [5, 4, 3, 2, 1]
    first, second = np.log([4, 5, 3, 2, 1]), np.log([5, 4, 1, 2, 3])
    assert metrics.ndcg(labels, first)[0] < metrics.ndcg(labels, second)[0]
