"""Contextual bandit that protects its users from each other."""

from .contextual_bandit import DPContextualBandit
from .stream_arms import ArmStreams

__all__ = ["ArmStreams", "DPContextualBandit"]
