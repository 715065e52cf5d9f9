"""Bugs that protect rows where people were promised to be protected."""

from dataclasses import replace
from functools import partial

import numpy as np
from data import test_units_in_parts
from estimators import test_privacy_unit
from example_of_a_query import Example
from examples_of_queries import EXAMPLES
from examples_of_units import ALIKE, UNLIKE
from kinds_of_rows import largest_move, plain, units_of
from planted_bugs.bug import TOO_FAR, Bug, Value, gives, refused
from privacy import test_composition
from privacy import test_privacy_units as of_units
from privacy.queries import test_minimum_of_people as of_minima
from remote import test_site

from skdp import DPContextualBandit, DPLogisticRegression
from skdp.privacy import Adjacency
from skdp.privacy.accounting import PerturbedGaussianDP, PureDP
from skdp.privacy.queries import GradientQuery
from skdp.privacy.rows import ChunkedRows, Chunks, DaskRows, DenseRows, PrivacyUnits, RawBlock
from skdp.problem import Problem, RowBounds
from skdp.problem.losses import Logistic
from skdp.solvers import GD

TAKEN = {kind.name: kind for kind in EXAMPLES if kind.takes_units}
# Sums over rows of samples need units that are drawn; of weights there are none to differ by.
OTHERS = ("sampled_gradient", "total_weight")
BY_NAME = {name: kind for name, kind in TAKEN.items() if name not in OTHERS}
IN_THE_DEFAULT_RUN = ("gradient", "histogram", "second_moments", "vertex")
OPTIONS = {"classes": [0, 1], "data_norm": 3.0, "random_state": 0, "epsilon": 2.0}
PEOPLE = 200


def a_person_with_fifty_rows_moves_within_the_sensitivity(name):
    for example in EXAMPLES[BY_NAME[name]][1][:2]:
        people = units_of(example, most=50, alike=True, seed=3)
        largest_move(example, people, Adjacency.REPLACE_ONE, partial(plain, of_people=True))


def people(seed=0):
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(PEOPLE), rng.integers(1, 6, PEOPLE))
    X = rng.normal(size=(len(labels), 2))
    return X, (X[:, 0] > 0) * 1, labels


def moves_within_the_sensitivity(query, answers, slack=1e-6):
    """Two answers, of which one person has other rows in the second."""
    moved = np.linalg.norm(answers[1] - answers[0]) / query.sensitivity(Adjacency.REPLACE_ONE)
    assert moved <= 1 + slack, f"{moved} times its declared sensitivity"


def in_memory(X, labels):
    return DenseRows(X, np.zeros(len(X)), None, PrivacyUnits.of(labels))


def a_person_among_three_moves_within_the_sensitivity(store, d, counts):
    """A person with these numbers of rows, which lie on opposite sides, in one store or another."""
    rng, answers = np.random.default_rng(0), []
    query = GradientQuery(Problem(Logistic(), 3, d, RowBounds(1.0)), np.zeros(d))
    for side, count in zip((1.0, -1.0), counts, strict=True):
        labels = rng.permutation(np.repeat(np.arange(3), (count, 5, 7)))
        X = np.zeros((len(labels), d), dtype=np.float32)
        X[:, 0] = np.where(labels == 0, side, 0.5)
        rows = store(X, labels)
        if store is in_memory:
            assert len(list(rows.blocks())) > 2
        answers.append(query.evaluate(rows))
    moves_within_the_sensitivity(query, answers)


# Rows of so many features lie in blocks of about five hundred.
IN_BLOCKS = partial(
    a_person_among_three_moves_within_the_sensitivity, in_memory, 1 << 11, (1500, 2500)
)


def of_a_large_table(X, labels, on_workers=False):
    """Rows in parts of ten, of which every other one names people in fewer bytes."""
    parts, y = range(0, len(X), 10), np.zeros(len(X))
    if on_workers:
        import dask.array as da

        X, y, labels = (
            da.from_array(part, chunks=(10, *part.shape[1:])) for part in (X, y, labels)
        )
        return DaskRows(X, y, np.asarray, privacy_unit=labels)
    names = [labels[i : i + 10].astype(np.int64 if i % 20 else np.uint8) for i in parts]
    chunks = [(X[i : i + 10], y[i : i + 10], None, of) for i, of in zip(parts, names, strict=True)]
    return ChunkedRows(Chunks(chunks), np.asarray, of_units=True)


def a_person_in_several_parts_moves_within_the_sensitivity(on_workers):
    store = partial(of_a_large_table, on_workers=on_workers)
    a_person_among_three_moves_within_the_sensitivity(store, 2, (50, 80))


