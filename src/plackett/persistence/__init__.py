"""Saving and loading estimators without pickle: a model file holds data, and loading it never runs code from it.

A model is one zip file, by convention with the ending ``.plackett``:

- ``model.json``: the format and its version, the version of plackett, the name of the class, its parameters as
  ``get_params(deep=False)`` gives them, and what was learned: every attribute whose name ends in an underscore and does
  not begin with one, and those that the class lists in ``_persisted``;
- ``arrays/0.npy``, ``arrays/1.npy``, …: numeric, boolean and text arrays, as numpy writes them.

Transformers of scikit-learn are kept in the same way, by class, parameters and named arrays, if they are in the table
of ``foreign.py``, which checks all of these arrays.

Members are stored as they are, without compression. Loading makes a fresh object of a class that was registered before
(:func:`register`) and sets its attributes; a name in a file only selects from that table, and is never imported. A
class whose compiled code relies on what it learned (lengths, indices) offers ``_check_loaded``, which raises a
``ValueError`` if these do not fit together.
"""

from __future__ import annotations

from plackett.persistence.names import register, register_home, registered
from plackett.persistence.read import describe, load
from plackett.persistence.write import save

__all__ = ["describe", "load", "register", "register_home", "registered", "save"]
