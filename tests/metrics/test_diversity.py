"""Measures of diversity against literal loops, ndeval's published example and invariances."""

import io
import itertools
import math

import numpy as np
import pytest

import plackett as pk
from plackett import _threads
from plackett.data.subtopics import Subtopics


def slow_gain(order, alpha, discount):
    """The α-DCG of rows of 0 and 1 in order, straight from the definition."""
    total, seen = 0.0, np.zeros(len(order[0]))
    for place, row in enumerate(order, 1):
        total += discount(place) * float((row * (1 - alpha) ** seen).sum())
        seen += row
    return total


def log2(place):
    return 1 / math.log2(place + 1)


def slow_ideal(rows, alpha, k):
    left, order = [tuple(row) for row in rows], []
    seen = np.zeros(len(rows[0]))
    while left:
        gains = [(float((np.array(row) * (1 - alpha) ** seen).sum()), row) for row in left]
        best = max(gains, key=lambda pair: pair)[1]  # the largest row of 0 and 1 has the first subtopics
        left.remove(best)
        order.append(np.array(best))
        seen += best
    return slow_gain(order[:k], alpha, log2)


def slow_err(order, largest, k):
    values = []
    for subtopic in range(len(order[0])):
        total, reached = 0.0, 1.0
        for place, row in enumerate(order[:k], 1):
            stop = (2 ** row[subtopic] - 1) / 2**largest
            total += reached * stop / place
            reached *= 1 - stop
        values.append(total)
    return values


def orders(rows, scores):
    groups = [[row for row, score in zip(rows, scores, strict=True) if score == s] for s in sorted(set(scores))[::-1]]
    for choice in itertools.product(*(itertools.permutations(group) for group in groups)):
        yield [row for group in choice for row in group]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("alpha", [0.5, 0.9, 1e-12, 0.0, 1.0])
def test_alpha_ndcg_is_the_mean_over_the_orders_of_ties(seed, alpha):
    rng = np.random.default_rng(seed)
    rows, scores = rng.integers(0, 2, (6, 3)), rng.integers(0, 3, 6)
    k = [None, 2, 4][seed % 3]
    ideal = slow_ideal(rows, alpha, k)
    expected = np.mean([slow_gain(order[:k], alpha, log2) for order in orders(rows, scores)]) / ideal
    assert pk.metrics.alpha_ndcg(rows, scores, k=k, alpha=alpha)[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_err_ia_is_the_mean_of_err_over_subtopics_and_orders(seed):
    rng = np.random.default_rng(seed)
    rows, scores = rng.integers(0, 3, (6, 3)), rng.integers(0, 3, 6)
    rows[:, 2] = 0  # nobody is relevant to the third, which does not count
    k = [None, 2, 4][seed % 3]
    present = (rows > 0).any(axis=0)
    expected = np.mean([np.array(slow_err(order, 2, k))[present].mean() for order in orders(rows, scores)])
    assert pk.metrics.err_ia(rows, scores, k=k, max_label=2)[0] == pytest.approx(expected, rel=1e-12)
    columns = [pk.metrics.err(rows[:, s], scores, k=k, max_label=2)[0] for s in np.flatnonzero(present)]
    assert np.mean(columns) == pytest.approx(expected, rel=1e-12)


QRELS = "0 a A 1\n0 b B 1\n0 b D 1\n0 c C 1\n"
RUN = "0 Q0 A 1 9.3 x\n0 Q0 D 2 8.4 x\n0 Q0 E 3 8.1 x\n0 Q0 B 4 7.6 x\n"


def test_the_example_of_pyndeval():
    qrels, run = pk.read_qrels(io.StringIO(QRELS), subtopics=True), pk.read_trec_run(io.StringIO(RUN))
    names = ["alpha-ndcg@5", "alpha_nDCG@10", "err-ia@5", "ERR_IA@10", "err-ia@20"]
    found = pk.evaluate(qrels, run, metrics=names, convention="trec").mean()
    assert list(found.values()) == pytest.approx([0.7868, 0.7868, 0.3933, 0.3907, 0.3907], abs=1e-4)


def test_trec_equals_ndeval():
    pyndeval = pytest.importorskip("pyndeval", reason="pyndeval is not installed")
    rng = np.random.default_rng(0)
    rows = [(str(q), str(s), f"d{d}", int(rng.integers(0, 3))) for q in range(9) for d in range(12) for s in range(4)]
    scores = [(str(q), f"d{d}", float(rng.integers(0, 8))) for q in range(9) for d in range(15)]
    theirs = pyndeval.ndeval(
        [pyndeval.SubtopicQrel(*row) for row in rows], [pyndeval.ScoredDoc(*row) for row in scores]
    )
    ours = pk.evaluate(
        pk.Qrels.from_subtopics(*zip(*rows, strict=True)),
        pk.Run(*zip(*scores, strict=True)),
        metrics=["alpha-nDCG@5", "alpha-nDCG@20", "ERR-IA@5", "ERR-IA@20"],
        convention="trec",
    )
    for name in ours.metrics:
        assert ours[name] == pytest.approx([theirs[query][name] for query in ours.queries.tolist()], abs=1e-6), name


def made_up(seed=1, n_queries=40):
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), rng.integers(1, 20, n_queries))
    rows = rng.integers(0, 3, (qid.size, 4)) * (rng.random((qid.size, 4)) < 0.4)
    return rows, rng.integers(0, 5, qid.size).astype(float), qid


