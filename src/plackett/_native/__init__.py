"""Compiled kernels, one submodule per package, in the fastest build that the processor supports.

Kernels take arrays that their callers have checked; see ``core/bind.hpp``. ``PLACKETT_NATIVE=baseline`` or ``=v3``
forces a build. Wheels contain both, a checkout only the one for its processor. Their results differ by rounding.
Within one build they do not depend on the number of threads.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from types import ModuleType

BUILDS = ("baseline", "v3")


def _load() -> tuple[list[str], str, ModuleType]:
    requested = os.environ.get("PLACKETT_NATIVE", "")
    if requested not in ("", *BUILDS):
        raise ImportError(f'PLACKETT_NATIVE is "{requested}"; set it to "baseline" or "v3", or leave it unset.')
    compiled = [build for build in BUILDS if importlib.util.find_spec(f"plackett._native._{build}")]
    if not compiled:
        raise ModuleNotFoundError(
            "plackett's kernels are not compiled here. "
            "Install the package instead of importing its sources: pip install ."
        )
    runs_v3 = importlib.import_module("plackett._native._cpu").runs_v3
    if requested == "v3" and not runs_v3:
        raise ImportError("PLACKETT_NATIVE=v3 needs a processor with AVX2 and FMA, which this one lacks. Unset it.")
    if requested and requested not in compiled:
        raise ImportError(
            f"PLACKETT_NATIVE={requested}, but only the build {compiled[0]} is compiled here. "
            "Compile both in the checkout: make kernels BUILDS=all"
        )
    runnable = [build for build in compiled if build == "baseline" or runs_v3]
    if not runnable:
        raise ImportError(
            "plackett's kernels are compiled for processors with AVX2 and FMA, which this one lacks. "
            "Compile them for this processor in the checkout: make kernels"
        )
    build = requested or runnable[-1]
    return runnable, build, importlib.import_module(f"plackett._native._{build}")


runnable, build, _module = _load()
path: str = _module.__file__  # type: ignore[assignment]
data, text, metrics, evaluation = _module.data, _module.text, _module.metrics, _module.evaluation
losses, scorers, objective, solvers = _module.losses, _module.scorers, _module.objective, _module.solvers
rankers, clicks = _module.rankers, _module.clicks
