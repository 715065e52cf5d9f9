"""Bugs in what is computed of stored rows, by threads, in runs or in single precision."""

from functools import partial

import numpy as np
import test_turns
from data import test_every_store as stores
from data import test_mapped_sparse as mapped_sparse
from data import test_threads as threads
from estimators import test_partial_fit_turns as turns
from planted_bugs.bug import TOO_FAR, Anew, Bug, Value, gives, patching
from privacy import test_scaled_columns as scaled_columns
from privacy import test_subsampling as subsampling
from privacy.queries import test_perturbed_minimum as perturbed_minimum
from privacy.streams import test_stream_session as stream_session

from skdp.privacy import Adjacency
from skdp.privacy.rows import DenseRows
from skdp.privacy.rows import threads as rows_threads
from skdp.problem.losses import Logistic
from skdp.testing import check_sensitivity


def remembering():
    before = [0]

    def along(honest, block, v):
        before.append(len(block.y))
        return honest(block, v) + 1e-9 * before[-2]

    return along


def without_a_floor(_, block, row_map):
    shift = row_map.shift
    squares = block.squared_lengths(row_map.scale)
    squares = squares - 2 * block.along(row_map.scale * shift) + shift @ shift
    return np.sqrt(np.maximum(squares, 0.0))


def second_block_first(honest, kernel, blocks, entries):
    several = rows_threads.usable_threads() > 1 and isinstance(blocks, list)
    return honest(kernel, blocks[1:] + blocks[:1] if several else blocks, entries)


def dropped(honest, kernel, run):
    try:
        return honest(kernel, run)
    except MemoryError:
        return np.zeros(31)


def rounded_to_the_nearest(_, norms):
    with np.errstate(over="ignore"):
        return norms.astype(np.float32)


def of_few_units(_, query, length, slope):
    """The former tolerance, which did not grow with the number of additions."""
    n = query.problem.n_samples
    steepest = n * query.curvature + query.strength
    return 16 * 2.0**-52 * (steepest * length + n * query.gradient.bound) / 2.5


def by_place(_, block, v):
    return block._X @ v * (1.0 if block._factor is None else block._factor)


def lengths_without_a_floor_are_long_enough():
    check_sensitivity(*mapped_sparse.cancelling_gradients(1.0), Adjacency.REPLACE_ONE)


BUGS = (
    Bug("scores that remember the block before", {"BoundedBlock.along": Anew(remembering)}, partial(stores.check_any_order, DenseRows, stores.BOUNDS["plain"])),
    Bug("scores by the place of a row", {"BoundedBlock.along": by_place}, subsampling.check_drawn_row),
    Bug("lengths of sparse rows without a floor", {"mapped.sparse_lengths": without_a_floor}, lengths_without_a_floor_are_long_enough, TOO_FAR),
    Bug("sums in the order in which blocks are done", {"rows_base.total_over": second_block_first}, partial(patching, threads.check_bits_of_a_gradient), "not equal"),
    Bug("a run of rows that is left out", {"bounded_rows.row_runs": lambda honest, m: honest(m)[:1]}, partial(patching, threads.check_runs, "gradient"), "Not equal"),
    Bug("a run of rows that is dropped when it fails", {"threads._total_of_run": dropped}, partial(patching, threads.test_what_a_block_raises_in_a_thread_is_raised_by_the_query, 2, 2), "DID NOT RAISE"),
    Bug("kept norms that are rounded to the nearest", {"bounded_rows.rounded_up": rounded_to_the_nearest}, threads.test_what_is_kept_in_single_precision_errs_on_the_safe_side),
    Bug("norms of many rows that are rounded to the nearest", {"bounded_rows.rounded_up": rounded_to_the_nearest}, partial(threads.check_norms_of_many, 20), "too short"),
    Bug("a shift that is not turned with its coordinates", {"RowMap.turned": lambda honest, row_map: (honest(row_map)[0], row_map.shift)}, partial(threads.check_lengths_in_single, 20), "too short"),
    Bug("lengths without a margin for single precision", {"mapped.SINGLE_ROUNDING": Value(0.0)}, partial(threads.check_lengths_in_single, 20), "too short"),
    Bug("entries on a scale that are not clipped again", {"bounded_rows._put": gives(None)}, scaled_columns.check_rows_on_a_scale_are_no_longer_than_their_norms, "longer than"),
    Bug("a tolerance of a few units in the last place", {"PerturbedMinimumQuery.rounding": of_few_units}, partial(perturbed_minimum.check_tolerance, 10**7, 1e6, Logistic())),
    Bug("running sums off the grid", {"StreamOpening.on_grid": lambda _, opening, values: values}, partial(stream_session.test_releases_lie_on_a_public_grid_whatever_the_rows, "blt")),
    Bug("threads that do not wait for each other", {"lock.run_locked": lambda _, model, method, call, *arguments, **options: call(*arguments)}, partial(patching, turns.check_threads)),
    Bug("fits that overtake each other", {"lock.run_locked": lambda _, model, method, call, *arguments, **options: call(*arguments)}, partial(patching, test_turns.check_receipt)),
)  # fmt: skip
