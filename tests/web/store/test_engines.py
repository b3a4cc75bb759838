"""The default store, and which URLs name a store."""

from __future__ import annotations

import pytest

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")

from plackett.web.store.engines import default_store_path


def test_the_default_store_is_in_the_users_data_folder(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    path = default_store_path("notes/../x y" + "z" * 100)
    assert (path.parent, len(path.name)) == (tmp_path / "plackett", 83)
    assert path.parent.stat().st_mode & 0o077 == 0
    assert set(path.name) <= set("notes.-xyzdb")


def test_a_folder_that_cannot_be_created_is_named_with_what_to_do(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
    with pytest.raises(OSError, match=r"judgements cannot be stored in .*file.plackett.*--store"):
        default_store_path("notes")
