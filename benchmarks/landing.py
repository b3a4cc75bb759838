"""Update the chart of the landing page: ``python -m benchmarks.landing bench.json [MORE.json ...]``.

A row of ``docs/figures/peers.json`` names the benchmark it shows: how its description begins, and its peer. Ratios of
several files become a range. Rows that no file has stay as they are, with their old date and machine.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.tracking import read_run

CHART = Path(__file__).resolve().parents[1] / "docs" / "figures" / "peers.json"


def updated(rows: list[dict[str, Any]], runs: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the rows with the ratios of the runs, largest first, and the names of those without a result."""
    found, old = [], []
    for row in rows:
        beginning, peer = row["benchmark"]
        ratios, last = [], None
        for run in runs:
            for result in run["peers"]:
                if result["what"].startswith(beginning) and result["peer"] == peer and result["peer_seconds"]:
                    ratios.append(float(f"{result['peer_seconds'] / result['seconds']:.3g}"))
                    last = run
        if last is None:
            old.append(f"{row['what']}, {row['peer']}")
            found.append(row)
            continue
        machine = last["machine"]
        words = f"{machine['processor']}, {machine['cores']} cores, Python {machine['python']}"
        measured = {"faster": [min(ratios), max(ratios)], "date": last["time"][:10], "machine": words}
        found.append({**row, **measured})
    return sorted(found, key=lambda row: -sum(row["faster"])), old


def written(rows: list[dict[str, Any]]) -> str:
    """Return the text of the file, a line for each row."""
    lines = ",\n".join("    " + json.dumps(row, ensure_ascii=False) for row in rows)
    return f'{{\n  "rows": [\n{lines}\n  ]\n}}\n'


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.landing", description=__doc__)
    parser.add_argument("runs", nargs="+", metavar="FILE", help="bench.json of make bench")
    parser.add_argument("--chart", type=Path, default=CHART, help="file to update (docs/figures/peers.json)")
    given = parser.parse_args()
    try:
        runs = sorted((read_run(path) for path in given.runs), key=lambda run: run["time"])
    except (OSError, ValueError) as error:
        sys.exit(f"error: {error}")
    rows, old = updated(json.loads(given.chart.read_text(encoding="utf-8"))["rows"], runs)
    if len(old) == len(rows):
        sys.exit("error: the files have no result for any row of the chart; nothing was written.")
    given.chart.write_text(written(rows), encoding="utf-8")
    for name in old:
        print(f"not measured, left as it was: {name}", file=sys.stderr)
    print(f"{len(rows) - len(old)} of {len(rows)} rows updated in {given.chart}", file=sys.stderr)


if __name__ == "__main__":
    main()
