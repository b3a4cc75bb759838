"""``plackett refine``: feedback or ratings in, a better order out, and what it is worth."""

import io
import json

import numpy as np
import pytest

import plackett as pk
from plackett.evaluation.simulated_feedback import relevance_feedback
from tests.cli.conftest import is_one_line


@pytest.fixture
def named(lists, lists_folder):
    """The test lists with document ids, in a file; two queries of them judged in others."""
    test = lists[24:]
    docid = np.array([f"d{row}" for row in range(test.n_docs)])
    queries = pk.Queries(test.X, test.y, qid=test.qid, docid=docid)
    rows = (lists_folder / "test.txt").read_text(encoding="utf-8").splitlines()
    lines = [f"{row.partition('#')[0].strip()} #docid = d{place}" for place, row in enumerate(rows)]
    (lists_folder / "named.txt").write_text("\n".join(lines) + "\n")
    judged = [0, 1, 2, 12, 13]
    pk.write_qrels(pk.Qrels(test.qid[judged], docid[judged], [2, 0, 1, 0, 1]), lists_folder / "qrels.txt")
    return queries


def refined_by_hand(queries, base, labels=(2, 0, 1, 0, 1), refiner=None):
    """Of the first two queries only, the others as they are."""
    told = np.full(queries.n_docs, np.nan)
    told[[0, 1, 2, 12, 13]] = labels
    end = queries.indptr[2]
    scores = np.array(base, dtype=float)
    refiner = pk.MultiplicativeRefiner() if refiner is None else refiner
    scores[:end] = refiner.fit(queries.X[:end], told[:end], qid=queries.qid[:end], base_score=scores[:end]).scores_
    return scores


def numbers(text):
    return [float(line) for line in text.splitlines()]


def test_judged_queries_are_refined_and_others_keep_their_scores(run, named):
    done = run("refine", "named.txt", "--base", "1", "--feedback", "qrels.txt")
    assert done.returncode == 0
    assert done.stderr == "4 queries have no feedback and keep the scores of the base\nthe base is feature 1\n"
    np.testing.assert_allclose(numbers(done.stdout), refined_by_hand(named, named.X[:, 0]), rtol=1e-12)


@pytest.mark.parametrize("kind", ["scores", "run", "model"])
def test_a_base_may_be_a_file(run, named, lists, lists_folder, kind):
    ranker = pk.LinearRanker(normalize="query-zscore").fit(lists[:18])
    base = ranker.predict(named)
    if kind == "scores":
        (lists_folder / "base").write_text("".join(f"{score!r}\n" for score in base.tolist()))
    elif kind == "run":
        pk.write_trec_run(pk.Run.from_scores(named, base), lists_folder / "base")
    else:
        ranker.save(lists_folder / "base")
    done = run("refine", "named.txt", "-b", "base", "-f", "qrels.txt")
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(numbers(done.stdout), refined_by_hand(named, base), rtol=1e-9)


def test_scores_stand_in_the_order_of_the_rows(run, named, lists_folder):
    rows = (lists_folder / "named.txt").read_text(encoding="utf-8").splitlines()
    order = np.random.default_rng(0).permutation(len(rows))
    (lists_folder / "torn.txt").write_text("\n".join(rows[i] for i in order) + "\n")
    base = np.random.default_rng(1).normal(size=len(rows))
    (lists_folder / "base.txt").write_text("".join(f"{score!r}\n" for score in base[order].tolist()))
    run("refine", "torn.txt", "-b", "base.txt", "-f", "qrels.txt", "-o", "refined.txt")
    np.testing.assert_allclose(pk.evaluation.read_scores("refined.txt"), refined_by_hand(named, base)[order], rtol=1e-9)


def test_options_reach_the_refiner(run, named):
    base = named.X[:, 2]
    done = run("refine", "named.txt", "-b", "3", "-f", "qrels.txt", "--method", "lrr", "--rounds", "3", "--eta", "0.5")
    expected = refined_by_hand(named, base, refiner=pk.LinearRefiner(n_rounds=3, eta=0.5))
    np.testing.assert_allclose(numbers(done.stdout), expected, rtol=1e-12)
    for words, refiner in (
        (["lrr", "--gamma", "3"], pk.LinearRefiner(gamma=3)),
        (["rocchio", "--alpha", "1", "--beta", "0.5"], pk.RocchioRefiner(alpha=1, beta=0.5)),
    ):
        done = run("refine", "named.txt", "-b", "3", "-f", "qrels.txt", "--method", *words)
        column = named.X[:24, 2]
        told = [2, 0, 1, *[np.nan] * 9, 0, 1, *[np.nan] * 10]
        expected = refiner.fit(named.X[:24], told, qid=named.qid[:24], base_score=2).scores_
        assert column.size == expected.size
        np.testing.assert_allclose(numbers(done.stdout), [*expected, *base[24:]], rtol=1e-12)


