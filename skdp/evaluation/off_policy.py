"""What a rule would have earned on users for whom another one decided.

The log says for each user which arm was pulled, what it returned, and with which probability that
arm was pulled for that user (its propensity). A value computed here is a function of the log and
not private: compute it on users who agreed to that, or keep it to yourself.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from ..arguments import numbers_in

__all__ = ["OffPolicyValue", "doubly_robust", "inverse_propensity", "self_normalised"]

# Within this range squares of products of weights and rewards stay in double precision.
_LEAST, _LARGEST = 1e-50, 1e50


class OffPolicyValue(NamedTuple):
    """An estimate of the mean reward of a rule.

    Parameters
    ----------
    value : float
        The estimate.
    error : float
        Its standard error.
    effective_size : float
        Number of users with equal weights that would give as much evidence,
        ``(sum w)^2 / sum w^2``; zero if the rule never agrees with the log.
    """

    value: float
    error: float
    effective_size: float


def inverse_propensity(chosen: Any, logged: Any, rewards: Any, propensities: Any) -> OffPolicyValue:
    r"""Mean of ``w_i r_i`` with ``w_i = 1 / p_i`` where the rule agrees with the log, else 0.

    Unbiased if every arm that the rule chooses had a positive probability (Horvitz and Thompson,
    1952).

    Parameters
    ----------
    chosen : array-like of shape (n,)
        Labels that the rule chooses, for example ``bandit.predict(X)``.
    logged : array-like of shape (n,)
        Labels of the arms that were pulled.
    rewards : array-like of shape (n,)
        What they returned, up to 1e50 in size.
    propensities : array-like of shape (n,)
        Probabilities with which they were pulled, in [1e-50, 1].

    Raises
    ------
    ValueError
        If shapes differ, there are fewer than two users, labels cannot be compared, rewards are
        missing or no numbers, or a propensity is outside its range.
    """
    weights, r = _weights(chosen, logged, rewards, propensities)
    return _mean(weights * r, weights)


def self_normalised(chosen: Any, logged: Any, rewards: Any, propensities: Any) -> OffPolicyValue:
    r"""``sum w_i r_i / sum w_i``: a little bias for much less variance (Swaminathan and Joachims).

    It does not change when a constant is added to all rewards, except by that constant.

    Parameters
    ----------
    chosen, logged, rewards, propensities
        As for :func:`inverse_propensity`.

    Raises
    ------
    ValueError
        As there, and if the rule never agrees with the log.
    """
    weights, r = _weights(chosen, logged, rewards, propensities)
    if not weights.any():
        raise ValueError(
            "self_normalised needs a rule that agrees with the log at least once, got none; use "
            "doubly_robust."
        )
    mean = float(weights.mean())
    value = float((weights * r).mean()) / mean
    return OffPolicyValue(value, _mean(weights * (r - value) / mean, weights).error, _size(weights))


def doubly_robust(
    chosen: Any,
    logged: Any,
    rewards: Any,
    propensities: Any,
    *,
    estimated_chosen: Any,
    estimated_logged: Any,
) -> OffPolicyValue:
    r"""Mean of ``q_i(chosen) + w_i (r_i - q_i(logged))`` (Dudik, Langford and Li, 2011).

    Unbiased if propensities are right, and close if the estimates q are, whichever holds.

    Parameters
    ----------
    chosen, logged, rewards, propensities
        As for :func:`inverse_propensity`.
    estimated_chosen : array-like of shape (n,)
        Rewards that a model expects of the arms that the rule chooses.
    estimated_logged : array-like of shape (n,)
        Rewards that it expects of the arms that were pulled.

    Raises
    ------
    ValueError
        As for :func:`inverse_propensity`.
    """
    weights, r = _weights(chosen, logged, rewards, propensities)
    q_chosen = _numbers("estimated_chosen", estimated_chosen)
    q_logged = _numbers("estimated_logged", estimated_logged)
    if not q_chosen.shape == q_logged.shape == r.shape:
        raise ValueError(
            f"doubly_robust needs estimates of shape {r.shape}, got {q_chosen.shape} and "
            f"{q_logged.shape}."
        )
    return _mean(q_chosen + weights * (r - q_logged), weights)


def _weights(
    chosen: Any, logged: Any, rewards: Any, propensities: Any
) -> tuple[np.ndarray, np.ndarray]:
    chosen, logged = _array("chosen", chosen), _array("logged", logged)
    r, p = _numbers("rewards", rewards), _numbers("propensities", propensities)
    if not (r.ndim == 1 and len(r) >= 2 and chosen.shape == logged.shape == p.shape == r.shape):
        raise ValueError(
            "Off-policy values need one choice, arm, reward and propensity a user, and two users, "
            f"got shapes {chosen.shape}, {logged.shape}, {r.shape} and {p.shape}."
        )
    if not np.all((p >= _LEAST) & (p <= 1)):
        raise ValueError(
            f"Off-policy values need propensities in [{_LEAST}, 1], got others; log the "
            "probability with which each arm was pulled."
        )
    with suppress(Exception):
        return np.where(np.asarray(chosen == logged, dtype=bool), 1 / p, 0.0), r
    raise ValueError(
        "Off-policy values need labels that can be compared, got missing ones or such of "
        "several kinds; pass labels of arms."
    )


def _array(name: str, given: Any) -> np.ndarray:
    with suppress(Exception):
        return np.asarray(given)
    # Raised here and not on the way, where it would carry an error that quotes an entry.
    raise ValueError(
        f"Off-policy values need one entry a user for {name}, got a {type(given).__name__} "
        "of something else; pass an array of one dimension."
    )


def _numbers(name: str, given: Any) -> np.ndarray:
    """Numbers, none of them missing."""
    plain = numbers_in(given)
    if plain is None or not np.all(np.abs(plain) <= _LARGEST):
        raise ValueError(
            f"Off-policy values need numbers of at most {_LARGEST} for {name}, none of them "
            f"missing, got others in a {type(given).__name__}; convert or rescale them."
        )
    return plain


def _mean(terms: np.ndarray, weights: np.ndarray) -> OffPolicyValue:
    error = float(terms.std(ddof=1)) / len(terms) ** 0.5
    return OffPolicyValue(float(terms.mean()), error, _size(weights))


def _size(weights: np.ndarray) -> float:
    weights = weights / max(1.0, float(weights.max()))
    squares = float(weights @ weights)
    return float(weights.sum()) ** 2 / squares if squares else 0.0
