"""Policies of contextual bandits. The option string of each is the name of its file."""

from .base import Policy
from .blocks import BlocksPolicy
from .choices import Greedy, Preselecting, RoundRobin, Thompson
from .ftrl import FTRLPolicy
from .gd import GDPolicy
from .hdb import HDBPolicy
from .sparse import SparsePolicy

__all__ = [
    "POLICIES",
    "BlocksPolicy",
    "FTRLPolicy",
    "GDPolicy",
    "Greedy",
    "HDBPolicy",
    "Policy",
    "Preselecting",
    "RoundRobin",
    "SparsePolicy",
    "Thompson",
]

POLICIES: dict[str, type[Policy]] = {
    policy.option(): policy
    for policy in (BlocksPolicy, FTRLPolicy, GDPolicy, HDBPolicy, SparsePolicy)
}
