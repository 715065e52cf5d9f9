"""Ceilings reach into threads and worker processes, and outlive neither loss nor delay."""

import multiprocessing
import os
import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest
from budget_tasks import (
    DELTA,
    EPSILON,
    X,
    Y,
    budget,
    budget_of_copies,
    fit_a_clone,
    fit_a_new_one,
    fit_a_pickle,
    folders,
    model,
    outcome,
)
from joblib import Parallel, delayed

FORK = "fork" in multiprocessing.get_all_start_methods()


@pytest.mark.nightly
def test_workers_of_joblib_charge_the_ceiling_of_their_parent():
    with budget_of_copies() as ceiling:
        results = Parallel(n_jobs=2)(delayed(fit_a_clone)(model(3)) for _ in range(4))
        assert os.getpid() not in {process for process, _ in results}
        assert sum(what == "fitted" for _, what in results) == 3
        (late,) = Parallel(n_jobs=2)([delayed(fit_a_clone)(model(3))])
        assert "there is epsilon=0 " in late[1]
        assert {entry.process for entry in ceiling.receipts} <= {p for p, _ in results}
        assert ceiling.spent == (EPSILON, DELTA)
        kept = pickle.dumps(model(3))
    late = Parallel(n_jobs=2)([delayed(fit_a_pickle)(kept), delayed(fit_a_new_one)(3)])
    assert "is closed" in late[0][1]
    assert late[1][1] == "fitted"
    # In the process of the budget, and in one that is nobody's worker, it is a new piece of work.
    assert fit_a_pickle(kept)[1] == "fitted"


@pytest.mark.skipif(not FORK, reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_children_charge_the_ceiling_too():
    with budget() as ceiling:
        with multiprocessing.get_context("fork").Pool(1) as pool:
            results = pool.map(fit_a_new_one, [2, 2, 2])
        assert [what == "fitted" for _, what in results] == [True, True, False]
        assert ceiling.spent == (EPSILON, DELTA)


@pytest.mark.skipif(not FORK, reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_that_outlives_the_budget_is_refused_and_does_not_close_it():
    with budget() as ceiling:
        child = multiprocessing.get_context("fork").Process(target=ceiling.close)
        child.start()
        child.join()
        assert child.exitcode == 0
        assert folders()
        model(2).fit(X, Y)
        assert len(ceiling.receipts) == 1
        pool = multiprocessing.get_context("fork").Pool(1)
    with pool:
        assert "is closed" in pool.apply(fit_a_new_one, [2])[1]
    pool.join()


@pytest.mark.parametrize("nested", [False, True])
def test_a_closed_budget_leaves_nothing_in_the_environment(nested):
    before = dict(os.environ)
    with budget():
        assert dict(os.environ) != before
        if nested:
            with budget():
                pass
            assert dict(os.environ) != before
    assert dict(os.environ) == before


def test_threads_share_the_ceiling_and_none_slips_through():
    with budget() as ceiling:
        with ThreadPoolExecutor(8) as pool:
            outcomes = list(pool.map(outcome, [model(3) for _ in range(8)]))
        assert sum(what == "fitted" for _, what in outcomes) == 3
        assert ceiling.spent == (EPSILON, DELTA)


@pytest.mark.nightly
def test_models_made_in_a_worker_are_charged_where_the_worker_was_started():
    with multiprocessing.get_context("spawn").Pool(1) as earlier, budget() as ceiling:
        earlier.apply(os.getpid)
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            results = [pool.apply(fit_a_new_one, [2]) for _ in range(3)]
        assert [what == "fitted" for _, what in results] == [True, True, False]
        assert os.getpid() not in {entry.process for entry in ceiling.receipts}
        assert ceiling.spent == (EPSILON, DELTA)
        # A clone takes the budget along; what is made there cannot know of it, as pages say.
        assert "there is epsilon=0 " in earlier.apply(fit_a_clone, [model(2)])[1]
        assert earlier.apply(fit_a_new_one, [2])[1] == "fitted"
