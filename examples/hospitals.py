"""Three hospitals learn one model of tumours, and nothing but noisy vectors leaves any of them.

Each hospital is a process of its own, a worker of a local dask cluster. It loads the rows of its
patients there, and answers each round with one gradient to which it has added noise. They see
different patients: one mostly small tumours, one mostly large ones.

The program writes a log of the messages, checks that none is the exact gradient of its hospital,
and compares the common model with those that each hospital can have by itself.
"""

from functools import partial

import numpy as np
from distributed import Client, LocalCluster
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from skdp import DPLogisticRegression
from skdp.federated import DaskSites

HOSPITALS = ("north", "south", "west")
DATA_NORM = 1.0
BUDGET = {"epsilon": 1.0, "delta": 1e-4}
# Published ranges of the ten means, which are known without the data at hand.
LOW = np.array([7, 10, 44, 143, 0.053, 0.019, 0, 0, 0.106, 0.05])
HIGH = np.array([28, 39, 188, 2501, 0.163, 0.345, 0.427, 0.201, 0.304, 0.097])


def patients():
    """Features, labels and hospital of those to learn from; features and labels of others."""
    X, y = load_breast_cancer(return_X_y=True)
    radius = X[:, 0]
    X = 2 * (X[:, :10] - LOW) / (HIGH - LOW) - 0.5
    X, X_test, y, y_test, radius, _ = train_test_split(X, y, radius, random_state=0)
    blurred = radius + np.random.default_rng(0).normal(size=radius.size)
    hospital = np.array(HOSPITALS)[np.digitize(blurred, np.quantile(blurred, [0.4, 0.7]))]
    return X, y, hospital, X_test, y_test


def load(name):
    """What a hospital does on its own machine, reading its own files."""
    X, y, hospital, *_ = patients()
    return X[hospital == name], y[hospital == name]


def exact_gradient(name, w):
    """What must not leave the hospital."""
    X, y = load(name)
    X = X * np.minimum(1.0, DATA_NORM / np.linalg.norm(X, axis=1, keepdims=True))
    X = np.column_stack([X, np.full(len(X), DATA_NORM)])
    return X.T @ (1 / (1 + np.exp(-X @ w)) - y) / len(y)


def model(**options):
    return DPLogisticRegression(**BUDGET, data_norm=DATA_NORM, C=10.0, classes=[0, 1], **options)


def show(log):
    """The log, after checks that each message is a vector with noise in all of its entries."""
    print(f"{len(log)} messages, among them")
    for message in log:
        exact = exact_gradient(message.site, message.w)
        assert message.vector.shape == exact.shape
        assert not np.any(message.vector == exact)
        if message.round in (1, 50, 100):
            noise = np.linalg.norm(message.vector - exact)
            print(
                f"  round {message.round:3d}  {message.site:5s}  {message.vector.nbytes} bytes, "
                f"noise {noise:.2f} on a gradient of length {np.linalg.norm(exact):.2f}"
            )


def main():
    *_, X_test, y_test = patients()
    log = []
    with (
        LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        loaders = {name: partial(load, name) for name in HOSPITALS}
        places = dict(zip(HOSPITALS, client.nthreads(), strict=True))
        with DaskSites(client, loaders, **BUDGET, workers=places, heard=log.append) as sites:
            common = model().fit(sites)
            receipts = sites.receipts()
    show(log)
    print("By their own accounts the hospitals have spent")
    for name, (spent, (event,)) in receipts.items():
        print(
            f"  {name:5s}  epsilon={spent.epsilon:.3f}, delta={spent.delta:.0e} in "
            f"{event.count} answers"
        )
    print(f"Accuracy of the common model {common.score(X_test, y_test):.3f}")
    for name in HOSPITALS:
        alone = model().fit(*load(name))
        print(f"  {name:5s}  alone {alone.score(X_test, y_test):.3f}")


if __name__ == "__main__":
    main()
