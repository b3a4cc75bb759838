"""``plackett train --clicks``: rankers that learn from a click log, and the diagnosis of its labels."""

import json

import numpy as np
import pytest

import plackett as pk


@pytest.fixture
def logged(run, lists, tmp_path):
    """The command in a folder with features by document, a click log, and the same objects."""
    names = [f"d{row}" for row in range(lists.n_docs)]
    named = pk.Queries(lists.X, y=lists.y, qid=lists.qid, comments=names)
    shown = named[:18]
    pk.write_letor(shown, tmp_path / "features.txt")
    features = pk.read_letor(tmp_path / "features.txt")
    log = pk.clicks.simulate_clicks(shown, {"a": shown.X[:, 0], "b": shown.X[:, 1]}, 4000, k=4)
    log.save(tmp_path / "log.plackett")
    return run, log, features


def test_a_trained_model_is_that_of_python(logged):
    run, log, features = logged
    done = run(
        "train", "features.txt", "--clicks", "log.plackett", "--correct", "dr", "--l2", "0.1", "-o", "m.plackett"
    )
    assert done.returncode == 0, done.stderr
    labels = pk.clicks.corrected_labels(log, pk.clicks.estimate_propensities(log), "dr", features=features)
    queries = labels.to_queries()
    expected = pk.LinearRanker("softmax", l2=0.1).fit(queries, sample_weight=labels.sample_weight(queries))
    assert np.array_equal(pk.load("m.plackett").coef_, expected.coef_)
    assert done.stderr.strip() == str(labels.diagnose())
    assert f"{log.n_clicks:,} in 4,000 sessions, corrected by dr" in done.stdout
    assert "on training" not in done.stdout  # measures take judgements


def test_judged_lists_choose_l2(logged):
    run, _, _ = logged
    words = ["--clicks", "log.plackett", "--validation", "vali.txt", "--l2-path", "1,0.01", "-o", "m.plackett"]
    done = run("train", "features.txt", *words, "--propensities", "1,0.9,0.7,0.5", "--json", "-q")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert found["clicks"]["method"] == "policy-aware"
    assert "ndcg@10" in found["validation"]
    assert "training" not in found


def test_propensities_come_from_files_and_methods(logged, tmp_path):
    run, _, _ = logged
    pk.clicks.Propensities([1.0, 0.8, 0.6, 0.4]).save(tmp_path / "theta.plackett")
    coefs = []
    for given in ("theta.plackett", "1,0.8,0.6,0.4", "em", "regression-em"):
        words = ["--clicks", "log.plackett", "--correct", "ips", "--clip", "0.5", "--propensities", given]
        done = run("train", "features.txt", *words, "-q", "-o", "m.plackett")
        assert done.returncode == 0, done.stderr
        coefs.append(pk.load("m.plackett").coef_)
    assert np.array_equal(coefs[0], coefs[1])
    assert not np.array_equal(coefs[1], coefs[2])
    done = run("train", "features.txt", "--clicks", "log.plackett", "--propensities", "nothing", "-o", "m.plackett")
    assert done.returncode == 2
    assert "there is no such file" in done.stderr


def test_the_log_may_hold_the_features(logged, tmp_path):
    run, log, features = logged
    rows = {(str(qid), docid): row for row, (qid, docid) in enumerate(zip(features.qid, features.docid, strict=True))}
    X = np.stack([features.X[rows[log.pairs[code]]] for code in range(log.n_pairs)])
    log.with_features(X).save(tmp_path / "whole.plackett")
    coefs = []
    for words in (["--clicks", "whole.plackett"], ["features.txt", "--clicks", "log.plackett"]):
        done = run("train", *words, "--correct", "naive", "-q", "-o", "m.plackett")
        assert done.returncode == 0, done.stderr
        coefs.append(pk.load("m.plackett").coef_)
    assert coefs[0] == pytest.approx(coefs[1])
    done = run("train", "--clicks", "log.plackett", "-o", "m.plackett")
    assert "log.plackett has no features. Give DATA" in done.stderr


def test_losses_become_linear_or_are_refused(logged):
    run, _, _ = logged
    words = ["--clicks", "log.plackett", "--correct", "naive", "-o", "m.plackett"]
    done = run("train", "features.txt", *words, "-r", "ranksvm")
    assert done.returncode == 0, done.stderr
    assert pk.load("m.plackett").loss == pk.losses.Pairwise("hinge", "label")
    assert "was replaced by Pairwise(loss='hinge', weight='label'), which is linear in the labels." in done.stderr
    for ranker in ("listmle", "lightgbm", "adarank"):
        done = run("train", "features.txt", *words, "-r", ranker)
        assert done.returncode == 2
        assert "linear in the" in " ".join(done.stderr.replace("│", " ").split())


def test_wrong_usage_is_explained(logged):
    run, _, _ = logged
    for words, text in [
        (["features.txt", "--correct", "dr"], "--correct requires --clicks LOG."),
        ([], "DATA is missing: give judged lists"),
        (
            ["features.txt", "--clicks", "log.plackett", "--correct", "magic"],
            "--correct magic is not known. hint: choose one of naive, ips",
        ),
        (["features.txt", "--clicks", "log.plackett", "--correct", "naive", "--propensities", "em"], "needs no"),
        (["features.txt", "--clicks", "none.csv"], "there is no file 'none.csv'"),
        (["features.txt", "--clicks", "log.plackett", "--local-cluster", "2"], "cannot be combined with a cluster"),
    ]:
        done = run("train", *words, "-o", "m.plackett")
        assert done.returncode in (1, 2)
        assert text in " ".join(done.stderr.replace("│", " ").split())
