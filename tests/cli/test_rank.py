"""``plackett rank`` and ``plackett explain``: what a saved model says of new lists."""

import csv
import io
import json
import os

import numpy as np
import pytest

import plackett as pk
from tests.cli.conftest import is_one_line


@pytest.fixture
def model(lists, lists_folder):
    ranker = pk.LinearRanker(normalize="query-zscore").fit(lists[:18])
    ranker.save(lists_folder / "model.plackett")
    return ranker


def test_scores_are_those_of_the_ranker_to_the_last_digit(run, model, lists):
    done = run("rank", "model.plackett", "test.txt")
    assert (done.returncode, done.stderr) == (0, "")
    assert [float(line) for line in done.stdout.splitlines()] == model.predict(lists[24:]).tolist()


@pytest.mark.parametrize("words", [["rank"], ["explain", "--query", "1"]], ids=lambda words: words[0])
def test_swapped_arguments_are_recognised(run, model, words):
    done = run(*words, "test.txt", "model.plackett")
    assert (done.returncode, done.stdout) == (2, "")
    said = "test.txt is not a model, but model.plackett is. The model comes first: plackett"
    assert f"{said} {words[0]} model.plackett test.txt" in " ".join(done.stderr.split())


def test_scores_stand_in_the_order_of_the_rows(run, model, lists, lists_folder):
    rows = (lists_folder / "test.txt").read_text(encoding="utf-8").splitlines()
    order = np.random.default_rng(0).permutation(len(rows))
    (lists_folder / "torn.txt").write_text("\n".join(rows[i] for i in order) + "\n")
    run("rank", "model.plackett", "torn.txt", "-o", "scores.txt")
    np.testing.assert_allclose(pk.evaluation.read_scores("scores.txt"), model.predict(lists[24:])[order], rtol=1e-12)
    table = run("evaluate", "torn.txt", "scores.txt", "-m", "ndcg@10").stdout
    mean = pk.evaluate(lists[24:], model.predict(lists[24:]), metrics=["ndcg@10"]).mean()["ndcg@10"]
    assert table.split()[-1] == f"{mean:.4f}"


def test_a_run_names_documents_by_their_comments(run, model, lists, lists_folder):
    rows = (lists_folder / "test.txt").read_text(encoding="utf-8").splitlines()
    named = [f"{row.partition('#')[0].strip()} #docid = d{place}" for place, row in enumerate(rows)]
    (lists_folder / "named.txt").write_text("\n".join(named) + "\n")
    done = run("rank", "model.plackett", "named.txt", "--run", "mine")
    assert done.stderr == ""
    found = pk.read_trec_run(io.BytesIO(done.stdout.encode()))
    scores = model.predict(lists[24:])
    best = int(np.argmax(scores[:12]))
    assert (found.docid[0], found.scores[0], found.tag) == (f"d{best}", scores[best], "mine")
    assert found.rank[:12].tolist() == list(range(1, 13))


def test_a_run_without_names_counts_the_rows_of_the_file(run, model, lists, lists_folder):
    rows = (lists_folder / "test.txt").read_text(encoding="utf-8").splitlines()
    bare = [row.partition("#")[0].strip() for row in rows]
    (lists_folder / "torn.txt").write_text("\n".join(bare[::2] + bare[1::2]) + "\n")
    done = run("rank", "model.plackett", "torn.txt", "--run", "mine", "--output", "run.txt")
    assert done == (0, "", "the data have no document names; the run uses row numbers, from 0\n")
    found = pk.read_trec_run("run.txt")
    scores = model.predict(lists[24:])
    in_file = np.concatenate([scores[::2], scores[1::2]])
    np.testing.assert_allclose(found.scores, in_file[found.docid.astype(int)], rtol=1e-12)


