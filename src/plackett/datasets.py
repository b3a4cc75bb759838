"""``plackett.data.datasets`` under its public name, so that it can be imported like the other namespaces."""

import sys

from plackett.data.datasets import *  # noqa: F403  for type checkers

sys.modules[__name__] = sys.modules["plackett.data.datasets"]
