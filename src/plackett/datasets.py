"""``plackett.data.datasets`` under its public name, so that it can be imported like the other namespaces."""

import sys

import plackett.data.datasets

sys.modules[__name__] = plackett.data.datasets
