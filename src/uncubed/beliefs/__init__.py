"""What is known about f: exact, projected or sketched, behind one protocol."""

from uncubed.beliefs.base import Belief, Posterior, PosteriorGradient
from uncubed.beliefs.exact import ExactBelief
from uncubed.beliefs.projected import ProjectedBelief
from uncubed.beliefs.sketched import SketchedBelief

__all__ = [
    "Belief",
    "ExactBelief",
    "Posterior",
    "PosteriorGradient",
    "ProjectedBelief",
    "SketchedBelief",
]
