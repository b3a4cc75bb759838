"""Speed against peers, in ratios measured in one run: ``make bench``, or ``python -m benchmarks reading metrics``."""
