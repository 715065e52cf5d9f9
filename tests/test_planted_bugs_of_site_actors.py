"""Bugs planted in sites on workers and in how they are asked: a check catches each."""

from dataclasses import replace
from itertools import count
from math import sqrt

import numpy as np
import pytest

pytest.importorskip("cloudpickle", reason="needs dask: pip install 'skdp[dask]'")
from sites_on_workers import SIZES, D, Direct, exact

from skdp.exceptions import BudgetExceededError
from skdp.privacy.accounting.ledger import Ledger, Spend
from skdp.privacy.adjacency import Adjacency
from skdp.privacy.randomness import SecretNoise, SeededNoise
from skdp.privacy.rows.partition import Refusal
from skdp.privacy.sites import remote_rows as remote_rows
from skdp.privacy.sites import site as remote_site
from skdp.privacy.sites.remote_oracle import RemoteOracle
from skdp.privacy.sites.site import Request, Site
from skdp.problem.bounds import RowBounds
from skdp.problem.losses import Logistic
from skdp.problem.problem import Problem

PROBLEM = Problem(Logistic(), sum(SIZES.values()), D, RowBounds(2.0, 2.0))
ROUNDS, AMOUNT = 300, 1e-5
W = np.stack([[0.5, -0.2, 0.1, 0.3]] * 3)


class Silence(SecretNoise):
    def normal(self, shape):
        return np.zeros(shape)

    def gumbel(self, shape):
        raise NotImplementedError

    def chosen(self, size, rate):
        raise NotImplementedError


class Unlimited(Ledger):
    def __init__(self, epsilon, delta):
        super().__init__(float("inf"), delta)


def asker(direct, ledger, amount=AMOUNT):
    """An oracle and a query to all sites."""
    found = direct.opened()
    problem = replace(PROBLEM, sites=found.sites)
    oracle = RemoteOracle(found, ledger, Adjacency.REPLACE_ONE).for_problem(problem)

    def ask():
        return oracle.site_gradients(
            found.sites,
            np.arange(3),
            W,
            spend=Spend(amount),
            shares=np.ones(3),
            clip=None,
            trust=("local", 0, 3.0),
        )

    return ask


def check_what_leaves(monkeypatch):
    """The vectors that leave a site have noise at least as large as it has to be."""
    sources = count()

    def seeded():
        return SeededNoise(np.random.default_rng(next(sources)))

    if remote_site.SystemNoise is not Silence:
        monkeypatch.setattr(remote_site, "SystemNoise", seeded)
    direct = Direct()
    ask = asker(direct, Ledger(1.0, 1e-5))
    published = np.array([ask() for _ in range(ROUNDS)])
    left = np.array(direct.left[3:]).reshape(ROUNDS, 3, D + 1)
    for i, label in enumerate(SIZES):
        # Of the mean gradient of the site, whose rows have norms up to sqrt(8).
        least = 2 * sqrt(8) / SIZES[label] / sqrt(AMOUNT)
        noise = (left[:, i] - exact(label, W[i])) / least
        assert np.std(noise) > 1 - 6 / sqrt(2 * noise.size)
        # And what is made of it is the site's share of the mean of all rows.
        share = 3 * SIZES[label] / sum(SIZES.values())
        np.testing.assert_allclose(published[:, i], share * left[:, i], rtol=1e-12)


def check_a_retry():
    """The answer to a repeated round is the same, to the bit, and is charged once."""
    direct = Direct()
    ask = asker(direct, Ledger(1.0, 1e-5))
    requests = []
    answered = direct.asked

    def keeping(method, arguments, numbers=None):
        requests.extend(arguments)
        return answered(method, arguments, numbers)

    direct.asked = keeping
    ask()
    for site, (request,), first in zip(direct.sites, requests, direct.left[3:], strict=True):
        spent = site.receipt()
        np.testing.assert_array_equal(site.answered(request), first)
        assert site.receipt() == spent


def check_the_budget():
    """Whoever asks for more than a site may spend is refused by the site."""
    direct = Direct()
    ask = asker(direct, Ledger(1e6, 1e-5), Ledger(1.0, 1e-5).limit / 4)
    for _ in range(4):
        ask()
    with pytest.raises(BudgetExceededError):
        ask()


