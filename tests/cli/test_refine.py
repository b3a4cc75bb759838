"""``plackett refine``: judgements in, a better order out, and what it is worth."""

import io
import json

import numpy as np
import pytest

import plackett as pk
from plackett.evaluation.feedback import relevance_feedback


@pytest.fixture
def named(lists, lists_folder):
    """The test lists with document ids, in a file; two queries of them judged in others."""
    test = lists[24:]
    docid = np.array([f"d{row}" for row in range(test.n_docs)])
    queries = pk.Queries(test.X, test.y, qid=test.qid, docid=docid)
    rows = (lists_folder / "test.txt").read_text().splitlines()
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
    done = run("refine", "named.txt", "--base", "0", "--judgements", "qrels.txt")
    assert done.returncode == 0
    assert done.stderr == "4 queries have no judgements and keep the scores of the base\n"
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
    done = run("refine", "named.txt", "-b", "base", "-j", "qrels.txt")
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(numbers(done.stdout), refined_by_hand(named, base), rtol=1e-9)


def test_scores_stand_in_the_order_of_the_rows(run, named, lists_folder):
    rows = (lists_folder / "named.txt").read_text().splitlines()
    order = np.random.default_rng(0).permutation(len(rows))
    (lists_folder / "torn.txt").write_text("\n".join(rows[i] for i in order) + "\n")
    base = np.random.default_rng(1).normal(size=len(rows))
    (lists_folder / "base.txt").write_text("".join(f"{score!r}\n" for score in base[order].tolist()))
    run("refine", "torn.txt", "-b", "base.txt", "-j", "qrels.txt", "-o", "refined.txt")
    np.testing.assert_allclose(pk.read_scores("refined.txt"), refined_by_hand(named, base)[order], rtol=1e-9)


def test_options_reach_the_refiner(run, named):
    base = named.X[:, 2]
    done = run("refine", "named.txt", "-b", "2", "-j", "qrels.txt", "--method", "lrr", "--rounds", "3", "--eta", "0.5")
    expected = refined_by_hand(named, base, refiner=pk.LinearRefiner(n_rounds=3, eta=0.5))
    np.testing.assert_allclose(numbers(done.stdout), expected, rtol=1e-12)
    done = run("refine", "named.txt", "-b", "2", "-j", "qrels.txt", "--relevant-from", "2")
    np.testing.assert_allclose(numbers(done.stdout), refined_by_hand(named, base, (1, 0, 0, 0, 0)), rtol=1e-12)


def test_judgements_may_be_letor_rows_and_come_by_standard_input(run, named, lists_folder):
    qrels = run("refine", "named.txt", "-b", "0", "-j", "qrels.txt").stdout
    keys = named.ids.astype(str)
    rows = [(keys[0], 0, 2), (keys[0], 1, 0), (keys[0], 2, 1), (keys[1], 12, 0), (keys[1], 13, 1)]
    text = "".join(f"{label} qid:{key} 1:0 #docid = d{row}\n" for key, row, label in rows)
    (lists_folder / "labels.txt").write_text(text)
    assert run("refine", "named.txt", "-b", "0", "-j", "labels.txt").stdout == qrels
    assert run("refine", "named.txt", "-b", "0", "-j", "-", stdin=text).stdout == qrels


def test_a_run_and_json_name_the_documents(run, named):
    expected = refined_by_hand(named, named.X[:, 0])
    done = run("refine", "named.txt", "-b", "0", "-j", "qrels.txt", "--run", "after")
    found = pk.read_trec_run(io.BytesIO(done.stdout.encode()))
    best = int(np.argmax(expected[:12]))
    assert (found.docid[0], found.tag) == (f"d{best}", "after")
    told = json.loads(run("refine", "named.txt", "-b", "0", "-j", "qrels.txt", "--json").stdout)
    first = told["queries"][0]["documents"][0]
    base = named.X[:12, 0]
    assert (told["method"], told["n_judged"], first["docid"]) == ("mrr", 5, f"d{best}")
    assert first["base_rank"] == 1 + int((base > base[best]).sum() + (base[:best] == base[best]).sum())
    assert [one["judged"] for one in told["queries"][0]["documents"] if one["docid"] == "d1"] == [0.0]


