"""Where what bugs are planted in is found: a class where it is defined, a module by its name."""

import re
from pathlib import Path

import skdp

# Names that several files have, or that files are called by here.
_CALLED = {
    "numpy": "numpy",
    "solvers": "skdp.solvers",
    "estimators_base": "skdp.estimators.base",
    "search_base": "skdp.model_selection.base",
    "search_trials": "skdp.model_selection.trials",
    "privatize_page": "skdp.privatization.privatize",
    "transformers_base": "skdp.preprocessing.base",
    "trials": "skdp.reporting.number_of_trials",
    "Mixing": "planted_bugs.queries",
    "searches": "planted_bugs.searches",
    "queries": "skdp.privacy.queries.base",
    "rows_base": "skdp.privacy.rows.base",
    "Facts": "skdp.privatization.facts",
    "ObjectivePerturbation": "skdp.privacy.mechanisms.perturbed_objective",
    "Part": "skdp.privacy.rows.table_parts",
    "Site": "skdp.privacy.sites.site",
    "Receipt": "skdp.reporting.receipts",
    "FTRL": "skdp.solvers",
    "OneStep": "skdp.solvers",
}


def _places():
    folder, found = Path(skdp.__file__).parent, {}
    for path in folder.rglob("*.py"):
        module = ".".join(("skdp", *path.relative_to(folder).with_suffix("").parts))
        source = path.read_text(encoding="utf-8")
        for name in (path.stem, *re.findall(r"^class (\w+)", source, flags=re.MULTILINE)):
            found.setdefault(name, []).append(module)
    return {name: module for name, (module, *others) in found.items() if not others}


PLACES = _places() | _CALLED
