"""Rows of tables of cases that wait for the nightly run."""

import pytest


def nightly(*values):
    return pytest.param(*values, marks=pytest.mark.nightly)


def by_night(*cases):
    """Cases, tuples if they give several values, that the default run leaves out."""
    return [nightly(*case) if isinstance(case, tuple) else nightly(case) for case in cases]


def each_check_once(cases):
    """Checks of scikit-learn, each for one of the estimators in turn; the rest by night.

    Parameters
    ----------
    cases : iterable of (estimator, check)
        As ``parametrize_with_checks`` makes them.
    """
    cases = list(cases)
    holders = {}
    for k, case in enumerate(cases):
        check = getattr(case, "values", case)[1]
        holders.setdefault(getattr(check, "func", check).__name__, []).append(k)
    taken = {rows[(turn + 1) % len(rows)] for turn, rows in enumerate(holders.values())}
    return [
        case
        if k in taken
        else pytest.param(
            *getattr(case, "values", case), marks=[*getattr(case, "marks", ()), pytest.mark.nightly]
        )
        for k, case in enumerate(cases)
    ]


def with_names(cases, by_night):
    """Cases of a dictionary under their names; those named wait for the night."""
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            id=name,
            marks=[pytest.mark.nightly] if name in by_night else [],
        )
        for name, case in cases.items()
    ]
