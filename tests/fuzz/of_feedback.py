"""Logs of feedback and clicks, as JSON lines and CSV, plain and compressed."""

from __future__ import annotations

import gzip

from plackett.data.feedback.log import read_feedback
from tests.fuzz.mutations import mutate_bytes, one_of
from tests.fuzz.outcomes import our_errors

OURS = ValueError
SUFFIX = ".log"
JSON_LINES = b"""{"qid": "7", "docid": "a", "label": 2}
{"qid": "7", "better": "a", "worse": "b"}
{"query": 8, "shown": ["b", "a", "c"], "clicked": ["a"]}
"""
JUDGED = b'qid,docid,label\n7,a,2\n7,b,0\n8,"a, b",1.5\n'
PAIRS = b"qid,better,worse,times\n7,a,b,1\n7,b,c,20\n"
CLICKS = b"session,qid,docid,clicked,position\n1,7,a,0,1\n1,7,b,1,2\n2,7,a,false,1\n2,7,c,12.5,2\n"


def seeds():
    plain = [JSON_LINES, JUDGED, PAIRS, CLICKS]
    return [*plain, gzip.compress(CLICKS, mtime=0)]


def mutate(seeds, rng):
    return mutate_bytes(one_of(seeds, rng), rng, seeds)


def read(path):
    with our_errors():
        for strategy in ("clicked-above-skipped", "last-click-above-skipped", "clicked-above-next"):
            read_feedback(path, strategy=strategy)
