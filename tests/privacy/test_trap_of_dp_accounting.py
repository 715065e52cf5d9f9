"""How dp-accounting reads a noise multiplier under replace-one, which tests here rely on.

``GaussianDpEvent(z)`` is noise of z times the bound on one row. Replacing a row moves a sum by
twice that bound. Privacy loss distributions double it themselves and the Renyi accountant does not,
so the latter has to be given half of the multiplier. If a release of dp-accounting changes either,
these tests say so, before anything is counted twice or half.
"""

import dp_accounting
import pytest
from by_night import by_night
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant

from skdp.privacy.accounting import gdp, zcdp

DELTA = 1e-5
REPLACE = dp_accounting.NeighboringRelation.REPLACE_ONE
ADD_OR_REMOVE = dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE


def epsilon(accountant, multiplier):
    accountant.compose(dp_accounting.GaussianDpEvent(multiplier))
    return accountant.get_epsilon(DELTA)


@pytest.mark.parametrize("z", [2.0, 8.0, *by_night(1.0)])
@pytest.mark.by_day(1)
def test_privacy_loss_distributions_double(z):
    replace = epsilon(PLDAccountant(neighboring_relation=REPLACE), z)
    zero_out = epsilon(PLDAccountant(neighboring_relation=ADD_OR_REMOVE), z)
    assert replace == pytest.approx(gdp.epsilon(2 / z, DELTA), rel=1e-3)
    assert zero_out == pytest.approx(gdp.epsilon(1 / z, DELTA), rel=1e-3)


@pytest.mark.parametrize("z", [1.0, 2.0, 8.0])
def test_the_renyi_accountant_does_not_double(z):
    replace = epsilon(RdpAccountant(neighboring_relation=REPLACE), z)
    halved = epsilon(RdpAccountant(neighboring_relation=REPLACE), z / 2)
    zero_out = epsilon(RdpAccountant(neighboring_relation=ADD_OR_REMOVE), z)
    assert replace == pytest.approx(zero_out, rel=1e-12)
    # The true price, which its orders miss by a little.
    assert halved == pytest.approx(zcdp.epsilon(2 / z**2, DELTA), rel=0.02)
    assert replace < 0.7 * gdp.epsilon(2 / z, DELTA)
