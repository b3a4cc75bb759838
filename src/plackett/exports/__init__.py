"""Linear rankers, trees and nets in the formats of other tools, checked by recomputing their scores.

The package is named ``exports`` because a package ``plackett.export`` would hide the function ``plackett.export``.
"""
