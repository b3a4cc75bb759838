"""The README's table has the values of the code; its example runs with the docs (test_docs.py)."""

import re
from pathlib import Path

import pytest

import plackett as pk

README = Path(__file__).resolve().parents[1] / "README.md"


def test_the_table_of_conventions_is_true():
    rows = re.findall(
        r"^\| ((?:`\w+`(?:, )?)+) \| (0\.\d{4}) \|", README.read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    printed = {name: float(value) for names, value in rows for name in re.findall(r"\w+", names)}
    assert len(printed) == 10
    data = pk.datasets.make_web_like(n_queries=100, random_state=0)
    scores = pk.datasets.make_rankings(data)["noisy"].round(0)
    docid = [f"d{row}" for row in range(data.n_docs)]
    for convention, value in printed.items():
        result = pk.evaluate(data.y, scores, qid=data.qid, docid=docid, metrics=["ndcg@10"], convention=convention)
        assert result.mean()["ndcg@10"] == pytest.approx(value, abs=5.1e-5), convention


def test_every_file_it_names_is_there():
    for name in re.findall(r"\]\((\w+\.md)\)", README.read_text(encoding="utf-8")):
        assert (README.parent / name).is_file(), name
