"""Lists of other search engines: features, base scores and judgements come in, and the refined order goes out."""

from __future__ import annotations

import numpy as np

from plackett.web.collections.base import hits_of
from plackett.web.errors import asked
from plackett.web.schemas.refine import RefineAnswer, RefineRequest
from plackett.web.workbench.searching import reasons


def refine_outside(wish: RefineRequest) -> RefineAnswer:
    """The refined order of a list that was sent along; nothing is looked up and nothing is kept."""
    from plackett.web.workbench.refining import (  # it loads what learns, which the first request waits for
        Judged,
        refine,
    )

    names = [str(row) for row in range(len(wish.features))] if wish.docids is None else wish.docids
    row_of = {name: row for row, name in enumerate(names)}
    with asked():
        hits = hits_of(names, np.array(wish.base_scores), np.array(wish.features, dtype=float), wish.feature_names)
        for named in (*wish.judgements, *(docid for pair in wish.pairs for docid in pair)):
            if named not in row_of:
                raise ValueError(f"a judgement names {named!r}, which is not among the documents.")
        if any(better == worse for better, worse in wish.pairs):
            raise ValueError("a document cannot be preferred to itself.")
        refined = refine(hits, Judged(wish.judgements, wish.pairs), wish.method, wish.keep)
    rows = [row_of[docid] for docid in hits.docid]  # of the request, in base order
    place = np.empty(len(rows), dtype=np.int64)
    place[rows] = np.arange(len(rows))
    return RefineAnswer(
        order=[hits.docid[row] for row in refined.order],
        rows=[rows[row] for row in refined.order],
        scores=refined.scores[place].tolist(),
        moves=refined.moves[place].tolist(),
        why=[reasons(refined, row) for row in place.tolist()],
        note=refined.note,
    )
