"""Tables on the command line: columns by name, from a file to a report."""

import csv
import itertools
import json

import numpy as np
import pandas as pd
import pytest

import plackett as pk

COLUMNS = ["--qid", "query", "--label", "grade", "--docid", "product", "--drop", "timestamp"]


@pytest.fixture
def log(run, lists):
    """A log as a database gives it: other names of columns, a time, rows in no order."""
    frame = lists.to_frame().rename(columns={"qid": "query", "label": "grade"})
    frame.insert(1, "product", np.arange(len(frame)))
    frame["timestamp"] = pd.Timestamp("2024-01-01")
    frame = frame.sample(frac=1.0, random_state=0)
    frame.to_csv("log.csv", index=False)
    frame.to_parquet("log.parquet", index=False)
    return frame


@pytest.mark.parametrize("name", ["log.csv", "log.parquet"])
def test_every_verb_takes_a_table(run, log, name, lists):
    done = run("info", name, *COLUMNS)
    assert done.returncode == 0, done.stderr
    assert "30" in done.stdout.splitlines()[0]
    done = run("compare", name, *COLUMNS, "-r", "listmle", "--cv", "3", "--json", "-q")
    assert done.returncode == 0, done.stderr
    expected = pk.compare("listmle", lists, cv=3).tables["listmle"].mean()["ndcg@10"]
    assert f"{expected:.9f}"[:9] in done.stdout
    done = run("train", name, *COLUMNS, "-o", "log.plackett", "--json")
    assert done.returncode == 0, done.stderr
    assert pk.load("log.plackett").feature_names_ == list(log.columns[3:-1])
    done = run("rank", "log.plackett", name, "--qid", "query", "--docid", "product")
    assert done.returncode == 0, done.stderr
    rows = list(csv.reader(done.stdout.splitlines()))
    assert (rows[0], len(rows)) == (["query", "product", "score"], 1 + lists.n_docs)
    scores = pk.load("log.plackett").predict(log, qid="query")
    expected = {(str(q), str(d)): s for q, d, s in zip(log["query"], log["product"], scores, strict=True)}
    assert {(q, d): float(s) for q, d, s in rows[1:]} == pytest.approx(expected, rel=1e-5, abs=1e-6)
    for one, other in itertools.pairwise(rows[1:]):
        assert one[0] != other[0] or float(one[2]) >= float(other[2])
    assert len({q for q, _, _ in rows[1:]}) == 1 + sum(a[0] != b[0] for a, b in itertools.pairwise(rows[1:]))
    done = run("explain", "log.plackett", name, "--qid", "query", "--docid", "product", "--query", str(lists.ids[0]))
    assert done.returncode == 0, done.stderr


def test_a_ranked_table_is_evaluated_by_its_ids(run, log):
    run("train", "log.csv", *COLUMNS, "-o", "log.plackett", "-q")
    assert run("rank", "log.plackett", "log.csv", *COLUMNS, "-o", "ranked.csv").returncode == 0
    found = run("evaluate", "log.csv", "ranked.csv", *COLUMNS)
    assert (found.returncode, found.stdout) == (0, run("evaluate", "log.csv", "log.plackett", *COLUMNS).stdout)
    with open("ranked.csv") as file:
        lines = file.read().splitlines()
    words = [word for word in COLUMNS if word not in ("--docid", "product")]
    assert "--docid COLUMN" in run("evaluate", "log.csv", "ranked.csv", *words).stderr
    with open("ranked.csv", "w") as file:
        file.write("\n".join(lines[:-1]))
    query, document, _ = lines[-1].split(",")
    message = f"ranked.csv has no score for document '{document}' of query '{query}'."
    assert message in " ".join(run("evaluate", "log.csv", "ranked.csv", *COLUMNS).stderr.split())
    with open("ranked.csv", "a") as file:
        file.write("\n1,2,x")
    found = run("evaluate", "log.csv", "ranked.csv", *COLUMNS)
    assert f"line {len(lines)}: expected query, document and score" in " ".join(found.stderr.split())


