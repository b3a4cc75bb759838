"""``plackett interleave``: simulate an interleaved test of two rankers, or read the verdict of a real one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from plackett.cli.shared import completion
from plackett.cli.shared.options import METHOD, AsJson, Cache, Seed, ZeroBased

SIMULATE, VERDICT = "simulate", "verdict"
USAGE = (
    f"expected: plackett interleave {SIMULATE} DATA --ranker-a WHAT --ranker-b WHAT, "
    f"or plackett interleave {VERDICT} LOG."
)
USER, LOGGED = "Simulated users", "Verdict"


def interleave(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="simulate DATA | verdict LOG",
            help="Judged lists; or a log of plackett serve.",
            autocompletion=completion.task_and((SIMULATE, VERDICT), completion.data),
        ),
    ],
    ranker_a: Annotated[
        str | None,
        typer.Option("--ranker-a", "-a", metavar="WHAT", help="First ranker: feature, run, scores or model."),
    ] = None,
    ranker_b: Annotated[str | None, typer.Option("--ranker-b", "-b", metavar="WHAT", help="Second ranker.")] = None,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            "-m",
            metavar="NAME",
            help="team-draft, optimised, probabilistic, team-draft-multileave, pairwise-preference.",
            autocompletion=completion.names_in("plackett.clicks.interleaving.methods", "METHODS"),
        ),
    ] = "team-draft",
    credit: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="optimised: linear (default) or inverse.", rich_help_panel=METHOD),
    ] = None,
    sessions: Annotated[int, typer.Option("--sessions", "-n", min=1, help="Sessions of the test.")] = 10_000,
    k: Annotated[int, typer.Option("-k", min=1, help="Documents in a list.")] = 10,
    user: Annotated[
        str, typer.Option(metavar="NAME", help="pbm, cascade, ubm or trust.", rich_help_panel=USER)
    ] = "pbm",
    eta: Annotated[float, typer.Option(min=0, help="Strength of the position bias.", rich_help_panel=USER)] = 1.0,
    epsilon: Annotated[
        float, typer.Option(min=0, max=1, help="Chance of a click on label 0.", rich_help_panel=USER)
    ] = 0.1,
    sessions_per_user: Annotated[
        float, typer.Option(min=1, help="Sessions per user, the unit of the test.", rich_help_panel=USER)
    ] = 1.0,
    level: Annotated[float, typer.Option(help="Level of the interval.", rich_help_panel=METHOD)] = 0.95,
    margin: Annotated[
        float | None, typer.Option(help="Smallest preference that matters.", rich_help_panel=LOGGED)
    ] = None,
    lists_per_user: Annotated[
        int, typer.Option("--lists-per-user", min=1, help="Clicked lists that count per user.", rich_help_panel=LOGGED)
    ] = 1,
    is_over: Annotated[
        bool, typer.Option("--over", help="Also count users with too few lists.", rich_help_panel=LOGGED)
    ] = False,
    seed: Seed = 0,
    zero_based: ZeroBased = False,
    cache: Cache = False,
    as_json: AsJson = False,
) -> None:
    """Plan an interleaved test of two rankers, or read the verdict of one from its log.

    simulate: the preference of simulated users, and the sessions that a test needs.
    verdict: the preference and the verdict of each test in a log.
    """
    from plackett.cli.refining.base import read_ranking
    from plackett.cli.shared import inputs, models
    from plackett.cli.shared import output as out
    from plackett.cli.shared.parameters import usage_errors
    from plackett.clicks.interleaving.methods import get_method
    from plackett.clicks.interleaving.simulate import simulate_interleaving
    from plackett.rankers.refinement.base_score import as_base_score

    if words[0] == VERDICT and len(words) == 2:
        if ranker_a is not None or ranker_b is not None:
            raise typer.BadParameter(f"--ranker-a and --ranker-b apply only to plackett interleave {SIMULATE}.")
        _write_verdicts(words[1], lists_per_user, level, margin, is_over, as_json)
        return
    if words[0] != SIMULATE or len(words) < 2 or ranker_a is None or ranker_b is None:
        raise typer.BadParameter(USAGE)
    if margin is not None or is_over or lists_per_user > 1:
        words_of_verdict = "--margin, --over and --lists-per-user"
        raise typer.BadParameter(f"{words_of_verdict} apply only to plackett interleave {VERDICT}.")
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
    if found.share_contested < 1:
        out.note(
            f"{1 - found.share_contested:.1%} of the lists are the same for both rankers and carry no information."
        )


def _write_verdicts(
    log: str, lists_per_user: int, level: float, margin: float | None, is_over: bool, as_json: bool
) -> None:
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
