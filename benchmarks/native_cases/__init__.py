"""Cases of ``python -m benchmarks.against``: one module per kernel family, each with ``CASES``.

A case is a name and a set-up function that returns the call to measure. Cases run with checkouts of different commits,
so they use only names that all of them have.
"""
