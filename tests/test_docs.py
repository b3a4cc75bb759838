"""Examples in pages and docstrings run and print what is shown, and tables have the values of the code."""

from __future__ import annotations

import contextlib
import doctest
import gzip
import importlib.util
import json
import os
import pkgutil
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from click.exceptions import Exit, UsageError

import plackett
from plackett import reproductions
from plackett.cli.app import load_verb
from plackett.cli.verbs import VERBS
from plackett.data import datasets
from plackett.metrics.conventions import CONVENTIONS
from plackett.metrics.registry import KINDS
from tests.commands import run_forked
from tests.text.wordllama_files import wordllama_of_wheel

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = [
    *(page for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md") if page.exists()),
    *sorted(DOCS.glob("*.md")),
    *sorted(DOCS.glob("tutorials/*.md")),
]
UBI_SAMPLE = DOCS / "tutorials" / "ubi-sample.md"  # of published files
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(plackett.__path__, "plackett.")
    if not module.name.endswith("__main__")
)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


class Block(NamedTuple):
    """A fenced block of a page: its language, its ``:option: value`` lines, its text, and the line it starts in."""

    language: str
    options: dict[str, str]
    text: str
    line: int


def blocks_of(page: Path) -> Iterator[Block]:
    lines = page.read_text(encoding="utf-8").splitlines()
    place = 0
    while place < len(lines):
        fence = re.fullmatch(r"(`{3,})\s*(?:\{code-block\}\s*)?([\w{}-]*)[^`]*", lines[place])
        place += 1
        if fence is None:
            continue
        start = place
        while lines[place] != fence[1]:
            place += 1
        body = lines[start:place]
        options = {}
        while body and (option := re.fullmatch(r":(\w+):\s*(.*)", body[0])):
            options[option[1]] = option[2]
            body, start = body[1:], start + 1
        yield Block(fence[2], options, "\n".join(body) + "\n", start)
        place += 1


class Runner(doctest.DocTestRunner):
    """A runner that skips examples which need a package that is not installed, and lists the package."""

    def report_unexpected_exception(self, out, test, example, exc_info):
        error = exc_info[1]
        if isinstance(error, ModuleNotFoundError) and not str(error.name).startswith("plackett"):
            pytest.skip(f"{test.name} needs {error.name}, which is not installed")
        super().report_unexpected_exception(out, test, example, exc_info)


def run_doctest(test: doctest.DocTest) -> None:
    report: list[str] = []
    runner = Runner(optionflags=FLAGS)
    runner.run(test, out=report.append, clear_globs=False)
    assert not runner.failures, "".join(report)


@pytest.fixture
def shell(tmp_path, monkeypatch):
    """Run a command line in the page's folder and return its terminal output; ``$?`` is the previous exit status."""
    tools, folder = tmp_path / "tools", tmp_path / "page"
    tools.mkdir()
    folder.mkdir()
    start = "import sys; sys.argv[0] = 'plackett'; from plackett.cli import main; main()"
    command = tools / "plackett"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -c "{start}" "$@"\n')
    command.chmod(0o755)
    monkeypatch.chdir(folder)
    monkeypatch.delenv("PLACKETT_DATA", raising=False)
    environment = {
        **os.environ,
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "PYTHONUNBUFFERED": "1",  # keeps the order of standard output and standard error
        "PYTHONUTF8": "1",
        "COLUMNS": "80",
        "TERM": "dumb",
        "NO_COLOR": "1",
    }
    status = 0
    services = Services(folder, environment)

    def run(line: str) -> str:
        nonlocal status
        if line.startswith("plackett serve "):
            return services.start(line)
        if line == "kill %1":  # a job of the shell that the page's services do not run in
            services.stop()
            return ""
        if services.port in line:
            if shutil.which("curl") is None:
                pytest.skip("the example needs curl")
            line = services.with_free_port(line)
        if line.startswith("plackett ") and not set(line) & set("|<>;&$*"):
            status, printed = run_forked(shlex.split(line)[1:], environment)
            return printed
        process = subprocess.run(
            f"(exit {status}); {line}",
            shell=True,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=300,
        )
        status = process.returncode
        return services.with_shown_port(process.stdout)

    yield run
    services.stop()


