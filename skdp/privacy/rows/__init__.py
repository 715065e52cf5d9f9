"""Row stores. Public here: :class:`Chunks`, for data that do not fit in memory."""

from .chunked import Chunks

__all__ = ["Chunks"]
