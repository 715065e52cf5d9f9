"""One site: its messages, its account, and what it refuses, without a cluster."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("cloudpickle", reason="needs dask: pip install 'skdp[dask]'")
from sites_on_workers import SIZES, D, Direct, exact, rows, seeded, seeded_here

from skdp.exceptions import BudgetExceededError
from skdp.privacy import Adjacency, PrivacyUnit
from skdp.privacy.accounting import Ledger, Spend
from skdp.privacy.rows import Refusal, packed
from skdp.privacy.sites import RemoteOracle, Request, Site
from skdp.privacy.sites import site as remote_site
from skdp.problem import Problem, RowBounds
from skdp.problem.losses import Logistic

PROBLEM = Problem(Logistic(), sum(SIZES.values()), D, RowBounds(2.0, 2.0))
W = np.array([0.5, -0.2, 0.1, 0.3])


def content(problem=PROBLEM, clip=None):
    return [body for _, body in packed((problem, clip))]


ENCODE = [body for _, body in packed(np.asarray)]


def opened(epsilon=1.0, of=rows, fit="one"):
    site = Site(lambda: of("north"), epsilon, 1e-5, Adjacency.REPLACE_ONE)
    facts = site.opened(fit, ENCODE, epsilon, 1e-5, Adjacency.REPLACE_ONE)
    return site, facts


def request(number, amount=0.001, **changes):
    return Request("one", number, content(), W, amount)._replace(**changes)


def test_a_message_is_the_mean_gradient_of_the_site_and_noise_of_its_own(monkeypatch):
    site, facts = opened()
    assert (facts.n_samples, facts.n_features) == (SIZES["north"], D)
    # The number of rows is its own, whatever the problem says.
    lying = content(replace(PROBLEM, n_samples=1))
    for number, given in enumerate((content(), lying)):
        site, _ = opened(1e9)
        message = site.answered(request(number, 1e8, content=given))
        np.testing.assert_allclose(message, exact("north", W), atol=1e-4)
        assert not np.array_equal(message, exact("north", W))


def of_people(label, times=3):
    """Rows of a site, so often each, as those of a person: half of them labelled by text."""
    X, y = rows(label)
    return np.repeat(X, times, axis=0), np.repeat(y, times), np.repeat(np.arange(len(y)), times)


def with_more_rows_of_one(label, more):
    X, y, labels = of_people(label)
    rng = np.random.default_rng(3)
    X = np.vstack([X[labels != 7], rng.normal(size=(more, D))])
    y = np.append(y[labels != 7], np.ones(more, dtype=int))
    return X, y, np.append(labels[labels != 7], np.full(more, 10_000))


def test_a_message_is_the_mean_over_the_people_of_a_site():
    site, facts = opened(1e9, of=of_people)
    assert facts.of_units
    np.testing.assert_allclose(site.answered(request(1, 1e8)), exact("north", W), atol=1e-4)


@pytest.mark.parametrize("more", [1, 10, 1000])
def test_what_a_site_says_does_not_tell_how_many_rows_a_person_has(more):
    (_, here), (_, there) = (
        opened(of=of) for of in (of_people, lambda label: with_more_rows_of_one(label, more))
    )
    assert here == there
    assert here.n_samples == SIZES["north"]


def test_a_person_with_many_rows_moves_a_message_by_no_more_than_a_row():
    moved = []
    for more in (1, 10, 1000):
        answers = [
            opened(1e9, of=of)[0].answered(request(1, 1e8))
            for of in (of_people, lambda label, more=more: with_more_rows_of_one(label, more))
        ]
        moved.append(np.linalg.norm(answers[0] - answers[1]))
    # Rows are at most sqrt(8) long, with the intercept entry, and derivatives at most 1.
    assert max(moved) <= 2 * np.sqrt(8) / SIZES["north"] + 1e-4


def test_sites_have_labels_of_people_all_of_them_or_none():
    found = Direct(of=of_people).opened()
    assert found.unit is PrivacyUnit.DECLARED
    assert found.n_samples == sum(SIZES.values())
    assert found.sites.of_units
    some = Direct(of=lambda label: of_people(label)[: 2 + (label == "north")])
    with pytest.raises(ValueError, match="all return labels"):
        some.opened()


@pytest.mark.parametrize("wrong", ["short", "missing", "targets", "table"])
def test_a_site_refuses_labels_without_saying_how_many_rows_it_has(wrong):
    def malformed(label):
        X, y, labels = of_people(label)
        given = {
            "short": (X, y, labels[:-1]),
            "missing": (X, y, np.where(labels == 3, np.nan, labels)),
            "targets": (X, y[:-1], labels),
            "table": (X, np.stack([y, y], axis=1), labels),
        }
        return given[wrong]

    refused = opened(of=malformed)[1]
    assert isinstance(refused, Refusal)
    assert not any(digit in refused.message for digit in "0123456789")


def test_a_repeated_round_has_the_same_message_and_costs_nothing():
    site, _ = opened()
    first = site.answered(request(1))
    kept = first.copy()
    first[:] = 0.0
    spent = site.receipt()
    for _ in range(3):
        np.testing.assert_array_equal(site.answered(request(1)), kept)
    assert site.receipt() == spent
    assert not np.any(site.answered(request(2)) == kept)


@pytest.mark.parametrize(
    "other",
    [
        request(2, w=W + 1),
        request(2, amount=0.002),
        request(2, content=content(clip=0.1)),
        request(1),
        request(3, fit="another"),
    ],
)
def test_other_queries_in_a_round_and_earlier_rounds_are_refused(other):
    site, _ = opened()
    site.answered(request(1))
    site.answered(request(2))
    spent = site.receipt()
    refused = site.answered(other)
    assert isinstance(refused, Refusal)
    assert "rounds of one fit" in refused.message
    assert site.receipt() == spent


def test_a_new_fit_ends_the_one_before():
    site, _ = opened(epsilon=2.0)
    site.answered(request(1))
    site.opened("two", ENCODE, 0.1, 1e-5, Adjacency.REPLACE_ONE)
    assert isinstance(site.answered(request(1)), Refusal)
    assert isinstance(site.answered(request(2)), Refusal)
    assert isinstance(site.answered(request(1, fit="two")), np.ndarray)


def test_a_site_stops_at_its_budget_whoever_asks():
    site, _ = opened()
    limit = Ledger(1.0, 1e-5).limit
    answers = [site.answered(request(i, limit / 4)) for i in range(6)]
    assert [isinstance(a, Refusal) for a in answers] == [False] * 4 + [True] * 2
    assert answers[-1].kind is BudgetExceededError
    assert site.receipt().spent.epsilon == pytest.approx(1.0)
    again = site.opened("two", ENCODE, 1e-3, 1e-5, Adjacency.REPLACE_ONE)
    assert again.kind is BudgetExceededError


def test_failures_in_mid_fit_quote_nothing():
    class Curious(Logistic):
        def derivative(self, y, z):
            raise ValueError(f"the row with score {z[0]}")

    site, _ = opened()
    refused = site.answered(request(1, content=content(replace(PROBLEM, loss=Curious()))))
    assert isinstance(refused, Refusal)
    assert refused.kind is RuntimeError
    assert "score" not in refused.message
    # It was charged.
    assert site.receipt().spent.epsilon > 0


def test_sites_and_what_they_hold_are_not_pickled():
    site, _ = opened()
    for secret in (site, *vars(site).values()):
        if not isinstance(secret, str | int | Ledger | Adjacency | type(None)):
            with pytest.raises(TypeError):
                pickle.dumps(secret)


def test_noise_is_that_of_the_worker(monkeypatch):
    monkeypatch.setattr(remote_site, "SystemNoise", seeded_here)
    direct = Direct()
    direct.opened()
    message = direct.sites[1].answered(Request(direct.sites[1]._fit, 1, content(), W, 0.01))
    (event,) = direct.sites[1].receipt().events
    noise = event.noise_scale * seeded("north").normal(D + 1)
    # Both are rounded to the grid.
    grid = 2.0**-16 * event.sensitivity
    np.testing.assert_allclose(message, exact("north", W) + noise, rtol=0, atol=grid)


def test_the_oracle_refuses_other_queries_before_it_charges_them():
    ledger = Ledger(1.0, 1e-5)
    found = Direct().opened()
    oracle = RemoteOracle(found, ledger, Adjacency.REPLACE_ONE).for_problem(PROBLEM)
    everyone = np.arange(3)
    for ask in (
        lambda: oracle.gradient(W, spend=Spend(0.01)),
        lambda: oracle.row_means(by_class=False, spend=Spend(0.01)),
        lambda: oracle.site_gradients(
            found.sites,
            everyone,
            np.stack([W] * 3),
            spend=Spend(0.01),
            shares=np.ones(3),
            clip_norm=None,
            trust=("central", 0, 3.0),
        ),
    ):
        with pytest.raises(ValueError, match="local noise and nothing else"):
            ask()
    assert ledger.total == 0
    for ask in (lambda: found.sum(len), lambda: found.bounded(PROBLEM.bounds)):
        with pytest.raises(TypeError, match="never leave a site"):
            ask()
    with pytest.raises(TypeError, match="cannot be copied"):
        pickle.dumps(found)
