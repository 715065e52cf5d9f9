"""Bugs in mechanisms and in the noise that they add."""

import os
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import prod, sqrt
from types import MethodType

import numpy as np
from interruptions import PACKAGE
from known_noise import Prepared, seeded
from planted_bugs.bug import REPLACE_ONE, ZERO_OUT, Anew, Bug, Value, gives, times
from privacy import test_randomness, test_rounded_noise
from privacy.arms import test_sessions
from privacy.mechanisms import test_grid, test_gumbel, test_sites
from privacy.mechanisms import test_prefix_sums as prefix_sums
from scipy.special import ndtri

from skdp.privacy import BITS, Adjacency, PrivateOracle, SystemNoise, randomness, refined
from skdp.privacy.accounting import ExponentialEvent, Ledger, Spend, ZeroConcentratedDP
from skdp.privacy.mechanisms import BLT, GaussianMechanism, Toeplitz, Tree, blt, noise_grid, tree
from skdp.privacy.rows import DenseRows
from skdp.privacy.streams import StreamOpening, StreamPlan, StreamRequest, StreamSession
from skdp.problem import Problem, RowBounds, TargetBounds
from skdp.problem.constraints import L1Ball
from skdp.problem.losses import Logistic, Squared
from skdp.testing import check_fork, check_noise

N, D = 4, 3
PROBLEM = Problem(Logistic(), N, D, RowBounds(2.0))
SCALE = 2.0**40


# Gaussian answers.


def answers_have_the_noise_of_their_sensitivity(name, repeats=1000):
    """Noise of answers of an oracle, for a sensitivity that is written down here once more."""
    rows, w = DenseRows(np.eye(N, D), np.zeros(N)), PROBLEM.start()
    oracle = PrivateOracle(rows, Ledger(1e30, 1e-5), Adjacency.REPLACE_ONE, SystemNoise())
    ask = getattr(oracle.for_problem(PROBLEM), name)
    # So much budget shows the exact answer.
    exact, spend = np.asarray(ask(w, spend=Spend(1e24))), Spend(0.01)
    scale = 2 * PROBLEM.lipschitz / N / sqrt(spend.amount)

    def noise():
        return np.asarray(ask(w, spend=spend)) - exact

    check_noise(noise, scale, repeats=repeats, false_alarm=1e-9)
    assert abs(oracle.for_problem(PROBLEM).gradient_scale(spend=spend) / scale - 1) < 1e-3, (
        "another scale than that of the noise is named"
    )


def noise_is_fresh_in_every_coordinate():
    mechanism, noise = GaussianMechanism(1.0, 2.0), SystemNoise()
    check_noise(lambda: mechanism.randomize(np.zeros(10_000), noise), 2.0)


def answers_lie_on_the_grid():
    mechanism, value = GaussianMechanism(1.0, 2.0), np.random.default_rng(1).normal(size=100)
    g = noise_grid.spacing(1.0, 2.0, 100)
    found = mechanism.randomize(value, SystemNoise())
    assert np.array_equal(np.rint(found / g) * g, found)


# Sources of noise.


def no_draw_is_handed_out_twice():
    noise = SystemNoise()
    for draw in (lambda: noise.rounded(5, SCALE), lambda: noise.normal(5)):
        drawn = np.concatenate([draw() for _ in range(40)])
        # Two of so many coincide with a chance below 1e-7.
        assert np.unique(drawn).size == drawn.size, "noise was handed out twice"


def forked_children_have_noise_of_their_own():
    check_fork(SystemNoise())


def ties_are_decided_one_by_one(size=4000, rate=0.3):
    """Where the first 8 bits of all rows are those of the rate, the others draw afresh."""
    leading = int(rate * 2**8)
    rest, honest = rate * 2**8 - leading, os.urandom

    def tied(n):
        return bytes([leading]) * size if n == size else honest(n)

    os.urandom = tied
    try:
        chosen = SystemNoise().chosen(size, rate)
    finally:
        os.urandom = honest
    # Six standard deviations.
    assert abs(chosen.mean() - rest) <= 6 * np.sqrt(rest * (1 - rest) / size)
    assert abs((chosen[1:] & chosen[:-1]).mean() - rest**2) <= 6 * np.sqrt(1 / size)


