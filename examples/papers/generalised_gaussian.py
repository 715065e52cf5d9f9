"""Han et al. (2022), lemma 2.1: their noise for streams, mended, and Gaussian noise at its price.

    python examples/papers/generalised_gaussian.py

The paper adds to each node of a binary tree noise of density proportional to
``exp(-||z||_r^2 / (2 sigma^2))``, in the hope that it suits gradients bounded in an l_q norm. Two
slips of the printed version are corrected here:

- ``||Z||_r^2`` has the law Gamma(d / 2) of scale ``2 sigma^2``; the printed sampler takes
  ``2 sigma``, which makes the noise too small by a factor of the root of sigma.
- The exponent is ``r = min(q, max(2, log d))``, so that the norm is smooth; what is printed as the
  exponent is r - 1, with which it may not even be a norm.

With ``||z||_r^2 / 2`` being kappa-smooth in the norm of the sensitivity s, one release is
``kappa s^2 / (2 sigma^2)`` in zero-concentrated differential privacy. Proof: let phi be half the
squared norm. Smoothness along the segment from z - s through z to z + (alpha - 1) s gives
``alpha phi(z) - (alpha - 1) phi(z - s) >= phi(z + (alpha - 1) s)
- kappa alpha (alpha - 1) ||s||^2 / 2``. Exponentiate minus this over sigma^2 and integrate: the
Renyi divergence of order alpha is at most ``alpha kappa ||s||^2 / (2 sigma^2)``.

It is here for comparison, not in the package: at the same price its noise is larger in the l_q norm
than plain Gaussian noise, for all q and d that were tried, and it cannot be correlated over time.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, log, sqrt

import numpy as np

from skdp.privacy.mechanisms import BLT

DRAWS = 4000


@dataclass(frozen=True)
class GeneralisedGaussian:
    """Noise for vectors of d entries whose sensitivity is bounded in the l_q norm, q >= 2.

    Parameters
    ----------
    d : int
        Number of entries.
    q : float
        Exponent of the norm of the sensitivity, in [2, inf].
    sigma : float
        Scale.
    """

    d: int
    q: float
    sigma: float

    @property
    def exponent(self) -> float:
        """r, of the norm in the density."""
        return min(self.q, max(2.0, log(self.d)))

    @property
    def smoothness(self) -> float:
        """kappa, of half the squared l_r norm with respect to the l_q norm."""
        r, share = self.exponent, 0.0 if self.q == inf else 2 / self.q
        return (r - 1) * self.d ** (2 / r - share)

    def rho(self, sensitivity: float) -> float:
        """Price of one release in zero-concentrated differential privacy."""
        return self.smoothness * sensitivity**2 / (2 * self.sigma**2)

    @classmethod
    def calibrated(cls, d: int, q: float, sensitivity: float, rho: float) -> GeneralisedGaussian:
        """The least noise for a price."""
        unit = cls(d, q, 1.0)
        return cls(d, q, sqrt(unit.rho(sensitivity) / rho))

    def draw(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Noise vectors, shape (size, d).

        A vector of independent entries of density proportional to ``exp(-|x|^r)``, divided by its
        l_r norm, has the direction that a density of the l_r norm alone has.
        """
        r = self.exponent
        entries = rng.gamma(1 / r, size=(size, self.d)) ** (1 / r)
        entries *= rng.choice([-1.0, 1.0], size=entries.shape)
        lengths = np.linalg.norm(entries, ord=r, axis=1)
        radii = np.sqrt(rng.gamma(self.d / 2, 2 * self.sigma**2, size=size))
        return entries * (radii / lengths)[:, None]


def compared(d, q, rng):
    """Mean l_q norm of noise for sensitivity 1 in l_q, at rho = 1/2: Gaussian, generalised.

    Gaussian noise has to cover the l2 norm of a vector of l_q norm 1, at most
    ``d^(1/2 - 1/q)``.
    """
    wide = d ** (0.5 - (0.0 if q == inf else 1 / q))
    plain = wide * rng.normal(size=(DRAWS, d))
    other = GeneralisedGaussian.calibrated(d, q, 1.0, 0.5).draw(DRAWS, rng)
    return [np.linalg.norm(z, ord=q, axis=1).mean() for z in (plain, other)]


def main():
    rng = np.random.default_rng(0)
    print("Mean l_q norm of the noise of one release, sensitivity 1 in l_q, rho = 1/2\n")
    print("| d | q | Gaussian | generalised Gaussian |")
    print("|---|---|---|---|")
    for q in (3.0, 6.0, inf):
        for d in (10, 100, 1000):
            plain, other = compared(d, q, rng)
            print(f"| {d} | {q:g} | {plain:.2f} | {other:.2f} |")
    print("\nLargest l_q norm of the noise in running sums, q = 3, d = 20, mu = 1\n")
    print("| terms | tree of generalised Gaussian noise | blt |")
    print("|---|---|---|")
    for terms in (1000, 10_000, 100_000):
        levels = terms.bit_length()
        node = GeneralisedGaussian.calibrated(20, 3.0, 1.0, 0.5 / levels)
        # The sum with the most nodes is that of as many nodes as levels, less one.
        sums = sum(node.draw(DRAWS, rng) for _ in range(levels - 1))
        largest = BLT(terms).errors(np.arange(1, terms + 1)).max()
        plain = largest * 20 ** (0.5 - 1 / 3) * rng.normal(size=(DRAWS, 20))
        norms = [np.linalg.norm(z, ord=3, axis=1).mean() for z in (sums, plain)]
        print(f"| {terms} | {norms[0]:.1f} | {norms[1]:.1f} |")


if __name__ == "__main__":
    main()
