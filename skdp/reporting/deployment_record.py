"""A report as a record for the public registry of deployments of differential privacy."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import date
from typing import Any

# Field in which only who publishes the model knows what to say.
_YOURS = "to be filled in"


def deployment_record(facts: Mapping[str, Any]) -> str:
    """Draft of a record for the registry, in JSON that is YAML by its schema.

    Parameters
    ----------
    facts : mapping
        Of a report, by the schema ``skdp.report/1``.
    """
    subject, epsilon, delta = facts["subject"], facts["epsilon"], facts["delta"]
    sites = facts["trust"] is not None and not facts["trust"].startswith("central")
    kinds = [
        f"{r['count']} x {r['query']} for {r['purpose']} ({r['mechanism']})"
        for fit in facts["fits"]
        for r in fit.get("releases", ())
    ]
    uncovered = "; ".join(facts["not_covered"])
    made = ", ".join(f"{name} {number}" for name, number in facts["versions"].items())
    deployment = {
        "basic": {
            "name": _YOURS,
            "data_curators": [_YOURS],
            "intended_use": _YOURS,
            "data_product_type": "Machine learning model",
            "data_product_region": _YOURS,
            "description": f"{subject}, a linear model. {_YOURS}",
            "publication_date": date.today().isoformat(),
        },
        "dp_variant": {
            "variant_name": "Approximate DP" if delta else "Pure DP",
            "data_domain": _YOURS,
            "unprotected_quantities": "; ".join([*facts["public"], *facts["cautions"]]),
        },
        "privacy_loss": {
            "privacy_unit": facts["unit"],
            "privacy_unit_details": facts["neighbours"],
            "privacy_parameters": {"epsilon": epsilon} | ({"delta": delta} if delta else {}),
            "privacy_parameters_details": facts["meaning"]["sentence"],
        },
        "deployment_model": {
            "model_name": "Federated" if sites else "Central",
            "actors": facts["trust"],
            "release_type": "Many releases" if facts.get("condition") else "One release",
            "data_source_type": "Dynamic" if facts.get("condition") else "Static",
            "access_type": "Non-interactive",
        },
        "accounting": {
            "post_processing": "predictions, and all else that is computed from the coefficients",
            "composition": f"by the rule {facts['rule']!r}; {facts['recompute']}",
        },
        "implementation": {
            "preprocessing_and_hyperparameter_tuning": f"not covered: {uncovered}",
            "mechanisms": "; ".join(kinds),
            "justification": _YOURS,
        },
        "administrative": {"notes": f"drafted by {made}", "registry_authors": [_YOURS]},
    }
    whole = {"url_slug": _YOURS, "status": "Draft", "tier": 3, "deployment": deployment}
    text = json.dumps(whole, indent=2, ensure_ascii=False)
    # YAML takes 1e-05 for a text, as it has no decimal point.
    return re.sub(r'^( *"\w+": \d+)e', r"\1.0e", text, flags=re.MULTILINE) + "\n"
