"""Bugs planted into the mechanisms for running sums, each of which a check has to notice.

The price is measured on the code as it runs: B is read off it with unit vectors for normals, the
published sums are normal with covariance ``s^2 B B'``, and the most that one changed term moves
them in that metric is the mu^2 that a stream really costs.
"""

import pickle
from dataclasses import dataclass, replace
from math import sqrt
from types import MethodType

import numpy as np
import pytest
from factors_of_prefix_sums import combination, strategy

from skdp.privacy.accounting.calculus import GaussianDP, ZeroConcentratedDP
from skdp.privacy.accounting.ledger import Spend
from skdp.privacy.mechanisms import BLT, Toeplitz, Tree, blt, toeplitz, tree
from skdp.privacy.mechanisms.prefix_sums import PrefixNoise, PrefixSumMechanism
from skdp.privacy.randomness import SeededNoise

LENGTHS = (16, 40)
KINDS = (BLT, Toeplitz, Tree)
SENSITIVITY, AMOUNT = 0.7, 0.02
TOO_CHEAP = "costs more than its price"

every_kind = pytest.mark.parametrize("kind", KINDS)


def check_price(kind):
    """What neighbours can tell from all published sums is at most the spend."""
    for n in LENGTHS:
        mechanism = kind(n)
        scale = mechanism.noise_scale(SENSITIVITY, Spend(AMOUNT))
        B, _ = combination(mechanism)
        moved = SENSITIVITY * np.tril(np.ones((n, n)))
        seen = np.linalg.lstsq(scale * B, moved, rcond=None)[0]
        cost = np.einsum("ti,ti->i", seen, seen).max()
        if not np.allclose(scale * B @ seen, moved):
            # The change shows where there is no noise.
            cost = np.inf
        event = mechanism.event("sum", SENSITIVITY, scale)
        for calculus in (GaussianDP(), ZeroConcentratedDP()):
            price = calculus.cost(event)
            assert cost <= price * (1 + 1e-9), f"a term of {n} {TOO_CHEAP}"
            assert price <= AMOUNT, "more than the spend is charged"


def check_factors(kind):
    for n in LENGTHS:
        B, _ = combination(kind(n))
        summed = B @ strategy(kind(n))
        assert np.abs(summed - np.tril(np.ones((n, n)))).max() < 1e-10, "not the running sums"


def check_theory(kind):
    for n in LENGTHS:
        B, _ = combination(kind(n))
        expected = kind(n).variances(np.arange(1, n + 1))
        assert np.allclose((B**2).sum(axis=1), expected), "not the noise that theory says"


def check_length():
    noise = Tree(3).open(1, 1.0, SeededNoise(np.random.default_rng(0)))
    steps = 0
    try:
        while steps < 100:
            noise.next()
            steps += 1
    except RuntimeError:
        pass
    assert steps == 3, f"{steps} steps of a stream of 3"


def check_streams_are_apart(kind):
    """Two streams of one mechanism: their noises, at the first step, are different."""
    mechanism, source = kind(5), SeededNoise(np.random.default_rng(0))
    first, second = (mechanism.open(4, 1.0, source) for _ in range(2))
    one, other = first.next(), second.next()
    one_more, other_more = first.next(), second.next()
    shared = np.intersect1d([one, one_more - one], [other, other_more - other])
    assert not shared.size, "streams share noise"


def check_checkpoint(kind):
    """What follows a checkpoint has the noise of the one stream that it was taken from."""
    size, cut, n = 80, 13, 40
    whole, _ = combination(kind(n))
    source = UnitSource(size)
    noise = kind(n).open(size, 1.0, source)
    rows = [noise.next() for _ in range(cut)]
    noise = pickle.loads(pickle.dumps(noise.secret_state())).resume(source)
    rows += [noise.next() for _ in range(n - cut)]
    assert np.allclose(np.array(rows)[:, : whole.shape[1]], whole), "the past is forgotten"


class UnitSource(SeededNoise):
    """Rows of an identity matrix, also across a checkpoint."""

    def __init__(self, size):
        super().__init__(np.random.default_rng(0))
        self.rows = iter(np.eye(size))

    def normal(self, shape):
        return np.array([next(self.rows) for _ in range(shape[0])])


@dataclass(frozen=True)
class Plant:
    """Sets an attribute to its buggy version for the rest of the test."""

    patch: pytest.MonkeyPatch

    def caught(self, owner, name, bug, check, match, *args):
        check(*args)
        self.patch.setattr(owner, name, bug)
        with pytest.raises(AssertionError, match=match):
            check(*args)


@pytest.fixture
def plant(monkeypatch):
    return Plant(monkeypatch)


def test_a_row_counted_in_two_nodes_too_many_is_caught(plant):
    """In the price: the norm of a column leaves out the two nodes."""
    bug = property(lambda self: sqrt(self.length.bit_length() - 2))
    plant.caught(Tree, "column_norm", bug, check_price, TOO_CHEAP, Tree)


