"""``plackett clicks``: the description of a log, judgements and comparisons of models."""

import json

import pytest

import plackett as pk
from plackett.clicks import ClickLog, read_clicks
from tests.clicks.logs import as_ubi, make_sessions

LOG = "session,query,docid,position,clicked\n1,shoe,a,1,1\n1,shoe,b,2,0\n2,shoe,b,1,1\n2,shoe,a,2,1\noops\n"


def test_info_describes_a_log_and_its_damage(run, tmp_path):
    (tmp_path / "log.csv").write_text(LOG)
    done = run("clicks", "info", "log.csv", "-o", "log.plackett")
    assert done.returncode == 0, done.stderr
    assert "sessions per query" in done.stdout
    assert "damaged line" in done.stdout
    assert len(ClickLog.load(tmp_path / "log.plackett")) == 2
    again = json.loads(run("clicks", "info", "log.plackett", "--json").stdout)
    assert again["click_rate_by_rank"] == [1.0, 0.5]
    assert again["cleaning"]["counts"] == {"damaged line": 1}


def test_convert_writes_a_log_that_the_others_open(run, tmp_path):
    (tmp_path / "log.csv").write_text(LOG)
    done = run("clicks", "convert", "log.csv", "-o", "log.plackett")
    assert done.returncode == 0, done.stderr
    assert "damaged line  1" in done.stdout
    assert "2 sessions" in done.stderr
    assert not list(tmp_path.glob("*plackett-*"))  # temporary files
    assert run("clicks", "info", "log.plackett").stdout == run("clicks", "info", "log.csv").stdout
    assert json.loads(run("clicks", "convert", "log.csv", "-o", "x", "--json").stdout)["counts"] == {"damaged line": 1}
    done = run("clicks", "convert", "log.csv")
    assert (done.returncode, "--output (-o) is missing." in done.stderr) == (2, True)
    done = run("clicks", "convert", "log.csv", "-o", "missing/log.plackett")
    assert (done.returncode, "there is no folder" in done.stderr) == (1, True)
    done = run("clicks", "info", "log.plackett", "-k", "3")
    assert (done.returncode, "k would have no effect" in done.stderr) == (1, True)


def test_wrong_words_are_explained(run):
    done = run("clicks", "info")
    assert done.returncode == 2
    assert "LOG [EVENTS] is missing." in done.stderr
    for words, message in [
        (["inof", "log.csv"], "there is no plackett clicks 'inof'. Did you mean info?"),
        (["judge", "log.csv", "-m", "upm"], "--model upm is not known. Did you mean ubm"),
        (["judge", "log.csv", "--by", "clicks"], "--by clicks is not known."),
        (
            ["propensities", "log.csv", "--method", "harvestin"],
            "--method harvestin is not known. Did you mean harvesting?",
        ),
    ]:
        done = run("clicks", *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert message in done.stderr


def test_judge_writes_qrels_or_a_table(run, tmp_path):
    rows = [f"{i},red shoes,{shown}" for i in range(20) for shown in ("a,1,1", "b,2,0")]
    (tmp_path / "log.csv").write_text("session,query,docid,position,clicked\n" + "\n".join([*rows, "99,hat,c,1,1", ""]))
    done = run("clicks", "judge", "log.csv", "-m", "dctr", "--cuts", "0.3,0.6", "-o", "out.qrels")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out.qrels").read_text(encoding="utf-8") == "red%20shoes 0 a 2\nred%20shoes 0 b 0\n"
    assert "2 pairs of 1 query graded by dctr, attractiveness (pairs by grade 0: 1, 1: 0, 2: 1)" in done.stderr
    assert "1 pair left out: too few impressions." in done.stderr
    done = run("clicks", "judge", "log.csv", "-m", "dctr", "--min-impressions", "1", "-o", "out.csv")
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "query,docid,grade,value,low,high,impressions,evidence"
    assert [line.split(",")[:2] for line in lines[1:]] == [["hat", "c"], ["red shoes", "a"], ["red shoes", "b"]]


def test_compare_prints_a_table_or_json(run, tmp_path):
    (tmp_path / "log.csv").write_text(LOG)
    done = run("clicks", "compare", "log.csv", "-m", "gctr,dctr", "--cv", "2")
    assert done.returncode == 0, done.stderr
    assert "gctr - dctr" in done.stdout
    found = json.loads(run("clicks", "compare", "log.csv", "-m", "gctr,dctr", "--cv", "2", "--json").stdout)
    assert list(found["models"]) == ["gctr", "dctr"]


def test_options_of_another_task_are_refused(run):
    done = run("clicks", "info", "log.csv", "--min-impressions", "3")
    assert done.returncode == 2
    assert "there is no option --min-impressions." in done.stderr


@pytest.fixture
def saved_log(tmp_path):
    lists = pk.datasets.make_web_like(20, 12, 3, random_state=0)
    rankers = {"one": lists.X[:, 0], "other": lists.X[:, 1]}
    pk.clicks.simulate_clicks(lists, rankers, 2_000, k=3, path=tmp_path / "log.plackett")


def test_propensities_are_printed_and_saved(run, saved_log, tmp_path):
    printed = run("clicks", "propensities", "log.plackett", "--method", "em", "-o", "found.plackett")
    assert printed.returncode == 0, printed.stderr
    found = pk.clicks.Propensities.load(tmp_path / "found.plackett")
    assert found.method == "em"
    assert f"{found.values[1]:.3f}" in printed.stdout
    as_json = json.loads(run("clicks", "propensities", "log.plackett", "--method", "em", "--json").stdout)
    assert as_json["values"] == found.values.tolist()


def test_a_report_is_one_page(run, saved_log, tmp_path):
    done = run("clicks", "report", "log.plackett", "-m", "pbm,dctr", "-o", "page.html")
    assert (done.returncode, done.stdout) == (0, "")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert '<section id="propensities"' in page
    assert '<section id="models"' in page
    assert "the log is connected; " in page
    assert "fits best." in page
    assert "written to page.html" in done.stderr
    assert run("clicks", "report", "log.plackett", "-m", "pbm", "-o", "page.html").returncode == 0  # of the same log
    (tmp_path / "other.plackett").write_bytes((tmp_path / "log.plackett").read_bytes())
    other = ("clicks", "report", "other.plackett", "-m", "pbm", "-o", "page.html")
    done = run(*other)
    assert done.returncode == 2
    assert "page.html is not a report of this log" in done.stderr
    assert run(*other, "--force").returncode == 0


def test_logs_of_user_behavior_insights_have_their_usual_actions_or_others(run, tmp_path):
    queries, events = as_ubi(make_sessions(20))
    (tmp_path / "queries.ndjson").write_text("\n".join(queries))
    (tmp_path / "events.ndjson").write_text("\n".join(events))
    log = read_clicks(tmp_path / "queries.ndjson", tmp_path / "events.ndjson")
    words = ("clicks", "info", "queries.ndjson", "events.ndjson", "--json")
    assert json.loads(run(*words).stdout)["n_clicks"] == log.click.sum()
    assert json.loads(run(*words, "--action", "impression").stdout)["n_clicks"] == len(log.click)
    done = run("clicks", "info", "queries.ndjson")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Also pass the events" in done.stderr
