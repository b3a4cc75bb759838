"""A folder of short texts, and its collection."""

import numpy as np
import pytest

from plackett.apps.workbench.collections.text import open_collection

WORDS = ("wings", "lift", "boats", "float", "water", "air", "engine", "wheel")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Forty short texts with words in different numbers."""
    place = tmp_path_factory.mktemp("documents")
    rng = np.random.default_rng(0)
    rows = ["id,title,body"]
    for number in range(40):
        words = rng.choice(WORDS, size=rng.integers(5, 30)).tolist()
        rows.append(f"d{number},{words[0]} {number},{' '.join(words)}")
    (place / "all.csv").write_text("\n".join(rows) + "\n")
    return place


@pytest.fixture(scope="module")
def texts(folder):
    return open_collection(folder)
