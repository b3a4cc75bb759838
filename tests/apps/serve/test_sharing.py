"""Models in a mapped file: the same scores, from arrays that are not copies."""

import mmap

import numpy as np
import pytest

from plackett.apps.serve.models import load_model
from plackett.apps.serve.settings import ModelSpec
from plackett.apps.serve.sharing import share, take
from tests.apps.serve.conftest import DATA


def arrays_of(value, seen):
    """Every array below an object."""
    if id(value) in seen or isinstance(value, (str, type)):
        return
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        yield value
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    for part in [*parts, *getattr(value, "__dict__", {}).values()]:
        yield from arrays_of(part, seen)


def is_mapped(array):
    base = array
    while isinstance(base, np.ndarray) and base.base is not None:
        base = base.base
    return isinstance(base, memoryview) and isinstance(base.obj, mmap.mmap)


@pytest.mark.parametrize("name", ["linear", "other", "trees"])
def test_a_shared_model_scores_alike_from_mapped_arrays(folder, name):
    model = load_model(ModelSpec.parse(str(folder / f"{name}.plackett")))
    shared = take(share(model))
    np.testing.assert_array_equal(shared.scorer.score(DATA.X), model.scorer.score(DATA.X))
    assert (shared.version, shared.schema.names) == (model.version, model.schema.names)
    arrays = [array for array in arrays_of(shared, set()) if array.size]
    assert arrays
    assert all(is_mapped(array) and not array.flags.writeable for array in arrays)
