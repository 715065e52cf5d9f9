"""Sites that hold rows of their own: oracles at the site, messages with noise, masks."""

from .remote_oracle import RemoteOracle
from .remote_rows import RemoteRows
from .site import Request, Site

__all__ = ["RemoteOracle", "RemoteRows", "Request", "Site"]
