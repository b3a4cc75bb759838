"""Qrels, runs, scores and ratings: each file is read as each of them."""

from __future__ import annotations

import gzip

import plackett as pk
from tests.fuzz.mutations import mutate_bytes, one_of
from tests.fuzz.outcomes import our_errors

OURS = ValueError
SUFFIX = ".txt"
QRELS = b"301 0 FT941-7 1\n301 0 FT943-2 0\n# comment\n302 0 a 2\n"
RUN = b"301 Q0 FT941-7 1 2.5 bm25\n301 Q0 FT943-2 2 1.75 bm25\n302 Q0 a 1 -1e-5 bm25\n"
SCORES = b"1\n-2.5e3\n0.1\ninf\n"
RATINGS = b"196\t242\t3\t881250949\n186\t302\t3\t891717742\n"
READERS = (pk.read_qrels, pk.read_trec_run, pk.evaluation.read_scores, pk.datasets.read_movielens)


def seeds():
    plain = [QRELS, RUN, SCORES, RATINGS, b"userId,movieId,rating,timestamp\n1,2,3.5,4\n"]
    return [*plain, gzip.compress(RUN, mtime=0)]


def mutate(seeds, rng):
    return mutate_bytes(one_of(seeds, rng), rng, seeds)


def read(path):
    refusals = []
    for reader in READERS:
        try:
            with our_errors():
                reader(path)
        except OURS as error:
            refusals.append(error)
    if len(refusals) == len(READERS):
        raise refusals[0]
