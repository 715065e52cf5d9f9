"""Privacy bugs to be planted in the sources, each with the tests that have to catch it."""

from __future__ import annotations

from mutations.accounts import ACCOUNTS
from mutations.newer import NEWER
from mutations.noise import NOISE
from mutations.publications import PUBLICATIONS
from mutations.sensitivities import SENSITIVITIES

__all__ = ["MUTATIONS"]

MUTATIONS = (*NOISE, *SENSITIVITIES, *ACCOUNTS, *PUBLICATIONS, *NEWER)
