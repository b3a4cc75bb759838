"""The apps use the library as any other program could: by its public names, except for a list that may only shrink."""

import pkgutil
import re
import types
from pathlib import Path

from tests.test_rooms import FILES, PACKAGE, imported_names, room_of

API = Path(__file__).parents[1] / "api.txt"
NOT_PUBLIC = {
    "plackett._lazy",
    "plackett._optional.import_optional",
    "plackett.clicks.reading.lists.normalized",
    "plackett.data.documents.markup",
    "plackett.data.documents.read.as_text",
    "plackett.metrics.measure.KINDS",
    "plackett.rankers.base.Ranker",
    "plackett.report.components",
    "plackett.storage.remote.is_remote",
    "plackett.storage.remote.shown",
    "plackett.text.boolean.positive_terms",
    "plackett.text.features.FIELD_FEATURES",
    "plackett.text.index.is_index",
    "plackett.validation.check_finite",
    "plackett.validation.count_of",
    "plackett.validation.feature_labels",
}


NAMES = set(re.findall(r"^(plackett[\w.]+)", API.read_text(encoding="utf-8"), re.M))


def public_objects():
    return {id(pkgutil.resolve_name(name)) for name in NAMES}


def is_public(name, public):
    """Whether a name is of the interface, or another path to its object; for a module, whether it has such a name."""
    try:
        found = pkgutil.resolve_name(name)
    except ImportError:  # an extra is not installed
        return False
    if isinstance(found, types.ModuleType):
        return any(id(value) in public for value in vars(found).values())
    is_constant = name.rpartition(".")[2].startswith("__") or isinstance(found, dict)
    return id(found) in public and (callable(found) or is_constant)


def test_apps_import_only_public_names():
    public = public_objects()
    imported = {
        name
        for path in FILES
        if path.relative_to(PACKAGE).parts[0] == "apps"
        for name in imported_names(path)
        if not (room_of(name) or "").startswith("apps") and name != "plackett.__version__"
    }
    assert {name for name in imported if not is_public(name, public)} == NOT_PUBLIC
