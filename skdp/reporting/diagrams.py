"""Diagrams of estimators in notebooks: scikit-learn's, with the budget, the solver and a link."""

from __future__ import annotations

import sys
from functools import cache
from importlib import metadata
from typing import Any
from urllib.parse import urlsplit

from ..validation import shown

try:
    from sklearn.utils._repr_html.estimator import _VisualBlock
except ImportError:  # Before version 1.7.
    from sklearn.utils._estimator_html_repr import _VisualBlock

_LABEL = "Documentation"


@cache
def documentation() -> str:
    """Address of the documentation, as the installed package states it.

    Empty if it states none, or one in a domain that is kept for examples, as before a release.
    """
    try:
        stated = metadata.metadata("skdp").get_all("Project-URL") or []
    except metadata.PackageNotFoundError:
        return ""
    links = dict(line.split(", ", 1) for line in stated if ", " in line)
    address = links.get(_LABEL, "")
    return "" if (urlsplit(address).hostname or "").endswith(".example") else address


class DiagramMixin:
    """Mixin that lets the HTML of an estimator say what it spends, and by which solver.

    It follows scikit-learn's own, whose diagrams link to the documentation by ``_doc_link_module``
    and ``_doc_link_template``.
    """

    _doc_link_module = "skdp"

    @property
    def _doc_link_template(self) -> str:
        if not (address := documentation()):
            return ""
        page = f"{address.rstrip('/')}/reference/api/{_public_name(type(self))}.html"
        # There is nothing to fill in.
        return page.replace("{", "{{").replace("}", "}}")

    def _sk_visual_block_(self) -> Any:
        inner = getattr(self, "best_estimator_", getattr(self, "estimator", None))
        if inner is None:
            name, details = type(self).__name__, str(self)
            facts: dict[str, Any] = {"names": name, "name_details": details}
            return _VisualBlock("single", self, name_caption=_caption(self), **facts)
        key = "best_estimator_" if hasattr(self, "best_estimator_") else "estimator"
        names = [f"{key}: {type(inner).__name__}, {_caption(self)}"]
        return _VisualBlock("parallel", [inner], names=names, name_details=[str(inner)])


def _public_name(kind: type) -> str:
    """Name under which the reference lists a class: of the package, or else of its folder."""
    package, folder = kind.__module__.split(".")[:2]
    if getattr(sys.modules[package], kind.__name__, None) is kind:
        return f"{package}.{kind.__name__}"
    return f"{package}.{folder}.{kind.__name__}"


def _caption(model: Any) -> str:
    """Budget or spend, and solver, in a few words."""
    given, spent = model.get_params(deep=False), getattr(model, "privacy_spent_", None)
    plan = getattr(model, "plan_", None)
    words = []
    if spent is not None:
        words.append(f"spent epsilon {spent.epsilon:.4g} at delta {spent.delta:.2g}")
    elif "epsilon" in given:
        delta = given.get("delta")
        slack = "by the number of rows" if delta is None else shown(delta)
        words.append(f"epsilon {shown(given['epsilon'])}, delta {slack}")
    else:
        words.append("spends nothing")
    if plan is not None:
        words.append(f"solver {type(plan.solver).__name__}")
    elif "solver" in given:
        words.append(f"solver {shown(given['solver'])}")
    return "; ".join(words)
