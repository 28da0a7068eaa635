"""One parameter, and the exact place of its values in the unit cube.

A value is encoded by one or more coordinates in [0, 1], and what is decoded encodes to the same coordinates to the last
bit: a discrete parameter has one place per value, a continuous one a lattice finer than any objective can tell.
"""

from uncubed.dimensions.base import Dimension
from uncubed.dimensions.choices import Bool, Categorical, is_missing, plain, same
from uncubed.dimensions.numbers import Float, Int

__all__ = ["Bool", "Categorical", "Dimension", "Float", "Int", "is_missing", "plain", "same"]
