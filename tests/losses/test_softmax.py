import numpy as np
import pytest

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


@pytest.mark.parametrize("K", [3, 8, 9, 20])
def test_a_row_by_itself_is_as_among_others_to_the_last_bit(K):
    """From eight numbers on numpy adds up those that lie side by side in pairs."""
    loss, rng = Softmax(K), np.random.default_rng(K)
    z, y = rng.normal(size=(60, K)), rng.integers(K, size=60)
    rows = [slice(i, i + 1) for i in range(60)]
    for of in (loss.derivative, loss.value, lambda y, z: loss.worst_derivative(z)):
        one_by_one = np.concatenate([of(y[i], z[i]) for i in rows])
        np.testing.assert_array_equal(one_by_one, of(y, z))
