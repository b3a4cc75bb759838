"""``plackett clicks``: the description of a log."""

import json

from plackett.clicks import ClickLog

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


def test_wrong_words_are_explained(run):
    done = run("clicks", "describe", "log.csv")
    assert done.returncode == 2
    assert "plackett clicks info LOG" in done.stderr
