"""Sessions of bandits: sums over users of each arm, before and after noise."""

from .arm_gradients import GradientSession, SelectionSession, StepSession, best_vertices
from .arm_moments import MomentSession, joint_sensitivity
from .arm_streams import ArmStreams
from .bandit_plans import ArmMoments, Plan
from .session_factory import SESSIONS

__all__ = [
    "SESSIONS",
    "ArmMoments",
    "ArmStreams",
    "GradientSession",
    "MomentSession",
    "Plan",
    "SelectionSession",
    "StepSession",
    "best_vertices",
    "joint_sensitivity",
]
