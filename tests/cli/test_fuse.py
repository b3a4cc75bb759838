"""``plackett fuse``: runs of files, the verdict, requests and mistakes."""

import json

import numpy as np
import pytest

import plackett as pk
from plackett.data.runs import as_run
from tests.evaluation.fusion.test_fuse import noisy


@pytest.fixture
def files(lists_folder):
    runs, qrels = noisy(0, [1.0, 1.0])
    for name, run in zip(("bm25", "dense"), runs.values(), strict=True):
        pk.write_trec_run(pk.Run.from_dict(run, tag=name), lists_folder / f"{name}.run")
    pk.write_qrels(pk.Qrels.from_dict(qrels), lists_folder / "judged.txt")
    return pk.fuse(["bm25.run", "dense.run"], "judged.txt")


def test_the_verdict_of_the_library_is_printed(run, files):
    done = run("fuse", "bm25.run", "dense.run", "--qrels", "judged.txt", "-o", "fused.run")
    assert done.returncode == 0
    assert done.stdout.splitlines()[0] == files.headline()
    found, expected = pk.read_trec_run("fused.run"), files.run
    assert found.docid.tolist() == expected.docid.tolist()
    np.testing.assert_allclose(found.scores, expected.scores)
    plain = json.loads(run("fuse", "bm25.run", "dense.run", "--qrels", "judged.txt", "--json").stdout)
    assert plain["weights"] == files.weights
    assert plain["gains"]["bm25"]["mean"] == files.gains["bm25"].mean


def test_a_run_is_a_table_where_the_name_of_its_file_says_so(run, lists_folder):
    bm25, dense = {"red dress": {"d1": 2.0, "d2": 1.0}}, {"red dress": {"d2": 0.5, "d,3": 0.25}}
    for name, scores in (("bm25", bm25), ("dense", dense)):
        rows = [f'red dress,"{docid}",{score}' for docid, score in scores["red dress"].items()]
        (lists_folder / f"{name}.csv").write_text("\n".join(["query,docid,score", *rows]))
    words = ("fuse", "bm25.csv", "dense.csv", "--method", "rrf")
    for name in ("fused.csv", "fused.tsv"):
        assert run(*words, "-o", name).returncode == 0
        assert as_run(name).to_dict() == pk.fuse({"bm25": bm25, "dense": dense}, method="rrf").run.to_dict()
    done = run(*words, "-o", "fused.run")
    assert done.returncode == 1
    assert "TREC files do not allow" in done.stderr
    assert "write a table: --output FILE.csv" in " ".join(done.stderr.split())


def test_a_report_and_a_request_are_written(run, files):
    done = run("fuse", "bm25.run", "dense.run", "--qrels", "judged.txt", "--report", "fusion.html",
               "--export", "elasticsearch")  # fmt: skip
    assert done.returncode == 0
    assert "retriever" in json.loads(done.stdout)
    assert files.headline() in done.stderr
    with open("fusion.html", encoding="utf-8") as page:
        assert "fused" in page.read()


def test_a_learning_curve_is_part_of_the_json(run, files):
    done = run("fuse", "bm25.run", "dense.run", "--qrels", "judged.txt", "--json", "--learning-curve")
    assert "learning_curve" in json.loads(done.stdout)


def test_a_report_without_a_verdict_is_not_written_in_silence(run, files):
    with open("judged.txt", encoding="utf-8") as judged, open("few.txt", "w", encoding="utf-8") as few:
        lines = judged.readlines()
        few.writelines(line for line in lines if line.split()[0] == lines[0].split()[0])
    done = run("fuse", "bm25.run", "dense.run", "--qrels", "few.txt", "--report", "none.html")
    assert done.returncode == 0
    assert "none.html was not written: there is no verdict" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bm25.run"], "at least two runs"),
        (["bm25.run", "bm25.run"], "bm25.run is given twice"),
        (["bm25.run", "dense.run", "--baseline", "bm52"], "--baseline bm52 is not known. Did you mean bm25?"),
        (["bm25.run", "dense.run", "--weights", "a,b"], "--weights: 'a,b': expected numbers separated by commas"),
        (["bm25.run", "dense.run", "--report", "x.html"], "--report shows the verdict, which needs --qrels"),
        (["bm25.run", "dense.run", "--learning-curve"], "--learning-curve needs --qrels"),
        (["bm25.run", "dense.run", "--learning-curve", "--export", "json"], "both write to the output"),
        (["bm25.run", "dense.run", "-m", "map,mrr"], "give one measure"),
        (["bm25.run", "dense.run", "--method", "median"], "--method median is not known"),
        (["bm25.run", "dense.run", "--export", "solr"], "--export solr is not known"),
        (["bm25.run", "nowhere.run"], "there is no file 'nowhere.run'"),
    ],
)
def test_mistakes_are_named(run, files, arguments, message):
    done = run("fuse", *arguments)
    assert done.returncode in (1, 2)
    assert message in done.stderr
