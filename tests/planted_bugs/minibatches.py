"""Bugs in sampled queries and their accounting."""

from dataclasses import replace
from functools import partial

import numpy as np
from definition_of_a_sampled_release import check_one_release
from known_noise import seeded
from planted_bugs.bug import REPLACE_ONE, ZERO_OUT, Anew, Bug, times
from privacy import test_site_accounts, test_subsampling
from privacy.mechanisms import test_sites

from skdp.privacy import Adjacency, gdp
from skdp.privacy.accounting import Spend, subsampling
from skdp.privacy.mechanisms import SampledGaussian
from skdp.privacy.queries import (
    GradientDifferenceQuery,
    GradientQuery,
    SampledGradientQuery,
    SiteRequest,
)
from skdp.privacy.rows import DenseRows
from skdp.problem import Problem, RowBounds, Sites
from skdp.problem.losses import Squared
from skdp.solvers import plan_block
from skdp.testing import check_noise

N, D, RATE = 20, 3, 0.1


def mechanism():
    return SampledGaussian(N, RATE, 2.0, 3.0, Adjacency.REPLACE_ONE)


def request(kind="difference"):
    """What is asked about all rows, and its estimate from a sample."""
    problem, w = Problem(Squared(), N, D, RowBounds(2.0)), np.array([1e-3, 0.0, 0.0])
    gradient = GradientQuery(problem, w)
    if kind == "gradient":
        return SampledGradientQuery(gradient, RATE)
    if kind == "difference":
        return SampledGradientQuery(GradientDifferenceQuery(gradient, np.zeros(D)), RATE)
    sites = Sites(("a", "b"), np.array([5, N - 5]), None)
    full = SiteRequest(problem, sites, np.arange(2), np.tile(w, (2, 1)), None)
    return SampledGradientQuery(full, RATE)


def rows_that_are_not_drawn_say_nothing(kind):
    query, rng, drawn = request(kind), np.random.default_rng(0), np.arange(N) % 3 == 0
    X, y = rng.normal(size=(N, D)), rng.uniform(-1, 1, size=N)
    others = np.where(drawn[:, None], X, 0.5), np.where(drawn, y, 0.0)
    found = [query.evaluate_under(DenseRows(*data), drawn) for data in ((X, y), others)]
    np.testing.assert_array_equal(*found, err_msg="rows that were not drawn count")
    assert np.any(found[0] != query.evaluate_under(DenseRows(X, y), ~drawn))


def drawn_rows_move_within_their_ball():
    """A row that is drawn moves the answer within its ball, whoever else is drawn."""
    query = request()
    half = np.sqrt(0.5) * 2
    X, y = np.tile([half, half, 0.0], (N, 1)), np.zeros(N)
    X[0, 1] = -half
    rows, attained = DenseRows(X, y), 0.0
    for others in range(4):
        mask = np.zeros(N, dtype=bool)
        mask[1 : 1 + others] = True
        without = query.evaluate_under(rows, mask)
        mask[0] = True
        move = np.linalg.norm(query.evaluate_under(rows, mask) - without)
        share = move / query.sensitivity(Adjacency.ZERO_OUT)
        assert share <= 1 + 1e-11, f"moved by {share} times the bound beside {others} others"
        attained = max(attained, share)
    assert attained > 0.999, "more noise than is needed"


def the_noise_is_the_multiple_of_the_bound_on_a_row():
    query, z = request(), 1.7
    for adjacency in Adjacency:
        mechanism = query.mechanism(adjacency, Spend((adjacency.of_sum(1.0) / z) ** 2))
        row = query.full.radius / (RATE * N)
        assert abs(mechanism.noise_scale / (z * row) - 1) < 1e-4, "another noise"
        assert mechanism.event("x").noise_multiplier >= z


def the_noise_is_that_of_the_event_whoever_is_drawn():
    sampled, noise = mechanism(), seeded()

    def draw():
        sampled.perturbation(noise)
        return sampled.randomize(np.zeros(10), noise)

    check_noise(draw, sampled.event("x").noise_scale, repeats=2000)


def a_sampled_release_costs_what_its_definition_says(adjacency):
    check_one_release(Adjacency(adjacency))


def a_planned_schedule_leaves_room():
    """What is planned is within the budget, whatever else is spent."""
    epsilon, delta, room = 1.0, 1e-5, 0.5
    shares, adjacency = [1.0, 4.0] * 5, Adjacency.REPLACE_ONE
    block = plan_block(0.2, shares, room, epsilon, delta, adjacency)
    rest = room * gdp.mu(epsilon, delta) ** 2
    found = subsampling.epsilon(block.sampled, rest, delta)
    assert found <= epsilon + 1e-9, "over the budget"


