"""The test doubles: what is recorded is replayed, and any other query is refused."""

import numpy as np
import pytest
from known_noise import seeded

from skdp import BudgetExceededError
from skdp.privacy import Adjacency, PrivateOracle
from skdp.privacy.accounting import Ledger
from skdp.privacy.rows import DenseRows
from skdp.problem import Problem, RowBounds
from skdp.problem.losses import Logistic
from skdp.testing import RecordingOracle, ReplayOracle, Transcript

N, D = 30, 2
PROBLEM = Problem(Logistic(), N, D, RowBounds(2.0))
EDGES = np.array([0.5, 1.0])


def rows():
    rng = np.random.default_rng(0)
    return DenseRows(rng.normal(size=(N, D)), rng.integers(2, size=N).astype(float))


def ask_all(oracle, shift=0.0):
    """One query of each kind, at half of what is left each time."""
    oracle = oracle.for_problem(PROBLEM)
    w = np.full(D, shift)
    answers = [
        oracle.gradient(w, spend=oracle.budget.fraction(0.5).whole()),
        oracle.gradient_norm(w, spend=oracle.budget.fraction(0.5).whole(), clip_norm=0.3),
    ]
    for of in ("row_norm", "target"):
        spend = oracle.budget.fraction(0.5).whole()
        answers.append(oracle.histogram(of, EDGES, spend=spend))
    return answers


def recorded(shift=0.0):
    """A transcript of all queries, the answers, and the receipt."""
    transcript, ledger = Transcript(), Ledger(1.0, 1e-5)
    oracle = RecordingOracle(rows(), ledger, Adjacency.REPLACE_ONE, seeded(1), transcript)
    return transcript, ask_all(oracle, shift), ledger.receipt()


def replaying(transcript):
    ledger = Ledger(1.0, 1e-5)
    return ReplayOracle(ledger, Adjacency.REPLACE_ONE, transcript), ledger


def test_recording_changes_neither_answers_nor_charges():
    ledger = Ledger(1.0, 1e-5)
    plain = ask_all(PrivateOracle(rows(), ledger, Adjacency.REPLACE_ONE, seeded(1)))
    transcript, answers, receipt = recorded()
    for expected, answer in zip(plain, answers, strict=True):
        np.testing.assert_array_equal(answer, expected)
    assert receipt == ledger.receipt()
    names = [name for name, *_ in transcript.entries]
    assert names == ["gradient", "gradient_norm", *["histogram"] * 2]


def test_replay_gives_the_same_answers_and_charges():
    transcript, answers, receipt = recorded()
    replay, ledger = replaying(transcript)
    assert not ReplayOracle(ledger, Adjacency.REPLACE_ONE, transcript).finished()
    for expected, answer in zip(answers, ask_all(replay), strict=True):
        np.testing.assert_array_equal(answer, expected)
    assert ledger.receipt() == receipt
    assert replay.finished()


def test_replay_holds_no_rows():
    replay, _ = replaying(recorded()[0])
    public = {"_ledger", "_adjacency", "_problem", "_ceiling", "_positions", "_latest"}
    assert set(vars(replay)) == {*public, "_coming"}


def test_transcript_is_not_changed_through_answers():
    transcript, answers, _ = recorded()
    kept = [np.copy(answer) for *_, answer in transcript.entries]
    for answer in (*answers, *ask_all(replaying(transcript)[0])):
        if isinstance(answer, np.ndarray):
            answer *= 0.0
    for (*_, answer), before in zip(transcript.entries, kept, strict=True):
        np.testing.assert_array_equal(answer, before)


def test_replay_refuses_another_content():
    transcript, *_ = recorded()
    replay, ledger = replaying(transcript)
    with pytest.raises(AssertionError, match="gradient was asked with another content"):
        ask_all(replay, shift=1e-300)
    assert ledger.receipt() == ()


def test_replay_refuses_another_price():
    transcript, *_ = recorded()
    replay, _ = replaying(transcript)
    replay = replay.for_problem(PROBLEM)
    with pytest.raises(AssertionError, match="gradient was given another price"):
        replay.gradient(np.zeros(D), spend=replay.budget.fraction(0.4).whole())


def test_replay_refuses_another_kind_of_query_and_one_too_many():
    transcript, *_ = recorded()
    replay, _ = replaying(transcript)
    spend = replay.budget.fraction(0.5).whole()
    with pytest.raises(AssertionError, match="asked for histogram where gradient was recorded"):
        replay.histogram("target", EDGES, spend=spend)
    replay, _ = replaying(Transcript())
    with pytest.raises(AssertionError, match="asked for histogram where nothing was recorded"):
        replay.histogram("target", EDGES, spend=spend)


def test_replay_refuses_another_clip_or_histogram():
    transcript, *_ = recorded()
    replay, _ = replaying(transcript)
    replay = replay.for_problem(PROBLEM)
    spend = replay.budget.fraction(0.5).whole()
    with pytest.raises(AssertionError, match="another content"):
        replay.gradient(np.zeros(D), spend=spend, clip_norm=0.1)


def test_replay_charges_a_budget_too():
    transcript, *_ = recorded()
    ledger = Ledger(0.5, 1e-5)
    replay = ReplayOracle(ledger, Adjacency.REPLACE_ONE, transcript).for_problem(PROBLEM)
    spend = PrivateOracle(
        rows(), Ledger(1.0, 1e-5), Adjacency.REPLACE_ONE, seeded(1)
    ).budget.fraction(0.5)
    with pytest.raises(BudgetExceededError):
        replay.gradient(np.zeros(D), spend=spend.whole())
