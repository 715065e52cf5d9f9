"""A typed program that uses skdp; mypy reads it with --strict beside the installed package.

The lines with a comment "type: ignore" are mistakes: mypy complains if one of them is not noticed.
"""

from typing import assert_type

import numpy as np

import skdp

X = np.zeros((20, 2))
y = np.arange(20) % 2

model = skdp.DPLogisticRegression(epsilon=1.0, data_norm=1.0, classes=[0, 1])
assert_type(model.fit(X, y), skdp.DPLogisticRegression)
assert_type(model.privacy_spent_, skdp.PrivacySpent)
assert_type(model.privacy_spent_.epsilon, float)
assert_type(skdp.report(model), skdp.PrivacyReport)
assert_type(skdp.report(model).to_json(), str)

regression = skdp.DPLinearRegression(epsilon=1.0, data_norm=1.0, target_bounds=(0, 1))
predictions: np.ndarray = regression.predict(X)

with skdp.PrivacyBudget(epsilon=2.0, delta=1e-5) as budget:
    assert_type(budget, skdp.PrivacyBudget)

skdp.DPLogisticRegression(1.0)  # type: ignore[call-arg]
skdp.DPLogisticRegression(epsilon="much")  # type: ignore[arg-type]
skdp.report(model).to_jsonn()  # type: ignore[attr-defined]
