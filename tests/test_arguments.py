"""Arguments of the wrong type are refused in one sentence that names no value."""

from fractions import Fraction

import numpy as np
import pytest

from skdp.problem.constraints import Box, L1Ball, L2Ball, LpBall, Simplex
from skdp.problem.losses import Hinge, Huber, HuberisedHinge, OneVsRest, Softmax, Tukey
from skdp.problem.penalties import L1, L2, ElasticNet
from skdp.validation import numbers_in

NUMBERS = {
    "radius": [L1Ball, L2Ball, Simplex, lambda v: LpBall(v, 1.5)],
    "p": [lambda v: LpBall(1.0, v)],
    "low": [lambda v: Box(v, 1.0)],
    "high": [lambda v: Box(0.0, v)],
    "delta": [Huber],
    "width": [HuberisedHinge, Tukey],
    "alpha": [L1, L2, lambda v: ElasticNet(v, 0.5)],
    "l1_ratio": [lambda v: ElasticNet(1.0, v)],
}
NUMBER_CASES = [(name, make) for name, makes in NUMBERS.items() for make in makes]
INTEGER_CASES = [("n_classes", Softmax), ("n_classes", lambda v: OneVsRest(Hinge(), v))]


@pytest.mark.parametrize(("name", "make"), NUMBER_CASES)
@pytest.mark.parametrize("given", ["987.5", None, True, [987.5], np.array([987.5]), 987.5j])
def test_what_is_no_number_is_refused(name, make, given):
    with pytest.raises(ValueError, match=rf"needs a number for {name}, got a \w+; convert") as e:
        make(given)
    assert "987" not in str(e.value)


@pytest.mark.parametrize(("name", "make"), INTEGER_CASES)
@pytest.mark.parametrize("given", ["3", None, True, 3.0, [3], np.array([3])])
def test_what_is_no_integer_is_refused(name, make, given):
    with pytest.raises(ValueError, match=rf"needs an integer for {name}, got a \w+; convert"):
        make(given)


@pytest.mark.parametrize("given", [1, np.float32(1.0), np.int64(1), Fraction(1)])
def test_numbers_of_all_kinds_are_welcome(given):
    assert L1Ball(given) == L1Ball(1.0)
    assert Softmax(np.int32(3)).n_scores == 3


@pytest.mark.parametrize(
    ("name", "make"), [c for c in NUMBER_CASES if c[0] not in ("p", "l1_ratio")]
)
def test_numbers_are_kept_in_double_precision(name, make):
    # Half a float32 times 1e300 overflows, and a fraction has no product with an array.
    for given in (np.float32(0.5), Fraction(1, 2), 0.5):
        assert type(getattr(make(given), name)) is float
    with pytest.raises(ValueError, match=rf"needs a number for {name} that is at most 1.8e308"):
        make(10**400)


def test_a_loss_of_another_type_is_refused():
    with pytest.raises(ValueError, match="needs a loss with one score a row, got str"):
        OneVsRest("hinge", 3)


@pytest.mark.parametrize(
    "given", ["1", ["1", "2"], [1, "a"], [[1], [1, 2]], [10**400], 1j, object()]
)
def test_what_holds_no_numbers_is_told_from_what_does(given):
    assert numbers_in(given) is None
    found = numbers_in([True, 2, None])
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, [1, 2, np.nan])
