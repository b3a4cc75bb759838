"""Files of one byte that determines the outcome of reading them, for tests of the runner."""

from __future__ import annotations

import os
import signal

import numpy as np

OURS = ValueError
SUFFIX = ".bin"


def seeds():
    return [b"0"]


def mutate(seeds, rng):
    return one_byte(int(rng.choice(7, p=[0.3, 0.27, 0.18, 0.08, 0.08, 0.04, 0.05])))


def one_byte(number):
    return str(number).encode()


def read(path):
    what = path.read_bytes()
    if what == b"1":
        raise ValueError("ours")
    if what == b"2":
        raise KeyError("not ours")
    if what == b"3":
        np.empty(1 << 42)
    if what == b"4":
        np.ones(300 << 17)
    if what == b"5":
        while True:
            pass
    if what == b"6":
        os.kill(os.getpid(), signal.SIGSEGV)