class Services:
    """Services that a page starts with ``&``, each on a free port instead of the one that is shown."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.port = "127.0.0.1:8766"
        self._folder, self._environment = folder, environment
        self._address = self.port
        self._processes: list[subprocess.Popen] = []

    def start(self, line: str) -> str:
        """Start a service and return what it prints until it is ready."""
        assert line.endswith(" &"), f"start it in the background, or the page ends here: {line}"
        words = [*shlex.split(line.removesuffix("&")), "--port", "0"]
        output = self._folder.parent / f"service-{len(self._processes)}.log"
        with output.open("wb") as file:
            process = subprocess.Popen(
                words, cwd=self._folder, env=self._environment, stdout=file, stderr=subprocess.STDOUT
            )
        self._processes.append(process)
        end = time.monotonic() + 60
        while not (
            ready := re.search(r"(?s).*Serving at http://(127\.0\.0\.1:\d+)[^\n]*\n", output.read_text("utf-8"))
        ):
            assert process.poll() is None, f"{line} ended: {output.read_text('utf-8')}"
            assert time.monotonic() < end, f"{line} is not ready after a minute: {output.read_text('utf-8')}"
            time.sleep(0.05)
        self._address = ready[1]
        return self.with_shown_port(ready[0])

    def with_free_port(self, text: str) -> str:
        return text.replace(self.port, self._address)

    def with_shown_port(self, text: str) -> str:
        return text.replace(self._address, self.port)

    def stop(self) -> None:
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.wait(60)


@pytest.fixture
def published(request, page):
    """Return the published files that a page reads; its test is skipped where they are missing."""
    if page != UBI_SAMPLE:
        return []
    return sorted((request.getfixturevalue("shared_data") / "ubi-esci-sample").glob("*.gz"))


@pytest.fixture
def wordllama_offline(monkeypatch):
    """Load the vectors of wordllama from its wheel, which its own ``load`` asks the network about."""
    with contextlib.suppress(ModuleNotFoundError):
        monkeypatch.setattr(importlib.import_module("wordllama").WordLlama, "load", wordllama_of_wheel)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_page_shows_what_the_code_prints(page, published, shell, wordllama_offline):
    """Run Python blocks with ``>>>`` and console blocks with ``$`` in order; a block with a caption is a file."""
    for path in published:
        shutil.copy(path, ".")
    names: dict[str, object] = {}
    for block in blocks_of(page):
        if "caption" in block.options:
            Path(block.options["caption"]).write_text(block.text, encoding="utf-8")
        elif block.language == "python" and block.text.startswith(">>>"):
            where = f"{page.name}, line {block.line}"
            examples = doctest.DocTestParser().get_doctest(block.text, names, where, str(page), block.line)
            run_doctest(examples)
            names = examples.globs
        elif block.language == "{picture}":
            draw(block.text, f"{page.name}, line {block.line}")
        elif block.language == "python":
            compile(block.text, f"{page.name}, line {block.line}", "exec")  # without a prompt: it must compile
        elif block.language == "console":
            if os.name == "nt":
                pytest.skip("the shell examples need a POSIX shell")
            for command, shown in commands_of(block.text):
                printed = shell(command)
                where = f"{page.name}, line {block.line}: $ {command}\nprinted\n{printed}\nbut the page shows\n{shown}"
                assert doctest.OutputChecker().check_output(shown, printed, FLAGS), where


class Anything(doctest.OutputChecker):
    """A checker that accepts what an example prints, but not an error."""

    def check_output(self, want, got, optionflags):
        return True


def test_the_page_of_the_ubi_sample_runs_on_a_made_file_of_its_form(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    draws = np.random.default_rng(0)
    lines, lists = [], {}
    for number in range(120):
        words, shown = f"query {number % 12}", [f"p{number % 12 + place}" for place in range(6)]
        about = {"query_id": f"q{number}", "client_id": f"c{number}", "user_query": words}
        lines += [{"index": {"_index": "ubi_queries"}}, {**about, "timestamp": "2026-03-01T10:00:00Z"}]
        clicked = draws.random(6) < 0.3
        for place, docid in enumerate(shown):
            actions = ["impression", "click"] if clicked[place] else ["impression"]
            attributes = {"object": {"object_id": docid}, "position": {"ordinal": place}}
            for action in actions:
                event = {**about, "action_name": action, "event_attributes": attributes}
                lines += [{"index": {"_index": "ubi_events"}}, event]
        lists[words.title()] = [
            {"docId": docid, "rating": f"{10.0 * (place < 2):.3f}"} for place, docid in enumerate(shown)
        ]
    records = {"judgmentRatings": [{"query": words, "ratings": ratings} for words, ratings in lists.items()]}
    Path("ubi_queries_events.ndjson.gz").write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))
    Path("esci_us_judgments.json.gz").write_bytes(gzip.compress(json.dumps(records).encode()))
    names: dict[str, object] = {}
    for block in blocks_of(UBI_SAMPLE):
        if block.language == "python":
            examples = doctest.DocTestParser().get_doctest(block.text, names, UBI_SAMPLE.name, None, block.line)
            Runner(Anything()).run(examples, clear_globs=False)
            names = examples.globs
    assert len(names["log"]) == 120
    assert len(names["shared"]) == 72
    assert names["data"].feature_names == ["engine", "queries"]


def draw(code: str, where: str) -> None:
    """Run the code of a picture as the docs do."""
    pytest.importorskip("matplotlib")
    spec = importlib.util.spec_from_file_location("drawing_of_docs", DOCS / "_ext" / "drawing.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.draw(code, where)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_commands_that_are_only_shown_have_known_verbs_and_options(page):
    """``sh`` blocks need files, services or much time, and are not run; the command must still understand them."""
    for block in blocks_of(page):
        if block.language != "sh":
            continue
        for words in shown_commands(block.text):
            where = f"{page.name}, line {block.line}: plackett {shlex.join(words)}"
            if not words or words[0].startswith("-"):
                assert words in ([], ["--help"], ["--version"], ["--install-completion"]), where
                continue
            assert words[0] in VERBS, where
            try:
                load_verb(words[0]).make_context(words[0], words[1:])
            except Exit:
                pass  # --help and --help-all
            except UsageError as error:
                pytest.fail(f"{where}\n{error.format_message()}")


def shown_commands(text: str) -> Iterator[list[str]]:
    """Yield the words of each call of plackett in a shell script, without comments, redirections and other commands."""
    for line in text.replace("\\\n", " ").splitlines():
        words: list[str] | None = None
        lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>()")
        lexer.whitespace_split = True
        is_file = False
        try:
            tokens = list(lexer)
        except ValueError:  # a quotation over several lines, as in curl's data
            continue
        for token in tokens:
            if set(token) <= set("|&;()"):
                if words is not None:
                    yield words
                words = None
            elif set(token) <= set("<>"):
                is_file = True
            elif is_file:
                is_file = False
            elif words is not None:
                words.append(token)
            elif token == "plackett":
                words = []
        if words is not None:
            yield words


def commands_of(text: str) -> Iterator[tuple[str, str]]:
    """Yield the command lines after ``$``, each with the output shown below it."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown


