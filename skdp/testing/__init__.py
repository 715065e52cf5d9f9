"""Test doubles that catch reads of rows behind the oracle's back, and checks of claims."""

from .checks import (
    check_fork,
    check_noise,
    check_parts,
    check_pays_before_looking,
    check_seed_stays_behind,
    check_sensitivity,
    row_stores,
)
from .fits import exact_fit, record, record_fit, replay, replay_fit
from .oracles import ExactOracle, RecordingOracle, ReplayOracle, Transcript

__all__ = [
    "ExactOracle",
    "RecordingOracle",
    "ReplayOracle",
    "Transcript",
    "check_fork",
    "check_noise",
    "check_parts",
    "check_pays_before_looking",
    "check_seed_stays_behind",
    "check_sensitivity",
    "exact_fit",
    "record",
    "record_fit",
    "replay",
    "replay_fit",
    "row_stores",
]
