"""``plackett interleave``: an interleaved test of two rankers on simulated users."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from plackett.cli.shared.options import METHOD, AsJson, Cache, Seed, ZeroBased

SIMULATE = "simulate"
USAGE = f"expected: plackett interleave {SIMULATE} DATA --ranker-a WHAT --ranker-b WHAT."
USER = "Simulated users"


def interleave(
    words: Annotated[
        list[str],
        typer.Argument(metavar="simulate DATA", help="What to do, and LETOR files, tables or a known set with labels."),
    ],
    ranker_a: Annotated[
        str, typer.Option("--ranker-a", "-a", metavar="WHAT", help="First ranker: feature, run, scores or model.")
    ],
    ranker_b: Annotated[str, typer.Option("--ranker-b", "-b", metavar="WHAT", help="Second ranker.")],
    method: Annotated[
        str,
        typer.Option(
            "--method",
            "-m",
            metavar="NAME",
            help="team-draft, optimised, probabilistic, balanced, team-draft-multileave, pairwise-preference.",
        ),
    ] = "team-draft",
    credit: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Of optimised: linear (default) or inverse.", rich_help_panel=METHOD),
    ] = None,
    sessions: Annotated[int, typer.Option("--sessions", "-n", min=1, help="Sessions of the test.")] = 10_000,
    k: Annotated[int, typer.Option("-k", min=1, help="Documents in a list.")] = 10,
    user: Annotated[
        str, typer.Option(metavar="NAME", help="pbm, cascade, ubm or trust.", rich_help_panel=USER)
    ] = "pbm",
    eta: Annotated[float, typer.Option(min=0, help="How much the rank matters.", rich_help_panel=USER)] = 1.0,
    epsilon: Annotated[
        float, typer.Option(min=0, max=1, help="Chance of a click on label 0.", rich_help_panel=USER)
    ] = 0.1,
    sessions_per_user: Annotated[
        float, typer.Option(min=1, help="Sessions per user, the unit of the test.", rich_help_panel=USER)
    ] = 1.0,
    level: Annotated[float, typer.Option(help="Level of the interval.", rich_help_panel=METHOD)] = 0.95,
    seed: Seed = 0,
    zero_based: ZeroBased = False,
    cache: Cache = False,
    as_json: AsJson = False,
) -> None:
    """Plan an interleaved test: two rankers, users who click by the labels, and A/B tests beside it.

    simulate: serve mixed lists of both rankers, and print the preference, its interval and the sessions needed.
    """
    from plackett.cli.refining.base import read_ranking
    from plackett.cli.shared import inputs, models
    from plackett.cli.shared import output as out
    from plackett.cli.shared.parameters import usage_errors
    from plackett.clicks.interleaving.methods import get_method
    from plackett.clicks.interleaving.simulate import simulate_interleaving
    from plackett.rankers.refinement.base_score import as_base_score

    if words[0] != SIMULATE or len(words) < 2:
        raise typer.BadParameter(USAGE)
    data = words[1:]
    inputs.check_data(data)
    with usage_errors():
        get_method(method, credit)
    queries = inputs.load_queries(data, zero_based=zero_based, cache=cache)
    name = models.name_of_data(data)
    rankers: dict[str, Any] = {}
    for option, what in (("--ranker-a", ranker_a), ("--ranker-b", ranker_b)):
        queries, ranking = read_ranking(what, queries, name, option)
        rankers[_name(what, rankers)] = as_base_score(ranking, queries)
    found = simulate_interleaving(
        queries,
        rankers,
        sessions,
        method=method,
        credit=credit,
        user=user,
        k=k,
        eta=eta,
        epsilon=epsilon,
        sessions_per_user=sessions_per_user,
        level=level,
        random_state=seed,
    )
    if as_json:
        out.write_json(found.to_dict())
        return
    out.write(str(found))
    if method == "balanced":
        out.note("balanced interleaving prefers one of two rankers also under random clicks; choose another method.")
    if found.share_contested < 1:
        out.note(f"{1 - found.share_contested:.1%} of the lists are the same for both rankers and say nothing.")


def _name(what: str, taken: dict[str, Any]) -> str:
    """Return a short name of a ranker: the name of its file, or its feature."""
    name = (
        Path(what).stem
        if Path(what).suffix and Path(what).exists()
        else f"feature {what}"
        if what.isdecimal()
        else what
    )
    return name if name not in taken else f"{name} (b)"
