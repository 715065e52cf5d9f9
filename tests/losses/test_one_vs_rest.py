import numpy as np
import pytest

from skdp.problem.losses import Hinge, Logistic, OneVsRest, Softmax, SquaredHinge

K = 4
Y = np.arange(40) % K
Z = 2 * np.random.default_rng(0).normal(size=(40, K))


@pytest.mark.parametrize("inner", [Hinge(), Logistic(), SquaredHinge()], ids=str)
def test_each_class_is_a_query_of_its_own(inner):
    loss = OneVsRest(inner, K)
    columns = [(k == Y).astype(float) for k in range(K)]
    np.testing.assert_allclose(
        loss.value(Y, Z), sum(inner.value(y, z) for y, z in zip(columns, Z.T, strict=True))
    )
    np.testing.assert_array_equal(
        loss.derivative(Y, Z).T,
        [inner.derivative(y, z) for y, z in zip(columns, Z.T, strict=True)],
    )


def test_losses_with_several_scores_are_refused():
    for inner in (Softmax(3), OneVsRest(Hinge(), 3)):
        with pytest.raises(ValueError, match="OneVsRest needs a loss with one score a row"):
            OneVsRest(inner, K)
