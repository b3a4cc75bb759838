"""Compare the speed with other packages, in one run: ``make bench``, or ``python -m benchmarks reading metrics``."""
