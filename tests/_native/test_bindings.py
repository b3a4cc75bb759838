"""Arrays are passed to kernels without conversion, or rejected."""

import os
import re
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from plackett import _native


def run(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("build", _native.runnable)
def test_the_environment_chooses_a_build(build):
    result = run("import plackett._native as native; print(native.build)", PLACKETT_NATIVE=build)
    assert result.stdout == f"{build}\n"


def test_a_build_that_does_not_exist_is_named():
    result = run("import plackett._native", PLACKETT_NATIVE="v9")
    assert 'PLACKETT_NATIVE is "v9"; set it to "baseline" or "v3", or leave it unset.' in result.stderr


def error_with(tmp_path, compiled, runs_v3, **environment):
    """Return the error of an import of the package's loader, beside empty modules for the compiled builds."""
    folder = tmp_path / "plackett" / "_native"
    folder.mkdir(parents=True)
    (tmp_path / "plackett" / "__init__.py").touch()
    (folder / "__init__.py").write_text(Path(_native.__file__).read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "_cpu.py").write_text(f"runs_v3 = {runs_v3}")
    for build in compiled:
        (folder / f"_{build}.py").touch()
    # -S: without the hook of an editable install
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import plackett._native"
    command = [sys.executable, "-S", "-c", code]
    variables = {**os.environ, "PLACKETT_NATIVE": "", **environment}
    return subprocess.run(command, env=variables, capture_output=True, text=True, check=False).stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("compiled", "runs_v3", "requested", "words"),
    [
        ([], True, "", "kernels are not compiled here. Install the package instead of importing its sources: pip"),
        (["v3"], False, "", "for processors with AVX2 and FMA, which this one lacks. .* in the checkout: make kernels"),
        (
            ["v3"],
            True,
            "baseline",
            "only the build v3 is compiled here. Compile both in the checkout: make kernels BUILDS",
        ),
        (["baseline"], True, "v3", "only the build baseline is compiled here. .* make kernels BUILDS=all"),
        (["baseline", "v3"], False, "v3", "PLACKETT_NATIVE=v3 needs a processor with AVX2 and FMA"),
    ],
)
def test_a_build_that_cannot_be_loaded_says_what_to_type(tmp_path, compiled, runs_v3, requested, words):
    assert re.search(
        f"ImportError: .*{words}|ModuleNotFoundError: .*{words}",
        error_with(tmp_path, compiled, runs_v3, PLACKETT_NATIVE=requested),
    )


@pytest.mark.parametrize(
    ("compiled", "runs_v3", "loaded"), [(["baseline", "v3"], False, "baseline"), (["v3"], True, "v3")]
)
def test_the_fastest_build_that_this_processor_runs_is_loaded(tmp_path, compiled, runs_v3, loaded):
    # the empty module has no kernels, and is the one that was asked for them
    assert f"'plackett._native._{loaded}' has no attribute 'data'" in error_with(tmp_path, compiled, runs_v3)


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="needs a free-threaded interpreter")
def test_importing_kernels_leaves_the_gil_disabled():
    assert run("import sys, plackett._native; print(sys._is_gil_enabled())").stdout == "False\n"


def test_kernels_run_side_by_side():
    rng = np.random.default_rng(0)
    X, coef = rng.normal(size=(2000, 30)), rng.normal(size=30)

    def scores(_):
        out = np.empty(2000)
        for _ in range(20):
            _native.scorers.score(X, coef, out)
        return out

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(scores, range(32)))
    for answer in answers:
        np.testing.assert_array_equal(answer, answers[0])
    np.testing.assert_allclose(answers[0], X @ coef, rtol=1e-12, atol=1e-12)


def add_squares(X=None, weights=None, diagonal=None):
    X = np.ones((2, 3)) if X is None else X
    weights = np.ones(2) if weights is None else weights
    diagonal = np.zeros(3) if diagonal is None else diagonal
    _native.scorers.add_squares(X, weights, diagonal)
    return diagonal


def test_read_only_arrays_are_read():
    X = np.full((2, 3), 2.0)
    X.flags.writeable = False
    np.testing.assert_array_equal(add_squares(X), [8.0, 8.0, 8.0])


def test_memory_maps_are_read(tmp_path):
    np.save(tmp_path / "X.npy", np.full((2, 3), 2.0, np.float32))
    np.testing.assert_array_equal(add_squares(np.load(tmp_path / "X.npy", mmap_mode="r")), [8.0, 8.0, 8.0])


@pytest.mark.skipif(not _native._module.is_checked, reason="only a checked build tests indices: make checked")
@pytest.mark.parametrize("wrong", [{"weights": np.ones(1)}, {"diagonal": np.zeros(2)}])
def test_a_checked_build_names_the_kernel(wrong):
    with pytest.raises(IndexError, match="add_squares: "):
        add_squares(**wrong)


def read_only(array):
    array.flags.writeable = False
    return array


UNALIGNED = np.frombuffer(b"\0" * 17, np.uint8)[1:].view(np.float64)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            {"weights": np.ones(2, np.float32)},
            "weights must be a contiguous float64 array of 1 dimension; it is float32",
        ),
        ({"weights": np.ones(2, ">f8")}, "weights must be .*; it is another type of 1 dimension"),
        ({"weights": np.ones(4)[::2]}, "weights must be .*; it is float64 of 1 dimension, not contiguous"),
        ({"weights": np.ones((2, 1))}, "weights must be .*; it is float64 of 2 dimensions"),
        ({"weights": UNALIGNED}, "weights must be .*; it is float64 of 1 dimension, not aligned"),
        ({"weights": [1.0, 1.0]}, "weights must be .*; it is list"),
        ({"X": np.ones((2, 3), int)}, "X must be a contiguous float32 .* or a contiguous float64 .*; it is int64"),
        ({"X": np.ones((3, 2)).T}, "X must be .*; it is float64 of 2 dimensions, not contiguous"),
        ({"diagonal": read_only(np.zeros(3))}, "diagonal must be a contiguous writable .*, read-only"),
    ],
)
def test_nothing_is_converted(arguments, words):
    with pytest.raises(TypeError, match=f"add_squares: {words}"):
        add_squares(**arguments)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_an_array_may_begin_anywhere(kind):
    """The order of sums must not depend on the alignment of an array."""
    rng = np.random.default_rng(0)
    X, coef = rng.normal(size=(7, 37)).astype(kind), rng.normal(size=37)
    answers = []
    for offset in range(9):
        memory, coefs, scores = np.empty(7 * 37 + offset, kind), np.empty(37 + offset), np.empty(7 + offset)
        memory[offset:], coefs[offset:] = X.ravel(), coef
        _native.scorers.score(memory[offset:].reshape(7, 37), coefs[offset:], scores[offset:])
        answers.append(scores[offset:])
    for answer in answers:
        np.testing.assert_array_equal(answer, answers[0])


def test_empty_arrays_may_be_at_any_address():
    """NumPy 2.5 restores empty arrays of pickles without alignment."""
    memory = bytearray(16)
    for offset in range(8):
        X = np.ndarray((0, 3), np.float64, buffer=memory, offset=offset)
        assert _native.scorers.score(X, np.ones(3), np.empty(0)) is None
    with pytest.raises(TypeError, match="float64 of 2 dimensions, not aligned"):  # rows are read: they must be aligned
        _native.scorers.score(np.ndarray((1, 1), np.float64, buffer=memory, offset=1), np.ones(1), np.empty(1))
