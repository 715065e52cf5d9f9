"""Every planted bug is caught by its property, which holds without the bug."""

from functools import partial

import pytest
from planted_bugs.bug import NOTICED
from planted_bugs.catalogue import CATALOGUE

from skdp.privacy import mechanisms

ROWS = [(subject, bug) for subject, bugs in CATALOGUE.items() for bug in bugs]


HELD = set()


def holds(check):
    """Runs a property once, however many bugs it has to catch."""
    # A name for arguments of any type.
    name = repr(check) if isinstance(check, partial) else check
    if name not in HELD:
        check()
        HELD.add(name)


# Properties are about other things than what models warn of here.
@pytest.mark.filterwarnings(
    "ignore::skdp.SeededNoiseWarning",
    "ignore::skdp.NoPrivacyWarning",
    "ignore::skdp.PrivacyLeakWarning",
    "ignore:.*fork.*:DeprecationWarning",
    "ignore:.*compares scores whose noise:UserWarning",
    "ignore:DPContextualBandit:UserWarning",
)
@pytest.mark.parametrize(
    "bug",
    [
        pytest.param(
            bug, id=f"{subject}: {bug.what}", marks=pytest.mark.nightly if bug.nightly else ()
        )
        for subject, bug in ROWS
    ],
)
@pytest.mark.by_day(70)
def test_bug_is_caught(bug):
    if bug.needs:
        pytest.importorskip(bug.needs)
    holds(bug.caught_by)
    with bug.planted(), pytest.raises(NOTICED, match=bug.match or None):
        bug.caught_by()


def test_what_is_broken_is_said_once():
    names = [bug.what for _, bug in ROWS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("subject", CATALOGUE)
def test_every_subject_has_bugs_in_the_default_run(subject):
    assert any(not bug.nightly for bug in CATALOGUE[subject])


def test_every_mechanism_has_bugs_in_the_default_run():
    kinds = [getattr(mechanisms, name) for name in mechanisms.__all__]
    taken = {kind.__name__ for kind in kinds if isinstance(kind, type) and "randomize" in dir(kind)}
    assert "GaussianMechanism" in taken
    broken = {t.partition(".")[0] for _, bug in ROWS if not bug.nightly for t in bug.patches}
    assert taken - broken == set(), "plant a bug in their noise"