@pytest.mark.parametrize("metric", [pk.metrics.alpha_ndcg, pk.metrics.err_ia])
def test_the_order_of_the_rows_and_the_threads_have_no_influence(metric, monkeypatch):
    rows, scores, qid = made_up()
    values = dict(zip(np.unique(qid).tolist(), metric(rows, scores, qid=qid, k=5), strict=True))
    shuffle = np.random.default_rng(2).permutation(qid.size)
    again = metric(rows[shuffle], scores[shuffle], qid=qid[shuffle], k=5)
    for query, value in zip(dict.fromkeys(qid[shuffle].tolist()), again, strict=True):
        assert value == pytest.approx(values[query], abs=1e-12)
    monkeypatch.setattr("plackett.metrics.judged_lists.DOCS_PER_BLOCK", 50)
    _threads.set_n_threads(3)
    try:
        assert metric(rows, scores, qid=qid, k=5).tolist() == list(values.values())
        table = pk.evaluate(
            pk.Queries(rows[:, :1], rows[:, 0], qid, subtopics=rows), scores, metrics="alpha-ndcg@5,err-ia@5"
        )
        assert table[metric.__name__.replace("_", "-") + "@5"].tolist() == list(values.values())
    finally:
        _threads.set_n_threads(None)


def test_a_random_order_has_its_exact_expectation():
    rows = np.array([[1, 0], [1, 1], [0, 0], [0, 1]])
    data = pk.Queries(np.zeros((4, 1)), rows.max(axis=1), qid=[7] * 4, subtopics=rows)
    found = pk.evaluate(data, [4, 3, 2, 1], metrics="alpha-ndcg@3", reference_scores=True)
    every = [
        pk.metrics.alpha_ndcg(rows[list(order)], [4, 3, 2, 1], k=3)[0] for order in itertools.permutations(range(4))
    ]
    assert found.reference_scores["random order"]["alpha-ndcg@3"] == pytest.approx(np.mean(every), abs=1e-12)


def test_without_subtopics_there_is_an_error_that_says_where_they_come_from():
    with pytest.raises(ValueError, match=r"need the subtopics.*Queries\(..., subtopics=...\).*subtopics=True"):
        pk.evaluate([1, 0], [2, 1], qid=[7, 7], metrics="alpha-ndcg@10")
    with pytest.raises(ValueError, match="subtopics has 2 rows but there are 3 documents"):
        pk.Queries(np.zeros((3, 1)), [1, 0, 0], subtopics=[[1], [0]])
    with pytest.raises(ValueError, match=r"alpha=1\.5; it must be between 0 and 1"):
        pk.metrics.alpha_ndcg([[1]], [1], alpha=1.5)
    with pytest.raises(ValueError, match="If the second column is a subtopic, read the file with subtopics=True"):
        pk.read_qrels(io.StringIO("0 a A 1\n0 b A 1\n"))
    with pytest.raises(ValueError, match="query '0' judges document 'A' twice for subtopic 'a': rows 0 and 1"):
        pk.read_qrels(io.StringIO("0 a A 1\n0 a A 1\n"), subtopics=True)


