"""``plackett evaluate`` with several runs: the table, tests and report of a comparison."""

import csv
import io
import json

import pytest

import plackett as pk


@pytest.fixture
def runs(lists, lists_folder):
    """Qrels of the judged lists in ``lists``, and two runs; the second answers one query less."""
    docs = [f"d{row}" for row in range(lists.n_docs)]
    pk.write_qrels(pk.Qrels(lists.qid, docs, lists.y), lists_folder / "qrels.txt")
    few = lists.qid != lists.ids[0]
    pk.write_trec_run(pk.Run(lists.qid, docs, lists.X[:, 0], tag="first"), lists_folder / "first.run")
    names = [doc for doc, is_kept in zip(docs, few, strict=True) if is_kept]
    pk.write_trec_run(pk.Run(lists.qid[few], names, lists.X[few, 1], tag="second"), lists_folder / "second.run")
    return pk.compare_runs("qrels.txt", ["first.run", "second.run"], metrics="ndcg@10,map")


def test_several_runs_are_compared(run, runs):
    done = run("evaluate", "qrels.txt", "first.run", "second.run", "-m", "ndcg@10,map")
    assert done.returncode == 0
    assert done.stdout.splitlines()[: len(runs.headline())] == runs.headline()
    assert "second does not answer 1 of 30 judged queries" in done.stderr
    plain = json.loads(run("evaluate", "qrels.txt", "first.run", "second.run", "-m", "ndcg@10,map", "--json").stdout)
    assert plain["mean"] == runs.mean()
    assert plain["differences"][0]["p_random"] == runs.differences()[0].p_random
    answered = run("evaluate", "qrels.txt", "first.run", "second.run", "--answered")
    assert "29 queries" in answered.stderr
    assert "left out for all runs" in answered.stderr


def test_every_query_of_every_run_as_csv(run, runs):
    done = run("evaluate", "qrels.txt", "first.run", "second.run", "-m", "ndcg@10,map", "--csv", "-q")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["run"] for row in rows] == ["first"] * 30 + ["second"] * 30
    assert [float(row["map"]) for row in rows[30:]] == runs.tables["second"]["map"].tolist()


def test_every_query_of_every_run_as_a_table_below_the_means(run, runs):
    done = run("evaluate", "qrels.txt", "first.run", "second.run", "-m", "map", "--per-query")
    assert done.returncode == 0, done.stderr
    above, below = done.stdout.split("\n\n")
    assert "standard" in above
    heading, *rows = below.splitlines()
    assert heading.split() == ["run", "qid", "map"]
    assert [row.split()[0] for row in rows] == ["first"] * 30 + ["second"] * 30
    assert float(rows[-1].split()[-1]) == pytest.approx(runs.tables["second"]["map"][-1], abs=5e-5)


def test_judgements_of_other_tools_meet_runs(run, runs, lists_folder):
    judged = pk.read_qrels("qrels.txt")
    rows = zip(judged.qid.tolist(), judged.docid.tolist(), judged.labels.tolist(), strict=True)
    (lists_folder / "quepid.csv").write_text("query,docid,rating\n" + "".join(f"{q},{d},{y:g}\n" for q, d, y in rows))
    for names in (["first.run"], ["first.run", "second.run"]):
        assert run("evaluate", "quepid.csv", *names).stdout == run("evaluate", "qrels.txt", *names).stdout != ""


def test_score_files_are_compared_and_reported(run, lists, lists_folder):
    pytest.importorskip("matplotlib")
    pk.write_letor(lists, "all.txt")
    for column in (0, 1):
        (lists_folder / f"{column}.txt").write_text("".join(f"{value!r}\n" for value in lists.X[:, column].tolist()))
    done = run("evaluate", "all.txt", "0.txt", "1.txt", "-m", "map", "--baseline", "1.txt", "--report", "out.html")
    assert done.returncode == 0
    assert "than 1.txt" in done.stderr
    assert "Comparison of 2 runs" in (lists_folder / "out.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "words",
    [
        ["first.run", "--baseline", "first"],
        ["first.run", "second.run", "--every-convention"],
        ["first.run", "second.run", "--baseline", "third"],
        ["first.run", "first.run"],
    ],
)
def test_wrong_usage_of_several_runs(run, runs, words):
    assert run("evaluate", "qrels.txt", *words).returncode == 2


NAMES = "alpha-ndcg@5,err-ia@5"


def test_measures_of_diversity_read_the_subtopics_of_the_qrels(run, lists_folder):
    (lists_folder / "diverse.qrels").write_text("0 a A 1\n0 b B 1\n0 b A 1\n0 c C 1\n")
    (lists_folder / "diverse.run").write_text("0 Q0 A 1 9.3 x\n0 Q0 E 2 8.1 x\n0 Q0 B 3 7.6 x\n")
    done = run("evaluate", "diverse.qrels", "diverse.run", "-m", "alpha-ndcg@5,err-ia@5", "-c", "trec", "--json")
    assert done.returncode == 0, done.stderr
    means = json.loads(done.stdout)["mean"]
    qrels = pk.read_qrels("diverse.qrels", subtopics=True)
    assert means == pk.evaluate(qrels, pk.read_trec_run("diverse.run"), metrics=list(means), convention="trec").mean()
    done = run("evaluate", "diverse.qrels", "diverse.run", "-m", "ndcg@5")
    assert done.returncode != 0
    assert "read the file with subtopics=True" in " ".join(done.stderr.split())


def test_tables_of_judgements_and_of_runs_are_compared(run, tmp_path):
    (tmp_path / "judgements.csv").write_text("query,docid,rating\na,d1,2\na,d2,0\nb,d1,1\n")
    (tmp_path / "bm25.csv").write_text("query,docid,score\na,d2,0.9\na,d1,0.5\nb,d1,0.1\n")
    (tmp_path / "new.csv").write_text("query,docid,position\na,d1,1\na,d2,2\nb,d1,1\n")
    done = run("evaluate", *(str(tmp_path / name) for name in ("judgements.csv", "bm25.csv", "new.csv")))
    assert done.returncode == 0, done.stderr
    assert "new.csv" in done.stdout
    swapped = run("evaluate", str(tmp_path / "bm25.csv"), str(tmp_path / "judgements.csv"))
    assert swapped.returncode != 0
    assert "Judgements come first, such as: plackett evaluate JUDGEMENTS RUN." in " ".join(swapped.stderr.split())


def test_a_model_in_the_place_of_the_data_is_recognised(run, lists, lists_folder):
    pk.write_letor(lists, lists_folder / "judged.txt")
    pk.LinearRanker().fit(lists).save(lists_folder / "model.plackett")
    done = run("evaluate", "model.plackett", "judged.txt")
    assert done.returncode == 2
    assert "The data come first: plackett evaluate judged.txt model.plackett" in " ".join(done.stderr.split())
