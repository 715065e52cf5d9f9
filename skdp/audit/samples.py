"""Samples of a statistic under each of two data sets."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, inf
from typing import Any, Literal

import numpy as np
from joblib import Parallel, cpu_count, delayed, effective_n_jobs

from ..privacy.randomness import SystemNoise
from ..reporting.progress_bar import with_progress
from .likelihoods import Answer
from .programs import Program

# Share of the runs that choose a direction or a threshold and are not counted.
SET_ASIDE = 0.25
# Numbers that a batch of answers may hold: what fits into a cache is drawn fastest.
_LARGEST_BATCH = 1 << 14

Sees = Literal["auto", "answers", "model", "queries"]
# Of the first and of the second data set, one number a run; larger speaks for the second.
Samples = tuple[np.ndarray, np.ndarray]


def ratios_of_queries(answers: list[Answer], runs: int, n_jobs: int | None) -> Samples:
    """Log-likelihood ratios of fresh answers to all queries of a fit."""
    n_jobs = min(2, cpu_count()) if n_jobs is None else n_jobs
    jobs = _jobs(runs, n_jobs)
    # Threads: nearly all of the time goes to numpy and the operating system.
    tasks = [delayed(fresh_ratios)(answers, *job) for job in jobs]
    return _joined(_run(tasks, n_jobs, prefer="threads"))


def samples_of_runs(
    program: Program,
    sees: str,
    runs: int,
    statistic: Callable[[Any], float] | None,
    n_jobs: int | None,
) -> Samples:
    """Run a program on both of its data sets, over and over.

    Returns
    -------
    tuple of ndarray of shape (runs,)
        Log-likelihood ratios; of models a direction that the first quarter of the runs has found.
    """
    jobs = _jobs(runs, n_jobs)
    if sees == "answers":
        tasks = [delayed(_ratios_of_fits)(program, *job) for job in jobs]
        return _joined(_run(tasks, n_jobs))
    tasks = [delayed(program.published)(*job, statistic) for job in jobs]
    first, second = _joined(_run(tasks, n_jobs))
    if not first.size:
        raise ValueError(
            f"audit needs a statistic for {type(program.estimator).__name__}, which has published "
            "no number to look at."
        )
    return _projected(first, second)


def fresh_ratios(answers: list[Answer], which: int, runs: int) -> np.ndarray:
    """Log-likelihood ratios of fresh answers under one of two data sets."""
    noise, out = SystemNoise(), np.zeros(runs)
    for answer in answers:
        if not answer.given.size:
            continue
        batch = max(1, _LARGEST_BATCH // answer.given.size)
        for start in range(0, runs, batch):
            count = min(batch, runs - start)
            again = answer.again(which, count, noise)
            out[start : start + count] += answer.log_ratio(again)
    return out


def _ratios_of_fits(program: Program, which: int, runs: int) -> np.ndarray:
    """Log-likelihood ratios of all answers of some fits; infinite if other queries are asked."""
    out = np.empty(runs)
    for k in range(runs):
        recording = program.record(which)
        if program.replay(recording, 1 - which):
            out[k] = inf
        else:
            answers = recording.tape.answers()
            out[k] = -sum(float(answer.log_ratio(answer.given)) for answer in answers)
    return out if which else -out


def _run(tasks: list[Any], n_jobs: int | None, prefer: str | None = None) -> list[np.ndarray]:
    """Results of the tasks in their order."""
    done = Parallel(n_jobs=n_jobs, prefer=prefer, return_as="generator")(tasks)
    return [*with_progress(done, len(tasks), "audit")]


def _jobs(runs: int, n_jobs: int | None) -> list[tuple[int, int]]:
    """Data set and runs of each job: a few for each process, so that progress can be seen."""
    parts = np.array_split(np.arange(runs), min(runs, 4 * effective_n_jobs(n_jobs)))
    return [(which, part.size) for which in (0, 1) for part in parts]


def _joined(parts: list[np.ndarray]) -> Samples:
    half = len(parts) // 2
    return np.concatenate(parts[:half]), np.concatenate(parts[half:])


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
