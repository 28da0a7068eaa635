"""Gaussian-process bandits without the cubic cost.

Keep in the model only what taught it something: the thousandth suggestion and the millionth cost the same.
"""

from uncubed._state import register
from uncubed.acquisition import (
    Acquisition,
    BetaSchedule,
    ConstantBeta,
    ExpectedImprovement,
    MostProbableImprovement,
    ProbabilityOfImprovement,
    PureExploitation,
    PureExploration,
    ScaledBeta,
    SketchedBeta,
    TheoreticalBeta,
    ThompsonSampling,
    UpperConfidenceBound,
)
from uncubed.actions import Box, Finite
from uncubed.bandit import Bandit, Estimate
from uncubed.beliefs import Belief, ExactBelief, Posterior, PosteriorGradient, ProjectedBelief, SketchedBelief
from uncubed.budget import Budget, Decision
from uncubed.certificate import Certificate
from uncubed.errors import (
    InvalidInputError,
    JitterWarning,
    LostValueWarning,
    NotDifferentiableError,
    NotPositiveDefiniteError,
    StateError,
    UncubedError,
    UnknownDecisionError,
)
from uncubed.information import conditional_entropy, information_gain
from uncubed.kernels import Kernel, Matern12, Matern32, Matern52, SquaredExponential
from uncubed.rounds import Run

__version__ = "0.1.0"

__all__ = [
    "Acquisition",
    "Bandit",
    "Belief",
    "BetaSchedule",
    "Box",
    "Budget",
    "Certificate",
    "ConstantBeta",
    "Decision",
    "Estimate",
    "ExactBelief",
    "ExpectedImprovement",
    "Finite",
    "InvalidInputError",
    "JitterWarning",
    "Kernel",
    "LostValueWarning",
    "Matern12",
    "Matern32",
    "Matern52",
    "MostProbableImprovement",
    "NotDifferentiableError",
    "NotPositiveDefiniteError",
    "Posterior",
    "PosteriorGradient",
    "ProbabilityOfImprovement",
    "ProjectedBelief",
    "PureExploitation",
    "PureExploration",
    "Run",
    "ScaledBeta",
    "SketchedBelief",
    "SketchedBeta",
    "SquaredExponential",
    "StateError",
    "TheoreticalBeta",
    "ThompsonSampling",
    "UncubedError",
    "UnknownDecisionError",
    "UpperConfidenceBound",
    "conditional_entropy",
    "information_gain",
    "register",
]
