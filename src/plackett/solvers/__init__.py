"""Solvers: minimise an objective."""

from __future__ import annotations

from typing import Any

from plackett._names import unknown_name
from plackett.solvers.base import Callback, Minimizable, Result, Solver, Step
from plackett.solvers.lbfgs import LBFGS
from plackett.solvers.newton import Newton
from plackett.solvers.newton_diag import NewtonDiagonal
from plackett.solvers.sgd import SGD

__all__ = [
    "LBFGS",
    "SGD",
    "Callback",
    "Minimizable",
    "Newton",
    "NewtonDiagonal",
    "Result",
    "Solver",
    "Step",
    "get_solver",
    "solver_names",
]

_CLASSES: list[type[Solver]] = [LBFGS, Newton, SGD, NewtonDiagonal]

_BY_NAME = {solver.name: solver for solver in _CLASSES}


def solver_names() -> list[str]:
    """Return the names that ``solver=`` takes, besides ``"auto"``.

    Examples
    --------
    >>> from plackett.solvers import solver_names
    >>> solver_names()
    ['lbfgs', 'newton', 'sgd', 'newton-diag']
    """
    return list(_BY_NAME)


def get_solver(solver: Any) -> Solver:
    """Return the solver with this name and default parameters; a solver object is returned unchanged.

    Parameters
    ----------
    solver : str or Solver
        A name of :func:`solver_names`, or an object.

    Examples
    --------
    >>> from plackett.solvers import get_solver
    >>> get_solver("lbfgs")
    LBFGS()
    """
    if isinstance(solver, Solver):
        return solver
    if isinstance(solver, str) and solver in _BY_NAME:
        return _BY_NAME[solver]()
    if isinstance(solver, type) and issubclass(solver, Solver):
        raise ValueError(f"solver={solver.__name__} is a class; pass an object: solver={solver.__name__}().")
    names = ["auto", *_BY_NAME]
    advice = f"; choose {', '.join(names)}, or pass a Solver object."
    raise unknown_name("solver", solver, advice, names)
