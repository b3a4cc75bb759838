"""``plackett interleave``: simulate an interleaved test of two rankers, or read the verdict of a real one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from plackett.cli.shared import completion
from plackett.cli.shared.options import (
    JSON,
    METHOD,
    SEED,
    Number,
    Source,
    argument,
    data_argument,
    flag,
    group_of_commands,
    option,
)

USER = "Simulated users"
LEVEL = option("--level", metavar="X", type=float, default=0.95, help="Level of the interval.", panel=METHOD)


@group_of_commands()
def interleave() -> None:
    """Plan an interleaved test of two rankers, or read the verdict of one from its log."""


@interleave.command()
@data_argument()
@option("-a", "--ranker-a", metavar="WHAT", required=True, help="First ranker: feature, run, scores or model.")
@option("-b", "--ranker-b", metavar="WHAT", required=True, help="Second ranker.")
@option(
    "-m", "--method", metavar="NAME", default="team-draft",
    complete=completion.names_in("plackett.clicks.interleaving.methods", "METHODS"),
    help="team-draft, optimised, probabilistic, team-draft-multileave, pairwise-preference.",
)  # fmt: skip
@option("--credit", metavar="NAME", help="optimised: linear (default) or inverse.", panel=METHOD)
@option("-n", "--sessions", type=click.IntRange(min=1), default=10_000, help="Sessions of the test.")
@option("-k", type=click.IntRange(min=1), default=10, help="Documents in a list.")
@option("--user", metavar="NAME", default="pbm", help="pbm, cascade, ubm or trust.", panel=USER)
@option("--eta", type=Number(min=0), default=1.0, help="Strength of the position bias.", panel=USER)
@option("--epsilon", type=Number(0, 1), default=0.1, help="Chance of a click on label 0.", panel=USER)
@option(
    "--sessions-per-user", type=Number(min=1), default=1.0, panel=USER,
    help="Sessions per user, the unit of the test.",
)  # fmt: skip
@LEVEL
@SEED
@Source.takes
@JSON
def simulate(
    data: list[str],
    ranker_a: str,
    ranker_b: str,
    method: str,
    credit: str | None,
    sessions: int,
    source: Source,
    seed: int,
    as_json: bool,
    **how: Any,
) -> None:
    """The preference of simulated users, and the sessions that a test needs."""
    from plackett.cli.refining.base import read_ranking
    from plackett.cli.shared import inputs, models
    from plackett.cli.shared import output as out
    from plackett.cli.shared.parameters import usage_errors
    from plackett.clicks.interleaving.methods import get_method
    from plackett.clicks.interleaving.simulate import simulate_interleaving
    from plackett.rankers.refinement.base_score import as_base_score

    inputs.check_data(data)
    with usage_errors():
        get_method(method, credit)
    queries = inputs.load_queries(data, source)
    name = models.name_of_data(data)
    rankers: dict[str, Any] = {}
    for option_name, what in (("--ranker-a", ranker_a), ("--ranker-b", ranker_b)):
        queries, ranking = read_ranking(what, queries, name, option_name)
        rankers[_name(what, rankers)] = as_base_score(ranking, queries)
    found = simulate_interleaving(queries, rankers, sessions, method=method, credit=credit, random_state=seed, **how)
    if as_json:
        out.write_json(found.to_dict())
        return
    out.write(str(found))
    if found.share_contested < 1:
        out.note(
            f"{1 - found.share_contested:.1%} of the lists are the same for both rankers and carry no information."
        )


@interleave.command()
@argument("log", metavar="LOG", help="A log of plackett serve, which may still grow.", complete=completion.files)
@LEVEL
@option("--margin", type=float, help="Smallest preference that matters.")
@option("--lists-per-user", type=click.IntRange(min=1), default=1, help="Clicked lists that count per user.")
@flag("--over", "is_over", help="Also count users with too few lists.")
@JSON
def verdict(log: str, level: float, margin: float | None, lists_per_user: int, is_over: bool, as_json: bool) -> None:
    """The preference and the verdict of each test in a log."""
    from plackett.cli.shared import output as out
    from plackett.cli.shared.parameters import usage_errors
    from plackett.clicks.interleaving.from_log import read_interleaving

    with usage_errors():
        tests = read_interleaving(log, lists_per_unit=lists_per_user, idle=0 if is_over else None)
    found = []
    for name, test in tests.items():
        with usage_errors():
            found.append((name, test.preferences(level=level, margin=margin)))
    if as_json:
        out.write_json([{"test": name, "preferences": [one.to_dict() for one in own]} for name, own in found])
        return
    if not found:
        out.note("the log has no interleaved list; start plackett serve with --interleave.")
    for number, (name, own) in enumerate(found):
        out.write(f"{chr(10) if number else ''}{name}")
        out.write("\n\n".join(map(str, own)))
    if len(found) > 1:
        out.note("models were swapped or settings changed: each combination is a separate test.")


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
