"""What ``python -m benchmarks.against`` times: one module per kernel family, each with ``CASES``.

A case is a name and a set-up function that returns the call to time. It runs against checkouts of different commits, so
it uses only what all of them have.
"""
