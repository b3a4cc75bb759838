"""Record results of ``make bench`` for the site: ``python -m benchmarks.record bench.json [MORE.json ...]``.

The tables of ``docs/speed.md`` and the chart of the landing page are made from ``docs/figures/bench.json``. A later
result replaces an earlier one. Results of benchmarks that no file has are kept, as are those with a peer that was not
installed this time; each belongs to the run that measured it.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.tracking import read_run

RECORD = Path(__file__).resolve().parents[1] / "docs" / "figures" / "bench.json"
ABOUT = ("time", "plackett", "commit", "machine")


def merged(old: list[dict[str, Any]], run: dict[str, Any]) -> list[dict[str, Any]]:
    """Return recorded runs with the results of one more."""
    new = {**{name: run[name] for name in ABOUT}, "peers": list(run["peers"])}
    measured = {row["benchmark"] for row in new["peers"]}
    has_peer = {_name(row): row["peer_seconds"] is not None for row in new["peers"]}

    def is_kept(row: dict[str, Any]) -> bool:
        # an old result with the peer is more than a new one without it
        is_more = row["peer_seconds"] is not None and not has_peer.get(_name(row), True)
        return is_more or row["benchmark"] not in measured

    old = [{**one, "peers": list(filter(is_kept, one["peers"]))} for one in old]
    with_peer = {_name(row) for one in old for row in one["peers"]}
    new["peers"] = [row for row in new["peers"] if _name(row) not in with_peer]
    return [one for one in (*old, new) if one["peers"]]


def _name(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["benchmark"], row["what"], row["peer"]


def written(runs: list[dict[str, Any]]) -> str:
    """Return the text of the record, a line for each result."""
    parts = []
    for run in runs:
        about = json.dumps({name: run[name] for name in ABOUT}, ensure_ascii=False)
        rows = ",\n".join("  " + json.dumps(row, ensure_ascii=False, allow_nan=False) for row in run["peers"])
        parts.append(f'{about[:-1]}, "peers": [\n{rows}\n]}}')
    return '{"runs": [\n' + ",\n".join(parts) + "\n]}\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.record", description=__doc__)
    parser.add_argument("runs", nargs="+", metavar="FILE", help="bench.json of make bench")
    parser.add_argument("--record", type=Path, default=RECORD, help="file to update (docs/figures/bench.json)")
    given = parser.parse_args()
    try:
        new = sorted((read_run(path) for path in given.runs), key=lambda run: run["time"])
        runs = json.loads(given.record.read_text(encoding="utf-8"))["runs"] if given.record.exists() else []
    except (OSError, ValueError, KeyError) as error:
        sys.exit(f"error: {error}")
    for run in new:
        if run["commit"].endswith("-dirty"):
            print(f"note: the run of {run['time']} had changes that are not committed", file=sys.stderr)
        runs = merged(runs, run)
    given.record.write_text(written(runs), encoding="utf-8")
    n_rows = sum(len(run["peers"]) for run in runs)
    print(f"{n_rows} results of {len(runs)} runs are in {given.record}", file=sys.stderr)


if __name__ == "__main__":
    main()