@pytest.mark.parametrize("name", MODULES)
def test_docstrings_show_what_the_code_prints(name, tmp_path, monkeypatch):
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if str(error.name).startswith("plackett"):
            raise
        pytest.skip(f"{name} needs {error.name}, which is not installed")
    monkeypatch.chdir(tmp_path)
    for test in doctest.DocTestFinder(exclude_empty=True).find(module, name):
        run_doctest(test)


def table_of(page: str, heading: str) -> list[list[str]]:
    """Return the cells of the first Markdown table below a heading, without its header."""
    text = (DOCS / page).read_text(encoding="utf-8")
    section = text.partition(f"\n## {heading}\n")[2]
    assert section, f"{page} has no section {heading!r}"
    lines = [line for line in section.partition("\n## ")[0].splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return cells[2:]


def as_table(rows: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def rules_as_text(name: str) -> str:
    rules = CONVENTIONS[name].rules
    parts = [
        f"`{key}={value}`" + ("" if measure == "*" else f" ({measure})")
        for measure, given in rules.items()
        for key, value in given.items()
        if rules.get("*", {}).get(key) != value or measure == "*"
    ]
    return ", ".join(parts) or "–"


def test_table_of_conventions_is_that_of_the_code():
    expected = [
        [
            f"`{name}`",
            f"`{rules.ties}`",
            f"`{rules.empty}`",
            rules_as_text(name),
            ", ".join(f"{measure} {k}" for measure, k in rules.cutoffs.items()) or "–",
            "float32" if rules.is_single_precision else "as given",
            "count" if rules.is_complete else "left out",
        ]
        for name, rules in CONVENTIONS.items()
    ]
    shown = table_of("conventions.md", "The rules of each convention")
    assert shown == expected, "docs/conventions.md needs this table:\n" + as_table(expected)


def test_every_convention_is_summed_up_on_its_page():
    text = (DOCS / "conventions.md").read_text(encoding="utf-8")
    for formula in re.findall(r"\$([^$]+)\$", text):
        plain = formula.replace(" / ", "/").replace("\\log_", "log").replace(" - ", " − ")
        text = text.replace(f"${formula}$", plain)
    for name, rules in CONVENTIONS.items():
        assert f"`{name}`\n: {rules.summary}\n" in text, f"docs/conventions.md needs\n`{name}`\n: {rules.summary}"


def test_table_of_measures_is_that_of_the_code():
    expected = [
        [
            ", ".join(f"`{alias}`" for alias in (name, *kind.aliases)),
            {"none": "–", "optional": "`@k`", "required": "`@k`, always"}[kind.cutoff],
            "higher" if kind.higher_is_better else "lower",
            ", ".join(f"`{key}={value}`" for key, value in kind.defaults.items()),
        ]
        for name, kind in KINDS.items()
    ]
    shown = table_of("metrics.md", "Names and parameters")
    assert shown == expected, "docs/metrics.md needs this table:\n" + as_table(expected)


def test_every_measure_has_its_formula_on_the_page():
    formulas = {row[0].split("`")[1] for row in table_of("metrics.md", "Definitions")}
    assert formulas == set(KINDS)


def test_table_of_data_sets_is_that_of_the_code():
    def number(value: int | None) -> str:
        return "–" if value is None else f"{value:,}"

    expected = []
    for name in datasets.names():
        for version in datasets.info(name).versions:
            facts = datasets.info(name, version=version)
            label = f"`{name}`" + (f" `{version}`" if version else "")
            levels = "–" if facts.label_range is None else "{:g} to {:g}".format(*facts.label_range)
            sizes = [number(n) for n in (facts.n_queries, facts.n_docs, facts.n_features)]
            folders = ", ".join(f"`{folder}`" for folder in facts.folders)
            expected.append([label, *sizes, levels, str(facts.n_folds or "–"), folders])
    shown = table_of("datasets.md", "Known data sets")
    assert shown == expected, "docs/datasets.md needs this table:\n" + as_table(expected)


def test_reference_lists_every_public_name():
    text = (DOCS / "api.md").read_text(encoding="utf-8")
    namespaces = (plackett, plackett.metrics, datasets, plackett.preprocessing, plackett.evaluation)
    public = {name for namespace in namespaces for name in namespace.__all__} - {"__version__"}
    missing = [name for name in sorted(public) if not re.search(rf"\b{name}\b", text)]
    assert not missing, f"docs/api.md does not mention {', '.join(missing)}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_files_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
        assert "://" in target or (page.parent / target).exists(), f"{page.name} links to {target}, which is not there"


def test_the_map_of_the_packages_leaves_out_only_arrows_that_a_longer_path_replaces():
    pytest.importorskip("sphinx", reason="the packages of the docs' build are not installed")
    spec = importlib.util.spec_from_file_location("rooms_of_docs", DOCS / "_ext" / "rooms.py")
    rooms = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(rooms)
    small = {"c": {"a", "b"}, "b": {"a"}, "a": set()}
    assert rooms.reduced(small) == ({"c": {"b"}, "b": {"a"}, "a": set()}, {"a": 0, "b": 1, "c": 2})
    graph, n_lines = rooms.imported()
    assert {"data", "metrics"} <= graph["evaluation"]
    assert "rankers" not in graph["losses"]
    svg = rooms.drawing()
    assert svg.count("<rect") == len(n_lines)
    assert f"{n_lines['losses']:,} lines" in svg


def test_the_picture_of_the_losses_is_that_of_the_code():
    spec = importlib.util.spec_from_file_location("loss_picture", ROOT / "tools" / "loss_picture.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    drawn, kept = tool.picture(), tool.TARGET.read_text(encoding="utf-8")
    number = re.compile(r"-?\d+\.\d")
    assert number.sub("", drawn) == number.sub("", kept), "python tools/loss_picture.py draws it anew"
    lengths = [[float(found) for found in number.findall(text)] for text in (drawn, kept)]
    assert lengths[0] == pytest.approx(lengths[1], abs=0.11)  # a machine may round otherwise


def test_every_loss_is_on_its_page():
    text = (DOCS / "losses.md").read_text(encoding="utf-8")
    assert not [name for name in plackett.losses.loss_names() if f"`{name}`" not in text]


def recorded():
    """Return the module of the site that shows recorded benchmarks, and the recorded results."""
    spec = importlib.util.spec_from_file_location("recorded", DOCS / "_ext" / "recorded.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module, module.rows_of(json.loads((DOCS / module.RECORD).read_text(encoding="utf-8")))


def test_recorded_runs_of_papers_make_their_tables_and_pages():
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    pytest.importorskip("docutils", reason="the packages of the docs' build are not installed")
    from plackett.reproductions.page import paper_html

    spec = importlib.util.spec_from_file_location("reproduced", DOCS / "_ext" / "reproduced.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = module.runs(DOCS)
    assert list(found) == list(reproductions.PAPERS)
    table = module.verdicts(found)
    for name, run in found.items():
        paper = reproductions.paper(name)
        assert (run["title"], [table["item"] for table in run["tables"]]) == (
            paper.title,
            [item.title for item in paper.items],
        )
        assert f'href="{module.FOLDER}/{name}.html"' in table
        assert run["title"] in paper_html(run)
    pattern = r"```\{reproduced\} (\S+) (.+)\n((?::.+\n)*)```"
    shown = [match for page in DOCS.glob("*.md") for match in re.findall(pattern, page.read_text(encoding="utf-8"))]
    assert len(shown) > 5
    for name, item, lines in shown:
        options = dict(re.findall(r":(\w+): (.+)", lines))
        chosen = (module.Reproduced.option_spec[option](options.get(option, "")) for option in ("lines", "rows"))
        html = module.printed(found[name], item, options.get("table"), *(list(filter(None, part)) for part in chosen))
        n_lines = options.get("lines", "").count(";") + 1 if "lines" in options else 0
        assert html.count("<tr>") > max(2, n_lines)
        assert html.count("<p>") == (options["rows"].count(";") + 1 if "rows" in options else 0)


def test_the_page_on_speed_shows_every_benchmark():
    module, rows = recorded()
    shown = re.findall(r"```\{measured\} (\w+)", (DOCS / "speed.md").read_text(encoding="utf-8"))
    known = sorted(path.stem.removeprefix("bench_") for path in (ROOT / "benchmarks").glob("bench_*.py"))
    assert sorted(shown) == known
    for name in shown:
        assert module.table(rows, name).count("<tr>") > 1


def test_the_chart_of_the_landing_page_has_recorded_ratios():
    module, rows = recorded()
    selection = json.loads((DOCS / "figures" / "peers.json").read_text(encoding="utf-8"))["rows"]
    shown = module.chosen(rows, selection)
    assert len(shown) == len(selection)
    for ratio, _, row in shown:
        assert f"{ratio:.3g} ×</td>" in module.chart(rows, selection)
        assert row["unit"] == "s"


def test_quantities_have_readable_units():
    module, _ = recorded()
    quantities = [(12_345.6, "s"), (61.0, "s"), (1.5, "s"), (0.9996, "s"), (0.0123, "s"), (4.2e-6, "s"), (3e-8, "s")]
    expected = ["12,346 s", "61 s", "1.5 s", "1 s", "12.3 ms", "4.2 µs", "30 ns"]
    assert [module.quantity(*one) for one in quantities] == expected
    assert module.quantity(878.1, "bytes per document") == "878 bytes per document"
    assert module.quantity(1234.5, "passes") == "1,234 passes"
