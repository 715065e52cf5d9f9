"""Audits: how much epsilon a program really has, at least, compared with what it claims."""

from .auditing import audit, audit_query
from .epsilon_bounds import (
    Counts,
    best_threshold,
    count,
    upper_limit,
)
from .likelihoods import GaussianAnswer, NoiseOfSums, VertexAnswer, covariance_of, rows_of_noise
from .programs import FitProgram, released_numbers
from .recording import DivergedError
from .result import AuditResult

__all__ = [
    "AuditResult",
    "Counts",
    "DivergedError",
    "FitProgram",
    "GaussianAnswer",
    "NoiseOfSums",
    "VertexAnswer",
    "audit",
    "audit_query",
    "best_threshold",
    "count",
    "covariance_of",
    "released_numbers",
    "rows_of_noise",
    "upper_limit",
]