@pytest.mark.parametrize("name", ["log.csv", "log.parquet"])
def test_files_may_be_urls(run, log, name):
    fsspec = pytest.importorskip("fsspec")
    files = fsspec.filesystem("memory")
    with open(name, "rb") as file:
        files.pipe(f"/shop/{name}", file.read())
    url, model, ranked = f"memory://shop/{name}", "memory://shop/log.plackett", "memory://shop/ranked.csv"
    try:
        for words in (
            ["train", url, *COLUMNS, "-o", model, "-q"],
            ["rank", model, url, *COLUMNS, "-o", ranked],
            ["evaluate", url, ranked, *COLUMNS],
            ["evaluate", url, model, *COLUMNS],
            ["compare", url, *COLUMNS, "-r", "listmle", "--cv", "3", "-q"],
            ["info", model],
            ["info", url, *COLUMNS],
            ["export", model, "--to", "json"],
        ):
            done = run(*words)
            assert done.returncode == 0, (words, done.stderr)
        done = run("rank", model, f"memory://shop/no-{name}", *COLUMNS)
        assert done.returncode == 1
        assert f"memory://shop/no-{name}: there is no such file" in " ".join(done.stderr.split())
    finally:
        files.rm("/shop", recursive=True)


@pytest.mark.filterwarnings("ignore::plackett.exceptions.DataWarning")
def test_info_names_leaks_and_ids(run, log):
    log["copy"], log["number"] = log["grade"], np.random.default_rng(0).permutation(len(log)) + 10_000
    log.to_csv("leak.csv", index=False)
    done = run("info", "leak.csv", *COLUMNS)
    assert "- Column 'copy' is a copy of the label. Drop it." in done.stdout
    assert "- Column 'number' holds a different whole number in every row, like an id." in done.stdout
    found = json.loads(run("info", "leak.csv", *COLUMNS, "--json").stdout)["findings"]
    assert [one["kind"] for one in found] == ["label", "id"]
    table = run("info", "leak.csv", *COLUMNS, "--columns").stdout.splitlines()
    assert table[0].split() == ["column", "holds", "missing", "least", "most", "ranks", "alone"]
    assert next(line for line in table if line.startswith("copy")).endswith("1.000")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train.txt", "--qid", "query"], "--qid names a column, but train.txt is not a table"),
        (["train.txt", "--drop", "a"], "train.txt is not a table"),
        (["log.csv", "--qid", "query", "--cache"], "--cache applies only to LETOR and Parquet files"),
        (["log.csv"], "no column 'qid'. Name that of the queries: --qid COLUMN. Did you mean 'query'?"),
    ],
)
def test_wrong_options_are_named(run, log, words, message):
    done = run("info", *words)
    assert done.returncode in (1, 2)
    assert message in " ".join(done.stderr.replace("│", " ").split())


def test_a_parquet_table_may_be_cached(run, log):
    log.sort_values("query").drop(columns="timestamp").to_parquet("sorted.parquet", index=False)
    done = run("info", "sorted.parquet", *COLUMNS[:-2], "--cache")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["log.csv", "log.parquet"])
def test_evaluate_measures_columns_and_models(run, log, name, lists):
    column = log.columns[3]
    expected = pk.evaluate(log, column, qid="query", label="grade").mean()["ndcg@10"]
    done = run("evaluate", name, column, *COLUMNS[:4], "--json")
    assert done.returncode == 0, done.stderr
    assert f"{expected:.9f}"[:9] in done.stdout
    ranker = pk.ranker("listmle").fit(lists)
    pk.LinearRanker().fit(pk.from_frame(log, qid="query", label="grade", docid="product", drop="timestamp")).save(
        "m.pk"
    )
    done = run("evaluate", name, column, "m.pk", *COLUMNS[:4], "--json")
    assert done.returncode == 0, done.stderr
    for value in (expected, pk.evaluate(lists, ranker.predict(lists)).mean()["ndcg@10"]):
        assert f"{value:.6f}"[:7] in done.stdout
    done = run("evaluate", name, column, *COLUMNS, "--reference-scores")
    assert "best feature" in done.stdout


