"""A private model of a stream that is read once, chunk by chunk, by a generator.

Rows of the 1994 census extract are read from ``adult_raw.csv.gz`` a few hundred at a time, prepared
one by one with what its code book says, and given to ``partial_fit``. The file is looked for in the
folder named by the environment variable SKDP_DATA, else in ``shared/data`` beside the repository;
where it is not, or pandas is not, digits that come with scikit-learn are streamed in its place.

Prints accuracy on rows that were held out as the stream goes by, against scikit-learn's
``SGDClassifier.partial_fit`` on the same chunks, and what was spent. Half way the model is
published, as a pickle, and the stream moves to another process, as a secret checkpoint.
"""

import os
import pickle
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import census
import numpy as np
from sklearn.linear_model import SGDClassifier

from skdp import DPLogisticRegression, load_checkpoint, save_checkpoint

EPSILON, DELTA = 1.0, 1e-5
LOOKS = 7


@dataclass(frozen=True)
class Source:
    """A stream, and all that is known about it before the first row comes."""

    name: str
    chunks: Callable[[], Iterator[tuple[np.ndarray, np.ndarray]]]
    held_out: Callable[[], tuple[np.ndarray, np.ndarray]]
    n_rows: int  # announced: the stream need not be counted
    labels: list[Any]


def census_rows(chunk=500):
    """Rows of the census, never more of them in memory than a chunk, or than are held out."""
    import pandas as pd
    from adult import preparation
    from sklearn.pipeline import make_pipeline

    prepare = make_pipeline(*preparation())

    def of_part(part):
        for table in pd.read_csv(census.path(), chunksize=chunk):
            rows = table[table["split"] == part]
            if len(rows):
                # There is nothing to learn, so that each chunk can be prepared by itself.
                yield prepare.fit_transform(rows), rows["income"].to_numpy()

    def held_out():
        X, y = zip(*of_part("test"), strict=True)
        return np.concatenate(X), np.concatenate(y)

    return Source("census", lambda: of_part("train"), held_out, census.TRAINING_ROWS, census.LABELS)


def digit_rows(chunk=50):
    """Odd or even? Pixels lie in 0..16, and each row is brought to norm 1 by itself."""
    from sklearn.datasets import load_digits
    from sklearn.preprocessing import normalize

    X, digit = load_digits(return_X_y=True)
    X, y = normalize(X / 8 - 1), digit % 2
    n = 1_500

    def chunks():
        for start in range(0, n, chunk):
            stop = min(start + chunk, n)
            yield X[start:stop], y[start:stop]

    return Source("digits", chunks, lambda: (X[n:], y[n:]), n, [0, 1])


def source():
    there = census.path().is_file() and find_spec("pandas") is not None
    return census_rows() if there else digit_rows()


def published(model):
    """What anybody may have: a model that predicts, but knows no rows and cannot go on."""
    return pickle.dumps(model)


def moved(model):
    """The same stream as another process would take it up: from a file as secret as the rows."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "stream")
        save_checkpoint(model, path)  # readable by its owner alone
        return load_checkpoint(path)  # there is one stream, so the file is gone


def main():
    stream = source()
    X_test, y_test = stream.held_out()
    model = DPLogisticRegression(
        epsilon=EPSILON, delta=DELTA, data_norm=1.0, classes=stream.labels, horizon=stream.n_rows
    )
    exact = SGDClassifier(loss="log_loss", average=True, random_state=0)
    looks = iter(stream.n_rows / 2.0 ** np.arange(LOOKS - 1, -1, -1))
    look, shared = next(looks), None
    print(f"{stream.name}, {stream.n_rows} rows announced, {len(y_test)} held out")
    print(f"{'rows':>6}  {'private':>7}  {'SGDClassifier':>13}  {'epsilon spent':>13}")
    for X, y in stream.chunks():
        model.partial_fit(X, y)
        exact.partial_fit(X, y, classes=stream.labels)
        if shared is None and model.n_samples_seen_ >= stream.n_rows / 2:
            shared, seen = published(model), model.n_samples_seen_
            model = moved(model)
        if model.n_samples_seen_ >= look:
            look = next(looks, np.inf)
            scores = (other.score(X_test, y_test) for other in (model, exact))
            print(
                f"{model.n_samples_seen_:>6}  {next(scores):>7.3f}  {next(scores):>13.3f}  "
                f"{model.privacy_spent_.epsilon:>13.3f}"
            )

    spent = model.privacy_spent_
    parts = len({event.part for event in model.privacy_ledger_})
    print(
        f"All models together spent epsilon={spent.epsilon:.3f}, delta={spent.delta:.0e}: each row "
        f"was in one of {parts} parts."
    )
    copy = pickle.loads(shared)
    print(
        f"Published after {seen} rows: {len(shared):,} bytes, accuracy "
        f"{copy.score(X_test, y_test):.3f}."
    )
    try:
        copy.partial_fit(X, y)
    except ValueError as refusal:
        print(f"It cannot go on. {refusal}")


if __name__ == "__main__":
    main()
