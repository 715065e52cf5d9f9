"""Federated learning: sites on workers, and the graphs over which they exchange noisy messages."""

from ..privacy.sites.remote_rows import Message
from .dask_sites import DaskSites
from .gossip_rounds import Round, among, draw_rounds, most_activations
from .topology import Adjacent, Complete, ErdosRenyi, Grid, Ring, Topology

__all__ = [
    "TOPOLOGIES",
    "Adjacent",
    "Complete",
    "DaskSites",
    "ErdosRenyi",
    "Grid",
    "Message",
    "Ring",
    "Round",
    "Topology",
    "among",
    "draw_rounds",
    "most_activations",
]

# Graphs that need nothing but a number of nodes.
TOPOLOGIES: dict[str, Topology] = {
    "complete": Complete(),
    "erdos_renyi": ErdosRenyi(),
    "grid": Grid(),
    "ring": Ring(),
}
