"""Gaussian-process bandits without the cubic cost.

Keep in the model only what taught it something: the thousandth suggestion and the millionth cost the same.
"""

from uncubed._state import register
from uncubed.acquisition import (
    Acquisition,
    ExpectedImprovement,
    MostProbableImprovement,
    ProbabilityOfImprovement,
    PureExploitation,
    PureExploration,
    ThompsonSampling,
    UpperConfidenceBound,
)
from uncubed.actions import Box, Finite
from uncubed.bandit import Bandit, Estimate
from uncubed.beliefs import Belief, ExactBelief, Posterior, PosteriorGradient, ProjectedBelief, SketchedBelief
from uncubed.budget import Budget, Decision
from uncubed.candidates import Candidates
from uncubed.certificate import Certificate
from uncubed.dimensions import Bool, Categorical, Float, Int
from uncubed.errors import (
    EvaluationError,
    FitWarning,
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
from uncubed.model import Lesson
from uncubed.optimizer import Optimizer
from uncubed.records import Failure, Log, Milestone, Promise, Suggestion, Trial
from uncubed.rounds import Run
from uncubed.run import Result, maximize, minimize
from uncubed.schedules import BetaSchedule, ConstantBeta, ScaledBeta, SketchedBeta, TheoreticalBeta

__version__ = "0.1.0"

__all__ = [
    "Acquisition",
    "Bandit",
    "Belief",
    "BetaSchedule",
    "Bool",
    "Box",
    "Budget",
    "Candidates",
    "Categorical",
    "Certificate",
    "ConstantBeta",
    "Decision",
    "Estimate",
    "EvaluationError",
    "ExactBelief",
    "ExpectedImprovement",
    "Failure",
    "Finite",
    "FitWarning",
    "Float",
    "Int",
    "InvalidInputError",
    "JitterWarning",
    "Kernel",
    "Lesson",
    "Log",
    "LostValueWarning",
    "Matern12",
    "Matern32",
    "Matern52",
    "Milestone",
    "MostProbableImprovement",
    "NotDifferentiableError",
    "NotPositiveDefiniteError",
    "Optimizer",
    "Posterior",
    "PosteriorGradient",
    "ProbabilityOfImprovement",
    "ProjectedBelief",
    "Promise",
    "PureExploitation",
    "PureExploration",
    "Result",
    "Run",
    "ScaledBeta",
    "SketchedBelief",
    "SketchedBeta",
    "SquaredExponential",
    "StateError",
    "Suggestion",
    "TheoreticalBeta",
    "ThompsonSampling",
    "Trial",
    "UncubedError",
    "UnknownDecisionError",
    "UpperConfidenceBound",
    "conditional_entropy",
    "information_gain",
    "maximize",
    "minimize",
    "register",
]
