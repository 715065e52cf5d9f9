"""All planted bugs by subject."""

from planted_bugs import queries

__all__ = ["CATALOGUE"]

CATALOGUE = {module.__name__.rpartition(".")[2]: module.BUGS for module in (queries,)}
