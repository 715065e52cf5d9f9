"""Estimators that stay under a ceiling wherever their copies go."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from .ceiling import RUN, TOKENS, tokens_of, valid_tokens

__all__ = ["CarriesBudgets"]


class CarriesBudgets(BaseEstimator):
    """First base class of every estimator that spends a privacy budget.

    Clones, copies and pickles that are made while a :class:`skdp.PrivacyBudget` is open carry its
    token, a name of its book and no secret, so that fits of theirs in another process are charged.
    Without one there is nothing to carry. A copy that goes on with a stream is another run.
    """

    # Whether the set of classes was read off the targets, which no receipt covers.
    _read_classes: bool = False

    @property
    def _always_dense(self) -> bool:
        """Tell whether a transformer returns dense columns whatever it is given."""
        return False

    def __getstate__(self) -> Any:
        state = {k: v for k, v in super().__getstate__().items() if k not in (RUN, TOKENS)}
        tokens = tokens_of(self)
        return state | {TOKENS: tokens} if tokens else state

    def __setstate__(self, state: dict[str, Any]) -> None:
        tokens = valid_tokens(state.get(TOKENS, ()))
        rest = {name: value for name, value in state.items() if name != TOKENS}
        super().__setstate__(rest | {TOKENS: tokens} if tokens else rest)

    def __sklearn_clone__(self) -> Any:
        copy = super().__sklearn_clone__()
        tokens = tokens_of(self)
        if tokens:
            setattr(copy, TOKENS, tokens)
        return copy
