"""The order of the rooms, and their seams: no private names across rooms, no cycles, no type checks by class name."""

import ast
from collections import defaultdict
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import plackett

PACKAGE = Path(plackett.__file__).parent

# rooms in the same place of the order do not import from each other
ORDER = [
    {
        "exceptions",
        "validation",
        "_arrays",
        "_drawing",
        "_lazy",
        "_names",
        "_native",
        "_optional",
        "_parameters",
        "_plugins",
        "_progress",
        "_tables",
        "_threads",
        "_warnings",
    },
    {"storage"},
    {"data"},
    {"text", "metrics", "datasets", "preprocessing"},  # the last two are public names of parts of data
    {"losses"},
    {"scorers"},
    {"objective"},
    {"distributed"},
    {"solvers"},
    {"explain"},
    {"formats"},
    {"rankers"},
    {"evaluation"},
    {"clicks"},
    {"exporting", "report", "testing"},
    {"reproductions"},
    {"apps"},
    {"apps.access"},
    {"apps.serve", "apps.workbench"},
    {"cli"},
    {"__main__"},
]
PLACE = {room: place for place, rooms in enumerate(ORDER) for room in rooms}
FOUNDATION = ORDER[0]


def room_of(module):
    """The room of ``plackett.data.queries`` is ``data``; each app is a room; that of the package itself is None."""
    parts = module.split(".")
    if parts[1:2] == ["apps"]:
        return ".".join(parts[1:3])
    return parts[1] if len(parts) > 1 else None


@cache
def nodes_of(path):
    """Every node of a file, except those for type checking only."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for_types = {
        node
        for test in ast.walk(tree)
        if isinstance(test, ast.If) and "TYPE_CHECKING" in ast.unparse(test.test)
        for node in ast.walk(test)
    }
    return [node for node in ast.walk(tree) if node not in for_types]


def imported_names(path):
    """The dotted name of everything of this package that a file imports, anywhere in it, also inside functions."""
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.split(".")[0] == "plackett")
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide where a room is"
            if node.module and node.module.split(".")[0] == "plackett":
                yield from (f"{node.module}.{name.name}" for name in node.names)


def module_of(path):
    parts = ("plackett", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path):
    """Every module of this package that a file imports."""
    for name in imported_names(path):
        yield name if name in MODULES else name.rpartition(".")[0]


FILES = sorted(PACKAGE.rglob("*.py"))
MODULES = {module_of(path): path for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_room_imports_only_from_rooms_to_its_left(path):
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    if parts == ("__init__",):
        return  # the top-level module may import from every room
    own = room_of(module_of(path))
    assert own in PLACE, f"{own} has no place in the order of the rooms"
    for module in imports_of(path):
        room = room_of(module)
        if room in (None, own, "__version__"):
            continue
        assert room in PLACE, f"{path} imports {module}, which has no place in the order of the rooms"
        is_left = PLACE[room] < PLACE[own] or (own in FOUNDATION and room in FOUNDATION)
        is_left = is_left or room == f"_{own}"  # the kernels of a room that is one file
        assert is_left, f"{path} imports {module}: {room} is to the right of {own}, or in the same place"


def test_the_test_sees_the_imports_it_is_about():
    found = set(imports_of(PACKAGE / "evaluation" / "evaluate.py"))
    assert {"plackett.data.queries", "plackett.metrics.measure", "plackett.evaluation.reference_scores"} <= found


def test_only_the_command_prints():
    for path in FILES:
        if path.relative_to(PACKAGE).parts[0] != "cli":
            calls = [node for node in nodes_of(path) if isinstance(node, ast.Call)]
            assert not any(getattr(call.func, "id", "") == "print" for call in calls), path


def is_private(name):
    return name.startswith("_") and not name.startswith("__")


def defined_in(path):
    """The names that the classes and functions of a file define, attributes of ``self`` included."""
    for node in nodes_of(path):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
                yield node.attr
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__slots__":
            yield from ast.literal_eval(node.value)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "object.__setattr__":
            yield node.args[1].value if isinstance(node.args[1], ast.Constant) else ""


def used_attributes(path):
    """Return the attributes that a file reads or writes by name, ``getattr`` and similar functions included."""
    for node in nodes_of(path):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("getattr", "hasattr", "setattr"):
            yield getattr(node.args[1], "value", "")


@cache
def defined_by_room():
    rooms = defaultdict(set)
    for path in FILES:
        rooms[room_of(module_of(path))].update(name for name in defined_in(path) if is_private(name))
    return rooms


def private_reaches(path):
    """The private names of other rooms that a file imports or uses as attributes.

    An attribute counts if another room defines it and the file's own room does not. What no room defines belongs to
    another package.
    """
    own = room_of(module_of(path))
    for name in imported_names(path):
        if room_of(name) != own and any(map(is_private, name.split(".")[2:])):
            yield name
    foreign = set().union(*(names for room, names in defined_by_room().items() if room != own)) - defined_by_room()[own]
    foreign -= {"_asdict", "_fields", "_make", "_replace"}  # the methods of named tuples
    yield from (f".{name}" for name in used_attributes(path) if name in foreign)


def test_no_room_reaches_into_the_private_parts_of_another():
    found = {(str(path.relative_to(PACKAGE)), name) for path in FILES for name in private_reaches(path)}
    assert sorted(found) == []


def test_no_modules_import_each_other_in_a_circle():
    graph = {module: {name for name in imports_of(path) if name in MODULES} for module, path in MODULES.items()}
    graph["plackett"] = set()  # the public names load their modules when first used
    for module, imported in graph.items():
        imported -= {module, "plackett"}
    cycle: list[str] = []
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        cycle = error.args[1]
    assert cycle == [], " imports ".join(reversed(cycle))


def test_no_class_is_recognised_by_its_name():
    def is_class_name(side):
        parts = [part for part in ast.walk(side) if isinstance(part, ast.Attribute)]
        return any(part.attr in ("__name__", "__qualname__") and ast.unparse(part.value) != "module" for part in parts)

    found = {
        (str(path.relative_to(PACKAGE)), ast.unparse(node))
        for path in FILES
        for node in nodes_of(path)
        if isinstance(node, ast.Compare) and 0 < sum(map(is_class_name, (node.left, *node.comparators))) < 2
    }
    assert sorted(found) == []


def test_no_string_names_a_module_to_the_right():
    for path in FILES:
        own = room_of(module_of(path))
        for node in nodes_of(path) if own else ():
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in MODULES:
                room = room_of(node.value)
                assert room is None or PLACE[room] <= PLACE[own], f"{path} names {node.value}, to its right"


def test_the_tests_see_private_names():
    base = PACKAGE / "rankers" / "base.py"
    assert "_predict_grouped" in defined_by_room()["rankers"]
    assert "_predict_grouped" in set(used_attributes(base))
    assert "plackett.rankers.base" in MODULES
