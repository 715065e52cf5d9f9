"""Examples of queries about predictions, for the battery in ``test_every_query.py``.

Columns of a row are the prediction, the group and the scores of three classes, or of two.
"""

import numpy as np
from example_of_a_query import Example

from skdp.privacy.queries import (
    GroupMeansQuery,
    MetricMeansQuery,
    OutcomeCountsQuery,
    TargetTableQuery,
    absolute_error,
    brier_score,
    clipped_target,
    constant_deviance,
    deviance_gain,
    events,
    expected_events,
    exposure,
    log_loss,
    mean_roc_area_term,
    poisson_deviance,
    roc_area_term,
    squared_error,
    squared_r2_term,
)

N, GROUPS = 4, 3
EDGES = np.linspace(0, 1, 9)
# Distributions of scores in two classes, one of which is rare.
RARE = roc_area_term(EDGES, EDGES**0.5, EDGES**2, 0.8, 0.1)
COMMON = roc_area_term(EDGES, EDGES**0.5, EDGES**2, 0.8, 0.7)
SEVERAL = mean_roc_area_term(
    EDGES, np.tile(EDGES**0.5, (3, 1)), np.tile(EDGES**2, (3, 1)), np.array([0.8, 0.7, 0.6]),
    np.array([0.1, 0.6, 0.3]),
)  # fmt: skip
BOUNDS = (-2.0, 6.0, 3.0)
REGRESSION = (squared_error(*BOUNDS), absolute_error(*BOUNDS), clipped_target(*BOUNDS))
EVENTS = (poisson_deviance(3.0), expected_events(3.0), events(3.0), exposure())
DEVIANCES = deviance_gain(3.0, 0.4), constant_deviance(3.0, 0.4)
R2_TERM = squared_r2_term(*BOUNDS, mean=1.0, unexplained=0.4)


def rows_of_a_classifier(rng, n_classes, n_scores):
    """Classes and groups beyond those there are among them, and scores that are none."""
    scores = rng.dirichlet(np.full(n_scores, 0.5), size=N)
    scores[rng.random(N) < 0.2] *= rng.choice([1e200, -3.0])
    prediction, group = rng.integers(-1, n_classes + 1, N), rng.integers(-1, GROUPS + 1, N)
    label = rng.integers(-1, n_classes + 1, N).astype(float)
    return np.column_stack([prediction, group, scores]), label


def rows_of_a_regression(rng):
    y = 10.0 ** rng.uniform(-2, 3, N) * rng.choice([-1.0, 1.0], N)
    return np.column_stack([y + rng.normal(scale=2, size=N), np.zeros(N)]), y


def counts():
    for n_groups in (1, GROUPS):
        for n_classes in (2, 3):
            for of in ("correctness", "prediction"):
                yield OutcomeCountsQuery(of, n_classes, n_groups)
        yield OutcomeCountsQuery("score", 2, n_groups, np.array([0.2, 0.5, 0.9]))
        yield OutcomeCountsQuery("score", 3, n_groups, np.array([0.2, 0.5, 0.9]), 0)


def random_counts():
    rng = np.random.default_rng(21)
    for query in counts():
        for _ in range(3):
            rows = [rows_of_a_classifier(rng, query.n_classes, query.n_classes) for _ in range(2)]
            yield Example(query, *rows[0], *rows[1])


def crafted_counts():
    """A row that is right about class 0 against one that is wrong, in this group or another."""
    for query in counts():
        for group in range(query.n_groups):
            right, wrong = np.zeros((N, 2 + query.n_classes)), np.zeros((N, 2 + query.n_classes))
            right[:, 2], wrong[:, 3] = 1.0, 1.0
            wrong[:, 0], wrong[:, 1] = 1.0, group
            yield Example(query, right, np.zeros(N), wrong, np.zeros(N))


def random_tables():
    rng = np.random.default_rng(25)
    for edges in ((np.array([-1.0, 0.0, 2.0]), np.array([0.5])), (np.empty(0), BOUNDS[:2])):
        rows = [rows_of_a_regression(rng) for _ in range(2)]
        yield Example(TargetTableQuery(*map(np.array, edges)), *rows[0], *rows[1])


def crafted_tables():
    """Rows with one target and prediction against rows with another of either."""
    query = TargetTableQuery(np.array([0.0, 1.0]), np.array([0.0]))
    low, high = (np.column_stack([np.full(N, sign), np.zeros(N)]) for sign in (-1.0, 1.0))
    yield Example(query, low, np.full(N, 0.5), high, np.full(N, 0.5))
    yield Example(query, low, np.full(N, 0.5), low, np.full(N, -0.5))


