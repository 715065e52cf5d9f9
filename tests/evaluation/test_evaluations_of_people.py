"""Scores that protect all test rows of a person."""

import re

import numpy as np
import pytest
from models_that_misbehave import Fixed, Numbers
from planted_bugs.kinds import groups_of_another_length_tell_no_number_of_rows

import skdp
from skdp import DPLogisticRegression

PEOPLE = 120


def people(seed=0):
    """Test rows of people who are right more rarely the more rows they have."""
    rng = np.random.default_rng(seed)
    sizes = rng.choice([1, 2, 5, 20], PEOPLE)
    labels = np.repeat(np.arange(PEOPLE), sizes)
    X = rng.normal(size=(len(labels), 2))
    noise = rng.normal(size=len(labels)) * 0.3 * sizes[labels] ** 0.5
    return X, (X[:, 0] + noise > 0).astype(int), labels


def of_people(values, labels):
    return np.mean([values[labels == k].mean() for k in range(PEOPLE)])


def evaluated(X, y, labels, fitted=None, **options):
    options = {"epsilon": 1e6, "delta": 1e-5, "public_model": True} | options
    return skdp.evaluate(fitted or Fixed(), X, y, privacy_unit=labels, **options)


def test_scores_are_those_of_a_row_of_a_person_picked_at_random():
    X, y, labels = people()
    fitted = Fixed()
    right, loss = fitted.predict(X) == y, -np.log(fitted.predict_proba(X)[np.arange(len(y)), y])
    found = evaluated(X, y, labels, metrics=["accuracy", "log_loss"], classes=[0, 1])
    assert found.scores["accuracy"].value == pytest.approx(of_people(right, labels), abs=1e-3)
    assert found.scores["log_loss"].value == pytest.approx(of_people(loss, labels), abs=1e-3)
    assert abs(right.mean() - of_people(right, labels)) > 0.02
    assert found.n_samples == PEOPLE
    assert found.privacy_unit_ == "privacy_unit"
    assert "120 privacy units of test rows" in found.summary()
    assert not re.search(rf"\b{len(y)}\b", repr(vars(found)) + found.summary())
    assert skdp.report(found).facts["unit"] == "all rows of one privacy unit together"


@pytest.mark.nightly
def test_intervals_hold_for_people_whose_rows_are_alike():
    inside = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        labels = np.repeat(np.arange(PEOPLE), rng.choice([1, 5], PEOPLE))
        # All rows of a person are the same.
        X = rng.normal(size=(PEOPLE, 2))[labels]
        y = (X[:, 0] > rng.normal(size=PEOPLE)[labels]).astype(int)
        found = evaluated(X, y, labels, metrics=["accuracy"], epsilon=4.0).scores["accuracy"]
        inside += found.low <= 0.75 <= found.high
    # Of 95 % intervals; 13 or fewer come once in 30,000 runs.
    assert inside > 13


def test_regressions_are_scored_by_people():
    X, _, labels = people()
    y = X[:, 0] + np.where(np.bincount(labels)[labels] == 20, 1.0, 0.0)
    fitted = Numbers()
    expected = of_people((y - fitted.predict(X)) ** 2, labels)
    options = {"metrics": ["mean_squared_error"], "target_bounds": (-6.0, 6.0)}
    found = evaluated(X, y, labels, fitted, **options, residual_bound=6.0)
    assert found.scores["mean_squared_error"].value == pytest.approx(expected, abs=0.01)


@pytest.mark.filterwarnings("ignore:evaluate was given rows that the model was fitted to")
def test_one_total_of_a_model_and_its_evaluation():
    X, y, labels = people()
    private = DPLogisticRegression(classes=[0, 1], data_norm=3.0).fit(X, y, privacy_unit=labels)
    X, y, labels = X[:150], y[:150], labels[:150]
    options = {"epsilon": 30.0, "metrics": ["accuracy"]}
    scored = skdp.evaluate(private, X, y, **options, privacy_unit=labels)
    assert skdp.privacy_spent([private, scored]).unit == "privacy_unit"
    of_rows = skdp.evaluate(private, X, y, **options)
    with pytest.raises(ValueError, match="one privacy unit"):
        skdp.privacy_spent([private, of_rows])


def test_malformed_targets_are_refused_without_saying_how_many_rows_there_are():
    X, y, labels = people()
    regression = {"fitted": Numbers(), "target_bounds": (-1, 1)}
    for wrong, options in ((y.astype(str), regression), (y[:, None][:, :0], {})):
        with pytest.raises(ValueError, match=r"need|required") as refused:
            evaluated(X, wrong, labels, **options)
        assert str(len(y)) not in str(refused.value)


@pytest.mark.nightly
def test_gaps_between_groups_that_share_people_are_within_wider_intervals():
    inside = within = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        # Each person has a row in either group, and the model is right about one of them.
        labels, groups = np.repeat(np.arange(PEOPLE), 2), np.tile(["a", "b"], PEOPLE)
        right_in_a = rng.random(PEOPLE) < 0.5
        right = np.where(groups == "a", right_in_a[labels], ~right_in_a[labels])
        X = rng.normal(size=(2 * PEOPLE, 2))
        y = np.where(right, X[:, 0] > 0, X[:, 0] <= 0).astype(int)
        options = {"groups": groups, "group_values": ["a", "b"], "metrics": ["accuracy"]}
        gap = evaluated(X, y, labels, **options).difference("accuracy", "a", "b")
        far = np.sqrt(2) * np.array([gap.low - gap.value, gap.high - gap.value])
        inside += gap.low <= 0 <= gap.high
        within += gap.value + far[0] <= 0 <= gap.value + far[1]
    # Of intervals at 95 %, which the wider ones are; 30 or fewer come once in 10^5 runs.
    assert within > 30
    assert inside < within


def test_groups_of_another_length_are_refused_without_a_number_of_rows():
    groups_of_another_length_tell_no_number_of_rows()
