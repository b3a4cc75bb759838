"""The example that labels documents by any client."""

import json
import re

import pytest

import plackett as pk
from plackett.evaluation import judge_agreement
from tests.examples.test_cranfield import load

pytestmark = pytest.mark.timeout(60)


def test_labels_are_written_once_and_answers_without_a_grade_are_counted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    example = load("label_with_a_model")
    run = pk.Run(["q1", "q1", "q1", "q2"], ["a", "b", "c", "a"], [3.0, 2.0, 1.0, 1.0], tag="bm25")
    pk.write_trec_run(run, "bm25.run")
    (tmp_path / "texts.tsv").write_text("a\tred dress\nb\tblack shoes\nc\tgreen hat\n")
    (tmp_path / "queries.tsv").write_text("q1\tred dress\nq2\tshoes\n")
    asked = []

    def ask(prompt):
        asked.append(prompt)
        query, passage = re.findall(r"^(?:Query|Passage): (.*)$", prompt, re.M)
        return "Grade: 3." if query == passage else "I cannot say 2 or 3." if passage == "black shoes" else "0"

    pairs = example.pairs_of(["bm25.run"], 2)
    assert pairs == [("q1", "a"), ("q1", "b"), ("q2", "a")]
    texts = [example.read_texts(name) for name in ("queries.tsv", "texts.tsv")]
    for _ in range(2):  # the second time everything is there
        example.label(ask, pairs, *texts, "labels.jsonl")
    assert len(asked) == 3
    rows = [json.loads(line) for line in (tmp_path / "labels.jsonl").read_text().splitlines()]
    assert [row["grade"] for row in rows] == [3, None, 0]
    found = judge_agreement({"q1": {"a": 3, "b": 0}, "q2": {"a": 0}}, "labels.jsonl")
    assert "labels.jsonl: 1 row has no label" in found.notes
    assert found.kappa["labels.jsonl"].equal == 1.0
