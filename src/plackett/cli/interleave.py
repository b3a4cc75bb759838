"""``plackett interleave``: simulate an interleaved test of two rankers, or read the verdict of a real one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import plackett as pk
from plackett.cli.shared import completion, inputs, options, output
from plackett.cli.shared.options import METHOD, Source, argument, command, option
from plackett.cli.shared.parameters import usage_errors

USER = "Simulated users"
LEVEL = option("Level of the interval.", "--level", type=float, default=0.95, panel=METHOD)


@options.group_of_commands()
def interleave() -> None:
    """Plan an interleaved test of two rankers, or read the verdict of one from its log."""


@command(interleave)
@option("Documents in a list.", "-k", min=1, default=10)
@option("pbm, cascade, ubm or trust.", "--user", metavar="NAME", default="pbm", panel=USER)
@option("Strength of the position bias.", "--eta", min=0.0, default=1.0, panel=USER)
@option("Chance of a click on label 0.", "--epsilon", min=0.0, max=1, default=0.1, panel=USER)
@option("Sessions per user, the unit of the test.", "--sessions-per-user", min=1.0, default=1.0, panel=USER)
@LEVEL
def simulate(
    data: list[str] = options.data_argument(),
    ranker_a: str = option("First ranker: feature, run, scores or model.", "-a", metavar="WHAT", required=True),
    ranker_b: str = option("Second ranker.", "-b", metavar="WHAT", required=True),
    method: str = option(
        "team-draft, optimised, probabilistic, team-draft-multileave, pairwise-preference.",
        "-m",
        default="team-draft",
        choice="plackett.clicks.interleaving.methods:METHODS",
    ),
    credit: str | None = option("optimised: linear (default) or inverse.", metavar="NAME", panel=METHOD),
    sessions: int = option("Sessions of the test.", "-n", min=1, default=10_000),
    seed: int = options.SEED,
    source: Source = Source(),
    as_json: bool = options.JSON,
    **how: Any,
) -> None:
    """The preference of simulated users, and the sessions that a test needs."""
    from plackett.clicks.interleaving.methods import get_method
    from plackett.rankers.refinement.base_score import as_base_score

    with usage_errors():
        get_method(method, credit)
    queries = inputs.load_queries(data, source)
    name = inputs.name_of_data(data)
    rankers: dict[str, Any] = {}
    for option_name, what in (("--ranker-a", ranker_a), ("--ranker-b", ranker_b)):
        ranking = inputs.read_ranking(what, queries, name, option_name)
        rankers[_name(what, rankers)] = as_base_score(ranking, queries)
    how |= {"method": method, "credit": credit, "random_state": seed}
    found = pk.clicks.simulate_interleaving(queries, rankers, sessions, **how)
    output.show(found, as_json=as_json)
    if found.share_contested < 1 and not as_json:
        same = f"{1 - found.share_contested:.1%} of the lists are the same for both rankers"
        output.note(f"{same} and carry no information.")


@command(interleave)
def verdict(
    log: str = argument("A log of plackett serve, which may still grow.", metavar="LOG", complete=completion.files),
    level: float = LEVEL,
    margin: float | None = option("Smallest preference that matters."),
    lists_per_user: int = option("Clicked lists that count per user.", min=1, default=1),
    is_over: bool = option("Also count users with too few lists.", "--over"),
    checkpoint: str | None = option("Keep what was read; the next verdict reads what was added.", metavar="FILE"),
    as_json: bool = options.JSON,
) -> None:
    """The preference and the verdict of each test in a log."""
    how: dict[str, Any] = {"idle": 0 if is_over else None, "checkpoint": checkpoint}
    with usage_errors():
        tests = pk.clicks.read_interleaving(log, lists_per_unit=lists_per_user, **how)
        found = [(name, test.preferences(level=level, margin=margin)) for name, test in tests.items()]
    if as_json:
        output.write_json([{"test": name, "preferences": [one.to_dict() for one in own]} for name, own in found])
        return
    if not found:
        output.note("the log has no interleaved list; start plackett serve with --interleave.")
    for number, (name, own) in enumerate(found):
        output.write(f"{chr(10) if number else ''}{name}")
        output.write("\n\n".join(map(str, own)))
    if len(found) > 1:
        output.note("models were swapped or settings changed: each combination is a separate test.")


def _name(what: str, taken: dict[str, Any]) -> str:
    """Return a short name of a ranker: the name of its file, or its feature."""
    path = Path(what)
    name = path.stem if path.suffix and path.exists() else f"feature {what}" if what.isdecimal() else what
    return name if name not in taken else f"{name} (b)"
