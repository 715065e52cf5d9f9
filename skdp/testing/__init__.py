"""Test doubles that catch whoever reads rows behind the oracle's back."""

from .fits import exact_fit, record_fit, replay_fit
from .oracles import ExactOracle, RecordingOracle, ReplayOracle, Transcript

__all__ = [
    "ExactOracle",
    "RecordingOracle",
    "ReplayOracle",
    "Transcript",
    "exact_fit",
    "record_fit",
    "replay_fit",
]
