import numpy as np
import pytest

from skdp.problem.losses import Hinge, Huber, Logistic, OneVsRest, Softmax, SquaredHinge

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


def test_bound_is_attained_where_all_classes_are_wrong_at_once():
    wrong = np.full((1, K), 5.0)
    wrong[0, 2] = -5.0
    d = OneVsRest(Hinge(), K).derivative(np.array([2]), wrong)
    np.testing.assert_allclose(np.linalg.norm(d), OneVsRest(Hinge(), K).lipschitz, rtol=1e-15)


def test_losses_with_several_scores_are_refused():
    for inner in (Softmax(3), OneVsRest(Hinge(), 3)):
        with pytest.raises(ValueError, match="OneVsRest needs a loss with one score a row"):
            OneVsRest(inner, K)


def test_constants_are_those_of_the_inner_loss():
    loss = OneVsRest(Huber(0.5), K)
    assert (loss.lipschitz, loss.smoothness, loss.convex) == (1.0, 1.0, True)
