"""Judgements and runs as teams have them: frames, CSV, JSON, Parquet and TREC, mixed."""

from __future__ import annotations

import json

import pandas as pd
import pytest

import plackett as pk
from plackett.exceptions import DataFormatError

JUDGED = pd.DataFrame({"rating": [2, 0, 1], "query": ["a", "a", "b"], "docid": ["d1", "d2", "d1"], "note": "x"})
RUN = pd.DataFrame({"query": ["a", "a", "b"], "doc_id": ["d2", "d1", "d1"], "score": [0.9, 0.5, 0.1]})
QRELS = "a 0 d1 2\na 0 d2 0\nb 0 d1 1\n"
TREC = "a Q0 d2 1 0.9 bm25\na Q0 d1 2 0.5 bm25\nb Q0 d1 1 0.1 bm25\n"


def files(folder):
    """Return paths of the same judgements, and of the same run, in all formats."""
    judged, runs = [], []
    for kind, frame, paths in (("judgements", JUDGED, judged), ("run", RUN, runs)):
        frame.to_csv(folder / f"{kind}.csv", index=False)
        frame.to_csv(folder / f"{kind}.tsv", index=False, sep="\t")
        frame.to_json(folder / f"{kind}.json", orient="records")
        frame.to_json(folder / f"{kind}.jsonl", orient="records", lines=True)
        frame.to_parquet(folder / f"{kind}.parquet")
        paths += [folder / f"{kind}.{ending}" for ending in ("csv", "tsv", "json", "jsonl", "parquet")]
    (folder / "ranx-judgements.json").write_text(json.dumps({"a": {"d1": 2, "d2": 0}, "b": {"d1": 1}}))
    (folder / "ranx-run.json").write_text(json.dumps({"a": {"d2": 0.9, "d1": 0.5}, "b": {"d1": 0.1}}))
    (folder / "judgements.qrels").write_text(QRELS)
    (folder / "run.trec").write_text(TREC)
    judged += [
        folder / "ranx-judgements.json",
        folder / "judgements.qrels",
        JUDGED,
        {"a": {"d1": 2, "d2": 0}, "b": {"d1": 1}},
    ]
    return judged, [*runs, folder / "ranx-run.json", folder / "run.trec", RUN]


def test_all_forms_of_judgements_and_runs_mix(tmp_path):
    pytest.importorskip("pyarrow")
    judged, runs = files(tmp_path)
    expected = pk.evaluate(pk.read_qrels(tmp_path / "judgements.qrels"), pk.read_trec_run(tmp_path / "run.trec")).mean()
    for one in judged:
        assert pk.evaluate(one, runs[-1]).mean() == expected, one
        assert pk.evaluate(one, tmp_path / "run.trec").mean() == expected, one
    for one in runs:
        assert pk.evaluate(judged[0], one).mean() == expected, one
        assert pk.evaluate(JUDGED, one).mean() == expected, one
    result = pk.compare_runs(JUDGED, {"one": RUN, "two": str(tmp_path / "run.csv")})
    assert result.tables["one"].mean() == result.tables["two"].mean() == expected


def test_positions_order_documents():
    places = RUN.drop(columns="score").assign(position=[1, 2, 1])
    assert pk.evaluate(JUDGED, places).mean() == pk.evaluate(JUDGED, RUN).mean()


def test_swapped_arguments_are_recognised(tmp_path):
    files(tmp_path)
    places = RUN.drop(columns="score").assign(position=[1, 2, 1])
    places.to_csv(tmp_path / "places.csv", index=False)
    for judged, run in (
        ("places.csv", "judgements.csv"),
        ("run.trec", "judgements.qrels"),
        ("run.csv", "judgements.csv"),
    ):
        with pytest.raises(DataFormatError, match=r"swapped\? Judgements come first, .*evaluate\(judgements, run\)"):
            pk.evaluate(tmp_path / judged, tmp_path / run)


def test_missing_columns_are_named(tmp_path):
    with pytest.raises(
        DataFormatError, match=r"no column for a document: it has 'query', 'score'; expected one called do"
    ):
        pk.evaluate(JUDGED, RUN.drop(columns="doc_id"))
    with pytest.raises(
        DataFormatError, match="no column for a run: it has 'query', 'doc_id'; expected one called score"
    ):
        pk.evaluate(JUDGED, RUN.drop(columns="score"))
