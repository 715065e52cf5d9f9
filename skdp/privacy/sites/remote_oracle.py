"""The oracle whose answers are made at the sites, noise included."""

from __future__ import annotations

from typing import NoReturn, final

import numpy as np

from ..accounting.ledger import Ledger, Spend
from ..adjacency import Adjacency
from ..oracle import Oracle
from ..queries.base import Query
from ..queries.site_gradients import SiteGradientsQuery
from ..streams.stream_session import StreamOpening
from .remote_rows import RemoteRows


@final
class RemoteOracle(Oracle):
    """Charges each site's event here, and lets the site charge itself, draw noise and answer.

    Guarantees
    ----------
    - Neither rows, nor exact answers, nor noise are in this process, so that there is nothing to
      trust it with.
    - Anything but queries to sites with local noise is refused before it is charged.
    - A failure after the charge leaves the charge standing, here and at the sites that were asked.
    """

    def __init__(self, rows: RemoteRows, ledger: Ledger, adjacency: Adjacency) -> None:
        super().__init__(ledger, adjacency)
        self._rows = rows

    def _release(self, query: Query, spend: Spend) -> np.ndarray:
        if not isinstance(query, SiteGradientsQuery) or query.trust.source != "local":
            raise _refusal(query.name)
        mechanism = query.mechanism(self._adjacency, spend)
        self._ledger.charge(mechanism.event(query.name))
        return self._rows.messages(query.request, spend.amount * query.shares)

    def _open(self, opening: StreamOpening) -> NoReturn:
        raise _refusal(opening.event.query)


def _refusal(name: str) -> ValueError:
    return ValueError(
        f"Sites on workers answer site_gradients with local noise and nothing else, got {name} or "
        "other noise; use DDA(noise='local')."
    )