def a_person_of_many_rows_moves_within_the_sensitivity(d):
    """Rows of a person in one piece, or in several; the gradient of its mean is what is clipped."""
    problem, answers = Problem(Logistic(), 2, d, RowBounds(1.0)), []
    query = GradientQuery(problem, np.zeros(d), 0.1, whole_units=True)
    for side in (1.0, -1.0):
        X = np.zeros((10_000, d))
        X[:, 0] = side
        X = np.vstack([np.ones((1, d)) / d, X])
        labels = np.append(0, np.ones(10_000, dtype=int))
        answers.append(query.evaluate(in_memory(X, labels)))
    moves_within_the_sensitivity(query, answers)


def the_mean_of_many_rows_is_clipped_once(d):
    """Rows in several pieces, or blocks, whose gradients cancel over all of them and in none."""
    X = np.zeros((10_000, d))
    X[:5000, 0], X[5000:, 0] = 1.0, -1.0
    labels = np.append(np.zeros(9999, dtype=int), 1)
    X[-1] = 0.0
    query = GradientQuery(Problem(Logistic(), 2, d, RowBounds(1.0)), np.zeros(d), 0.1, True)
    found = query.evaluate(in_memory(X, labels))
    assert np.linalg.norm(found) < 1e-4, f"{found[0]} of a mean that is about 0"


def the_number_of_parts_of_a_person_is_told_by_nothing():
    told = []
    for rows in (5, 90):
        labels = np.repeat(np.arange(3), (rows, 5, 7))
        told.append(of_a_large_table(np.zeros((len(labels), 2)), labels).n_samples)
    assert told == [3, 3], told


def in_one_list(one, other):
    return PrivacyUnits.of([*one, *other]).n_units


def in_two_chunks(one, other):
    source = [(np.ones((3, 2)), np.zeros(3), None, labels) for labels in (one, other)]
    return ChunkedRows(Chunks(source), np.asarray, of_units=True).n_samples


def in_two_calls(one, other):
    model = DPLogisticRegression(**OPTIONS, solver=GD(steps=1), precondition=None)
    for labels in (one, other):
        model.partial_fit(np.ones((3, 2)), np.arange(3) % 2, privacy_unit=labels)
    return len(model._session.visits._counts)


def in_two_calls_of_a_bandit(one, other):
    model = DPContextualBandit(arms=[0, 1], data_norm=2.0, horizon=200, random_state=0)
    for labels in (one, other):
        model.partial_fit(np.ones((3, 2)), [0, 1, 1], [0.5, 0.1, 0.2], privacy_unit=labels)
    return len(model._session.visits._counts)


def nobody_has_two_names(place):
    """Three people whom two parts of a table label in any two ways are three, or are refused."""
    for way, parts in {**ALIKE, **UNLIKE}.items():
        for pair in (parts, parts[::-1]):
            try:
                found = place(*pair)
            except ValueError:
                assert way in UNLIKE, f"{way}: refused"
                continue
            assert found <= 3, f"{way}: somebody has two names"


def a_source_that_changes_is_stopped():
    X, labels = np.ones((30, 2)), np.repeat(np.arange(3), 10)
    passes = []

    def read():
        passes.append(labels if len(passes) < 1 else labels[np.maximum(np.arange(30), 15)])
        yield X, np.zeros(30), None, passes[-1]

    rows = ChunkedRows(Chunks(read), np.asarray, of_units=True)
    with refused("rows of others at another pass"):
        rows.sum(lambda raw: np.zeros(1))


def rows_alike_count_together():
    """A difference of gradients, whose public centre is taken off once a person."""
    example: Example = EXAMPLES[TAKEN["gradient_difference"]][1][0]
    here, _ = units_of(example, most=50, alike=True, seed=3)
    expected = example.query.evaluate(plain([(X[:1], y[:1], None) for X, y, _ in here]))
    found = example.query.evaluate(plain(here, of_people=True))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-12)


def every_row_whole(honest, self):
    found = honest(self)
    return found if self.shares is None else np.ones(len(self.y))


def counts_rows(honest, self, X, *parts):
    honest(self, X, *parts)
    self.n_samples = X.shape[0]


def shared_within_a_block(honest, self, start, stop):
    found = honest(self, start, stop)
    if self.units is None:
        return found
    shares = PrivacyUnits.of(self.units.codes[start:stop]).shares
    return RawBlock(found.X, found.y, found.weights, shares)


def rows_one_by_one(honest, self, start, stop, *pieces):
    found = honest(self, start, stop)
    return RawBlock(found.X, found.y, found.weights, found.shares)


def counted_in_this_part_alone(honest, self, names, counts, kind):
    numbered = honest(self, names, counts, kind)
    return replace(numbered, totals=counts, before=0 * numbered.before)


