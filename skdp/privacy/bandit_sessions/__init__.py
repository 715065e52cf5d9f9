"""Sessions of bandits: sums over users of each arm, before and after noise."""

from .arm_moments import MomentSession, joint_sensitivity
from .arm_streams import ArmStreams
from .bandit_plans import ArmMoments, Plan
from .noisy_steps import StepSession
from .noisy_vertices import best_vertices
from .session_factory import SESSIONS

__all__ = [
    "SESSIONS",
    "ArmMoments",
    "ArmStreams",
    "MomentSession",
    "Plan",
    "StepSession",
    "best_vertices",
    "joint_sensitivity",
]
