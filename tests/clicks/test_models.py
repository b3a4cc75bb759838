"""Click models against enumerations of everything that their users may do."""

import functools
import itertools
import warnings
from collections import defaultdict

import numpy as np
import pytest

import plackett as pk
from plackett.clicks.models.cells import _Examination
from plackett.clicks.models.collapse import count_cells, count_lists
from plackett.clicks.models.priors import Prior
from plackett.clicks.models.registry import CLICK_MODELS

NAMES = list(CLICK_MODELS)
TAILS = ["dcm", "ccm", "dbn", "sdbn"]
SEED = 5


# --- Users, written down as the literature describes them -------------------------------------------------------------


def pbm(docs, p, choose):
    for rank, doc in enumerate(docs):
        looks = choose(("look", rank), p["look"][rank])
        yield choose(("attraction", doc), p["attraction"][doc]) and looks


def ubm(docs, p, choose):
    last = 0
    for rank, doc in enumerate(docs):
        looks = choose(("look", rank, last), p["look"][rank, last])
        click = choose(("attraction", doc), p["attraction"][doc]) and looks
        last = rank + 1 if click else last
        yield click


def chain(docs, p, choose, after_skip, after_click):
    looks = True
    for rank, doc in enumerate(docs):
        click = looks and choose(("attraction", doc), p["attraction"][doc])
        yield click
        if looks and rank + 1 < len(docs):  # looking on from the last document leaves no trace
            looks = (after_click if click else after_skip)(p, choose, rank, doc)


def always(p, choose, rank, doc):
    return True


def never(p, choose, rank, doc):
    return False


def with_gamma(p, choose, rank, doc):
    return choose(("shared", 0), p["shared"][0])


def dbn_click(p, choose, rank, doc):
    return not choose(("satisfaction", doc), p["satisfaction"][doc]) and with_gamma(p, choose, rank, doc)


def sdbn_click(p, choose, rank, doc):
    return not choose(("satisfaction", doc), p["satisfaction"][doc])


def dcm_click(p, choose, rank, doc):
    return choose(("shared", rank), p["shared"][rank])


def ccm_click(p, choose, rank, doc):
    which = 2 if choose(("attraction", doc), p["attraction"][doc]) else 1
    return choose(("shared", which), p["shared"][which])


USERS = {
    "gctr": lambda docs, p, choose: (choose(("rate",), p["rate"]) for _ in docs),
    "rctr": lambda docs, p, choose: (choose(("rate", rank), p["rates"][rank]) for rank, _ in enumerate(docs)),
    "dctr": lambda docs, p, choose: (choose(("attraction", doc), p["attraction"][doc]) for doc in docs),
    "pbm": pbm,
    "ubm": ubm,
    "cm": lambda docs, p, choose: chain(docs, p, choose, always, never),
    "dcm": lambda docs, p, choose: chain(docs, p, choose, always, dcm_click),
    "ccm": lambda docs, p, choose: chain(docs, p, choose, with_gamma, ccm_click),
    "dbn": lambda docs, p, choose: chain(docs, p, choose, with_gamma, dbn_click),
    "sdbn": lambda docs, p, choose: chain(docs, p, choose, always, sdbn_click),
}


class Choices:
    """Answers a user's questions: first as fixed, then with yes, noting the path on which the answer is no."""

    def __init__(self, fixed, pending):
        self.fixed, self.pending, self.made, self.chance = fixed, pending, [], 1.0

    def __call__(self, key, p):
        n_made = len(self.made)
        answer = self.fixed[n_made] if n_made < len(self.fixed) else True
        if n_made >= len(self.fixed):
            self.pending.append((*(one for _, one in self.made), False))
        self.made.append((key, answer))
        self.chance *= p if answer else 1 - p
        return answer


