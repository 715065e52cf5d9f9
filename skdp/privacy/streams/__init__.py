"""Sessions of streams: running sums over rows that arrive one after another."""

from .stream import Stream
from .stream_plan import StreamPlan, StreamRequest
from .stream_session import StreamedRows, StreamOpening, StreamSession
from .visits import Call, Visits, epsilon_of_share

__all__ = [
    "Call",
    "Stream",
    "StreamOpening",
    "StreamPlan",
    "StreamRequest",
    "StreamSession",
    "StreamedRows",
    "Visits",
    "epsilon_of_share",
]
