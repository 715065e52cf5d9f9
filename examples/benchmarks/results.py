"""Results of single fits, kept in a JSON file that can be written in pieces and merged."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Fit:
    """One method on one split of one data set; ``epsilon`` is None without privacy."""

    data: str
    method: str
    epsilon: float | None
    seed: int
    n_samples: int
    n_features: int
    n_classes: int | None
    seconds: float
    scores: dict[str, float]

    @property
    def key(self):
        return self.data, self.method, self.epsilon, self.seed


@dataclass(frozen=True)
class Cell:
    """Mean and standard error over splits."""

    mean: float
    error: float
    count: int

    def __str__(self):
        return f"{self.mean:.3f}±{self.error:.3f}" if self.count > 1 else f"{self.mean:.3f}"

    def signed(self):
        """A difference, in one digit more."""
        text = f"{self.mean:+.4f}"
        return f"{text}±{self.error:.4f}" if self.count > 1 else text


def read(paths):
    """Fits of several files; where they overlap, the later file counts."""
    fits = {}
    for path in paths:
        for record in json.loads(Path(path).read_text()):
            fit = Fit(**record)
            fits[fit.key] = fit
    return list(fits.values())


def write(path, fits):
    """Write the fits, replacing earlier ones of the same data set, method, epsilon and split."""
    path = Path(path)
    merged = {fit.key: fit for fit in [*(read([path]) if path.exists() else []), *fits]}
    lines = ",\n".join(json.dumps(asdict(fit)) for fit in merged.values())
    path.write_text(f"[\n{lines}\n]\n")


def paired(fits):
    """Fits on splits that all methods and budgets of a data set have in common.

    Files written in pieces may hold more splits for one method than for another, and splits differ
    more than methods do.
    """
    splits = defaultdict(lambda: defaultdict(set))
    for fit in fits:
        splits[fit.data][fit.method, fit.epsilon].add(fit.seed)
    common = {data: set.intersection(*groups.values()) for data, groups in splits.items()}
    return [fit for fit in fits if fit.seed in common[fit.data]]


def cell(values):
    """Mean and standard error of values, one a split."""
    error = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
    return Cell(float(np.mean(values)), error, len(values))


def cells(fits, metric):
    """``{(data, method, epsilon): Cell}`` for a score, or for seconds."""
    values = defaultdict(list)
    for fit in fits:
        scores = {"seconds": fit.seconds, **fit.scores}
        if metric in scores:
            values[fit.data, fit.method, fit.epsilon].append(scores[metric])
    return {key: cell(v) for key, v in values.items()}