def test_evaluate_names_what_is_neither_column_nor_file(run, log):
    done = run("evaluate", "log.csv", "prodct", *COLUMNS[:4])
    assert done.returncode == 2
    assert "prodct is neither a column of log.csv nor a file" in " ".join(done.stderr.replace("│", " ").split())
    done = run("evaluate", "log.csv", "product", *COLUMNS[:4], "--cache")
    assert done.returncode == 2


def test_advice_names_options(run, log):
    done = run("train", "log.csv", "--qid", "query", "-o", "m.plackett")
    assert "Name the column of labels: --label COLUMN." in " ".join(done.stderr.split())
    run("train", "log.csv", *COLUMNS, "-o", "log.plackett", "-q")
    log.rename(columns={log.columns[3]: "relevance"}).to_csv("other.csv", index=False)
    done = run("train", "other.csv", *COLUMNS, "-o", "m.plackett")
    assert "Leave out columns by --drop COLUMN." in " ".join(done.stderr.split())


SESSION = "{0}{1},q,{1},1,1\n{0}{1},q,{2},2,1\n"
FILES = {
    "lists.txt": "2 qid:1 1:0.5 2:1 #docid = a\n0 qid:1 1:0.1 2:3 #docid = b\n1 qid:2 1:0.4 2:2 #docid = c\n",
    "bm25.run": "1 Q0 b 1 0.9 bm25\n1 Q0 a 2 0.5 bm25\n2 Q0 c 1 0.3 bm25\n",
    "bm25.csv": "query,docid,score\n1,b,0.9\n1,a,0.5\n2,c,0.3\n",
    "judged.qrels": "1 0 a 2\n1 0 b 0\n2 0 c 1\n",
    "feedback.jsonl": '{"qid": "1", "better": "a", "worse": "b"}\n',
    "texts.jsonl": '{"id": "a", "body": "red apples"}\n{"id": "b", "body": "pears"}\n',
    "queries.txt": "1 red\n",
    "names.txt": "one\ntwo\n",
    "clicks.csv": "session,query,docid,rank,click\n"
    + "".join(map(SESSION.format, "0123456789" * 3, "ab" * 15, "ba" * 15)),
    "clicked.run": "q Q0 b 1 2 x\nq Q0 a 2 1 x\n",
}


@pytest.mark.parametrize(
    "line",
    [
        "index {0}/texts.jsonl -o {0}/again.index",  # replaces it
        "search {0}/new.index red",
        "search {0}/new.index --queries {0}/queries.txt",
        "refine {0}/lists.txt --base {0}/bm25.run --feedback {0}/feedback.jsonl -o {0}/refined.txt",
        "refine {0}/lists.txt --base {0}/model.plackett --feedback {0}/judged.qrels",
        "export {0}/model.plackett --to solr --features {0}/names.txt --check {0}/lists.txt -o {0}/model.json",
        "explain {0}/model.plackett {0}/lists.txt --query 1",
        "fuse {0}/bm25.run {0}/bm25.csv --method rrf -o {0}/fused.run",
        "tune {0}/lists.txt --ranker regression --cv 2 -o {0}/tuned.plackett",
        "clicks info {0}/clicks.csv",
        "clicks convert {0}/clicks.csv -o {0}/log.clicks",
        "clicks evaluate {0}/clicks.csv {0}/clicked.run logged --propensities em",
    ],
)
def test_other_verbs_take_urls(run, line):
    fsspec = pytest.importorskip("fsspec")
    files = fsspec.filesystem("memory")
    files.pipe({f"/shop/{name}": text.encode() for name, text in FILES.items()})
    pk.LinearRanker("squared").fit(pk.read_letor("memory://shop/lists.txt")).save("memory://shop/model.plackett")
    index = pk.text.build_index(["red apples", "pears"], docid=["a", "b"])
    index.save("memory://shop/new.index")
    index.save("memory://shop/again.index")
    try:
        done = run(*line.format("memory://shop").split())
        assert done.returncode == 0, done.stderr
        assert files.isfile("/shop/again.index")
    finally:
        files.rm("/shop", recursive=True)
