"""The wheel, installed into a fresh environment, serves where nothing can be written."""

import base64
import hashlib
import importlib.metadata
import json
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import numpy as np
import pytest

import plackett
from plackett import _native

TOOL = Path(plackett.__file__).parents[2] / "tools" / "frozen_service.py"
SKIPPED = {".cpp", ".hpp", ".pyc"}  # as in pyproject.toml


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """A wheel of the sources and of the kernels that are compiled already, as a build would make it."""
    package, kernels = Path(plackett.__file__).parent, Path(_native._module.__file__)
    files = {f"plackett/{path.relative_to(package)}": path for path in package.rglob("*") if path.is_file()}
    files = {name: path for name, path in files.items() if path.suffix not in SKIPPED | {kernels.suffix}}
    files |= {f"plackett/_native/{path.name}": path for path in kernels.parent.glob(f"_*{kernels.suffix}")}
    contents = {name: path.read_bytes() for name, path in files.items()}
    about = importlib.metadata.distribution("plackett")
    info = f"plackett-{about.version}.dist-info"
    tag = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    tags = f"{tag}-{tag}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
    contents[f"{info}/METADATA"] = about.read_text("METADATA").encode()
    contents[f"{info}/entry_points.txt"] = about.read_text("entry_points.txt").encode()
    contents[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\nTag: {tags}\n".encode()
    record = "".join(f"{name},sha256={digest(content)},{len(content)}\n" for name, content in contents.items())
    contents[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    path = tmp_path_factory.mktemp("dist") / f"plackett-{about.version}-{tags}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return path


def digest(content):
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """A new virtual environment with the wheel; what it depends on is that of this one."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    words = ["install", "--quiet", "--no-deps", "--no-index", "--no-compile", wheel]
    subprocess.run([sys.executable, "-m", "pip", "--python", python, *words], check=True)
    site = subprocess.run([python, "-c", "import site; print(site.getsitepackages()[0])"], stdout=-1, text=True).stdout
    # a folder of a .pth file is searched last, and its own .pth files, such as that of an editable install, are ignored
    Path(site.strip(), "others.pth").write_text("\n".join(one for one in sys.path if one.endswith("site-packages")))
    return folder


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="namespaces of Linux")
@pytest.mark.skipif(not TOOL.exists(), reason="the tools of the repository are not here")
def test_the_installed_wheel_serves_and_swaps_where_nothing_can_be_written(environment, folder, rankers):
    models = [folder / f"{name}.plackett" for name in ("linear", "other")]
    done = subprocess.run([sys.executable, TOOL, environment, *models], capture_output=True, text=True)
    if done.returncode == 77:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    for name, answer in (("linear", seen["first"]), ("other", seen["second"])):
        scores = rankers[name].predict(np.array(seen["documents"]), qid=np.zeros(8)).tolist()
        assert {one["index"]: one["score"] for one in answer["ranking"]} == dict(enumerate(scores))
    assert (seen["user"], seen["status"]) == (10001, 0)
    assert [json.loads(line)["event"] for line in seen["log"]][-1] == "stopped"
