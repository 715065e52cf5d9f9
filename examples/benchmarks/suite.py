"""The data sets of the benchmark of defaults by name."""

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
        synthetic.rare_class,
        synthetic.noisy_labels,
        synthetic.sure_labels,
        synthetic.few_rows,
        datasets.adult,
        datasets.adult_rare,
        datasets.covertype_2,
        datasets.covertype_7,
        datasets.covertype_classes,
        datasets.shuttle,
        datasets.flights,
        datasets.lending_club,
        datasets.caravan,
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
        datasets.delays,
        datasets.diamonds,
        datasets.cps1988,
        datasets.deliveries,
        datasets.airfoil,
        datasets.concrete,
        datasets.energy,
        datasets.housing,
        datasets.parkinsons,
        datasets.pol,
        datasets.red_wine,
        synthetic.no_signal,
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
SMALL = (
    *("breast_cancer", "iris", "wine", "digits", "diabetes", "few_rows", "no_signal"),
    *("airfoil", "concrete", "energy", "housing", "red_wine"),
)
# Columns in their own units, and no bounds.
RAW = ("adult_raw", "covertype_raw", "california_raw", "protein_raw", "bike_raw")
# Beside accuracy, or in its place, what is reported first.
RARE = ("adult_rare", "covertype_7", "newsgroups_2", "rare_class", "lending_club", "caravan")
