"""What a fitted object publishes, and whether two of them publish the same."""

import pickle

import numpy as np


def published(fitted):
    return {k: v for k, v in vars(fitted).items() if k.endswith("_") and not k.startswith("_")}


def assert_same(first, second, rtol=0.0):
    """Of fitted objects, or of what they have published; with a tolerance, receipts may differ."""
    first, second = (
        part if isinstance(part, dict) else published(part) for part in (first, second)
    )
    assert first.keys() == second.keys()
    for name, value in first.items():
        other = second[name]
        if name == "inference_":
            # Equal to nothing but itself.
            assert pickle.dumps(other) == pickle.dumps(value)
        elif isinstance(value, list) or getattr(value, "dtype", None) is np.dtype(object):
            # Arrays of several lengths, or entries of several types.
            assert len(value) == len(other), name
            assert all(map(np.array_equal, value, other)), name
        elif isinstance(value, float | np.ndarray) and np.asarray(value).dtype.kind == "f":
            np.testing.assert_allclose(other, value, rtol=rtol, atol=rtol, err_msg=name)
        elif name != "privacy_ledger_" or not rtol:
            np.testing.assert_array_equal(other, value, err_msg=name)
        assert type(other) is type(value), name
