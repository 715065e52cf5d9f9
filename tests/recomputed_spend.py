"""The spend of a model, from the events on its ledger alone."""

from math import sqrt

from skdp.privacy.accounting import SearchEvent, gdp


def recomputed(events, delta):
    """Epsilon of Gaussian events at a delta, beside what earlier fits state by themselves.

    Events of a part are about its rows, and those that name none about all rows.
    """
    stated = [e for e in events if isinstance(e, SearchEvent)]
    gaussian = [e for e in events if e not in stated]
    parts = {e.part for e in gaussian} - {None} or {None}
    price = max(
        sum(e.count * _price(e) for e in gaussian if e.part in (None, part)) for part in parts
    )
    epsilons = sum(e.count * e.sensitivity / e.noise_scale for e in stated)
    left = delta - sum(e.count * e.trial_delta for e in stated)
    return epsilons + gdp.epsilon(sqrt(price), left)


def _price(event):
    columns = getattr(event, "column_norm", 1.0)
    return (columns * event.sensitivity / event.noise_scale) ** 2
