"""What became slower between two benchmark runs, on made times."""

import importlib
import itertools
import json
import math
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

from benchmarks import against, tracking
from benchmarks.changes import FASTER, SAME, SLOWER, can_tell, compare, holm, main, remarks
from benchmarks.page import page
from benchmarks.tracking import as_run, read_run, write_run

MACHINE = {"processor": "made", "cores": 2}


def run(cases, session="a"):
    return {"format": 1, "session": session, "machine": dict(MACHINE), "cases": cases, "peers": []}


def case(seconds, reference=None):
    return {"seconds": list(seconds), "reference": list(reference if reference is not None else [1.0] * len(seconds))}


def noisy(rng, mean, turns=8, noise=0.01):
    return mean * np.exp(rng.normal(0, noise, turns))


def test_a_slower_case_is_named_and_equal_ones_are_not():
    rng = np.random.default_rng(0)
    means = {f"case {place}": 0.001 * (place + 1) for place in range(20)}
    old = run({name: case(noisy(rng, mean)) for name, mean in means.items()}, "old")
    slower = {"case 3": 1.25, "case 7": 0.7}
    new = run({name: case(noisy(rng, mean * slower.get(name, 1))) for name, mean in means.items()}, "new")
    found = {change.case: change for change in compare(old, new)}
    assert [name for name, change in found.items() if change.verdict == SLOWER] == ["case 3"]
    assert [name for name, change in found.items() if change.verdict == FASTER] == ["case 7"]
    assert found["case 3"].low < 1.25 < found["case 3"].high
    assert next(iter(found)) == "case 3"  # the largest slowdown first


def test_a_slower_machine_is_no_slower_case():
    rng = np.random.default_rng(1)
    old = run({"a": case(noisy(rng, 1.0), noisy(rng, 0.1))}, "old")
    new = run({"a": case(noisy(rng, 2.0), noisy(rng, 0.2))}, "new")
    (change,) = compare(old, new)
    assert change.verdict == SAME
    assert change.ratio == pytest.approx(1.0, abs=0.05)


def test_pairs_see_through_drift_that_both_runs_share():
    rng = np.random.default_rng(2)
    drift = np.exp(rng.normal(0, 0.5, 10))
    old, new = (run({"a": case(mean * drift * np.exp(rng.normal(0, 0.005, 10)))}) for mean in (1.0, 1.1))
    (paired,) = compare(old, new)
    (apart,) = compare(old, {**new, "session": "b"})
    assert paired.verdict == SLOWER
    assert apart.verdict == SAME


def test_p_values_are_those_of_all_exchanges():
    rng = np.random.default_rng(3)
    before, after = rng.random(5) + 1, rng.random(4) + 1.3
    (change,) = compare(run({"a": case(before)}, "x"), run({"a": case(after)}, "y"))
    values = np.log([*before, *after])
    observed = abs(values[5:].mean() - values[:5].mean())
    count = 0
    for chosen in itertools.combinations(range(9), 4):
        others = [place for place in range(9) if place not in chosen]
        count += abs(values[list(chosen)].mean() - values[others].mean()) >= observed - 1e-12
    assert change.p == pytest.approx(count / math.comb(9, 4))


def test_p_values_of_pairs_are_those_of_all_signs():
    rng = np.random.default_rng(4)
    before, after = rng.random(6) + 1, rng.random(6) + 1.2
    (change,) = compare(run({"a": case(before)}), run({"a": case(after)}))
    differences = np.log(after / before)
    extremes = [
        abs(sum(sign * one for sign, one in zip(signs, differences, strict=True))) >= abs(differences.sum()) - 1e-12
        for signs in itertools.product((1, -1), repeat=6)
    ]
    assert change.p == pytest.approx(np.mean(extremes))


def test_equal_runs_rarely_have_a_change():
    rng = np.random.default_rng(5)
    n_wrong = 0
    for _ in range(40):
        old, new = (run({f"{k}": case(noisy(rng, 1.0, noise=0.1)) for k in range(5)}, session) for session in "xy")
        n_wrong += any(change.verdict != SAME for change in compare(old, new))
    assert n_wrong <= 6  # 2 are expected; 6 or fewer have a probability of 99 %


def test_holm_multiplies_by_the_number_of_larger_values():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []
    assert holm([0.9, 0.9]) == [1.0, 1.0]


