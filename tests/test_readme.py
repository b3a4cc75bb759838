"""The README is short and its links lead somewhere; its example runs with the docs (test_docs.py)."""

import re
from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"


def test_it_is_short():
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 150


def test_every_file_it_names_is_there():
    for name in re.findall(r"\]\(([\w./-]+)\)", README.read_text(encoding="utf-8")):
        assert (README.parent / name).is_file(), name
