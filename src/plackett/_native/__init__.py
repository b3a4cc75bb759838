"""Compiled kernels, one submodule per package, in the fastest build that the processor supports.

Kernels take arrays that their callers have checked; see ``core/bind.hpp``. ``PLACKETT_NATIVE=baseline`` or ``=v3``
forces a build. Results of the builds differ by rounding. Within one build they do not depend on the number of threads.
"""

from __future__ import annotations

import importlib
import os
from types import ModuleType

BUILDS = ("baseline", "v3")


def _load() -> tuple[str, ModuleType]:
    wanted = os.environ.get("PLACKETT_NATIVE", "")
    if wanted not in ("", *BUILDS):
        raise ImportError(f'PLACKETT_NATIVE is "{wanted}"; set it to "baseline" or "v3", or leave it unset.')
    try:
        baseline = importlib.import_module("plackett._native._baseline")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "plackett's kernels are not compiled here. "
            "Install the package instead of importing its sources: pip install ."
        ) from error
    if wanted == "baseline":
        return wanted, baseline
    if wanted == "v3" and not baseline.runs_v3():
        raise ImportError("PLACKETT_NATIVE=v3 needs a processor with AVX2 and FMA, which this one lacks. Unset it.")
    if baseline.runs_v3():
        try:
            return "v3", importlib.import_module("plackett._native._v3")
        except ModuleNotFoundError:
            if wanted:
                raise
    return "baseline", baseline


build, _module = _load()
path: str = _module.__file__  # type: ignore[assignment]
data, text, metrics, evaluation = _module.data, _module.text, _module.metrics, _module.evaluation
losses, scorers, objective, solvers = _module.losses, _module.scorers, _module.objective, _module.solvers
rankers, clicks = _module.rankers, _module.clicks