def test_tiny_changes_are_not_named_even_if_certain():
    (change,) = compare(run({"a": case([1.0] * 10)}), run({"a": case([1.01] * 10)}))
    assert change.p <= 0.05
    assert change.verdict == SAME


def test_remarks_name_another_machine_missing_cases_and_too_few_turns():
    old, new = run({"a": case([1, 2]), "b": case([1, 2])}, "x"), run({"a": case([1, 2])}, "y")
    new["machine"]["processor"] = "other"
    assert remarks(old, new) == [
        "processor differs: made then, other now",
        "1 cases are only in the old run: b",
        "2 and 2 turns are too few for 1 cases: no change can be significant; use more",
    ]


def test_the_command_fails_if_something_is_slower(tmp_path, monkeypatch, capsys):
    paths = tmp_path / "old.json", tmp_path / "new.json"
    for path, mean in zip(paths, (1.0, 1.5), strict=True):
        write_run({**as_run({"a": case(noisy(np.random.default_rng(0), mean))}), "session": path.name}, path)
    monkeypatch.setattr(sys, "argv", ["changes", *map(str, paths)])
    with pytest.raises(SystemExit) as end:
        main()
    out, err = capsys.readouterr()
    assert end.value.code == 1
    assert "| a | 1.500 | 1.500 – 1.500 |" not in out  # the interval is not a point
    assert out.splitlines()[-1] == "1 slower, 0 faster, 0 within the noise"
    assert err == ""


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 1}', json.dumps({"format": 9, "cases": {}})])
def test_other_files_are_refused(text, tmp_path):
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(ValueError, match=r"run\.json (is not a file of make bench|has format 9)"):
        read_run(tmp_path / "run.json")


def test_the_page_has_a_bar_for_each_peer_and_a_dot_for_each_turn():
    made = as_run({"kernel <b>": case([0.1, 0.11, 0.3])})
    made["peers"] = [
        {"what": "NDCG", "seconds": 0.1, "peer": "other & co", "peer_seconds": 10.0, "note": ""},
        {"what": "slow", "seconds": 0.2, "peer": "x", "peer_seconds": 0.1, "note": ""},
        {"what": "absent", "seconds": 0.2, "peer": "y", "peer_seconds": None, "note": ""},
    ]
    text = page(made)
    bars, turns = (ElementTree.fromstring(part) for part in text.split("\n") if part.startswith("<svg"))
    assert [bar.get("class") for bar in bars.iter("rect")] == ["faster", "slower"]
    assert len(list(turns.iter("circle"))) == 3
    assert "100 ×" in text
    assert "<b>" not in text


def test_the_usual_numbers_of_turns_can_show_a_change_in_one_of_all_cases():
    cases = [f"{name}: {one}" for name in tracking.case_names() for one in native_cases(name)]
    assert len(cases) > 200
    for turns, sessions in ((tracking.TURNS, ("a", "b")), (against.TURNS, ("a", "a"))):
        old, new = (run({name: case([1.0] * turns) for name in cases}, session) for session in sessions)
        assert can_tell(old, new)
        for made in (old, new):
            made["cases"][cases[0]] = case(np.full(turns, 1.0 if made is old else 1.1))
        assert [change.case for change in compare(old, new) if change.verdict == SLOWER] == cases[:1]


def native_cases(name):
    """Return the names of the cases of a module."""
    return importlib.import_module(f"benchmarks.native_cases.{name}").CASES


@pytest.mark.parametrize(
    "damage",
    [
        lambda made: made["cases"]["a"].update(seconds=[1.0, math.nan]),
        lambda made: made["cases"]["a"].update(seconds=[1.0, 0.0]),
        lambda made: made["cases"]["a"].update(seconds=[]),
        lambda made: made["cases"]["a"].pop("reference"),
        lambda made: made.pop("machine"),
        lambda made: made.update(peers=[{"what": "of an earlier version"}]),
        lambda made: made["cases"].clear(),
    ],
)
def test_damaged_files_and_files_without_common_cases_are_refused(damage, tmp_path, monkeypatch, capsys):
    paths = tmp_path / "old.json", tmp_path / "new.json"
    for path in paths:
        made = {**as_run({"a": case([1.0, 1.0])}), "session": path.name}
        if path is paths[1]:
            damage(made)
        path.write_text(json.dumps(made), encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["changes", *map(str, paths)])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "new.json is" in printed.err or "no case in common" in printed.err
