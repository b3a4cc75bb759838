"""Fuzzers: valid files are mutated and read. The only allowed outcomes are a result or an error of plackett.

``python -m tests.fuzz KIND --count 100000`` runs one of them. A kind of file is a module ``of_KIND.py`` here with

- ``seeds()``: a list of valid files, as bytes;
- ``mutate(seeds, rng)``: one mutated file, as bytes;
- ``read(path)``: reads a file in every way that users can;
- ``OURS``: the class, or tuple of classes, of errors that ``read`` may raise;
- ``SUFFIX``: the suffix of such files.
"""
