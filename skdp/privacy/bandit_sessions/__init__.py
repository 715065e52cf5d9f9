"""Sessions of bandits: sums over users of each arm, before and after noise."""

from .arm_session import ArmSession, best_vertices, joint_sensitivity
from .bandit_plans import ArmMoments, Plan

__all__ = ["ArmMoments", "ArmSession", "Plan", "best_vertices", "joint_sensitivity"]
