"""Hyperparameters of policies are checked before anything is charged."""

import numpy as np
import pytest
from sklearn.base import clone

from skdp import DPContextualBandit
from skdp.bandit.policies import BlocksPolicy, FTRLPolicy, GDPolicy, HDBPolicy, SparsePolicy
from skdp.solvers import FTRL, GD

WRONG = [
    *((BlocksPolicy, {"growth": growth}) for growth in ("2", 1.0, 1 + 1e-9)),
    (BlocksPolicy, {"exploration": None}),
    *((GDPolicy, {"steps": steps}) for steps in (2.5, 0)),
    (GDPolicy, {"clip": 1j}),
    (FTRLPolicy, {"clip": "0.1"}),
    (FTRLPolicy, {"clip": 1e-300}),
    (FTRLPolicy, {"reach": np.nan}),
    (HDBPolicy, {"forced": 1.5}),
    (HDBPolicy, {"margin": "0"}),
    (HDBPolicy, {"radius": [1.0]}),
    (HDBPolicy, {"solver": "ftrl"}),
    (HDBPolicy, {"solver": FTRL}),
    (HDBPolicy, {"solver": GD()}),
    (SparsePolicy, {"growth": np.nan}),
    (SparsePolicy, {"radius": 0}),
    (HDBPolicy, {"stream_clip": 1e-300}),
    *((kind, {"clip": 1e-300}) for kind in (GDPolicy, SparsePolicy)),
]


@pytest.mark.parametrize(("kind", "given"), WRONG)
def test_what_makes_no_sense_is_refused_by_name(kind, given):
    bandit = DPContextualBandit([0, 1], policy=kind(**given), horizon=40, feature_bound=1.0)
    X = np.eye(3)
    with pytest.raises(ValueError, match=f"'{next(iter(given))}' parameter of {kind.__name__}"):
        bandit.partial_fit(X, [0, 1, 0], [1.0, 0.0, 1.0])
    assert not hasattr(bandit, "privacy_spent_")


NAMES = {GDPolicy: "clip", HDBPolicy: "stream_clip", SparsePolicy: "clip"}


@pytest.mark.filterwarnings("ignore:DPContextualBandit has 3 users:UserWarning")
@pytest.mark.parametrize(("kind", "name"), NAMES.items())
def test_single_precision_does_not_reach_sensitivities_and_noise(kind, name):
    policy = kind(**{name: np.float32(1e-38)})
    assert type(getattr(policy, name)) is float
    assert type(getattr(policy.set_params(**{name: np.float32(1e-44)}), name)) is float
    bandit = DPContextualBandit([0, 1], policy=policy, data_norm=1.0, feature_bound=1.0)
    bandit.fit(np.eye(3), [0, 1, 0], [1.0, 0.0, 1.0])
    assert getattr(clone(bandit).policy, name) == getattr(policy, name)
    (event,) = bandit.privacy_ledger_
    assert type(event.sensitivity) is type(event.noise_scale) is float