def enumerate_sessions(name, docs, parameters):
    """Return, for each vector of clicks, its chance and the expected (yes, no) of every choice, times that chance."""
    outcomes = defaultdict(lambda: [0.0, defaultdict(lambda: np.zeros(2))])
    pending = [()]
    while pending:
        choose = Choices(pending.pop(), pending)
        clicks = tuple(bool(click) for click in USERS[name](docs, parameters, choose))
        outcomes[clicks][0] += choose.chance
        for key, answer in choose.made:
            outcomes[clicks][1][key] += choose.chance * np.array([answer, not answer])
    return outcomes


def set_parameters(model, parameters):
    """Give a fitted model other parameters."""
    if "attraction" in parameters:
        model.attractiveness_ = np.array(parameters["attraction"])
    if "look" in parameters:
        model.examination_ = np.array(parameters["look"])
    if "satisfaction" in parameters:
        model.satisfaction_ = model._satisfaction = np.array(parameters["satisfaction"])
    if "shared" in parameters:
        model._globals = np.array(parameters["shared"])
        model._keep_globals()
    for name in ("rate", "rates"):
        if name in parameters:
            setattr(model, f"{name}_", parameters[name])
    return model


def draw_parameters(name, n_pairs, n_ranks, rng):
    def draw(*shape):
        return rng.uniform(0.15, 0.9, shape)

    parameters = {"attraction": draw(n_pairs), "satisfaction": draw(n_pairs), "rate": 0.3, "rates": draw(n_ranks)}
    parameters["look"] = draw(n_ranks) if name == "pbm" else np.tril(draw(n_ranks, n_ranks))
    parameters["look"].flat[0] = 1.0
    parameters["shared"] = draw({"dcm": n_ranks, "ccm": 3, "dbn": 1}.get(name, 0))
    wanted = {
        "gctr": ["rate"],
        "rctr": ["rates"],
        "pbm": ["attraction", "look"],
        "ubm": ["attraction", "look"],
        "dbn": ["attraction", "satisfaction", "shared"],
        "sdbn": ["attraction", "satisfaction"],
        "dcm": ["attraction", "shared"],
        "ccm": ["attraction", "shared"],
    }.get(name, ["attraction"])
    return {key: parameters[key] for key in wanted}


def every_session(n_ranks=4):
    """Return a log in which two queries have lists of all lengths, with every vector of clicks once."""
    rng = np.random.default_rng(SEED)
    queries, docids, clicks, lengths = [], [], [], []
    for query in ("q", "r"):
        for length in range(1, n_ranks + 1):
            docs = rng.permutation(list("abcdef"))[:length]
            for vector in itertools.product([0, 1], repeat=length):
                queries.append(query)
                docids += list(docs)
                clicks += vector
                lengths.append(length)
    return pk.clicks.ClickLog.from_arrays(queries, docids, clicks, indptr=np.append(0, np.cumsum(lengths)))


@pytest.fixture(scope="module")
def log():
    return every_session()


@pytest.fixture(scope="module")
def enumerated(log):
    """Models with drawn parameters, and the enumeration of each session."""
    rng = np.random.default_rng(SEED)
    found = {}
    for name in NAMES:
        parameters = draw_parameters(name, log.n_pairs, 4, rng)
        model = set_parameters(_fitted(name, log), parameters)
        bounds = itertools.pairwise(log.indptr)
        sessions = [(tuple(log.pair[a:b].tolist()), tuple(log.click[a:b].tolist())) for a, b in bounds]
        found[name] = model, [(enumerate_sessions(name, docs, parameters), clicks) for docs, clicks in sessions]
    return found


def _fitted(name, log, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pk.clicks.get_click_model(name, **parameters).fit(log)


# --- Chances ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_unconditional_chances_are_those_of_the_enumeration(name, log, enumerated):
    model, sessions = enumerated[name]
    expected = [
        sum(chance for clicks, (chance, _) in outcomes.items() if clicks[rank])
        for outcomes, own in sessions
        for rank in range(len(own))
    ]
    np.testing.assert_allclose(model.predict(log), np.clip(expected, 1e-6, 1 - 1e-6), atol=1e-12, rtol=0)


@pytest.mark.parametrize("name", NAMES)
def test_conditional_chances_are_those_of_the_enumeration(name, log, enumerated):
    model, sessions = enumerated[name]
    expected = []
    for outcomes, own in sessions:
        for rank in range(len(own)):
            alike = {clicks: chance for clicks, (chance, _) in outcomes.items() if clicks[:rank] == own[:rank]}
            total = sum(alike.values())
            clicked = sum(chance for clicks, chance in alike.items() if clicks[rank])
            expected.append(clicked / total if total else 0.0)
    np.testing.assert_allclose(model.predict_conditional(log), np.clip(expected, 1e-6, 1 - 1e-6), atol=1e-12, rtol=0)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "cm"])
