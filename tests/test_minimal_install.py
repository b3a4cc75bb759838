"""The package as a wheel without any extra has it: the README's first example works, and starts quickly.

The wheel is assembled from the compiled modules of this environment; ``make dist`` builds a real one and repeats this.
"""

import importlib.util
import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path, PurePosixPath

import pytest
from packaging.requirements import Requirement

import plackett
from plackett import _native

ROOT = Path(__file__).parents[1]


def load_tool(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def needed(name, found):
    """Collect the distributions that one needs, without extras."""
    key = re.sub(r"[-_.]+", "-", name).lower()
    if key in found:
        return
    found[key] = metadata.distribution(name)
    for text in found[key].requires or []:
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            needed(requirement.name, found)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with plackett, its dependencies without extras, and nothing else."""
    folder = tmp_path_factory.mktemp("site")
    ignored = shutil.ignore_patterns("*.cpp", "*.hpp", "*.so", "__pycache__")
    shutil.copytree(Path(plackett.__file__).parent, folder / "plackett", ignore=ignored)
    built = Path(_native._module.__file__)  # an editable install has the builds in another folder than the sources
    for path in built.parent.glob(f"_*{built.suffix}"):
        shutil.copy(path, folder / "plackett" / "_native")
    found = {}
    for text in load_tool("dist_checks").PROJECT["dependencies"]:
        needed(Requirement(text).name, found)
    for distribution in found.values():
        tops = {PurePosixPath(file).parts[0] for file in distribution.files}
        for top in tops - {"..", "__pycache__"}:
            if not (folder / top).exists():
                (folder / top).symlink_to(distribution.locate_file(top))
    return folder


@pytest.mark.skipif(sys.platform == "win32", reason="makes symbolic links")
def test_the_readmes_first_example_takes_3_seconds_more_than_scikit_learn_on_an_empty_cache(site):
    ours, base = load_tool("first_example").measured(
        [sys.executable, "-S"], f"import sys; sys.path.insert(0, {str(site)!r})\n", 2
    )
    assert ours <= base + 3


@pytest.mark.skipif(sys.platform == "win32", reason="makes symbolic links")
def test_the_command_works_without_extras_and_names_a_missing_one(site):
    def run(*words):
        code = f"import sys; sys.path.insert(0, {str(site)!r}); from plackett.cli import main; main()"
        return subprocess.run([sys.executable, "-S", "-c", code, *words], capture_output=True, text=True, timeout=60)

    assert run("--version").stdout == f"plackett {plackett.__version__}\n"
    assert "pip install 'plackett[web]'" in run("workbench").stderr
