"""``plackett serve``: errors before it serves. ``tests/apps/serve`` has the service itself."""

import pytest

import plackett as pk

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")


@pytest.fixture
def model(lists_folder):
    data = pk.datasets.make_web_like(5, 5, 3, random_state=0)
    pk.LinearRanker().fit(data).save(lists_folder / "model.plackett")
    (lists_folder / "damaged.plackett").write_bytes((lists_folder / "model.plackett").read_bytes()[:-5])
    (lists_folder / "file").write_text("")
    (lists_folder / "models").mkdir()


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["a b=model.plackett"], 2, "expected FILE, NAME=FILE or NAME@VERSION=FILE"),
        (["shop="], 2, "expected FILE, NAME=FILE or NAME@VERSION=FILE"),
        (["missing.plackett"], 1, "missing.plackett"),
        (["memory://m.plackett"], 2, "memory://m.plackett is not a file of this machine, which a service can watch."),
        (["a=s3://me:s3cret@shop/m.plackett"], 2, "s3://shop/m.plackett is not a file of this machine"),
        (["models"], 1, "error: 'models' is a folder; give the name of a model file in it."),
        (["damaged.plackett"], 1, "damaged.plackett: the file is damaged"),
        (["model.plackett", "model=model.plackett"], 1, "two models are called model"),
        (["model.plackett", "--shadow", "other"], 1, "there is no model 'other'"),
        (["model.plackett", "--token", "short"], 2, "16 characters or more"),
        (["model.plackett", "--seconds", "inf"], 2, "finite"),
        (["model.plackett", "--log", "file/log"], 1, "'file/log', given for the log, cannot be used as a folder"),
        (["model.plackett", "--log", "file"], 1, "'file', given for the log, cannot be used as a folder"),
        (["model.plackett", "--log", "mysql://me:s3cret@h/x"], 1, "--log takes a folder, not mysql://…; load"),
        (["model.plackett", "--method", "optimised"], 2, "require --interleave"),
        (["model.plackett", "--interleave", "model,other"], 1, "--interleave needs the log"),
        (["model.plackett", "--interleave", "model,other", "--log", "log"], 1, "there is no model 'other'"),
        (["model.plackett", "b=model.plackett", "--interleave", "b,b", "--log", "log"], 1, "--interleave b,b: a test"),
    ],
)
def test_errors_come_before_the_service(run, model, words, status, message):
    done = run("serve", *words, "--port", "0")
    assert done.returncode == status
    assert message in " ".join(done.stderr.replace("│", " ").split())
    assert "s3cret" not in done.stderr


def test_a_test_of_two_copies_of_one_model_is_warned_of(run, model, lists_folder, monkeypatch):
    monkeypatch.setattr("plackett.apps.serve.server.run_service", lambda service, listener: None)
    monkeypatch.setattr("plackett.apps.serve.logs.start_logging", lambda: None)
    data = pk.datasets.make_web_like(5, 5, 3, random_state=1)
    pk.LinearRanker().fit(data).save(lists_folder / "other.plackett")
    words = ["--interleave", "a,b", "--log", "log", "--port", "0"]
    same = run("serve", "a=model.plackett", "b=model.plackett", *words)
    assert same.returncode == 0
    (warning,) = [line for line in same.stderr.splitlines() if "warning" in line]
    assert warning.startswith("plackett: warning: --interleave: a and b are the same model (checksum ")
    assert warning.endswith("so a test of them can only end in a tie.")
    different = run("serve", "a=model.plackett", "b=other.plackett", *words)
    assert different.returncode == 0
    assert "warning" not in different.stderr
