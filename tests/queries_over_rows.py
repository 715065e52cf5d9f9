"""The product of queries and kinds of rows: each case says what an answer has to keep there."""

import zlib
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from itertools import count, cycle, product
from math import isfinite

import numpy as np
from example_of_a_query import Example
from examples_of_queries import EXAMPLES
from kinds_of_rows import (
    STORES,
    as_stored,
    changed,
    in_memory,
    largest_move,
    mostly_zero,
    move_within,
    plain,
    random_weights,
    table_of,
    units_of,
)
from scipy.sparse import csr_array

from skdp.privacy import Adjacency
from skdp.privacy.queries import (
    GroupMeansQuery,
    MetricMeansQuery,
    OutcomeCountsQuery,
    ScoreMomentsQuery,
    TargetTableQuery,
)
from skdp.problem import CountBounds, Problem

try:
    import dask
except ImportError:
    dask = None

DASK = dask is not None
QUERIES = {kind.name: kind for kind in EXAMPLES}
ABOUT_PREDICTIONS = OutcomeCountsQuery, TargetTableQuery, MetricMeansQuery, GroupMeansQuery
# Shares of people, and weights times them, are multiples of 2^-26: by so much of a unit they may
# differ from what they stand for.
GRID = 1e-6


def within(rng, n):
    return np.where(rng.random(n) < 0.3, rng.integers(2, size=n), rng.uniform(size=n))


# Names of what queries are asked at.
MODELS = "w", "w0", "W"
WEIGHTS = {"none": None, "within bounds": within, "of all sizes": random_weights}


@dataclass(frozen=True)
class Kind:
    """What units and their rows are like, whatever the store.

    Parameters
    ----------
    most : int
        Most rows of a unit; 1 for rows, more for people.
    alike : bool
        Whether the rows of a person are the same.
    mixed : bool
        Whether rows of units are mixed up, or rows by themselves in another order.
    weights : str
        Which weights rows have.
    zeros : bool
        Whether most entries are zero.
    """

    most: int
    alike: bool
    mixed: bool
    weights: str
    zeros: bool

    @property
    def of_people(self):
        return self.most > 1


KINDS = [
    Kind(*facets)
    for facets in product((1, 17), (False, True), (False, True), WEIGHTS, (False, True))
    if facets[:2] != (1, True)
]


@dataclass(frozen=True)
class Case:
    """An example over rows of one kind in one store.

    Parameters
    ----------
    example : Example
        The query and its rows.
    store : str
        Name of the store.
    kind : Kind
        What rows are like.
    adjacency : Adjacency
        Neighbouring relation.
    seed : int
        Of all that is random.
    """

    example: Example
    store: str
    kind: Kind
    adjacency: Adjacency
    seed: int

    def check(self, places: Callable[[int], list[int]]) -> None:
        """Fail unless the answer is that of plain rows and moves no further than declared.

        ``places`` says of a number of units which of them give way to others.
        """
        query, kind = self.example.asked, self.kind
        example = mostly_zero(self.example, self.seed) if kind.zeros else self.example
        sides = units_of(
            example,
            most=kind.most,
            alike=kind.alike,
            weights=WEIGHTS[kind.weights],
            seed=self.seed,
        )
        here, there = ([as_stored(self.store, unit) for unit in side] for side in sides)
        alone = dask.config.set(scheduler="synchronous") if DASK else nullcontext()
        # The oracle asks so.
        with alone, np.errstate(all="ignore"):
            answer = self._answer(here)
            far = np.abs(answer - query.evaluate(self._reference(here)))
            if kind.alike and query.name == "gradient_and_share":
                # Whether a gradient at the bound is whole is for rounding to say.
                far = far[:-1]
            far = far.max(initial=0.0)
            declared = query.sensitivity(Adjacency.REPLACE_ONE)
            assert far <= GRID * len(here) * declared, (
                f"{query.name} is answered otherwise: by {far / declared:.3g} times its sensitivity"
                f", {self}"
            )
            for i in places(len(here)):
                near = self._answer(changed(example, here, there, i, self.adjacency))
                move_within(query, near - answer, self.adjacency, self)

    def table(self, units=None):
        """The rows of these units, by default those of the example itself."""
        order = self.seed if self.kind.mixed else None
        return table_of(units or units_of(self.example)[0], self.kind.of_people, order)

    def _answer(self, units):
        return self.example.asked.evaluate(STORES[self.store](self.table(units)))

    def _reference(self, units):
        """Plain rows with the same answer: of people whose rows are alike, one of them for all."""
        if not self.kind.alike:
            return plain(units, self.kind.of_people)
        mean = (None if w is None else [np.minimum(w, 1.0).mean()] for _, _, w in units)
        single = [
            (X[:1], y[:1], None if own is None else np.array(own))
            for (X, y, _), own in zip(units, mean, strict=True)
        ]
        # What is clipped of a whole unit is weighted first, and of a row last.
        return plain(single, of_whole_units(self.example.query))

    def __str__(self):
        return f"{self.store}, {self.adjacency.value}, {self.kind}, seed {self.seed}"


