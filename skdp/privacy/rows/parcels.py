"""Public content packed for workers, its large arrays apart so that each is sent only once."""

from __future__ import annotations

import pickle
from hashlib import blake2b
from typing import Any
from uuid import uuid4

__all__ = ["packed", "unpacked"]

# Buffers of fewer bytes travel with the rest.
_LARGE = 1 << 16


def packed(content: Any) -> list[tuple[str, bytes]]:
    """An object in pieces, each with a name.

    Parameters
    ----------
    content : object
        Functions that are defined anywhere, and what they refer to, can be packed.

    Returns
    -------
    list of (str, bytes)
        First the pickled object without its large arrays, under a name of its own; then the
        buffers of these, whose names follow from their content.
    """
    import cloudpickle

    large: list[tuple[str, bytes]] = []

    def travels_with_the_rest(buffer: pickle.PickleBuffer) -> bool:
        with buffer.raw() as view:
            if view.nbytes < _LARGE:
                return True
            taken = view.tobytes()
        large.append((f"skdp-array-{blake2b(taken, digest_size=20).hexdigest()}", taken))
        return False

    body = cloudpickle.dumps(content, protocol=5, buffer_callback=travels_with_the_rest)
    return [(f"skdp-content-{uuid4().hex}", body), *large]


def unpacked(pieces: list[bytes]) -> Any:
    """The object from its pieces; its large arrays are read-only views of them.

    Parameters
    ----------
    pieces : list of bytes
        In order.
    """
    return pickle.loads(pieces[0], buffers=pieces[1:])
