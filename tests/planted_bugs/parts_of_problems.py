"""Bugs in losses, penalties and constraints: wrong declarations, constants and maps."""

from functools import partial

import numpy as np
import test_every_constraint as constraints
import test_every_loss as losses
import test_every_penalty as penalties
from planted_bugs.bug import Bug, Value, times

from skdp.problem.constraints import Box, L2Ball, NonNegative, Simplex
from skdp.problem.penalties import L1, L2, ElasticNet, Tikhonov


def of_kind(name, examples, part):
    return next(e for e in examples if type(getattr(e, part)).__name__ == name)


LOSSES = {
    name: of_kind(name, losses.EXAMPLES, "loss")
    for name in ("Hinge", "Huber", "Logistic", "OneVsRest", "Sigmoid", "Softmax", "Squared")
}
# One that bounds its derivative by that of the worst target, one of several scores, one of residuals.
KINDS = ("Logistic", "Softmax", "Huber")
PENALTIES = {"ElasticNet": ElasticNet(0.7), "L1": L1(0.4), "L2": L2(1.5)}
SETS = {
    name: of_kind(name, constraints.EXAMPLES, "constraint")
    for name in ("Box", "L1Ball", "L2Ball", "LpBall", "Simplex")
}
RIDGE = Tikhonov(np.diag([1.0, 2.0, 3.0, 4.0]))


def a_penalty_is_what_it_declares(penalty):
    try:
        penalties.check_declared(penalty)
    except ValueError as error:
        raise AssertionError("not what it declares") from error


def towards_the_centre(honest, self, w):
    centre = np.mean(constraints.feasible(SETS[type(self).__name__], 3), axis=0)
    return 0.9 * honest(self, w) + 0.1 * centre


CONSTANTS = {"lipschitz": losses.check_lipschitz, "smoothness": losses.check_smoothness}
WRONG_LOSSES = {
    "a value of a loss 1 % too large": ("value", times(1.01), losses.check_derivative),
    "a value of a loss of the other sign": ("value", times(-1.0), losses.check_convexity),
    "half of the worst derivative": ("worst_derivative", times(0.5), losses.check_worst_derivative),
    "a derivative at scores less their mean": ("derivative", lambda honest, self, y, z: honest(self, y, z - z.mean(axis=0)), losses.check_pointwise),
    "derivatives in reverse order": ("derivative", lambda honest, self, y, z: honest(self, y, z)[::-1].copy(), losses.check_pointwise),
}  # fmt: skip
LIES_OF_PENALTIES = (
    (PENALTIES["ElasticNet"], {"isotropic": True}),
    (PENALTIES["ElasticNet"], {"l1": 0.7}),
    (PENALTIES["ElasticNet"], {"selects": True}),
    (PENALTIES["L1"], {"quadratic": True}),
    (PENALTIES["L1"], {"l1": 0.0}),
    (RIDGE, {"separable": True}),
    (RIDGE, {"isotropic": True}),
    (RIDGE, {"root": 1.0}),
)
WRONG_PROXES = {
    "of too long a step": lambda honest, self, w, step: honest(self, w, 1.1 * step),
    "of too short a step": lambda honest, self, w, step: honest(self, w, 0.9 * step),
    "that leaves weights as they are": lambda honest, self, w, step: w.copy(),
}
LIES_OF_SETS = (
    (NonNegative(), "whole_space"),
    (Box(-1.0, 2.0), "cone"),
    (L2Ball(1.0), "separable"),
    (L2Ball(1.0), "axis_vertices"),
    (Simplex(1.0), "symmetric"),
    (Box(-1.0, 2.0), "axis_vertices"),
)
WRONG_SETS = {
    "a diameter 1 % too small": ("diameter", times(0.99), constraints.check_diameter),
    "a diameter 1 % too large": ("diameter", times(1.01), constraints.check_diameter),
    "a projection past the set": ("project", lambda honest, self, w: w + 0.01, constraints.check_projection),
    "a projection towards the centre": ("project", towards_the_centre, constraints.check_projection),
    "a projection in reverse order": ("project", lambda honest, self, w: honest(self, w[::-1]), constraints.check_projection),
    "a largest value in place of the least": ("linear_minimizer", lambda honest, self, g: honest(self, -g), constraints.check_linear_minimizer),
    "a least value in reverse order": ("linear_minimizer", lambda honest, self, g: honest(self, g[::-1]), constraints.check_linear_minimizer),
    "a least value beyond the set": ("linear_minimizer", times(1.1), constraints.check_linear_minimizer),
}  # fmt: skip
BUGS = (
    *(Bug(f"a loss that is falsely declared ({name}, {said}={value!r})", {f"{name}.{said}": Value(value)}, partial(losses.check_declared, LOSSES[name])) for name, said, value in (("Hinge", "of_residuals", True), ("Hinge", "log_odds", True), ("Sigmoid", "log_odds", True), ("Huber", "squared", True), ("Huber", "family", "huber"), ("OneVsRest", "log_odds", True))),
    *(Bug(f"{factor} times the {constant} of a loss ({name})", {f"{name}.{constant}": Value(factor * getattr(LOSSES[name].loss, constant))}, partial(check, LOSSES[name])) for name in KINDS for constant, check in CONSTANTS.items() for factor in (0.5, 2.0)),
    *(Bug(f"a finite {constant} of a loss that has none", {f"{name}.{constant}": Value(1.0)}, partial(CONSTANTS[constant], LOSSES[name])) for name, constant in (("Squared", "lipschitz"), ("Hinge", "smoothness"))),
    *(Bug(f"{what} ({name})", {f"{name}.{part}": wrong}, partial(check, LOSSES[name])) for name in KINDS for what, (part, wrong, check) in WRONG_LOSSES.items()),
    Bug("a worst derivative of a loss that has none", {"Squared.worst_derivative": lambda _, self, z: np.ones(len(z))}, partial(losses.check_worst_derivative, LOSSES["Squared"])),
    *(Bug(f"a penalty that is falsely declared ({type(penalty).__name__}, {said})", {f"{type(penalty).__name__}.{name}": Value(value) for name, value in said.items()}, partial(a_penalty_is_what_it_declares, penalty)) for penalty, said in LIES_OF_PENALTIES),
    *(Bug(f"a proximal map {what} ({name})", {f"{name}.prox": wrong}, partial(penalties.check_prox, penalty)) for name, penalty in PENALTIES.items() for what, wrong in WRONG_PROXES.items()),
    *(Bug(f"a strong convexity {error:+} off ({name})", {f"{name}.strong_convexity": lambda honest, self, error=error: honest(self) + error}, partial(penalties.check_strong_convexity, penalty)) for name, penalty in PENALTIES.items() for error in (-0.01, 0.01)),
    *(Bug(f"a set that is falsely declared ({type(constraint).__name__}, {said})", {f"{type(constraint).__name__}.{said}": Value(True)}, partial(constraints.check_declared, constraint)) for constraint, said in LIES_OF_SETS),
    *(Bug(f"{what} ({name})", {f"{name}.{part}": wrong}, partial(check, example, 3)) for name, example in SETS.items() for what, (part, wrong, check) in WRONG_SETS.items()),
)  # fmt: skip
