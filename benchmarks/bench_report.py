"""Measure the report: its size for 1,000 queries and 12 rankers, and the time of clicks on it in Chromium.

The rankers are linear, with different penalties, so that the fits take little time. With ``PLACKETT_DATA``
the report of MQ2008 with 12 rankers is measured as well.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from pathlib import Path

import plackett as pk
from benchmarks.timing import Result
from tests.browser import click_cost, screen, start_browser

N_QUERIES, N_DOCS, N_FEATURES = 1_000, 40, 46
RANKERS = (
    "listmle,p-listmle,listnet,rankcosine,cs-listmle,ranksvm,ranknet,regression,adarank,rankboost,featurerank,prank"
)
N_CLICKS = 20

CLICKS = {
    "row": ".pk-open",
    "sort": ".pk-scroll thead button",
    "next page": ".pk-turn",
    "swap": "button[aria-label='Swap A and B']",
    "all rankers": ".pk-check input",
}


def run() -> list[Result]:
    data = pk.datasets.make_web_like(N_QUERIES, N_DOCS, N_FEATURES, random_state=0)
    rankers = {f"ranker {number:02d}": pk.LinearRanker(l2=10.0 ** -(number / 2)) for number in range(12)}
    made = pk.compare(rankers, data, cv=2, metrics="ndcg@10,map", explain=True)
    rows = _measured("1,000 queries × 12 rankers", made)
    if "PLACKETT_DATA" in os.environ:
        options = {"cv": "letor", "convention": "letor4", "metrics": "map,ndcg@10", "baseline": "ranksvm"}
        seconds = []
        for explain in (False, True):
            start = time.process_time()
            real = pk.compare(RANKERS, "mq2008", **options, explain=explain)
            seconds.append(time.process_time() - start)
        rows.append(Result("MQ2008 × 12 rankers, explain=True, CPU", seconds[1], "explain=False", seconds[0]))
        rows += _measured("MQ2008 × 12 rankers", real)
    return rows


def _measured(name: str, comparison: pk.evaluation.Comparison) -> list[Result]:
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        path = pk.write_report(comparison, Path(folder) / "report.html")
        seconds, size = time.process_time() - start, path.stat().st_size / 1e6
        rows = [Result(f"{name}, write_report, CPU", seconds, "", None, note=f"{size:.2f} MB, limit 3 MB")]
        browser = start_browser(Path(folder) / "browser")
        try:
            screen(browser, 1200)
            start = time.perf_counter()
            browser.get(path.as_uri())
            rows.append(Result(f"{name}, opened", time.perf_counter() - start, "", None))
            for what, selector in CLICKS.items():
                n_places = len(browser.find_elements("css selector", selector))
                costs = [click_cost(browser, selector, number % n_places) for number in range(N_CLICKS)]
                wall, processor = (statistics.median(part) for part in zip(*costs, strict=True))
                note = f"median of {N_CLICKS}; processor {processor:.3f} s"
                rows.append(Result(f"{name}, click: {what}", wall, "limit", 0.1, note=note))
            assert browser.get_log("browser") == [], "the page wrote to the console"
        finally:
            browser.quit()
    return rows
