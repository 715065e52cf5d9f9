"""Transformers with rows for them, for the battery in ``test_every_transformer.py``."""

import numpy as np

from skdp.preprocessing import (
    DPPCA,
    BoundsScaler,
    DPKBinsDiscretizer,
    DPMinMaxScaler,
    DPOneHotEncoder,
    DPQuantileTransformer,
    DPRobustScaler,
    DPSelectKBest,
    DPSimpleImputer,
    DPSplineTransformer,
    DPStandardScaler,
    DPTruncatedSVD,
    RowNormClipper,
)

N, D = 600, 3


def make_rows(seed=0):
    """Features of different sizes and signs; some entries are zero, one is wild."""
    rng = np.random.default_rng(seed)
    X = rng.normal([0.0, 50.0, -3.0], [1.0, 20.0, 0.1], size=(N, D))
    X[rng.random((N, D)) < 0.1] = 0.0
    X[7, 0] = 1e9
    return X


def make_targets(given, X):
    """What a transformer is fitted to beside rows: targets that go with the second column."""
    if not isinstance(given, DPSelectKBest):
        return None
    if given.classes is None:
        return X[:, 1]
    return np.array(given.classes)[np.digitize(X[:, 1], [40.0, 60.0][: len(given.classes) - 1])]


def make_table(seed=0):
    """Categories of two types, all of them frequent, but for one of each column."""
    rng = np.random.default_rng(seed)
    table = np.empty((5 * N, 2), dtype=object)
    table[:, 0] = rng.choice(["Bern", "Chur", "Thun"], 5 * N)
    table[:, 1] = rng.choice([1, 2, 3], 5 * N)
    table[7] = f"hamlet {seed}", seed + 9
    return table


# Every class of the package, with instances in different settings.
EXAMPLES = {
    BoundsScaler: [
        BoundsScaler((-1.0, 1.0)),
        BoundsScaler((-2.0, 2.0)),
        BoundsScaler((0, 5.0), feature_range=(0, 1)),
        BoundsScaler((1.0, 5.0)),
    ],
    RowNormClipper: [RowNormClipper(), RowNormClipper(max_norm=30.0)],
    DPStandardScaler: [
        DPStandardScaler(),
        DPStandardScaler(bounds=(-100.0, 100.0)),
        DPStandardScaler(bounds=(-100.0, 100.0), adjacency="zero_out"),
        DPStandardScaler(epsilon=20.0, with_mean=False),
        DPStandardScaler(epsilon=20.0, with_std=False, clip=False),
    ],
    DPMinMaxScaler: [
        DPMinMaxScaler(),
        DPMinMaxScaler(epsilon=20.0, adjacency="zero_out"),
        DPMinMaxScaler(epsilon=20.0, bounds=(-1e3, 1e3), feature_range=(-1.0, 1.0)),
        DPMinMaxScaler(epsilon=20.0, clip=False),
    ],
    DPQuantileTransformer: [
        DPQuantileTransformer(n_quantiles=50, bounds=(-100.0, 100.0)),
        DPQuantileTransformer(n_quantiles=50, epsilon=20.0, output_distribution="normal"),
    ],
    DPKBinsDiscretizer: [
        DPKBinsDiscretizer(encode="ordinal", bounds=(-100.0, 100.0)),
        DPKBinsDiscretizer(encode="onehot-dense", epsilon=20.0),
        DPKBinsDiscretizer(n_bins=[2, 3, 8], bounds=(-100.0, 100.0)),
        DPKBinsDiscretizer(strategy="uniform", encode="ordinal", epsilon=20.0),
    ],
    DPSplineTransformer: [
        DPSplineTransformer(bounds=(-100.0, 100.0), handle_missing="zeros"),
        DPSplineTransformer(epsilon=20.0, degree=1, include_bias=False),
        DPSplineTransformer(knots="uniform", epsilon=20.0),
    ],
    DPSimpleImputer: [
        DPSimpleImputer(bounds=(-100.0, 100.0)),
        DPSimpleImputer(epsilon=20.0),
        DPSimpleImputer(strategy="median", bounds=(-100.0, 100.0)),
        DPSimpleImputer(strategy="median", epsilon=20.0, adjacency="zero_out"),
        DPSimpleImputer(epsilon=20.0, scale=True),
        DPSimpleImputer(strategy="median", bounds={0: (-100.0, 100.0)}, scale=True, epsilon=20.0),
    ],
    DPPCA: [
        DPPCA(bounds=(-100.0, 100.0)),
        DPPCA(n_components=2, whiten=True, epsilon=20.0),
    ],
    DPTruncatedSVD: [
        DPTruncatedSVD(bounds=(-100.0, 100.0)),
        DPTruncatedSVD(n_components=1, epsilon=20.0),
    ],
    DPRobustScaler: [
        DPRobustScaler(bounds=(-100.0, 100.0)),
        DPRobustScaler(epsilon=20.0, with_centering=False, quantile_range=(5.0, 40.0)),
        DPRobustScaler(epsilon=20.0, with_scaling=False, clip=False),
    ],
    DPSelectKBest: [
        DPSelectKBest(k=2, classes=["no", "yes"], bounds=(-100.0, 100.0)),
        DPSelectKBest(k=1, classes=[0, 1, 2], epsilon=20.0),
        DPSelectKBest(k=2, target_bounds=(0.0, 100.0), bounds=(-100.0, 100.0), epsilon=20.0),
        DPSelectKBest(k=2, target_bounds=(0.0, 100.0), epsilon=20.0, adjacency="zero_out"),
    ],
}
# These take a table of categories.
OF_CATEGORIES = [DPOneHotEncoder(), DPSimpleImputer(strategy="most_frequent")]
