"""Versions of what a fit depends on."""

from __future__ import annotations

import platform
import sys
from importlib import metadata

_PACKAGES = ("skdp", "numpy", "scipy", "scikit-learn", "joblib")
# What extras bring along, and what rows may come in.
_EXTRAS = ("dask", "distributed", "dp-accounting", "matplotlib", "pandas", "polars", "skl2onnx")


def versions(packages: tuple[str, ...] = _PACKAGES) -> dict[str, str]:
    """Versions of Python and of packages; ``'not installed'`` for those that are not there."""
    found = {"python": platform.python_version()}
    for name in packages:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def minor_version() -> str:
    """First two numbers of the version of skdp, such as ``'0.1'``."""
    return ".".join(versions(("skdp",))["skdp"].split(".")[:2])


def show_versions() -> None:
    """Print versions of the system, Python, skdp and what it uses, for a report of a bug.

    Examples
    --------
    >>> import skdp
    >>> skdp.show_versions()  # doctest: +ELLIPSIS
    system: ...
    """
    lines = {"system": platform.platform(), **versions((*_PACKAGES, *_EXTRAS))}
    sys.stdout.writelines(f"{name}: {what}\n" for name, what in lines.items())