def test_likelihood_is_that_of_the_enumeration(name, log, enumerated):
    model, sessions = enumerated[name]
    expected = np.mean([np.log(outcomes[own][0]) for outcomes, own in sessions])
    assert model.log_likelihood(log) == pytest.approx(expected, abs=1e-12)


# --- Expectations -----------------------------------------------------------------------------------------------------


def expected_counts(sessions):
    """Return the expected (yes, no) of every choice, given what was clicked."""
    counts = defaultdict(lambda: np.zeros(2))
    for outcomes, own in sessions:
        chance, choices = outcomes[own]
        for key, yes_no in choices.items():
            counts[key] += yes_no / chance
    return counts


@pytest.mark.parametrize("name", ["pbm", "ubm"])
def test_expected_looks_and_likelihood_are_those_of_the_enumeration(name, log, enumerated):
    model, sessions = enumerated[name]
    counts = expected_counts(sessions)
    blocks = count_cells(log, by_last_click=name == "ubm")
    zero = np.zeros(log.n_pairs)
    value, looks = _Examination._pass(blocks, model._cell_chances(), zero, zero, model.attractiveness_.copy(), False)
    cells = [(rank,) for rank in range(4)] if name == "pbm" else [(r, last) for r in range(4) for last in range(r + 1)]
    np.testing.assert_allclose(looks, [counts["look", *cell][0] for cell in cells], atol=1e-12, rtol=0)
    assert value == pytest.approx(sum(np.log(outcomes[own][0]) for outcomes, own in sessions), abs=1e-11)


@pytest.mark.parametrize("name", TAILS)
def test_expected_counts_and_likelihood_are_those_of_the_enumeration(name, log, enumerated):
    model, sessions = enumerated[name]
    counts = expected_counts(sessions)
    blocks, zero = count_lists(log), np.zeros(log.n_pairs)
    value, totals = model._pass(blocks, model._globals, zero, zero, Prior(0, 0), 0)
    passed_at = sum(block.passed_at for block in blocks)
    if name == "dcm":
        value += passed_at @ np.log(model._globals)
        totals[:, 0] += passed_at
    assert value == pytest.approx(sum(np.log(outcomes[own][0]) for outcomes, own in sessions), abs=1e-11)
    expected = np.reshape([counts["shared", i] for i in range(totals.shape[0])], (-1, 2))
    np.testing.assert_allclose(totals, expected, atol=1e-12, rtol=1e-13)
    looks, _ = model._looks_below(blocks)
    skips = np.concatenate([block.skips for block in blocks]) + looks
    if name != "ccm":  # there, clicked documents are drawn a second time
        expected = [counts["attraction", pair][1] for pair in range(log.n_pairs)]
        np.testing.assert_allclose(skips, expected, atol=1e-12, rtol=1e-13)


@pytest.mark.parametrize("name", ["pbm", "ubm", *TAILS])
def test_a_fit_is_a_fixed_point_of_em_by_enumeration(name, log):
    model = _fitted(name, log, tol=1e-9, max_iter=2000)
    shared = getattr(model, "continuation_", [])
    parameters = {
        "attraction": model.attractiveness_,
        "satisfaction": getattr(model, "satisfaction_", None),
        "look": getattr(model, "examination_", None),
        "shared": np.atleast_1d(shared),
    }
    bounds = itertools.pairwise(log.indptr)
    sessions = [(tuple(log.pair[a:b].tolist()), tuple(log.click[a:b].tolist())) for a, b in bounds]
    counts = expected_counts([(enumerate_sessions(name, docs, parameters), clicks) for docs, clicks in sessions])
    for (kind, *place), (yes, no) in counts.items():
        if kind == "look" and place[0] == 0:
            continue  # fixed at 1
        value = parameters[kind][tuple(place)]
        assert value == pytest.approx((yes + 1) / (yes + no + 2), abs=1e-6), (kind, place)


