"""Every public estimator passes scikit-learn's own checks, but for three that none could."""

import inspect

import pytest
from by_night import each_check_once
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import (
    check_class_weight_classifiers,
    check_classifiers_train,
    check_regressors_train,
    parametrize_with_checks,
)

import skdp
from skdp import DPLinearRegression, DPLogisticRegression, DPSVMClassifier
from skdp.estimators import PrivateLinearModel

# The checks fit on data with labels and bounds that they do not tell, and they set seeds.
pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning"),
    # Bounds cannot be found privately on the few rows of the checks; that is said, too.
    pytest.mark.filterwarnings("ignore:The share of the budget set aside:UserWarning"),
    pytest.mark.filterwarnings("ignore:Many targets lie outside of target_bounds:UserWarning"),
]

EVERY_ESTIMATOR = [
    thing
    for _, thing in inspect.getmembers(skdp, inspect.isclass)
    # Bandits take actions besides rewards; tests/estimators has their checks.
    if issubclass(thing, BaseEstimator)
    and hasattr(thing, "fit")
    and thing is not skdp.DPContextualBandit
]
INSTANCES = [estimator() for estimator in EVERY_ESTIMATOR] + [
    DPLogisticRegression(epsilon=100.0, data_norm=10.0, fit_intercept=False, solver="gd"),
    DPLinearRegression(epsilon=100.0, data_norm=10.0, target_bounds=(-3.0, 3.0), loss="huber"),
]
_EQUIVALENT = (
    "a row of weight 2 is one record and a row that is there twice is two; the number of rows is "
    "public and noise is calibrated to it, so the fits have other noise (without noise they agree: "
    "tests/estimators/test_optimum.py)"
)
NOT_FOR_PRIVATE_MODELS = {
    "check_sample_weight_equivalence_on_dense_data": _EQUIVALENT,
    "check_sample_weight_equivalence_on_sparse_data": _EQUIVALENT,
    "check_all_zero_sample_weights_error": (
        "weights are part of the records; an error would tell without noise that all are zero, "
        "which differs between two data sets that differ in one record"
    ),
}
# (Instances with classes=[...] are left out because the checks use many label sets;
# tests/estimators has tests for those.)


def not_for(estimator):
    """Checks that the estimator fails."""
    seen = is_classifier(estimator) or isinstance(estimator, skdp.DPPoissonRegressor)
    if seen or getattr(estimator, "target_bounds", 0) is not None:
        return NOT_FOR_PRIVATE_MODELS
    # So few rows do not show their targets: all fits predict 0, and with all weights.
    return {c: why for c, why in NOT_FOR_PRIVATE_MODELS.items() if why is not _EQUIVALENT}


CHECKS = parametrize_with_checks(INSTANCES, expected_failed_checks=not_for)


# Rebuilt from a list: scikit-learn 1.6 passes a generator, of which pytest 9 warns.
@pytest.mark.parametrize(CHECKS.args[0], each_check_once(CHECKS.args[1]), **CHECKS.kwargs)
def test_scikit_learn_check_passes(estimator, check):
    check(estimator)


def test_every_estimator_of_the_folder_is_public():
    def family(cls):
        return {cls}.union(*map(family, cls.__subclasses__()))

    defined = {c for c in family(PrivateLinearModel) if c.__module__.startswith("skdp.")}
    assert {c for c in defined if not inspect.isabstract(c)} == set(EVERY_ESTIMATOR)


@pytest.mark.parametrize("estimator", EVERY_ESTIMATOR)
def test_tags_say_what_is_supported(estimator):
    tags = get_tags(estimator())
    assert tags.input_tags.sparse
    assert tags.target_tags.required
    assert not tags.input_tags.allow_nan
    # Reproducible once random_state is given, which is what the tag asks.
    assert not tags.non_deterministic


def accurate(kind, **options):
    """A classifier without the tag with which it leaves out the checks of accuracy."""

    def __sklearn_tags__(self):
        tags = kind.__sklearn_tags__(self)
        tags.classifier_tags.poor_score = False
        return tags

    return type("Accurate", (kind,), {"__sklearn_tags__": __sklearn_tags__})(**options)


def test_poor_score_is_due_to_few_rows_and_a_small_budget():
    # 300 rows are enough at the default budget, and the 50 rows of the check that is left out
    # without the tag are enough at epsilon = 100.
    check_classifiers_train("DPLogisticRegression", accurate(DPLogisticRegression))
    check_class_weight_classifiers(
        "DPLogisticRegression", accurate(DPLogisticRegression, epsilon=100.0)
    )
    with pytest.raises(AssertionError):
        check_class_weight_classifiers("DPLogisticRegression", accurate(DPLogisticRegression))


def test_support_vector_machine_is_accurate_on_enough_rows():
    check_classifiers_train("DPSVMClassifier", accurate(DPSVMClassifier))


@pytest.mark.parametrize("estimator", EVERY_ESTIMATOR)
def test_default_budgets_claim_a_poor_score_on_few_rows(estimator):
    tags = get_tags(estimator())
    if is_classifier(estimator()):
        assert tags.classifier_tags.poor_score
    else:
        assert tags.regressor_tags.poor_score
        # A concordance is no share of a variance.
        ranks = estimator is skdp.DPHazardRegressor
        assert get_tags(estimator(epsilon=100.0)).regressor_tags.poor_score is ranks
        check_regressors_train(estimator.__name__, estimator(epsilon=100.0))
