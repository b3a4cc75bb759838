"""``plackett info`` on a model file; on data it is in ``test_cli.py``."""

import json

import pytest

import plackett as pk

RANKERS = {
    "cs-listmle": pk.ranker("cs-listmle", k=5, normalize="query-zscore"),
    "diffrank": pk.ranker("diffrank", top_k=5),
}


@pytest.mark.parametrize("name", RANKERS)
def test_it_describes_a_model(run, lists, lists_folder, name):
    ranker = RANKERS[name].fit(lists)
    ranker.save("model.plackett")
    done = run("info", "model.plackett")
    assert (done.returncode, done.stderr) == (0, "")
    pairs = (line.strip().split("  ", 1) for line in done.stdout.splitlines())
    facts = {heading: value.strip() for heading, value in pairs}
    assert facts["model"] == type(ranker).__name__
    assert (facts["features"], facts["trained on"]) == ("6", "30 queries")
    assert facts["feature names"] == ", ".join(lists.feature_names)
    assert facts["stopped"] == ranker.stop_reason_
    size = (lists_folder / "model.plackett").stat().st_size
    assert facts["file"] == f"{size:,} bytes, written by plackett {pk.__version__}"
    params = ranker.get_params(deep=False)
    shown = {key: str(value) for key, value in params.items()}
    if name == "cs-listmle":
        shown["loss"] = "CSListMLE(k=5, weights=ndcg)"
    assert {key: facts[key] for key in params} == shown
    plain = json.loads(run("info", "model.plackett", "--json").stdout)
    assert plain["params"].keys() == params.keys()
    assert plain["state"]["n_features_in_"] == 6


def test_a_damaged_model_is_said_to_be_one(run, lists, lists_folder):
    pk.LinearRanker().fit(lists).save("model.plackett")
    content = (lists_folder / "model.plackett").read_bytes()
    (lists_folder / "half.plackett").write_bytes(content[: len(content) // 2])
    done = run("info", "half.plackett")
    assert (done.returncode, done.stdout) == (1, "")
    assert "half.plackett: the file is damaged" in done.stderr
