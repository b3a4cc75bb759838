"""``plackett explain`` names documents by their id, and shows their titles."""

import json

import plackett as pk


def test_titles_are_shown_beside_the_ids(run, lists_folder):
    rows = "1 qid:7 1:0.5 2:1 # 7555\tRambo\n0 qid:7 1:0.2 2:3 # 8012\tBambi\n"
    (lists_folder / "films.txt").write_text(rows)
    pk.ranker("regression").fit(pk.read_letor("films.txt")).save("model")
    assert "7555 Rambo" in run("explain", "model", "films.txt", "--query", "7").stdout
    words = ("explain", "model", "films.txt", "--query", "7", "--above", "7555", "--below", "8012")
    assert "(7555 Rambo)" in run(*words).stdout
    assert json.loads(run(*words, "--json").stdout)["a"]["docid"] == "7555"
