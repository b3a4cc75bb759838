"""Linear rankers, trees and nets in the formats of other tools, each checked by computing its scores anew.

The room is named ``exports`` because a package ``plackett.export`` would hide the function ``plackett.export``.
"""
