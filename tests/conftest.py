"""Fixtures for every room."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

BESIDE_THE_REPOSITORY = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with the real data sets; a test that asks for it is skipped where the folder is not."""
    named = os.environ.get("PLACKETT_DATA")
    folder = Path(named) if named else BESIDE_THE_REPOSITORY
    if not folder.is_dir():
        pytest.skip(f"real data are not in {folder}; set PLACKETT_DATA to the folder that holds them")
    return folder
