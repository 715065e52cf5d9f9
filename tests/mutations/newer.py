"""Bugs in finite precision, weights, preprocessing, budgets and searches."""

from __future__ import annotations

from mutations.mutation import bug

__all__ = ["NEWER"]

QUERIES = "test_every_query.py"

NEWER = (
    bug(
        "blocks that share the public randomness of the first",
        "privacy/rows/base.py",
        "        start += block.y.size\n",
        "",
        "data/test_several_blocks.py",
    ),
    bug(
        "sites in chunks that share the public randomness of the first",
        "privacy/rows/site_rows.py",
        "            positions = self._positions[here]\n",
        "            positions = self._positions[: raw.y.size]\n",
        "data/test_several_blocks.py",
    ),
    bug(
        "sites that share the public randomness of the first",
        "privacy/rows/site_rows.py",
        "self._bunches.append(_Single(first, start, block))",
        "self._bunches.append(_Single(first, 0, block))",
        "data/test_several_blocks.py",
    ),
    bug(
        "no margin for rounding",
        "privacy/rounding.py",
        "return sensitivity * (1.0 + _COMMON + rounding)",
        "return sensitivity",
        "privacy/test_rounding.py",
    ),
    bug(
        "answers off their grid",
        "privacy/mechanisms/noise_grid.py",
        "    np.rint(out, out=out)\n",
        "",
        "privacy/mechanisms/test_grid.py",
    ),
    bug(
        "weights that count for more than the largest",
        "privacy/rows/row_blocks.py",
        "np.floor(np.fmin(np.fmax(w, 0), 1) * _STEPS) / _STEPS",
        "np.floor(np.fmax(w, 0) * _STEPS) / _STEPS",
        "test_planted_bugs_of_weights.py",
        QUERIES,
        keyword="weight or neighbours and gradient",
    ),
    bug(
        "squares of columns for nothing at any weight",
        "privacy/queries/column_moments.py",
        "square = 4.0 if",
        "square = 2.0 if",
        QUERIES,
        keyword="neighbours and column",
    ),
    bug(
        "copies that leave their budget",
        "report/open_budgets.py",
        "    return tuple(dict.fromkeys(budget.token for budget in _known_to(model)))\n",
        "    return ()\n",
        "privacy/test_budget.py",
        "privacy/test_budget_across_processes.py",
    ),
    bug(
        "a budget that looks at each fit alone",
        "report/budget_store.py",
        "total = Amount(others.main + amount.main, others.delta + amount.delta)",
        "total = amount",
        "privacy/test_budget.py",
    ),
    bug(
        "a search that pays for one trial whatever their number",
        "privacy/accounting/trials.py",
        "return min(1.0, trials.mean * trial(left)) if left >= 0 else 1.0",
        "return min(1.0, trial(left)) if left >= 0 else 1.0",
        "privacy/test_trials.py",
    ),
    bug(
        "exact scores in a search",
        "privacy/row_scores.py",
        "return middle + float(mechanism.randomize(np.array([np.mean(values - middle)]), noise)[0])"
        "",
        "return float(np.mean(values))",
        "test_planted_bugs_of_searches.py",
    ),
)
