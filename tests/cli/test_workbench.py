"""``plackett workbench``: what it serves, where it keeps things, and what it says about wrong words."""

import subprocess
import sys
from pathlib import Path

import pytest

import plackett as pk

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("sqlalchemy")

TOKEN = "a-token-that-is-long-enough"


@pytest.fixture
def served(monkeypatch, lists_folder):
    """What would have been served, without serving it."""
    from plackett.apps.access import server as serving

    calls = []
    monkeypatch.setattr(serving, "serve", lambda app, listener: calls.append(app.state.workbench))
    monkeypatch.setenv("XDG_DATA_HOME", str(lists_folder / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(lists_folder / "cache"))
    monkeypatch.delenv("PLACKETT_TOKEN", raising=False)
    (lists_folder / "docs").mkdir()
    (lists_folder / "docs" / "a.md").write_text("# Wings\nWings lift a plane.")
    (lists_folder / "docs" / "b.txt").write_text("Boats float.")
    return calls


def test_texts_are_served_and_judgements_kept_under_their_name(run, served, lists_folder):
    done = run("workbench", "docs", "--port", "0")
    assert done.returncode == 0, done.stderr
    (bench,) = served
    assert (bench.collection.n_docs, bench.collection.name) == (2, "docs")
    assert bench.settings.token is None
    first, second = done.stderr.splitlines()
    kept = Path(bench.store.location)
    assert (kept.parent, kept.suffix) == (lists_folder / "data" / "plackett", ".db")
    assert kept.stem == bench.collection.key
    assert "plain HTTP" not in done.stderr
    assert first == f"docs: 2 documents; judgements in {kept}"
    assert second == f"The workbench is at http://127.0.0.1:{bench.settings.port}/ (stop it with Ctrl-C)"
    assert bench.settings.port > 0
    assert any((lists_folder / "cache" / "plackett").iterdir())
    assert done.stdout == ""


def test_judged_lists_are_served_with_saved_rankers(run, served, lists_folder):
    pk.LinearRanker("listmle").fit(pk.read_letor("train.txt")).save("mine.plackett")
    done = run("workbench", "--letor", "test.txt", "--model", "mine.plackett", "--store", "s.db", "--port", "0")
    assert done.returncode == 0, done.stderr
    (bench,) = served
    assert (bench.collection.kind, bench.collection.name) == ("letor", "test.txt")
    assert bench.collection.base_rankers()[-1] == "mine"
    assert (lists_folder / "s.db").exists()
    (lists_folder / "other").mkdir()
    (lists_folder / "test.txt").rename(lists_folder / "other" / "test.txt")
    assert run("workbench", "--letor", "other/test.txt", "--store", "s.db", "--port", "0").returncode == 0
    assert served[0].collection.key != served[1].collection.key  # other lists of the same name


def test_lists_whose_last_columns_are_left_out_fit_a_ranker_that_has_them(run, served, lists_folder):
    pk.LinearRanker("listmle").fit(pk.read_letor("train.txt")).save("mine.plackett")
    (lists_folder / "short.txt").write_text("1 qid:1 1:0.5\n0 qid:1 1:0.1 2:3\n")
    done = run("workbench", "--letor", "short.txt", "--model", "mine.plackett", "--port", "0")
    assert done.returncode == 0, done.stderr
    assert "the last 4 count as 0" in done.stderr
    assert len(served[0].collection.search("1", "mine").docid) == 2


def test_others_come_in_with_a_token_that_is_made_up_and_printed(run, served):
    done = run("workbench", "docs", "--host", "0.0.0.0", "--port", "0")
    token = served[0].settings.token
    assert len(token) >= 32
    assert f"/?token={token} " in done.stderr
    assert "plain HTTP" in done.stderr


def test_a_token_is_taken_from_the_words_or_the_environment(run, served, monkeypatch):
    run("workbench", "docs", "--port", "0", "--token", TOKEN)
    monkeypatch.setenv("PLACKETT_TOKEN", TOKEN + "2")
    run("workbench", "docs", "--port", "0")
    assert [bench.settings.token for bench in served] == [TOKEN, TOKEN + "2"]


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["docs", "--letor", "test.txt"], 2, "give either SOURCE or --letor"),
        (["nowhere"], 1, "there is no file 'nowhere'"),
        (["docs", "--token", "short"], 2, "16 characters"),
        (["docs", "--store", "mysql://x/y"], 1, "mysql"),
        (["docs", "--model", "test.txt"], 1, "test.txt"),
    ],
)
def test_wrong_words_are_told(run, served, words, status, said):
    done = run("workbench", *words, "--port", "0")
    assert done.returncode == status, done.stderr
    assert said in " ".join(done.stderr.replace("│", " ").split())
    assert "Traceback" not in done.stderr
    assert served == []


def test_a_taken_port_is_told_before_the_work(run, served):
    from plackett.apps.access.server import open_port

    with open_port("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        done = run("workbench", "docs", "--port", str(port))
    assert done.returncode == 1
    assert done.stderr.startswith(f"plackett: error: port {port} on 127.0.0.1 is in use.")
    assert done.stderr.endswith("--port 0 for any free port.\n")


def test_the_browser_is_opened_where_somebody_sits_in_front_of_one(run, served, monkeypatch):
    import webbrowser

    from plackett.cli import workbench

    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    run("workbench", "docs", "--port", "0")
    assert opened == []  # no terminal
    monkeypatch.setattr(workbench, "_has_display", lambda: True)
    run("workbench", "docs", "--port", "0", "--no-browser")
    assert opened == []
    done = run("workbench", "docs", "--port", "0")
    assert [address in done.stderr for address in opened] == [True]


def test_a_base_ranker_that_no_longer_fits_is_left_out_with_a_note(run, served, lists_folder, monkeypatch):
    from plackett.apps.access import server as serving
    from plackett.apps.workbench.collections.text import open_collection
    from plackett.apps.workbench.store import Store
    from tests.apps.workbench.serving import store_ranker

    key = open_collection("docs").key
    with Store("s.db") as store:
        store_ranker(store, "old", key, is_base=True)

    def serve(app, listener):
        app.state.workbench.rankers.load_base_rankers()  # as the server does once its port is open
        served.append(app.state.workbench)

    monkeypatch.setattr(serving, "serve", serve)
    done = run("workbench", "docs", "--store", "s.db", "--port", "0")
    assert done.returncode == 0
    (workbench,) = served
    assert workbench.rankers.notes[0].startswith("the saved ranker 'old' is skipped: ")
    assert "old" not in workbench.collection.base_rankers()


def test_loading_the_command_loads_no_server():
    code = "import sys, plackett.cli; print([m for m in ('fastapi', 'uvicorn', 'pydantic') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"