def test_queries_keep_the_subtopics_of_their_rows():
    rows, _, qid = made_up()
    shuffle = np.random.default_rng(2).permutation(qid.size)
    data = pk.Queries(rows[shuffle][:, :1], qid=qid[shuffle], subtopics=rows[shuffle])
    for part in (data.grouped, data[3:9], data[[5, 1]], pk.Queries.concat([data[:4], data[8:]]), data.replace(y=None)):
        for row in range(part.n_docs):
            entries = slice(*part.subtopics.indptr[row : row + 2])
            dense = np.zeros(4)
            dense[part.subtopics.names[part.subtopics.codes[entries]].astype(int) - 1] = part.subtopics.labels[entries]
            assert part.X[row, 0] == dense[0]


def test_qrels_with_subtopics_survive_a_file():
    lines = "1 a d7 1\n1 b d7 2\n1 a d2 0\n2 a d7 1\n"
    qrels = pk.read_qrels(io.StringIO(lines), subtopics=True)
    assert qrels.to_dict() == {"1": {"d7": 2, "d2": 0}, "2": {"d7": 1}}
    target = io.StringIO()
    pk.write_qrels(qrels, target)
    assert target.getvalue() == lines


def test_sparse_and_dense_subtopics_are_the_same():
    sparse = pytest.importorskip("scipy.sparse")
    dense = np.array([[0, 2.0, 0], [1, 0, 3]])
    for matrix in (sparse.csr_array(dense), sparse.coo_matrix(dense), dense):
        found = Subtopics(matrix)
        assert (found.codes.tolist(), found.labels.tolist()) == ([1, 0, 2], [2.0, 1.0, 3.0])


def test_runs_are_compared_by_the_subtopics_of_a_file(tmp_path):
    (tmp_path / "qrels").write_text(QRELS)
    (tmp_path / "run").write_text(RUN)
    reverse = {"0": {"A": 1.0, "D": 2.0, "C": 3.0}}
    result = pk.compare_runs(tmp_path / "qrels", {"a": tmp_path / "run", "b": reverse}, metrics="alpha-ndcg@5,ndcg@5")
    assert result.mean()["a"]["alpha-ndcg@5"] == pytest.approx(0.7868, abs=1e-4)
    again = type(result).from_dict(result.to_dict())
    assert again.queries.subtopics.to_dict() == result.queries.subtopics.to_dict()
    rows = np.flatnonzero(~np.isnan(result.scores["a"]))
    assert result.queries.docid[rows].tolist() == ["A", "B", "D", "E"]
    assert np.diff(result.queries.subtopics.indptr)[rows].tolist() == [1, 1, 1, 0]


def test_diversity_chooses_iterations_and_hyperparameters(tmp_path):
    data = pk.datasets.make_web_like(24, 12, 4, random_state=0)
    rng = np.random.default_rng(0)
    data = data.replace(subtopics=Subtopics((rng.random((data.n_docs, 3)) < 0.3) * data.y[:, None]))
    ranker = pk.LinearRanker(patience=2).fit(data[:16], eval_set=data[16:], eval_metric="alpha-ndcg@5")
    found = pk.evaluate(data[16:], ranker.predict(data[16:]), metrics="alpha-ndcg@5").mean()["alpha-ndcg@5"]
    assert ranker.best_score_ == pytest.approx(found)
    result = pk.compare(
        {"svm": ("ranksvm", {"l2": [1, 0.1]})}, data, cv=3, metrics="alpha-ndcg@5,ndcg@5", folder=tmp_path
    )
    assert not result.failures
    pk.write_report(type(result).from_dict(result.to_dict()), tmp_path / "report.html")