def random_means():
    rng = np.random.default_rng(22)
    losses = (log_loss(0.2), brier_score())
    for metrics in ((log_loss(0.01),), (brier_score(),), losses, (SEVERAL,)):
        rows = [rows_of_a_classifier(rng, 3, 3) for _ in range(2)]
        yield Example(MetricMeansQuery(metrics, N), *rows[0], *rows[1])
    for metrics in ((RARE,), (COMMON,), (COMMON, log_loss(0.05))):
        rows = [rows_of_a_classifier(rng, 2, 2) for _ in range(2)]
        yield Example(MetricMeansQuery(metrics, N), *rows[0], *rows[1])
    kinds = REGRESSION, (R2_TERM,), EVENTS, DEVIANCES, *((metric,) for metric in REGRESSION)
    for metrics in kinds:
        for _ in range(2):
            rows = [rows_of_a_regression(rng) for _ in range(2)]
            yield Example(MetricMeansQuery(metrics, N), *rows[0], *rows[1])


def crafted_means():
    """All metrics at the low end of their range against all at the high one."""
    sure = np.tile([0.0, 0.0, 1.0, 0.0], (N, 1))
    for metrics in ((log_loss(0.01), brier_score()), (log_loss(0.2),), (brier_score(),)):
        query = MetricMeansQuery(metrics, N)
        yield Example(query, sure, np.zeros(N), sure, np.ones(N))
    highest = np.tile([0.0, 0.0, 0.0, 1.0], (N, 1))
    # Ends of the range are those of the rarer class.
    for metric, label in ((RARE, np.ones(N)), (COMMON, np.zeros(N))):
        yield Example(MetricMeansQuery((metric,), N), sure, label, highest, label)
    low, high = np.full(N, -2.0), np.full(N, 6.0)
    exact, off = (np.column_stack([p, np.zeros(N)]) for p in (low, np.full(N, -1e300)))
    for metrics in (REGRESSION, *((metric,) for metric in REGRESSION)):
        yield Example(MetricMeansQuery(metrics, N), exact, low, off, high)
    middle = np.ones(N)
    exact, off = (np.column_stack([p, np.zeros(N)]) for p in (middle, np.full(N, 1e300)))
    yield Example(MetricMeansQuery((R2_TERM,), N), exact, middle, off, middle)


def crafted_events():
    """As many events as count, where none is expected and where as many are; and none."""
    none = np.column_stack([np.full(N, -1.0), np.ones(N)])
    exact = np.column_stack([np.full(N, 3.0), np.ones(N)])
    query = MetricMeansQuery(EVENTS[:1], N)
    yield Example(query, none, np.full(N, 9.0), exact, np.full(N, 9.0))
    yield Example(MetricMeansQuery(EVENTS[2:], N), none, np.full(N, 9.0), 0 * none, np.zeros(N))


def random_group_means():
    rng = np.random.default_rng(23)
    for metrics in ((log_loss(0.01),), (log_loss(0.2), brier_score())):
        rows = [rows_of_a_classifier(rng, 3, 3) for _ in range(2)]
        yield Example(GroupMeansQuery(MetricMeansQuery(metrics, N), GROUPS), *rows[0], *rows[1])
    for metrics in (REGRESSION[:2], *((metric,) for metric in REGRESSION[:2])):
        rows = [rows_of_a_regression(rng) for _ in range(2)]
        for X, _ in rows:
            X[:, 1] = rng.choice([-1e300, 0.0, 1.0, 2.0, 7.0], N)
        yield Example(GroupMeansQuery(MetricMeansQuery(metrics, N), GROUPS), *rows[0], *rows[1])


def crafted_group_means():
    """Metrics at ends of their ranges, in one group or in two."""
    for metrics in (REGRESSION[:2], *((metric,) for metric in REGRESSION[:2])):
        query, ends = GroupMeansQuery(MetricMeansQuery(metrics, N), GROUPS), np.array([-2.0, 6.0])
        exact, off = (np.column_stack([np.full(N, end), np.zeros(N)]) for end in ends)
        yield Example(query, exact, np.full(N, ends[0]), off, np.full(N, ends[0]))
        for other in (exact, off):
            elsewhere = np.column_stack([other[:, 0], np.full(N, 2.0)])
            yield Example(query, exact, np.full(N, ends[0]), elsewhere, np.full(N, ends[0]))


EXAMPLES = {
    GroupMeansQuery: (list(random_group_means()), list(crafted_group_means())),
    OutcomeCountsQuery: (list(random_counts()), list(crafted_counts())),
    TargetTableQuery: (list(random_tables()), list(crafted_tables())),
    MetricMeansQuery: (list(random_means()), [*crafted_means(), *crafted_events()]),
}