def counted_anew_in_each_part(honest, self, names, counts, kind):
    self.parts = vars(self).get("parts", 0) + 1
    honest(self, names, counts, kind)
    honest(self, [("again", self.parts, name) for name in names], counts, kind)


def moments_of_rows(honest, self, rows):
    """Scores that are squared before they are averaged."""
    bounded = rows.bounded(replace(self.problem.bounds, data_norm=1e150))
    kernel = lambda block: sum(map(self._summed, self._scored(block)))  # noqa: E731
    return bounded.sum(kernel) / self.problem.n_samples


def added_up_by_place(honest, X, w):
    """Terms of a row in an order that its place decides, as with some linear algebra."""
    turned = [honest(np.roll(x, i)[None], np.roll(w, i, axis=0)) for i, x in enumerate(X)]
    return np.concatenate(turned)


def whatever_the_first_is(honest, *kinds):
    return next((kind for kind in kinds if kind is not None), None)


def of_all_units(honest, label):
    """As if dates of all units were numbers of the same."""
    dates = isinstance(label, np.datetime64 | np.timedelta64)
    return type(label) if dates else honest(label)


def of_all_numbers(honest, label):
    return int if honest(label) in (float, np.float32) else honest(label)


def of_outer_types(honest, label):
    return type(label) if isinstance(label, tuple | frozenset) else honest(label)


def without_trailing_zeros(honest, label):
    return bytes if isinstance(label, bytes) else honest(label)


KINDS_CONFUSED = {
    "dates of all units": of_all_units,
    "numbers of all precisions": of_all_numbers,
    "tuples of all types": of_outer_types,
    "bytes with and without zeros at their ends": without_trailing_zeros,
}
PARTS = {
    "list": ("privacy_units.one_kind", in_one_list),
    "chunks": ("privacy_units.one_kind", in_two_chunks),
    "calls": ("visits.one_kind", in_two_calls),
    "calls of a bandit": ("visits.one_kind", in_two_calls_of_a_bandit),
}


def pieces_as_people(honest, runs):
    return (sums for sums, _, _ in runs)


