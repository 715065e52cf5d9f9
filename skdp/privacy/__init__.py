"""Kernel: all that reads rows for an answer, draws secret noise, or charges a ledger."""

from .accounting import gdp
from .accounting.ledger import PrivacySpent
from .adjacency import Adjacency, PrivacyUnit
from .fine_normal import BITS, refined
from .lock import run_locked
from .minimizer import SmoothObjective, minimize
from .oracle import Oracle, PrivateOracle
from .oracle_factory import noise_for, open_rows, opened_by
from .randomness import (
    SecretNoise,
    SeededNoise,
    SystemNoise,
    public_generator,
    secret_noise,
    secret_pickle,
)
from .rounding import GRID, gamma, inflated, of_sum, spread
from .row_scores import RowScore

__all__ = [
    "BITS",
    "GRID",
    "Adjacency",
    "Oracle",
    "PrivacySpent",
    "PrivacyUnit",
    "PrivateOracle",
    "RowScore",
    "SecretNoise",
    "SeededNoise",
    "SmoothObjective",
    "SystemNoise",
    "gamma",
    "gdp",
    "inflated",
    "minimize",
    "noise_for",
    "of_sum",
    "open_rows",
    "opened_by",
    "public_generator",
    "refined",
    "run_locked",
    "secret_noise",
    "secret_pickle",
    "spread",
]
