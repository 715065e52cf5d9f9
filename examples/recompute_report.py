"""Recompute the epsilon of a privacy report from its JSON, with Python's standard library alone.

    python recompute_report.py report.json

Ends with an error if the report states another total than its releases amount to.
"""

import json
import sys
from math import erfc, exp, inf, isclose, log, log1p, sqrt
from statistics import NormalDist


def price(event, steps, rule, order):
    """What the releases of an event cost: their mu^2, Renyi divergence of an order, or epsilon."""
    noise, mechanism = float(event["noise_scale"]), event["mechanism"]
    if not noise:
        return inf
    moves = steps * float(event["sensitivity"]) * event.get("column_norm", 1.0)
    ratio = moves / noise
    if mechanism in ("gaussian", "site_gaussian", "prefix_sums"):
        one = ratio**2 * (order / 2 if rule == "renyi" else 1)
    elif (mechanism, rule) == ("threshold", "thresholds"):
        one = ratio**2
    elif (mechanism, rule) == ("exponential", "concentrated"):
        one = ratio**2 / 4
    elif mechanism == "exponential" and rule in ("gaussian", "thresholds"):
        one = (2 * NormalDist().inv_cdf(1 / (1 + exp(ratio / 2)))) ** 2
    elif (mechanism, rule) == ("exponential", "renyi"):
        one = min(ratio**2 / 8 * order, ratio)
    elif (mechanism, rule) == ("objective_perturbation", "perturbation"):
        output = event["output_sensitivity"] / event["output_noise_scale"]
        one = max(ratio**2 * 256 / 255, (event["jacobian"] / 0.4) ** 2 * 256 / 255, output**2 * 256)
    elif (mechanism, rule) == ("pure_perturbation", "pure"):
        output = event["output_sensitivity"] / event["output_noise_scale"]
        one = ratio + steps * (event["jacobian"] + output)
    else:
        raise SystemExit(f"{mechanism} by the rule {rule!r} takes more than this script")
    return event["count"] * one


def cost(fit, rule, order=None):
    """Cost of a fit for the row that took part in most: parts and sites have no row in common."""
    events, totals = fit["events"], []
    for rows in {str(event["rows"]) for event in events}:
        for site in {event["site"] for event in events}:
            mine = [e for e in events if str(e["rows"]) in (rows, "None")]
            mine = [e for e in mine if e["site"] in (site, None)]
            totals.append(sum(price(event, fit["steps"], rule, order) for event in mine))
    return max(totals, default=0.0)


def root(falling):
    """Where a falling function is 0."""
    low, high = 0.0, 1.0
    while falling(high) > 0:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return high


def slack(mu, epsilon):
    """The delta of mu-Gaussian differential privacy at an epsilon."""
    first, second = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    return (erfc(first / sqrt(2)) - exp(epsilon) * erfc(second / sqrt(2))) / 2


def epsilon_of(fits, delta, rule):
    """Epsilon of several fits on the same rows."""
    if not fits:
        return 0.0
    if rule == "stated":
        raise SystemExit(f"the rule {rule!r} takes more than this script: use skdp")
    if rule == "sum":
        return sum(fit["times"] * float(fit["epsilon"]) for fit in fits)
    if rule == "renyi":
        orders = [1 + 10 ** (k / 12) for k in range(-24, 43)]
        sums = [(a, sum(cost(fit, rule, a) for fit in fits)) for a in orders]
        return min(s + log1p(-1 / a) - log(delta * a) / (a - 1) for a, s in sums)
    total = sum(cost(fit, rule) for fit in fits)
    if total in (0, inf) or rule == "pure":
        return total
    if rule == "thresholds":
        events = [event for fit in fits for event in fit["events"]]
        delta -= sum(event["count"] * event.get("threshold_delta", 0.0) for event in events)
    mu, rho, budget = sqrt(total), total / 2, -log(delta)
    if rule in ("gaussian", "thresholds"):
        return root(lambda e: slack(mu, e) - delta)
    if rule == "concentrated":
        b = root(lambda b: budget - rho * b * b - log1p(b))
        return rho * (1 + b) - log1p(1 / b) + (budget - log1p(b)) / b
    if rule == "perturbation":
        vertices = (1, 1), (sqrt(0.625), 2), (sqrt(0.5), 1)
        return 0.4 * mu + root(lambda e: sum(n * slack(s * mu, e) for s, n in vertices) - delta)
    raise SystemExit(f"the rule {rule!r} takes more than this script")


def check(report):
    """Compare the totals that a report states with what releases amount to."""
    if report["state"] == "not_fitted":
        print(f"nothing to recompute: {report['summary']}")
        return
    alone = [fit | {"fits": [fit | {"steps": 1}]} for fit in report["fits"]]
    for stated in [*alone, report]:
        who, rule, delta = stated.get("who", "total"), stated["rule"], float(stated["delta"])
        if rule == "stated" and stated is not report:
            continue
        if stated["epsilon"] is None:
            raise SystemExit(f"{who}: no epsilon to recompute: {report['summary']}")
        epsilon = epsilon_of(stated["fits"], delta, rule)
        if not isclose(epsilon, float(stated["epsilon"]), rel_tol=1e-6):
            raise SystemExit(f"{who}: epsilon = {epsilon:.6g}, not {stated['epsilon']} as stated")
        print(f"{who}: epsilon = {epsilon:.6g} at delta = {delta:g}, as stated")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("It needs the JSON of a report: python recompute_report.py report.json")
    with open(sys.argv[1], encoding="utf-8") as file:
        check(json.load(file))