def test_a_list_whose_judged_documents_are_all_of_one_kind_keeps_its_scores_but_for_rocchio(run, named):
    base = named.X[:, 2]
    words = ["refine", "named.txt", "-b", "3", "-f", "qrels.txt", "--relevant-from", "2"]
    done = run(*words)
    expected = refined_by_hand(named, base, (1, 0, 0, 0, 0))
    expected[12:] = base[12:]  # nothing of the second list is relevant
    np.testing.assert_allclose(numbers(done.stdout), expected, rtol=1e-12)
    note = "1 query has feedback without a better and a worse document for mrr and keeps the scores of the base\n"
    note += "the base is feature 3\n"
    assert done.stderr.endswith(note)
    done = run(*words, "--method", "rocchio")
    assert "a better and a worse" not in done.stderr
    assert numbers(done.stdout)[12:24] != base[12:24].tolist()


def test_judged_documents_may_keep_their_places_also_where_nothing_was_learned(run, named, lists_folder):
    words = ["refine", "named.txt", "-b", "3", "-f", "qrels.txt", "--relevant-from", "2"]
    done = run(*words, "--pin-judged")
    told = np.full(named.n_docs, np.nan)
    told[[0, 1, 2, 12, 13]] = [1, 0, 0, 0, 0]
    free = numbers(run(*words).stdout)
    assert numbers(done.stdout) == named.pin_judged(free, told).tolist()
    for first, best, worst in ((0, [0], [1, 2]), (12, [], [12, 13])):
        order = (first + np.argsort([-score for score in numbers(done.stdout)[first : first + 12]])).tolist()
        assert order[: len(best)] == best
        assert sorted(order[-2:]) == worst
    assert done.stderr.splitlines()[-1] == "5 judged documents are put first or last"
    graded = run(*words[:-2], "--pin-judged").stdout
    told[[0, 1, 2, 12, 13]] = [2, 0, 1, 0, 1]
    assert numbers(graded) == named.pin_judged(numbers(run(*words[:-2]).stdout), told).tolist()
    (lists_folder / "pairs.csv").write_text(f"qid,better,worse\n{named.ids[0]},d4,d5\n")
    pairs = ["refine", "named.txt", "-b", "1", "-f", "pairs.csv"]
    done = run(*pairs, "--pin-judged")
    assert done.stdout == run(*pairs).stdout
    assert done.stderr.splitlines()[-1] == "no document was judged; --pin-judged has no effect"
    (lists_folder / "one.txt").write_text(f"{named.ids[0]} 0 d9 1\n")
    done = run(*pairs, "-f", "one.txt", "--pin-judged")
    assert np.argmax(numbers(done.stdout)[:12]) == 9
    assert "1 query has labels that are all equal; mrr learns from the preferences alone there\n" in done.stderr


def test_judgements_may_be_letor_rows_and_come_by_standard_input(run, named, lists_folder):
    qrels = run("refine", "named.txt", "-b", "1", "-f", "qrels.txt").stdout
    keys = named.ids.astype(str)
    rows = [(keys[0], 0, 2), (keys[0], 1, 0), (keys[0], 2, 1), (keys[1], 12, 0), (keys[1], 13, 1)]
    text = "".join(f"{label} qid:{key} 1:0 #docid = d{row}\n" for key, row, label in rows)
    (lists_folder / "labels.txt").write_text(text)
    assert run("refine", "named.txt", "-b", "1", "-f", "labels.txt").stdout == qrels
    assert run("refine", "named.txt", "-b", "1", "-f", "-", stdin=text).stdout == qrels
    assert run("refine", "named.txt", "-b", "1", "--judgements", "labels.txt").stdout == qrels


def refined_by_pairs(queries, pairs, eta, base=0):
    """Of the lists that have pairs, the others as they are."""
    scores = queries.X[:, base].astype(float)
    kept = np.isin(queries.qid, queries.qid[[better for better, _ in pairs]])
    rows = np.cumsum(kept) - 1
    refiner = pk.MultiplicativeRefiner(eta=eta)
    refiner.fit(queries.X[kept], qid=queries.qid[kept], pairs=rows[np.array(pairs)], base_score=base)
    scores[kept] = refiner.scores_
    return scores


