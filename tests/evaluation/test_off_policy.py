"""Off-policy values are unbiased, their errors honest, and the formulas those of the textbooks."""

import numpy as np
import pandas as pd
import pytest

from skdp.evaluation import doubly_robust, inverse_propensity, self_normalised

N, K = 400, 3


def logged(seed):
    """Rewards depend on a context, and so does the rule that logged; the truth is known."""
    rng = np.random.default_rng(seed)
    x = rng.random(N)
    means = np.stack([x, 1 - x, np.full(N, 0.6)], axis=1)
    p = np.stack([0.2 + 0.4 * x, 0.5 - 0.3 * x, 0.3 - 0.1 * x], axis=1)
    arms = (rng.random(N)[:, None] > np.cumsum(p, axis=1)).sum(axis=1)
    here = np.arange(N), arms
    rewards = (rng.random(N) < means[here]).astype(float)
    chosen = means.argmax(axis=1)
    return {
        "chosen": chosen,
        "logged": arms,
        "rewards": rewards,
        "propensities": p[here],
        "means": means,
        "truth": means.max(axis=1).mean(),
    }


def value(method, log, wrong=0.0):
    args = [log[k] for k in ("chosen", "logged", "rewards", "propensities")]
    if method is not doubly_robust:
        return method(*args)
    q = log["means"] + wrong
    i = np.arange(N)
    return method(*args, estimated_chosen=q[i, log["chosen"]], estimated_logged=q[i, log["logged"]])


@pytest.mark.parametrize("method", [inverse_propensity, self_normalised, doubly_robust])
def test_estimates_are_centred_at_the_truth_with_the_error_they_state(method):
    logs = [logged(s) for s in range(200)]
    errors = [value(method, log).value - log["truth"] for log in logs]
    stated = np.mean([value(method, log).error for log in logs])
    # The truth varies with the contexts, which the stated error counts as well.
    assert abs(np.mean(errors)) < 4 * np.std(errors) / np.sqrt(200)
    assert 0.7 * stated < np.std(errors) < 1.15 * stated


def test_doubly_robust_needs_no_right_model_and_gains_from_one():
    logs = [logged(s) for s in range(200)]
    for wrong in (0.0, 0.5):
        errors = [value(doubly_robust, log, wrong).value - log["truth"] for log in logs]
        assert abs(np.mean(errors)) < 4 * np.std(errors) / np.sqrt(200)
    right = np.std([value(doubly_robust, log).value - log["truth"] for log in logs])
    plain = np.std([value(inverse_propensity, log).value - log["truth"] for log in logs])
    assert right < 0.9 * plain


def test_values_on_four_users_are_those_of_the_formulas():
    chosen, arms = ["a", "b", "a", "b"], ["a", "a", "a", "b"]
    r, p = [1.0, 5.0, 3.0, 2.0], [0.5, 0.5, 0.25, 1.0]
    weights = np.array([2.0, 0.0, 4.0, 1.0])
    got = inverse_propensity(chosen, arms, r, p)
    assert got.value == pytest.approx((2 + 12 + 2) / 4)
    assert got.effective_size == pytest.approx(49 / 21)
    assert self_normalised(chosen, arms, r, p).value == pytest.approx(16 / 7)
    q, at_logged = [1.0, 1.0, 2.0, 2.0], [1.0, 4.0, 2.0, 2.0]
    robust = doubly_robust(chosen, arms, r, p, estimated_chosen=q, estimated_logged=at_logged)
    terms = np.array(q) + weights * (np.array(r) - at_logged)
    assert robust.value == pytest.approx(terms.mean())
    assert robust.error == pytest.approx(terms.std(ddof=1) / 2)


def test_a_constant_moves_self_normalised_values_by_itself():
    log = logged(0)
    moved = log | {"rewards": log["rewards"] + 10}
    before, after = value(self_normalised, log), value(self_normalised, moved)
    assert after.value == pytest.approx(before.value + 10)
    assert after.error == pytest.approx(before.error)


def test_a_rule_that_never_agrees_has_no_evidence():
    never = ["a", "a"], ["b", "b"], [1.0, 1.0], [0.5, 0.5]
    assert inverse_propensity(*never) == (0.0, 0.0, 0.0)
    with pytest.raises(ValueError, match="agrees with the log at least once"):
        self_normalised(*never)


@pytest.mark.parametrize("p", [0.0, 1.5, 1e-60, -0.5])
def test_impossible_propensities_are_refused(p):
    with pytest.raises(ValueError, match=r"propensities in \[1e-50, 1\]"):
        inverse_propensity(["a", "a"], ["a", "a"], [1.0, 1.0], [0.5, p])


@pytest.mark.parametrize("wrong", ["987", np.nan, np.inf, 1e60, 987j, None, {}])
@pytest.mark.parametrize("where", [2, 3])
def test_what_is_no_number_is_refused_in_words_that_do_not_quote_it(where, wrong):
    log = [["a", "a"], ["a", "a"], [1.0, 1.0], [0.5, 0.5]]
    log[where][1] = wrong
    with pytest.raises(ValueError, match="need numbers of at most") as refusal:
        inverse_propensity(*log)
    assert "987" not in str(refusal.value)


def test_estimates_that_are_no_numbers_are_refused():
    log = [["a", "a"], ["a", "a"], [1.0, 1.0], [0.5, 0.5]]
    with pytest.raises(ValueError, match="for estimated_logged, none of them missing"):
        doubly_robust(*log, estimated_chosen=[1.0, 1.0], estimated_logged=["a", "b"])


def test_labels_that_cannot_be_compared_are_refused():
    missing = np.array([1, pd.NA], dtype=object)
    with pytest.raises(ValueError, match="labels that can be compared"):
        inverse_propensity(missing, missing, [1.0, 1.0], [0.5, 0.5])
    with pytest.raises(ValueError, match="one entry a user for chosen"):
        inverse_propensity([[1], [1, 2]], missing, [1.0, 1.0], [0.5, 0.5])


def test_the_rarest_pulls_count_without_overflow():
    value, error, size = inverse_propensity([1, 1], [1, 1], [1e50, 1e50], [1e-50, 1e-50])
    assert (value, error, size) == (pytest.approx(1e100), 0.0, pytest.approx(2.0))


def test_shapes_that_differ_are_refused():
    with pytest.raises(ValueError, match="two users"):
        inverse_propensity(["a"], ["a"], [1.0], [0.5])
    with pytest.raises(ValueError, match="got shapes"):
        inverse_propensity(["a", "b"], ["a", "b"], [1.0], [0.5, 0.5])
    with pytest.raises(ValueError, match="estimates of shape"):
        doubly_robust(
            ["a"] * 2, ["a"] * 2, [1] * 2, [1] * 2, estimated_chosen=[1], estimated_logged=[1]
        )
