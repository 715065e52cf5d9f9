"""Transformers for the steps before a private model: free ones, and ones with their own budget."""

from .base import FreeTransformer, PrivateTransformer, Transformer
from .bounds_scaler import BoundsScaler
from .column_ranges import (
    RANGES_OF_SCALE,
    Search,
    private_column_bounds,
    private_column_moments,
    private_column_sizes,
    tail_of_sizes,
)
from .min_max_scaler import DPMinMaxScaler
from .one_hot_encoder import DPOneHotEncoder
from .row_norm_clipper import RowNormClipper
from .standard_scaler import DPStandardScaler

__all__ = [
    "RANGES_OF_SCALE",
    "BoundsScaler",
    "DPMinMaxScaler",
    "DPOneHotEncoder",
    "DPStandardScaler",
    "FreeTransformer",
    "PrivateTransformer",
    "RowNormClipper",
    "Search",
    "Transformer",
    "private_column_bounds",
    "private_column_moments",
    "private_column_sizes",
    "tail_of_sizes",
]
