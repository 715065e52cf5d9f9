"""All planted bugs by subject."""

from planted_bugs import (
    accounting,
    audits,
    bandits,
    estimators,
    evaluations,
    kinds,
    mechanisms,
    minibatches,
    preprocessing,
    queries,
    searches,
    sites,
    solvers,
    steps,
    streams,
    units,
    visits,
    weights,
)

SUBJECTS = (
    queries,
    kinds,
    weights,
    units,
    mechanisms,
    minibatches,
    accounting,
    solvers,
    steps,
    streams,
    visits,
    sites,
    bandits,
    estimators,
    preprocessing,
    searches,
    evaluations,
    audits,
)
CATALOGUE = {module.__name__.rpartition(".")[2]: module.BUGS for module in SUBJECTS}