PLACES = partial(
    of_units.test_what_is_computed_of_a_row_does_not_tell_how_many_rows_others_have, d=37, columns=1
)
BUGS = (
    *(Bug(f"a person with fifty rows counts as fifty ({name})", {"RawBlock.bounded_weights": every_row_whole}, partial(a_person_with_fifty_rows_moves_within_the_sensitivity, name), TOO_FAR, nightly=name not in IN_THE_DEFAULT_RUN) for name in BY_NAME if name not in ("column_moments", "metric_means", "score_moments")),
    *(Bug(f"moments that count all rows alike ({name})", {"UnitMoments.of_scaled": lambda honest, self, u, shares=None: honest(self, u)}, partial(a_person_with_fifty_rows_moves_within_the_sensitivity, name), TOO_FAR, nightly=name == "metric_means") for name in ("column_moments", "metric_means")),
    Bug("a number of rows in place of that of people", {"ResidentRows.__init__": counts_rows}, partial(test_privacy_unit.test_all_that_is_published_follows_from_answers_whatever_the_number_of_rows, "logistic", 10)),
    Bug("a block that shares a person's weight among its own rows", {"ResidentRows._block": shared_within_a_block}, IN_BLOCKS, TOO_FAR),
    Bug("samples of rows in place of people", {"ResidentRows._block": rows_one_by_one}, of_units.test_a_sample_is_one_of_people),
    Bug("scores that depend on the place of a row", {"bounded_rows.by_row": added_up_by_place}, partial(PLACES, mapped=False)),
    Bug("lengths that depend on the place of a row", {"mapped.by_row": added_up_by_place}, partial(PLACES, mapped=True)),
    Bug("a receipt that does not say what it is about", {"PrivateLinearModel._publish_receipt": lambda honest, self: (honest(self), vars(self).pop("privacy_unit_"))}, test_privacy_unit.test_no_total_is_one_of_people_and_of_rows),
    Bug("a minimiser that is proved for rows taken for people", {"PerturbedMinimumQuery.holds_for_units": Value(True), "PerturbedGaussianDP.for_units": lambda honest, self: self}, partial(of_minima.test_a_ledger_of_rows_reads_nobody, PerturbedGaussianDP())),
    Bug("a minimiser over passes at which rows of people weigh differently", {"ChunkedRows.steady": Value(True)}, partial(test_units_in_parts.test_chunks_that_may_come_in_another_order_have_no_minimiser, PureDP(of_units=True))),
    Bug("the Jacobian of one row for a person", {"PerturbedMinimumQuery._rank": Value(1)}, partial(of_minima.test_the_jacobian_of_a_person_is_attained_and_is_more_than_that_of_a_row, 8)),
    Bug("the vertices of one row for a person", {"perturbation._log_sum": lambda honest, mu, offset, of_units: honest(mu, offset, False)}, partial(of_minima.test_the_bound_of_people_is_the_least_of_its_tangents, 0.3, 0.5)),
    Bug("rows that are counted chunk by chunk and not in the whole table", {"CountingPass.numbered": counted_in_this_part_alone}, partial(a_person_in_several_parts_moves_within_the_sensitivity, False), TOO_FAR),
    Bug("rows that are counted partition by partition", {"CountingPass.numbered": counted_in_this_part_alone}, partial(a_person_in_several_parts_moves_within_the_sensitivity, True), TOO_FAR, needs="dask.array"),
    Bug("a person whom the border of a chunk makes two", {"UnitCounts.add": counted_anew_in_each_part}, the_number_of_parts_of_a_person_is_told_by_nothing),
    *(Bug(f"a person who is another where labels are of another type ({name})", {place: whatever_the_first_is}, partial(nobody_has_two_names, check), "two names") for name, (place, check) in PARTS.items()),
    *(Bug(f"{name} taken for one type of labels", {"privacy_units._kind": wrong}, partial(nobody_has_two_names, in_two_chunks), "two names") for name, wrong in KINDS_CONFUSED.items()),
    Bug("a stream that does not look at the type of labels", {"Visits.expect": gives(None)}, partial(nobody_has_two_names, in_two_calls), "two names"),
    Bug("numbers of other widths taken for another type of labels", {"privacy_units._kind": lambda honest, label: type(label)}, partial(nobody_has_two_names, in_two_chunks), "refused"),
    Bug("a person who is another in each row where a part of the label is missing", {"privacy_units._missing": lambda honest, label: label is None or bool(label != label)}, partial(of_units.test_labels_that_are_none_are_refused_without_being_quoted, [("secret", float("nan"))] * 2)),
    Bug("chunks that are used in the layout in which they come", {"chunked.rows_of_part": lambda honest, X, y, weights, units: DenseRows(X, y, weights, units)}, partial(test_units_in_parts.test_what_is_computed_of_a_row_does_not_tell_where_chunks_begin, 1)),
    Bug("a pass over rows of others that goes unnoticed", {"CountingPass.complete": Value(True)}, a_source_that_changes_is_stopped),
    Bug("scores of a person that are added up", {"RawBlock.bounded_weights": every_row_whole, "ScoreMomentsQuery._of_units": lambda _, self, sums: self._summed(sums)}, partial(a_person_with_fifty_rows_moves_within_the_sensitivity, "score_moments"), TOO_FAR),
    Bug("a site at which each row of a person counts", {"RawBlock.bounded_weights": every_row_whole}, test_site.test_a_person_with_many_rows_moves_a_message_by_no_more_than_a_row, needs="cloudpickle"),
    Bug("a centre that is taken off for each row", {"ResidentRows.__init__": counts_rows}, rows_alike_count_together),
    Bug("means of people that are not clipped", {"GradientQuery.of_units": lambda _, self, sums: sums[:, :-1].sum(axis=0)}, partial(a_person_of_many_rows_moves_within_the_sensitivity, 2), TOO_FAR),
    Bug("a person who is clipped beyond the weight of one", {"GradientQuery.of_units": lambda honest, self, sums: 1.01 * honest(self, sums)}, partial(a_person_of_many_rows_moves_within_the_sensitivity, 2), TOO_FAR),
    Bug("counts of people by means that depend on places", {"mapped.by_row": added_up_by_place}, partial(of_units.test_the_sum_over_a_persons_rows_does_not_tell_how_many_rows_others_have, True, 1, True)),
    Bug("a person in several pieces who counts as several", {"rows_base._of_whole_units": pieces_as_people}, partial(the_mean_of_many_rows_is_clipped_once, 2), "about 0"),
    Bug("a person in several blocks who counts as several", {"rows_base._of_whole_units": pieces_as_people}, partial(the_mean_of_many_rows_is_clipped_once, 1000), "about 0"),
    Bug("scores of a person that are squared row by row", {"ScoreMomentsQuery.evaluate": moments_of_rows}, partial(of_units.test_scores_of_a_person_are_averaged_before_they_are_squared, mixed=False, kind=DenseRows)),
    Bug("a total of minimisers of people by the vertices of rows", {"composition._union": lambda honest, plain, ways, delta, of_units: honest(plain, ways, delta, False)}, test_composition.test_a_perturbed_objective_costs_groups_of_rows_their_number_of_sensitivities),
)  # fmt: skip
