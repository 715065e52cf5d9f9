"""Sessions of streams: running sums over rows that arrive one after another."""

from .stream import Stream
from .stream_plan import StreamPlan, StreamRequest
from .stream_session import StreamedRows, StreamOpening, StreamSession
from .visits import CallOfUnits, Visits, epsilon_of_share

__all__ = [
    "CallOfUnits",
    "Stream",
    "StreamOpening",
    "StreamPlan",
    "StreamRequest",
    "StreamSession",
    "StreamedRows",
    "Visits",
    "epsilon_of_share",
]
