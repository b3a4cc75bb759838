"""How arrays reach kernels: as they are, or not at all."""

import os
import subprocess
import sys

import pytest

from plackett import _native


def run(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("build", _native.BUILDS)
def test_the_environment_chooses_a_build(build):
    if build == "v3" and not _native._module.runs_v3():
        pytest.skip("this processor has no AVX2")
    result = run("import plackett._native as native; print(native.build)", PLACKETT_NATIVE=build)
    assert result.stdout == f"{build}\n"


def test_a_build_that_does_not_exist_is_named():
    result = run("import plackett._native", PLACKETT_NATIVE="v9")
    assert 'PLACKETT_NATIVE is "v9"; set it to "baseline" or "v3", or leave it unset.' in result.stderr
