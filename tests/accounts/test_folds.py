"""How often a row takes part in the fits of a cross-validation."""

import numpy as np
import pytest
from budget_tasks import X
from sklearn.model_selection import (
    KFold,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
)

from skdp.accounts.folds import folds_of


@pytest.mark.parametrize(
    ("cv", "n_splits", "classifier", "fits", "look"),
    [
        (5, 5, False, 4, False),
        (None, 5, False, 4, False),
        (5, 5, True, 5, True),
        (KFold(4, shuffle=True), 4, True, 3, False),
        (RepeatedKFold(n_splits=3, n_repeats=2), 6, True, 4, False),
        (ShuffleSplit(7), 7, True, 7, False),
        (StratifiedKFold(3), 3, True, 3, True),
        ([([0], [1]), ([1], [0])], 2, True, 2, True),
    ],
)
def test_a_row_takes_part_in_all_folds_but_its_own(cv, n_splits, classifier, fits, look):
    found = folds_of(cv, n_splits, classifier=classifier)
    assert (found.fits, found.look_at_rows) == (fits, look)
    if not look and not isinstance(cv, int) and cv is not None:
        held = np.zeros(len(X), int)
        for train, _ in cv.split(X):
            held[train] += 1
        assert held.max() <= fits
