"""Print the packages of plackett with the first line of their docstrings, which the page docs/design.md shows."""

import ast
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "plackett"
WIDTH = 26


def lines(folder: Path = PACKAGE, depth: int = 0) -> list[str]:
    """Return one line for each package below ``folder``."""
    answer = []
    for path in sorted(folder.glob("*/__init__.py")):
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        name = f"{'  ' * depth}{path.parent.name}/"
        answer.append(f"{name:<{WIDTH}}{text.splitlines()[0] if text else ''}".rstrip())
        answer += lines(path.parent, depth + 1)
    return answer


if __name__ == "__main__":
    print("\n".join(lines()))
