import numpy as np

from skdp.problem.losses import Logistic, Softmax


def test_two_classes_with_one_score_fixed_are_the_logistic_loss():
    z, y = np.linspace(-40, 40, 33), np.arange(33) % 2
    both = np.column_stack([np.zeros(33), z])
    np.testing.assert_allclose(
        Softmax(2).value(y, both), Logistic().value(y, z), rtol=1e-12, atol=1e-16
    )
    np.testing.assert_allclose(
        Softmax(2).derivative(y, both)[:, 1], Logistic().derivative(y, z), rtol=1e-12, atol=1e-16
    )


def test_common_shift_of_the_scores_changes_nothing():
    z, y = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 3
    np.testing.assert_allclose(Softmax(3).value(y, z + 7), Softmax(3).value(y, z), rtol=1e-12)
    np.testing.assert_allclose(
        Softmax(3).derivative(y, z + 7), Softmax(3).derivative(y, z), rtol=1e-12, atol=1e-15
    )


def test_derivative_sums_to_zero_over_classes():
    z, y = 10 * np.random.default_rng(0).normal(size=(20, 5)), np.arange(20) % 5
    np.testing.assert_allclose(Softmax(5).derivative(y, z).sum(axis=1), 0, atol=1e-15)


def test_even_scores_cost_the_logarithm_of_the_number_of_classes():
    np.testing.assert_allclose(Softmax(4).value(np.arange(4.0), np.zeros((4, 4))), np.log(4))
