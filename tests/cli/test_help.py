"""Help of the command: one screen per verb, all options in ``--help-all``, and the first screen."""

import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from plackett.cli.app import VERBS, load_verb, make_app

SCREEN = 24  # lines of the smallest usual terminal
WIDTH = 80


@pytest.fixture(autouse=True)
def _of_80_columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", str(WIDTH))


def shown(*words):
    done = CliRunner().invoke(make_app(), [*words])
    assert done.exit_code == 0
    return done.stdout


def options_of(verb):
    return [
        param
        for param in load_verb(verb).params
        if param.param_type_name == "option" and not param.hidden and param.name not in ("help", "help_all")
    ]


def names_in(text):
    return set(re.findall(r"(?<![\w-])--[a-z0-9-]+", text))


@pytest.mark.parametrize("verb", VERBS)
def test_help_is_one_screen_with_an_example(verb):
    lines = shown(verb, "--help").splitlines()
    assert len(lines) <= SCREEN
    assert all(len(line) <= WIDTH for line in lines)  # an example in one line can be copied
    assert any(line.startswith(f"Example: plackett {verb} ") for line in lines)


@pytest.mark.parametrize("verb", VERBS)
def test_help_names_every_option_and_help_all_explains_them(verb):
    short, full = shown(verb, "--help"), shown(verb, "--help-all")
    for option in options_of(verb):
        name = next((name for name in option.opts if name.startswith("--")), option.opts[0])
        assert name in names_in(short) | {"-k"}
        explained = re.search(rf"^│ (?:-[-\w]+, )*{re.escape(name)}(?![\w-])[^│]*? {{2}}(\S[^│]*)", full, re.M)
        assert explained is not None, f"{name} is not explained"
        first = " ".join((option.help or "").split()[:2])
        assert explained[1].removeprefix("Required. ").startswith(first.rstrip(".")), name


@pytest.mark.parametrize("verb", VERBS)
def test_no_type_stands_beside_an_option(verb):
    assert not re.search(r"<(bool|str|int|float|list)", shown(verb, "--help-all"))


def test_a_flag_takes_no_value_and_numbers_do():
    full = shown("compare", "--help-all")
    assert re.search(r"│ --json  +Print JSON\.", full)
    assert re.search(r"│ -j, --jobs N  +Fits in parallel\.", full)
    assert re.search(r"│ --seed N  +Random seed \(0\)\.", full)


def test_help_lists_every_verb_on_one_screen():
    lines = shown("--help").splitlines()
    assert len(lines) <= SCREEN
    assert [line.split()[1] for line in lines if re.match(r"│ [a-z]", line)] == list(VERBS)


def test_panels_share_a_border():
    borders = [line[0] for line in shown("train", "--help").splitlines() if line[0] in "╭├╰"]
    assert "".join(borders) == "╭├╰"


def test_few_further_options_are_explained_at_once():
    assert shown("search", "--help") == shown("search", "--help-all")
    assert "More options" not in shown("search", "--help")


def test_the_first_screen_has_commands_that_the_help_knows():
    text = shown()
    commands = re.findall(r"^    plackett (\w+) (.*)$", text, re.M)
    assert 3 <= len(commands) <= 4
    for verb, rest in commands:
        assert names_in(rest) <= {name for option in options_of(verb) for name in option.opts}
    assert len(text.splitlines()) <= 15


def test_the_first_screen_names_an_extra_that_is_missing(monkeypatch):
    from plackett.cli import welcome

    monkeypatch.setattr(welcome, "is_installed", lambda package: package != "fastapi")
    assert shown().count("pip install 'plackett[web]'") == 1


def test_help_and_the_first_screen_import_neither_numpy_nor_the_verbs():
    for words in (["--help"], []):
        code = "import sys\nfrom plackett.cli import main\ntry: main()\nfinally: print(sorted(sys.modules))"
        done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
        loaded = done.stdout.splitlines()[-1]
        assert "'numpy'" not in loaded
        assert "'plackett.cli.compare'" not in loaded


def test_an_option_in_a_panel_is_folded_until_help_all():
    assert "Query ids" not in shown("compare", "--help")
    assert "Query ids" in shown("compare", "--help-all")
    assert "Compare rankers" in shown("compare", "-h")
