"""``plackett.data.preprocessing`` under its public name, so that it can be imported like the other namespaces."""

import sys

import plackett.data.preprocessing

sys.modules[__name__] = plackett.data.preprocessing