def test_clicks_become_preferences_with_the_noise_of_clicks(run, named, lists_folder):
    one, two = named.ids[:2].tolist()
    rows = ["session,qid,docid,clicked", *(f"s,{one},d{row},{int(row in (2, 3))}" for row in range(5))]
    (lists_folder / "clicks.csv").write_text("\n".join([*rows, f"t,{two},d12,0", f"t,{two},d13,1", ""]))
    done = run("refine", "named.txt", "-b", "1", "-f", "clicks.csv")
    pairs = [(2, 0), (2, 1), (3, 0), (3, 1), (13, 12)]
    np.testing.assert_allclose(numbers(done.stdout), refined_by_pairs(named, pairs, 0.4), rtol=1e-9)
    assert done.stderr.splitlines() == [
        "5 preferences between documents, eta 0.4",
        "4 queries have no feedback and keep the scores of the base",
        "the base is feature 1",
    ]
    done = run("refine", "named.txt", "-b", "1", "-f", "clicks.csv", "--eta", "0.1")
    np.testing.assert_allclose(numbers(done.stdout), refined_by_pairs(named, pairs, 0.1), rtol=1e-9)
    done = run("refine", "named.txt", "-b", "1", "-f", "clicks.csv", "--strategy", "clicked-above-next")
    np.testing.assert_allclose(numbers(done.stdout), refined_by_pairs(named, [(3, 4)], 0.6), rtol=1e-9)


def test_several_files_of_feedback_are_joined_and_what_is_odd_is_counted(run, named, lists_folder):
    one = named.ids[0]
    (lists_folder / "pairs.csv").write_text(f"qid,better,worse\n{one},d4,d5\n{one},d4,d5\n{one},d1,d0\n{one},d4,gone\n")
    (lists_folder / "more.jsonl").write_text(f'{{"qid": "{one}", "docid": "d2", "label": 2}}\n')
    words = ["refine", "named.txt", "-b", "1", "-f", "qrels.txt", "-f", "pairs.csv", "-f", "more.jsonl"]
    done = run(*words)
    # labels 2, 0 and (1 + 2) / 2 of the first list, 0 and 1 of the second; and what pairs say besides
    pairs = [(0, 1), (0, 2), (2, 1), (13, 12), (4, 5), (1, 0)]
    eta = (4 * 0.02 + 4 * 0.2) / 8
    np.testing.assert_allclose(numbers(done.stdout), refined_by_pairs(named, pairs, eta), rtol=1e-9)
    assert done.stderr.splitlines()[:5] == [
        "1 duplicate statement was merged",
        "1 document was judged with different labels; the mean of these labels is used",
        "1 pair of documents is contradictory: each document is preferred in some statements; both preferences count",
        "1 judgement or preference ignored: not in the data",
        "2 preferences between documents, eta 0.11",
    ]
    told = json.loads(run(*words, "--json").stdout)
    assert (told["n_judged"], told["n_preferences"]) == (5, 2)


def test_rocchio_takes_labels_and_leaves_preferences_out(run, named, lists_folder):
    one = named.ids[0]
    (lists_folder / "pairs.csv").write_text(f"qid,better,worse\n{one},d4,d5\n")
    labels = run("refine", "named.txt", "-b", "1", "-f", "qrels.txt", "--method", "rocchio")
    both = run("refine", "named.txt", "-b", "1", "-f", "qrels.txt", "-f", "pairs.csv", "--method", "rocchio")
    assert both.stdout == labels.stdout
    assert both.stderr.splitlines()[0] == "rocchio learns from labels; 1 preference ignored"
    done = run("refine", "named.txt", "-b", "1", "-f", "pairs.csv", "--method", "rocchio")
    assert (done.returncode, done.stdout) == (1, "")
    assert "rocchio learns from labels, but there are only 1 preference" in done.stderr


def test_a_run_and_json_name_the_documents(run, named):
    expected = refined_by_hand(named, named.X[:, 0])
    done = run("refine", "named.txt", "-b", "1", "-f", "qrels.txt", "--run", "after")
    found = pk.read_trec_run(io.BytesIO(done.stdout.encode()))
    best = int(np.argmax(expected[:12]))
    assert (found.docid[0], found.tag) == (f"d{best}", "after")
    told = json.loads(run("refine", "named.txt", "-b", "1", "-f", "qrels.txt", "--json").stdout)
    first = told["queries"][0]["documents"][0]
    base = named.X[:12, 0]
    assert (told["method"], told["n_judged"], first["docid"]) == ("mrr", 5, f"d{best}")
    assert first["base_rank"] == 1 + int((base > base[best]).sum() + (base[:best] == base[best]).sum())
    assert [one["judged"] for one in told["queries"][0]["documents"] if one["docid"] == "d1"] == [0.0]