def test_judging_the_first_prints_what_refinement_is_worth(run, named):
    words = ["refine", "named.txt", "-b", "0", "--judge-first", "3", "--method", "mrr,rocchio", "-m", "p@2,map"]
    done = run(*words)
    refiners = {"mrr": pk.MultiplicativeRefiner(), "rocchio": pk.RocchioRefiner()}
    result = relevance_feedback(named, 0, refiners, n_judged=3, metrics=["p@2", "map"])
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[0] == ["list:", "ranking", "p@2", "map"]
    shown = [line[-2:] for line in lines[1:]]
    assert shown == [[f"{row['p@2']:.4f}", f"{row['map']:.4f}"] for _, row in result.rows()]
    assert done.stderr.startswith("6 queries, 18 documents judged; p-values: paired t-test\n")
    assert json.loads(run(*words, "--json").stdout) == result.to_dict()


def test_pseudo_feedback_has_full_lists_only(run, named):
    done = run("refine", "named.txt", "-b", "0", "--judge-first", "3", "--pseudo", "-m", "map")
    assert "full: mrr" in done.stdout
    assert "residual" not in done.stdout


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["-j", "qrels.txt", "--judge-first", "3"],
        ["-j", "qrels.txt", "--pseudo"],
        ["-j", "qrels.txt", "--method", "mrr,rocchio"],
        ["-j", "qrels.txt", "--method", "svm"],
        ["-j", "qrels.txt", "--method", "rocchio", "--eta", "0.1"],
        ["-j", "qrels.txt", "--eta", "2"],
        ["-j", "qrels.txt", "--rounds", "0"],
        ["-j", "qrels.txt", "--run", "two words"],
        ["-j", "qrels.txt", "--json", "-o", "file"],
        ["--judge-first", "0"],
        ["--judge-first", "3", "--run", "tag"],
        ["--judge-first", "3", "-m", "nonsense"],
        ["-j", "qrels.txt", "--base", "-"],
    ],
    ids=" ".join,
)
def test_wrong_usage_ends_with_2(run, named, words):
    done = run("refine", "named.txt", "--base", "0", *words)
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["named.txt", "-b", "99", "-j", "qrels.txt"], "--base 99: named.txt has columns 0 to "),
        (["named.txt", "-b", "nowhere", "-j", "qrels.txt"], "there is no file 'nowhere'"),
        (["named.txt", "-b", "0", "-j", "nowhere"], "there is no file 'nowhere'"),
        (["named.txt", "-b", "short.txt", "-j", "qrels.txt"], "short.txt has 1 scores but named.txt has 72 rows."),
        (["named.txt", "-b", "short.run", "-j", "qrels.txt"], "the run has no score for 7"),
        (["named.txt", "-b", "0", "-j", "others.txt"], "others.txt judges no document of the data"),
        (["bare.txt", "-b", "0", "-j", "qrels.txt"], "the data name no documents"),
        (["named.txt", "-b", "0", "--judge-first", "99"], "every document of every query is judged"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_failures_are_told_in_one_line(run, named, lists_folder, words, message):
    (lists_folder / "short.txt").write_text("0.5\n")
    (lists_folder / "short.run").write_text(f"{named.ids[0]} Q0 d0 1 0.5 x\n")
    (lists_folder / "others.txt").write_text("nobody 0 d0 1\n")
    rows = (lists_folder / "named.txt").read_text().splitlines()
    (lists_folder / "bare.txt").write_text("\n".join(row.partition("#")[0] for row in rows) + "\n")
    done = run("refine", *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_judgements_that_fit_nothing_are_counted(run, named, lists_folder):
    with open(lists_folder / "qrels.txt", "a") as file:
        file.write(f"{named.ids[0]} 0 gone 1\n")
    done = run("refine", "named.txt", "-b", "0", "-j", "qrels.txt")
    assert done.stderr.splitlines()[0] == "1 judged document is not in the data and left out"