def draws_are_decided_by_the_bits_of_their_words(scale=2.0**32):
    """Quantiles that decide a draw are so close that one in 2^100 at most is wrong."""
    found, planted = [], randomness.refined
    randomness.refined = lambda z, tail: found.append((planted(z, tail), tail)) or found[-1][0]
    try:
        for word in range(2**60, 2**63, 2**60 + 12345):
            z = -float(ndtri((word >> 1) * 2.0**-64)) * (1 + 2.0**-47)
            randomness._decided(z, word, 0, scale)
            x, tail = found[-1]
            off = abs(refined(Fraction(x, 2**BITS), tail) - x)
            assert 2 * off * Fraction(scale) <= Fraction(2) ** (BITS - 100), "decided wrongly"
    finally:
        randomness.refined = planted


# Choices.


ROWS, BOUND, CLIP, ETA = 5, 0.5, 0.1, 1.2
UP_OR_DOWN = Problem(Logistic(), ROWS, 1, RowBounds(100.0), constraint=L1Ball(1.0))
BOUNDS = RowBounds(100.0, target=TargetBounds(-1.0, 1.0), feature_bound=BOUND)
ONE_OF_TWO = Problem(Squared(), ROWS, D, BOUNDS)


def asking(kind, X, adjacency, noise, spend):
    """A function that chooses once, for rows that weigh the same in either direction."""
    ledger = Ledger(1e9, 1e-5, calculus=ZeroConcentratedDP())
    if kind == "stream":
        problem = Problem(Logistic(), 1, 1, RowBounds(BOUND), constraint=L1Ball(1.0))
        opening = StreamOpening(problem, StreamPlan(1, CLIP, "gumbel"), adjacency, spend)

        def ask():
            ledger = Ledger(1e6, 1e-5, calculus=ZeroConcentratedDP())
            session = StreamSession(opening, ledger, noise)
            session.ask(StreamRequest(len(X), np.zeros(1)))
            # At w = 0 the derivative for label 0 is 1/2, which is clipped.
            session.read(DenseRows(-X, np.zeros(len(X))))
            assert abs(ledger.total / spend.amount - 1) < 1e-9
            return session.release()[0]

        return ask
    problem = UP_OR_DOWN if kind == "vertex" else ONE_OF_TWO
    oracle = PrivateOracle(DenseRows(X, np.ones(len(X))), ledger, adjacency, noise)
    oracle = oracle.for_problem(problem)

    def ask():
        before, w = ledger.total, np.zeros(problem.n_rows)
        if kind == "vertex":
            best = oracle.vertex(w, clip=CLIP, entry=BOUND, two_sided=True, spend=spend)
        else:
            best = oracle.select(w, np.arange(2), 1, clip=CLIP, spend=spend)[0]
        assert abs((ledger.total - before) / spend.amount - 1) < 1e-6, "another price is charged"
        return best

    return ask


def choices_have_the_noise_that_was_paid(kind, adjacency=REPLACE_ONE, size=BOUND):
    """The losing candidate wins with a head start of a little more than its distance, not of less.

    The distance of scores is known in units in which the noise follows from the price.
    """
    adjacency, noise = Adjacency(adjacency), Prepared()
    n = 1 if kind == "stream" else ROWS
    X = size * (np.eye(D)[np.zeros(n, int)] if kind == "select" else np.ones((n, 1)))
    ask = asking(kind, X, adjacency, noise, Spend(ETA**2 / 4))
    distance = n * ETA / adjacency.of_sum(1.0) / (2 if kind == "select" else 1)
    best = int(ask())
    noise.place = 1 - best
    for share, winner in ((0.99, best), (1.01, 1 - best)):
        noise.ahead = share * distance
        assert ask() == winner, "the noise is not what was paid"


