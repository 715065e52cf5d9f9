"""Reports on what fitted models have released, to be read, filed, and recomputed by others."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from math import ceil, exp, inf, isfinite, isinf, sqrt
from typing import Any, final

import numpy as np
from scipy.special import ndtr, ndtri

from ..privacy.accounting.events import Event, GaussianEvent, Part, Site, SiteGaussianEvent
from ..privacy.accounting.ledger import PrivacySpent
from ..privacy.adjacency import Adjacency, PrivacyUnit
from ..validation import shown
from .budget_warnings import LARGEST_EPSILON
from .composition import RULES, common_adjacency, compose, follows, rule_of
from .deployment_record import deployment_record
from .privacy_budget import PrivacyBudget
from .privacy_ledger import NEW_ROWS, of_stream, releases, times
from .receipts import Receipt
from .total import Found, check_subjects
from .versions import versions

SCHEMA = "skdp.report/1"
# Share of false alarms at which the power of a test is told.
_ALARMS = 0.05
_NEIGHBOURS = {
    "replace_one": "data sets that differ in one row, replaced by any other; n is public",
    "zero_out": "data sets of which one leaves a row out of all sums; n is public",
}
_OF_UNITS = {
    "replace_one": (
        "data sets that differ in all rows of one privacy unit, replaced by any number of others; "
        "the number of units is public, and that of rows is not"
    ),
    "zero_out": (
        "data sets of which one leaves all rows of a privacy unit out of all sums; the number of "
        "units is public, and that of rows is not"
    ),
}
_TRUST = {
    "local": "local at each site: noise is added there before anything leaves it",
    "pairwise": "sites hide their noisy messages from each other by secret masks in pairs",
    "secure_sum": "sites add noise, and only the sum of their messages is seen",
    "final_model": "sites trust each other, and publish the final model alone",
    "central": "sites trust an aggregator, which adds the noise",
}
_CENTRAL = "central: whoever runs the fit sees the rows, and adds the noise"
_NO_TRUST = "none: answers were released without noise"
_NOT_COVERED = (
    (
        "a person with k rows, who is protected k times less well; rows that are passed in again "
        "are further rows"
    ),
    "rows that predictions are made for; scores and plots that are computed from rows",
    "other releases about the same rows than those listed here",
    "parameters and bounds that were chosen by looking at rows",
    "whether data are valid, which errors tell, and running time",
)
_IN_SEVERAL = "a person who is in several privacy units"
_ALL_ROWS = "all rows of one privacy unit together"
# Parameters that are facts about rows, which the guarantee takes to be public.
_FACTS = (
    *("classes", "data_norm", "data_bounds", "bounds", "target_bounds", "feature_bound"),
    *("norm", "arms", "reward_bounds", "horizon", "categories", "vocabulary", "fill_value"),
    "knots",
)
# Entries of an array up to which it is written out.
_WRITTEN = 100
_OF_RELEASES = "purpose", "query", "mechanism", "count", "parts"
_RECOMPUTE = "give its JSON to examples/recompute_report.py, which needs nothing but Python"


@dataclass(frozen=True)
class _Section:
    """A part of a report.

    Parameters
    ----------
    title : str
        Heading.
    items : sequence of str or pair of str
        Sentences, or names with what there is to say of them.
    rows : sequence of tuple of str
        Table below, its first row the head; empty for none.
    """

    title: str
    items: Sequence[str | tuple[str, str]]
    rows: Sequence[tuple[str, ...]] = field(default=())


@final
@dataclass(frozen=True)
class PrivacyReport:
    """Answers to what an assessor or a registry asks of a private release.

    Made by :func:`skdp.report`. Print it for text, show it in a notebook for a table, or file the
    JSON, whose schema is on the page "Reports". It holds public facts and receipts and nothing
    else: no rows, no noise and no model.

    Parameters
    ----------
    facts : dict
        What :meth:`to_dict` returns a copy of.
    """

    facts: dict[str, Any]

    @property
    def spent(self) -> PrivacySpent:
        """The total as a pair; infinite if it is not known."""
        epsilon = self.facts["epsilon"]
        return PrivacySpent(inf if epsilon is None else float(epsilon), float(self.facts["delta"]))

    def to_dict(self) -> dict[str, Any]:
        """All facts as dictionaries, lists, texts and numbers, by the schema ``skdp.report/1``."""
        return deepcopy(self.facts)

    def to_json(self, *, indent: int | None = 1) -> str:
        """The facts as JSON.

        Parameters
        ----------
        indent : int, optional
            Spaces a level; None for a single line.

        Returns
        -------
        str
            Standard JSON: numbers that are not finite are texts, ``"inf"``.
        """
        return json.dumps(self.facts, indent=indent, ensure_ascii=False, allow_nan=False)

    def to_markdown(self) -> str:
        """The report as Markdown, for a page of documentation or a model card."""
        title = f"Privacy report: {self.facts['subject']}"
        return _as_markdown(title, self.facts["summary"], self._sections())

    def to_deployment_record(self) -> str:
        """Draft of a record for the public registry of deployments (registry.opendp.org), in YAML.

        It has what a receipt tells, in all three tiers of the registry's schema; what only the
        publisher knows is marked "to be filled in".

        Raises
        ------
        ValueError
            If there is no finite total to be registered.
        """
        if self.facts["state"] == "fitted" and not isinf(self.spent.epsilon):
            return deployment_record(self.facts)
        raise ValueError(
            "PrivacyReport needs a total for a record of the deployment, got "
            f"'{self.facts['summary']}'. Mend what it names first."
        )

    def __str__(self) -> str:
        return self.to_markdown()

    def __repr__(self) -> str:
        return f"<PrivacyReport of {self.facts['subject']}: {self.facts['summary']}>"

    def _repr_markdown_(self) -> str:
        return self.to_markdown()

    def _sections(self) -> list[_Section]:
        facts = self.facts
        if facts["state"] == "not_fitted":
            return []
        rows = "of each fit, see below" if facts["n_samples"] is None else f"{facts['n_samples']:,}"
        declared = facts["unit"] == _ALL_ROWS
        promise = [
            ("bound", _bound(facts["epsilon"], facts["delta"])),
            ("in words", facts["meaning"]["sentence"]),
            ("protected", facts["unit"]),
            ("neighbours", facts["neighbours"]),
            *([("holds if", facts["condition"])] if facts.get("condition") else []),
            ("privacy units" if declared else "rows", f"{rows} (public)"),
            *([] if facts["trust"] == _NO_TRUST else [("trust", facts["trust"])]),
            ("added up", RULES[facts["rule"]]),
        ]
        sections = [_Section("What is promised", promise)]
        sections += [_section(fit) for fit in facts["fits"]]
        sections.append(_Section("Taken to be public", facts["public"]))
        sections.append(_Section("Leaks and cautions", facts["cautions"] or ["none known"]))
        sections.append(_Section("Not covered", facts["not_covered"]))
        used = ", ".join(f"{name} {number}" for name, number in facts["versions"].items())
        sections.append(_Section("To check it", [facts["recompute"], f"made with {used}"]))
        return sections


def report(subject: Any, *, delta: float | None = None) -> PrivacyReport:
    """Report on what a fitted model, pipeline, search or privacy budget has released.

    It follows what NIST SP 800-226 and registries of deployments ask: what is protected, by how
    much, what that means, by which releases, whom it trusts, what was public, what leaked, and what
    is not covered. All of it is from receipts, parameters and public facts; nothing is released.

    Parameters
    ----------
    subject : estimator, list or tuple of estimators, or PrivacyBudget
        Fitted; if several, on the same rows.
    delta : float, optional
        At which delta the total is wanted; by default as for :func:`skdp.privacy_spent`.

    Returns
    -------
    PrivacyReport
        With ``str``, ``to_markdown``, ``to_dict`` and ``to_json``. Where a part has read rows
        without a receipt the total is not known, and the report says why. Of what is not fitted
        it says so.

    Raises
    ------
    TypeError
        If the subject holds something that is no estimator.

    Examples
    --------
    >>> import numpy as np
    >>> import skdp
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(500, 2))
    >>> model = skdp.DPLogisticRegression(epsilon=0.5, classes=[0, 1], data_norm=1.5)
    >>> skdp.report(model.fit(X, X[:, 0] > 0))
    <PrivacyReport of DPLogisticRegression: epsilon = 0.5 at delta = 1e-05, replace_one>
    """
    if isinstance(subject, PrivacyBudget):
        return PrivacyReport(_of_budget(subject))
    check_subjects("report", subject, ", several of them or a PrivacyBudget")
    return PrivacyReport(_of_fits(subject, delta))


def _of_fits(subject: Any, delta: float | None) -> dict[str, Any]:
    found = Found.of(subject)
    name = "several models" if isinstance(subject, list | tuple) else type(subject).__name__
    receipts = found.spending
    if found.unfitted and not receipts:
        return _not_fitted(name, subject, found)
    relation, total = common_adjacency(receipts), found.total(delta)
    fits = [_of_fit(one, found.models[one.who.split(", ")[0]], relation) for one in receipts]
    return _facts(name, fits, [one.under(relation) for one in receipts], total, relation, found)


def _facts(
    name: str,
    fits: list[dict[str, Any]],
    receipts: Sequence[Receipt],
    total: PrivacySpent,
    relation: Adjacency,
    found: Found,
) -> dict[str, Any]:
    sizes = {fit["n_samples"] for fit in fits if fit["n_samples"] is not None}
    n_samples = sizes.pop() if len(sizes) == 1 else None
    events = [event for receipt in receipts for event in receipt.events]
    rule = "stated" if found.refused else rule_of(receipts, total)
    price = sum(receipt.gaussian_price() for receipt in receipts) if rule == "gaussian" else None
    summary = f"epsilon = {total.epsilon:.4g} at delta = {total.delta:.2g}, {relation.value}"
    if found.refused:
        why = "a part has read rows without a receipt"
        if found.refused == found.unfitted:
            why = f"{'; '.join(found.unfitted)}. What is fitted amounts to {summary}"
        summary = f"the total is not known, because {why}"
    ended = not found.unfitted and all(fit["published"] for fit in fits)
    models = list(found.models.values())
    bandits = models and all(hasattr(model, "arms_") for model in models)
    unit = "one row" if not bandits else "one user of the bandit, from all others together"
    # Of fits with different units no total is known.
    if {receipt.unit for receipt in receipts} == {PrivacyUnit.DECLARED}:
        unit = _ALL_ROWS
    filed = _filed(
        (name, "fitted" if ended else "incomplete", summary),
        PrivacySpent(inf, total.delta) if found.refused else total,
        (relation, unit),
        price,
        condition=NEW_ROWS if any(map(_streams, models)) or of_stream(events) else None,
        n_samples=n_samples,
        rule=rule,
        trust=_trust(events),
        fits=fits,
        public=_public(found),
        cautions=[*found.refused, *found.leaks, *_cautions(total, n_samples, fits)],
    )
    if rule == "stated":
        filed["recompute"] += ": skdp.privacy_spent"
    return filed | ({"epsilon": None} if found.refused else {})


def _filed(
    head: tuple[str, str, str],
    total: PrivacySpent,
    promise: tuple[Adjacency, str],
    price: float | None,
    **facts: Any,
) -> dict[str, Any]:
    """All that a report holds: subject, state and summary, what is promised, and these facts."""
    (subject, state, summary), (relation, unit) = head, promise
    return {
        "schema": SCHEMA,
        "subject": subject,
        "state": state,
        "summary": summary,
        "epsilon": _number(total.epsilon),
        "delta": _number(total.delta),
        "adjacency": relation.value,
        "unit": unit,
        "neighbours": (_OF_UNITS if unit == _ALL_ROWS else _NEIGHBOURS)[relation.value],
        "meaning": _meaning(total, price, relation, unit),
        **facts,
        # In the words of the unit.
        "not_covered": [_IN_SEVERAL if unit == _ALL_ROWS else _NOT_COVERED[0], *_NOT_COVERED[1:]],
        "versions": versions(),
        "recompute": _RECOMPUTE if facts["rule"] != "stated" else RULES["stated"],
    }


def _not_fitted(name: str, subject: Any, found: Found) -> dict[str, Any]:
    epsilon, delta = getattr(subject, "epsilon", None), getattr(subject, "delta", None)
    # Nothing is known of other parts, which may have read rows.
    known = found.refused == found.unfitted
    summary = f"{'; '.join(found.refused)}: nothing was released that could be reported"
    if epsilon is not None:
        slack = "that goes by the number of rows" if delta is None else f"= {shown(delta)}"
        summary += (
            f"; a fit may spend epsilon = {shown(epsilon)} at {'a ' * (delta is None)}delta {slack}"
        )
    return {
        "schema": SCHEMA,
        "subject": name,
        "state": "not_fitted",
        "summary": summary,
        "epsilon": 0.0 if known else None,
        "delta": 0.0,
        "fits": [],
        "versions": versions(),
    }


def _of_fit(receipt: Receipt, model: Any, relation: Adjacency) -> dict[str, Any]:
    """One fit as it is filed in a report under a relation."""
    plan = getattr(model, "plan_", None)
    published = [n for n in vars(model) if n.endswith("_") and not n.startswith(("_", "privacy_"))]
    finished = getattr(model, "__sklearn_is_fitted__", lambda: True)()
    n_samples = getattr(model, "n_samples_seen_", getattr(model, "n_seen_", None))
    return _fit(receipt, receipt.spent, type(model).__name__) | {
        "solver": None if plan is None else type(plan.solver).__name__,
        "steps": 1 if receipt.adjacency is relation else 2,
        "n_samples": None if n_samples is None else int(n_samples),
        "published": sorted(published) if finished else [],
    }


def _fit(receipt: Receipt, stated: PrivacySpent, estimator: str) -> dict[str, Any]:
    return {
        "who": receipt.who,
        "estimator": estimator,
        "solver": None,
        "epsilon": _number(stated.epsilon),
        "delta": _number(stated.delta),
        "adjacency": receipt.adjacency.value,
        "steps": 1,
        "rule": rule_of([receipt], stated),
        "times": receipt.fits,
        "n_samples": None,
        "unit": str(receipt.unit),
        "published": [],
        "events": _events(receipt.events),
        **_grouped(receipt),
    }


def _events(events: Sequence[Event]) -> list[dict[str, Any]]:
    filed = []
    for event in events:
        fields = {name: _number(value) for name, value in asdict(event).items() if name != "part"}
        part = event.part.within if isinstance(event.part, Site) else event.part
        site = str(event.part.label) if isinstance(event.part, Site) else None
        rows = [part.start, part.stop] if isinstance(part, Part) else None
        fields |= {"rows": rows, "parts": getattr(part, "count", 1), "site": site}
        filed.append(fields)
    return filed


def _of_budget(budget: PrivacyBudget) -> dict[str, Any]:
    """A budget knows what each fit has cost, and not by which releases."""
    if budget._store is None:
        sentence = ["PrivacyBudget is not open yet"]
        return _not_fitted("PrivacyBudget", budget, Found(refused=sentence, unfitted=sentence))
    entries, total, rule = budget.receipts, budget.spent, budget.rule
    relation = Adjacency(budget.adjacency)
    fits, receipts = [], []
    for k, entry in enumerate(entries):
        purpose = "all releases of a fit" if entry.settled else "set aside for a fit"
        events: tuple[Event, ...] = ()
        if rule == "gaussian" and entry.amount:
            mu = sqrt(entry.amount)
            events = (GaussianEvent(query="fit", purpose=purpose, sensitivity=mu, noise_scale=1.0),)
        stated = Receipt((), entry.spent, entry.adjacency).under(relation).spent
        unit = PrivacyUnit.DECLARED if budget.privacy_unit else PrivacyUnit.ROW
        receipt = Receipt(events, stated, relation, f"{entry.who} {k}", unit=unit)
        # Under another relation the mu of a fit says more than its epsilon and delta.
        at = entry.spent.delta
        alone = compose([receipt], at) if events and 0 < at < 1 else stated
        receipts.append(receipt)
        fits.append(_fit(receipt, alone, entry.who))
    price = sum(entry.amount for entry in entries) if rule == "gaussian" else None
    filed = {"gaussian": "gaussian", "sums": "sum"}.get(rule, "stated")
    # Sums keep what was set aside for a fit, which may be more than it has spent.
    if not follows(filed, receipts, total):
        filed = "stated"
    limit = f"the budget is epsilon = {budget.epsilon:g} at delta = {budget.delta:g}"
    spent = f"epsilon = {total.epsilon:.4g} at delta = {total.delta:.2g}, {budget.adjacency}"
    unknown = sum(not entry.looked_up for entry in entries)
    copies = sum(entry.copied and not entry.looked_up for entry in entries)
    around, copied = [], []
    if unknown:
        around = [
            f"code around {unknown} of the {len(entries)} runs, which may have read rows: "
            "ensembles, searches, scores, steps in front of a model; PrivacyBudget.fit looks that "
            "up before it fits"
        ]
    if copies:
        copied = [
            f"{copies} of the runs are of copies that were made while the budget was open, as "
            "ensembles, searches and cross-validation make them; what these publish besides is not "
            "counted"
        ]
    found = _filed(
        ("PrivacyBudget", "fitted", f"{spent}; {limit}"),
        total,
        (relation, _ALL_ROWS if budget.privacy_unit else "one row of each fit"),
        price,
        condition=None,
        n_samples=None,
        rule=filed,
        trust=_CENTRAL,
        fits=fits,
        public=[limit],
        cautions=[*copied, *_cautions(total, None, [])],
    )
    return found | {"not_covered": [*around, *found["not_covered"]]}


def _streams(model: Any) -> bool:
    """True if rows may come to a model in several calls."""
    return hasattr(model, "arms_") or getattr(getattr(model, "_progress", None), "streaming", False)


def _meaning(
    spent: PrivacySpent, price: float | None, relation: Adjacency, unit: str
) -> dict[str, Any]:
    """The total as what somebody can find out who has to tell two neighbours apart.

    By the trade-off function of Dong, Roth and Su (2022): of a Gaussian release, whose mu^2 is the
    price, or of whatever is (epsilon, delta)-DP.
    """
    epsilon, delta = spent
    if isinf(epsilon):
        return {
            "mu": None,
            "best_guess": 1.0,
            "power_at_5_percent": 1.0,
            "sentence": "nothing is known that would keep a row from being found out",
        }
    mu = None if price is None else sqrt(price)
    if mu is not None:
        guess, power = float(ndtr(mu / 2)), float(ndtr(ndtri(_ALARMS) + mu))
    else:
        ratio = exp(min(epsilon, 700.0))
        guess = (ratio + delta) / (1 + ratio)
        power = min(ratio * _ALARMS + delta, 1 - (1 - delta - _ALARMS) / ratio)
    replaced = relation is Adjacency.REPLACE_ONE
    known, one, two = "all rows but one", "row", "which of two rows that one is"
    if unit == _ALL_ROWS:
        known, one, two = "all rows but those of one unit", "unit", "which of two sets those are"
    what = two if replaced else "whether that one took part"
    sentence = (
        f"who knows {known}, and guesses {what}, is right at most "
        f"{_percent(guess)} of the time (by tossing a coin 50 %); a test that raises a false alarm "
        f"in {_percent(_ALARMS)} of cases finds the {one} in at most {_percent(power)}"
    )
    return {"mu": mu, "best_guess": guess, "power_at_5_percent": power, "sentence": sentence}


def _percent(share: float) -> str:
    """Rounded up, as a bound has to be."""
    return f"{min(100.0, ceil(1000 * share - 1e-9) / 10):g} %"


def _bound(epsilon: Any, delta: Any) -> str:
    if epsilon is None or isinstance(epsilon, str):
        return "none"
    times = f"e^{epsilon:.4g}" + (f" = {exp(epsilon):.3g}" if epsilon < LARGEST_EPSILON else "")
    slack = f", but for a slack of delta = {delta:.2g} in probability" if delta else ""
    return (
        f"whatever is published is at most {times} times as likely for one data set as for a "
        f"neighbour{slack}"
    )


def _trust(events: Sequence[Event]) -> str:
    if not all(event.noise_scale for event in events):
        return _NO_TRUST
    kinds = {event.trust for event in events if isinstance(event, SiteGaussianEvent)}
    return "; ".join(_TRUST.get(kind, kind) for kind in sorted(kinds)) if kinds else _CENTRAL


def _public(found: Found) -> list[str]:
    """Sentences about what the guarantee takes to be known without the rows."""
    models = found.models.values()
    # Bounds that are not given were found by queries, which are among the releases.
    declared = any(getattr(m, "privacy_unit_", "") == PrivacyUnit.DECLARED for m in models)
    counted = "privacy units" if declared else "rows"
    lines = [f"numbers of {counted} and of features, names of columns, and all parameters"]
    for part in (*models, *found.steps):
        given = part.get_params(deep=False)
        # Words say how a step is to find a fact.
        told = [n for n in _FACTS if given.get(n) is not None and not isinstance(given[n], str)]
        if told:
            listed = ", ".join(f"{name}={_in_full(given[name])}" for name in told)
            lines.append(f"given for {type(part).__name__}: {listed}")
    return [*lines, *found.facts]


def _in_full(value: Any) -> str:
    """A fact with all that it lists, short of large arrays."""
    if isinstance(value, np.ndarray) and value.size <= _WRITTEN:
        value = value.tolist()
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_in_full(n)}: {_in_full(v)}' for n, v in value.items())}}}"
    if isinstance(value, list | tuple | range):
        listed = ", ".join(map(_in_full, value))
        return f"({listed})" if isinstance(value, tuple) else f"[{listed}]"
    return shown(value)


def _cautions(spent: PrivacySpent, n_samples: int | None, fits: list[dict[str, Any]]) -> list[str]:
    lines = []
    if n_samples is not None and spent.delta >= 1 / n_samples:
        lines.append(
            f"delta = {spent.delta:g} is not below 1/n = {1 / n_samples:.2g}, so that the promise "
            "would allow to publish a row as it is"
        )
    if isinf(spent.epsilon):
        lines.append("not private: epsilon = inf, and what is published may tell any row")
    elif spent.epsilon > LARGEST_EPSILON:
        lines.append(
            f"epsilon = {spent.epsilon:.4g} is above {LARGEST_EPSILON:g}, and promises little"
        )
    lines += [f"{fit['who']} published no model" for fit in fits if not fit["published"]]
    lines += [
        f"{fit['who']} has not come to its end, and counts with its whole budget"
        for fit in fits
        if not fit["events"]
    ]
    return lines


def _section(fit: dict[str, Any]) -> _Section:
    """The releases of a fit, grouped."""
    counted = PrivacyUnit(fit["unit"]).plural
    size = "" if fit["n_samples"] is None else f", {fit['n_samples']:,} {counted}"
    how = "" if fit["solver"] is None else f", solver {fit['solver']}"
    total = f"epsilon = {_shown(fit['epsilon'])} at delta = {_shown(fit['delta'])}"
    published = [("published", ", ".join(fit["published"]))] if fit["published"] else []
    rows = [
        (
            *(kind["purpose"], kind["query"], times(kind["count"], kind["parts"])),
            kind["mechanism"],
            "" if kind["share"] is None else f"{100 * kind['share']:.1f} %",
        )
        for kind in fit["releases"]
    ]
    head = [("what for", "query", "times", "mechanism", "share")] if rows else []
    return _Section(f"{fit['who']}: {total}{size}{how}", published, head + rows)


def _grouped(receipt: Receipt) -> dict[str, Any]:
    """Kinds of releases in words, and what the row that took part in most was charged for each."""
    slices = [releases(rows) for rows in receipt.slices]
    totals = [sum(inf if k.price is None else k.price for k in kinds) for kinds in slices]
    whole = max(totals, default=0.0) if receipt.events else 0.0
    shares: dict[tuple[str, str, str], float] = {}
    if 0 < whole < inf:
        costliest = slices[totals.index(whole)]
        shares = {kind.words: (kind.price or 0.0) / whole for kind in costliest}
    kinds = [
        {name: getattr(kind, name) for name in _OF_RELEASES}
        | {"share": shares.get(kind.words, 0.0) if shares else None}
        for kind in releases(receipt.events)
    ]
    return {"price": whole if shares else None, "releases": kinds}


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"


def _number(value: Any) -> Any:
    """A value as JSON takes it."""
    if isinstance(value, float):
        return value if isfinite(value) else str(value)
    return str(value) if isinstance(value, Adjacency) else value


def _as_markdown(title: str, summary: str, sections: Sequence[_Section]) -> str:
    """Markdown, for a terminal, a page of documentation or a cell of a notebook."""
    lines = [f"# {title}", "", _plain(summary)]
    for section in sections:
        lines += ["", f"## {_plain(section.title)}", ""]
        for item in section.items:
            named = isinstance(item, tuple)
            text = f"**{_plain(item[0])}**: {_plain(item[1])}" if named else _plain(str(item))
            lines.append(f"- {text}")
        if section.rows:
            head, *body = (tuple(map(_plain, row)) for row in section.rows)
            widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
            rows = [head, tuple("-" * max(3, width) for width in widths), *body]
            lines += [""] * bool(section.items)
            lines += [f"| {' | '.join(map(str.ljust, row, widths))} |" for row in rows]
    return "\n".join([*lines, ""])


def _plain(text: str) -> str:
    """Text in which nothing is Markdown: names of steps may hold anything."""
    for mark in "\\`*<>|":
        text = text.replace(mark, f"\\{mark}")
    # What would start the address of a link or an image; other brackets are text.
    return " ".join(text.split()).replace("](", "]\\(")
