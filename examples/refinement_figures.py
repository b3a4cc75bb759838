"""What ranking refinement is worth, figure by figure of the paper behind it (docs/references.md: jin2008).

    python examples/refinement_figures.py FOLDER_OF_LETOR2_OHSUMED [FOLDER_OF_MOVIELENS_100K]

The first folder holds S1.txt to S5.txt of LETOR 2.0 (25 features), the second u.data and u.item; compressed or not.
"MRR" and "LRR" are MultiplicativeRefiner and LinearRefiner with 50 rounds of exact stumps, and with the library's
eta = 0.02 unless a name says otherwise; the paper's is 0.5. LRR is tried over the paper's range of gamma, 0.1 to 10,
and below it. "Best" and "worst" of several settings are those by mean NDCG@10 on the very lists that are measured, as
the paper has it: no choice that a user could make. Tests are two-sided paired t-tests over queries (or users), not
corrected for their number: of many, one in twenty comes out at 5 % by chance. What "judged sorted" gains on the full
list takes no learning; on the residual list it is the base.
"""

import itertools
import sys
import warnings
from pathlib import Path

import numpy as np
from scipy.stats import ttest_rel
from sklearn.base import BaseEstimator

import plackett as pk
from plackett.data.movielens import read_movies
from plackett.evaluation.feedback import recommendation, relevance_feedback

CUTOFFS = (1, 3, 5, 10, 15, 20, 25)
PRECISIONS = [f"p@{k}" for k in CUTOFFS]
GAINS = [str(pk.Measure("ndcg", k=k, discount="jarvelin")) for k in CUTOFFS]
CHOSEN_BY = GAINS[CUTOFFS.index(10)]
FAMILIES = {"P": PRECISIONS, "NDCG": GAINS}
BASE_COLUMNS = (20, 10, 6)  # features 21 (BM25), 11 and 7
BUDGETS = (5, 10, 15, 20)
DRAWS = (0, 1, 2, 3)
LEVEL = 0.05
TESTED = [*PRECISIONS, *GAINS[1:]]  # of binary labels NDCG@1 is P@1
MRR, PAPER_MRR, SORTED = "MRR", "MRR, eta=0.5", "judged sorted"

PAPER_GAMMAS = (0.1, 0.3, 1, 3, 10)
LRR = {f"LRR, gamma={gamma:g}": pk.LinearRefiner(gamma=gamma) for gamma in PAPER_GAMMAS}
SMALL_LRR = {f"LRR below 0.1, gamma={gamma:g}": pk.LinearRefiner(gamma=gamma) for gamma in (0.03, 0.01)}
PAPER_LRR = {f"LRR, eta=0.5, gamma={gamma:g}": pk.LinearRefiner(gamma=gamma, eta=0.5) for gamma in PAPER_GAMMAS}
RATIOS = ((2, 1), (1, 1), (3, 2), (3, 1), (5, 1), (10, 1), (1, 2))
ROCCHIO = {f"Rocchio, {alpha}:{beta}": pk.RocchioRefiner(alpha, beta) for alpha, beta in RATIOS}


class JudgedSorted(BaseEstimator):
    """Learns nothing: what was judged relevant first, what was judged not last, and the base ranking between them."""

    def fit(self, queries, judgements, *, base_score):
        base = pk.as_base_score(base_score, queries)
        side = np.where(np.isnan(judgements), 0, np.where(judgements > 0, 1, -1))
        self.scores_ = base + side * (np.ptp(base) + 1)
        return self


class RankSVM(BaseEstimator):
    """RankSVM of each list on its judged documents alone, the base score one more feature.

    Features are z-scores within the list. Where no two judged documents differ, the base ranking stays.
    """

    def __init__(self, l2=0.1):
        self.l2 = l2

    def fit(self, queries, judgements, *, base_score):
        base = pk.as_base_score(base_score, queries)
        rows = queries.X.toarray() if hasattr(queries.X, "toarray") else np.asarray(queries.X)
        features = pk.QueryZScore().fit_transform(np.column_stack([rows, base]), qid=queries.qid)
        self.scores_ = base.astype(float)
        for first, last in zip(queries.indptr[:-1], queries.indptr[1:], strict=True):
            own, told = features[first:last], judgements[first:last]
            is_judged = ~np.isnan(told)
            if np.unique(told[is_judged]).size > 1:
                one_list = np.zeros(int(is_judged.sum()))
                svm = pk.LinearRanker(loss="hinge", l2=self.l2).fit(own[is_judged], told[is_judged], qid=one_list)
                self.scores_[first:last] = svm.predict(own)
        return self


RANKSVM = {f"RankSVM, l2={l2:g}": RankSVM(l2) for l2 in (0.1, 1, 10, 100)}
GROUPS = {
    "LRR": LRR, "LRR below 0.1": SMALL_LRR, "LRR, eta=0.5": PAPER_LRR, "Rocchio": ROCCHIO, "RankSVM": RANKSVM,
}  # fmt: skip
REFINERS = {
    SORTED: JudgedSorted(),
    MRR: pk.MultiplicativeRefiner(),
    PAPER_MRR: pk.MultiplicativeRefiner(eta=0.5),
    **LRR, **SMALL_LRR, **PAPER_LRR, **ROCCHIO, **RANKSVM,
}  # fmt: skip


