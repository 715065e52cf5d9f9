"""What has to hold whatever is passed in."""

import traceback
import warnings
from math import inf, isfinite, isnan

import numpy as np
import scipy.sparse as sp
from fuzzing.inputs import DIGITS
from sklearn.exceptions import NotFittedError

from skdp import BudgetExceededError

DOCUMENTED = (ValueError, TypeError, BudgetExceededError, NotFittedError)
# Kinds of the documented ones that only an accident raises.
ACCIDENTS = (np.linalg.LinAlgError, IndexError, UnicodeError)


class Defect(AssertionError):
    """A property that does not hold."""


def require(holds, what):
    """Raise a defect unless the property holds."""
    if not holds:
        raise Defect(what)


def attempt(call, *given, also=(), **named):
    """The outcome of a call, or None after a documented refusal.

    Checks that nothing but documented exceptions comes out, that neither errors nor warnings quote
    data, and that no numerical accident warns.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        out = failure = None
        try:
            out = call(*given, **named)
        except (*DOCUMENTED, *also) as error:
            failure = error
            require(not isinstance(error, ACCIDENTS), f"raised {error!r}")
            texts = traceback.TracebackException.from_exception(error)
            while texts is not None:
                said = "\n".join(texts.format_exception_only())
                require(DIGITS not in said, f"quotes data: {type(error).__name__}: {said}")
                texts = texts.__cause__ or (
                    None if texts.__suppress_context__ else texts.__context__
                )
    for warning in caught:
        said = str(warning.message)
        require(DIGITS not in said, f"a warning quotes data: {said}")
        accident = issubclass(warning.category, RuntimeWarning)
        require(not accident, f"warned: {said} ({warning.filename}:{warning.lineno})")
    return out, failure


def check_receipt(estimator, ledgers):
    """Figures are numbers, within the budget, and at least what was charged."""
    charged = [ledger.spent() for ledger in ledgers]
    spent = vars(estimator).get("privacy_spent_")
    if spent is None:
        require(not charged, "charged without a receipt")
        return
    epsilon, delta = spent
    require(not isnan(epsilon) and epsilon >= 0, f"spent epsilon={epsilon}")
    require(0 <= delta < 1, f"spent delta={delta}")
    require(not hasattr(estimator, "epsilon") or epsilon <= estimator.epsilon, "above the budget")
    require(not delta or delta <= getattr(estimator, "delta_", 1), "above delta")
    for one in charged:
        require(epsilon >= one.epsilon, f"reports {epsilon} but was charged {one.epsilon}")
    for event in estimator.privacy_ledger_:
        noisy = event.noise_scale > 0 or epsilon == inf
        require(event.count >= 1 and noisy, f"impossible event {event}")


def check_untouched(estimator, before, failure):
    """After a failure there is the model of before with its receipt, or none with a new one."""
    after = vars(estimator)
    for name in ("coef_", "_rule", "mean_", "scale_", "min_", "best_estimator_"):
        if name in after:
            require(
                name in before and after[name] is before[name],
                f"{name} beside a failure: {failure!r}",
            )
            require(
                after.get("privacy_spent_") == before.get("privacy_spent_"),
                f"{name} beside another receipt: {failure!r}",
            )


def check_numbers(values, what, *, missing=False):
    """All finite, but for missing ones where there may be some."""
    values = values.data if sp.issparse(values) else np.asarray(values)
    if values.dtype.kind == "f":
        fine = np.isfinite(values) | (missing & np.isnan(values))
        require(bool(fine.all()), f"{what} is not finite")


def check_amount(value, what, most=inf):
    """A privacy figure."""
    require(not isnan(value) and 0 <= value <= most, f"{what} is {value}")
    return value


def number(value):
    """Whether it is a finite real number."""
    try:
        return isfinite(value)
    except (TypeError, ValueError, OverflowError):
        return False
