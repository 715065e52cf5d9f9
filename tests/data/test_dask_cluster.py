"""Fits on a cluster: what reaches this process, and what happens when a worker is lost."""

import os
import pickle
import signal
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone

dask = pytest.importorskip("dask", reason="needs dask: pip install 'skdp[dask]'")
distributed = pytest.importorskip("distributed", reason="needs dask: pip install 'skdp[dask]'")
da = pytest.importorskip("dask.array", reason="needs dask: pip install 'skdp[dask]'")
from dask_examples import two_workers  # noqa: E402

from skdp import DPLogisticRegression, PrivacyLeakWarning  # noqa: E402
from skdp.preprocessing import DPStandardScaler  # noqa: E402
from skdp.privacy.rows import DaskRows, Tasks  # noqa: E402
from skdp.problem import RowBounds  # noqa: E402
from skdp.solvers import GD, defaults  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning"),
    # Clusters that are shut down leave sockets to the collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

N, D, CHUNK = 3000, 5, 500
OPTIONS = {"data_norm": 3.0, "random_state": 0, "solver": GD(steps=12), "precondition": None}


def made(first):
    """Rows that are made where they are asked for, with their targets last."""
    rng = np.random.default_rng(int(first.ravel()[0]))
    X = rng.normal(size=(len(first), D))
    y = (X[:, 0] + rng.normal(size=len(first)) > 0).astype(float)
    return np.column_stack([X, y])


def lazy(rows=N, chunk=CHUNK):
    seeds = da.arange(rows, chunks=chunk)[:, None]
    made_there = seeds.map_blocks(made, chunks=(seeds.chunks[0], (D + 1,)), dtype=float)
    return made_there[:, :D], made_there[:, D].astype(int)


def classifier():
    return DPLogisticRegression(classes=[0, 1], **OPTIONS)


def in_memory():
    rows = np.concatenate([made(np.arange(i, i + CHUNK)[:, None]) for i in range(0, N, CHUNK)])
    return classifier().fit(rows[:, :D], rows[:, D].astype(int))


def same(model, reference, rtol=1e-10):
    np.testing.assert_allclose(model.coef_, reference.coef_, rtol=rtol)
    np.testing.assert_allclose(model.intercept_, reference.intercept_, rtol=rtol)
    assert model.privacy_ledger_ == reference.privacy_ledger_


@pytest.fixture
def gathered(monkeypatch):
    """Sizes of what clients have brought to this process."""
    sizes = []

    def weighed(bring):
        async def weigh(self, *args, **options):
            out = await bring(self, *args, **options)
            sizes.append(len(pickle.dumps(out)))
            return out

        return weigh

    for name in ("_gather", "_run"):
        honest = getattr(distributed.Client, name)
        monkeypatch.setattr(distributed.Client, name, weighed(honest))
    return sizes


@pytest.mark.parametrize("persisted", [False, True], ids=["lazy", "persisted"])
@pytest.mark.by_day(1)
def test_rows_are_never_gathered(client, gathered, persisted):
    X, y = lazy()
    if persisted:
        X, y = client.persist([X, y])
    model = classifier().fit(X, y)
    facts, *answers = gathered
    # Sizes and names of partitions, counts of classes, a vector like the model for each step,
    # residuals at a few scales of the scores.
    assert facts < 200 * X.npartitions
    assert len(answers) == 1 + 12 + 1
    # Sums of up to sixteen partitions, or workers, come by themselves.
    assert max(answers) < X.npartitions * (8 * (D + 1) + 200) + 200 < 8 * CHUNK
    score = model.score(X, y)
    assert max(gathered[14:]) < 8 * CHUNK
    same(model, in_memory())
    predicted = model.predict(X)
    assert isinstance(predicted, da.Array)
    assert score == np.mean(predicted.compute() == y.compute())


@pytest.mark.nightly
def test_a_fit_runs_on_the_client_that_is_current(client, monkeypatch):
    used, honest = [], distributed.Client._gather

    async def note(self, *args, **kwargs):
        used.append(self)
        return await honest(self, *args, **kwargs)

    monkeypatch.setattr(distributed.Client, "_gather", note)
    with distributed.Client(client.scheduler.address, set_as_default=False) as other:
        with other.as_current():
            model = classifier().fit(*lazy())
        assert used
        assert all(one is other for one in used)
        used.clear()
        same(model.fit(*lazy()), in_memory())
        assert all(one is client for one in used)


