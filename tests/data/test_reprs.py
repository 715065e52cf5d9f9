"""No text about rows shows them: arrays of rows are in no repr of a part of a store."""

import dataclasses
import importlib
import pkgutil

import numpy as np
import pytest

from skdp.privacy import rows

# What holds public facts alone: sizes and names, words of a refusal, classes, a fitted model.
PUBLIC = {"Facts", "Refusal", "ClassEncoder", "Predictor"}
SECRET = np.full(3, 4321.25)


def records():
    """Classes of :mod:`skdp.privacy.rows` that write out their fields unless told not to."""
    for module in pkgutil.iter_modules(rows.__path__):
        for kind in vars(importlib.import_module(f"{rows.__name__}.{module.name}")).values():
            of_fields = dataclasses.is_dataclass(kind) or hasattr(kind, "_fields")
            if isinstance(kind, type) and of_fields and kind.__module__.startswith(rows.__name__):
                yield kind


RECORDS = sorted(set(records()), key=lambda kind: kind.__name__)


def filled(kind):
    """An instance that has arrays of rows in all fields."""
    if hasattr(kind, "_fields"):
        return kind(*[SECRET] * len(kind._fields))
    out = object.__new__(kind)
    vars(out).update({field.name: SECRET for field in dataclasses.fields(kind)})
    return out


@pytest.mark.parametrize("kind", RECORDS, ids=lambda kind: kind.__name__)
def test_records_of_rows_do_not_print_them(kind):
    text = repr(filled(kind)) + str(filled(kind))
    assert ("4321" in text) == (kind.__name__ in PUBLIC)


def test_all_records_are_looked_at():
    names = {kind.__name__ for kind in RECORDS}
    assert PUBLIC | {"Part", "OpenedPartition", "RawBlock", "PredictedBlock"} <= names
