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


def test_derivative_sums_to_zero_over_classes():
    z, y = 10 * np.random.default_rng(0).normal(size=(20, 5)), np.arange(20) % 5
    np.testing.assert_allclose(Softmax(5).derivative(y, z).sum(axis=1), 0, atol=1e-15)
