"""Notebooks without Jupyter: their cells run in order, and their results become a page."""

import ast
import base64
import io
import json
from collections.abc import Iterator
from html import escape
from pathlib import Path


def results(path: Path) -> Iterator[tuple[str, str]]:
    """Run the code cells of a notebook; yield the source of each and the HTML of its result and its figures."""
    from matplotlib import pyplot

    names: dict[str, object] = {}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] != "code":
            continue
        tree, shown = ast.parse(source), ""
        is_shown = isinstance(tree.body[-1], ast.Expr) and not source.rstrip().endswith(";")
        last = ast.Expression(tree.body.pop().value) if is_shown else None
        exec(compile(tree, path.name, "exec"), names)
        if last is not None:
            value = eval(compile(last, path.name, "eval"), names)
            shown = value._repr_html_() if hasattr(value, "_repr_html_") else f"<pre>{escape(repr(value))}</pre>"
        for number in pyplot.get_fignums():
            file = io.BytesIO()
            pyplot.figure(number).savefig(file, format="png", dpi=100)
            shown += f'<img src="data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}" alt="">'
        pyplot.close("all")
        yield source, shown


# what JupyterLab sets for tables in outputs, light and dark
LAB = """
:root { color-scheme: light dark }
body { font: 14px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 1rem auto; padding: 0 1rem }
body { color: #000000de; background: #fff }
pre { background: #8883; padding: 0.5rem; overflow-x: auto }
img { max-width: 100% }
.out table { border-collapse: collapse; table-layout: fixed; font-size: 12px; margin: 0 auto }
.out td, .out th { text-align: right; vertical-align: middle; padding: 0.5em; max-width: none }
.out tbody tr:nth-child(odd) { background: #8882 }
@media (prefers-color-scheme: dark) { body { color: #ffffffde; background: #111 } }
"""


def page(path: Path) -> str:
    """Return a page with the cells of a notebook and their results."""
    cells = (f'<pre>{escape(source)}</pre><div class="out">{shown}</div>' for source, shown in results(path))
    head = '<!DOCTYPE html><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    return f"{head}<title>{path.stem}</title><style>{LAB}</style>{''.join(cells)}"