def check_the_charge():
    """A round in which a site is lost has been charged."""
    direct, ledger = Direct(), Ledger(1.0, 1e-5)
    ask = asker(direct, ledger)
    ask()

    def lost(*args):
        raise RuntimeError("lost")

    direct.asked = lost
    with pytest.raises(RuntimeError, match="lost"):
        ask()
    assert [event.count for event in ledger.receipt()] == [2, 2, 2]


def check_refusals():
    """What goes wrong with rows is told without quoting them."""

    def failing(label):
        raise ValueError("row 123456.789")

    with pytest.raises(RuntimeError) as failed:
        Direct(of=failing).opened()
    assert "123456" not in str(failed.value)


def test_as_it_is_nothing_is_found(monkeypatch):
    check_what_leaves(monkeypatch)
    check_a_retry()
    check_the_budget()
    check_the_charge()
    check_refusals()


def test_noise_that_is_added_where_messages_arrive_is_caught(monkeypatch):
    messages = remote_rows.RemoteRows.messages
    late = np.random.default_rng(0)

    def noisy(self, request, amounts):
        exact = messages(self, request, amounts)
        least = request.sensitivity(Adjacency.REPLACE_ONE) / sqrt(AMOUNT)
        return exact + least * late.standard_normal(exact.shape)

    monkeypatch.setattr(remote_rows.RemoteRows, "messages", noisy)
    monkeypatch.setattr(remote_site, "SystemNoise", Silence)
    with pytest.raises(AssertionError):
        check_what_leaves(monkeypatch)


def test_noise_for_all_rows_in_place_of_those_of_the_site_is_caught(monkeypatch):
    opened = Site._opened

    def mistaken(self, *args):
        facts = opened(self, *args)
        self._n_samples = 3 * self._n_samples
        return facts

    monkeypatch.setattr(Site, "_opened", mistaken)
    with pytest.raises(AssertionError):
        check_what_leaves(monkeypatch)


def test_messages_that_are_not_brought_to_shares_are_caught(monkeypatch):
    messages = remote_rows.RemoteRows.messages

    def raw(self, request, amounts):
        shares = 3 * self.sites.sizes[:, None] / self.n_samples
        return messages(self, request, amounts) / shares

    monkeypatch.setattr(remote_rows.RemoteRows, "messages", raw)
    with pytest.raises(AssertionError):
        check_what_leaves(monkeypatch)


def test_a_retry_that_redraws_noise_is_caught(monkeypatch):
    answered = Site._answered

    def forgetful(self, request):
        self._latest = None
        return answered(self, request)

    monkeypatch.setattr(Site, "_answered", forgetful)
    with pytest.raises(AssertionError):
        check_a_retry()


def test_a_retry_that_is_told_by_its_number_alone_is_caught(monkeypatch):
    digest = Request.digest

    def check():
        site = Direct()
        site.opened()
        (one, *_), fit = site.sites, site.sites[0]._fit
        content = remote_rows._pieces((PROBLEM, None))
        one.answered(Request(fit, 1, content, W[0], AMOUNT))
        assert isinstance(one.answered(Request(fit, 1, content, W[0] + 1, AMOUNT)), Refusal)

    check()
    monkeypatch.setattr(Request, "digest", lambda self: str(self.number).encode())
    with pytest.raises(AssertionError):
        check()
    monkeypatch.setattr(Request, "digest", digest)
    check()


def test_a_site_beyond_its_budget_is_caught(monkeypatch):
    monkeypatch.setattr(remote_site, "Ledger", Unlimited)
    monkeypatch.setattr(
        Site, "opened", lambda self, *args: self._opened(args[0], args[1], 1, 1e-5, args[4])
    )
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_the_budget()


def test_a_charge_after_the_answer_is_caught(monkeypatch):
    def late(self, query, spend):
        mechanism = query.mechanism(self._adjacency, spend)
        answer = self._rows.messages(query.request, spend.amount * query.shares)
        self._ledger.charge(mechanism.event(query.name))
        return answer

    monkeypatch.setattr(RemoteOracle, "_release", late)
    with pytest.raises(AssertionError):
        check_the_charge()


def test_errors_that_quote_rows_are_caught(monkeypatch):
    monkeypatch.setattr(
        remote_site, "_failure", lambda error, what: Refusal(RuntimeError, str(error))
    )
    with pytest.raises(AssertionError):
        check_refusals()
