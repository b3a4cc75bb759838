"""``plackett refine``: improve an existing ranking with feedback."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from plackett.cli.shared import completion
from plackett.cli.shared.options import METHOD, OUTPUT, AsJson, Cache, ZeroBased

FEEDBACK, JUDGE_FIRST, RATINGS, USER = "--feedback", "--judge-first", "--ratings", "--user"
USES = (USER, RATINGS, FEEDBACK, JUDGE_FIRST)  # the first given option decides
BELONGS_TO = {  # option -> the uses that accept it
    "DATA": (FEEDBACK, JUDGE_FIRST),
    "--base": (FEEDBACK, JUDGE_FIRST),
    FEEDBACK: (FEEDBACK,),
    JUDGE_FIRST: (JUDGE_FIRST,),
    RATINGS: (RATINGS, USER),
    "--items": (RATINGS, USER),
    "--strategy": (FEEDBACK,),
    "--output": (FEEDBACK,),
    "--run": (FEEDBACK,),
    "--pseudo": (JUDGE_FIRST,),
    "--pin-judged": (FEEDBACK, JUDGE_FIRST),
    "--metrics": (JUDGE_FIRST, RATINGS),
    "--train-users": (RATINGS,),
    "--given": (RATINGS,),
    "--seed": (RATINGS,),
    "--top": (USER,),
    "--min-ratings": (USER,),
    "--zero-based": (FEEDBACK, JUDGE_FIRST),
    "--cache": (FEEDBACK, JUDGE_FIRST),
}
NEEDED = {
    FEEDBACK: ("DATA", "--base"),
    JUDGE_FIRST: ("DATA", "--base"),
    RATINGS: (RATINGS, "--items"),
    USER: (RATINGS, "--items"),
}
LISTS, RATED = None, "Ratings"  # panels of the help


def _option(panel: str | None, metavar: str, text: str, *names: str, **others: Any) -> Any:
    return typer.Option(*names, metavar=metavar, help=text, rich_help_panel=panel, show_default=False, **others)


def refine(
    data: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="DATA",
            help="LETOR or Parquet files, '-', or a known set.",
            show_default=False,
            autocompletion=completion.data,
        ),
    ] = None,
    base: Annotated[
        str | None, _option(LISTS, "WHAT", "Base ranking: feature, run, scores, model.", "--base", "-b")
    ] = None,
    feedback: Annotated[
        list[str] | None,
        _option(LISTS, "FILE", "Judgements, pairs, clicks: qrels, CSV, JSONL.", FEEDBACK, "-f"),
    ] = None,
    judgements: Annotated[list[str] | None, typer.Option("--judgements", "-j", hidden=True)] = None,
    strategy: Annotated[
        str | None, _option(LISTS, "NAME", "Click strategy (clicked-above-skipped).", "--strategy")
    ] = None,
    judge_first: Annotated[
        int | None, _option(LISTS, "N", "Trial: labels of DATA judge the first N.", JUDGE_FIRST)
    ] = None,
    pseudo: Annotated[bool, _option(LISTS, "", "Trial: take the first N as relevant.", "--pseudo")] = False,
    pin_judged: Annotated[bool, _option(LISTS, "", "Pin judged documents first or last.", "--pin-judged")] = False,
    zero_based: ZeroBased = False,
    cache: Cache = False,
    ratings: Annotated[
        str | None, _option(RATED, "FILE", "MovieLens: u.data, ratings.dat, ratings.csv.", RATINGS)
    ] = None,
    items: Annotated[
        str | None, _option(RATED, "FILE", "MovieLens: u.item, movies.dat, movies.csv.", "--items")
    ] = None,
    user: Annotated[int | None, _option(RATED, "ID", "Recommend to this user; without it, a trial.", USER)] = None,
    top: Annotated[int | None, _option(RATED, "N", "Number of recommended items (10).", "--top")] = None,
    min_ratings: Annotated[
        int | None, _option(RATED, "N", "Only items that N users rated (20).", "--min-ratings")
    ] = None,
    train_users: Annotated[
        int | None, _option(RATED, "N", "Trial: users to train the base (20).", "--train-users")
    ] = None,
    given: Annotated[int | None, _option(RATED, "N", "Trial: known ratings per user (10).", "--given")] = None,
    seed: Annotated[int | None, _option(RATED, "N", "Trial: random seed (0).", "--seed")] = None,
    method: Annotated[
        str,
        _option(
            METHOD,
            "NAMES",
            "mrr (default), lrr, rocchio; trials take several.",
            "--method",
            autocompletion=completion.names_in("plackett.cli.refining.methods", "METHODS"),
        ),
    ] = "mrr",
    rounds: Annotated[int | None, _option(METHOD, "N", "mrr, lrr: rounds (50).", "--rounds")] = None,
    eta: Annotated[float | None, _option(METHOD, "X", "mrr, lrr: noise of the feedback.", "--eta")] = None,
    gamma: Annotated[float | None, _option(METHOD, "X", "lrr: weight of the base (0.1).", "--gamma")] = None,
    alpha: Annotated[float | None, _option(METHOD, "X", "rocchio: weight of the relevant (2).", "--alpha")] = None,
    beta: Annotated[float | None, _option(METHOD, "X", "rocchio: weight of the irrelevant (1).", "--beta")] = None,
    relevant_from: Annotated[
        float | None, _option(METHOD, "X", "Labels of X or more count 1, others 0.", "--relevant-from")
    ] = None,
    metrics: Annotated[
        list[str] | None,
        _option(
            OUTPUT,
            "NAMES",
            "Measures of a trial (p@1,p@5,p@10,map).",
            "--metrics",
            "-m",
            autocompletion=completion.measures,
        ),
    ] = None,
    target: Annotated[str | None, _option(OUTPUT, "FILE", "Output file (standard output).", "--output", "-o")] = None,
    tag: Annotated[str | None, _option(OUTPUT, "TAG", "Write a TREC run of this name.", "--run")] = None,
    as_json: AsJson = False,
) -> None:
    """Refine a ranking with judgements or clicks, recommend items by ratings, or evaluate either in a trial."""
    from plackett.cli.refining import lists as refine_lists
    from plackett.cli.refining import ratings as refine_ratings
    from plackett.cli.refining import trials as refine_trials
    from plackett.cli.refining.methods import Methods
    from plackett.cli.shared import measures

    feedback = [*(feedback or ()), *(judgements or ())]  # an alias
    use = _use_of({
        "DATA": data, "--base": base, FEEDBACK: feedback, "--strategy": strategy, JUDGE_FIRST: judge_first,
        "--pseudo": pseudo, "--pin-judged": pin_judged, "--zero-based": zero_based, "--cache": cache, RATINGS: ratings,
        "--items": items, USER: user, "--top": top, "--min-ratings": min_ratings, "--train-users": train_users,
        "--given": given, "--seed": seed, "--metrics": metrics, "--output": target, "--run": tag,
    })  # fmt: skip
    methods = Methods(method, relevant_from, rounds=rounds, eta=eta, gamma=gamma, alpha=alpha, beta=beta)
    wanted = measures.parse_measures(metrics or "p@1,p@5,p@10,map")
    if use in (FEEDBACK, USER):
        methods.check_single(use)
    if use in (RATINGS, USER):
        assert ratings is not None
        assert items is not None
        if user is not None:
            refine_ratings.recommend_to(user, ratings, items, methods, top or 10, min_ratings or 20, as_json=as_json)
            return
        refine_trials.try_ratings(
            ratings, items, methods, train_users or 20, given or 10, seed or 0, wanted, as_json=as_json
        )
        return
    assert data is not None
    assert base is not None
    if pseudo and pin_judged:
        raise typer.BadParameter("--pin-judged needs judged documents; --pseudo has none.")
    how = {"pin_judged": pin_judged, "as_json": as_json, "zero_based": zero_based, "cache": cache}
    if feedback:
        refine_lists.refine(data, base, methods, feedback, strategy, target or "-", tag, **how)
        return
    assert judge_first is not None
    refine_trials.try_lists(data, base, methods, judge_first, wanted, pseudo=pseudo, **how)


def _use_of(found: dict[str, Any]) -> str:
    """Return the use of the command; raise if the options do not belong together."""
    found = {name: value for name, value in found.items() if value is not None and value is not False and value != []}
    use = next((use for use in USES if use in found), None)
    if use is None:
        raise typer.BadParameter(
            f"give {FEEDBACK} FILE to refine DATA, {JUDGE_FIRST} N for a trial, or {RATINGS} FILE to recommend."
        )
    for name in found:
        if use not in BELONGS_TO.get(name, USES):
            raise typer.BadParameter(
                f"{name} requires {' or '.join(BELONGS_TO[name])}; it cannot be combined with {use}."
            )
    for name in NEEDED[use]:
        if name not in found:
            raise typer.BadParameter(f"{use} needs {' and '.join(NEEDED[use])}; {name} is missing.")
    for name in (JUDGE_FIRST, "--top", "--min-ratings", "--train-users", "--given", "--seed"):
        least = 0 if name == "--seed" else 1
        if found.get(name, least) < least:
            raise typer.BadParameter(f"{name} {found[name]}: it must be at least {least}.")
    return use