def choices_lose_no_more_than_was_paid(kind, adjacency=REPLACE_ONE, size=BOUND):
    """Log odds of choices for neighbours that move the scores as far as they can."""
    adjacency = Adjacency(adjacency)
    if kind == "select":
        X = np.array([[size, -size, 0.0]] + [[size, size, 0.0]] * (ROWS - 1))
    else:
        X = np.array([[size]] + [[BOUND], [-BOUND], [BOUND], [-BOUND]] * (kind == "vertex"))
    other = X.copy()
    other[0] *= -1 if adjacency is Adjacency.REPLACE_ONE else 0
    odds, draws = [], 3000
    for seed, rows in enumerate((X, other)):
        ask = asking(kind, rows, adjacency, seeded(seed), Spend(ETA**2 / 4))
        first = sum(int(ask() == 0) for _ in range(draws))
        odds.append(np.log(first / (draws - first)))
    # Five standard errors of a difference of two log odds near even ones.
    assert abs(odds[0] - odds[1]) <= ETA + 5.5 * np.sqrt(8 / draws), "more is lost than was paid"


# Running sums: B is read off the running code with unit vectors for normals, the published sums are
# normal with covariance s^2 B B', and a changed term moves them by that much in this metric.

LENGTHS, SENSITIVITY, AMOUNT = (16, 40), 0.7, 0.02


# Bugs.


def as_ours(function):
    """A function that is interrupted line by line as those of the package are."""
    function.__code__ = function.__code__.replace(co_filename=f"{PACKAGE}/planted.py")
    return function


@as_ours
def rounded_and_wiped(honest, self, size, scale):
    if size > self._rounded.size:
        honest(self, 0, scale), honest(self, 1, scale)
    out = self._rounded[:size].copy()
    self._rounded[:size] = 0
    self._rounded = self._rounded[size:]
    return out


@as_ours
def rounded_twice(honest, self, size, scale):
    before = self._rounded
    out = honest(self, size, scale)
    if before.size >= size:
        self._rounded = np.concatenate([out, self._rounded])
    return out


def drawn_twice(honest, self, size):
    out = honest(self, size)
    self._ahead = np.concatenate([out, self._ahead], axis=1)
    return out


def not_afresh(honest, self):
    if not hasattr(self, "_process"):
        honest(self)


def half_in_the_second_stage():
    class Half:
        def __init__(self, noise):
            self.noise, self.stage = noise, 0

        def gumbel(self, shape):
            self.stage += 1
            return (1 if self.stage == 1 else 0.5) * self.noise.gumbel(shape)

    return lambda honest, scores, noise: honest(scores, Half(noise))


def one_for_all(honest, self, value, noise):
    return value + self.noise_scale * noise.normal(1)


def off_the_grid(honest, value, sensitivity, scale, noise):
    g = noise_grid.spacing(sensitivity, scale, value.size)
    return value + g * noise.rounded(value.shape, scale / g)


def in_floating_point(honest, value, sensitivity, scale, noise):
    return value + scale * noise.normal(value.shape)


def less_gumbel(factor):
    def bug(honest, self, value, noise):
        return honest(replace(self, noise_scale=factor * self.noise_scale), value, noise)

    return bug


def charged_once(honest, self, query):
    return ExponentialEvent(query=query, sensitivity=self.sensitivity, noise_scale=self.noise_scale)


def without_clip(honest, self, r, bound):
    return honest(self, r, np.inf)


class Overlapping(tree._Blocks):
    """The newest block is said to hold the terms of the two blocks before as well."""

    def step(self, z):
        noise = super().step(z)
        # A sum that is read off one block in the place of three has the noise of one.
        if len(self._sums) > 3:
            noise -= self._sums[-2] - self._sums[-4]
        return noise


