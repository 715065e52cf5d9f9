"""Constants of the default rules: whatever was set by trial on tables, and nothing else.

A class is a rule. Its summary says which script of ``examples/benchmarks`` measures today what its
constants do, on which tables; where a table is known that a constant was set on, it is named beside
it, and the others were carried over from trials that nobody wrote down. Modules read them when a
fit runs, as ``tuned.NAME``, so that the scripts can try other values. Not here are bounds and
constants of proofs and mechanisms, numerical tolerances, limits of size, and defaults of public
hyperparameters, which signatures show.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np


@dataclass(frozen=True)
class DescentFamily:
    """Constants for a kind of loss.

    ``score_noise`` bounds the standard deviation that noise puts on the score of a row of full
    norm, whatever the dimension; ``stride`` is the largest step at momentum 0.9 times 10, in units
    of the inverse curvature scale, at the default clip and without clipping. Where a derivative is
    unbounded, hardly any row has one beyond ``reach``. ``loosens`` says that the clip grows with
    the evidence. ``long`` is the share of the largest step that steps may take where they are few.
    """

    steps: int
    clip: float
    score_noise: float
    stride: float
    stride_unclipped: float
    reach: float = inf
    loosens: bool = False
    long: float = 0.4


@dataclass(frozen=True)
class StreamFamily:
    """Clip and length of the noise in the weights, for rows of norm 1, by kind of loss.

    ``most`` bounds the standard deviation of the noise in the score of a row of full norm, and
    ``total_step_size`` the total step size in units of the inverse squared norm of rows, beyond
    which steps bring more of the noise of sampling than of progress.
    """

    clip: float
    reach: float
    most: float
    total_step_size: float
    smoothness: float


class DescentRule:
    """Steps, clip and step size of :mod:`~skdp.solvers.descent_rules`, for ``gd`` and its kin.

    Measured by solvers.py and consistency.py, and by defaults.py with ``--others``.
    """

    # What a step leaves of the momentum's memory, at budgets up to mu = 2.
    FORGETTING = 0.1
    BINARY = DescentFamily(
        steps=100, clip=0.3, score_noise=3.0, stride=1000.0, stride_unclipped=80.0
    )
    # The derivative of a row is shared out between the classes.
    SOFTMAX = DescentFamily(
        steps=100, clip=0.1, score_noise=3.0, stride=3000.0, stride_unclipped=40.0, long=0.8
    )
    # Margins are 1, which is less than the scale of logits, so less noise is borne.
    HINGE = DescentFamily(steps=100, clip=0.5, score_noise=1.0, stride=600.0, stride_unclipped=20.0)
    # With longer steps a little is lost where features have heavy tails.
    SQUARED_HINGE = DescentFamily(
        steps=100,
        clip=1.0,
        score_noise=1.0,
        stride=300.0,
        stride_unclipped=10.0,
        reach=4.0,
        long=0.25,
    )
    # Clipped at all, means of counts would be too small. Their logarithms bear less noise than
    # log-odds.
    COUNTS = DescentFamily(steps=100, clip=1.0, score_noise=0.5, stride=10.0, stride_unclipped=10.0)
    RESIDUAL = DescentFamily(
        steps=200, clip=0.1, score_noise=0.6, stride=20.0, stride_unclipped=20.0, loosens=True
    )
    # n mu from which the bias of a clip, the larger the more labels are a matter of chance, costs
    # more than weights that are blind for labels lose where one of two classes is rare: of margins
    # measured on flights, adult, covertype, caravan and lending_club with defaults.py --svm, of
    # log-odds with consistency.py.
    BLIND_EVIDENCE = 10_000.0
    BLIND_FAMILIES = ("logistic", "hinge", "squared_hinge")
    # Growth of the budget up to which steps and momentum grow as it does in coordinates that nobody
    # has conditioned, and only as its root beyond; more of them cost time and gain nothing.
    MOST_GROWTH = 20.0
    # Rows times budget from which residuals can be clipped less and less.
    CLIP_EVIDENCE = 240.0
    # Noise of a score that residuals bear, in units of the evidence for each coefficient; where
    # that is below 1.5, at least so much, or in units of the evidence again.
    SCORE_NOISE_BY_EVIDENCE, LEAST_SCORE_NOISE = 0.1, 0.15
    # The fewer coefficients, the less can noise be told from a signal: its most in units of their
    # root.
    SCORE_NOISE_BY_COEFFICIENTS = 0.2
    # Where the total step size is short, long steps with less momentum do what many short ones do:
    # at least so many.
    LEAST_STEPS = 24
    # What few steps go further by for the same total step size, in units of a step; so does noise.
    AHEAD = 1.35


class PreconditionedGD:
    """The default solver of classifiers and of counts.

    Measured by defaults.py on all its tables of classes. Set on flights, beside shuttle, adult,
    covertype and caravan, where the solver before it was biased.
    """

    # Bound on a row's gradient in units of the typical length of rows: so small that rows that are
    # long or sure to be fitted count for less.
    CLIP = 0.3
    # Most steps, and how many times as many huge budgets take.
    MOST_STEPS, MOST_STEP_GROWTH = 24, 50.0
    # In coordinates of known moments: steps for two balanced classes and for several, a unit of how
    # far apart moments are; and for rare classes and counts. Where several classes are easy to
    # tell apart the loss bends so differently by direction that fewer steps lose up to .002 of it.
    STEPS_OF_TWO, STEPS_OF_SEVERAL, STEPS_OF_RARE = 5.5, 12.0, 12.0
    # Steps from a solution of a sample of the rows, at budgets up to mu = 2.
    STEPS_FROM_NEARBY = 3
    # Share of the steps, in any coordinates, that a block of a stream takes, which starts at the
    # model of the block before; how many it takes at least; and n mu from which fewer are enough.
    # Set on adult, covertype, 20 white features and a stream that turns; measured by streams.py.
    STEPS_OF_FOLLOWING, LEAST_OF_FOLLOWING, EVIDENCE_OF_FOLLOWING = 0.5, 4, 5000.0
    # There, momentum and noise in the score of a typical row before iterates are combined.
    MOMENTUM, SCORE_NOISE = 0.6, 6.0
    # Curvature of the loss that steps assume, in units of that at the start: more first, because
    # the first gradient is the largest and points along the difference of the classes; then less
    # and less, as scores grow and bend the loss less, unless the latest two gradients tell of more.
    # Half of what they tell is stable, with momentum, and a bit.
    FIRST_CURVATURE, LAST_CURVATURE, MOST_CURVATURE, MEASURED_CURVATURE = 1.5, 0.35, 3.0, 0.5
    # Of counts, whose means are exponentials: noise in the score of a typical row, and the least
    # curvature that steps assume.
    SCORE_NOISE_OF_COUNTS, LAST_CURVATURE_OF_COUNTS = 1.0, 1.0
    # How far a step moves the score of a typical row at most, for counts and where one of two
    # classes is so rare that the curvature is below this share of that of balanced ones: it grows
    # with scores, and longer steps swing. Set on simulated rows with .7 to 7 % positives.
    LONGEST_MOVE, GROWING = 0.5, 1 / 3
    # Variance that noise has in a solution for counts, in units of what it has by the gradients
    # that are combined: those before have left some in the iterates.
    NOISE_OF_ALL_STEPS = 2.0
    # Variance of scores up to which their mean exponential is that of normal ones.
    LARGEST_VARIANCE_OF_SCORES = 2.0
    # Noise counts twice when iterates are combined, as weights are fitted to the very noise that
    # they shall keep small; and a little in any case, against weights that grow without bounds.
    NOISE_PENALTY, LEAST_NOISE_PENALTY = 2.0, 1e-3
    # In other coordinates: noise in the score of a typical row if classes are rare, and how much
    # more if they are balanced; how often momentum forgets during all steps; what few steps go
    # further by, in units of a step; and the longest step, without momentum, in units of the
    # inverse square of the length of rows.
    SCORE_NOISE_OF_RARE, MORE_SCORE_NOISE_OF_BALANCED = 1.0, 0.5
    MEMORIES, AHEAD, LONGEST_STEP = 10.0, 1.35, 100.0
    # n mu below which gradients of two classes are so noisy that noise counts more than the bias of
    # a clip; and noise in the score of a typical row there, for balanced classes. Set on
    # lending_club at epsilon .1, and on 10,000 simulated rows with 10 % positives.
    WEAK_EVIDENCE, SCORE_NOISE_IF_WEAK = 600.0, 3.0
    # Steps grow by a factor while the latest gradients agree by so many standard deviations of
    # their noise, up to so much noise in scores, and are halved where one points back as clearly.
    STEP_GROWTH, STEP_SHRINKAGE, AGREEMENT, LATEST_GRADIENTS = 1.3, 0.5, 3.0, 3
    MOST_SCORE_NOISE = 2.0


class TrackedGD:
    """The default solver of regressors.

    Measured by defaults.py on all its tables with numbers for targets.
    """

    # Steps from a solution of a sample of the rows.
    STEPS_FROM_NEARBY = 2
    # Share of the rows that is clipped, and what is added over the evidence for each coefficient,
    # with its limits; and noise of a score beyond which w grows no longer. What is added was chosen
    # on each half of 18 tables for the other, see docs/benchmarks/how_accurate.md.
    CLIPPED, CLIPPED_A_UNIT, LEAST_CLIPPED, MOST_CLIPPED = 0.02, 8.0, 0.03, 0.5
    SCORE_NOISE = 0.65
    # Shares of mu^2: of the whole for the first clip, of each step for following it.
    FIRST_CLIP_SHARE = 0.01
    FOLLOWING_SHARE = 0.0236
    # Where the first clip is sought, in units of the norm of a typical row, and where it is if
    # noise hides the counts.
    OCTAVES = 2.0 ** np.arange(-10, 3)
    BLIND_CLIP = 0.1
    # Largest noise of a count, as a share of the rows, at which counts are used.
    VISIBLE_NOISE = 1 / 12
    # Steps in the user's coordinates, and in good ones: as many as there is evidence for, for what
    # many short steps do a few do with momentum. With 20 and 32 at the least, skewed_target lost
    # .05 and .014 of an R2 of .10 at epsilon 4.
    STEPS, MOST_STEPS, LEAST_STEPS, EVIDENCE_IN_STEPS = 200, 100, 40, 12_400.0
    # How far all steps together go where second moments are known: for directions whose moments
    # exceed those of a tenth of them as far as this, over such a moment, and never further than
    # many steps go. The further, the more noise those bear whose moments noise hides. Set on
    # delays, beside california_without_logs and ill_conditioned, with
    # examples/benchmarks/defaults.py.
    REACH, SLOWEST_SHARE = 20.0, 0.1
    # So many of the longest steps need no momentum to go all the way; more at huge budgets, where
    # clips leave long rows whole. These are cut where second moments are released, so that the loss
    # may bend many times as much as moments say, and short steps with momentum are stable there.
    LONGEST_STEP, STEPS_WITHOUT_MOMENTUM = 1.25, 160
    # Times that momentum is forgotten, at least, so that it can replace steps.
    MEMORIES = 6.4
    # Where rows are many and second moments stand out of their noise in nearly all directions,
    # these go at one pace: few steps are enough, a unit of how far moments are apart, and with less
    # momentum the clip follows residuals more closely. Set on california, protein, autoregressive,
    # lognormal, ill_conditioned, and steps on simulated tables besides.
    RESOLVED_SHARE, RESOLVED_STEPS, MOST_RESOLVED_STEPS, RESOLVED_MEMORIES = 0.9, 5.0, 24.0, 12.0
    # How fast the clip follows, a step, at least and at most, and over all steps.
    CLIP_RATE, MOST_CLIP_RATE, TOTAL_CLIP_RATE = 0.1, 0.85, 20.0
    # How much of the noise is taken off the solution; and the least share of rows that are taken to
    # be left whole by the clip.
    NOISE_RATIO, LEAST_WHOLE = 1.0, 0.1
    # Evidence for each coefficient from which predictions are calibrated; that for all from which
    # counts of long gradients stand out of their noise; and the share for it.
    CALIBRATED_EVIDENCE, COUNTED_EVIDENCE, CALIBRATION_SHARE = 20.0, 700.0, 0.05
    # Coordinates that nobody has conditioned hold directions of little variance, which need a
    # longer way than unit steps go. Stable: heavy-ball steps may be 2 (1 + momentum) over the
    # curvature.
    MOMENTUM, STRIDE = 0.9, 20.0


class HonestScale:
    """Shrinkage of solutions for classes towards their start, as far as noise explains them.

    Measured by never_worse.py, on half 0 of whose cells they were set.
    """

    # Share of the curvature of the loss that clipped gradients keep, how much of the noise is taken
    # off, and how much of the log-loss of equal frequencies noise may cost where nothing is known.
    WHOLE, NOISE_RATIO, PRICE = 0.1, 1.5, 0.04
    WHOLE_OF_COUNTS = 0.3
    # Of a regression: mean of released moments below which they say no more of its noise.
    LEAST_MOMENT = 0.25


class Calibration:
    """Offset and scale of predictions with wide clips, the end of ``tracked_gd``.

    Set on delays; measured by defaults.py there and on all other tables of numbers.
    """

    # Share of what it gets for counts, and an even number of steps, whose last half are averaged.
    COUNT_SHARE, STEPS = 0.1, 4
    # Where the clip is sought; counts below so many standard deviations of their noise are none.
    OCTAVES, VISIBLE_COUNT = 2.0 ** np.arange(-12, 4), 3.0
    # Squares of moves that are taken for noise, in units of it.
    THRESHOLD = 3.0


class Temperature:
    """The scale of scores at which probabilities are honest.

    Measured by defaults.py: log-loss and calibration slope of tables of classes, and of text.
    """

    # Scales at which residuals are asked for; the answer lies between the first and the last.
    SCALES = np.array([0.3, 0.55, 1.0, 1.8, 3.3])
    # Bounds on the range of scores that count, and n mu a unit of it.
    LEAST_REACH, MOST_REACH, EVIDENCE_A_UNIT = 2.0, 8.0, 4600.0
    # Sensitivity of the answer in units of the length of its largest value, roughly.
    SPREAD_OF_TWO, SPREAD_OF_SEVERAL = 1.2, 1.6
    # Noise of the answer that is aimed at, and the shares of mu^2 that it may cost.
    NOISE, LEAST_SHARE, MOST_SHARE = 0.005, 0.01, 0.05
    # Noise that is aimed at for text, where the steps make more of the budget than the answer does:
    # on newsgroups .05 lost .0016 of the accuracy at epsilon .5, and .005 lost .0071.
    NOISE_OF_TEXT = 0.05
    # Typical slope of the answer in log a for balanced classes, and the variance that the logarithm
    # of the temperature is expected to have. Nothing is asked where noise in log a, by that slope,
    # would have more than this multiple of it.
    SLOPE, VARIANCE, DROWNED_VARIANCE = 0.1, 0.25, 0.25
    # Where that is so, from this n mu on, a rough answer about the scores as large as they are is
    # still worth the largest share; set on half 0 of never_worse.py, with the expected variance.
    ROUGH_EVIDENCE, VARIANCE_IF_ROUGH, SHORTEST_REACH = 40.0, 1.0, 0.05
    # n mu, for balanced classes, from which scores of text are about as large as they should be.
    # Noise makes them too large below, about in inverse proportion, as measured on newsgroups.
    EVIDENCE_OF_TEXT = 400.0
    # Rare classes flatten the answer, but scores vary among their rows all the same.
    LEAST_CURVATURE = 0.1
    # Curvature at the start, in units of that for balanced classes, below which one of two is rare
    # (at 13 % of rows), and the most of it that counts for the scale of scores of text then.
    CURVATURE_OF_RARE, MOST_CURVATURE_OF_RARE = 0.45, 0.2


class OneStep:
    """Newton steps whose last error is known.

    Set on simulated sets; measured by intervals.py (coverage and width) and, for times, by
    survival.py.
    """

    # Shares of mu^2: of the steps, the last one the largest; of the moments of scores; and of the
    # histogram that tells how many targets are clipped. Labels take a step more, because their
    # scores are not linear in the coefficients, and have nothing that is clipped. Here and below
    # pairs are of labels and of residuals.
    SHARES = ((0.05, 0.10, 0.30, 0.50), 0.05, 0.0), ((0.10, 0.20, 0.64), 0.05, 0.01)
    # Share of the answer about moments that goes to shares of rows; weight of scores beside
    # curvature.
    ROW_SHARE, CURVATURE_BALANCE = 0.2, 0.5
    # Length of rows that is left whole, in units of the typical one, and residuals in units of
    # theirs; for labels the bound on scores in units of that length.
    ROW_LENGTH, RESIDUAL, SCORE = 1.2, 4.0, 1.5
    # The same bound on scores for times, which is smaller as measured for 10 to 70 % of events.
    SCORE_OF_TIMES = 0.7
    # Noise over the sampling error, and level of the noise of curvatures, up to which lengths may
    # grow, and by how much these and residuals may.
    NOISE_RATIO, MOST_CURVATURE_NOISE = (1.0, 3.0), (0.2, 0.25)
    MOST_GROWTH, MOST_RESIDUAL_GROWTH = 2.5, 1.5
    # Eigenvalues are raised to these many noise levels: at the start, at steps on the way, at the
    # last.
    FIRST_FLOOR, FLOOR, LAST_FLOOR = 0.75, 0.375, 0.25
    # Longest step on the way, for labels, in units of the typical length of a row; and the longest
    # in white coordinates for times, the last one included, where few events tell little.
    LONGEST_STEP, LONGEST_STEP_OF_TIMES = 1.5, 1.0
    # Rows times mu, in units of p^1.5, below which a fit is refused or warned of.
    REFUSED_EVIDENCE, WARNED_EVIDENCE, WARNED_EVIDENCE_OF_TIMES = 3.0, (16.0, 14.0), 60.0
    # Squared steps that their own variance explains, in units of it.
    OWN_ERROR = 4.0
    # Beyond this many noise levels of the least eigenvalue, draws change nothing.
    CLEAR_CURVATURE = 4.0


class QuantileGD:
    """Descent for several quantiles.

    Measured by quantile_regression.py.
    """

    # Share of mu^2 for intercepts and densities, over the number of rows times mu, and its limits:
    # at the start, in all rounds and at the end.
    INTERCEPT_SHARE, LEAST_INTERCEPT_SHARE, MOST_INTERCEPT_SHARE = 60.0, 0.12, 0.2
    # Halvings of the interval of an intercept at both ends and in each round, and the share of
    # their budget for the answer after them.
    HALVINGS, FEWER_HALVINGS, LAST_ANSWER_SHARE = 10, 4, 0.5
    # Grid of standard deviations, in units of where quantiles may lie, and of quantiles, in units
    # of these; error of the normal shape, as a share of how far shares are from the quantile; by
    # how much standard deviations differ, as a logarithm; and the longest last correction, in rows.
    LEAST_SPREAD, SPREADS, OFFSETS = 1 / 512, 64, 25
    MISFIT, SPREAD_OF_DEVIATIONS, LONGEST_CORRECTION = 0.3, 0.7, 0.5
    # Steps in each round, in good coordinates and in others, where they are longer and have
    # momentum.
    STEPS_A_ROUND, MORE_STEPS_A_ROUND, MOMENTUM, STRIDE = 8, 32, 0.8, 10.0
    # First and last step in units of the inverse curvature, and the budget of a gradient of the
    # last round in units of that of the first.
    FIRST_STEP, LAST_STEP, LAST_ROUND = 0.8, 0.4, 2.0
    # Without an intercept nobody knows densities: one of targets that fill their bounds, and a last
    # step that suits larger ones.
    UNKNOWN_DENSITY, LAST_STEP_UNKNOWN = 1.0, 0.05
    # Rows are weighed down if they are longer than this many times the typical one, at most so many
    # where noise is smaller than so much of the error of sampling.
    ROW_LENGTH, MOST_ROW_LENGTH, NOISE_RATIO = 0.6, 4.0, 0.5
    # Noise of a score, in units of the inverse density, up to which steps go.
    SCORE_NOISE = 0.25
    # Variance that shares of rows are expected to have about those of evenly spread targets.
    # Measured by never_worse.py.
    VARIANCE_OF_SHARES = 0.03
    # Share of the steps in which all quantiles have the same slopes.
    TOGETHER_SHARE = 0.5


class ObjectivePerturbation:
    """A perturbed minimum.

    Measured by solvers.py, and by defaults.py with ``--others``.
    """

    # The clip in units of the root of the evidence for a coefficient, and its least.
    CLIP = 0.15
    LEAST_CLIP = 0.25
    # It opens with the budget beyond mu = 2 up to this, which hardly a margin exceeds. Set on the
    # squared hinge with consistency.py.
    MOST_CLIP = 4.0
    # With pure epsilon, whose noise is longer by the root of p: the clip in units of the root of
    # the evidence, its least for losses that bend more than a parabola, against whose strength rows
    # have to stand, and the strength in units of the noise of a direction. As measured.
    PURE_CLIP, LEAST_CLIP_OF_STEEP, PURE_STRENGTH = 0.08, 0.7, 0.25


class GD:
    """Share of minibatches and shrinkage of gradient descent.

    Measured by minibatches.py (the share) and solvers.py.
    """

    # Share of the budget that minibatches leave for what is asked before.
    FREE_SHARE = 0.1
    # Share of the rows that the clip leaves whole where noise matters, and how much of the noise is
    # taken off the solution.
    WHOLE_SHARE, NOISE_RATIO = 0.2, 0.8


class AdaptiveGD:
    """Gradients whose budget grows.

    Measured by solvers.py.
    """

    # Of the first norm: the norm at which a step costs as much as it does for 'gd'.
    REFERENCE_NORM = 0.5


class ACCMD:
    """Accelerated mirror descent.

    Measured by solvers.py.
    """

    # Times the total step size of the least bound, because noise is not as bad as its bound. The
    # bound itself grows by 5/3.
    BEYOND_BOUND = 3.0


class DualAveraging:
    """The default solver of text.

    Measured by defaults.py on its tables of text.
    """

    # Few long steps find the words that matter; where few features go together they overshoot, and
    # many short ones have to share the way.
    STEPS, STEPS_OF_FEW_FEATURES, MOST_STEPS = 10, 100, 2000
    CLIP = 0.1
    # Step at that clip, in units of the inverse of row_norm**2 max_weight.
    STRIDE = 3000.0
    # Standard deviation that noise may put on the score of a row of full norm, with one score a row
    # and with several.
    SCORE_NOISE, SCORE_NOISE_OF_SEVERAL = 3.0, 1.0
    # Derivative and curvature that unbounded and unsmooth losses of margins are taken to have.
    STEEPEST, MOST_CURVED = 4.0, 1.0
    # Advantage over other classes that opening and steps give a typical row at most, in log-odds.
    ADVANTAGE = 4.0
    # Power of the curvature at the start by which what is made up for fades towards balanced
    # classes: as measured, 1 does too little for one row in five and 2 too much for one in four.
    FADING = 1.5


class FrankWolfe:
    """Noisy vertices.

    Measured by frank_wolfe.py.
    """

    # What averaging leaves of the noise of gradients.
    AVERAGED_NOISE = 0.3
    # Most that a step from zero should move a score, in units of the inverse of the smoothness.
    STRIDE = 0.5
    # Steps for a signal-to-noise ratio of 1, and the most of them.
    STEPS_A_SIGNAL, MOST_STEPS = 0.2, 2000
    # Losses of residuals curve by 1, but along few features at a time by no more than this.
    CURVATURE_OF_RESIDUALS = 0.25
    # Share of the rows that have to agree on a coordinate for it to be seen through the noise.
    AGREEING_SHARE = 0.15
    # The clip with little evidence, and the evidence up to which that is so.
    CLIP, CLIP_EVIDENCE = 0.1, 50.0
    # Where it costs little signal to clip the entries of rows: of text, and in units of the root of
    # the inverse of the number of features.
    ENTRY_OF_TEXT, ENTRY = 0.07, 2.0
    # Share of the budget that goes to the slopes of intercepts.
    INTERCEPT_SHARE = 0.05
    # Bound on the derivatives that intercepts are moved by, in units of bounded targets.
    LARGEST_SLOPE = 1.0


class OnlineFrankWolfe:
    """Noisy vertices of a stream.

    Measured by streams.py.
    """

    # Radius of the default ball, in units of the root of the number of coefficients over the bound
    # on rows: among the best of .1 to 10 for adult, covertype, california and protein. In streams
    # the clip is wider there, and zero counts as many updates, because in a wide ball models move
    # far at first.
    RADIUS, WIDER_CLIP, WEIGHT_OF_ZERO = 3.0, 2.0, 0.5
    # Choices pay by the root of their number, sums by its logarithm.
    ROUNDS_OF_CHOICES, ROUNDS_OF_SUMS = 30, 100
    CLIP_OF_LOG_ODDS, CLIP = 0.5, 0.25
    # Error of a running sum with the best correlated noise, for a hundred to a million terms.
    ERROR_OF_SUMS = 3.5
    LOSS_OF_CHOICES = 3.0
    # An intercept moves along what its slope has beyond so many standard deviations of its noise.
    VISIBLE_SLOPE = 2.0


class FTRL:
    """Batches of a stream with correlated noise.

    Measured by streams.py.
    """

    FEWEST_ROWS = 100
    # Squared norm of a column of the factor, for as many batches as there usually are.
    COLUMN = 3.0
    OF_SAMPLING = 0.3
    # Longest step of one batch, in units of the inverse of its curvature scale, by experience.
    STRIDE = 4.0
    LOG_ODDS = StreamFamily(clip=0.5, reach=32.0, most=3.0, total_step_size=5e4, smoothness=0.25)
    MARGIN = StreamFamily(clip=0.5, reach=10.0, most=2.0, total_step_size=3e4, smoothness=1.0)
    # Clipped at all, means of counts would be too small.
    COUNTS = StreamFamily(clip=1.0, reach=10.0, most=1.0, total_step_size=3e4, smoothness=1.0)
    RESIDUAL = StreamFamily(clip=0.1, reach=0.8, most=0.3, total_step_size=4e3, smoothness=1.0)


class Blocks:
    """A stream solved in growing blocks.

    Measured by streams.py.
    """

    # Growth with a declared horizon, at which one model counts, and without.
    TOWARDS_A_HORIZON, AT_ANY_TIME = 4.0, 2.0
    # Fewer rows than this many times the parameters (their root for classification) over mu tell
    # nothing through the noise.
    LEAST_EVIDENCE = 4.0


class DDA:
    """Sites that gossip.

    Measured by federated.py.
    """

    # Rounds in which everyone takes part.
    SWEEPS = 100
    # Share of the budget for sampled messages; what is left is what the reservation may be short
    # of.
    SAMPLED_SHARE = 0.95
    # Norm of the noise in the answer, in units of the inverse of the row norm.
    NOISE = 8.0
    # Of losses that are not smooth; in units of row_norm**2 max_weight.
    CURVATURE = 0.25
    # Steps are a quarter of what heavy-ball momentum takes without diverging.
    STABLE = 0.5
    # Heavy-ball momentum. More of it lags behind steps that a penalty makes shorter and shorter.
    MOMENTUM = 0.9


class Screening:
    """Features chosen before the fit.

    Measured by frank_wolfe.py, beside other solvers for few of many features.
    """

    # Half the number of features that are selected, in units of the root of n mu.
    SELECTED = 0.3
    # With little evidence, up to this many times k features are fitted without selecting.
    FEW_FEATURES = 4
    # Up to so many features none is selected by default, whatever the budget.
    ALWAYS_ALL = 6
    # Shares of what a selection costs: for the centre of the residuals, and for their size.
    CENTRE_SHARE, SIZE_SHARE = 0.02, 0.02
    # Quantile of the residuals at which they are clipped for selection.
    QUANTILE = 0.3


class Variances:
    """Warnings of a first look at the variances of rows.

    Carried over; no script measures when a warning comes too often.
    """

    # By how much a column stands out of the noise, and the share of the rest but for noise, at
    # which it is said to be nearly all there is.
    VISIBLE, LITTLE = 8.0, 0.02
    # Standard deviations of noise that all variances together hide in, and the share of the square
    # of the bound on rows which that is at most, for the bound to be called too wide.
    HIDDEN, SHARE_OF_A_BOUND = 3.0, 0.04


class ClassPrior:
    """Counts of the classes, with which a fit begins.

    Measured by defaults.py on tables of rare classes.
    """

    # Share of what is left of mu^2 that the counts may cost.
    COUNT_SHARE = 0.02
    # Largest noise of a class's share of the rows, times the number of classes, at which it is
    # asked.
    VISIBLE_NOISE = 0.3
    # Noise of what is taken for noise in the distance from equal counts, in units of its root mean
    # square over the root of the classes less one.
    SURE = 2.0
    # How much of the balance is brought about by weights where an offset can bring about the rest.
    # More silences the rows of common classes, less goes wrong where clipping bends the log-odds.
    BALANCED_BY_WEIGHTS = 0.75


class TargetMean:
    """The mean of targets, from which a fit begins.

    Measured by defaults.py; at small budgets also by published.py.
    """

    # Share of mu^2, over the evidence for each coefficient, and its limits.
    SHARE, LEAST_SHARE, MOST_SHARE = 0.2, 0.02, 0.5
    # Where coordinates are private: noise of the mean, for targets in [-1, 1], and the share up to
    # which, and from which, it is worth that.
    NOISE_IF_PRIVATE, MOST_SHARE_IF_PRIVATE, LEAST_SHARE_IF_PRIVATE = 0.02, 0.02, 0.001
    # Square of a mean below which it is taken for noise, in units of the noise; and the square that
    # means of targets in [-1, 1] have where nothing is known.
    THRESHOLD, PRIOR_SQUARE = 3.0, 0.2
    # Of counts, in units of the cap: noise of the mean that is worth half of the budget, and the
    # least mean that is taken for possible, which is less, in units of the noise, where noise tells
    # of less; and the largest share, which leaves something for the rest. Measured by
    # never_worse.py.
    NOISE_OF_RATE, LEAST_RATE, LEAST_RATE_OF_NOISE = 0.02, 0.001, 0.1
    MOST_SHARE_OF_RATE = 0.95


class FrequencyScaling:
    """Scales of the words of text.

    Measured by defaults.py on its tables of text.
    """

    # Means at which a feature is halved, in units of the norm bound. Among several classes a
    # frequent feature tells less often which one it is.
    HALF_OF_TWO_CLASSES, HALF_OF_MORE = 0.02, 0.005
    # Length that rows are cut to, in units of the norm bound; below that of nearly all rows of
    # text.
    ROW_LENGTH = 0.5
    # The constant column is a third of what it would be otherwise: classes of text are told apart
    # by words, and a long constant bears noise.
    CONSTANT = 1 / 3


class Whitening:
    """Released second moments of the rows, for classifiers.

    Measured by defaults.py on tables of classes; times by speed.py.
    """

    # Part of the share that the first look takes where a second one follows.
    FIRST_SHARE = 0.3
    # Below this many sqrt(d) the noise of the mean is longer than the rows themselves.
    LEAST_EVIDENCE = 2.0
    # n mu below which noise leaves too little for two classes, but for centring and scaling.
    TELLING_EVIDENCE = 700.0
    # Two classes are whitened where n mu of the second look, times the curvature of the loss, is
    # this many d^1.5, so that its noise is small beside the mean eigenvalue; where there are this
    # many balanced rows a feature; and where the largest eigenvalue is as many times the spectral
    # norm of the noise. Several classes, whose coefficients share rows, are from this n mu a
    # coefficient on.
    RESOLVED_EVIDENCE, ROWS_A_FEATURE, CLEAR_EIGENVALUE = 0.4, 3.0, 2.7
    EVIDENCE_OF_SEVERAL = 10.0
    # Length that rows are shortened to for the second look, in units of the typical one.
    ROW_LENGTH = 1.2
    # Most that solvers which cut rows leave whole at huge budgets, in the same units.
    MOST_ROW_LENGTH = 4.0
    # Floor of eigenvalues, in units of the spectral norm of the noise and of their mean.
    FLOOR_OF_NOISE, FLOOR = 0.25, 0.01
    # Relative error of second moments, in the direction where it is largest, up to which a block of
    # a stream takes the coordinates of the block before as they are. At .5 a million rows of 100
    # columns look again. Measured by streams.py; counts look again, as they lost .0003 in loss at
    # epsilon .5.
    MOST_BLUR = 1.0
    # Variances that count at least: of features in units of an even share of a row's square, and of
    # features that were brought to one size by the first look.
    LEAST_VARIANCE, LEAST_VARIANCE_AGAIN = 1e-4, 1e-3


class WideWhitening:
    """Released second moments of wide rows such as embeddings.

    Set on 1,024 random convolutions of MNIST, 20,000 rows at epsilon 1.2; no script measures them.
    """

    # Shares of mu^2 for the mean and for the second moments, asked for one after the other.
    MEAN_SHARE, MOMENTS_SHARES = 0.02, (0.08, 0.16)
    # Largest spectral norm of the noise of the first moments, in units of the squared norm of rows.
    LARGEST_NOISE = 0.03
    # Share of the squared length of rows that whitening leaves, above which their spectrum is flat.
    FLAT_SPECTRUM = 0.6


class IterativeWhitening:
    """Released second moments of the rows, for regressors.

    Set on the sets of Wang and on simulated ones, at small budgets; measured by defaults.py on
    tables of numbers, and by published.py.
    """

    # Rows longer than this many times the root of the effective dimension are scaled down to it
    # from the second iteration on; at the last one to more, as far as noise allows.
    ROW_LENGTH = 2.0
    # Half the spectral norm of the noise, from where an estimate would be more noise than answer.
    DROWNED_NOISE = 0.5
    # The same at the last iteration, up to which long rows are left whole. Set on simulated rows of
    # rare categories and on california_without_logs, and measured on all tables of regression.
    NOISE_OF_LONG_ROWS = 0.03
    # Least evidence for each coefficient, in units of that for all.
    LEAST_OF_EACH = 0.06
    # Share of the cost of all iterations for the one iteration in coordinates that are known.
    FURTHER_ITERATION_SHARE = 0.125
    # Least second moment by which a direction is brought to 1, in units of what a single row of
    # full length would give it. Set on delays, beside california_without_logs.
    LEAST_OF_A_ROW = 0.03
    # Second moments of all directions, but for noise, from which there are no further iterations.
    RESOLVED_MOMENT = 0.95


class Choices:
    """Choice of the solver that a fit takes by itself.

    Measured by defaults.py with ``--others``.
    """

    # Fewer rows do not tell at ordinary budgets which of the features matter, and so few features
    # can all be fitted.
    FEW_ROWS, FEW_FEATURES = 400, 20
    # Share of the iterates of tracked_gd that are averaged if it starts at an earlier model.
    AVERAGE_FROM_A_MODEL = 0.8
    # Rows times mu from which means are sought in whitened coordinates. Between 100 and this a part
    # of the fits learned nothing in them, on small sets of numbers, Wang's and simulated ones.
    WHITENED_EVIDENCE = 150.0
    # From so many features on, and so many a row, noisy vertices of an l1 ball or a simplex beat
    # noisy gradients.
    MANY_FEATURES, FEATURES_A_ROW = 100, 0.25
    # Rows times mu, in units of p^1.5, from which 'auto' takes the solver with intervals for times,
    # and its largest p.
    EVIDENCE_OF_ERRORS, MOST_WITH_ERRORS = 100.0, 100
    # Bound on the noise of scores with many features, among which that of tables would be too
    # large.
    SCORE_NOISE_OF_WIDE = 1.5


class DefaultPenalty:
    """Inverse strength of the ridge of classifiers and of hazards.

    Measured by defaults.py on tables of classes; of hazards by survival.py.
    """

    # C by default: n mu a unit of it, its largest value, and that for the many features of text,
    # among which noise needs more of a penalty.
    EVIDENCE_A_UNIT, WEAKEST, WEAKEST_OF_MANY, MANY_FEATURES = 10.0, 100.0, 10.0, 1000


class Pilot:
    """A first solution from a sample of the rows.

    Set on simulated rows with ill-conditioned features; measured by defaults.py and out_of_core.py.
    """

    # Rows of the sample times mu, in units of p^1.5 and of the number of classes beyond the first.
    # Beyond the second mu, by which noise is small, it has as many rows as at that: their number is
    # then what limits it.
    EVIDENCE, MOST_MU = 250.0, 0.5
    # Rows of the table for each in the sample: if they are fewer than the first, which would save
    # little time, there is no sample, and they are at most the second.
    LEAST_RATIO, LARGEST_RATIO = 5, 64
    # Entries of a table over which a pass takes no time worth saving; and of the largest sample, as
    # it is copied into memory, half a gigabyte in single precision.
    LEAST_ENTRIES, MOST_ENTRIES = 1 << 21, 1 << 27
    # Share of the first solution in the mu^2 that coordinates leave.
    SHARE = 0.5
    # Curvature at the share of a class, in units of that of balanced ones, below which it is too
    # rare for a sample. Set on simulated rows, two classes with .1 to 7 % positives and three with
    # one of 1 to 9 %.
    LEAST_CURVATURE = 0.25


class Stages:
    """Shares of the budget for bounds, totals and checks.

    Measured by raw_tables.py (bounds of columns) and published.py (bounds of targets).
    """

    # Share of mu^2 that is set aside for a bound that the user did not give.
    BOUND_SHARE = 0.04
    # Share for a look at whether given target bounds hold the targets; and the rows times mu from
    # which it tells.
    CHECK_SHARE, CHECK_EVIDENCE = 0.01, 150.0
    # Bounds for targets that are not given take a larger share, up to a half, if rows are few:
    # without them a fit says nothing.
    EVIDENCE_FOR_TARGETS, MOST_TARGET_SHARE = 1500.0, 0.5
    # Noise that a cap on counts brings, in units of that of one release for the whole budget.
    NOISE_OF_A_CAP = 2.0
    # Share of mu^2 for what weighted rows weigh together, and its largest noise, in rows, at which
    # it is asked; a total that is smaller, in rows, could not be told from zero.
    TOTAL_WEIGHT_SHARE, VISIBLE_WEIGHT, LEAST_TOTAL = 0.01, 0.1, 1e-6
    # Weights are light if they add up to less than this share of the largest that are allowed, as
    # far as so many standard deviations of noise tell.
    LIGHT_WEIGHT, CERTAIN = 0.05, 2.0
    # Share of mu^2 for a life table, and more where nobody says how long times are.
    LIFE_TABLE_SHARE, LONGEST_TIME_SHARE = 0.08, 0.04
    # A bound that is sought privately takes this many rows over mu to be seen.
    ROWS_TO_FIND_BOUNDS = 200.0


class RangeFinding:
    """Private search for bounds.

    Set on synthetic samples of many shapes, n from 300 to 50,000 and mu^2 = .003, so that clipping
    and noise together cost least; measured by quantiles.py and raw_tables.py.
    """

    COARSE_SHARE = 0.4
    NORM_TAIL = 0.05
    NORM_STEPS = 12
    # Powers of 2 beyond those with a count that stands out of the noise of all, and standard
    # deviations that it takes there.
    BEYOND, VISIBLE_BEYOND = 3, 2.0
    # Noise that a fit takes off again, as a share of all events.
    MOST_NOISE = 0.5
    # Counts may fall short by this many standard deviations: waiting for noise to fill the last
    # rows would stretch an interval further than those rows deserve.
    LEEWAY = 0.3
    # Given bounds of targets: bins of their check, what counts as many and as nearly all of the
    # rows, and the standard deviations of noise that an answer has to exceed for it.
    CHECKED_BINS, MANY_OUTSIDE, NEARLY_ALL, CERTAIN = 200, 0.15, 0.85, 4.0


class LifeTable:
    """Private baseline hazards.

    Measured by survival.py.
    """

    # Cells in which events are counted where no cut points are given, the first ones narrower.
    CELLS = 40
    # Numbers of periods that are made of them, and the noise of a period's events that each stands
    # out of, if there are events enough.
    LEAST_PERIODS, MOST_PERIODS, CLEAR_EVENTS = 5, 12, 4.0
    # Follow-up ends where fewer than this share of all people, or this many standard deviations of
    # the noise of their number, are left.
    LEFT_SHARE, LEFT_OVER_NOISE = 0.01, 3.0
    # Standard deviations of the noise in the number of all events from which there are some; fewer
    # are told of where this is less than a share of all people.
    SEEN, SHOWN_SHARE = 2.0, 0.1
    # Of the budget of a life table, what finds the longest time.
    RANGE_SHARE = 0.4


class Forecast:
    """Losses that ``plan`` expects of a fit.

    Measured by behaviour.py.
    """

    # Loss beyond which a fit is warned of: less is too often a false alarm.
    FUTILE = 0.9
    # By how much two classes are harder than their one vector of coefficients says, as measured,
    # and the number of features at which half of that is gone: text has many, of which few matter.
    TWO_CLASSES, FEATURES_OF_TEXT = 2.0, 1000.0
    # Rows times mu from which a private search finds a bound for targets that is not given, and
    # leaves enough of the budget to learn something with, as measured.
    FINDS_TARGETS = 50.0
    # Evidence of the search for ranges (`skdp.preprocessing.evidence_of`) at which two thirds of
    # the columns are found: of 16 columns of hard and easy shapes, .35 at 8, .64 at 12 and .77 at
    # 16.
    FINDS_RANGES = 10.0
    # Set by hand on two sets with 20 of 1,000 features: sharp, because a feature that is not found
    # is lost altogether.
    SELECTION = 3.2
    # Curvature of the loss of counts, in units of that of squares: rates are far below their cap.
    # Set on a rate of a sixth of it with never_worse.py.
    CURVATURE_OF_COUNTS = 1 / 4
    # Share of mu^2 that a forecast takes bounds to cost at most.
    MOST_BOUND_SHARE = 0.9
    # Categories of a column that are assumed to be found where nobody has listed them.
    CATEGORIES = 8


class Inference:
    """Intervals that are not to be had, and warnings of others.

    Measured by intervals.py.
    """

    # Share of the spread of a coefficient in directions that noise hides, above which it has NaN.
    MOST_LOOSE = 0.1
    # Share of clipped targets, in units of 1 / sqrt(n), and length of the last step, that are told
    # of.
    MUCH_CLIPPED, LONG_STEP = 0.7, 0.1