def test_a_planted_gathering_of_rows_is_seen(client, gathered):
    lazy()[0].compute()
    assert max(gathered) > 8 * CHUNK


def test_what_a_fit_keeps_on_the_workers_is_let_go(client):
    X, y = client.persist(list(lazy()))
    distributed.wait([X, y])
    before = client.run_on_scheduler(lambda dask_scheduler: set(dask_scheduler.tasks))
    classifier().fit(X, y)

    def held(dask_scheduler):
        return {key for key, task in dask_scheduler.tasks.items() if "skdp" in str(key)}

    # Messages that let go are on their way, and may be overtaken.
    for number in range(1000):
        client.submit(int, number).result()
        if not (left := client.run_on_scheduler(held)):
            break
    assert not left
    assert before <= client.run_on_scheduler(lambda dask_scheduler: set(dask_scheduler.tasks))


def test_large_public_arrays_do_not_warn(client):
    d = 1300
    X = da.random.default_rng(0).normal(size=(40, d), chunks=(20, d))
    y = da.ones(40, chunks=20)
    rows = DaskRows(X, y, np.asarray)
    matrix = np.ones((d, d))
    out = rows.sum(lambda block: np.array([matrix.sum(), block.y.sum() * matrix[0, 0]]))
    np.testing.assert_array_equal(out, [2 * d * d, 40.0])


def test_rows_are_made_by_the_task_that_sums_them_unless_others_need_them(client):
    """Made by a task of their own they would travel to the worker that keeps their targets."""
    X, y = lazy()
    rows = DaskRows(X, y, np.asarray)
    assert not rows._tasks._X.graph
    bounds = RowBounds(1.0, 1.0)

    def kernel(block):
        return block.combine(1.0 * block.y)

    expected = rows.bounded(bounds).sum(kernel)
    # A part of what the cluster has, one array that all are parts of, and rows that are large.
    held = client.persist(X)
    whole = da.from_array(held.compute(), chunks=(CHUNK, -1))
    for source in (held, whole):
        rows = DaskRows(source.map_blocks(np.ascontiguousarray), y, np.asarray)
        np.testing.assert_array_equal(rows.bounded(bounds).sum(kernel), expected)


@pytest.mark.parametrize("inline", [None, False, True], ids=["array", "mapped", "inline"])
def test_rows_that_tasks_hold_are_sent_once_and_not_whole(client, tmp_path, inline):
    X = np.random.default_rng(0).normal(size=(70_000, 20))
    np.save(tmp_path / "X.npy", X)
    # Dask copies a mapped file into memory, and cuts arrays of no other kind.
    mapped = X if inline is None else np.load(tmp_path / "X.npy", mmap_mode="r")
    held = da.from_array(mapped, chunks=(10_000, -1), inline_array=bool(inline))
    sent, send = [], distributed.Client._send_to_scheduler

    def weigh(self, message):
        sent.extend(memoryview(frame).nbytes for frame in distributed.protocol.dumps(message))
        return send(self, message)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distributed.Client, "_send_to_scheduler", weigh)
        with pytest.warns(UserWarning, match="sent from this process to the workers"):
            rows = DaskRows(held, da.ones(70_000, chunks=10_000), np.asarray)
        sums = [rows.sum(lambda block: block.X.sum(axis=0)) for _ in range(2)]
        assert sum(sent) < 1.5 * X.nbytes
        # Of people's rows nothing is said that follows from their number.
        people = da.arange(70_000, chunks=10_000) % 1000
        DaskRows(held, people, np.asarray, privacy_unit=people)
    np.testing.assert_array_equal(*sums)
    np.testing.assert_allclose(sums[0], X.sum(axis=0))


def test_how_large_graphs_are_is_not_said_where_the_number_of_rows_is_secret(client):
    """Of parts that are too small for each to be kept by the cluster."""
    n = 70_000
    X = np.random.default_rng(0).normal(size=(n, 20))
    held = da.from_array(X, chunks=(350, -1))
    people = da.arange(n, chunks=350) % 1000
    rows = DaskRows(held, people, np.asarray, privacy_unit=people)
    rows.sum(lambda block: block.X.sum(axis=0))
    texts = np.where(
        X[:, 0] > 0, "more than nothing, or so they say here", "nothing, or less than that"
    )
    model = DPLogisticRegression(**{**OPTIONS, "solver": GD(steps=2)})
    # Labels are read off targets.
    with pytest.warns(PrivacyLeakWarning):
        model.fit(held, da.from_array(texts, chunks=350), privacy_unit=people)
    scaler = DPStandardScaler(bounds=(-5.0, 5.0), epsilon=1.0, delta=1e-6, random_state=0)
    scaler.fit(held, privacy_unit=people)
    # Of rows whose number is public the cluster may say it.
    with pytest.warns(UserWarning, match="large graph"):
        DaskRows(held, people, np.asarray).sum(lambda block: block.X.sum(axis=0))


