"""Bugs in sensitivities, and in the bounds that they rest on."""

from __future__ import annotations

from mutations.mutation import bug

__all__ = ["SENSITIVITIES"]

QUERIES = "test_every_query.py"
ARMS = "test_planted_bugs_of_bandit.py"

SENSITIVITIES = (
    # Sensitivities.
    bug(
        "sensitivity of a sum not doubled",
        "privacy/adjacency.py",
        "return 2.0 * bound if",
        "return 1.0 * bound if",
        QUERIES,
        keyword="neighbours and gradient",
    ),
    bug(
        "sensitivity of counts without the root of two",
        "privacy/adjacency.py",
        "return sqrt(2.0) if",
        "return 1.0 if",
        QUERIES,
        keyword="neighbours and histogram",
    ),
    bug(
        "moments priced as if a row could only vanish",
        "privacy/queries/moments.py",
        "sqrt(2.0) if adjacency is Adjacency.REPLACE_ONE else 1.0",
        "1.0",
        QUERIES,
        keyword="neighbours and moments",
    ),
    bug(
        "targets left out of the normal equations",
        "privacy/queries/normal_equations.py",
        "sqrt(2.0) * (1 + c)",
        "sqrt(2.0)",
        QUERIES,
        keyword="neighbours and normal",
    ),
    bug(
        "users of two arms counted as users of one",
        "privacy/bandit_sessions/arm_moments.py",
        "3 / sqrt(2.0)",
        "1.0",
        ARMS,
        "privacy/arms/test_joint_sensitivity.py",
    ),
    # Bounds on rows.
    bug(
        "rows of sparse data not clipped",
        "privacy/rows/row_blocks.py",
        "            norms = row_norms(_in_double(self.X))\n",
        "            norms = row_norms(_in_double(self.X))\n"
        "            norms *= isinstance(self.X, np.ndarray)\n",
        QUERIES,
        "data/test_sparse.py",
        keyword="neighbours and gradient or sparse",
    ),
    bug(
        "norms of float32 rows in single precision",
        "privacy/rows/row_blocks.py",
        "norms = row_norms(_in_double(self.X))",
        "norms = row_norms(self.X)",
        "test_planted_bugs.py",
        "data/test_dense.py",
    ),
    bug(
        "intercept outside the bound on rows",
        "privacy/rows/row_blocks.py",
        "np.hypot(np.minimum(norms, limit), self._constant)",
        "np.minimum(norms, limit)",
        QUERIES,
        keyword="neighbours and gradient",
    ),
    bug(
        "targets not brought to their bounds",
        "privacy/rows/row_blocks.py",
        "            self.y = np.clip(y, -1.0, 1.0)\n",
        "            self.y = (raw.y - target.centre) / target.half_width\n",
        QUERIES,
        "data/test_blocks.py",
        keyword="neighbours and normal or blocks",
    ),
    bug(
        "heavier classes not counted in the clip",
        "privacy/queries/gradient.py",
        "self.bound / heaviest",
        "self.bound",
        QUERIES,
        keyword="neighbours and gradient",
    ),
    bug(
        "one class missing from the joint clip",
        "problem/losses/base.py",
        'norms = np.sqrt(np.einsum("ij,ij->i", d, d))',
        'norms = np.sqrt(np.einsum("ij,ij->i", d[:, 1:], d[:, 1:]))',
        QUERIES,
        "test_every_loss.py",
        keyword="neighbours and gradient or clip",
    ),
    bug(
        "derivatives not clipped from below",
        "problem/losses/base.py",
        "                np.maximum(d, np.negative(bound), out=d)\n",
        "",
        "test_every_loss.py",
        keyword="clip",
    ),
    bug(
        "difference of gradients without its projection",
        "privacy/queries/gradient_difference.py",
        "        np.minimum(a, middle, out=a)\n",
        "",
        "privacy/queries/test_gradient_difference.py",
        "test_planted_bugs_of_differences.py",
    ),
)