def test_a_run_fills_gaps_among_the_names_with_the_rows_of_the_file(run, model, lists_folder):
    rows = (lists_folder / "test.txt").read_text(encoding="utf-8").splitlines()
    bare = [row.partition("#")[0].strip() for row in rows]
    torn = bare[::2] + bare[1::2]
    gaps = [2, 40]
    named = [row if place in gaps else f"{row} #docid = d{place}" for place, row in enumerate(torn)]
    (lists_folder / "torn.txt").write_text("\n".join(named) + "\n")
    done = run("rank", "model.plackett", "torn.txt", "--run", "mine", "--output", "run.txt")
    assert done == (0, "", "2 documents have no name; the run uses their row numbers, from 0\n")
    found = pk.read_trec_run("run.txt")
    run("rank", "model.plackett", "torn.txt", "--output", "scores.txt")
    names = [str(place) if place in gaps else f"d{place}" for place in range(len(torn))]
    expected = dict(zip(names, pk.evaluation.read_scores("scores.txt").tolist(), strict=True))
    assert dict(zip(found.docid.tolist(), found.scores.tolist(), strict=True)) == expected
    (lists_folder / "torn.txt").write_text("\n".join([*named[:40], f"{torn[40]} #docid = x", *named[41:]]) + "\n")
    done = run("rank", "model.plackett", "torn.txt", "--run", "mine", "--output", "run.txt")
    assert done.stderr == "1 document has no name; the run uses its row number, from 0\n"


def test_a_name_that_no_run_can_hold_is_named_with_its_query(run, model, lists_folder):
    rows = (lists_folder / "test.txt").read_text(encoding="utf-8").splitlines()
    named = [f"{row.partition('#')[0].strip()} #d{place}" for place, row in enumerate(rows)]
    (lists_folder / "named.txt").write_text("\n".join([*named[:-1], f"{named[-1]} or so"]) + "\n")
    done = run("rank", "model.plackett", "named.txt", "--run", "mine")
    assert (done.returncode, done.stdout) == (1, "")
    assert "the document id 'd71 or so' of query '30' is empty or contains whitespace" in done.stderr


def test_measures_are_the_result_where_scores_go_to_a_file(run, model, lists):
    means = pk.evaluate(lists[24:], model.predict(lists[24:]), metrics=["ndcg@5", "map"]).mean()
    done = run("rank", "model.plackett", "test.txt", "-o", "scores.txt", "-m", "ndcg@5", "-m", "map")
    assert done.stdout.split() == ["standard", "ndcg@5", "map", "mean", *(f"{value:.4f}" for value in means.values())]
    done = run("rank", "model.plackett", "test.txt", "-m", "ndcg@5,map")
    assert len(done.stdout.splitlines()) == 72
    assert done.stderr.splitlines()[0] == ", ".join(f"{name} {value:.4f}" for name, value in means.items())


