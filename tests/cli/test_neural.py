"""Nets on the command line: trained, ranking, and what they are refused."""

import json

import pytest

import plackett as pk
from tests.cli.test_train import unboxed

pytest.importorskip("torch", reason="nets need PyTorch: pip install 'plackett[neural]'")


def test_a_net_is_trained_and_ranks(run, lists):
    words = ("-r", "neural", "--loss", "p-listmle", "--set", "hidden=[8,4]", "--set", "n_epochs=4", "--seed", "1")
    done = run("train", "train.txt", *words, "--validation", "vali.txt", "-m", "map", "-o", "model", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    facts = json.loads(done.stdout)
    expected = pk.NeuralRanker(loss="p-listmle", hidden=[8, 4], n_epochs=4, random_state=1)
    expected.fit(lists[:18], eval_set=lists[18:24], eval_metric="map")
    assert (facts["ranker"], facts["class"], facts["stop_reason"]) == ("neural", "NeuralRanker", expected.stop_reason_)
    assert (facts["n_iter"], facts["best_iteration"]) == (expected.n_iter_, expected.best_iteration_)
    done = run("rank", "model", "test.txt")
    assert [float(line) for line in done.stdout.splitlines()] == expected.predict(lists[24:]).tolist()


def test_what_a_net_cannot_do_is_said(run):
    wrong = run("train", "train.txt", "-o", "model", "-r", "neural", "--set", "hiden=8")
    assert wrong.returncode == 2
    assert "hidden?" in unboxed(wrong.stderr)
    wrong = run("train", "train.txt", "-o", "model", "-r", "neural", "--set", "hidden=wide")
    assert wrong.returncode == 2
    assert "--set hidden=wide: it must be a list of widths, such as [64, 32]." in unboxed(wrong.stderr)
    attentive = ("-r", "neural", "--set", "attention=1", "--set", "hidden=4", "--set", "n_epochs=1")
    assert run("train", "train.txt", "-o", "model", *attentive).returncode == 0
    for words in (("explain", "model", "test.txt", "--query", "26"), ("export", "model", "--to", "json")):
        refused = run(*words)
        assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
        assert refused.stderr.startswith("plackett: error: NeuralRanker with attention")


def test_a_net_explains_its_scores(run, lists):
    words = ("-r", "neural", "--set", "hidden=[4]", "--set", "n_epochs=1", "--seed", "1", "-q")
    assert run("train", "train.txt", *words, "-o", "model").returncode == 0
    rows = json.loads(run("explain", "model", "test.txt", "--query", "26", "--json").stdout)["rows"]
    scores = [row["score"] for row in rows]
    assert scores == sorted(scores, reverse=True)
    for row in rows:
        total = sum(part["contribution"] for part in row["contributions"])
        assert total == pytest.approx(row["score"] - row["baseline"], abs=1e-5)


def test_a_net_is_exported(run, lists):
    pytest.importorskip("onnxruntime")
    words = ("-r", "neural", "--set", "hidden=[4]", "--set", "n_epochs=1", "--seed", "1", "-q")
    assert run("train", "train.txt", *words, "-o", "net.plackett").returncode == 0
    done = run("export", "net.plackett", "--to", "onnx", "--check", "test.txt", "-o", "net.onnx")
    assert done.returncode == 0
    assert done.stderr.startswith(f"checked on {lists[24:].n_docs} rows: scores differ by at most ")
    refused = run("export", "net.plackett", "--to", "ranklib")
    assert (refused.returncode, "ranklib, which has no format for nets" in refused.stderr) == (1, True)
