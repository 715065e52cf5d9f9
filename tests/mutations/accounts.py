"""Bugs in accounts."""

from __future__ import annotations

from mutations.mutation import Mutation, bug

__all__ = ["ACCOUNTS"]

ORACLE = "privacy/test_oracle.py"
PREFIX_SUMS = "test_planted_bugs_of_prefix_sums.py"
REFUSALS = "estimators/test_partial_fit_refusals.py"

ACCOUNTS = (
    # Accounts.
    bug(
        "an answer that is not charged",
        "privacy/oracle.py",
        "        self._ledger.charge(mechanism.event(query.name))\n",
        "        mechanism.event(query.name)\n",
        ORACLE,
    ),
    Mutation(
        "rows read before the charge",
        (
            (
                "privacy/oracle.py",
                "        self._ledger.charge(mechanism.event(query.name))\n",
                "",
            ),
            (
                "privacy/oracle.py",
                "            return mechanism.randomize(_plain(self._evaluate(query, mechanism)), "
                "self._noise)\n",
                "            exact = _plain(self._evaluate(query, mechanism))\n"
                "            self._ledger.charge(mechanism.event(query.name))\n"
                "            return mechanism.randomize(exact, self._noise)\n",
            ),
        ),
        (ORACLE,),
    ),
    bug(
        "what answers left unused of a reserve given back",
        "report/parallel.py",
        "ledger.receipt(whole=True)",
        "ledger.receipt()",
        "solvers/test_svrg_minibatches.py",
    ),
    bug(
        "a solver that answers stop, with the sum so far as its price",
        "solvers/spider.py",
        "        if rest.amount > 0:\n",
        "        if False:\n",
        "solvers/test_spider.py",
    ),
    bug(
        "a filter that looks at the total before the charge",
        "privacy/accounting/ledger.py",
        "fsum([*before, price, self._sites.total]) <= self._limit",
        "self.total <= self._limit",
        "privacy/test_ledger.py",
    ),
    bug(
        "a refused event that stays on record",
        "privacy/accounting/ledger.py",
        "            added = price - (prices[-1] if repeats else 0.0)\n",
        "            added = price - (prices[-1] if repeats else 0.0)\n"
        "            events[kept:], prices[kept:] = [event], [price]\n",
        "privacy/test_ledger.py",
    ),
    bug(
        "choices at half their price",
        "privacy/accounting/calculus.py",
        "return eta * eta / 4",
        "return eta * eta / 8",
        "privacy/test_calculus.py",
        "test_every_event.py",
    ),
    bug(
        "running sums without their column norm",
        "privacy/accounting/calculus.py",
        "moves = event.sensitivity * event.column_norm",
        "moves = event.sensitivity",
        "privacy/test_calculus.py",
        "test_every_event.py",
        PREFIX_SUMS,
    ),
    bug(
        "column norm of half the horizon",
        "privacy/mechanisms/blt.py",
        "return sqrt(self._sum_of_squares(np.array([self.length]))[0]) * _ROUND_UP",
        "return sqrt(self._sum_of_squares(np.array([1 + self.length // 2]))[0]) * _ROUND_UP",
        "privacy/mechanisms/test_blt.py",
        "privacy/mechanisms/test_prefix_sums.py",
    ),
    bug(
        "a level of the tree left out",
        "privacy/mechanisms/tree.py",
        "return sqrt(self.length.bit_length()) * _ROUND_UP",
        "return sqrt((self.length - 1).bit_length() or 1) * _ROUND_UP",
        "privacy/mechanisms/test_tree.py",
        "privacy/mechanisms/test_prefix_sums.py",
    ),
    bug(
        "minibatches priced for rows that vanish",
        "privacy/accounting/subsampling.py",
        "            NeighboringRelation.REPLACE_ONE\n            if",
        "            NeighboringRelation.ADD_OR_REMOVE_ONE\n            if",
        "privacy/test_subsampling.py",
        "test_planted_bugs_of_subsampling.py",
    ),
    bug(
        "a failed fit off the receipt",
        "estimators/base.py",
        "        finally:\n            progress.parts.settle(ledger)\n",
        "        else:\n            progress.parts.settle(ledger)\n        finally:\n",
        REFUSALS,
        "estimators/test_receipt.py",
    ),
)
