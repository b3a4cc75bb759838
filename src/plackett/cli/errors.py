"""Messages of errors: one line, a hint on what to do, and the exit status."""

from __future__ import annotations

import errno
import itertools
import os
import re
import sys
from collections.abc import Iterator
from typing import Any

import click

from plackett._names import did_you_mean, similar_names
from plackett.cli.help import long_name
from plackett.cli.shared import output
from plackett.exceptions import DatasetNotFoundError, ParameterError, UnknownNameError

FAILED, WRONG_USAGE = 1, 2
MEANT = {  # words after "plackett" that other commands have -> what to write
    "help": "plackett --help",
    "version": "plackett --version",
    "-v": "plackett --version",
    "-V": "plackett --version",
    "--help-all": "plackett VERB --help-all",
}
AS_OPTIONS = {  # advice for callers of Python -> for users of the command
    "Choose the columns to use: features=[...], or drop=[...].": "Leave out columns by --drop COLUMN.",
    "For labels with another name, pass label=...; without labels, label=None.": (
        "Name the column of labels: --label COLUMN."
    ),
    "there is no column 'qid'.": "there is no column 'qid'. Name that of the queries: --qid COLUMN.",
    "such as: evaluate(judgements, run).": "such as: plackett evaluate JUDGEMENTS RUN.",
}
HINTS = {
    "free some space, or write to another disk.": (errno.ENOSPC, errno.EDQUOT),
    "check the permissions, or choose another place.": (errno.EACCES, errno.EPERM, errno.EROFS),
    "give the name of a file.": (errno.EISDIR,),
    "check the path.": (errno.ENOTDIR, errno.ENOENT),
}


def show_error(error: Exception, verb: Any, path: str = "plackett") -> int:
    """Print an error of a verb, None for the command itself, and return the exit status; ``path`` are its words."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message(), err=True)
        return WRONG_USAGE
    if isinstance(error.__cause__, ParameterError) and not isinstance(
        error, click.UsageError
    ):  # such as that of the only candidate of a grid
        error = error.__cause__
    is_usage = isinstance(error, (click.UsageError, ParameterError, UnknownNameError))
    message, hint = _message_and_hint(error, verb)
    if notes := getattr(error, "__notes__", None):
        hint = " ".join(notes)
    elif hint is None and is_usage:
        hint = f"{path} --help shows the usage."
    output.alert("error", as_options(message), hint)
    return WRONG_USAGE if is_usage else FAILED


def as_options(message: str) -> str:
    """Return a message of the library with the options of the command in place of arguments."""
    for arguments, options in AS_OPTIONS.items():
        message = message.replace(arguments, options)
    return message


def _message_and_hint(error: Any, verb: Any) -> tuple[str, str | None]:
    """Return the message, and a hint if the message does not say what to do."""
    if isinstance(error, click.UsageError):
        return _usage_message(error, verb), None
    if isinstance(error, ParameterError):
        option = _typed(error.name, error.value, verb)
        return str(error) if option is None else f"{option}: {error.expected}", None
    if isinstance(error, UnknownNameError):
        names = ", ".join(dict.fromkeys(error.known))
        option = None if error.parameter is None else _typed(*error.parameter, verb)
        reason = error.reason if option is None else f"{option} is not known"
        return f"{reason}.{did_you_mean(error.similar)}", f"choose one of {names}."
    if isinstance(error, DatasetNotFoundError):
        message, _, source = str(error).partition(" Get it from ")
        return message, f"get it from {source}" if source else None
    if isinstance(error, OSError) and error.strerror:
        return _system_message(error), next((hint for hint, codes in HINTS.items() if error.errno in codes), None)
    message = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    if isinstance(error, (ValueError, OSError, KeyError, ModuleNotFoundError, MemoryError)):
        return message or type(error).__name__, None
    hint = f"this is a {type(error).__name__}; set PLACKETT_DEBUG=1 to see the traceback."
    return message or type(error).__name__, hint


def _system_message(error: OSError) -> str:
    """Return the path and the reason, without the number of the error."""
    from plackett.storage.atomic import DRAFT

    reason = _sentence(str(error.strerror))
    if error.filename is None:
        return f"reading or writing failed: {reason}"
    path = os.fsdecode(error.filename) if isinstance(error.filename, (str, bytes)) else str(error.filename)
    return f"{re.sub(f'{DRAFT}$', '', path)}: {reason}"


def _sentence(text: str) -> str:
    """Return a text of another program in the form of our messages: a small letter first, a full stop at the end."""
    return text[:1].lower() + text[1:] + ("" if text.endswith((".", "?")) else ".")


# --- Usage ------------------------------------------------------------------------------------------------------------


def _usage_message(error: Any, verb: Any) -> str:
    """Return the message; those that click makes are put in our words."""
    name: Any = getattr(error, "option_name", None)
    if hasattr(error, "possibilities"):
        similar = similar_names(name, [option for option in options_of(verb) if option[:2] == "--"], cutoff=0.7)
        meant = [MEANT[name]] if verb is None and name in MEANT else similar
        return f"there is no option {name if name.isprintable() else repr(name)}.{did_you_mean(meant)}"
    if name is not None:
        return f"{name} needs a value." if "requires" in error.message else f"{name} takes no value."
    if not isinstance(error, click.BadParameter):
        return _sentence(error.message)
    param = error.param
    if param is None:
        return error.message
    is_option = param.param_type_name == "option"
    shown = long_name(param) if is_option else param.metavar or str(param.name).upper()
    if isinstance(error, click.MissingParameter):
        also = next((f" ({name})" for name in param.opts if name != shown), "") if is_option else ""
        return f"{shown}{also} is missing."
    value, is_outside, _ = error.message.partition(" is not in the range ")
    if is_outside and isinstance(param.type, (click.IntRange, click.FloatRange)):
        return f"{shown} {value}: it must be {_bounds(param.type)}."
    return f"{shown}: {_sentence(error.message)}"


def _bounds(kind: click.IntRange | click.FloatRange) -> str:
    low, high = (f"{bound:g}" if isinstance(bound, float) else bound for bound in (kind.min, kind.max))
    if kind.max is None or kind.max_open:
        return f"at least {low}" + (" and finite" if kind.max_open else "")
    return f"from {low} to {high}"


def options_of(verb: Any) -> list[str]:
    """Return the options of a verb, long and short, with those of the ranker that is named."""
    return [option for param in _params(verb) for option in param.opts if option[0] == "-"]


def _params(verb: Any) -> Iterator[click.Parameter]:
    from plackett.cli.shared.rankers import RankerCommand, options_of, ranker_in

    yield from () if verb is None else verb.params
    if isinstance(verb, RankerCommand):
        yield from options_of(ranker_in(sys.argv[1:]) or "linear")


def _typed(name: str, value: object, verb: Any) -> str | None:
    """Return the option that set a parameter, with its value; None for a parameter that the user did not set."""
    words = [word.partition("=")[0] for word in sys.argv[1:]]
    for option, word in itertools.pairwise(words):
        if word == name and option[:1] == "-":  # --set l2=1, --grid l2=1,2
            return f"{option} {name}={value}"
    for param in _params(verb):
        if param.name == name and set(param.opts) & set(words):
            return f"{long_name(param)} {value}"
    return None