def groups(name):
    """Examples of a query, random and crafted ones, those of different forms by themselves."""
    for examples in EXAMPLES[QUERIES[name]]:
        forms = {}
        for example in examples:
            query = example.query
            form = example.at_sites, of_whole_units(query), example.y.ndim, of_exposures(query)
            forms.setdefault(form, []).append(example)
        yield from forms.values()


def of_whole_units(query):
    """True if rows of a person have to lie together for an answer."""
    of_gradient = getattr(query, "gradient", query)
    return isinstance(query, ScoreMomentsQuery) or getattr(of_gradient, "whole_units", False)


def of_exposures(query):
    """True if weights of rows are exposures."""
    of_all = getattr(query, "full", query)
    of_gradient = getattr(of_all, "gradient", of_all)
    bounds = getattr(getattr(of_gradient, "problem", None), "bounds", None)
    counts = isinstance(getattr(bounds, "target", None), CountBounds)
    return counts or getattr(query, "of", None) == "events"


def answered(example, store, kind):
    """True if there is such an answer."""
    if kind.alike and kind.weights != "none" and of_exposures(example.query):
        # Of rows that are capped one by one none is the mean of others, unless they are the same.
        return False
    if store == "predicted":
        about = isinstance(example.query, ABOUT_PREDICTIONS)
        return about and kind.weights == "none" and not kind.zeros
    if store == "calls" and example.y.ndim > 1:
        return False
    if example.at_sites:
        return not (kind.of_people or kind.mixed or "partitions" in store)
    if kind.of_people and of_whole_units(example.query):
        return "partitions" not in store and "chunks" not in store
    return example.query.takes_units or not kind.of_people


def cases_of(name, few):
    """So many kinds of rows for each form of the query and each store, others for each of them."""
    start = zlib.crc32(name.encode())
    mixed = [KINDS[i] for i in np.random.default_rng(start).permutation(len(KINDS))]
    for turn, group in enumerate(groups(name)):
        number, following = count(start + 7 * turn), count(turn)
        for store in STORES:
            possible = [kind for kind in mixed if answered(group[0], store, kind)]
            for _ in range(min(few(turn, store), len(possible))):
                k, seed = next(following), next(number)
                yield Case(
                    group[seed % len(group)],
                    store,
                    possible[k % len(possible)],
                    list(Adjacency)[k % 5 % 2],
                    seed % 2**32,
                )


def sample(name):
    """What the default run takes of the product: each query in each form over each store."""

    def few(turn, store):
        # Tasks take their time.
        return (turn + store.endswith("csr")) % 2 if "partitions" in store else 1

    return cases_of(name, few)


def all_cases(name):
    """The whole product, each of its cases with one of the examples."""
    return cases_of(name, lambda turn, store: len(KINDS))


def rows_without_numbers_move_as_declared(name):
    """An untrusted solver may ask at such models, and finite ones overflow at rows that are far."""
    random, crafted = EXAMPLES[QUERIES[name]]
    # Layouts differ in the order in which terms of a score are added up. So do places, which are
    # public: a row that is replaced leaves others where they are.
    layouts = cycle([np.asfortranarray, csr_array, np.ascontiguousarray, np.asfortranarray])
    for example in [*random[::7], *crafted[::7]]:
        for far, layout in zip(without_numbers(example), layouts, strict=False):
            # The oracle asks so.
            with np.errstate(all="ignore"):
                of_rows = partial(stored, layout)
                largest_move(far, units_of(far), Adjacency.REPLACE_ONE, of_rows)


def stored(layout, units):
    return in_memory(layout)(table_of(units))


def without_numbers(example):
    """The example with entries, or at models, for which scores are infinite or no numbers."""
    rng = np.random.default_rng(0)
    signs, lost = rng.choice([-1.0, 1.0], (2, *example.X.shape)), [np.nan, np.nan, np.inf, -np.inf]
    signs[0, 0] = np.abs(signs[0, 0])
    missing = [X.copy() for X in (example.X, example.other_X)]
    for X in missing:
        X[:] = np.where(rng.random(X.shape) < 0.4, rng.choice(lost, X.shape), X)
    huge = replace(example, X=1e300 * signs[0], other_X=1e300 * signs[1])
    yield replace(example, X=missing[0], other_X=missing[1])
    for data in (example, huge):
        for names, value in [*product([MODELS], (np.nan, np.inf, 1e300)), (("matrix",), 1e300)]:
            try:
                # The oracle makes queries so.
                with np.errstate(all="ignore"):
                    query = with_arrays(data.query, names, value)
                    priced = isfinite(query.sensitivity(Adjacency.REPLACE_ONE))
            except ValueError:
                # It refuses such a model, and has nothing to answer.
                continue
            if priced:
                yield replace(data, query=query)


def with_arrays(thing, names, value):
    """A copy in which arrays of these names hold a number, with one sign and the other."""
    changes = {}
    for field in fields(thing):
        old = getattr(thing, field.name)
        if field.name in names and isinstance(old, np.ndarray):
            signs = np.where(np.arange(old.size) % 2, -1.0, 1.0).reshape(old.shape)
            changes[field.name] = value * signs
        elif is_dataclass(old) and not isinstance(old, Problem):
            changes[field.name] = with_arrays(old, names, value)
    return replace(thing, **changes)
