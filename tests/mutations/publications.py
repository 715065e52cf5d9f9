"""Bugs in streams, bandits and sites, and in what is published or kept."""

from __future__ import annotations

from mutations.mutation import bug

__all__ = ["PUBLICATIONS"]

ARMS = "test_planted_bugs_of_bandit.py"
SITES = "privacy/mechanisms/test_sites.py"
REFUSALS = "estimators/test_partial_fit_refusals.py"
SECRETS = "estimators/test_partial_fit_secrets.py"

PUBLICATIONS = (
    # Streams and bandits.
    bug(
        "spend of a stream that is that of its latest part",
        "report/parallel.py",
        "max((r.spent.epsilon for r in self._receipts), default=0.0)",
        "self._receipts[-1].spent.epsilon if self._receipts else 0.0",
        "privacy/test_parts.py",
        "test_planted_bugs_of_streams.py",
    ),
    bug(
        "folded receipts that keep the cheaper part",
        "report/parallel.py",
        "worst = second if second.spent > first.spent else first",
        "worst = first",
        "privacy/test_parts.py",
    ),
    bug(
        "epsilon that may change within a stream",
        "estimators/progress.py",
        '_FREE = {"random_state"',
        '_FREE = {"epsilon", "random_state"',
        REFUSALS,
    ),
    bug(
        "a checkpoint that can be loaded twice",
        "estimators/checkpoints.py",
        "    os.unlink(taken)\n",
        "    os.rename(taken, path)\n",
        SECRETS,
    ),
    bug(
        "a term of a stream that may be as large as it likes",
        "privacy/queries/stream_terms.py",
        "    d[~np.isfinite(norms)] = 0.0\n",
        "",
        "test_planted_bugs_of_stream_audit.py",
    ),
    bug(
        "the synthetic row of a bandit forgotten",
        "privacy/bandit_sessions/noisy_steps.py",
        "self._steps[stepping] += 1",
        "self._steps[arm] += 1",
        ARMS,
        "privacy/arms/test_sessions.py",
        "estimators/test_joint_privacy_of_bandit.py",
    ),
    # Sites.
    bug(
        "amplification claimed for activation that everyone sees",
        "solvers/dda.py",
        "        paid = counts.max()\n",
        "        paid = max(1, round(counts.mean() * counts.mean() / len(self._schedule)))\n",
        "solvers/test_dda.py",
    ),
    bug(
        "noise of colluders counted on",
        "privacy/mechanisms/site_noise.py",
        "own = scale / sqrt(n_active - trust.colluders)",
        "own = scale / sqrt(n_active)",
        SITES,
        "test_planted_bugs_of_dda.py",
    ),
    bug(
        "masks that count colluders as honest",
        "privacy/mechanisms/site_noise.py",
        "exposure_of_all_pairs(n_active - trust.colluders, trust.ratio)",
        "exposure_of_all_pairs(n_active, trust.ratio)",
        SITES,
        "test_planted_bugs_of_dda.py",
    ),
    bug(
        "only the cheapest site on the account",
        "privacy/accounting/site_accounts.py",
        "self.total = max(self.total, account.total(True, price, 0))",
        "self.total = account.total(True, price, 0)",
        "privacy/test_site_accounts.py",
    ),
    bug(
        "factors of earlier rows used for rows that have changed",
        "privacy/rows/partition.py",
        "            same &= ~(np.abs(shadows - self.shadows) > most)\n",
        "",
        "data/test_dask_refusals.py",
    ),
    # What is published or kept.
    bug(
        "a start that looks at the targets",
        "estimators/base.py",
        "            if plan.preconditioner is not None:\n                asked",
        "            problem = replace(\n"
        "                problem, initial=np.full(problem.shape, float(rows._y.mean()))\n"
        "            )\n"
        "            if plan.preconditioner is not None:\n                asked",
        "estimators/test_replay.py",
        "estimators/test_receipt.py",
    ),
    bug(
        "a seed in the pickle",
        "estimators/base.py",
        'return state | {"random_state": None} if "_progress" in state else state',
        "return state",
        SECRETS,
        "test_planted_bugs.py",
        "estimators/test_copies.py",
    ),
    bug(
        "kept rows in the pickle",
        "estimators/base.py",
        '        state.pop("_session", None)\n',
        "",
        SECRETS,
        "test_planted_bugs_of_streams.py",
    ),
    bug(
        "errors that quote entries",
        "privacy/rows/reading.py",
        "    if _KNOWN.fullmatch(message):\n",
        "    if message:\n",
        "estimators/test_bad_input.py",
        "test_messages.py",
    ),
)
