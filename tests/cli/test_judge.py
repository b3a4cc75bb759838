"""``plackett judge``, and ``plackett evaluate --model-qrels``."""

import json

import pytest

import plackett as pk
from plackett.evaluation import judge_agreement, judge_plan
from tests.evaluation.judges.test_corrected import made


@pytest.fixture
def files(lists_folder):
    human, truth, model, runs = made()
    for name, labels in (("people.txt", human), ("all.txt", truth), ("model.txt", model)):
        pk.write_qrels(pk.Qrels.from_dict(labels), lists_folder / name)
    rows = [f"{qid},{docid},{grade}" for qid, docs in truth.items() for docid, grade in docs.items()]
    (lists_folder / "model.csv").write_text("query,docid,rating\n" + "\n".join(rows))
    for name, run in runs.items():
        pk.write_trec_run(pk.Run.from_dict(run, tag=name), lists_folder / f"{name}.run")
    return lists_folder


def test_agreement_of_several_models_with_runs_among_the_words(run, files):
    done = run("judge", "agreement", "people.txt", "model.txt", "model.csv", "--runs", "old.run", "new.run")
    assert done.returncode == 0
    found = judge_agreement("people.txt", ["model.txt", "model.csv"], runs=["old.run", "new.run"])
    assert done.stdout.splitlines()[0] == found.headline()
    assert "From model.txt to model.csv" in done.stdout
    assert "model.txt has 240 pairs of 20 queries beyond those that people judged" in done.stderr
    plain = json.loads(run("judge", "agreement", "people.txt", "model.txt", "--json").stdout)
    assert plain["tables"][0]["rows"][0][4].startswith(f"{found.kappa['model.txt'].value:.3f} (")


def test_plan_says_what_a_model_is_worth(run, files):
    done = run("judge", "plan", "people.txt", "model.txt", "--runs", "old.run", "new.run", "--more", "100")
    planned = judge_plan("people.txt", "model.txt", ["old.run", "new.run"], n_model=100)
    assert done.stdout.splitlines()[0] == planned.headline()
    assert "runs are missing" in run("judge", "plan", "people.txt", "model.txt").stderr


def test_evaluate_corrects_by_people(run, files):
    words = ("evaluate", "people.txt", "old.run", "new.run", "--model-qrels", "model.txt", "-m", "ndcg@5")
    done = run(*words, "--sampled", "random", "--this-set")
    runs = {name: f"{name}.run" for name in ("old", "new")}
    options = {"metrics": "ndcg@5", "model_labels": "model.txt", "sampled": "random"}
    compared = pk.compare_runs("people.txt", runs, estimand="this set of queries", **options)
    assert done.stdout.splitlines()[0] == compared.corrected.headline()
    plain = json.loads(run(*words, "--sampled", "random", "--this-set", "--json").stdout)
    assert plain["corrected"]["tables"][1]["title"] == compared.corrected.tables()[1].title
    one = run("evaluate", "people.txt", "new.run", "--model-qrels", "model.txt", "--sampled", "random", "--csv")
    assert one.stdout.startswith("run,measure,corrected,low,high,people alone,people low,people high,model alone")


def test_evaluate_asks_how_the_queries_were_chosen(run, files):
    words = ("evaluate", "people.txt", "new.run", "--model-qrels", "model.txt")
    done = run(*words)
    assert done.returncode == 2
    assert "how were the queries that people judged chosen" in done.stderr
    assert "no intervals: the judged queries were chosen" in run(*words, "--sampled", "head").stderr
    queries = pk.read_qrels("model.txt").groups.ids
    (files / "chances.csv").write_text("query,probability\n" + "".join(f"{qid},0.5\n" for qid in queries))
    assert run(*words, "--sampled", "weights", "chances.csv").stdout == run(*words, "--sampled", "random").stdout
    assert "--model-qrels, which is missing" in run("evaluate", "people.txt", "new.run", "--sampled", "all").stderr


def test_next_keeps_the_order_and_ends_with_a_verdict(run, files):
    first = run("judge", "next", "old.run", "new.run", "--order", "order.txt")
    assert first.stdout.startswith("Not decided: 0 of 40 queries judged")
    kept = (files / "order.txt").read_text()
    done = run("judge", "next", "old.run", "new.run", "--qrels", "all.txt", "--order", "order.txt")
    assert done.stdout.startswith("All queries are judged: old − new by ndcg@10 is −")
    assert (files / "order.txt").read_text() == kept
    assert "the order is not kept" in run("judge", "next", "old.run", "new.run").stderr
    hopes = run("judge", "next", "old.run", "new.run", "--by", "hopes", "--model-qrels", "model.txt")
    assert "No verdict follows from this order" in hopes.stdout