@pytest.fixture
def processes():
    """Workers that are started again when they die."""
    with two_workers(processes=True) as client:
        yield client


def doomed(client):
    """Address and process of the worker that is going to be killed."""
    return min(client.run(os.getpid).items(), key=lambda worker: worker[1])


def killing(monkeypatch, client, at):
    """Kill a worker when the query of this number is asked."""
    asked = []
    answer = Tasks.answer

    def answer_and_kill(self, *args):
        asked.append(self)
        if len(asked) == at:
            os.kill(doomed(client)[1], signal.SIGKILL)
        return answer(self, *args)

    monkeypatch.setattr(Tasks, "answer", answer_and_kill)
    return asked


@pytest.mark.nightly
@pytest.mark.parametrize("persisted", [False, True], ids=["lazy", "persisted"])
def test_a_fit_survives_the_loss_of_a_worker(processes, monkeypatch, persisted):
    X, y = lazy()
    if persisted:
        X, y = processes.persist([X, y])
    asked = killing(monkeypatch, processes, at=5)
    model = classifier().fit(X, y)
    assert len(asked) == 1 + 12 + 1
    same(model, in_memory())


@pytest.mark.nightly
@pytest.mark.parametrize("persisted", [False, True], ids=["lazy", "persisted"])
def test_a_fit_survives_the_loss_of_a_worker_and_its_part_of_the_sample(
    processes, monkeypatch, persisted
):
    monkeypatch.setattr(defaults.Pilot, "LEAST_ENTRIES", 1)
    X, y = lazy(rows=60_000, chunk=10_000)
    if persisted:
        X, y = processes.persist([X, y])
    model = DPLogisticRegression(classes=[0, 1], data_norm=3.0, epsilon=20.0, random_state=0)
    samples, draw = [], Tasks.sampled

    def drawn(self, positions):
        samples.append(draw(self, positions))
        return samples[-1]

    monkeypatch.setattr(Tasks, "sampled", drawn)
    asked = killing(monkeypatch, processes, at=6)
    model.fit(X, y)
    assert asked[5] is samples[0]
    same(model, clone(model).fit(*dask.compute(X, y)), rtol=1e-6)


@pytest.mark.nightly
def test_a_fit_whose_rows_are_lost_fails_and_says_what_it_has_spent(processes, monkeypatch):
    X, _ = lazy()
    # Scattered rows are held by one worker, the one that dies, and nobody can make them again.
    held = {"hash": False, "workers": [doomed(processes)[0]]}
    futures = [processes.scatter(chunk, **held) for chunk in (X[:CHUNK].compute(),) * 4]
    distributed.wait(futures)
    X = da.concatenate([da.from_delayed(f, (CHUNK, D), dtype=float) for f in futures])
    killing(monkeypatch, processes, at=5)
    model = classifier()
    with pytest.raises(Exception, match=r"skdp|lost|cancel") as failed:
        model.fit(X, da.zeros(4 * CHUNK, chunks=CHUNK, dtype=int))
    assert failed.value.__notes__
    # Five queries were charged, of which four were answered.
    assert sum(event.count for event in model.privacy_ledger_) == 5
    assert not hasattr(model, "coef_")


def restart(client):
    client.restart()


