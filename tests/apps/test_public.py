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
    "plackett.data.documents.read.Document",
    "plackett.data.documents.read.as_text",
    "plackett.data.documents.read.columns_of",
    "plackett.data.documents.read.read_documents",
    "plackett.data.feedback.feedback.ETA",
    "plackett.evaluation.compare.comparison.is_significant",
    "plackett.metrics.conventions.CONVENTIONS",
    "plackett.metrics.conventions.get_convention",
    "plackett.metrics.judged_lists.mean_of_counted",
    "plackett.metrics.measure.KINDS",
    "plackett.metrics.measure.split_measures",
    "plackett.rankers.base.Ranker",
    "plackett.rankers.refinement.base.Refiner",
    "plackett.rankers.refinement.strongest_reasons.Reason",
    "plackett.rankers.refinement.strongest_reasons.strongest_reasons",
    "plackett.report.components",
    "plackett.report.components.payload.comparison_payload",
    "plackett.report.components.payload.list_payload",
    "plackett.storage.opening.is_stream",
    "plackett.text.boolean.positive_terms",
    "plackett.text.boolean.search_boolean",
    "plackett.text.features.FIELD_FEATURES",
    "plackett.text.index.INDEX_FILE",
    "plackett.text.search.snippet_of",
    "plackett.validation.check_choice",
    "plackett.validation.check_finite",
    "plackett.validation.check_positive_int",
    "plackett.validation.check_scores",
    "plackett.validation.count_of",
    "plackett.validation.feature_labels",
    "plackett.validation.is_sparse",
}


def public_objects():
    names = re.findall(r"^(plackett[\w.]+)", API.read_text(encoding="utf-8"), re.M)
    return {id(pkgutil.resolve_name(name)) for name in names}


def is_public(name, public):
    """Whether a name is of the interface, or another path to its object; for a module, whether it has such a name."""
    try:
        found = pkgutil.resolve_name(name)
    except ImportError:  # an extra is not installed
        return False
    if isinstance(found, types.ModuleType):
        return any(id(value) in public for value in vars(found).values())
    return id(found) in public and (callable(found) or name.rpartition(".")[2].startswith("__"))


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
