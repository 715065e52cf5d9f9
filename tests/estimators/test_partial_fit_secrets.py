"""What travels with a model in the middle of a stream: the publishable model and nothing else."""

import copy
import os
import pickle
import stat

import numpy as np
import pytest
from copies_of_objects import COPIES

from skdp import DPLinearRegression, DPLogisticRegression, load_checkpoint, save_checkpoint
from skdp.solvers import Blocks
from skdp.testing import record, replay

pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")

N, D = 300, 3
# A row that cannot occur by chance, and a seed whose bytes cannot either.
MARKER = np.array([0.1234567890123, -0.9876543210987, 0.5647382910564])
SEED = 1_234_567_891
RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(N, D))
REAL = X @ np.arange(1.0, D + 1)
BINARY = (REAL > 0).astype(int)
# Behind the last cut before 250, so that it waits for its block.
X[201] = MARKER


def classifier(**options):
    return DPLogisticRegression(
        **{"data_norm": 2.0, "classes": [0, 1], "solver": Blocks(first=40), "random_state": SEED}
        | options
    )


def regressor(**options):
    return DPLinearRegression(
        **{
            "data_norm": 2.0,
            "target_bounds": (-6, 6),
            "solver": Blocks(first=40),
            "random_state": SEED,
        }
        | options
    )


def summing(**options):
    """Keeps exact sums instead of rows."""
    return classifier(solver="auto", buffer=False, horizon=N, **options)


EVERY = pytest.mark.parametrize("make", [classifier, regressor, summing])


def feed(model, start=0, stop=250):
    y = REAL if isinstance(model, DPLinearRegression) else BINARY
    for k in range(start, stop, 25):
        model.partial_fit(X[k : k + 25], y[k : k + 25])
    return model


every_way = pytest.mark.parametrize("way", COPIES.values(), ids=COPIES)


@every_way
@EVERY
@pytest.mark.by_day(3)
def test_copies_predict_and_say_that_they_cannot_go_on(make, way):
    model = feed(make())
    other = way(model)
    np.testing.assert_array_equal(other.predict(X), model.predict(X))
    assert other.privacy_spent_ == model.privacy_spent_
    assert other.privacy_ledger_ == model.privacy_ledger_
    assert other.n_samples_seen_ == model.n_samples_seen_ == 250
    with pytest.raises(ValueError, match="needs the secret state of its stream to go on"):
        feed(other, 250, 300)
    assert other.random_state is None
    # Fit starts anew, and the model itself goes on.
    other.fit(X, REAL if make is regressor else BINARY)
    assert feed(model, 250, 300).n_samples_seen_ == 300


@every_way
@pytest.mark.by_day(1)
def test_copies_of_a_stream_without_secrets_go_on(way):
    model = feed(classifier(solver="gd"))
    other = way(model)
    assert feed(other, 250, 300).n_samples_seen_ == 300
    assert other.privacy_spent_.epsilon <= 1.0
    # The seed stays behind, so that no noise is used twice.
    assert other.random_state is None
    assert not np.array_equal(other.coef_, feed(model, 250, 300).coef_)


def contents(model, protocol=pickle.HIGHEST_PROTOCOL):
    return pickle.dumps(model, protocol=protocol)


def findings(state):
    """What there is of rows, noise and seed in some bytes."""
    found = [value for value in MARKER if np.float64(value).tobytes() in state]
    found += [value for value in MARKER if repr(float(value)).encode() in state]
    found += [
        word
        for word in (b"PCG64", b"MT19937", b"Generator", b"Noise", b"Session", b"Buffer", b"Rows")
        if word in state
    ]
    found += [SEED] * (SEED.to_bytes(4, "little") in state or str(SEED).encode() in state)
    return found


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@EVERY
@pytest.mark.by_day(3)
def test_pickle_holds_no_row_no_sum_no_generator_and_no_seed(make, protocol):
    assert not findings(contents(feed(make()), protocol))


@pytest.mark.parametrize("make", [classifier, regressor])
def test_pickle_is_a_function_of_released_answers(make):
    calls = [
        (X[k : k + 25], (REAL if make is regressor else BINARY)[k : k + 25])
        for k in range(0, 250, 25)
    ]
    model = make()
    transcript = record(lambda: [model.partial_fit(*call) for call in calls])
    rng = np.random.default_rng(5)
    # Other rows, in other calls.
    garbage = [(9 * rng.normal(size=(10, D)), rng.integers(0, 2, size=10)) for _ in range(25)]
    other = make()
    replay(lambda: [other.partial_fit(*call) for call in garbage], transcript)
    assert contents(other) == contents(model)


@EVERY
@pytest.mark.by_day(1)
def test_a_resumed_stream_is_the_uninterrupted_one(make, tmp_path):
    expected = feed(make(), stop=300)
    for stop in (25, 150, 250):
        model = feed(make(), stop=stop)
        save_checkpoint(model, tmp_path / "stream")
        resumed = feed(load_checkpoint(tmp_path / "stream"), stop, 300)
        np.testing.assert_array_equal(resumed.coef_, expected.coef_)
        np.testing.assert_array_equal(resumed.intercept_, expected.intercept_)
        assert resumed.privacy_ledger_ == expected.privacy_ledger_
        assert resumed.privacy_spent_ == expected.privacy_spent_
        assert resumed.random_state is None