def stop_the_scheduler(client):
    client.sync(client.cluster.scheduler.close)


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("sample", [False, True], ids=["all rows", "a sample"])
@pytest.mark.parametrize("happens", [restart, stop_the_scheduler])
def test_a_fit_whose_scheduler_starts_again_or_ends_fails_and_says_what_it_has_spent(
    processes, monkeypatch, happens, sample
):
    X, y = lazy(rows=60_000, chunk=10_000) if sample else lazy()
    model = classifier()
    if sample:
        monkeypatch.setattr(defaults.Pilot, "LEAST_ENTRIES", 1)
        model = DPLogisticRegression(classes=[0, 1], data_norm=3.0, epsilon=20.0, random_state=0)
    asked, answer = [], Tasks.answer

    def answer_and_lose(self, *args):
        asked.append(self)
        if len(asked) == 5:
            happens(processes)
        return answer(self, *args)

    monkeypatch.setattr(Tasks, "answer", answer_and_lose)
    with pytest.raises(Exception, match=r".") as failed:
        model.fit(X, y)
    # The first query of a fit that starts on a sample is about all rows.
    assert (asked[4] is not asked[0]) is sample
    assert failed.value.__notes__
    assert sum(event.count for event in model.privacy_ledger_) == 5
    assert not hasattr(model, "coef_")


def test_a_slow_worker_is_waited_for(client):
    """The first partition is done when the last one, on the other worker, has been."""
    workers = sorted(client.scheduler_info()["workers"])
    parts = [np.full((4, 2), fill) for fill in (1.0, 2.0)]
    futures = [client.scatter(p, workers=[w]) for p, w in zip(parts, workers, strict=True)]
    X = da.concatenate([da.from_delayed(f, (4, 2), dtype=float) for f in futures]).persist()
    rows = DaskRows(X, da.zeros(8, chunks=4), np.asarray)

    def kernel(block):
        done = distributed.Event("the other worker is done")
        if block.X[0, 0] == 2.0:
            done.set()
        else:
            # Not forever, should one worker have got both.
            done.wait(timeout="5s")
        return block.X.sum(axis=0)

    np.testing.assert_array_equal(rows.sum(kernel), [12.0, 12.0])


