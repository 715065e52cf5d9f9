"""Searches pass scikit-learn's own checks, as its searches do, but for those none could."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from skdp import DPLinearRegression, DPLogisticRegression
from skdp.model_selection import DPGridSearchCV, DPRandomizedSearchCV

# The checks fit to few rows with labels that they do not tell, and they set seeds.
pytestmark = [
    # Each check fits many times what fits several times.
    pytest.mark.nightly,
    pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning"),
    pytest.mark.filterwarnings("ignore:The share of the budget set aside:UserWarning"),
    pytest.mark.filterwarnings("ignore:.*compares scores whose noise:UserWarning"),
]
SEARCHES = [
    DPGridSearchCV(
        DPLogisticRegression(data_norm=10.0),
        {"C": [0.1, 1.0]},
        exhaustive=True,
        epsilon=1e3,
        random_state=0,
    ),
    DPRandomizedSearchCV(
        DPLinearRegression(data_norm=10.0, target_bounds=(-300.0, 300.0)),
        {"alpha": [0.0, 1e-3]},
        n_iter=2,
        epsilon=1e3,
        random_state=0,
    ),
]
_EQUIVALENT = "noise is calibrated to the number of rows, so a row of weight 2 is not two rows"
NOT_FOR_PRIVATE_MODELS = {
    "check_sample_weight_equivalence_on_dense_data": _EQUIVALENT,
    "check_sample_weight_equivalence_on_sparse_data": _EQUIVALENT,
    "check_all_zero_sample_weights_error": (
        "weights are part of the records; an error would tell that all are zero"
    ),
}
CHECKS = parametrize_with_checks(
    SEARCHES, expected_failed_checks=lambda search: NOT_FOR_PRIVATE_MODELS
)


# Rebuilt from a list: scikit-learn 1.6 passes a generator, of which pytest 9 warns.
@pytest.mark.parametrize(CHECKS.args[0], list(CHECKS.args[1]), **CHECKS.kwargs)
def test_scikit_learn_check_passes(estimator, check):
    check(estimator)
