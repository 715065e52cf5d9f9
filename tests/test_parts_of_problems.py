"""Constraints, losses and penalties: what files show has examples, and all parts are values."""

import inspect
from dataclasses import fields

import pytest
import test_every_constraint as of_constraints
import test_every_loss as of_losses
import test_every_penalty as of_penalties

from skdp.problem import constraints, losses, penalties
from skdp.problem.constraints import Constraint
from skdp.problem.losses import Loss
from skdp.problem.penalties import Penalty, Tikhonov

# Of each file the base class, those that have no examples, and all examples.
FILES = {
    constraints: (Constraint, set(), [e.constraint for e in of_constraints.EXAMPLES]),
    losses: (Loss, set(), [e.loss for e in of_losses.EXAMPLES]),
    penalties: (Penalty, {Tikhonov}, of_penalties.EXAMPLES),
}
every_file = pytest.mark.parametrize("file", FILES, ids=lambda file: file.__name__)


@every_file
def test_the_file_lists_all_that_it_defines_and_there_are_examples_of_each(file):
    base, without, examples = FILES[file]
    found = {
        thing
        for name, thing in inspect.getmembers(file, inspect.isclass)
        if issubclass(thing, base) and not name.startswith("_")
    }
    assert sorted(file.__all__) == sorted(kind.__name__ for kind in found)
    assert {type(part) for part in examples} == found - {base} - without


@pytest.mark.every_combination
@pytest.mark.parametrize(
    "part", [p for _, _, examples in FILES.values() for p in examples], ids=str
)
def test_parts_are_values(part):
    twin = type(part)(**{field.name: getattr(part, field.name) for field in fields(part)})
    assert twin == part
    assert hash(twin) == hash(part)
