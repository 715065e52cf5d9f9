"""How many features of a sparse signal a lasso keeps as the penalty grows."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Lasso
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split

rng = np.random.RandomState(5)
signal = np.zeros(40)
signal[rng.choice(40, size=4, replace=False)] = [1.5, -2.0, 1.0, 2.5]
X = rng.uniform(-1, 1, size=(1200, 40))
y = X @ signal + 0.1 * rng.normal(size=1200)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)

penalties, kept = [0.01, 0.1, 100.0], []
for alpha in penalties:
    lasso = Lasso(alpha, max_iter=10_000, selection="cyclic").fit(X_train, y_train)
    kept.append(np.count_nonzero(lasso.coef_))
    label = f"alpha={alpha:g}, R2={r2_score(y_test, lasso.predict(X_test)):.2f}"
    plt.plot(lasso.coef_, ".", label=label)
assert lasso.sparse_coef_.shape == (1, 40)
assert kept[0] > 0
assert kept[-1] == 0

plt.vlines(np.flatnonzero(signal), 0, signal[signal != 0], colors="grey", label="signal")
plt.legend()
plt.show()
