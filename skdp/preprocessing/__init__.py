"""Transformers for the steps before a private model: free ones, and ones with their own budget."""

from .base import Delegating, FreeTransformer, Invertible, PrivateTransformer, Transformer
from .bounds_scaler import BoundsScaler
from .column_categories import (
    bucket_of,
    calculus_of_categories,
    hidden_threshold,
    private_column_categories,
)
from .column_quantiles import ColumnDistributions, QuantileLearner, private_column_distributions
from .column_ranges import (
    ROUGH,
    evidence_of,
    outlook_of,
    private_column_moments,
    private_column_ranges,
    private_target_range,
    share_of_ranges,
    voting,
)
from .k_bins_discretizer import DPKBinsDiscretizer
from .min_max_scaler import DPMinMaxScaler
from .one_hot_encoder import DPOneHotEncoder
from .pca import DPPCA
from .private_components import ComponentsLearner
from .quantile_transformer import DPQuantileTransformer
from .ranged_transformer import RangedTransformer
from .robust_scaler import DPRobustScaler
from .row_norm_clipper import RowNormClipper
from .select_k_best import DPSelectKBest
from .simple_imputer import DPSimpleImputer
from .spline_transformer import DPSplineTransformer
from .standard_scaler import DPStandardScaler
from .truncated_svd import DPTruncatedSVD

__all__ = [
    "DPPCA",
    "ROUGH",
    "BoundsScaler",
    "ColumnDistributions",
    "ComponentsLearner",
    "DPKBinsDiscretizer",
    "DPMinMaxScaler",
    "DPOneHotEncoder",
    "DPQuantileTransformer",
    "DPRobustScaler",
    "DPSelectKBest",
    "DPSimpleImputer",
    "DPSplineTransformer",
    "DPStandardScaler",
    "DPTruncatedSVD",
    "Delegating",
    "FreeTransformer",
    "Invertible",
    "PrivateTransformer",
    "QuantileLearner",
    "RangedTransformer",
    "RowNormClipper",
    "Transformer",
    "bucket_of",
    "calculus_of_categories",
    "evidence_of",
    "hidden_threshold",
    "outlook_of",
    "private_column_categories",
    "private_column_distributions",
    "private_column_moments",
    "private_column_ranges",
    "private_target_range",
    "share_of_ranges",
    "voting",
]
