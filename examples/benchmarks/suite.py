"""The data sets of the utility benchmark by name."""

from __future__ import annotations

from collections.abc import Callable

import datasets
import synthetic
from datasets import Dataset

SETS: dict[str, Callable[[], Dataset]] = {
    make.__name__: make
    for make in (
        datasets.breast_cancer,
        datasets.iris,
        datasets.wine,
        datasets.digits,
        synthetic.classes,
        datasets.adult,
        datasets.adult_rare,
        datasets.covertype_2,
        datasets.covertype_7,
        datasets.mnist,
        datasets.newsgroups_7_8,
        datasets.newsgroups_3_4,
        datasets.newsgroups_13_14,
        datasets.newsgroups_2,
        datasets.newsgroups,
        datasets.diabetes,
        datasets.california,
        datasets.california_without_logs,
        datasets.bike,
        datasets.protein,
        synthetic.uniform,
        synthetic.autoregressive,
        synthetic.lognormal,
        synthetic.ill_conditioned,
        synthetic.heavy_noise,
        synthetic.skewed_target,
        synthetic.sparse_independent,
        synthetic.sparse_correlated,
        datasets.adult_raw,
        datasets.covertype_raw,
        datasets.california_raw,
        datasets.protein_raw,
        datasets.bike_raw,
    )
}

# Few rows, so that means over as many splits as elsewhere would say little.
SMALL = ("breast_cancer", "iris", "wine", "digits", "diabetes")
# Columns in their own units, and no bounds.
RAW = ("adult_raw", "covertype_raw", "california_raw", "protein_raw", "bike_raw")
# Beside accuracy, or in its place, what is reported first.
RARE = ("adult_rare", "covertype_7", "newsgroups_2")
