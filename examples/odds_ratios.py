"""Who earns more than $50,000, other things equal? Odds ratios with private confidence intervals.

The table that a journal would print, of the 1994 census extract: a logit model, fitted once with
epsilon = 1, whose standard errors include the noise of privacy, beside the fit without privacy.
Ranges of the columns come from the code book and cost nothing. Reads ``adult_raw.csv.gz`` from the
folder named by the environment variable SKDP_DATA, else from ``shared/data`` beside the repository,
else the copy of OpenML.
"""

import numpy as np
import pandas as pd
from census import LABELS, table
from sklearn.linear_model import LogisticRegression

from skdp import DPLogisticRegression

# Name, how it is made of the table, and its range by the code book.
COLUMNS = {
    "age, decades from 40": (lambda t: (t["age"] - 40) / 10, (-2.3, 5.0)),
    "its square": (lambda t: ((t["age"] - 40) / 10) ** 2, (0.0, 25.0)),
    "education, years": (lambda t: t["education-num"] - 10, (-9.0, 6.0)),
    "weekly hours, tens": (lambda t: (t["hours-per-week"] - 40) / 10, (-4.0, 6.0)),
    "woman": (lambda t: t["sex"] == "Female", (0.0, 1.0)),
    "married": (lambda t: t["marital-status"] == "Married-civ-spouse", (0.0, 1.0)),
    "self-employed": (lambda t: t["workclass"].str.startswith("Self-emp"), (0.0, 1.0)),
    "government": (lambda t: t["workclass"].str.endswith("-gov"), (0.0, 1.0)),
    "black": (lambda t: t["race"] == "Black", (0.0, 1.0)),
}
BOUNDS = {name: bounds for name, (_, bounds) in COLUMNS.items()}


def rows():
    """Features by name, and whether income is above the threshold."""
    people = table()
    X = pd.DataFrame({name: make(people).astype(float) for name, (make, _) in COLUMNS.items()})
    return X, people["income"]


def exact(X, y):
    """Coefficients and robust standard errors without privacy, intercept last."""
    V = np.column_stack([X, np.ones(len(X))])
    beta = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-8, max_iter=5_000)
    beta = beta.fit(V, y).coef_[0]
    p = 1 / (1 + np.exp(-V @ beta))
    inverse = np.linalg.inv((V * (p * (1 - p))[:, None]).T @ V)
    scores = V * (y - p)[:, None]
    return beta, np.sqrt(np.diag(inverse @ (scores.T @ scores) @ inverse))


def main():
    X, income = rows()
    model = DPLogisticRegression(
        epsilon=1.0, delta=1e-6, solver="one_step", data_bounds=BOUNDS, classes=LABELS
    ).fit(X, income)
    found = model.inference_
    print(found.summary(), "\n")
    beta, errors = exact(X.to_numpy(), (income == LABELS[1]).to_numpy(dtype=float))
    print(f"{'':<22} {'odds ratio':>10}   {'95 % interval':<16} {'without privacy':<16}")
    for k, (name, (low, high)) in enumerate(
        zip(found.names, np.exp(found.conf_int()), strict=True)
    ):
        ends = np.exp(beta[k] + 1.96 * errors[k] * np.array([-1, 1]))
        private = f"{np.exp(found.params[k]):>10.2f}   [{low:.2f}, {high:.2f}]"
        print(f"{name:<22} {private:<29} [{ends[0]:.2f}, {ends[1]:.2f}]")
    joint = found.wald_test(np.eye(len(found.names))[:2])
    print(f"\nAge does not matter: chi-squared({joint.df_denom}) = {joint.statistic:.0f}", end="")
    print(f", p = {joint.pvalue:.2g}")
    spent = model.privacy_spent_
    print(f"Spent: epsilon = {spent.epsilon:.3f}, delta = {spent.delta:.0e}")


if __name__ == "__main__":
    main()
