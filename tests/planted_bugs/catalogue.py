"""All planted bugs by subject."""

from planted_bugs import accounting, mechanisms, minibatches, queries, searches, sites, solvers, streams

__all__ = ["CATALOGUE"]

CATALOGUE = {module.__name__.rpartition(".")[2]: module.BUGS for module in (queries, mechanisms, accounting, solvers, streams, sites, minibatches, searches)}