def test_judging_the_first_prints_what_refinement_is_worth(run, named):
    words = ["refine", "trial", "named.txt", "-b", "1", "-n", "3", "--method", "mrr,rocchio", "-m", "p@2,map"]
    done = run(*words)
    refiners = {"mrr": pk.MultiplicativeRefiner(), "rocchio": pk.RocchioRefiner()}
    result = relevance_feedback(named, 0, refiners, n_judged=3, metrics=["p@2", "map"])
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[0] == ["list:", "ranking", "p@2", "map"]
    shown = [line[-2:] for line in lines[1:]]
    assert shown == [[f"{row['p@2']:.4f}", f"{row['map']:.4f}"] for _, row in result.rows()]
    assert done.stderr.startswith("the base is feature 1\n6 queries, 18 documents judged; p-values: paired t-test\n")
    assert json.loads(run(*words, "--json").stdout) == result.to_dict()
    kept = relevance_feedback(named, 0, refiners, n_judged=3, metrics=["p@2", "map"], pin_judged=True)
    assert json.loads(run(*words, "--pin-judged", "--json").stdout) == kept.to_dict() != result.to_dict()


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["-f", "qrels.txt", "--method", "mrr,rocchio"],
        ["-f", "qrels.txt", "--method", "svm"],
        ["-f", "qrels.txt", "--method", "rocchio", "--eta", "0.1"],
        ["-f", "qrels.txt", "--eta", "2"],
        ["-f", "qrels.txt", "--rounds", "0"],
        ["-f", "qrels.txt", "--gamma", "1"],
        ["-f", "qrels.txt", "--alpha", "1"],
        ["-f", "qrels.txt", "--method", "lrr", "--gamma", "-1"],
        ["-f", "qrels.txt", "--method", "rocchio", "--beta", "nan"],
        ["-f", "qrels.txt", "--strategy", "guessing"],
        ["-f", "qrels.txt", "-m", "map"],
        ["-f", "qrels.txt", "--run", "two words"],
        ["-f", "qrels.txt", "--json", "-o", "file"],
        ["-f", "qrels.txt", "--base", "-"],
    ],
    ids=" ".join,
)
def test_wrong_usage_ends_with_2(run, named, words):
    done = run("refine", "named.txt", "--base", "1", *words)
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "DATA is missing."),
        (["named.txt", "-f", "qrels.txt"], "--base (-b) is missing."),
        (["-b", "1", "-f", "qrels.txt"], "DATA is missing."),
        (["named.txt", "-b", "1"], "--feedback (-f) is missing."),
        (["named.txt", "-b", "1", "-f", "qrels.txt", "--method", "mrr,lrr"], "--feedback takes one --method;"),
        (["trial", "named.txt", "-b", "1", "-n", "0"], "-n 0: it must be at least 1."),
        (["trial", "named.txt", "-b", "1", "--strategy", "x"], "there is no option --strategy."),
        (["trial", "named.txt", "-b", "1", "-m", "nonsense"], "nonsense"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage_says_what_is_wrong(run, named, monkeypatch, words, message):
    monkeypatch.setenv("COLUMNS", "200")
    done = run("refine", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert "hint: " in done.stderr


def test_help_fits_a_screen_and_shows_how_to_use_it(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    done = run("refine", "--help")
    lines = done.stdout.splitlines()
    assert sum(line.startswith("Example: plackett refine ") for line in lines) == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["named.txt", "-b", "100", "-f", "qrels.txt"], "--base 100: named.txt has feature 1 to "),
        (["named.txt", "-b", "nowhere", "-f", "qrels.txt"], "there is no file 'nowhere'"),
        (["named.txt", "-b", "1", "-f", "nowhere"], "there is no file 'nowhere'"),
        (["named.txt", "-b", "short.txt", "-f", "qrels.txt"], "short.txt has 1 scores but named.txt has 72 rows."),
        (["named.txt", "-b", "short.run", "-f", "qrels.txt"], "the run has no score for 7"),
        (["named.txt", "-b", "1", "-f", "others.txt"], "others.txt has no feedback on the data"),
        (["bare.txt", "-b", "1", "-f", "qrels.txt"], "the data have no document names"),
        (["named.txt", "-b", "1", "-f", "short.txt"], "expected the header qid,docid,label or"),
        (["trial", "named.txt", "-b", "1", "-n", "99"], "every document of every query is judged"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_failures_are_told_in_one_line(run, named, lists_folder, words, message):
    (lists_folder / "short.txt").write_text("0.5\n")
    (lists_folder / "short.run").write_text(f"{named.ids[0]} Q0 d0 1 0.5 x\n")
    (lists_folder / "others.txt").write_text("nobody 0 d0 1\n")
    rows = (lists_folder / "named.txt").read_text(encoding="utf-8").splitlines()
    (lists_folder / "bare.txt").write_text("\n".join(row.partition("#")[0] for row in rows) + "\n")
    done = run("refine", *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert message in done.stderr
    assert is_one_line(done.stderr)


def test_judgements_that_fit_nothing_are_counted(run, named, lists_folder):
    with open(lists_folder / "qrels.txt", "a") as file:
        file.write(f"{named.ids[0]} 0 gone 1\n")
    done = run("refine", "named.txt", "-b", "1", "-f", "qrels.txt")
    assert done.stderr.splitlines()[0] == "1 judged document ignored: not in the data"
