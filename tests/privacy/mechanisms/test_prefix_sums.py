"""What every mechanism for running sums has to keep.

Add a kind to ``KINDS`` of ``factors_of_prefix_sums`` and it is tested.
"""

import pickle
from copy import copy, deepcopy
from functools import partial
from math import inf

import numpy as np
import pytest
from factors_of_prefix_sums import KINDS, combination, largest_column, strategy
from known_noise import seeded

from skdp.privacy import SeededNoise, SystemNoise, secret_pickle
from skdp.privacy.accounting import GaussianDP, Ledger, Spend, ZeroConcentratedDP
from skdp.privacy.mechanisms import PREFIX_SUMS, PrefixSumMechanism, prefix_sums_by
from skdp.testing import check_noise

LENGTHS = [1, 2, 3, 5, 8, 31, 32, 33, 100, 257]
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
every_length = pytest.mark.parametrize("n", LENGTHS)


def all_steps(mechanism):
    return np.arange(1, mechanism.length + 1)


def test_options_select_their_classes():
    leaves = PrefixSumMechanism.__subclasses__()
    assert {cls.option(): cls for cls in leaves} == PREFIX_SUMS
    assert {type(make(3)) for make in KINDS.values()} == set(leaves)
    for option, cls in PREFIX_SUMS.items():
        mechanism = prefix_sums_by(option, 7)
        assert (type(mechanism), mechanism.length) == (cls, 7)
    with pytest.raises(ValueError, match=r"\['blt', 'toeplitz', 'tree'\], got 'wood'"):
        prefix_sums_by("wood", 7)


@every_kind
@every_length
def test_the_factors_multiply_to_the_matrix_of_running_sums(kind, n):
    mechanism = kind(n)
    B, _ = combination(mechanism)
    np.testing.assert_allclose(B @ strategy(mechanism), np.tril(np.ones((n, n))), atol=1e-10)


@every_kind
@every_length
def test_rows_of_both_factors_appear_in_the_order_of_time(kind, n):
    """That is what a proof for terms chosen on the way needs: no normal is used before its row."""
    mechanism = kind(n)
    B, drawn = combination(mechanism)
    C = strategy(mechanism)
    before = 0
    for t, after in enumerate(drawn):
        assert not B[t, after:].any()
        assert not C[before:after, t + 1 :].any()
        before = after
    assert before == len(C)


@every_kind
@every_length
def test_the_column_norm_is_the_largest_and_hardly_more(kind, n):
    mechanism = kind(n)
    largest = largest_column(mechanism)
    assert largest <= mechanism.column_norm <= largest * (1 + 2e-9)


@every_kind
@every_length
def test_no_change_of_one_term_costs_more_than_its_price_and_one_costs_that(kind, n):
    """Published sums have covariance ``s^2 B B'``, and a change moves all sums from it on."""
    mechanism, scale, sensitivity = kind(n), 3.0, 0.7
    B, _ = combination(mechanism)
    shifts = sensitivity * np.tril(np.ones((n, n)))
    seen = np.linalg.lstsq(scale * B, shifts, rcond=None)[0]
    # No change shows where there is no noise.
    np.testing.assert_allclose(scale * B @ seen, shifts, atol=1e-9)
    moved = np.einsum("ti,ti->i", seen, seen)
    price = GaussianDP().cost(mechanism.event("sum", sensitivity, scale))
    assert price == (sensitivity * mechanism.column_norm / scale) ** 2
    assert moved.max() <= price * (1 + 1e-11)
    assert moved.max() >= price * (1 - 1e-8)
    if mechanism.option() == "blt":
        np.testing.assert_allclose(moved, price, rtol=1e-8)


@every_kind
@every_length
def test_variances_are_the_squared_norms_of_rows(kind, n):
    mechanism = kind(n)
    B, _ = combination(mechanism)
    rows = np.einsum("ti,ti->t", B, B)
    np.testing.assert_allclose(mechanism.variances(all_steps(mechanism)), rows, rtol=1e-11)
    np.testing.assert_allclose(mechanism.variances(np.array([n, 1])), rows[[-1, 0]], rtol=1e-11)
    errors = mechanism.column_norm * np.sqrt(rows)
    np.testing.assert_allclose(mechanism.errors(all_steps(mechanism)), errors)


