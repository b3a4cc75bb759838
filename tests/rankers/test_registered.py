"""Every public ranker is saved and comes back the same."""

import numpy as np
import pytest

import plackett as pk
from plackett.rankers.registry import _HOMES

DATA = pk.datasets.make_web_like(12, n_features=5, random_state=0)


@pytest.mark.filterwarnings("ignore::plackett.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::plackett.exceptions.DataWarning")
@pytest.mark.parametrize("name", _HOMES)
def test_a_saved_ranker_predicts_the_same(name, tmp_path):
    ranker = getattr(pk, name)().fit(DATA.X, DATA.y, qid=DATA.qid)
    ranker.save(tmp_path / "model.plackett")
    loaded = pk.load(tmp_path / "model.plackett")
    assert type(loaded) is type(ranker)
    np.testing.assert_array_equal(loaded.predict(DATA.X, qid=DATA.qid), ranker.predict(DATA.X, qid=DATA.qid))