def test_a_row_counted_in_two_nodes_too_many_is_caught_in_the_noise(plant):
    """The newest block is said to hold the terms of the two blocks before as well."""

    class Overlapping(tree._Blocks):
        def step(self, draw):
            noise = super().step(draw)
            # A sum that is read off one block in the place of three has the noise of one.
            if len(self._sums) > 3:
                noise -= self._sums[-2] - self._sums[-4]
            return noise

    def bug(self, size):
        return Overlapping(size)

    plant.caught(Tree, "correlator", bug, check_price, TOO_CHEAP, Tree)


def test_levels_of_half_the_stream_are_caught(plant):
    bug = property(lambda self: sqrt((self.length // 2).bit_length()))
    plant.caught(Tree, "column_norm", bug, check_price, TOO_CHEAP, Tree)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("kind", [BLT, Toeplitz])
def test_a_column_norm_of_the_wrong_horizon_is_caught(plant, kind, share):
    honest = kind.column_norm.fget

    def bug(self):
        # Of the matrix that is used, over fewer of its entries.
        n = max(1, int(share * self.length))
        if kind is Toeplitz:
            return honest(kind(n))
        return sqrt(self._sum_of_squares(np.array([n]))[0])

    plant.caught(kind, "column_norm", property(bug), check_price, TOO_CHEAP, kind)


def test_a_column_norm_of_other_rates_is_caught(plant):
    honest = BLT.column_norm
    bug = property(lambda self: honest.fget(BLT(self.length // 4)))
    plant.caught(BLT, "column_norm", bug, check_price, TOO_CHEAP, BLT)


def test_columns_normalised_over_too_few_terms_are_caught(plant):
    honest = BLT.scales

    def bug(self, steps):
        return honest(self, np.minimum(np.asarray(steps) + 5, self.length))

    plant.caught(BLT, "scales", bug, check_price, TOO_CHEAP, BLT)


@every_kind
def test_half_the_noise_is_caught(plant, kind):
    honest = PrefixNoise._draw

    def bug(self, count):
        return honest(self, count) / 2

    plant.caught(PrefixNoise, "_draw", bug, check_price, TOO_CHEAP, kind)


@every_kind
def test_noise_calibrated_without_the_column_norm_is_caught(plant, kind):
    def bug(self, sensitivity, spend):
        return sensitivity / sqrt(spend.amount)

    plant.caught(PrefixSumMechanism, "noise_scale", bug, check_price, "more than the spend", kind)


@every_kind
def test_an_event_that_hides_the_column_norm_is_caught(plant, kind):
    honest = PrefixSumMechanism.event

    def bug(self, *args):
        return replace(honest(self, *args), column_norm=1.0)

    plant.caught(PrefixSumMechanism, "event", bug, check_price, TOO_CHEAP, kind)


@every_kind
def test_one_normal_for_all_steps_is_caught(plant, kind):
    honest = PrefixNoise._draw

    def bug(self, count):
        if self.taken == 0:
            self.first = honest(self, count)[:1]
        return np.repeat(self.first, count, axis=0)

    plant.caught(PrefixNoise, "_draw", bug, check_price, TOO_CHEAP, kind)


def test_buffers_that_look_at_the_present_normal_are_caught(plant):
    honest = blt._Buffers.step

    def bug(self, draw):
        # As if the buffers had been updated before they were read.
        z = draw(1)
        present = MethodType(honest, self)(lambda count: z)
        self._sum -= self._scales[(self._t - 1) % blt._CHUNK] * (self._weights.sum() * z[0])
        return present - self._scales[(self._t - 1) % blt._CHUNK] * (self._weights.sum() * z[0])

    plant.caught(blt._Buffers, "step", bug, check_factors, "not the running sums", BLT)


def test_squares_of_a_convolution_that_are_left_out_are_caught(plant):
    honest = toeplitz._Convolution._convolved

    def bug(self, past):
        return honest(self, past) * (len(past) != 8)

    plant.caught(
        toeplitz._Convolution, "_convolved", bug, check_factors, "not the running sums", Toeplitz
    )


def test_variances_that_count_levels_in_place_of_bits_are_caught(plant):
    def bug(self, steps):
        return np.floor(np.log2(steps)) + 1

    plant.caught(Tree, "variances", bug, check_theory, "not the noise that theory says", Tree)


def test_a_stream_that_does_not_count_its_steps_is_caught(plant):
    plant.caught(PrefixNoise, "left", property(lambda self: 1), check_length, "100 steps")


@every_kind
def test_streams_that_share_their_noise_are_caught(plant, kind):
    memory = {}
    honest = PrefixNoise._draw

    def bug(self, count):
        key = self.taken, count
        if key not in memory:
            memory[key] = honest(self, count)
        return memory[key]

    plant.caught(PrefixNoise, "_draw", bug, check_streams_are_apart, "share noise", kind)


@every_kind
def test_a_checkpoint_that_forgets_the_past_is_caught(plant, kind):
    honest = PrefixNoise.secret_state

    def bug(self):
        return replace(honest(self), correlator=self._mechanism.correlator(self._size))

    plant.caught(PrefixNoise, "secret_state", bug, check_checkpoint, "forgotten", kind)