@every_kind
@pytest.mark.parametrize("stream", [1, 4])
def test_the_noise_of_each_sum_has_the_deviation_that_theory_says(kind, stream):
    """Several streams, as one could be right by accident; all steps of each."""
    mechanism, scale = kind(21), 0.3
    noise = mechanism.open((stream, 50, 40 // stream), scale, SystemNoise())
    for deviation in scale * np.sqrt(mechanism.variances(all_steps(mechanism))):
        check_noise(lambda: noise.next().ravel(), deviation, repeats=1, false_alarm=1e-10)


@every_kind
@pytest.mark.parametrize("amount", [1e-8, 0.07, 30.0])
def test_a_stream_costs_no_more_than_its_spend_and_hardly_less(kind, amount):
    mechanism = kind(50)
    scale = mechanism.noise_scale(0.2, Spend(amount))
    event = mechanism.event("sum", 0.2, scale)
    for calculus in (GaussianDP(), ZeroConcentratedDP()):
        assert amount * (1 - 1e-11) <= calculus.cost(event) <= amount
    ledger = Ledger(1.0, 1e-5)
    ledger.charge(mechanism.event("sum", 0.2, mechanism.noise_scale(0.2, Spend(ledger.limit))))
    assert ledger.spent() == (1.0, 1e-5)


@every_kind
@pytest.mark.parametrize("n", [1, 6, 300])
def test_no_step_is_taken_beyond_the_length(kind, n):
    noise = kind(n).open(1, 1.0, seeded())
    for t in range(n):
        assert noise.left == n - t
        noise.next()
    for _ in range(2):
        with pytest.raises(RuntimeError, match=f"all of its {n} steps are taken"):
            noise.next()


@every_kind
def test_a_step_that_is_interrupted_ends_the_stream(kind):
    """Half a step could leave a state that gives later sums less noise than was paid for."""

    class Interrupted(SeededNoise):
        broken = False

        def normal(self, shape):
            if self.broken:
                raise KeyboardInterrupt
            return super().normal(shape)

    source = Interrupted(np.random.default_rng(0))
    noise = kind(9).open(2, 1.0, source)
    noise.next()
    source.broken = True
    with pytest.raises(KeyboardInterrupt):
        noise.next()
    source.broken = False
    for go_on in (noise.next, partial(secret_pickle, noise)):
        with pytest.raises(RuntimeError, match="step 2 was interrupted"):
            go_on()
    assert noise.left == 8


@every_kind
@pytest.mark.parametrize("source", [SystemNoise, seeded])
def test_streams_never_share_noise(kind, source):
    source = source()
    first, second = (kind(30).open(5, 1.0, source) for _ in range(2))
    values = np.array([stream.next() for _ in range(30) for stream in (first, second)])
    assert len(np.unique(values)) == values.size
    differences = [np.diff(values[k::2], axis=0).ravel() for k in (0, 1)]
    assert len(np.intersect1d(*differences)) == 0


@every_kind
def test_entries_of_a_term_have_independent_noise(kind):
    size = 2000
    noise = kind(9).open((size, 2), 1.0, seeded())
    for _ in range(9):
        left, right = noise.next().T
        # Five standard errors of a correlation of independent numbers.
        assert abs(np.corrcoef(left, right)[0, 1]) < 5 / np.sqrt(size)


@every_kind
def test_no_copy_leaves_by_accident(kind):
    noise = kind(8).open(2, 1.0, seeded())
    for leave in (pickle.dumps, copy, deepcopy):
        with pytest.raises(TypeError, match="save_checkpoint"):
            leave(noise)
    noise.next()
    assert not any(char.isdigit() for char in repr(noise).split(" at ")[0])


@every_kind
@pytest.mark.parametrize("cut", [0, 1, 13, 16, 39, 40])
def test_a_checkpoint_goes_on_where_it_was(kind, cut):
    generator = np.random.default_rng(0)
    whole = kind(40).open(3, 0.5, seeded())
    expected = [whole.next() for _ in range(40)]
    part = kind(40).open(3, 0.5, SeededNoise(generator))
    found = [part.next() for _ in range(cut)]
    state = secret_pickle(part)
    if cut < 40:
        # The state is no view of what goes on.
        part.next()
    resumed = pickle.loads(state)
    assert resumed.left == 40 - cut
    found += [resumed.next() for _ in range(40 - cut)]
    np.testing.assert_array_equal(found, expected)


@every_kind
def test_memory_does_not_grow_with_the_stream(kind):
    """All but the square root, whose docstring says so."""

    def held(n):
        noise = kind(n).open(1000, 1.0, seeded())
        for _ in range(n - 1):
            noise.next()
        return len(secret_pickle(noise)) / 8000

    mechanism = kind(1)
    most = {"blt": 7, "tree": 8 + 2, "toeplitz": inf}[mechanism.option()]
    assert held(255) <= most
