"""Sites that exchange what they hold: graphs, weights and schedules. All of it is public."""

from .mixing import Mixing, among, mixing_rate
from .rounds import Round, draw_rounds, most_activations
from .topology import Adjacent, Complete, ErdosRenyi, Grid, Ring, Topology

__all__ = [
    "TOPOLOGIES",
    "Adjacent",
    "Complete",
    "ErdosRenyi",
    "Grid",
    "Mixing",
    "Ring",
    "Round",
    "Topology",
    "among",
    "draw_rounds",
    "mixing_rate",
    "most_activations",
]

# Graphs that need nothing but a number of nodes.
TOPOLOGIES: dict[str, Topology] = {
    "complete": Complete(),
    "erdos_renyi": ErdosRenyi(),
    "grid": Grid(),
    "ring": Ring(),
}
