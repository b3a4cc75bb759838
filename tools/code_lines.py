"""Count lines of Python code in each package: docstrings, comments and blank lines are not counted."""

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

SPACE = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
}

DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def code_lines(path: Path) -> int:
    """Return the number of lines of a file that hold code."""
    text = path.read_text(encoding="utf-8")
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in SPACE:
            found.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and ast.get_docstring(
            node
        ):
            found -= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return len(found)


def main(folder: Path) -> None:
    """Print the number of lines by package, largest first, and their sum."""
    counts: Counter[str] = Counter()
    for path in folder.rglob("*.py"):
        counts[path.relative_to(folder).parts[0]] += code_lines(path)
    for name, count in counts.most_common():
        print(f"{count:6,}  {name}")
    print(f"{counts.total():6,}  in all")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1] / "src" / "plackett"))