def test_partitions_on_one_worker_are_one_task_and_those_of_none_each_by_itself(client):
    X, y = lazy()
    held = DaskRows(*client.persist([X, y]), np.asarray)
    places = held._tasks._places
    assert len(places) <= 2
    assert sorted(place for group in places for place in group) == list(range(N // CHUNK))
    anew = DaskRows(X.map_blocks(np.ascontiguousarray), y + 0, np.asarray)
    assert anew._tasks._places == [[place] for place in range(N // CHUNK)]

    def kernel(block):
        return block.combine(np.tanh(block.scores(np.ones(D + 1))))

    bounds = RowBounds(1.0, 1.0)
    sums = [rows.bounded(bounds).sum(kernel) for rows in (held, anew)]
    np.testing.assert_array_equal(*sums)
    # A sample is in memory, whatever it was drawn of.
    held, anew = (rows.sample(np.arange(0, N, 7)) for rows in (held, anew))
    assert len(anew._tasks._places) <= 2
    sums = [rows.bounded(bounds).sum(kernel) for rows in (held, anew)]
    np.testing.assert_array_equal(*sums)


def lost(self, *args, **options):
    raise OSError("A worker is gone.")


def of_one_alone(self, *args, run=distributed.Client.run, **options):
    """What workers say where one of them lacks something."""
    found = run(self, *args, **options)
    assert all(found.values())
    return found | {max(found): []}


@pytest.mark.parametrize("run", [lost, of_one_alone], ids=["no answer", "rows elsewhere"])
@pytest.mark.parametrize("of_people", [False, True], ids=["rows", "people"])
def test_workers_that_hold_all_rows_are_asked_without_tasks_and_tasks_answer_the_same(
    client, run, of_people
):
    X, y = client.persist([*lazy()])
    people = {"privacy_unit": da.arange(N, chunks=CHUNK) % 1000} if of_people else {}

    def kernel(block):
        return block.combine(np.tanh(block.scores(np.ones(D + 1))))

    def sums(**changes):
        """Of rows as they came, brought to bounds, and of a sample if there are no people."""
        with pytest.MonkeyPatch.context() as patch:
            rows = DaskRows(X, y, np.asarray, **people)
            for name, change in changes.items():
                patch.setattr(distributed.Client, name, change)
            found = [rows.sum(lambda block: block.X.sum(axis=0))]
            views = [rows] if of_people else [rows, rows.sample(np.arange(0, N, 7))]
            return found + [view.bounded(RowBounds(1.0, 1.0)).sum(kernel) for view in views]

    by_tasks = sums(run=run)
    at_once = sums(get=lost)
    for one, other in zip(by_tasks, at_once, strict=True):
        np.testing.assert_array_equal(one, other)


def copied(client, held):
    client.replicate(held)


def moved(client, held):
    client.replicate(held)
    keys, worker = [future.key for future in held], min(client.nthreads())

    async def let_go(dask_scheduler):
        await dask_scheduler.delete_worker_data(worker, keys, "test")

    client.run_on_scheduler(let_go)


def taken_over(client, held):
    client.sync(client.cluster.workers[0].close)


def joined(client, held):
    client.cluster.scale(3)
    client.wait_for_workers(3)


@pytest.mark.parametrize("sample", [False, True], ids=["all rows", "a sample"])
@pytest.mark.parametrize("happens", [copied, moved, taken_over, joined])
@pytest.mark.by_day(4)
def test_each_row_is_summed_once_wherever_partitions_have_gone(monkeypatch, happens, sample):
    ran, run = [], distributed.Client._run

    async def note(self, *args, **options):
        ran.append(set())
        out = await run(self, *args, **options)
        ran[-1] |= set(out)
        return out

    def kernel(block):
        return np.append(block.X.sum(axis=0), len(block.y))

    with two_workers() as client:
        X, y = client.persist([*lazy()])
        rows = whole = DaskRows(X, y, np.asarray)
        if sample:
            rows = whole.sample(np.arange(0, N, 7))
        before, workers = rows.sum(kernel), set(client.nthreads())
        assert before[-1] == rows.n_samples
        assert set(rows._tasks._holders) == workers
        happens(client, client.futures_of([rows._tasks._X, rows._tasks._opened]))
        monkeypatch.setattr(distributed.Client, "_run", note)
        # Where each of them has gone to a worker that had others it is still asked.
        if at_once := happens is not taken_over:
            monkeypatch.setattr(distributed.Client, "get", lost)
        for _ in range(2):
            np.testing.assert_array_equal(rows.sum(kernel), before)
        # Nobody is asked who is gone, nor who had no rows and might keep a query waiting.
        assert ran == [workers] * 2 * at_once


def test_fits_at_the_same_time_are_each_as_in_memory(client):
    X, y = client.persist([*lazy()])
    with ThreadPoolExecutor(3) as pool:
        models = [*pool.map(lambda _: classifier().fit(X, y), range(3))]
    for model in models:
        same(model, in_memory())


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_query_whose_answers_are_lost_is_charged_once(client, monkeypatch, error):
    """Tasks answer it, unless a user has interrupted it."""
    X, y = client.persist([*lazy()])
    run, asked = distributed.Client.run, []

    def run_and_lose(self, *args, **options):
        asked.append(run(self, *args, **options))
        # The first question is about sizes of partitions, and costs nothing.
        if len(asked) == 1 + 5:
            raise error
        return asked[-1]

    model = classifier()
    with monkeypatch.context() as patch:
        patch.setattr(distributed.Client, "run", run_and_lose)
        if error is KeyboardInterrupt:
            with pytest.raises(KeyboardInterrupt):
                model.fit(X, y)
            assert sum(event.count for event in model.privacy_ledger_) == 5
            assert not hasattr(model, "coef_")
        else:
            same(model.fit(X, y), in_memory())
        assert len(asked) == 1 + 5
    same(model.fit(X, y), in_memory())


def test_tasks_have_a_small_part_of_what_workers_may_keep(client, monkeypatch):
    X, y = client.persist(list(lazy()))
    of_chunk, info = CHUNK * D * 8, distributed.Client.scheduler_info
    limits = {}

    def limited(self, *args, **options):
        found = info(self, *args, **options)
        for worker in found["workers"].values():
            worker.update(limits)
        return found

    monkeypatch.setattr(distributed.Client, "scheduler_info", limited)
    for limit, most in ((8 * of_chunk, 1), (16 * of_chunk, 2), (0, N // CHUNK)):
        limits["memory_limit"] = limit
        rows = DaskRows(X, y, np.asarray)
        assert max(map(len, rows._tasks._places)) <= most
        total = rows.sum(lambda block: block.X.sum(axis=0))
        np.testing.assert_allclose(total, X.sum(axis=0).compute())


def test_few_partitions_that_are_read_anew_are_shared_by_the_workers(client):
    X, y = lazy()
    few = DaskRows(X[: 4 * CHUNK], y[: 4 * CHUNK], np.asarray)
    holders = client.who_has(client.futures_of(few._tasks._opened))
    assert len({worker for workers in holders.values() for worker in workers}) == 2
