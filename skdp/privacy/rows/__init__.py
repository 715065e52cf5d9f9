"""Row stores. Public here: :class:`Chunks`, for data that do not fit in memory."""

from .base import (
    BlockStore,
    BoundedRows,
    ResidentRows,
    RowStore,
    with_marks,
)
from .bounded_rows import MOST_ROWS, BoundedBlock, Lengths, RawBlock, cut
from .buffer import RowBuffer
from .category_rows import MISSING, Category, CategoryRows, category_of, coded_categories, value_of
from .chunked import ChunkedRows, Chunks
from .dask_rows import DaskRows, Tasks, is_collection
from .in_memory import DensePart, DenseRows, SparseRows
from .mapped import MappedBlock, sparse_lengths
from .partition import Facts, Refusal, Refused, added, opened
from .partitions import Recipe, packed
from .predicted_rows import PredictedBlock, PredictedRows, Predictor, predicted_rows
from .privacy_units import PrivacyUnits
from .score_cache import ScoreCache
from .site_rows import SiteChunks, SiteRows, site_sums
from .table_parts import Part
from .targets import ClassEncoder, encoded_targets
from .threads import total

__all__ = [
    "MISSING",
    "MOST_ROWS",
    "BlockStore",
    "BoundedBlock",
    "BoundedRows",
    "Category",
    "CategoryRows",
    "ChunkedRows",
    "Chunks",
    "ClassEncoder",
    "DaskRows",
    "DensePart",
    "DenseRows",
    "Facts",
    "Lengths",
    "MappedBlock",
    "Part",
    "PredictedBlock",
    "PredictedRows",
    "Predictor",
    "PrivacyUnits",
    "RawBlock",
    "Recipe",
    "Refusal",
    "Refused",
    "ResidentRows",
    "RowBuffer",
    "RowStore",
    "ScoreCache",
    "SiteChunks",
    "SiteRows",
    "SparseRows",
    "Tasks",
    "added",
    "category_of",
    "coded_categories",
    "cut",
    "encoded_targets",
    "is_collection",
    "opened",
    "packed",
    "predicted_rows",
    "site_sums",
    "sparse_lengths",
    "total",
    "value_of",
    "with_marks",
]
