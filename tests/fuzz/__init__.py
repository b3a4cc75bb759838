"""Fuzzers: sound files are mutated and read, and nothing may happen but a result or an error of ours.

``python -m tests.fuzz KIND --count 100000`` runs one of them. A kind of file is a module ``of_KIND.py`` here with

- ``seeds()``: a list of sound files, as bytes;
- ``mutate(seeds, rng)``: one mutated file, as bytes;
- ``read(path)``: reads a file in every way that users do;
- ``OURS``: the class, or tuple of classes, of errors that ``read`` may raise;
- ``SUFFIX``: how the names of such files end.
"""
