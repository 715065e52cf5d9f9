"""Bugs in noise."""

from __future__ import annotations

from mutations.mutation import Mutation, bug

__all__ = ["NOISE"]

ORACLE = "privacy/test_oracle.py"

NOISE = (
    # Noise.
    bug(
        "half the noise",
        "privacy/mechanisms/gaussian.py",
        "return noisy_on_grid(value, self.sensitivity, self.noise_scale, noise)",
        "return noisy_on_grid(value, self.sensitivity, 0.5 * self.noise_scale, noise)",
        "privacy/mechanisms/test_gaussian.py",
    ),
    bug(
        "one normal for all coordinates",
        "privacy/mechanisms/noise_grid.py",
        "noise.rounded(value.shape, ",
        "noise.rounded(1, ",
        ORACLE,
    ),
    bug(
        "Gumbel noise for half the range",
        "privacy/mechanisms/gumbel.py",
        "eta = sqrt(4 * spend.amount / choices)",
        "eta = sqrt(16 * spend.amount / choices)",
        "privacy/mechanisms/test_gumbel.py",
    ),
    bug(
        "second stage of a choice with half the noise",
        "privacy/mechanisms/gumbel.py",
        "(block + noise.gumbel(block.shape)).argmax()",
        "(block + 0.5 * noise.gumbel(block.shape)).argmax()",
        "privacy/mechanisms/test_gumbel.py",
    ),
    Mutation(
        "noise shared between forked workers",
        (
            (
                "privacy/randomness.py",
                "        if self._process != os.getpid():\n",
                "        if False:\n",
            ),
            (
                "privacy/randomness.py",
                "    os.register_at_fork(after_in_child=_start_all_afresh)",
                "    pass",
            ),
        ),
        ("privacy/test_randomness.py",),
    ),
    bug(
        "normals handed out twice",
        "privacy/randomness.py",
        "taken, self._ahead = self._ahead[:, :size], self._ahead[:, size:]\n",
        "taken = self._ahead[:, :size].copy()\n",
        "privacy/test_randomness.py",
    ),
    bug(
        "noise that was rounded ahead handed out twice",
        "privacy/randomness.py",
        "taken, self._rounded = self._rounded[:size], self._rounded[size:]\n",
        "taken = self._rounded[:size].copy()\n",
        "privacy/test_rounded_noise.py",
    ),
    bug(
        "wiped noise left for the next draw by an interruption",
        "privacy/randomness.py",
        "        taken, self._rounded = self._rounded[:size], self._rounded[size:]\n"
        "        out = taken.copy()\n"
        "        taken[:] = 0\n",
        "        out = self._rounded[:size].copy()\n"
        "        self._rounded[:size] = 0\n"
        "        self._rounded = self._rounded[size:]\n",
        "privacy/test_rounded_noise.py",
    ),
    bug(
        "last bits of wide noise lost before it is added",
        "privacy/randomness.py",
        "_COARSE = 2.0**44",
        "_COARSE = 2.0**1023",
        "privacy/mechanisms/test_grid.py",
    ),
    bug(
        "noise of bandits' choices left wiped for the next by an interruption",
        "privacy/bandit_sessions/noisy_steps.py",
        "        taken, self._ahead = self._ahead[:size], self._ahead[size:]\n"
        "        out = taken.copy()\n"
        "        taken[:] = 0.0\n",
        "        out = self._ahead[:size].copy()\n"
        "        self._ahead[:size] = 0.0\n"
        "        self._ahead = self._ahead[size:]\n",
        "privacy/arms/test_sessions.py",
    ),
    bug(
        "public randomness from the stream of the noise",
        "privacy/randomness.py",
        "return _stream(random_state, _COIN_STREAM)",
        "return _stream(random_state, _NOISE_STREAM)",
        "privacy/test_randomness.py",
    ),
    bug(
        "ties of secret draws decided by one word",
        "privacy/randomness.py",
        "_fresh_words(ties.size) < np",
        "_fresh_words(1) < np",
        "test_planted_bugs_of_walks_and_draws.py",
    ),
)
