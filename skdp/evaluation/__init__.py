"""Judging bandits: off-policy values from logs, and simulated users. Not private."""

from .off_policy import OffPolicyValue, doubly_robust, inverse_propensity, self_normalised
from .play import Played, play
from .simulator import Users, classified_users, linear_users, logistic_users, sparse_users

__all__ = [
    "OffPolicyValue",
    "Played",
    "Users",
    "classified_users",
    "doubly_robust",
    "inverse_propensity",
    "linear_users",
    "logistic_users",
    "play",
    "self_normalised",
    "sparse_users",
]
