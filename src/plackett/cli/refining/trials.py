"""Trials in ``plackett refine``: evaluate a base ranking before and after feedback."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from plackett.cli.refining.methods import Methods
    from plackett.evaluation.simulated_feedback import FeedbackResult


def try_lists(
    data: list[str],
    base: str,
    methods: Methods,
    n_judged: int,
    metrics: list[str],
    *,
    pseudo: bool,
    pin_judged: bool,
    as_json: bool,
    zero_based: bool,
    cache: bool,
) -> None:
    """Run a trial in which the labels of the data judge the first documents of each list."""
    from plackett.cli.refining.base import echo_base, read_base
    from plackett.cli.shared import inputs
    from plackett.evaluation.simulated_feedback import relevance_feedback

    inputs.check_data(data)
    queries, ranks_now = read_base(base, data, zero_based=zero_based, cache=cache)
    result = relevance_feedback(
        queries, ranks_now, methods.refiners(), n_judged=n_judged, relevant_from=methods.relevant_from,
        metrics=metrics, pseudo=pseudo, pin_judged=pin_judged,
    )  # fmt: skip
    echo_base(ranks_now, queries)
    _print(result, ("query", "queries"), "document", as_json=as_json)


def try_ratings(
    ratings: str,
    items: str,
    methods: Methods,
    n_train_users: int,
    n_given: int,
    seed: int,
    metrics: list[str],
    *,
    as_json: bool,
) -> None:
    """Run a trial on the rated items of users, given some of their ratings."""
    from plackett.cli.refining.ratings import RELEVANT_FROM, read_rated
    from plackett.evaluation.simulated_recommendation import recommendation

    rated, movies = read_rated(ratings, items)
    relevant_from = RELEVANT_FROM if methods.relevant_from is None else methods.relevant_from
    result = recommendation(
        rated, movies, methods.refiners(), n_train_users=n_train_users, n_given=n_given, relevant_from=relevant_from,
        metrics=metrics, random_state=seed,
    )  # fmt: skip
    _print(result, ("user", "users"), "item", as_json=as_json)


def _print(result: FeedbackResult, lists: tuple[str, str], document: str, *, as_json: bool) -> None:
    from plackett.cli.shared import output
    from plackett.validation import count_of

    if as_json:
        output.write_json(result.to_dict())
        return
    output.write_table(result.to_table())
    n_judged = count_of(int(result.judged.sum()), document)
    output.note(f"{count_of(result.queries.n_queries, *lists)}, {n_judged} judged; p-values: paired t-test")
    for text in result.notes:
        output.note(text)
