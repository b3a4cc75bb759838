"""The command on pipes, as ``<(...)`` of a shell makes them: the same result as from files."""

import json
import os
import subprocess
import sys

import pytest

import plackett as pk

pytestmark = pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="this system has no /dev/fd")


@pytest.fixture
def pipe():
    """A name under which the content of a file can be read once."""
    made = []

    def pipe(path):
        reads, writes = os.pipe()
        made.append(reads)
        content = path.read_bytes()
        assert len(content) < 60_000  # a pipe holds so much, and nobody reads yet
        os.write(writes, content)
        os.close(writes)
        return f"/dev/fd/{reads}"

    yield pipe
    for reads in made:
        os.close(reads)


@pytest.fixture
def judged(lists_folder, lists):
    """Qrels, run, scores and model for the test queries, in files."""
    some = lists[24:]
    test = pk.Queries(some.X, some.y, some.qid, docid=[f"d{row}" for row in range(some.n_docs)])
    pk.write_letor(test, lists_folder / "named.txt")
    rows = list(zip(test.qid.tolist(), test.docid, test.y.tolist(), test.X[:, 0].tolist(), strict=True))
    texts = {
        "qrels": "".join(f"{qid} 0 {name} {label:g}\n" for qid, name, label, _ in rows),
        "run": "".join(f"{qid} Q0 {name} 1 {score!r} tag\n" for qid, name, _, score in rows),
        "scores": "".join(f"{score!r}\n" for *_, score in rows),
        "feedback.jsonl": "".join(f'{{"qid": {q}, "docid": "{name}", "label": {y:g}}}\n' for q, name, y, _ in rows),
        "texts.jsonl": '{"id": "a", "text": "first words"}\n{"id": "b", "text": "others"}\n',
    }
    for name, text in texts.items():
        (lists_folder / name).write_text(text)
    pk.LinearRanker("squared").fit(lists[:18]).save(lists_folder / "model")
    return lists_folder


COMMANDS = {
    "evaluate qrels": ["evaluate", "@qrels", "@run", "--json", "--per-query"],
    "evaluate lists": ["evaluate", "@test.txt", "@scores", "--json"],
    "info": ["info", "@test.txt"],
    "info of a model": ["info", "@model"],
    "rank": ["rank", "@model", "@test.txt"],
    "a run as base": ["refine", "@named.txt", "--base", "@run", "--feedback", "@feedback.jsonl"],
    "scores as base": ["refine", "@named.txt", "--base", "@scores", "--feedback", "@qrels"],
    "a model as base": ["refine", "@named.txt", "--base", "@model", "--feedback", "@named.txt"],
}


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_a_command_on_pipes_prints_what_it_prints_on_files(words, judged, pipe, run):
    expected = run(*[word.lstrip("@") for word in words])
    assert expected.returncode == 0, expected.stderr
    found = run(*[pipe(judged / word[1:]) if word[0] == "@" else word for word in words])
    assert found.returncode == 0, found.stderr
    assert found.stdout == expected.stdout


def test_documents_of_a_pipe_are_told_apart_as_those_of_a_file(judged, pipe, run):
    done = run("index", pipe(judged / "texts.jsonl"), "-o", judged / "index", "--json")
    assert json.loads(done.stdout)["documents"] == 2


def test_a_shells_process_substitution_loses_nothing(judged):
    command = f"{sys.executable} -c 'from plackett.cli import main; main()' evaluate <(cat qrels) <(cat run) --csv"
    done = subprocess.run(["bash", "-c", command], cwd=judged, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    evaluation = pk.evaluate(
        pk.read_qrels(judged / "qrels"), pk.read_trec_run(judged / "run"), metrics=["ndcg@10", "map", "mrr"]
    )
    assert done.stdout == evaluation.to_csv()


def test_parquet_from_a_pipe_is_read(judged, pipe, run, lists):
    pk.write_parquet(lists[:2], judged / "lists.parquet")
    done, expected = (run("info", name) for name in (pipe(judged / "lists.parquet"), "lists.parquet"))
    assert (done.returncode, done.stdout) == (0, expected.stdout)
    (judged / "cut.parquet").write_bytes((judged / "lists.parquet").read_bytes()[:-9])
    name = pipe(judged / "cut.parquet")
    done = run("info", name)
    assert done.returncode == 1
    assert str(name) in done.stderr  # not the copy
