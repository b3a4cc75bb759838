"""Fixtures for all tests."""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
import threading
from pathlib import Path

import hypothesis
import pytest

# Load a checked or sanitized build (make checked, make sanitize) instead of the installed kernels.
if _folder := os.environ.get("PLACKETT_TEST_BUILD"):
    _files = list(Path(_folder).glob("_*.so"))
    if not _files:
        raise FileNotFoundError(
            f"PLACKETT_TEST_BUILD={_folder} has no kernels. make checked and make sanitize build them."
        )
    for _file in _files:
        _name = "plackett._native." + _file.name.split(".")[0]
        _spec = importlib.util.spec_from_file_location(_name, _file)
        sys.modules[_name] = importlib.util.module_from_spec(_spec)
        _spec.loader.exec_module(sys.modules[_name])

# A shell starts jobs in the background with SIGINT ignored, which processes inherit: tests of Ctrl-C would hang.
if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

from tests.postgresql import postgresql_server, postgresql_url, restartable_postgresql  # noqa: F401  fixtures

# How long an example takes depends on the load of the machine. A read-only checkout has no room for failed examples, of
# which hypothesis warns.
_room = {} if os.access(Path(__file__).parents[1], os.W_OK) else {"database": None}
hypothesis.settings.register_profile("any machine", deadline=None, **_room)
hypothesis.settings.load_profile("any machine")

BESIDE_THE_REPOSITORY = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder with the real data sets, or skip the test if there is none."""
    named = os.environ.get("PLACKETT_DATA")
    folder = Path(named) if named else BESIDE_THE_REPOSITORY
    if not folder.is_dir():
        pytest.skip(f"real data are not in {folder}; set PLACKETT_DATA to the folder that holds them")
    return folder
