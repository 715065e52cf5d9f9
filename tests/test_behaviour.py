"""Records of behaviour are the same twice, and tell what has changed."""

import gzip
import json

import pytest


@pytest.fixture
def behaviour(piece):
    return piece("behaviour")


def test_two_records_of_the_same_code_are_equal_to_the_bit(behaviour, tmp_path):
    paths = [tmp_path / name for name in ("one.json.gz", "two.json.gz")]
    counts = [behaviour.record(path, sample=20) for path in paths]
    assert counts[0] == counts[1]
    # Some of each kind.
    assert len(counts[0]) == len(behaviour.KINDS) + 1
    found = behaviour.compare(*paths)
    assert found == {"equal to the bit": sum(counts[0].values())}
    assert paths[0].read_bytes() == paths[1].read_bytes()


NOTE = {"numbers": {"coef_": [1.0, 2.0]}, "plan": "epsilon 1.5, solver GD", "outcome": "done"}
NOTE["ledger"] = [[2, {"count": 1}]]
AS_BEFORE = {"noisy": NOTE, "exact": {"numbers": {"coef_": [1.5, 2.5]}}}


@pytest.mark.parametrize(
    ("noisy", "exact", "verdict"),
    [
        ({}, {}, "equal to the bit"),
        ({"numbers": {"coef_": [1.0 + 1e-12, 2.0]}}, {}, "equal but for rounding"),
        ({"plan": "epsilon 1.5000000001, solver GD"}, {}, "equal but for rounding"),
        (
            {"numbers": {"coef_": [1.1, 2.0]}},
            {},
            "equal without noise, noise in another order",
        ),
        (
            {"numbers": {"coef_": [1.1, 2.0]}, "ledger": []},
            {"ledger": [[2, {"count": 1}]]},
            "equal without noise, releases that adapt to noise in another order",
        ),
        ({"numbers": {"coef_": [1.1, 2.0]}}, {"numbers": {"coef_": [1.6, 2.5]}}, "different"),
        ({"plan": "epsilon 1.5, solver PPM"}, {}, "different"),
        ({"plan": "epsilon 1.6, solver GD"}, {}, "different"),
        ({"outcome": "ValueError", "message": "no"}, {}, "different"),
        ({}, {"numbers": {"coef_": [1.5]}}, "different"),
    ],
)
def test_what_differs_is_told_apart(noisy, exact, verdict, behaviour, tmp_path, capsys):
    after = {"noisy": NOTE | noisy, "exact": AS_BEFORE["exact"] | exact}
    paths = [tmp_path / "before.json.gz", tmp_path / "after.json.gz"]
    for path, record in zip(paths, (AS_BEFORE, after), strict=True):
        path.write_bytes(gzip.compress(json.dumps({"fit: a": record}).encode()))
    status = behaviour.main(["compare", *map(str, paths)])
    assert status == (verdict == "different")
    assert f"1 {verdict}" in capsys.readouterr().out