def present_normal(honest, self, z):
    # As if the buffers had been updated before they were read.
    present = MethodType(honest, self)(z)
    extra = self._scales[(self._t - 1) % blt._CHUNK] * (self._weights.sum() * z)
    self._sum -= extra
    return present - extra


def column_norm_over(share):
    def bug(honest, self):
        # Of the matrix that is used, over fewer of its entries.
        n = max(1, int(share * self.length))
        if isinstance(self, Toeplitz):
            return honest(Toeplitz(n))
        return sqrt(self._sum_of_squares(np.array([n]))[0])

    return bug


def one_normal(honest, self):
    if self._taken == 0:
        self.first = honest(self)
    return self.first


def shared_draws():
    memory = {}

    def bug(honest, self):
        if self._taken not in memory:
            memory[self._taken] = honest(self)
        return memory[self._taken]

    return bug


def without_the_past(honest, self):
    maker, given, state = honest(self)
    fresh = self._mechanism.correlator(prod(self._shape))
    return maker, given, state | {"_correlator": fresh}


GRADIENTS = partial(answers_have_the_noise_of_their_sensitivity, "gradient")
NORMS = partial(answers_have_the_noise_of_their_sensitivity, "gradient_norm")
# A module of systems on which processes can fork.
FORKS = "fcntl"
HALF = "standard deviation 0.[45]|another scale"
NOT_PAID = "not what was paid|more is lost"


def each(kinds, what, patches, check, match, **options):
    return tuple(
        Bug(f"{what} ({kind.__name__})", patches, partial(check, kind=kind), match, **options)
        for kind in kinds
    )


