"""CSV needs no extra for judgements, runs, feedback, documents and click logs."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys
sys.modules["pyarrow"] = sys.modules["pandas"] = sys.modules["polars"] = None
from pathlib import Path
import plackett as pk
from plackett.data import judgements
from plackett.data.documents.read import read_documents
from plackett.data.feedback.log import read_feedback

def written(name, text):
    Path(name).write_text(text)
    return name

judged = written("judged.csv", "query,docid,rating\\nq,a,2\\nq,b,0\\n")
run = written("run.tsv", "query\\tdocid\\tscore\\nq\\ta\\t0.5\\nq\\tb\\t0.9\\n")
assert judgements.read(judged).to_qrels().to_dict() == {"q": {"a": 2, "b": 0}}
assert round(pk.evaluate(judged, run, metrics="mrr").mean()["mrr"], 3) == 0.5
assert len(pk.compare_runs(judged, {"one": run}).tables) == 1
assert "1 " in repr(read_feedback(written("feedback.csv", "qid,better,worse\\nq,a,b\\n")))
assert [one.name for one in read_documents(written("texts.csv", "id,body\\na,red\\n"))] == ["a"]
clicks = written("clicks.csv", "session,query,docid,rank,click\\ns,q,a,1,1\\ns,q,b,2,0\\n")
assert len(pk.clicks.read_clicks(clicks)) == 1
data = pk.read_letor(written("lists.txt", "1 qid:1 1:0.5\\n0 qid:1 1:0.1\\n"))
for call, needed in ((lambda: data.to_frame(), "pandas"), (lambda: pk.read_table(judged), "plackett[tables]")):
    try:
        call()
    except ModuleNotFoundError as error:
        assert f"pip install {needed}" in str(error) or f"pip install '{needed}'" in str(error), error
    else:
        raise AssertionError(needed)
"""


def test_csv_is_read_by_the_standard_library(tmp_path):
    subprocess.run([sys.executable, "-c", CODE], cwd=tmp_path, check=True)
