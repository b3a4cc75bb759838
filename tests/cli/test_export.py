"""``plackett export``: from a model file to another tool's."""

import json

import numpy as np
import pytest

import plackett as pk
from tests.exporting import formulas

NAMES = ["bm25", "größe", 'the "title"', "d", "e", "f"]


@pytest.fixture
def model(lists, lists_folder):
    ranker = pk.LinearRanker("squared", normalize="zscore").fit(pk.read_letor("train.txt"))
    ranker.save(lists_folder / "model.plackett")
    (lists_folder / "names.txt").write_text("\n".join(NAMES) + "\n\n", encoding="utf-8")
    return ranker


def test_a_checked_export_goes_to_a_file_and_says_how_it_went(run, model, lists_folder):
    (lists_folder / "solr.json").write_text("old")
    done = run(
        "export", "model.plackett", "--to", "solr", "--features", "names.txt", "--check", "test.txt",
        "--name", "mine", "--store", "shop", "-o", "solr.json",
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("checked on 72 rows: scores differ by at most ")
    text = (lists_folder / "solr.json").read_text(encoding="utf-8")
    assert json.loads(text)["name"] == "mine"
    rows = pk.read_letor("test.txt")
    ours = model.predict(rows)
    theirs = [formulas.of_solr(text, NAMES, row) for row in rows.X.tolist()]
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-5 * np.ptp(ours))


@pytest.mark.parametrize("target", ["elasticsearch", "opensearch", "solr", "ranklib", "json"])
def test_texts_go_to_standard_output(run, model, target):
    done = run("export", "model.plackett", "--to", target, "--features", "names.txt")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == pk.export(pk.load("model.plackett"), target, feature_names=NAMES)


def test_onnx_goes_to_a_file(run, model, lists_folder):
    runtime = pytest.importorskip("onnxruntime")
    done = run(
        "export", "model.plackett", "--to", "onnx", "--dtype", "float64", "--check", "test.txt", "-o", "model.onnx"
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "")
    session = runtime.InferenceSession(str(lists_folder / "model.onnx"), providers=["CPUExecutionProvider"])
    X = pk.read_letor("test.txt").X.astype(np.float64)
    np.testing.assert_allclose(session.run(None, {"features": X})[0], model.predict(X), rtol=1e-9)


def test_a_file_that_leaves_out_zeros_may_have_fewer_columns(run, model, lists_folder):
    (lists_folder / "short.txt").write_text("0 qid:1 1:0.5 2:1\n1 qid:1 1:0.25 3:2\n")
    done = run("export", "model.plackett", "--to", "ranklib", "--check", "short.txt")
    assert done.returncode == 0
    assert "the last 3 count as 0\nchecked on 2 rows" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "--to is missing."),
        (("--to", "lucene"), "--to lucene is not known. hint: choose one of elasticsearch"),
        (("--to", "slor"), "--to slor is not known. Did you mean solr?"),
        (("--to", "ranklib", "--name", "x"), "ranklib has no name"),
        (("--to", "json", "--dtype", "float64"), "json has no dtype; only onnx"),
        (("--to", "onnx", "--dtype", "half"), "--dtype half is not known"),
        (("--to", "json", "--features", "-"), "only --check can be standard input"),
    ],
)
def test_wrong_usage(run, model, words, message):
    done = run("export", "model.plackett", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in " ".join(done.stderr.replace("│", " ").split())


def test_a_failed_check_leaves_the_file_as_it_was(run, model, lists_folder):
    path = lists_folder / "solr.json"
    path.write_text("old")
    narrow = int(np.argmin(model.normalizer_.scale_))
    assert model.normalizer_.scale_[narrow] < 0.8  # by which 3e38 leaves float32
    (lists_folder / "far.txt").write_text(f"0 qid:1 {narrow + 1}:1\n1 qid:1 {narrow + 1}:3e38\n")
    words = ("export", "model.plackett", "--to", "solr", "--features", "names.txt")
    done = run(*words, "--check", "far.txt", "-o", "solr.json")
    assert done.returncode == 1
    assert "solr would score row 1" in done.stderr
    assert done.stderr.endswith("Nothing was written.\n")
    assert path.read_text(encoding="utf-8") == "old"


@pytest.mark.filterwarnings("default::plackett.exceptions.DataWarning")
def test_names_are_missing_or_wrong(run, model, lists_folder):
    done = run("export", "model.plackett", "--to", "solr")
    assert done.returncode == 0
    assert "as feature1 to feature6" in done.stderr
    assert "--features FILE" in done.stderr
    assert json.loads(done.stdout)["features"][0]["name"] == "feature1"
    (lists_folder / "gap.txt").write_text("a\n\nb\n")
    done = run("export", "model.plackett", "--to", "solr", "--features", "gap.txt")
    assert (done.returncode, done.stderr) == (
        1, "plackett: error: gap.txt, line 2: expected a name, found a blank line.\n",
    )  # fmt: skip
    (lists_folder / "latin.txt").write_bytes(b"a\nb\xe4\n")
    assert "latin.txt, line 2: this is not UTF-8 text" in run(
        "export", "model.plackett", "--to", "solr", "--features", "latin.txt"
    ).stderr  # fmt: skip
    done = run("export", "model.plackett", "--to", "solr", "--features", "nowhere.txt")
    assert (done.returncode, "no file 'nowhere.txt'" in done.stderr) == (1, True)


def test_a_model_that_cannot_be_exported_is_refused_in_one_line(run, lists, lists_folder):
    pk.LinearRanker(normalize="query-zscore").fit(lists).save(lists_folder / "query.plackett")
    done = run("export", "query.plackett", "--to", "json", "--check", "test.txt")
    assert done.returncode == 1
    assert done.stderr.startswith("plackett: error: LinearRanker with normalize='query-zscore' cannot be exported")
    assert done.stderr.count("\n") == 1


def test_help_fits_one_screen_and_has_an_example(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    done = run("export", "--help")
    assert done.returncode == 0
    assert "Example: plackett export my.plackett --to solr" in done.stdout
    assert done.stdout.count("\n") <= 40
