"""Everything that can be reached from an object, and a search for planted numbers in it."""

import types

import numpy as np
import scipy.sparse as sp

# What is shared by all objects of a class is code, and holds no data.
CODE = (type, types.ModuleType, types.BuiltinFunctionType)
PLAIN = (type(None), bool, int, float, complex, str, bytes, bytearray, np.generic)


def parts_of(thing):
    """What an object is made of: items, attributes, slots, closures and defaults."""
    if isinstance(thing, dict):
        return [*thing.keys(), *thing.values()]
    if isinstance(thing, list | tuple | set | frozenset):
        return list(thing)
    if isinstance(thing, types.MethodType):
        return [thing.__self__, thing.__func__]
    if isinstance(thing, types.FunctionType):
        cells = [cell.cell_contents for cell in thing.__closure__ or ()]
        return [*cells, *(thing.__defaults__ or ()), vars(thing)]
    if isinstance(thing, np.ndarray):
        return list(thing.ravel()) if thing.dtype == object else [thing.base]
    parts = [vars(thing)] if hasattr(thing, "__dict__") else []
    slots = [name for cls in type(thing).__mro__ for name in getattr(cls, "__slots__", ())]
    return parts + [getattr(thing, name) for name in slots if hasattr(thing, name)]


def reached(thing):
    """Every object that can be reached from one, itself included."""
    seen, waiting = {}, [thing]
    while waiting:
        this = waiting.pop()
        if id(this) in seen or isinstance(this, CODE):
            continue
        seen[id(this)] = this
        if not isinstance(this, PLAIN):
            waiting += parts_of(this)
    return list(seen.values())


def numbers_within(thing):
    """All numbers in an object graph, as one array of floats."""
    found = []
    for this in reached(thing):
        if sp.issparse(this):
            this = this.toarray()
        if isinstance(this, np.ndarray) and this.dtype.kind in "fiub":
            found.append(this.ravel().astype(np.float64))
        elif isinstance(this, int | float | np.number) and not isinstance(this, bool):
            found.append(np.array([float(this)]))
    return np.concatenate(found) if found else np.empty(0)


def planted_in(thing, secrets, digits=1e-8):
    """Names of the secrets, a dict of numbers, that occur in an object graph."""
    numbers = numbers_within(thing)
    return sorted(
        name
        for name, secret in secrets.items()
        if np.any(np.abs(np.abs(numbers) - abs(secret)) <= digits * abs(secret))
    )


def kinds_within(thing):
    """Names of the classes of all objects in a graph."""
    return {f"{type(this).__module__}.{type(this).__qualname__}" for this in reached(thing)}
