"""The public names and signatures are those of tests/api.txt."""

import difflib
import importlib.util
from pathlib import Path

TOOL = Path(__file__).parents[1] / "tools" / "api.py"


def test_the_interface_is_the_recorded_one():
    spec = importlib.util.spec_from_file_location("api", TOOL)
    api = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(api)
    recorded, found = api.FILE.read_text(encoding="utf-8").splitlines(), list(api.lines())
    changes = [line for line in difflib.unified_diff(recorded, found, n=0, lineterm="") if line[:2] not in ("--", "++")]
    assert not changes, "\n".join(
        ["the interface changed; `make api` records it, docs/versions.md says when:", *changes]
    )
