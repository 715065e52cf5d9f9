"""Models whose predictions would tell of test rows, if they were asked carelessly."""

import warnings

import numpy as np

# The entry of a row at which models lose their head.
PANIC = 777.0


class Fixed:
    """The sign of the first feature, and its logistic function."""

    classes_ = np.array([0, 1])

    def predict(self, X):
        return (np.asarray(X)[:, 0] > 0).astype(int)

    def predict_proba(self, X):
        p = 1 / (1 + np.exp(-np.asarray(X)[:, 0]))
        return np.column_stack([1 - p, p])


class Numbers:
    """Predicts the first feature."""

    def predict(self, X):
        return np.asarray(X)[:, 0]


def noting(kind, asked):
    """A model that notes how many rows it is asked about at a time."""

    class Noting(kind):
        def predict(self, X):
            asked.append(len(X))
            return super().predict(X)

    return Noting()


class Batch(Fixed):
    """Standardises by the rows at hand."""

    def predict(self, X):
        return super().predict(X - np.mean(X, axis=0))

    def predict_proba(self, X):
        return super().predict_proba(X - np.mean(X, axis=0))


class Panicking(Fixed):
    """Refuses a block with a certain row, and quotes it."""

    def predict(self, X):
        if (X == PANIC).any():
            raise RuntimeError(f"cannot predict {X}")
        return super().predict(X)


class Talking(Fixed):
    """Warns of a certain row."""

    def predict(self, X):
        if (X == PANIC).any():
            warnings.warn(f"odd: {X}", stacklevel=2)
        return super().predict(X)


class Spoiling(Fixed):
    """Overwrites the rows it is handed, says NaN, unknown labels, and too much or too little."""

    def __init__(self, how):
        self.how = how

    def predict(self, X):
        odd = X[:, 0] == PANIC
        found = super().predict(X).astype(float)
        X[...] = -PANIC
        if self.how == "label":
            found[odd] = 17.0
        elif self.how == "nan":
            found[odd] = np.nan
        elif self.how == "length" and odd.any():
            found = found[:-1]
        return found

    def predict_proba(self, X):
        odd = X[:, 0] == PANIC
        p = super().predict_proba(X)
        X[...] = -PANIC
        p[odd] = {"nan": np.nan, "label": -5.0, "length": 1e300}[self.how]
        return p[:, :1] if self.how == "length" and odd.any() else p


class Listing(Fixed):
    """Lists its predictions, of a certain row something else."""

    def __init__(self, odd, first=0):
        self.odd, self.classes_ = odd, first + np.array([0, 1])

    def predict(self, X):
        first = int(self.classes_[0])
        return [self.odd if x == PANIC else first + int(x > 0) for x in np.asarray(X)[:, 0]]


class Popping:
    """Takes the number out of rows that are dictionaries, and refuses a certain one."""

    classes_ = np.array([0, 1])

    def predict(self, rows):
        cells = rows["o"] if hasattr(rows, "columns") else [np.ravel(row)[0] for row in rows]
        numbers = [cell.pop("x") for cell in cells]
        if PANIC in numbers:
            raise RuntimeError(f"cannot predict {numbers}")
        return np.array([int(x > 0) for x in numbers])
