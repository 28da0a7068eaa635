from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pytest

import uncubed as uc
from tests.helpers import BELIEFS, every_belief
from uncubed._typing import Array
from uncubed.draws import Draws

X = np.random.default_rng(0).random((30, 2))
KERNEL = uc.SquaredExponential(0.3)


class Given:
    """A generator that draws what it was given, one vector after the other."""

    def __init__(self, vectors: Sequence[Array]) -> None:
        self._vectors = iter(vectors)

    def standard_normal(self, size: int) -> Array:
        vector = next(self._vectors)
        assert len(vector) == size
        return vector


def taught(kind: str, rows: Sequence[int]) -> uc.Belief:
    belief = BELIEFS[kind](KERNEL, 0.1)
    for row in rows:
        belief.update(X[row], float(np.sin(6.0 * X[row, 0])))
    belief.track(X)
    return belief


def drawn(belief: uc.Belief, normal: Array) -> Array:
    """The draw that comes of these standard normal numbers, for the actions and then for the atoms."""
    assert belief.surface is not None
    rng = cast("Any", Given([normal[: len(X)], normal[len(X) :]]))
    return Draws(KERNEL, X).draw(belief, belief.surface, rng)


@every_belief
@pytest.mark.parametrize("rows", [[], [3], [3, 3, 3], list(range(12)), [*range(30), *range(30)]], ids=len)
def test_mean_and_covariance_of_draws_are_those_of_the_belief(kind: str, rows: list[int]) -> None:
    belief = taught(kind, rows)
    numbers = len(X) + belief.distinct
    mean = drawn(belief, np.zeros(numbers))
    np.testing.assert_allclose(mean, belief.predict(X).mean, atol=1e-9)
    # A draw is linear in the numbers: by those of unit length one has the map, and by the map the covariance.
    T = np.array([drawn(belief, unit) for unit in np.eye(numbers)]) - mean
    np.testing.assert_allclose(T.T @ T, belief.covariance(X), atol=1e-7)


def test_a_belief_with_other_atoms_is_told_apart() -> None:
    draws, belief = Draws(KERNEL, X), taught("exact", [1, 2])
    assert draws.has(belief)
    belief.update([2.0, 2.0], 1.0)
    assert not draws.has(belief)
