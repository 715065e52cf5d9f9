"""Recording of a run, and its replay over neighbours, for leaks and a pair that is far apart."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import NamedTuple

import numpy as np
from sklearn.base import clone

from ..model_selection.base import PrivateSearch
from .claimed import Claim
from .likelihoods import Answer, UnknownLikelihoodError
from .pairs import candidates, farthest
from .programs import FitProgram, Program, Recording
from .tape import DivergedError

__all__ = ["Found", "replayed", "winners_of"]


class Found(NamedTuple):
    """A program with two data sets, and what is known before it is run over and over.

    Parameters
    ----------
    program : Program
        With the two.
    claim : Claim
        Of a run.
    seconds : float
        That a run takes.
    answers : list of Answer, or UnknownLikelihoodError
        Those of a recorded fit under both, or why there are none.
    leaks : list of str
        What differs at the boundary.
    """

    program: Program
    claim: Claim
    seconds: float
    answers: list[Answer] | UnknownLikelihoodError
    leaks: list[str]


def replayed(program: Program, row: int) -> Found:
    """Record a run, and replay it over the other data set, or over all that may be.

    Parameters
    ----------
    program : Program
        With one data set, or two.
    row : int
        The row in which others differ.
    """
    began = perf_counter()
    claim = Claim.of(program.run(0))
    seconds = perf_counter() - began
    try:
        recording = program.record()
    except UnknownLikelihoodError as unknown:
        return Found(program, claim, seconds, unknown, [])
    asked = {name for name, _, _ in recording.tape.asked} | recording.tape.streams
    why = "a stream that is open over several calls"
    try:
        if isinstance(program, FitProgram) and not claim.queries <= asked:
            raise DivergedError(why)
        tried, accepted, leaks = _neighbours(program, recording, row)
    except DivergedError as failure:
        if str(failure) != why:
            why = "queries that differ when a run is repeated"
        if len(program.data) == 1:
            sets = candidates(program.estimator, program.data[0], row, None)
            program = replace(program, data=(sets[0], sets[1]))
        return Found(program, claim, seconds, UnknownLikelihoodError(why), [])
    if leaks:
        return Found(tried, claim, seconds, [], leaks)
    try:
        answers = recording.tape.answers()
    except UnknownLikelihoodError as unknown:
        pair = (tried.data[accepted[0]], tried.data[accepted[-1]])
        return Found(replace(program, data=pair), claim, seconds, unknown, [])
    i, j = (0, 1) if len(accepted) == 2 else farthest(answers, len(accepted))
    program = replace(program, data=(tried.data[accepted[i]], tried.data[accepted[j]]))
    return Found(program, claim, seconds, [answer.between(i, j) for answer in answers], [])


def _neighbours(
    program: Program, recording: Recording, row: int
) -> tuple[Program, list[int], list[str]]:
    """Replay a recorded run over all neighbours: the program with them, those taken, and leaks."""
    zero_out = isinstance(program, FitProgram) and program.left_out is not None
    tried, accepted = program, [0]
    if isinstance(program, FitProgram) and (zero_out or len(program.data) == 1):
        sets = candidates(program.estimator, program.data[0], row, _coefficients(recording))
        tried = replace(program, data=(program.data[0], *sets), left_out=None)
        for k in range(1, len(tried.data)):
            try:
                leaks = tried.replay(recording, k)
            except DivergedError:
                raise
            except Exception:
                # Which rows are refused is part of no claim.
                continue
            if leaks:
                return tried, [], leaks
            accepted.append(k)
            if zero_out:
                recording.tape.forget()
        if not zero_out:
            return tried, accepted, []
    try:
        return program, [0, 1], program.replay(recording, 1)
    except DivergedError:
        raise
    except Exception as failure:
        return program, [], [f"{type(failure).__name__} is raised for the second data set alone"]


def winners_of(program: Program, row: int) -> Found:
    """Run a search once, on neighbours that are far apart for what is searched over.

    Parameters
    ----------
    program : Program
        With one data set, or two.
    row : int
        The row in which others differ.
    """
    if len(program.data) == 1:
        estimator = program.estimator
        params = estimator.get_params(deep=True).items()
        inner = {name: part.estimator for name, part in params if isinstance(part, PrivateSearch)}
        if isinstance(estimator, PrivateSearch):
            searched = estimator.estimator
        else:
            searched = clone(estimator).set_params(**inner)
        found = replayed(replace(program, estimator=searched), row)
        program = replace(program, data=found.program.data[-2:])
    began = perf_counter()
    claim = Claim.of(program.run(0))
    unknown = UnknownLikelihoodError(type(program.estimator).__name__)
    return Found(program, claim, perf_counter() - began, unknown, [])


def _coefficients(recording: Recording) -> np.ndarray | None:
    coef = getattr(recording.model, "coef_", None)
    return None if coef is None else np.asarray(coef, dtype=float)
