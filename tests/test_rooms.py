"""The order of the rooms: a module imports only from its own room and from rooms to its left."""

import ast
from pathlib import Path

import pytest

import plackett

PACKAGE = Path(plackett.__file__).parent

# rooms that stand side by side share a place and do not import from each other
ORDER = [
    {
        "exceptions",
        "validation",
        "_lazy",
        "_native",
        "_optional",
        "_parameters",
        "_threads",
        "_warnings",
    },
    {"storage"},
    {"data"},
    {"text", "metrics"},
    {"losses"},
    {"scorers"},
    {"objective"},
    {"distributed"},
    {"solvers"},
    {"persistence"},
    {"explain"},
    {"rankers"},
    {"evaluation"},
    {"exports", "report"},
    {"reproductions"},
    {"web"},
    {"cli"},
]
PLACE = {room: place for place, rooms in enumerate(ORDER) for room in rooms}
FOUNDATION = ORDER[0]


def room_of(module):
    """The room of ``plackett.data.queries`` is ``data``; that of the package itself is None."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else None


def imports_of(path):
    """Every module of this package that a file names in an import, anywhere in it, except for type checking only."""
    tree = ast.parse(path.read_text())
    for_types = {
        node
        for test in ast.walk(tree)
        if isinstance(test, ast.If) and "TYPE_CHECKING" in ast.unparse(test.test)
        for node in ast.walk(test)
    }
    for node in ast.walk(tree):
        if node in for_types:
            continue
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.split(".")[0] == "plackett")
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide where a room is"
            if node.module == "plackett":
                yield from (f"plackett.{name.name}" for name in node.names)
            elif node.module and node.module.startswith("plackett."):
                yield node.module


FILES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_room_imports_only_from_rooms_to_its_left(path):
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    if parts == ("__init__",):
        return  # the package's front door may name every room
    own = parts[0]
    assert own in PLACE, f"{own} has no place in the order of the rooms"
    for module in imports_of(path):
        room = room_of(module)
        if room in (None, own, "__version__"):
            continue
        assert room in PLACE, f"{path} imports {module}, which has no place in the order of the rooms"
        is_left = PLACE[room] < PLACE[own] or (own in FOUNDATION and room in FOUNDATION)
        is_left = is_left or room == f"_{own}"  # the kernels of a room that is one file
        assert is_left, f"{path} imports {module}: {room} stands to the right of {own}, or beside it"


def test_the_test_sees_the_imports_it_is_about():
    found = set(imports_of(PACKAGE / "evaluation" / "evaluate.py"))
    assert {"plackett.data.queries", "plackett.metrics.measure", "plackett.evaluation.table"} <= found


def test_only_the_command_prints():
    for path in FILES:
        if path.relative_to(PACKAGE).parts[0] != "cli":
            calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
            assert not any(getattr(call.func, "id", "") == "print" for call in calls), path
