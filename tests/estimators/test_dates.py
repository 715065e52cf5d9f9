"""Dates are no features: read as numbers they would be huge integers, missing ones the hugest."""

import numpy as np
import pytest

from skdp import DPLogisticRegression

N = 20
X = np.random.default_rng(0).uniform(-1, 1, (N, 2))
Y = (X[:, 0] > 0).astype(int)
DATES = {
    "dates": np.full((N, 2), "2001-02-03", dtype="datetime64[D]"),
    "missing dates": np.full((N, 2), "NaT", dtype="datetime64[D]"),
    "missing times": np.full((N, 2), "NaT", dtype="timedelta64[s]"),
}
REFUSED = pytest.raises(ValueError, match="X holds dates or times")


def classifier():
    return DPLogisticRegression(data_norm=2.0, classes=[0, 1])


@pytest.mark.parametrize("given", DATES)
def test_dates_are_no_features(given):
    fitted = classifier().fit(X, Y)
    with REFUSED:
        classifier().fit(DATES[given], Y)
    with REFUSED:
        classifier().partial_fit(DATES[given], Y)
    with REFUSED:
        fitted.predict(DATES[given])


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_columns_of_dates_are_no_features(zone):
    pandas = pytest.importorskip("pandas")
    days = pandas.date_range("2001-02-03", periods=N, tz=zone)
    table = pandas.DataFrame({"a": days, "b": X[:, 0]})
    with REFUSED:
        classifier().fit(table, Y)
