"""Transformers for the steps before a private model: free ones, and ones with their own budget."""

from .base import FreeTransformer, PrivateTransformer, Transformer
from .bounds_scaler import BoundsScaler
from .column_ranges import (
    POOR,
    ROUGH,
    evidence_of,
    private_column_moments,
    private_column_ranges,
    private_target_range,
    share_of_ranges,
    voting,
)
from .min_max_scaler import DPMinMaxScaler
from .row_norm_clipper import RowNormClipper
from .standard_scaler import DPStandardScaler

__all__ = [
    "POOR",
    "ROUGH",
    "BoundsScaler",
    "DPMinMaxScaler",
    "DPStandardScaler",
    "FreeTransformer",
    "PrivateTransformer",
    "RowNormClipper",
    "Transformer",
    "evidence_of",
    "private_column_moments",
    "private_column_ranges",
    "private_target_range",
    "share_of_ranges",
    "voting",
]
