"""Contextual bandit that protects its users from each other."""

from .contextual_bandit import DPContextualBandit

__all__ = ["DPContextualBandit"]
