"""One page for each public name: written from the lists of api.md before Sphinx reads the pages."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from pkgutil import resolve_name

DOCS = Path(__file__).resolve().parents[1]
FOLDER = DOCS / "reference"  # generated, and ignored by git
PAIRWISE = (
    r"$\frac{1}{Z} \sum_{i, j} w_{ij} \, L(f_i - f_j)$ over pairs with $y_i \gt y_j$ (some weights: all pairs), with "
    "the loss $L$ and the weight $w$ of a pair as listed below, and $Z$ as set by `normalize`"
)
# methods for other parts of plackett, not for users
INTERNAL = {
    "check", "check_fit", "check_loaded", "check_parameters", "fit_queries", "has_native", "import_package", "is_own",
    "native", "native_curvature", "n_prepared", "predicts_as", "scaled_trees", "takes_param", "transform_queries",
    "values_and_diagonal_at",
}  # fmt: skip


def sections():
    """Yield the sections of api.md, each with the full names listed in it."""
    for part in re.split(r"^## ", (DOCS / "api.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        lists = re.findall(r"\.\. autosummary::\n(.*?)```", part, flags=re.DOTALL)
        yield part.partition("\n")[0], re.findall(r"^   (plackett[\w.]+)$", "".join(lists), flags=re.MULTILINE)


def function_of(value):
    """Return the function behind a method, a property or a cached property."""
    return getattr(value, "__func__", None) or getattr(value, "fget", None) or getattr(value, "func", value)


def members(cls):
    """Return the documented public methods and properties, ``[]`` and calls that classes of plackett define."""
    found = {}
    for base in reversed(cls.__mro__):
        for name, value in vars(base).items():
            function = function_of(value)
            # the set_..._request of scikit-learn's metaclass are functions of its own
            is_ours = inspect.isfunction(function) and function.__module__.startswith("plackett")
            if is_ours and (not name.startswith("_") or name in ("__call__", "__getitem__")):
                found[name] = function.__doc__ or found.get(name)
    return [name for name, text in found.items() if text and name not in INTERNAL]


def inherited(cls, documented):
    """Return the members of a class that the page of a base class describes, with the name of that page."""
    found = {}
    for base in cls.__mro__[1:]:
        if base in documented:
            found |= {name: documented[base] for name in members(base) if name not in found}
    others = [base for base in cls.__mro__ if base is cls or base not in documented]
    own = {name for base in others for name, value in vars(base).items() if function_of(value).__doc__}
    return {name: page for name, page in found.items() if name not in own}


def page(name, section, siblings, formula=None, documented=None):
    """Return the page of a public name.

    It is reStructuredText: with MyST's eval-rst each stored page would contain Sphinx's environment, 2 MB.
    """
    subject, title = resolve_name(name), name.rpartition(".")[2]
    lines = [":orphan:", "", title, "=" * len(title), "", ".. container:: crumbs", ""]
    lines += [f"   :doc:`Reference </api>` › {section}", ""]
    if formula:
        as_rst = re.sub(r"`([^`]+)`", r"``\1``", formula)
        lines += [".. container:: definition", "", "   " + re.sub(r"\$([^$]+)\$", r":math:`\1`", as_rst), ""]
    if inspect.isclass(subject):
        kind = "autoexception" if issubclass(subject, BaseException) else "autoclass"
        lines += [f".. {kind}:: {name}"]
        elsewhere = {} if kind == "autoexception" else inherited(subject, documented or {})
        shown = [] if kind == "autoexception" else [one for one in members(subject) if one not in elsewhere]
        for option, special in (("members", False), ("special-members", True)):
            names = [one for one in shown if one.startswith("__") == special]
            lines += [f"   :{option}: {', '.join(names)}"] if names else []
        for base in dict.fromkeys(elsewhere.values()):
            links = ", ".join(f":meth:`~{base}.{one}`" for one, where in elsewhere.items() if where == base)
            lines += ["", f".. rubric:: As in {base.rpartition('.')[2]}", "", links]
    else:
        lines += [f".. autofunction:: {name}"]
    others = [f":doc:`{one.rpartition('.')[2]} <{one}>`" for one in siblings if one != name]
    if others:
        lines += ["", ".. rubric:: In the same section", "", " · ".join(others)]
    return "\n".join([*lines, ""])


def formulas():
    """Return the formulas of losses and measures by their full names, from the tables of their pages."""
    from plackett.losses import get_loss, loss_names

    found = {}
    for row in _rows("losses.md", "formula"):
        for loss in re.findall(r"^`([\w-]+)`", row[0]):
            if loss in loss_names() and "$" in row[1]:
                found.setdefault(f"plackett.losses.{type(get_loss(loss)).__name__}", row[1])
    found["plackett.losses.Pairwise"] = PAIRWISE  # a class with many formulas, which its docstring lists
    for row in _rows("metrics.md", "value"):
        found[f"plackett.metrics.{row[1].strip('`')}"] = row[2]
    return found


def _rows(name, column):
    """Yield the rows of the tables of a page that have a certain column."""
    is_wanted = False
    for line in (DOCS / name).read_text(encoding="utf-8").splitlines():
        if not line.startswith("|"):
            is_wanted = False
            continue
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if is_wanted and not set(line) <= set("|-: "):
            yield cells
        is_wanted = is_wanted or column in cells


def write_pages(app=None):
    """Write the pages that changed, and delete those of names that are gone."""
    FOLDER.mkdir(exist_ok=True)
    known, texts = formulas(), {}
    listed = [name for _, names in sections() for name in names]
    documented = {resolve_name(name): name for name in listed if inspect.isclass(resolve_name(name))}
    for section, names in sections():
        for name in names:
            texts[FOLDER / f"{name}.rst"] = page(name, section, names, known.get(name), documented)
    for path in set(FOLDER.glob("*.rst")) - set(texts):
        path.unlink()
    for path, text in texts.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def link_inherited_sources(app, doctree):
    """Name the class that defines an inherited member, so that viewcode, which runs next, finds its source."""
    from sphinx.addnodes import desc_signature

    for signature in doctree.findall(desc_signature):
        owner, _, member = signature.get("fullname", "").rpartition(".")
        cls = getattr(importlib.import_module(signature["module"]), owner, None) if owner else None
        for base in getattr(cls, "__mro__", ()):
            if member in vars(base):
                signature["module"], signature["fullname"] = base.__module__, f"{base.__qualname__}.{member}"
                break


def setup(app):
    app.connect("builder-inited", write_pages)
    app.connect("doctree-read", link_inherited_sources, priority=400)
    return {"parallel_read_safe": True}
