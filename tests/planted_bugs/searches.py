"""Bugs in private searches, by exact arithmetic and by what searches release about neighbours."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from planted_bugs.bug import Bug, gives
from private_toys import Toy
from selections_at_their_worst import exact_delta, smaller_is_better, telling_tail, worst_delta
from skdp.privacy.accounting.run_laws import NegativeBinomial, Poisson
from skdp.privacy.accounting.searches import GaussianSearch

from skdp.model_selection import DPGridSearchCV, DPRandomizedSearchCV
from skdp.model_selection import base as searching
from skdp.privacy import Adjacency, gdp
from skdp.privacy.accounting import tuning

__all__ = ["BUGS"]

EPSILON, DELTA = 1.0, 1e-5
LAWS = (NegativeBinomial(10.0), NegativeBinomial(10.0, 1.0), Poisson(5.0))


@dataclass(frozen=True)
class Fixed:
    """A number of runs that is not random."""

    runs: int

    def slope(self, beaten):
        return self.runs * (1 - beaten) ** (self.runs - 1)


def _drawn(law):
    """The law itself; bugs put another one in its place."""
    return law


def _refit(level):
    """Sum of mu^2 of releases after the search; nothing, but for bugs."""
    return 0.0


def _told(law):
    """True if the number of runs is told; it is not, but for bugs."""
    return False


def searches_keep_their_promise_in_the_worst_case(law):
    """The delta of the worst order of outcomes, for the level that a run is given."""
    level = np.sqrt(GaussianSearch(EPSILON, DELTA, law).run)
    if _told(law):
        uniform = (np.arange(4000) + 0.5) / 4000
        shares = np.bincount([law.draw(float(u)) for u in uniform]) / uniform.size
        orders = [telling_tail(cut, level / 2 + 0.5 / level) for cut in (-2.5, -1.5, -0.5)]
        # Whoever knows the number knows which order is worst for it.
        found = sum(
            shares[runs]
            * max(
                exact_delta(EPSILON, level, Fixed(int(runs)), order)
                for order in [*orders, smaller_is_better]
            )
            for runs in np.flatnonzero(shares)
        )
    else:
        found = worst_delta(EPSILON, level, _drawn(law), _refit(level))
    assert found <= DELTA, "a delta beyond the promise"


def the_split_price_covers_the_exact_one(law, mu=0.2):
    run = partial(gdp.delta, mu)
    found = tuning.split_delta(EPSILON, law, run, run)
    assert found >= worst_delta(EPSILON, mu, law), "less than the exact delta"


# So much that a factor of two is seen.
N, BUDGET, SEARCHES = 100, 8.0, 100
ROWS = np.zeros((N, 2))
# Of both means, and of the standard deviation that the distance is measured in.
ERROR = 4 * np.sqrt(2 / SEARCHES)


def wild(model, X, y):
    """Numbers far outside of their range."""
    return np.where(y == 0, -50.0, 1.0)


def scores_of_neighbours_are_as_close_as_they_may(share, scoring=None):
    """Means of released scores of neighbours, in standard deviations."""
    options = {"score_share": share}
    if scoring is not None:
        options |= {"scoring": scoring, "score_range": (0.0, 1.0)}
    out = []
    for label in (1, 0):
        y = np.ones(N, int)
        y[-1] = label
        searches = [
            DPGridSearchCV(
                Toy(), {"label": [1]}, exhaustive=True, epsilon=BUDGET, random_state=seed, **options
            )
            for seed in range(SEARCHES)
        ]
        out.append(np.array([search.fit(ROWS, y).best_score_ for search in searches]))
    spread = np.sqrt((out[0].var(ddof=1) + out[1].var(ddof=1)) / 2)
    apart = abs(out[0].mean() - out[1].mean()) / spread if spread else np.inf
    # Runs of toys tell their (epsilon, delta) alone.
    allowed = searching.account_for([None], BUDGET, 1e-5, 1).score_mu(share)
    assert apart < allowed + ERROR, "scores tell more than they may"


class Counted(Toy):
    """Counts its fits."""

    __module__ = "skdp.toys"
    fits = 0

    def fit(self, X, y):
        Counted.fits += 1
        return super().fit(X, y)


def numbers_of_runs_follow_their_law(kind, searches=200, **options):
    law = kind(float(options["n_iter"]))
    uniform = (np.arange(2000) + 0.5) / 2000
    drawn = np.array([_TRUE[kind](law, float(u)) for u in uniform])
    counts = []
    for seed in range(searches):
        Counted.fits = 0
        DPRandomizedSearchCV(Counted(), {"label": [0, 1]}, random_state=seed, **options).fit(
            ROWS, ROWS[:, 0]
        )
        counts.append(Counted.fits)
    ours = np.array([[np.mean(x <= k) for k in range(1, 40)] for x in (np.array(counts), drawn)])
    # The Kolmogorov-Smirnov distance of an honest sample is below this but for 1 in 1000; seeds
    # are fixed.
    assert np.abs(ours[0] - ours[1]).max() < 1.95 / np.sqrt(searches), "another law"


_TRUE = {kind: kind.draw for kind in (NegativeBinomial, Poisson)}


def simulated_searches_keep_their_promise(n=200_000):
    """A large delta, so that what breaks the promise is seen, and the worst order that is known."""
    delta, law = 0.01, NegativeBinomial(10.0)
    mu = tuning.mu(EPSILON, delta, law)
    worst = {
        exact_delta(EPSILON, mu, law, telling_tail(cut, tail)): (cut, tail)
        for cut in np.linspace(-3, 1, 9)
        for tail in np.linspace(mu, mu + 4, 17)
    }
    cut, tail = worst[max(worst)]
    rng = np.random.default_rng(0)

    def share_of_tail(mean):
        runs = np.array([law.draw(u) for u in rng.random(n)])
        x = rng.normal(size=runs.sum()) + mean
        # Smaller is better, but outcomes in the tail take part as if they were at the cut.
        worth = np.where(x > tail, cut, x)
        best = np.minimum.reduceat(worth, np.concatenate([[0], np.cumsum(runs)[:-1]]))
        return np.mean(best == cut)

    here, there = share_of_tail(mu), share_of_tail(0.0)
    error = np.sqrt((here + np.exp(2 * EPSILON) * there) / n)
    excess = here - np.exp(EPSILON) * there
    # What is looked for is there to be seen.
    assert excess > 0.4 * delta, "nothing was seen"
    assert excess < delta + 4 * error, "a delta beyond the promise"


def counted(factor=1.0, adjacency=None):
    def bug(honest, self, n, mu, relation):
        return honest(self, round(factor * n), mu, adjacency or relation)

    return {"RowScore.mechanism": bug}


def whole(honest, self):
    return gdp.mu(EPSILON, DELTA) ** 2


def for_each(what, patches, nightly=False):
    return tuple(
        Bug(
            f"{what} ({law})",
            patches,
            partial(searches_keep_their_promise_in_the_worst_case, law),
            nightly=nightly or k > 0,
        )
        for k, law in enumerate(LAWS)
    )


WORST = "beyond the promise"
CLOSE = scores_of_neighbours_are_as_close_as_they_may
BUGS = (
    *for_each("runs that get the whole budget", {"GaussianSearch.run": whole}),
    *for_each("a fixed number of runs", {"searches._drawn": lambda _, law: Fixed(int(law.mean))}),
    *for_each("a number of runs that is told", {"searches._told": gives(True)}, nightly=True),
    *for_each("a last fit that nobody pays for", {"searches._refit": lambda _, level: level**2}),
    Bug("a search that pays for one run whatever their number", {"tuning.split_delta": lambda honest, epsilon, law, *runs: honest(epsilon, law, *runs) / law.mean}, partial(the_split_price_covers_the_exact_one, LAWS[0]), "less than the exact"),
    Bug("scores without noise", {"GaussianMechanism.randomize": lambda _, self, value, noise: value}, partial(CLOSE, 0.5), "more than", nightly=True),
    Bug("exact scores in a search", {"RowScore.noisy_mean": lambda _, self, model, X, y, *rest: float(np.mean(self.of_rows(model, X, y)))}, partial(CLOSE, 0.9), "more than"),
    Bug("scores of which twice the rows are counted", counted(2), partial(CLOSE, 0.9), "more than", nightly=True),
    Bug("scores of which ten times the rows are counted", counted(10), partial(CLOSE, 0.9), "more than", nightly=True),
    Bug("scores for the wrong relation", counted(adjacency=Adjacency.ZERO_OUT), partial(CLOSE, 0.9), "more than", nightly=True),
    Bug("scores that leave their range", {"row_scores.np.clip": lambda _, values, low, high: values}, partial(CLOSE, 0.5, wild), "more than", nightly=True),
    Bug("a fixed number of runs (randomised search)", {"NegativeBinomial.draw": lambda _, self, uniform: int(self.mean)}, partial(numbers_of_runs_follow_their_law, NegativeBinomial, n_iter=3), "another law", nightly=True),
    Bug("a fixed number of runs (randomised search, Poisson)", {"Poisson.draw": lambda _, self, uniform: int(self.mean)}, partial(numbers_of_runs_follow_their_law, Poisson, n_iter=4, law="poisson"), "another law", nightly=True),
    Bug("runs that get the whole budget, by simulation", {"tuning.mu": lambda _, epsilon, delta, law: gdp.mu(epsilon, delta)}, simulated_searches_keep_their_promise, WORST, nightly=True),
)  # fmt: skip