def compare(own, other):
    """Mean difference, and p of a paired t-test over the queries that count for both; 1 where none differs."""
    counts = ~np.isnan(own - other)
    own, other = own[counts], other[counts]
    return float(np.mean(own - other)), float(ttest_rel(own, other).pvalue) if np.any(own != other) else 1.0


def with_extremes(rankings):
    """Of each group the first setting (the default, where it has one), the best and the worst; others as they are."""
    grouped = {name for group in GROUPS.values() for name in group}
    answer = {name: table for name, table in rankings.items() if name not in grouped}
    for group, members in GROUPS.items():
        found = [name for name in members if name in rankings]
        if found:
            order = sorted(found, key=lambda name: rankings[name].mean()[CHOSEN_BY])
            if found[0] not in order[:1] + order[-1:]:
                answer[found[0]] = rankings[found[0]]
            answer[f"{group} best ({order[-1].removeprefix(group).strip(', ')})"] = rankings[order[-1]]
            answer[f"{group} worst ({order[0].removeprefix(group).strip(', ')})"] = rankings[order[0]]
    return answer


def print_table(heads, rows):
    print("\n| " + " | ".join(heads) + " |")
    print("|---" * len(heads) + "|")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print(flush=True)


def print_figure(title, rankings):
    """Means of every ranking at every cut-off, each with p of its difference to MRR."""
    for family, metrics in FAMILIES.items():
        print(f"\n**{family}@k, {title}** (in brackets p of the difference to MRR)")
        rows = []
        for name, table in rankings.items():
            cells = [f"{table.mean()[metric]:.3f}" for metric in metrics]
            if name != MRR:
                tests = [compare(rankings[MRR][metric], table[metric])[1] for metric in metrics]
                cells = [f"{cell} ({p:.2g})" for cell, p in zip(cells, tests, strict=True)]
            rows.append([name, *cells])
        print_table(["ranking", *(f"k={k}" for k in CUTOFFS)], rows)


def verdict_of(found):
    """Of many (difference, p): "confirmed" only if all are significant, "partly" if most are and none against it."""
    n_up, n_down = (sum(sign * gap > 0 and p < LEVEL for gap, p in found) for sign in (1, -1))
    word = "confirmed" if n_up == len(found) else "partly" if 2 * n_up > len(found) and not n_down else "not confirmed"
    largest = max(p for _, p in found)
    return f"**{word}**: significantly above in {n_up}, below in {n_down} of {len(found)} (largest p {largest:.2g})"


def above(own, other):
    """The verdict on one table being above another in all measures."""
    return verdict_of([compare(own[metric], other[metric]) for metric in TESTED])


def say(claim, verdict):
    print(f"- {claim}: {verdict}", flush=True)


def measure(queries, column, refiners, n_judged=10):
    """``relevance_feedback`` as in the paper: only label 2 is relevant."""
    return relevance_feedback(
        queries, column, refiners, n_judged=n_judged, relevant_from=2, metrics=[*PRECISIONS, *GAINS]
    )


def figures_2_and_3(queries):
    """All methods, ten judged; the tables of the full lists, which figure 4 is compared with."""
    print("\n## Figures 2 and 3: OHSUMED, base feature 21, ten judged")
    result = measure(queries, BASE_COLUMNS[0], REFINERS)
    tables = {kind: with_extremes(rankings) for kind, rankings in result.tables.items()}
    for kind, rankings in tables.items():
        print_figure(f"{kind} list", rankings)
    for kind, rankings in tables.items():
        for name, table in rankings.items():
            is_base_again = name == SORTED and kind == "residual"
            if name not in (MRR, PAPER_MRR) and "worst" not in name and not is_base_again:
                say(f"MRR above {name}, {kind} list", above(rankings[MRR], table))
        for name, table in rankings.items():
            if name == "base" or ("best" in name and (not name.startswith("LRR") or "eta=0.5" in name)):
                say(f"MRR with the paper's eta=0.5 above {name}, {kind} list", above(rankings[PAPER_MRR], table))
    full = tables["full"]
    gains = [compare(full[MRR][metric], full["base"][metric])[0] for metric in PRECISIONS]
    first_most = "confirmed" if gains[0] == max(gains) else "not confirmed"
    words = f"**{first_most}**: P@1 {gains[0]:+.3f}, P@5 {gains[2]:+.3f}, P@25 {gains[-1]:+.3f}"
    say("most is gained at the first places, full list", words)
    return full


