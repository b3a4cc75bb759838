"""Model files: estimators saved and loaded without pickle. Loading a model never runs code from the file.

A model is a container, by convention with the extension ``.plackett``. Its header holds the name of the class, its
parameters as ``get_params(deep=False)`` returns them, and what was learned: every attribute whose name ends in an
underscore and does not begin with one, and those that the class lists in ``_persisted``. Arrays are those of the
container. Estimators of scikit-learn are kept in the same way if they are in the table of ``sklearn_estimators.py``,
which checks all of their arrays.

Loading creates a new object of a registered class (:func:`register`) and sets its attributes. A name in a file only
selects from the registry and is never imported. A class whose compiled code relies on what it learned (lengths,
indices) has a method ``check_loaded``, which raises a ``ValueError`` if these are inconsistent.
"""

from __future__ import annotations

from plackett.storage.models.read import describe, load, read_parts
from plackett.storage.models.registry import Part, name_of, part_of, register, register_home, register_text, registered
from plackett.storage.models.write import save

__all__ = [
    "Part",
    "describe",
    "load",
    "name_of",
    "part_of",
    "read_parts",
    "register",
    "register_home",
    "register_text",
    "registered",
    "save",
]
