"""Install a CPU build of PyTorch for the tests of neural rankers, from the first source that has one.

    python tools/torch_cpu.py

The sources, in this order: an installed PyTorch, of any build; the index in the variable TORCH_INDEX; a ``+cpu`` build
in pip's own indexes; on macOS and Windows the ordinary build, which is for CPUs; uv, which knows the index of
PyTorch's CPU builds. The ordinary build for Linux is not tried: it has gigabytes of CUDA. If none is found,
the tests of neural rankers are skipped, and the command still succeeds.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

QUIET = ("--quiet", "--disable-pip-version-check")
PIP = (sys.executable, "-m", "pip")


def requirement() -> str:
    """Return the requirement of the extra ``neural``."""
    text = (Path(__file__).resolve().parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)["project"]["optional-dependencies"]["neural"][0]


def newest_cpu_build(listing: str) -> str | None:
    """Return the first ``+cpu`` version in the output of ``pip index versions``, which has the newest first."""
    found = re.search(r"\b\d[\w.]*\+cpu\b", listing)
    return found and found[0]


def ways(system: str, index: str | None, listing: str) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield what to try, in order: a name and the commands."""
    if index:
        yield "TORCH_INDEX", [[*PIP, "install", *QUIET, "--index-url", index, requirement()]]
    if version := newest_cpu_build(listing):
        yield f"torch {version} of pip's index", [[*PIP, "install", *QUIET, f"torch=={version}"]]
    if system != "Linux":
        yield "the ordinary build", [[*PIP, "install", *QUIET, requirement()]]
    uv = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", sys.executable]
    yield "uv", [[*PIP, "install", *QUIET, "uv"], [*uv, "--torch-backend", "cpu", requirement()]]


def installed() -> str | None:
    """Return the version of an installed PyTorch that can be imported."""
    found = subprocess.run(
        [sys.executable, "-c", "import torch; print(torch.__version__)"], capture_output=True, text=True, check=False
    )
    return found.stdout.strip() or None if found.returncode == 0 else None


def main() -> None:
    if version := installed():
        print(f"torch {version} is installed", file=sys.stderr)
        return
    listed = subprocess.run([*PIP, "index", "versions", "torch"], capture_output=True, text=True, check=False)
    index = os.environ.get("TORCH_INDEX")
    for name, commands in ways(platform.system(), index, listed.stdout):
        reason = ""
        for command in commands:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
                break
        if not reason and (version := installed()):
            print(f"torch {version}: {name}", file=sys.stderr)
            return
        print(f"no torch: {name} failed: {reason or 'it cannot be imported'}", file=sys.stderr)
    print(
        "no CPU build of torch was found: tests of neural rankers will be skipped. Install any build of torch, or set "
        "TORCH_INDEX to the address of an index that has one.",
        file=sys.stderr,
    )


if __name__ == "__main__":
    main()
