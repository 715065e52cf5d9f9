"""Sessions of bandits: sums over users of each arm, before and after noise."""

from .arm_gradients import StepSession, best_vertices
from .arm_moments import joint_sensitivity
from .arm_streams import ArmStreams
from .bandit_plans import ArmMoments, Plan
from .base import ArmSession
from .session_factory import SESSIONS

__all__ = [
    "SESSIONS",
    "ArmMoments",
    "ArmSession",
    "ArmStreams",
    "Plan",
    "StepSession",
    "best_vertices",
    "joint_sensitivity",
]
