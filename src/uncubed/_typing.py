"""Names for the array types used in signatures."""

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array: TypeAlias = NDArray[np.float64]

__all__ = ["Array", "ArrayLike"]