# --- Fits -------------------------------------------------------------------------------------------------------------


@functools.cache
def shuffled_log(n_sessions=6000, n_queries=12, n_docs=8, n_ranks=5, seed=SEED):
    """Return sessions that show some documents of a query in a random order, without clicks."""
    rng = np.random.default_rng(seed)
    query = rng.integers(n_queries, size=n_sessions)
    docs = np.argsort(rng.random((n_sessions, n_docs)), axis=1)[:, :n_ranks]
    bounds = np.arange(n_sessions + 1) * n_ranks
    return pk.clicks.ClickLog.from_arrays(query, docs.ravel(), np.zeros(docs.size), indptr=bounds)


def user_of(name, log, seed=SEED, draw=None):
    """Return a model with drawn parameters, to simulate its users."""
    rng = np.random.default_rng(seed)
    parameters = draw_parameters(name, log.n_pairs, log.longest, rng)
    if draw is not None:
        parameters["attraction"] = draw(rng, log.n_pairs)
    user = set_parameters(_fitted(name, log[:50]), parameters)
    user.impressions_ = np.ones(log.n_pairs)
    return user


@pytest.fixture(scope="module")
def lists():
    return shuffled_log()


@pytest.mark.parametrize("name", NAMES)
def test_parameters_of_simulated_users_are_recovered(name):
    lists = shuffled_log(20_000)
    user = user_of(name, lists)
    model = _fitted(name, user.simulate(lists, random_state=1))
    for attribute, tolerance in (
        ("attractiveness_", 0.03),
        ("satisfaction_", 0.06),
        ("examination_", 0.06),
        ("continuation_", 0.06),
        ("rates_", 0.02),
        ("rate_", 0.01),
    ):
        if hasattr(user, attribute):
            found, true = np.atleast_1d(getattr(model, attribute)), np.atleast_1d(getattr(user, attribute))
            if name == "dcm" and attribute == "continuation_":
                found, true = found[:-1], true[:-1]  # the last rank leaves no trace
            if name == "ubm" and attribute == "examination_":
                found, true = found[np.tril_indices(5)], true[np.tril_indices(5)]
            assert np.sqrt(np.mean((found - true) ** 2)) < tolerance, attribute


