"""The report of a comparison as a page of the site, written anew by each build: demo-report.html."""

from __future__ import annotations

from pathlib import Path

import plackett as pk


def compare():
    """Return the comparison of the landing page; more rankers would make the report larger than 300 KB."""
    data = pk.datasets.make_web_like(n_queries=100, random_state=0)
    return pk.compare("listmle,adarank", data, cv=3, metrics="ndcg@10,map")


def write_report(app, error):
    if error is None and app.builder.format == "html":
        pk.write_report(compare(), Path(app.outdir, "demo-report.html"), title="ListMLE and AdaRank on a synthetic set")


def setup(app):
    app.connect("build-finished", write_report)
    return {"parallel_read_safe": True}
