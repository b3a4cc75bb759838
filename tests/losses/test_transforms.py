"""The transforms φ against high-precision values, differences and their limits."""

import math

import numpy as np
import pytest

from plackett.losses.transforms import Linear, Transform, get_transform

TRANSFORMS = ["exp", Linear(2.0, 300.0), "sigmoid", "probit"]
NAMES = ["exp", "linear", "sigmoid", "probit"]


@pytest.mark.parametrize("transform", TRANSFORMS, ids=NAMES)
def test_derivatives_match_differences(transform):
    transform, step = get_transform(transform), 1e-5
    scores = np.linspace(-120.0, 8.0, 301)
    _, slope, second = transform.log_and_derivatives(scores)
    higher, lower = (transform.log_and_derivatives(scores + move) for move in (step, -step))
    np.testing.assert_allclose((higher[0] - lower[0]) / (2 * step), slope, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose((higher[1] - lower[1]) / (2 * step), second, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("transform", "value"),
    [
        ("exp", math.exp),
        (Linear(0.5, 9.0), lambda x: 0.5 * x + 9),
        ("sigmoid", lambda x: 1 / (1 + math.exp(-x))),
        ("probit", lambda x: math.erfc(-x / math.sqrt(2)) / 2),
    ],
    ids=NAMES,
)
def test_logs_are_those_of_the_formula(transform, value):
    scores = np.linspace(-8.0, 8.0, 33)
    log, _ = get_transform(transform).log_and_slope(scores)
    np.testing.assert_allclose(log, [math.log(value(score)) for score in scores], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(
    ("transform", "log", "slope", "second"),
    [
        ("exp", -1000.0, 1.0, 0.0),
        ("sigmoid", -1000.0, 1.0, 0.0),
        # log Φ(−x) = −x²/2 − log x − ½ log 2π − 1/x² + …, slope x + 1/x − 2/x³, second −1 + 1/x² − …
        ("probit", -500000 - math.log(1000) - 0.5 * math.log(2 * math.pi) - 1e-6, 1000.001 - 2e-9, -1 + 1e-6),
    ],
    ids=["exp", "sigmoid", "probit"],
)
def test_a_score_of_minus_1000_is_an_ordinary_number(transform, log, slope, second):
    found = get_transform(transform).log_and_derivatives(np.array([-1000.0]))
    np.testing.assert_allclose(np.ravel(found), [log, slope, second], rtol=1e-10)


@pytest.mark.parametrize("transform", ["sigmoid", "probit"])
def test_a_score_of_1000_has_phi_one_and_no_slope(transform):
    found = get_transform(transform).log_and_derivatives(np.array([1000.0, 1e300]))
    np.testing.assert_array_equal(found, np.zeros((3, 2)))


@pytest.mark.parametrize("transform", ["exp", "sigmoid", "probit"])
def test_any_finite_score_gives_finite_numbers(transform):
    scores = np.array([-1e300, -1e200, -1e10, 1e10, 1e300])
    assert np.isfinite(get_transform(transform).log_and_derivatives(scores)).all()


def test_the_second_derivative_of_probit_is_smooth_where_its_series_begins():
    scores = np.array([-100.0 - 1e-9, -100.0 + 1e-9])
    _, _, second = get_transform("probit").log_and_derivatives(scores)
    assert second[0] == pytest.approx(second[1], rel=1e-11)


def test_a_linear_phi_that_is_not_positive_says_which_score_and_what_to_do():
    message = r"Linear\(\) is -0.3 for the score -0.3 in row 1.*must be positive.*Linear\(1, 2\).*transform=\"exp\""
    with pytest.raises(ValueError, match=message):
        Linear().log_and_slope(np.array([2.0, -0.3]))


def test_the_larger_b_of_the_message_works():
    scores = np.array([2.0, -0.3, -7.0])
    with pytest.raises(ValueError, match=r"as in Linear\(2, 15\)"):
        Linear(2, 1).log_and_slope(scores)
    assert np.isfinite(Linear(2, 15).log_and_slope(scores)).all()


@pytest.mark.parametrize(
    ("transform", "message"),
    [
        ("tanh", "transform='tanh' is not known; choose one of 'exp', 'linear', 'sigmoid', 'probit', or pass Linear"),
        (None, "transform=None is not known"),
        (Linear(0.0), r"Linear has a=0.0; it must be greater than 0"),
        (Linear(np.float64(-1.0)), r"Linear has a=-1.0; it must be greater than 0"),
        (Linear(1, np.inf), "Linear has b=inf; it must be a finite number"),
        (Linear("1"), "Linear has a='1'; it must be a finite number"),
    ],
)
def test_what_is_no_transform_is_refused(transform, message):
    with pytest.raises(ValueError, match=message):
        get_transform(transform)


def test_names_and_objects_are_the_same_transforms():
    assert get_transform("linear") == Linear(1, 0) == Linear()
    assert hash(get_transform("linear")) == hash(Linear(1, 0))
    assert get_transform("linear") != Linear(1, 2)
    given = Linear(1, 2)
    assert get_transform(given) is given
    assert isinstance(get_transform("probit"), Transform)