def test_columns_that_the_file_leaves_out_count_as_zero(run, lists_folder):
    data = pk.Queries([[1.0, 2.0, 3.0], [2.0, 1.0, 0.0]], [1, 0], [7, 7])
    ranker = pk.LinearRanker().fit(data)
    ranker.save("model.plackett")
    (lists_folder / "short.txt").write_text("1 qid:7 1:1 2:2\n0 qid:7 1:2 2:1\n")
    done = run("rank", "model.plackett", "short.txt")
    expected = ranker.predict([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0]])
    np.testing.assert_allclose([float(line) for line in done.stdout.split()], expected)
    assert done.stderr == "short.txt has 2 features and the model model.plackett has 3; the last 1 count as 0\n"
    (lists_folder / "long.txt").write_text("1 qid:7 1:1 4:2\n0 qid:7 1:2 2:1\n")
    done = run("rank", "model.plackett", "long.txt")
    assert done == (1, "", "plackett: error: long.txt has 4 features but the model model.plackett has 3.\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere.plackett", "test.txt"], "there is no file 'nowhere.plackett'"),
        (["test.txt", "test.txt"], "test.txt: this is not a plackett model"),
        (["model.plackett", "nowhere.txt"], "there is no file 'nowhere.txt'"),
        (["scaler.plackett", "test.txt"], "scaler.plackett holds a QueryZScore, not a ranker."),
        (["half.plackett", "test.txt"], "half.plackett: the file is damaged"),
        (["model.plackett", "bare.txt"], "bare.txt has 1 row but no features"),
        (["model.plackett", "bad.txt", "-o", "nowhere/scores"], "there is no folder"),
        (["model.plackett", "bad.txt", "-o", "nowhere/scores"], "for the scores."),
        (["model.plackett", "bad.txt", "-o", "nowhere/run", "--run", "mine"], "for the run."),
        (["model.plackett", "bad.txt", "-o", "."], "'.' is a folder; give the name of a file for the scores."),
    ],
)
def test_failures_are_one_line(run, model, lists_folder, lists, words, message):
    from plackett.storage import models

    models.save(pk.preprocessing.QueryZScore().fit(lists.X, qid=lists.qid), lists_folder / "scaler.plackett")
    content = (lists_folder / "model.plackett").read_bytes()
    (lists_folder / "half.plackett").write_bytes(content[: len(content) // 2])
    (lists_folder / "bare.txt").write_text("1 qid:1\n")
    (lists_folder / "bad.txt").write_text("not a row\n")  # which is noticed only after the target
    done = run("rank", *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert message in done.stderr
    assert is_one_line(done.stderr)


@pytest.mark.parametrize("words", [["-m", "ndgc"], ["--run", "two words"], ["--run", ""], ["-", "-"]])
def test_wrong_usage_exits_2(run, model, words):
    done = run("rank", "model.plackett", "test.txt", *words)
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.skipif(os.name != "posix", reason="devices as on POSIX systems")
def test_scores_may_go_to_a_device(run, model):
    assert run("rank", "model.plackett", "test.txt", "-o", os.devnull) == (0, "", "")


# --- explain ----------------------------------------------------------------------------------------------------------


def test_explain_lists_the_documents_of_a_query_from_the_top(run, model, lists):
    done = run("explain", "model.plackett", "test.txt", "--query", "26")
    heading, *rows = done.stdout.splitlines()
    assert heading.split()[:3] == ["row", "query", "score"]
    scores = model.predict(lists[25])
    assert [int(row.split()[0]) for row in rows] == (-scores).argsort(kind="stable").tolist()


def test_explain_says_why_one_document_stands_above_another(run, model, lists):
    done = run("explain", "model.plackett", "test.txt", "--query", "26", "--above", "3", "--below", "5")
    expected = model.explain(lists[25]).why(3, 5)
    assert done.stdout.splitlines()[0] == str(expected).splitlines()[0]
    plain = json.loads(
        run("explain", "model.plackett", "test.txt", "--query", "26", "--above", "3", "--below", "5", "--json").stdout
    )
    assert plain["total"] == pytest.approx(expected.total)
    text = run("explain", "model.plackett", "test.txt", "--query", "26", "--csv").stdout
    assert {row["qid"] for row in csv.DictReader(io.StringIO(text))} == {"26"}


def test_explain_takes_documents_by_name(run, model, lists_folder):
    rows = (lists_folder / "test.txt").read_text(encoding="utf-8").splitlines()[:12]
    named = [f"{row.partition('#')[0].strip()} #docid = d{place}" for place, row in enumerate(rows)]
    (lists_folder / "named.txt").write_text("\n".join(named) + "\n")
    done = run("explain", "model.plackett", "named.txt", "--query", "25", "--above", "d3", "--below", "d5")
    assert done.stdout.startswith("row 3 (d3) scores ")


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["--query", "99"], 1, "no query has the id '99'; the first id in the data is 25, the last 30"),
        (
            ["--query", "26", "--above", "x", "--below", "1"],
            1,
            "query 26 has no document 'x'; give a name, or a row from 0 to 11.",
        ),
        (["--query", "26", "--above", "1", "--below", "1"], 1, "name the same document"),
        (["--query", "26", "--above", "1"], 2, "--above and --below must be given together."),
        (["--query", "26", "--json", "--csv"], 2, "choose one of --json and --csv."),
    ],
)
def test_explain_says_what_is_wrong(run, model, words, status, message):
    done = run("explain", "model.plackett", "test.txt", *words)
    assert (done.returncode, done.stdout) == (status, "")
    assert message in done.stderr


def test_a_kernel_ranker_ranks_but_explains_nothing(run, lists):
    fitted = pk.KernelRanker(normalize="query-zscore", landmarks=10, random_state=0).fit(lists[:18])
    fitted.save("kernel.plackett")
    done = run("rank", "kernel.plackett", "test.txt")
    np.testing.assert_allclose([float(line) for line in done.stdout.split()], fitted.predict(lists[24:]))
    done = run("explain", "kernel.plackett", "test.txt", "--query", "26")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert done.stderr.startswith("plackett: error: KernelRanker cannot explain its scores by features: a ")