def test_streams_of_batches_and_of_fresh_noise_move_too(tmp_path):
    model = feed(classifier(solver="gd"))
    save_checkpoint(model, tmp_path / "stream")
    resumed = feed(load_checkpoint(tmp_path / "stream"), 250, 300)
    np.testing.assert_array_equal(resumed.coef_, feed(classifier(solver="gd"), stop=300).coef_)
    fresh = feed(classifier(random_state=None))
    save_checkpoint(fresh, tmp_path / "fresh")
    assert feed(load_checkpoint(tmp_path / "fresh"), 250, 300).n_samples_seen_ == 300


@pytest.mark.parametrize("make", [classifier, summing, lambda: classifier(solver="gd")])
def test_a_stream_is_in_one_place(make, tmp_path):
    path = tmp_path / "stream"
    model = feed(make())
    predictions = model.predict(X)
    save_checkpoint(model, path)
    np.testing.assert_array_equal(model.predict(X), predictions)
    with pytest.raises(ValueError, match="needs the secret state of its stream"):
        feed(model, 250, 300)
    with pytest.raises(ValueError, match="none to go on with"):
        save_checkpoint(model, tmp_path / "other")
    load_checkpoint(path)
    assert os.listdir(tmp_path) == []
    with pytest.raises(
        FileNotFoundError, match=r"load_checkpoint needs .* which is not there; maybe"
    ):
        load_checkpoint(path)


def test_what_is_no_model_has_no_stream(tmp_path):
    for thing in (3, X, tmp_path):
        with pytest.raises(TypeError, match="save_checkpoint needs a model in the middle of a"):
            save_checkpoint(thing, tmp_path / "stream")


@pytest.mark.skipif(os.name != "posix", reason="modes of files are those of posix")
def test_only_the_owner_may_read_a_checkpoint(tmp_path):
    save_checkpoint(feed(classifier()), tmp_path / "stream")
    assert stat.S_IMODE((tmp_path / "stream").stat().st_mode) == 0o600


@pytest.mark.parametrize("damage", ["cut", "changed", "longer", "empty"])
def test_a_damaged_checkpoint_is_refused_and_stays(tmp_path, damage):
    # Much of a pickle may be changed without keeping it from loading: the state of noise, say.
    path = tmp_path / "stream"
    save_checkpoint(feed(classifier()), path)
    whole = path.read_bytes()
    at = len(whole) // 2
    broken = {
        "cut": whole[:at],
        "changed": whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :],
        "longer": whole + b"0",
        "empty": b"",
    }[damage]
    path.write_bytes(broken)
    with pytest.raises(ValueError, match=r"load_checkpoint needs .* of save_checkpoint, got"):
        load_checkpoint(path)
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [broken]
    path.write_bytes(whole)
    load_checkpoint(path)


def test_a_checkpoint_of_another_version_is_refused_and_stays(tmp_path):
    path = tmp_path / "stream"
    save_checkpoint(feed(classifier()), path)
    whole = path.read_bytes()
    header, _, body = whole.partition(b"\n")
    older = header.rpartition(b" ")[0] + b" 0.0\n" + body
    path.write_bytes(older)
    with pytest.raises(ValueError, match=r"needs a checkpoint of skdp .*'0\.0' has written"):
        load_checkpoint(path)
    assert path.read_bytes() == older
    path.write_bytes(whole)
    load_checkpoint(path)


def test_a_file_that_is_there_is_not_written_over(tmp_path):
    path = tmp_path / "stream"
    path.write_bytes(b"precious")
    model = feed(classifier())
    with pytest.raises(FileExistsError):
        save_checkpoint(model, path)
    assert path.read_bytes() == b"precious"
    with pytest.raises(ValueError, match="needs a file of save_checkpoint"):
        load_checkpoint(path)
    assert path.read_bytes() == b"precious"
    # The stream has stayed where it was.
    assert feed(model, 250, 300).n_samples_seen_ == 300


def test_a_file_that_cannot_be_written_leaves_no_trace(tmp_path, monkeypatch):
    model = feed(classifier())

    def fail(descriptor):
        raise OSError("no space left")

    monkeypatch.setattr("skdp.estimators.checkpoints.os.fsync", fail)
    with pytest.raises(OSError, match="no space left"):
        save_checkpoint(model, tmp_path / "stream")
    assert os.listdir(tmp_path) == []
    monkeypatch.undo()
    assert feed(model, 250, 300).n_samples_seen_ == 300


def test_models_without_a_stream_have_nothing_to_save(tmp_path):
    for model in (classifier(), classifier().fit(X, BINARY), copy.copy(feed(classifier()))):
        with pytest.raises(ValueError, match="needs a model in the middle of a stream"):
            save_checkpoint(model, tmp_path / "stream")
    assert os.listdir(tmp_path) == []
