"""Releases: one version, valid workflow files, dependencies by SPEC 0, PyTorch for any machine."""

import importlib.util
import re
import tomllib
from datetime import date
from pathlib import Path

import pytest
import yaml

import plackett

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def load_tool(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_version_comes_from_one_place():
    assert "version" in PROJECT["project"]["dynamic"]
    assert PROJECT["tool"]["scikit-build"]["metadata"]["version"]["input"] == "src/plackett/__init__.py"
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"] == plackett.__version__
    assert re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)[1] == plackett.__version__


@pytest.mark.parametrize("path", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda path: path.name)
def test_files_of_the_forge_are_yaml_with_what_it_needs(path):
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    if path.parent.name == "workflows":
        assert True in content  # YAML 1.1 reads "on" as true
        assert content["permissions"] == {"contents": "read"}
        for job in content["jobs"].values():
            if "uses" in job:  # another workflow
                assert (ROOT / job["uses"]).is_file()
                continue
            assert all(len({"uses", "run"} & set(step)) == 1 for step in job["steps"])
    elif path.name != "config.yml":
        assert {"name", "description", "body"} <= set(content)


def test_workflows_run_on_all_systems_and_all_supported_pythons():
    matrix = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8"))["jobs"]["tests"][
        "strategy"
    ]["matrix"]
    assert {name.partition("-")[0] for name in matrix["os"]} == {"ubuntu", "macos", "windows"}
    named = [line.rpartition(" ")[2] for line in PROJECT["project"]["classifiers"] if re.search(r":: 3\.\d+$", line)]
    assert matrix["python"] == named
    assert PROJECT["project"]["requires-python"] == f">={named[0]}"


def test_targets_of_the_workflows_exist():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    text = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / ".github/workflows").glob("*.yml"))
    assert {word for words in re.findall(r"run: make (.+)", text) for word in words.split()} <= targets
    for tool in re.findall(r"python (tools/\w+\.py)", text + str(PROJECT["tool"]["cibuildwheel"])):
        assert (ROOT / tool).is_file()


# --- SPEC 0 -----------------------------------------------------------------------------------------------------------


def test_spec_0_keeps_minor_versions_of_the_last_two_years():
    oldest = load_tool("spec0").oldest_supported
    releases = {"2.9": date(2024, 11, 17), "2.10": date(2024, 11, 18), "2.11": date(2025, 6, 1)}
    assert oldest(releases, date(2026, 11, 18), 2) == "2.10"  # not 2.11, as text would be sorted


def test_the_page_on_versions_has_the_lower_bounds_of_the_project():
    bounds = load_tool("spec0").lower_bounds()
    rows = re.findall(
        r"^\| ([\w-]+) \| [\d.]+ \| ([\d.]+) \|$", (ROOT / "docs/versions.md").read_text(encoding="utf-8"), re.M
    )
    assert len(rows) == 7
    assert {name: str(bounds[name]) for name, _ in rows} == dict(rows)


# --- PyTorch ----------------------------------------------------------------------------------------------------------

LISTING = "torch (2.15.0)\nAvailable versions: 2.15.0, 2.14.1, 2.13.0+cpu, 2.13.0, 2.12.0+cpu\n"


@pytest.mark.parametrize(
    ("system", "index", "listing", "expected"),
    [
        ("Linux", None, LISTING, ["torch 2.13.0+cpu of pip's index", "uv"]),
        ("Linux", None, "torch (2.15.0)\n", ["uv"]),  # never the build with CUDA
        ("Darwin", None, "", ["the ordinary build", "uv"]),
        ("Windows", None, "", ["the ordinary build", "uv"]),
        ("Linux", "some-index", LISTING, ["TORCH_INDEX", "torch 2.13.0+cpu of pip's index", "uv"]),
    ],
)
def test_a_processor_build_of_torch_is_looked_for(system, index, listing, expected):
    ways = list(load_tool("torch_cpu").ways(system, index, listing))
    assert [name for name, _ in ways] == expected
    if index is not None:
        assert ways[0][1][0][-3:] == ["--index-url", index, load_tool("torch_cpu").requirement()]


def test_an_installed_torch_is_kept(monkeypatch, capsys):
    tool = load_tool("torch_cpu")
    monkeypatch.setattr(tool, "installed", lambda: "2.9.0+cu128")
    monkeypatch.setattr(tool.subprocess, "run", lambda *_, **__: pytest.fail("something was installed"))
    tool.main()
    assert "2.9.0+cu128 is installed" in capsys.readouterr().err


def test_without_any_build_the_set_up_goes_on_and_says_so(monkeypatch, capsys):
    tool = load_tool("torch_cpu")
    monkeypatch.setattr(tool, "installed", lambda: None)
    failed = tool.subprocess.CompletedProcess([], 1, stdout="", stderr="")
    monkeypatch.setattr(tool.subprocess, "run", lambda *_, **__: failed)
    tool.main()
    assert "tests of neural rankers will be skipped" in capsys.readouterr().err