ALL = (BLT, Toeplitz, Tree)
COSTS = prefix_sums.test_no_change_of_one_term_costs_more_than_its_price_and_one_costs_that
PRICES = partial(test_gumbel.test_costs_what_may_be_spent_and_no_more, amount=0.3, choices=7)
BUGS = (
    Bug("half the Gaussian noise", {"GaussianMechanism.randomize": lambda honest, self, v, noise: 0.5 * (v + honest(self, v, noise))}, GRADIENTS, HALF),
    Bug("half the noise on gradient norms", {"GradientNormQuery.sensitivity": lambda _, self, a: self.gradient.sensitivity(a) / 2}, NORMS, HALF),
    Bug("one normal for all coordinates", {"GaussianMechanism.randomize": one_for_all}, noise_is_fresh_in_every_coordinate, "noise"),
    Bug("half of the scale named to solvers", {"Oracle.gradient_scale": times(0.5)}, GRADIENTS, "another scale"),
    Bug("twice the scale named to solvers", {"Oracle.gradient_scale": times(2.0)}, NORMS, "another scale"),
    Bug("noise that is added in floating point", {"gaussian.noisy_on_grid": in_floating_point}, answers_lie_on_the_grid),
    Bug("an answer that is left off the grid", {"gaussian.noisy_on_grid": off_the_grid}, answers_lie_on_the_grid),
    Bug("moments that are left off the grid", {"arm_session.on_grid": lambda _, values, g: 1.0 * values}, partial(test_sessions.test_moments_lie_on_a_public_grid_whatever_the_rows, 1.0)),
    Bug("masked messages that are left off the grid", {"site_noise.on_grid": lambda _, values, g: 1.0 * values}, partial(test_sites.test_masked_messages_lie_on_a_public_grid_whatever_they_say, None)),
    # Sources of noise.
    Bug("noise that is shared after a fork", {"SystemNoise._start_afresh": not_afresh}, forked_children_have_noise_of_their_own, "alike", needs=FORKS),
    Bug("normals handed out twice", {"SystemNoise._drawn_ahead": drawn_twice}, no_draw_is_handed_out_twice, "twice"),
    Bug("noise that was rounded ahead handed out twice", {"SystemNoise._rounded_ahead": rounded_twice}, no_draw_is_handed_out_twice, "twice"),
    Bug("wiped noise left for the next draw by an interruption", {"SystemNoise._rounded_ahead": rounded_and_wiped}, partial(test_rounded_noise.test_an_interrupted_draw_loses_noise_and_leaves_none_that_was_used_or_wiped, lambda noise: noise.rounded(3, SCALE), KeyboardInterrupt)),
    Bug("last bits of wide noise lost before it is added", {"randomness._COARSE": Value(2.0**1023)}, test_grid.test_noise_far_wider_than_the_grid_is_whole_numbers_of_both_parities),
    Bug("public randomness from the stream of the noise", {"randomness._COIN_STREAM": Value(0)}, partial(test_randomness.test_public_generator_tell_nothing_of_the_noise, lambda: 7)),
    Bug("draws decided by quantiles that are refined once", {"randomness.refined": lambda honest, z, tail: honest(z, tail) if isinstance(z, float) else int(z * 2**BITS)}, draws_are_decided_by_the_bits_of_their_words, "wrongly"),
    Bug("ties of secret draws decided by one word", {"randomness._fresh_words": lambda honest, size: np.repeat(honest(1), size)}, ties_are_decided_one_by_one),
    # Choices.
    *(Bug(f"half the Gumbel noise ({kind})", {"GumbelMechanism.randomize": less_gumbel(0.5)}, partial(choices_have_the_noise_that_was_paid, kind), NOT_PAID) for kind in ("vertex", "select", "stream")),
    *(Bug(f"half the Gumbel noise under zero-out ({kind})", {"GumbelMechanism.randomize": less_gumbel(0.5)}, partial(choices_have_the_noise_that_was_paid, kind, ZERO_OUT), NOT_PAID) for kind in ("vertex", "select", "stream")),
    *(Bug(f"half the Gumbel noise, by its odds ({kind}, {adjacency})", {"GumbelMechanism.randomize": less_gumbel(0.5)}, partial(choices_lose_no_more_than_was_paid, kind, adjacency), NOT_PAID, nightly=True) for kind in ("vertex", "select", "stream") for adjacency in (REPLACE_ONE, ZERO_OUT)),
    Bug("half the range of vertices, by their odds", {"VertexQuery.sensitivity": times(0.5)}, partial(choices_lose_no_more_than_was_paid, "vertex"), NOT_PAID, nightly=True),
    Bug("half the range of selections, by their odds", {"SelectionQuery.sensitivity": times(0.5)}, partial(choices_lose_no_more_than_was_paid, "select"), NOT_PAID, nightly=True),
    Bug("entries of vertices that are not clipped, by their odds", {"BoundedBlock.combine_within": without_clip}, partial(choices_lose_no_more_than_was_paid, "vertex", size=4 * BOUND), NOT_PAID, nightly=True),
    Bug("entries of selections that are not clipped, by their odds", {"BoundedBlock.combine_within": without_clip}, partial(choices_lose_no_more_than_was_paid, "select", size=4 * BOUND), NOT_PAID, nightly=True),
    Bug("a little less Gumbel noise", {"GumbelMechanism.randomize": less_gumbel(0.9)}, partial(choices_have_the_noise_that_was_paid, "stream"), NOT_PAID),
    Bug("Gumbel noise for half the range", {"GumbelMechanism.calibrated": lambda honest, cls, s, k, spend: replace(honest(cls, s / 2, k, spend), sensitivity=s)}, PRICES),
    Bug("half the Gumbel noise in the second stage of a choice", {"gumbel._one_of_many": Anew(half_in_the_second_stage)}, partial(test_gumbel.test_one_of_many_is_chosen_in_two_stages_by_the_same_law, noise=seeded(), scale=1.0)),
    Bug("several choices charged as one", {"GumbelMechanism.event": charged_once}, PRICES),
    Bug("choices at half their price", {"ZeroConcentratedDP._cost_of_other": times(0.5)}, PRICES),
    # Running sums.
    Bug("a tree that leaves two nodes of a row out of its price", {"Tree.column_norm": lambda _, self: sqrt(self.length.bit_length() - 2)}, partial(COSTS, kind=Tree, n=32)),
    Bug("a tree whose nodes overlap in the noise", {"Tree.correlator": lambda _, self, size: Overlapping(size)}, partial(COSTS, kind=Tree, n=32)),
    Bug("a tree with the levels of half the stream", {"Tree.column_norm": lambda _, self: sqrt((self.length // 2).bit_length())}, partial(COSTS, kind=Tree, n=32)),
    Bug("a tree that leaves a level out", {"Tree.column_norm": lambda _, self: sqrt((self.length - 1).bit_length() or 1)}, partial(COSTS, kind=Tree, n=32)),
    *(Bug(f"a column norm over {share:.0%} of the stream ({kind.__name__})", {f"{kind.__name__}.column_norm": column_norm_over(share)}, partial(COSTS, kind=kind, n=33)) for kind in (BLT, Toeplitz) for share in (0.1, 0.5, 0.9)),
    Bug("a column norm of other rates", {"BLT.column_norm": lambda honest, self: honest(BLT(self.length // 4))}, partial(COSTS, kind=BLT, n=33)),
    Bug("columns normalised over too few terms", {"BLT.scales": lambda honest, self, steps: honest(self, np.minimum(np.asarray(steps) + 5, self.length))}, partial(COSTS, kind=BLT, n=33)),
    *each(ALL, "half the noise on sums", {"PrefixNoise._draw": times(0.5)}, partial(COSTS, n=33), ""),
    *each(ALL, "noise on sums without the column norm", {"PrefixSumMechanism.noise_scale": lambda _, self, s, spend: s / sqrt(spend.amount)}, partial(prefix_sums.test_a_stream_costs_no_more_than_its_spend_and_hardly_less, amount=0.07), ""),
    *each(ALL, "an event that hides the column norm", {"PrefixSumMechanism.event": lambda honest, *args: replace(honest(*args), column_norm=1.0)}, partial(COSTS, n=33), ""),
    *each(ALL, "running sums priced without their column norm", {"PrefixSumEvent.mu_squared": lambda _, event: event.ratio**2}, partial(COSTS, n=33), ""),
    *each(ALL, "one normal for all steps", {"PrefixNoise._draw": one_normal}, partial(COSTS, n=33), ""),
    Bug("buffers that look at the present normal", {"blt._Buffers.step": present_normal}, partial(prefix_sums.test_the_factors_multiply_to_the_matrix_of_running_sums, n=33, kind=BLT)),
    Bug("squares of a convolution that are left out", {"toeplitz._Convolution._convolved": lambda honest, self, past: honest(self, past) * (len(past) != 8)}, partial(prefix_sums.test_the_factors_multiply_to_the_matrix_of_running_sums, n=33, kind=Toeplitz)),
    Bug("variances that count levels in place of bits", {"Tree.variances": lambda _, self, steps: np.floor(np.log2(steps)) + 1}, partial(prefix_sums.test_variances_are_the_squared_norms_of_rows, n=33, kind=Tree)),
    Bug("a stream that does not count its steps", {"PrefixNoise.left": gives(1)}, partial(prefix_sums.test_no_step_is_taken_beyond_the_length, Tree, 6)),
    *each(ALL, "streams that share their noise", {"PrefixNoise._draw": Anew(shared_draws)}, partial(prefix_sums.test_streams_never_share_noise, source=prefix_sums.seeded), ""),
    *each(ALL, "a checkpoint that forgets the past", {"PrefixNoise.taken_along": without_the_past}, partial(prefix_sums.test_a_checkpoint_goes_on_where_it_was, cut=13), ""),
)  # fmt: skip
