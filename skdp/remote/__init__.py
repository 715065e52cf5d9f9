"""Sites on machines of their own, which add their noise before anything leaves them."""

from .dask_sites import DaskSites
from .rows import Message

__all__ = ["DaskSites", "Message"]
