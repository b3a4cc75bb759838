"""Linear rankers and trees in the formats of search engines and other tools, each checked by computing its scores anew.

The room is named ``exports`` because a package ``plackett.export`` would hide the function ``plackett.export``.
"""
