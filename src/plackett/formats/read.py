"""Reading of models of other tools: the format is found by the content."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import IO, Any

from plackett.exceptions import ModelFormatError
from plackett.formats import catboost, lightgbm, ranklib, xgboost
from plackett.formats.detect import ADVICE, format_of
from plackett.formats.model import ToolModel
from plackett.storage.container import one_line

LARGEST_FILE = 2**30
_DAMAGED = (TypeError, LookupError, AttributeError, ArithmeticError)


def read_model(file: IO[bytes], name: str, checked: Callable[[ToolModel], Any]) -> Any:
    """Return the checked model in a file of another tool; raise a ``ModelFormatError`` for others."""
    content = file.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise ModelFormatError(name, f"models of other tools may have at most {LARGEST_FILE:,} bytes.")
    try:
        return checked(_READERS[format_of(content) or "json"](content))
    except RecursionError as error:
        raise ModelFormatError(name, "it holds values that are nested too deeply.") from error
    except UnicodeDecodeError as error:
        raise ModelFormatError(name, f"it is not UTF-8 (byte {error.start:,}).") from error
    except json.JSONDecodeError as error:
        raise ModelFormatError(name, f"it is not valid JSON ({one_line(error)}).") from error
    except KeyError as error:
        raise ModelFormatError(name, f"it lacks {error.args[0]!r}, or is damaged.") from error
    except _DAMAGED as error:
        raise ModelFormatError(name, f"it is damaged ({one_line(error)}).") from error
    except ValueError as error:
        raise ModelFormatError(name, one_line(error)) from error


def _of_json(content: bytes) -> ToolModel:
    document = json.loads(content.decode("utf-8-sig"))
    if isinstance(document, dict) and "learner" in document:
        return xgboost.read_model(document)
    if isinstance(document, dict) and "features_info" in document:
        return catboost.read_model(document)
    if isinstance(document, dict) and "tree_info" in document:
        raise ValueError("it is a dump of LightGBM, which lacks some digits. Save the model: booster.save_model(path).")
    keys = ", ".join(map(repr, list(document)[:5])) if isinstance(document, dict) else type(document).__name__
    raise ValueError(f"it is JSON, but not of XGBoost (learner) or CatBoost (features_info): it has {keys[:200]}.")


def _advise(content: bytes) -> Any:
    raise ValueError(f"it is {next(advice for head, advice in ADVICE.items() if content.startswith(head))}")


_READERS = {
    "lightgbm": lambda content: lightgbm.read_model(content.decode("utf-8").replace("\r\n", "\n")),
    "ranklib": lambda content: ranklib.read_model(content.decode("utf-8")),
    "json": _of_json,
    "advice": _advise,
}
