"""Compute the oldest versions that SPEC 0 asks to support, and compare them with pyproject.toml.

    python tools/spec0.py INDEX [--date 2026-11-18]

INDEX is the address of a package index with a JSON API (INDEX/pypi/NAME/json). A minor version of a core package is
supported for two years after its first release, one of Python for three. Fails if a lower bound is above that.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
import urllib.request
from datetime import date
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
CORE = ("numpy", "scipy", "scikit-learn", "matplotlib", "pandas", "networkx")  # of SPEC 0's core packages, those we use
PYTHONS = {
    "3.11": date(2022, 10, 24),
    "3.12": date(2023, 10, 2),
    "3.13": date(2024, 10, 7),
    "3.14": date(2025, 10, 7),
    "3.15": date(2026, 10, 1),
}


def lower_bounds() -> dict[str, Version]:
    """Return the lower bound of each dependency in pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    texts = [*project["dependencies"], *(text for extra in project["optional-dependencies"].values() for text in extra)]
    requirements = [Requirement(text) for text in texts]
    bounds = {one.name.lower(): Version(bound.version) for one in requirements for bound in one.specifier}
    python = project["requires-python"].removeprefix(">=")
    return {**bounds, "python": Version(python)}


def first_releases(index: str, name: str) -> dict[str, date]:
    """Return by minor version the date of its first final release."""
    with urllib.request.urlopen(f"{index.rstrip('/')}/pypi/{name}/json", timeout=60) as answer:
        releases = json.load(answer)["releases"]
    found: dict[str, date] = {}
    for text, files in releases.items():
        version = Version(text)
        if files and not version.is_prerelease:
            minor = f"{version.major}.{version.minor}"
            day = date.fromisoformat(min(file["upload_time"] for file in files)[:10])
            found[minor] = min(day, found.get(minor, day))
    return found


def oldest_supported(releases: dict[str, date], today: date, years: int) -> str:
    """Return the lowest minor version whose first release is at most ``years`` years old."""
    limit = today.replace(year=today.year - years)
    return min((minor for minor, day in releases.items() if day >= limit), key=Version)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("index")
    parser.add_argument("--date", type=date.fromisoformat, default=date.today())
    given = parser.parse_args()
    bounds, is_fine = lower_bounds(), True
    print(f"| | SPEC 0 on {given.date} | plackett |\n|---|---|---|")
    for name in ("python", *CORE):
        releases = PYTHONS if name == "python" else first_releases(given.index, name)
        wanted = oldest_supported(releases, given.date, 3 if name == "python" else 2)
        is_fine &= bounds[name] <= Version(wanted)
        print(f"| {name} | {wanted} | {bounds[name]} |")
    if not is_fine:
        sys.exit("a lower bound in pyproject.toml is above the oldest version that SPEC 0 supports.")


if __name__ == "__main__":
    main()
