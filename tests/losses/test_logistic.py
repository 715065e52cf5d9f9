import numpy as np

from skdp.problem.losses import Logistic


def test_value_is_minus_the_log_likelihood():
    z = np.linspace(-5, 5, 11)
    p = 1 / (1 + np.exp(-z))
    np.testing.assert_allclose(Logistic().value(np.ones(11), z), -np.log(p), rtol=1e-12)
    np.testing.assert_allclose(Logistic().value(np.zeros(11), z), -np.log(1 - p), rtol=1e-12)


def test_classes_are_exchanged_by_the_sign_of_the_score():
    z = np.linspace(-50, 50, 21)
    y = np.arange(21) % 2
    np.testing.assert_array_equal(Logistic().value(y, z), Logistic().value(1 - y, -z))
    np.testing.assert_allclose(
        Logistic().derivative(y, z), -Logistic().derivative(1 - y, -z), atol=1e-15
    )


def test_confident_and_right_score_keeps_relative_precision():
    # log(1 + e^-50) is e^-50 up to a relative error of e^-50 / 2.
    np.testing.assert_allclose(
        Logistic().value(np.array([1.0, 0.0]), np.array([50.0, -50.0])), np.exp(-50.0), rtol=1e-14
    )
