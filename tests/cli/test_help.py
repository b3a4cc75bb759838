"""Help of the command: one screen per verb, all options in ``--help-all``, and the first screen."""

import re
import subprocess
import sys

import pytest
from click import Group
from click.testing import CliRunner

from plackett.cli.app import VERBS, app, load_verb

SCREEN = 24  # lines of the smallest usual terminal
WIDTH = 80


@pytest.fixture(autouse=True)
def _of_80_columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", str(WIDTH))


# the verbs, and the commands of those that are groups
COMMANDS = [
    words
    for verb in VERBS
    for words in (
        [f"{verb} {name}".strip() for name in load_verb(verb).commands]
        if isinstance(load_verb(verb), Group)
        else [verb]
    )
]


def shown(*words):
    done = CliRunner().invoke(app, [*words], prog_name="plackett")
    assert done.exit_code == 0
    return done.stdout


def options_of(words):
    verb, _, name = words.partition(" ")
    command = load_verb(verb)
    return [
        param
        for param in (command.commands[name] if isinstance(command, Group) else command).params
        if param.param_type_name == "option" and not param.hidden and param.name not in ("help", "help_all")
    ]


def names_in(text):
    return set(re.findall(r"(?<![\w-])--[a-z0-9-]+", text))


@pytest.mark.parametrize("words", COMMANDS)
def test_help_of_a_command_is_one_screen(words):
    lines = shown(*words.split(), "--help").splitlines()
    assert len(lines) <= SCREEN
    assert all(len(line) <= WIDTH for line in lines)  # an example in one line can be copied


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_a_verb_has_an_example(verb):
    lines = shown(verb, "--help").splitlines()
    assert len(lines) <= SCREEN
    assert any(line.startswith(f"Example: plackett {verb} ") for line in lines)


@pytest.mark.parametrize("words", COMMANDS)
def test_help_names_every_option_and_help_all_explains_them(words):
    short, full = shown(*words.split(), "--help"), shown(*words.split(), "--help-all")
    for option in options_of(words):
        name = next((name for name in option.opts if name.startswith("--")), option.opts[0])
        assert name in names_in(short) | {"-k", "-n"}
        explained = re.search(rf"^│ (?:-[-\w]+, )*{re.escape(name)}(?![\w-])[^│]*? {{2}}(\S[^│]*)", full, re.M)
        assert explained is not None, f"{name} is not explained"
        first = " ".join((option.help or "").split()[:2])
        assert explained[1].removeprefix("Required. ").startswith(first.rstrip(".")), name


@pytest.mark.parametrize("words", COMMANDS)
def test_no_type_stands_beside_an_option(words):
    assert not re.search(r"<(bool|str|int|float|list)|INTEGER|FLOAT", shown(*words.split(), "--help-all"))


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
        words = next(words for words in (f"{verb} {rest.split()[0]}", verb) if words in COMMANDS)
        assert names_in(rest) <= {name for option in options_of(words) for name in option.opts}
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
