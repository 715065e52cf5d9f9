"""Checkpoints: the one way to take a stream along, secret state included."""

from __future__ import annotations

import os
import pickle
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Any

from sklearn.base import BaseEstimator

from ..privacy.lock import run_locked
from ..privacy.randomness import secret_pickle
from ..reporting.versions import minor_version
from ..validation import shown

# Followed by the version that wrote it: what another one keeps of a stream may differ.
_HEADER = b"skdp checkpoint of version "
_DIGEST = sha256().digest_size


def save_checkpoint(model: Any, path: str | os.PathLike[str]) -> None:
    """Move the stream of a model into a file, from where it can go on.

    Keep the file as you keep the data: it holds rows that are waiting for their block to fill, or
    exact sums that take the noise off models that are public already. It is written so that its
    owner alone can read it.

    There is one stream, and it is in one place. Two that went on from the same state would ask
    about the same rows twice, each for the whole budget, or add the same noise to different rows,
    and no receipt would tell. So the stream moves: the model that was saved predicts as before but
    cannot go on, and :func:`load_checkpoint` takes the file away. Do not copy the file.

    Parameters
    ----------
    model : estimator
        In the middle of a stream.
    path : str or path-like
        A file that does not exist yet.

    Raises
    ------
    TypeError
        If it is no model.
    ValueError
        If the model has no stream that could go on.
    FileExistsError
        If there is a file. The stream stays with the model then.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from skdp import DPLogisticRegression, load_checkpoint, save_checkpoint
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(300, 2))
    >>> y = X[:, 0] > 0
    >>> model = DPLogisticRegression(data_norm=1.5).partial_fit(X[:200], y[:200], classes=[0, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_checkpoint(model, os.path.join(folder, "stream"))
    ...     model = load_checkpoint(os.path.join(folder, "stream"))
    >>> model.partial_fit(X[200:], y[200:]).n_samples_seen_
    300
    """
    if not isinstance(model, BaseEstimator):
        raise TypeError(
            f"save_checkpoint needs a model in the middle of a stream, got {shown(model)}; pass "
            "the model first, and then the path."
        )
    run_locked(model, "save_checkpoint", _move, model, path, waits=True)


def load_checkpoint(path: str | os.PathLike[str]) -> Any:
    """Take a stream out of a file, which is removed.

    Load only files that you have written yourself: like any pickle, a file made for the purpose
    runs code when it is loaded.

    Parameters
    ----------
    path : str or path-like
        Written by :func:`save_checkpoint`.

    Returns
    -------
    estimator
        Goes on as the saved model would have, with the same noise if that was seeded. Its
        ``random_state`` is None.

    Raises
    ------
    FileNotFoundError
        If there is no file; maybe the stream has been taken out already.
    ValueError
        If the file is no checkpoint, was written by another minor version of skdp, or is damaged,
        for example cut short. It stays where it is then.
    """
    # The name is taken away first, so that of two processes one gets the stream.
    path = Path(path)
    taken = path.with_name(f"{path.name}.{token_hex(8)}.taken")
    try:
        os.rename(path, taken)
    except FileNotFoundError:
        raise FileNotFoundError(
            f"load_checkpoint needs a file of save_checkpoint, got {path}, which is not there; "
            "maybe the stream has been taken out already."
        ) from None
    try:
        content = taken.read_bytes()
        kind, state = pickle.loads(_undamaged(content, path))
        model = kind.__new__(kind)
        vars(model).update(state)
    except BaseException:
        os.rename(taken, path)
        raise
    os.unlink(taken)
    return model


_BINARY = getattr(os, "O_BINARY", 0)


def _undamaged(content: bytes, path: Path) -> bytes:
    """The pickle in a checkpoint."""
    header, _, body = content.partition(b"\n")
    if not header.startswith(_HEADER):
        raise ValueError(
            f"load_checkpoint needs a file of save_checkpoint, got {path}, which is none; pass "
            "another path."
        )
    if header != _header():
        # Somebody may have put anything there.
        written = header[len(_HEADER) :][:20].decode("ascii", "replace")
        raise ValueError(
            f"load_checkpoint needs a checkpoint of skdp {minor_version()}, got {path}, which skdp "
            f"{shown(written)} has written; go on with that version, or begin a new stream."
        )
    # Damage need not keep a pickle from loading: it may load with other noise, or a lesser spend.
    if sha256(body[_DIGEST:]).digest() != body[:_DIGEST]:
        raise ValueError(
            f"load_checkpoint needs the whole file of save_checkpoint, got {path}, which has been "
            "cut short or changed since; begin a new stream."
        )
    return body[_DIGEST:]


def _header() -> bytes:
    return _HEADER + minor_version().encode()


def _move(model: Any, path: str | os.PathLike[str]) -> None:
    session = vars(model).get("_session")
    if session is None or not session.guard.in_own_process:
        raise ValueError(
            f"save_checkpoint needs a model in the middle of a stream, got a "
            f"{type(model).__name__} that has none to go on with. Pickle it to keep its "
            "predictions."
        )
    state = vars(model) | {"random_state": None}
    content = secret_pickle((type(model), state))
    owner_only = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o600)
    secretive = model._progress.secretive
    try:
        # First, so that at no moment there is a stream in both places.
        model._progress.secretive = True
        del model._session
        with os.fdopen(owner_only, "wb") as file:
            file.write(_header() + b"\n" + sha256(content).digest())
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        with suppress(OSError):
            os.unlink(path)
        model._session, model._progress.secretive = session, secretive
        raise