def shared_masks():
    kept = []

    def bug(honest, self, noise):
        kept.append(honest(self, noise) if len(kept) % 2 == 0 else kept[-1])
        return kept[-1]

    return bug


def realised(honest, self, rows, perturbation):
    size = max(1, perturbation.sum())
    centre = honest(self, rows, np.zeros(N, dtype=bool))
    return centre + (honest(self, rows, perturbation) - centre) * (RATE * N / size)


def of_everybody(honest, self, rows, drawn, rate):
    return honest(self, rows, np.ones_like(drawn), rate)


def other_relation(honest, sampled, *rest):
    other = {Adjacency.REPLACE_ONE: Adjacency.ZERO_OUT, Adjacency.ZERO_OUT: Adjacency.REPLACE_ONE}
    return honest(tuple(replace(s, adjacency=other[s.adjacency]) for s in sampled), *rest)


def levels_together(honest, self, event):
    return min(self.reserves)[0], sum(count for _, count in self.reserves)


def exceeds_what_was_reserved(honest, self, events):
    self._whole.reserved_used[0.0] -= 2
    honest(self, events)
    self._whole.reserved_used[0.0] += 2


def priced_by_the_largest(honest, shape, *budget):
    """As if every release had the noise of the step with most of it."""
    largest = max(z for z, _ in shape.releases), sum(n for _, n in shape.releases)
    return honest(replace(shape, releases=(largest,)), *budget)


def noise_of_the_realised_size(honest, self, value, noise):
    # The latest draw is not kept, so another one stands in: its size is as random.
    size = max(1, noise.chosen(N, RATE).sum())
    return value + self.noise_scale * RATE * N / size * noise.normal(value.shape)


BUGS = (
    *(Bug(f"sampled releases priced for the other relation ({adjacency})", {"subsampling.epsilon": other_relation}, partial(a_sampled_release_costs_what_its_definition_says, adjacency), "than the definition demands", nightly=True, needs="dp_accounting") for adjacency in (REPLACE_ONE, ZERO_OUT)),
    Bug("a sample that two steps share", {"SampledGaussian.perturbation": Anew(shared_masks)}, test_sites.test_sampled_rows_are_fresh_and_sites_have_noise_of_their_own),
    Bug("noise by the size of the sample that was drawn", {"SampledGaussian.randomize": noise_of_the_realised_size}, the_noise_is_that_of_the_event_whoever_is_drawn, "noise"),
    *(Bug(f"a sample of all rows ({kind})", {f"{owner}.of_drawn": of_everybody}, partial(rows_that_are_not_drawn_say_nothing, kind), "not drawn count") for kind, owner in (("gradient", "GradientQuery"), ("difference", "GradientDifferenceQuery"), ("sites", "SiteRequest"))),
    Bug("a mean over the size of the sample that was drawn", {"SampledGradientQuery.evaluate_under": realised}, drawn_rows_move_within_their_ball, "times the bound"),
    Bug("a rate forgotten in the sensitivity", {"SampledGradientQuery.sensitivity": lambda _, self, a: self.full.sensitivity(a)}, drawn_rows_move_within_their_ball, "times the bound"),
    Bug("noise for the half of the bound on a row", {"SampledGradientQuery.sensitivity": times(0.5)}, the_noise_is_the_multiple_of_the_bound_on_a_row, "another noise"),
    Bug("levels of noise that are counted together", {"SubsampledGaussianDP.reserved": levels_together}, test_subsampling.test_levels_of_noise_are_reserves_of_their_own, "DID NOT RAISE", needs="dp_accounting"),
    Bug("levels of noise that sites may exceed", {"Ledger._record_at_sites": exceeds_what_was_reserved}, test_site_accounts.test_what_is_reserved_is_reserved_for_each_site, "DID NOT RAISE"),
    Bug("a schedule that is priced by its last step", {"minibatch_noise.noise_unit": priced_by_the_largest}, a_planned_schedule_leaves_room, "over the budget", needs="dp_accounting"),
    Bug("what answers left unused of a reserve given back", {"Ledger.receipt": lambda honest, self, *, whole=False: honest(self)}, test_subsampling.test_a_whole_receipt_lists_all_levels),
)  # fmt: skip
