"""What mirror maps declare, against definitions and numbers drawn at random."""

import inspect
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import xlogy

from skdp.problem import mirror_maps
from skdp.problem.constraints import Box, Constraint, L1Ball, L2Ball, LpBall, Simplex, Unconstrained
from skdp.problem.mirror_maps import Entropy, Euclidean, MirrorMap, PNorm, choose_mirror_map


@dataclass(frozen=True)
class Example:
    mirror: MirrorMap
    constraint: Constraint

    def __str__(self):
        return str(self.mirror)

    def inside(self, d, count=50):
        rng = np.random.default_rng(d)
        return [0.9 * self.constraint.project(v) for v in rng.normal(size=(count, d))]

    def feasible(self, d, count=50):
        """Points of the set, vertices and others at its border included."""
        rng = np.random.default_rng(d + 1)
        if isinstance(self.constraint, Simplex):
            return [*self.constraint.radius * rng.dirichlet(np.full(d, 0.3), size=count)]
        corners = [self.constraint.linear_minimizer(g) for g in [*np.eye(d), *-np.eye(d)]]
        return [*corners, *self.inside(d, count)]


EXAMPLES = [
    Example(Entropy(2.0, signed=True), L1Ball(2.0)),
    Example(Entropy(0.5, signed=False), Simplex(0.5)),
    Example(PNorm(1.5, 1.3), LpBall(1.5, 1.3)),
    Example(PNorm(1.0, 2.0), L2Ball(1.0)),
    Example(Euclidean(L2Ball(1.5)), L2Ball(1.5)),
    Example(Euclidean(Box(-1.0, 0.5)), Box(-1.0, 0.5)),
]
every_map = pytest.mark.parametrize("example", EXAMPLES, ids=str)
every_size = pytest.mark.parametrize("d", [1, 2, 9])


def test_examples_cover_every_exported_map_and_the_file():
    found = {
        thing
        for _, thing in inspect.getmembers(mirror_maps, inspect.isclass)
        if issubclass(thing, MirrorMap)
    }
    exported = {getattr(mirror_maps, name) for name in mirror_maps.__all__}
    assert exported == found | {choose_mirror_map}
    assert {type(e.mirror) for e in EXAMPLES} == found - {MirrorMap}


@every_size
@every_map
def test_primal_is_feasible_and_beats_every_feasible_point(example, d):
    rng = np.random.default_rng(0)
    for size in (0.1, 1.0, 30.0):
        dual = size * rng.normal(size=d)
        w = example.mirror.primal(dual)
        assert example.constraint.contains(w)
        best = example.mirror.value(w) - dual @ w
        for v in example.feasible(d):
            # The entropy of the l1 ball is given inside of it.
            v = 0.999999 * v if example.mirror == EXAMPLES[0].mirror else v
            assert example.mirror.value(v) - dual @ v >= best - 1e-4


@every_size
@every_map
def test_dual_leads_back_to_where_it_was_taken(example, d):
    simplex = isinstance(example.constraint, Simplex)
    for w in example.feasible(d) if simplex else example.inside(d):
        # Logarithms end at zero: there points are drawn inwards by a thousandth.
        atol = 2e-3 * example.constraint.radius if simplex else 1e-9
        np.testing.assert_allclose(example.mirror.primal(example.mirror.dual(w)), w, atol=atol)


@pytest.mark.parametrize("mirror", [Entropy(2.0, signed=True), PNorm(2.0, 1.3)], ids=str)
def test_dual_is_the_gradient(mirror):
    rng = np.random.default_rng(0)
    for w in rng.normal(size=(10, 4)) * 0.2:
        slopes = [
            (mirror.value(w + 1e-6 * e) - mirror.value(w - 1e-6 * e)) / 2e-6 for e in np.eye(4)
        ]
        np.testing.assert_allclose(mirror.dual(w), slopes, rtol=1e-5, atol=1e-6)


def test_entropy_on_the_ball_is_the_least_of_the_pairs_that_represent_the_point():
    mirror, rng = Entropy(1.0, signed=True), np.random.default_rng(0)
    for w in 0.3 * rng.normal(size=(10, 3)):
        slack = 1 - np.abs(w).sum()
        if slack <= 0:
            continue
        for _ in range(50):
            both = 0.5 * slack * rng.dirichlet(np.ones(3))
            pair = np.concatenate([np.maximum(w, 0) + both, np.maximum(-w, 0) + both])
            assert xlogy(pair, pair).sum() >= mirror.value(w) - 1e-12


@every_size
@every_map
def test_is_1_strongly_convex_in_its_norm_which_is_at_least_the_euclidean_one(example, d):
    points = [0.99 * v for v in example.feasible(d)]
    if isinstance(example.constraint, Simplex):
        points = example.feasible(d)
    for a, b in pairwise(points):
        apart = example.mirror.norm(a - b)
        assert apart >= np.linalg.norm(a - b) * (1 - 1e-12)
        gap = 0.5 * (example.mirror.value(a) + example.mirror.value(b))
        gap -= example.mirror.value(0.5 * (a + b))
        assert gap >= apart**2 / 8 * (1 - 1e-9) - 1e-12


@every_size
@every_map
def test_reach_bounds_the_divergence_from_the_middle(example, d):
    start = example.mirror.primal(np.zeros(d))
    for v in example.feasible(d):
        v = 0.999999 * v if example.mirror == EXAMPLES[0].mirror else v
        assert example.mirror.value(v) - example.mirror.value(start) <= (
            example.mirror.reach(d) * (1 + 1e-9)
        )


@pytest.mark.parametrize("d", [1, 10, 1000])
@every_map
def test_width_bounds_noise_in_the_dual_norm_and_is_not_far_off(example, d):
    noise = np.random.default_rng(0).normal(size=(400, d))
    p = {Euclidean: 2.0, Entropy: 1.0}.get(type(example.mirror)) or example.mirror.p
    dual_norms = np.linalg.norm(noise, ord=np.inf if p == 1 else p / (p - 1), axis=1)
    squares = dual_norms**2
    error = squares.std() / np.sqrt(len(squares))
    assert squares.mean() <= example.mirror.width(d) ** 2 + 4 * error
    assert squares.mean() >= 0.3 * example.mirror.width(d) ** 2


def test_noise_and_reach_of_entropy_do_not_see_the_dimension():
    mirror = Entropy(1.0, signed=True)
    grown = mirror.reach(10_000) * mirror.width(10_000) ** 2
    assert grown < 5 * mirror.reach(100) * mirror.width(100) ** 2


@pytest.mark.parametrize(
    ("constraint", "few", "many"),
    [
        (L1Ball(3.0), Euclidean, Entropy),
        (Simplex(1.0), Euclidean, Entropy),
        (LpBall(1.0, 1.2), Euclidean, PNorm),
        (LpBall(1.0, 3.0), Euclidean, Euclidean),
        (L2Ball(1.0), Euclidean, Euclidean),
        (Box(0.0, 1.0), Euclidean, Euclidean),
        (Unconstrained(), Euclidean, Euclidean),
    ],
    ids=str,
)
def test_geometry_of_the_set_is_chosen_where_there_are_many_features(constraint, few, many):
    assert type(choose_mirror_map(constraint, 3)) is few
    assert type(choose_mirror_map(constraint, 10_000)) is many
