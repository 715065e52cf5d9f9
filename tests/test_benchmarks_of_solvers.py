"""Benchmarks of single solvers: minibatches, and the growth of the excess risk."""

import re

import numpy as np
import pytest


def test_rows_that_are_scored_are_clean_and_as_many_others_wrong_as_is_said(piece):
    robust = piece("robust")
    for name, share in (("flipped", robust.FLIPPED), ("far", robust.FAR), ("wild", robust.WILD)):
        make, _ = robust.TASKS[name]
        X, given, clean = make(np.random.default_rng(0))
        # Of 10,000 rows; four standard deviations.
        assert np.mean(given != clean) == pytest.approx(share, abs=0.016)
        np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1.0)
        A, b = np.hstack([X, np.ones((len(X), 1))]), 2.0 * clean - 1
        assert np.corrcoef(A @ np.linalg.lstsq(A, b, rcond=None)[0], b)[0, 1] > 0.75


def test_intervals_are_measured_beside_those_without_privacy(piece, monkeypatch, capsys):
    benchmark = piece("intervals")
    monkeypatch.setattr(benchmark, "N_POPULATION", 20_000)
    benchmark.main(
        ["--only", "linear, d = 3", "--n", "20", "1000", "--epsilon", "1", "--fits", "9"]
    )
    *_, refused, cell = capsys.readouterr().out.splitlines()
    assert refused.startswith("| linear, d = 3, refused | 20 | 1 |")
    name, n, epsilon, covered, naive, exact, width, *_ = cell.strip("| ").split(" | ")
    assert (name, n, epsilon) == ("linear, d = 3", "1,000", "1")
    # Of 36 intervals each.
    assert float(covered.partition(" ")[0]) > 0.75
    assert float(naive) < 0.75 < float(exact)
    assert float(width) > 1.5


@pytest.mark.nightly
def test_batches_are_compared_with_all_rows(piece, capsys, monkeypatch):
    pytest.importorskip("dp_accounting", reason="dp-accounting is an optional dependency")
    benchmark = piece("minibatches")
    monkeypatch.setattr(benchmark, "TEST", 500)
    benchmark.main(["--rows", "2000", "--repeats", "1", "--multiples", "1", "--mapped"])
    said = capsys.readouterr().out
    assert said.startswith("2,000 rows, 20 features")
    rows = re.findall(r"^\| (gd[^|]*|svrg) \| ([^|]*) \|.*\|$", said, re.MULTILINE)
    assert [name for name, _ in rows] == ["gd", "gd", "gd, dynamic", "svrg", "svrg"]
    assert [("1 b*" in batch) for _, batch in rows] == [False, True, True, False, True]
