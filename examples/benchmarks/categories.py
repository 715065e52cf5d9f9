"""Accuracy with categories that are found, listed or hashed, at equal total budgets.

The default model on numeric columns, held to their 1st and 99th percentiles as if these were known,
and on the categorical ones: left out, all listed by hand, hashed to 32 columns for each, and found
by ``DPOneHotEncoder`` for a share of mu^2. adult: accuracy; other tables: area under the curve.

    SKDP_DATA=... python examples/benchmarks/categories.py
"""

from __future__ import annotations

import os
import zlib
from math import sqrt
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import OneHotEncoder

from skdp import DPLogisticRegression
from skdp.preprocessing import DPOneHotEncoder
from skdp.privacy.accounting import gdp

DELTA, OF_THRESHOLD, BUCKETS, SPLITS = 1e-6, 0.01, 32, 4
CELLS = [
    ("adult", None, 0.1),
    ("adult", None, 1.0),
    ("adult", 2000, 1.0),
    ("flights", None, 0.5),
    ("lending_club", None, 0.5),
]
WAYS = ["none", "listed", "hashed", "5 %", "10 %", "20 %"]


def table(name):
    """Features and targets, 0 or 1."""
    folder = Path(os.environ["SKDP_DATA"])
    if name == "adult":
        rows = pd.read_csv(folder / "adult_raw.csv.gz")
        target = rows.income.str.contains(">50K").astype(int)
        return rows.drop(columns=["income", "split", "fnlwgt"]), target
    rows = pd.read_csv(folder / "frames" / f"{name}.csv.gz")
    return rows.drop(columns="target"), (rows.target == sorted(rows.target.unique())[1]).astype(int)


def hashed(column):
    codes = [zlib.crc32(str(entry).encode()) % BUCKETS for entry in column]
    return np.eye(BUCKETS)[codes]


def encoded(way, train, test, epsilon):
    """Columns of categories of both parts, their number, and the epsilon that is left."""
    if way == "none":
        return np.empty((len(train), 0)), np.empty((len(test), 0)), 0, epsilon
    if way == "hashed":
        parts = [np.hstack([hashed(part[name]) for name in part]) for part in (train, test)]
        return *parts, parts[0].shape[1], epsilon
    if way == "listed":
        train, test = (part.astype(object).fillna("missing").astype(str) for part in (train, test))
        listed = [sorted(train[name].unique()) for name in train]
        encoder = OneHotEncoder(
            categories=listed, handle_unknown="ignore", sparse_output=False
        ).fit(train)
        return encoder.transform(train), encoder.transform(test), sum(map(len, listed)), epsilon
    share, left = float(way.removesuffix(" %")) / 100, DELTA * (1 - OF_THRESHOLD)
    mu = gdp.mu(epsilon, left)
    of_encoder = gdp.epsilon(mu * sqrt(share), left)
    encoder = DPOneHotEncoder(epsilon=of_encoder, delta=DELTA).fit(train)
    found = sum(map(len, encoder.categories_))
    of_model = gdp.epsilon(mu * sqrt(1 - share), DELTA)
    return encoder.transform(train), encoder.transform(test), found, of_model


def score(name, n, epsilon, way, seed):
    """Score on the test part, and the number of categories."""
    X, y = table(name)
    if n is not None:
        some = np.random.default_rng(100 + seed).permutation(len(X))[: n + 4000]
        X, y = X.iloc[some], y.iloc[some]
    numeric = [c for c in X if pd.api.types.is_numeric_dtype(X[c]) and X[c].dtype != bool]
    low, high = X[numeric].quantile(0.01), X[numeric].quantile(0.99)
    half = ((high - low) / 2).replace(0, 1)
    numbers = ((X[numeric] - (low + high) / 2) / half).clip(-1, 1).fillna(0)
    size = 0.8 if n is None else n
    here, there = train_test_split(np.arange(len(X)), train_size=size, random_state=seed)
    codes = X.drop(columns=numeric)
    *parts, found, left = encoded(way, codes.iloc[here], codes.iloc[there], epsilon)
    train, test = (
        np.hstack([numbers.iloc[rows], part])
        for rows, part in zip((here, there), parts, strict=True)
    )
    model = DPLogisticRegression(
        epsilon=left, delta=DELTA, classes=[0, 1], data_norm=sqrt(X.shape[1])
    ).fit(train, y.iloc[here])
    if name == "adult":
        return accuracy_score(y.iloc[there], model.predict(test)), found
    return roc_auc_score(y.iloc[there], model.predict_proba(test)[:, 1]), found


def main():
    """Print the table."""
    print("| table | n | epsilon |", " | ".join(WAYS), "|")
    for name, n, epsilon in CELLS:
        cells = []
        for way in WAYS:
            found = [score(name, n, epsilon, way, seed) for seed in range(SPLITS)]
            value, count = np.mean(found, axis=0)
            cells.append(f"{value:.3f} ({count:.0f})")
        print(f"| {name} | {n or 'all'} | {epsilon} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
