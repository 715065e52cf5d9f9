import numpy as np

from skdp.problem.losses import Logistic, Sigmoid

Z = np.linspace(-30, 30, 61)


def test_value_is_the_probability_of_the_wrong_class():
    right = np.exp(-Logistic().value(np.ones(61), Z))
    np.testing.assert_allclose(Sigmoid().value(np.ones(61), Z), 1 - right, atol=1e-15)


def test_both_classes_are_treated_alike():
    np.testing.assert_array_equal(
        Sigmoid().value(np.zeros(61), -Z), Sigmoid().value(np.ones(61), Z)
    )
    np.testing.assert_array_equal(
        Sigmoid().derivative(np.zeros(61), -Z), -Sigmoid().derivative(np.ones(61), Z)
    )


def test_hopeless_rows_do_not_pull():
    assert abs(Sigmoid().derivative(np.ones(1), np.array([-40.0]))[0]) < 1e-15