def rows_of_sweep(results):
    """Base and MRR under several conditions, each pair tested."""
    rows = []
    for words, result in results.items():
        for kind, rankings in result.tables.items():
            base, refined = rankings["base"], rankings[MRR]
            tests = [compare(refined[metric], base[metric])[1] for metric in PRECISIONS]
            rows.append([words, kind, "base", *(f"{base.mean()[metric]:.3f}" for metric in PRECISIONS)])
            cells = [f"{refined.mean()[m]:.3f} ({p:.2g})" for m, p in zip(PRECISIONS, tests, strict=True)]
            rows.append([words, kind, MRR, *cells])
    return rows


def print_sweep(results):
    print("\nIn brackets p of the difference between MRR and its base.")
    print_table(["condition", "list", "ranking", *(f"P@{k}" for k in CUTOFFS)], rows_of_sweep(results))


def figure_4(queries, best_base):
    print("\n## Figure 4: other base rankers, ten judged")
    results = {f"feature {column + 1}": measure(queries, column, {MRR: REFINERS[MRR]}) for column in BASE_COLUMNS}
    print_sweep(results)
    for words, result in results.items():
        for kind, rankings in result.tables.items():
            say(f"MRR above its base, {words}, {kind} list", above(rankings[MRR], rankings["base"]))
    refined = [(words, result.tables["full"][MRR]) for words, result in results.items()]
    for (better, own), (worse, other) in itertools.pairwise(refined):
        say(f"a better base, a better refinement: MRR on {better} above MRR on {worse}, full list", above(own, other))
    worst = results["feature 7"].tables["full"][MRR]
    for name, table in best_base.items():
        if "best" in name or name == "base":
            found = [compare(worst[metric], table[metric]) for metric in PRECISIONS]
            below = [f"P@{k} (p {p:.2g})" for k, (gap, p) in zip(CUTOFFS, found, strict=True) if gap < 0 and p < LEVEL]
            words = f"**not confirmed**: below in {', '.join(below)}" if below else "**confirmed**: nowhere below"
            say(f"MRR on feature 7 as good as {name} on feature 21, full list", words)


def figure_5(queries):
    print("\n## Figure 5: 5 to 20 judged, base feature 21")
    results = {f"{n} judged": measure(queries, BASE_COLUMNS[0], {MRR: REFINERS[MRR]}, n) for n in BUDGETS}
    print_sweep(results)
    few, many = (results[f"{n} judged"].tables["full"][MRR] for n in (BUDGETS[0], BUDGETS[-1]))
    say("20 judged above 5 judged, full list", above(many, few))
    for words, result in results.items():
        for kind, rankings in result.tables.items():
            say(f"MRR above its base, {words}, {kind} list", above(rankings[MRR], rankings["base"]))


def figure_6(folder):
    print("\n## Figure 6: MovieLens 100k, twenty training users, residual lists")
    ratings, movies = (
        read(next(Path(folder).glob(f"{name}*")))
        for read, name in ((pk.read_movielens, "u.data"), (read_movies, "u.item"))
    )

    def recommend(refiners, n_given, draw):
        return recommendation(
            ratings,
            movies,
            refiners,
            n_given=n_given,
            metrics=[*PRECISIONS, *GAINS],
            random_state=draw,
            base_feature=False,
        ).tables["residual"]

    learning = {name: refiner for name, refiner in REFINERS.items() if name != SORTED}
    rankings = with_extremes(recommend(learning, 10, DRAWS[0]))
    print_figure(f"ten ratings given, draw {DRAWS[0]}", rankings)
    for name, table in rankings.items():
        if name not in (MRR, PAPER_MRR) and "worst" not in name:
            say(f"MRR above {name}", above(rankings[MRR], table))
    best_lrr = next(table for name, table in rankings.items() if name.startswith("LRR best"))
    say("the base above even the best LRR", above(rankings["base"], best_lrr))
    print(f"\nMRR less its base, and p, in draws {DRAWS} of the training users and the given ratings:")
    rows, gaps = [], {}
    for n_given in BUDGETS:
        for draw in DRAWS:
            tables = recommend({MRR: REFINERS[MRR]}, n_given, draw)
            found = [compare(tables[MRR][metric], tables["base"][metric]) for metric in PRECISIONS]
            gaps[n_given, draw] = found
            rows.append([str(n_given), str(draw), *(f"{gap:+.3f} ({p:.2g})" for gap, p in found)])
    print_table(["given", "draw", *(f"P@{k}" for k in CUTOFFS)], rows)
    for n_given in BUDGETS:
        found = [pair for draw in DRAWS for pair in gaps[n_given, draw]]
        say(f"MRR above its base with {n_given} given, P@k of all draws", verdict_of(found))


def read_ohsumed(folder):
    return pk.read_letor(sorted(Path(folder).glob("S[1-5].txt*")))


def main(ohsumed, movielens=None):
    queries = read_ohsumed(ohsumed)
    full = figures_2_and_3(queries)
    figure_4(queries, full)
    figure_5(queries)
    if movielens is not None:
        figure_6(movielens)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pk.exceptions.ConvergenceWarning)
        main(*sys.argv[1:])
