"""Sessions of bandits: sums over users of each arm, before and after noise."""

from .arm_moments import joint_sensitivity
from .arm_streams import ArmStreams
from .bandit_plans import GradientPlan, MomentPlan, SelectionPlan, StepPlan, StreamsPlan
from .noisy_steps import StepSession
from .noisy_vertices import best_vertices
from .session_factory import SESSIONS

__all__ = [
    "SESSIONS",
    "ArmStreams",
    "GradientPlan",
    "MomentPlan",
    "SelectionPlan",
    "StepPlan",
    "StepSession",
    "StreamsPlan",
    "best_vertices",
    "joint_sensitivity",
]
