"""Every ranker that has a name is built, fitted, saved, and comes back the same; every class has a name."""

import numpy as np
import pytest

import plackett as pk
from plackett.rankers.registry import _HOMES, ENTRIES

DATA = pk.datasets.make_web_like(12, n_features=5, random_state=0)


def ranker_of(name):
    """The ranker, if the package that it needs is installed and it can be saved."""
    ranker = pk.ranker(name)
    if hasattr(ranker, "package"):
        pytest.importorskip(ranker.package)
    if not getattr(ranker, "can_be_saved", True):
        pytest.skip(f"models of {ranker.package} are not ours to save")
    return ranker


def test_every_class_goes_by_a_name_with_nothing_fixed():
    assert {entry.class_name for entry in ENTRIES.values() if not entry.fixed} == set(_HOMES)


@pytest.mark.filterwarnings("ignore::plackett.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::plackett.exceptions.DataWarning")
@pytest.mark.parametrize("name", pk.ranker_names())
def test_a_saved_ranker_predicts_the_same(name, tmp_path):
    ranker = ranker_of(name)
    assert type(ranker) is getattr(pk, ENTRIES[name].class_name)
    ranker.fit(DATA.X, DATA.y, qid=DATA.qid)
    scores = ranker.predict(DATA.X, qid=DATA.qid)
    assert scores.shape == DATA.y.shape
    assert np.unique(scores).size > 1
    ranker.save(tmp_path / "model.plackett")
    loaded = pk.load(tmp_path / "model.plackett")
    assert type(loaded) is type(ranker)
    assert repr(loaded) == repr(ranker)
    np.testing.assert_array_equal(loaded.predict(DATA.X, qid=DATA.qid), scores)


@pytest.mark.filterwarnings("ignore::plackett.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::plackett.exceptions.DataWarning")
@pytest.mark.parametrize("name", sorted(name for name, entry in ENTRIES.items() if not entry.fixed))
@pytest.mark.parametrize(
    ("attribute", "value"),
    [("feature_names_", 3), ("feature_names_", ["a"]), ("feature_names_", [1] * 5), ("n_features_in_", 5.0)],
)
def test_a_file_with_the_wrong_names_is_refused(name, attribute, value, tmp_path):
    ranker = ranker_of(name).fit(DATA.X, DATA.y, qid=DATA.qid)
    setattr(ranker, attribute, value)
    ranker.save(tmp_path / "model.plackett")
    with pytest.raises(pk.exceptions.ModelFormatError, match=attribute):
        pk.load(tmp_path / "model.plackett")


@pytest.mark.parametrize("name", pk.ranker_names())
def test_a_line_says_what_it_does(name):
    """It fits beside the name on a terminal of 80 columns."""
    assert 20 < len(ENTRIES[name].description) < 60
    assert not ENTRIES[name].description.endswith(".")
