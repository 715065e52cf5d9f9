"""Samples of a statistic under each of two data sets."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Any, Literal

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from ..data.base import RowStore
from ..privacy.randomness import SystemNoise
from .answers import Answer
from .trials import Trial

__all__ = ["SET_ASIDE", "Samples", "Sees", "fresh_ratios", "samples_of"]

# Share of the runs that choose a direction or a threshold and are not counted.
SET_ASIDE = 0.25
# Numbers that a batch of answers may hold.
_LARGEST_BATCH = 2_000_000

Sees = Literal["model", "answers", "questions"]
# Of the first and of the second data set, one number a run; larger speaks for the second.
Samples = tuple[np.ndarray, np.ndarray]


def samples_of(
    trial: Trial,
    sees: Sees,
    runs: int,
    statistic: Callable[[Any], float] | None,
    n_jobs: int | None,
    verbose: int,
) -> Samples:
    """Run a trial on both data sets.

    Parameters
    ----------
    trial : Trial
        What is run.
    sees, runs, statistic, n_jobs, verbose
        As for :func:`~skdp.audit.audit`.

    Returns
    -------
    tuple of ndarray of shape (runs,)
        Log-likelihood ratios; of models a direction that the first quarter of the runs has found.
    """
    sizes = _sizes(runs, n_jobs)
    jobs = [(which, size) for which in (0, 1) for size in sizes]
    run = Parallel(n_jobs=n_jobs, verbose=verbose)
    if sees == "model":
        parts = run(delayed(trial.published)(*job, statistic) for job in jobs)
    elif sees == "answers":
        stores = trial.stores()
        parts = run(delayed(_ratios)(trial, stores, *job) for job in jobs)
    else:
        _, notes = trial.witnessed(0, trial.stores())
        parts = run(delayed(fresh_ratios)(notes, *job) for job in jobs)
    first, second = (np.concatenate(parts[k : k + len(sizes)]) for k in (0, len(sizes)))
    return _projected(first, second) if sees == "model" else (first, second)


def fresh_ratios(notes: list[Answer], which: int, runs: int) -> np.ndarray:
    """Log-likelihood ratios of fresh answers to all questions of a fit.

    Parameters
    ----------
    notes : list of Answer
        The questions.
    which : int
        The data set that is asked.
    runs : int
        How often.
    """
    noise, out = SystemNoise(), np.zeros(runs)
    for note in notes:
        batch = max(1, _LARGEST_BATCH // note.size)
        for start in range(0, runs, batch):
            count = min(batch, runs - start)
            answers = note.again(which, count, noise)
            out[start : start + count] += note.log_ratio(answers, 0, 1)
    return out


def _ratios(trial: Trial, stores: list[tuple[RowStore, ...]], which: int, runs: int) -> np.ndarray:
    """Log-likelihood ratios of all answers of some fits."""
    out = np.empty(runs)
    for k in range(runs):
        _, notes = trial.witnessed(which, stores)
        out[k] = sum(float(note.log_ratio(note.published, 0, 1)) for note in notes)
    return out


def _sizes(runs: int, n_jobs: int | None) -> list[int]:
    """Runs of each job: a few jobs for each process, so that progress can be seen."""
    jobs = min(runs, 4 * effective_n_jobs(n_jobs))
    return [part.size for part in np.array_split(np.arange(runs), jobs)]


def _projected(first: np.ndarray, second: np.ndarray) -> Samples:
    """Along a direction that the runs set aside have found (Fisher's discriminant)."""
    aside = ceil(SET_ASIDE * len(first))
    a, b = first[:aside], second[:aside]
    # What changes between the data sets alone tells most, and what never does tells nothing.
    scale = np.concatenate([a, b]).std(axis=0)
    scale[scale == 0] = np.inf
    centred = np.concatenate([a - a.mean(axis=0), b - b.mean(axis=0)]) / scale
    n, p = centred.shape
    # The more numbers there are for a run, the less their covariance is known.
    within = (centred.T @ centred + p * np.eye(p)) / (n + p)
    direction = np.linalg.solve(within, (b.mean(axis=0) - a.mean(axis=0)) / scale) / scale
    return first @ direction, second @ direction