@pytest.mark.parametrize("name", ["pbm", "ubm", *TAILS])
@pytest.mark.parametrize("prior", [(1, 1), (0, 0), (0.2, 3)], ids=str)
def test_the_likelihood_never_falls(name, prior, lists):
    log = user_of(name, lists).simulate(lists[:300], random_state=2)
    model = _fitted(name, log, prior=prior)
    assert np.diff(model.history_).min() >= -1e-12
    if prior == (0, 0):  # no prior; predicted chances are kept above 1e-6, their factors are in the fit
        assert model.log_likelihood(log) == pytest.approx(model.history_[-1], abs=1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_threads_and_the_order_of_sessions_change_no_bit(name, lists, monkeypatch):
    monkeypatch.setattr("plackett.clicks.models.collapse.ROWS_PER_BLOCK", 2000)
    log = user_of(name, lists).simulate(lists, random_state=3)
    order = np.random.default_rng(0).permutation(len(log))
    found = []
    for n_threads, sessions in ((1, log), (4, log), (4, log[order])):
        pk.set_n_threads(n_threads)
        model = _fitted(name, sessions)
        found.append([getattr(model, key) for key in sorted(vars(model)) if key.endswith("_")])
        pk.set_n_threads(None)
    for one in found[1:]:
        for left, right in zip(found[0], one, strict=True):
            if not isinstance(left, dict):
                np.testing.assert_array_equal(left, right)


def test_blocks_of_queries_change_sums_only(lists, monkeypatch):
    log = user_of("dbn", lists).simulate(lists, random_state=3)
    whole = _fitted("dbn", log)
    monkeypatch.setattr("plackett.clicks.models.collapse.ROWS_PER_BLOCK", 2000)
    np.testing.assert_allclose(_fitted("dbn", log).attractiveness_, whole.attractiveness_, atol=1e-9)


def test_the_cascade_model_reports_sessions_that_it_cut():
    log = pk.clicks.ClickLog.from_arrays(["q", "q"], list("abab"), [1, 1, 0, 1], indptr=[0, 2, 4])
    with pytest.warns(pk.exceptions.DataWarning, match=r"cm: 1 session \(50.0%\) had a second click"):
        model = pk.clicks.CM(prior=(0, 0)).fit(log)
    assert model.n_cut_ == 1
    np.testing.assert_allclose(model.attractiveness_, [0.5, 1 - 1e-6])


# --- Uncertainty and priors -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["dctr", "pbm", "ubm", "cm", *TAILS])
def test_intervals_cover(name):
    lists = shuffled_log(8000, n_queries=150)
    user = user_of(name, lists, draw=lambda rng, n: rng.beta(1, 2, n))
    model = _fitted(name, user.simulate(lists, random_state=4))
    low, high = model.intervals().T
    covered = np.mean((low <= user.attractiveness_) & (user.attractiveness_ <= high))
    assert 0.93 <= covered <= 0.97


@pytest.mark.parametrize("name", ["pbm", "dbn"])
def test_intervals_cover_an_attractiveness_that_is_not_beta(name):
    lists = shuffled_log(8000, n_queries=150)
    user = user_of(name, lists, draw=lambda rng, n: rng.choice([0.05, 0.1, 0.7], n))
    low, high = _fitted(name, user.simulate(lists, random_state=4)).intervals().T
    assert np.mean((low <= user.attractiveness_) & (user.attractiveness_ <= high)) >= 0.88


def test_nine_of_ten_tells_less_than_nine_thousand_of_ten_thousand():
    clicks = np.repeat([1, 0, 1, 0], [9, 1, 9000, 1000])
    queries = np.repeat(["few", "many"], [10, 10_000])
    log = pk.clicks.ClickLog.from_arrays(queries, ["a"] * 10_010, clicks, indptr=np.arange(10_011))
    few, many = np.diff(_fitted("pbm", log).intervals())[:, 0]
    assert few > 10 * many


@pytest.mark.parametrize("name", ["pbm", "ubm"])
def test_a_prior_that_biases_the_chances_of_looks_gets_a_warning(name):
    lists = pk.datasets.make_web_like(100, 30, random_state=0)
    rankers = {"one": lists.X[:, 20], "other": lists.X[:, 25]}  # few pairs at several ranks
    log = pk.clicks.simulate_clicks(lists, rankers, 20_000, epsilon=0.02)
    with pytest.warns(
        pk.exceptions.DataWarning, match=r"less attractive than prior=\(1.0, 1.0\) expects, .* probabilities too low"
    ):
        biased = pk.clicks.get_click_model(name).fit(log)
    fitted = pk.clicks.get_click_model(name, prior="fitted").fit(log)
    known = 0.61 / 0.68
    second = (1, 0) if name == "ubm" else 1
    assert biased.examination_[second] < fitted.examination_[second] - 0.1
    assert abs(fitted.examination_[second] - known) < abs(biased.examination_[second] - known)


def test_a_fitted_prior_is_that_of_the_attractiveness():
    lists = shuffled_log(8000, n_queries=150)
    user = user_of("pbm", lists, draw=lambda rng, n: rng.beta(1, 4, n))
    log = user.simulate(lists, random_state=4)
    model = _fitted("pbm", log, prior="fitted")
    assert model.prior_mean_.mean() == pytest.approx(0.2, abs=0.02)
    assert model.prior_strength_ == pytest.approx(5, rel=0.25)

    def error(fitted):
        return np.mean((fitted.attractiveness_ - user.attractiveness_) ** 2)

    assert error(model) < error(_fitted("pbm", log))


def test_features_inform_rare_pairs():
    lists = shuffled_log(1500, n_queries=150)
    x = np.random.default_rng(0).normal(size=(lists.n_pairs, 2))
    lists = lists.with_features(np.column_stack([x, x[:, 0]]))
    user = user_of("dbn", lists, draw=lambda rng, n: 1 / (1 + np.exp(1 - 1.5 * x[:, 0])))
    log = user.simulate(lists, random_state=4)

    def error(prior):
        return np.sqrt(np.mean((_fitted("dbn", log, prior=prior).attractiveness_ - user.attractiveness_) ** 2))

    assert error("features") < 0.5 * error("fitted") < 0.5 * error((1, 1))
    with pytest.raises(ValueError, match="needs a log with features"):
        pk.clicks.PBM(prior="features").fit(lists._with(features=None))


# --- Other logs, files, errors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_saved_model_predicts_the_same(name, lists, tmp_path):
    log = user_of(name, lists).simulate(lists[:500], random_state=5)
    model = _fitted(name, log)
    model.save(tmp_path / "model.plackett")
    loaded = pk.clicks.ClickModel.load(tmp_path / "model.plackett")
    assert loaded == model
    np.testing.assert_array_equal(loaded.predict(log), model.predict(log))


@pytest.mark.parametrize("attribute", ["examination_", "attractiveness_"])
def test_a_file_whose_arrays_do_not_fit_is_refused(attribute, lists, tmp_path):
    model = _fitted("pbm", lists[:50])
    setattr(model, attribute, getattr(model, attribute)[:-1])
    model.save(tmp_path / "model.plackett")
    with pytest.raises(pk.exceptions.ModelFormatError, match=attribute):
        pk.clicks.ClickModel.load(tmp_path / "model.plackett")


def test_pairs_of_another_log_are_found_by_name():
    log = pk.clicks.ClickLog.from_arrays(["q", "q"], list("abab"), [1, 0, 1, 0], indptr=[0, 2, 4])
    other = pk.clicks.ClickLog.from_arrays(["p", "q"], list("abca"), [0, 0, 0, 0], indptr=[0, 2, 4])
    model = pk.clicks.DCTR(prior=(1, 2)).fit(log)
    with pytest.warns(pk.exceptions.DataWarning, match=r"75.0% of the shown documents are pairs that dctr"):
        chances = model.predict(other)
    np.testing.assert_allclose(chances, [1 / 3, 1 / 3, 1 / 3, 3 / 5])


@pytest.mark.parametrize("name", NAMES)
def test_longer_lists_than_those_of_the_fit_are_predicted(name, lists):
    log = user_of(name, lists).simulate(lists[:500], random_state=5)
    rows = np.arange(log.n_shown).reshape(-1, 5)[:, :2].ravel()
    docs = [log.docids[int(code)] for code in log.pair_doc[log.pair[rows]]]
    queries = [log.queries[int(code)] for code in log.session_query]
    short = pk.clicks.ClickLog.from_arrays(queries, docs, log.click[rows], indptr=np.arange(501) * 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chances = _fitted(name, short).predict_conditional(log)
    assert ((chances > 0) & (chances < 1)).all()


@pytest.mark.parametrize("name", NAMES)
def test_perplexity_is_two_to_the_mean_logarithm(name, lists):
    log = user_of(name, lists).simulate(lists[:500], random_state=5)
    model = _fitted(name, log)
    for is_conditional, chances in ((False, model.predict(log)), (True, model.predict_conditional(log))):
        logs = np.log2(np.where(log.click, chances, 1 - chances)).reshape(-1, 5)
        by_rank = 2 ** -logs.mean(axis=0)
        np.testing.assert_allclose(model.perplexity_by_rank(log, conditional=is_conditional), by_rank)
        assert model.perplexity(log, conditional=is_conditional) == pytest.approx(by_rank.mean())


def test_simulated_clicks_repeat(lists):
    user = user_of("dbn", lists)
    first, again, other = (user.simulate(lists, random_state=seed).click for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_a_fit_that_fails_leaves_the_model_as_it_was(lists, monkeypatch):
    model = _fitted("pbm", user_of("pbm", lists).simulate(lists[:500]))
    before = model.predict(lists)
    monkeypatch.setattr("plackett.clicks.models.cells.ascend", lambda *args, **options: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model.fit(lists[:100])
    np.testing.assert_array_equal(model.predict(lists), before)


def test_wrong_parameters_are_named(lists):
    with pytest.raises(ValueError, match="name='dbm'"):
        pk.clicks.get_click_model("dbm")
    with pytest.raises(ValueError, match=r"prior='beta'; it must be a tuple \(a, b\)"):
        pk.clicks.PBM(prior="beta").fit(lists)
    with pytest.raises(ValueError, match="not fitted yet"):
        pk.clicks.PBM().predict(lists)
    with pytest.raises(ValueError, match="no sessions"):
        pk.clicks.PBM().fit(lists[:0])
    with pytest.warns(pk.exceptions.ConvergenceWarning, match="pbm stopped after 2 steps"):
        pk.clicks.PBM(max_iter=2).fit(user_of("pbm", lists).simulate(lists))


@pytest.mark.parametrize("name", ["pbm", "ubm"])
def test_ranks_that_cannot_be_separated_from_their_documents_get_a_warning(name):
    log = pk.clicks.ClickLog.from_arrays(["q"] * 4, list("ab") * 4, [1, 0, 0, 1] * 2, indptr=range(0, 9, 2))
    with pytest.warns(
        pk.exceptions.DataWarning, match=f"{name}: Rank 2 shares no pair with rank 1: this log cannot tell"
    ):
        pk.clicks.get_click_model(name, prior=(0, 0)).fit(log)


# --- Rankers that show good documents high ----------------------------------------------------------------------------


def log_of_a_good_ranker(name, seed=0, n=24_000, n_queries=150, n_docs=16, k=8):
    """Sessions of users of a model, and the attractiveness of each pair; the ranker sorts by quality with noise."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=(n_queries, n_docs))
    alpha = 1 / (1 + np.exp(1.8 - 1.2 * quality - 0.5 * rng.normal(size=quality.shape)))
    sigma, query = rng.beta(3, 3, quality.shape), rng.integers(n_queries, size=n)
    docs = np.argsort(-(quality[query] + 0.3 * rng.normal(size=(n, n_docs))), axis=1)[:, :k]
    click, looks = np.zeros((n, k), dtype=bool), np.ones(n, dtype=bool)
    for rank in range(k):
        own, satisfies = (values[query, docs[:, rank]] for values in (alpha, sigma))
        click[:, rank] = looks & (rng.random(n) < own)
        after_click = {"dcm": 0.85**rank, "ccm": 0.7 - 0.3 * own, "sdbn": 1 - satisfies, "dbn": 0.9 * (1 - satisfies)}
        after_skip = 0.9 if name in ("ccm", "dbn") else 1.0
        looks &= rng.random(n) < np.where(click[:, rank], after_click[name], after_skip)
    log = pk.clicks.ClickLog.from_arrays(query, docs.reshape(-1), click.reshape(-1), indptr=np.arange(n + 1) * k)
    return log, np.array([alpha[int(log.pairs[code][0]), int(log.pairs[code][1])] for code in range(log.n_pairs)])


@pytest.mark.parametrize("name", ["dcm", "ccm", "sdbn", "dbn"])
def test_intervals_cover_where_good_documents_stand_high(name):
    log, truth = log_of_a_good_ranker(name)
    model = pk.clicks.get_click_model(name, prior="fitted").fit(log)
    low, high = model.intervals().T
    holds = (low <= truth) & (truth <= high)
    few = model.impressions_ <= 10
    assert few.sum() > 200
    assert holds.mean() >= 0.92
    assert holds[few].mean() >= 0.85
