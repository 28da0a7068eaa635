"""What is searched: named parameters, some of which may be fixed."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from uncubed import _validation as check
from uncubed._typing import Array, ArrayLike
from uncubed.dimensions import Bool, Dimension, same
from uncubed.dimensions.numbers import snapped_to
from uncubed.errors import InvalidInputError

Params = dict[str, Any]
"""A point of a space, by name."""


@final
class Space:
    """Named parameters, some of which may be fixed.

    >>> from uncubed import Float, Int
    >>> space = Space({"lr": Float(1e-4, 1.0, log=True), "layers": Int(1, 8), "seed": 3})
    >>> space.decode(space.encode({"lr": 0.01, "layers": 2}))
    {'lr': 0.01, 'layers': 2, 'seed': 3}

    Args:
        parameters: a `Dimension` by name; any other value is a constant, the same in every point.
    """

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        self.parameters = named(parameters)
        self.dimensions = {name: d for name, d in self.parameters.items() if isinstance(d, Dimension)}
        if not self.dimensions:
            raise InvalidInputError("space: expected at least one parameter to search, got constants only")
        for name, constant in self.parameters.items():
            if isinstance(constant, list | range | set):
                expected = f"a dimension, such as Categorical({list(constant)!r}), or a constant"
                raise InvalidInputError(f"{name}: expected {expected}, got a {type(constant).__name__}")
        widths = [d.width for d in self.dimensions.values()]
        self.width = sum(widths)
        self.groups = groups_of(widths)
        """The parameter that each coordinate belongs to, by its place in `dimensions`, shape (width,)."""
        self.columns = dict(zip(self.dimensions, slices_of(widths), strict=True))
        lattices = [d.lattice for d in self.dimensions.values()]
        self._lattice = np.repeat([1.0 if steps is None else steps for steps in lattices], widths)
        self._otherwise = [name for name, steps in zip(self.dimensions, lattices, strict=True) if steps is None]

    def __repr__(self) -> str:
        return f"Space({self.parameters!r})"

    @property
    def names(self) -> list[str]:
        """Of the parameters that are searched."""
        return list(self.dimensions)

    @property
    def size(self) -> int | None:
        """How many points it has; None if some parameter is continuous."""
        counts = [d.count for d in self.dimensions.values() if d.count is not None]
        return math.prod(counts) if len(counts) == len(self.dimensions) else None

    def encode(self, params: Mapping[str, Any]) -> Array:
        """The coordinates of a point, shape (width,); constants may be left out.

        Raises:
            InvalidInputError: a name or a value is not of this space.
        """
        check_names("params", params, known=self.parameters, needed=self.dimensions)
        for name, constant in self.parameters.items():
            if name not in self.dimensions and not same(constant, params.get(name, constant)):
                raise InvalidInputError(f"{name}: expected the constant {constant!r}, got {params[name]!r}")
        return np.concatenate([d.encode(name, params[name]) for name, d in self.dimensions.items()])

    def decode(self, u: ArrayLike) -> Params:
        """The point at these coordinates, or nearest to them."""
        u = check.point("u", u, self.width)
        return {
            name: self.dimensions[name].decode(u[self.columns[name]]) if name in self.dimensions else constant
            for name, constant in self.parameters.items()
        }

    def snap(self, U: ArrayLike) -> Array:
        """Rows of coordinates moved to the nearest points, shape (n, width)."""
        U = check.points("U", U, self.width)
        snapped = snapped_to(self._lattice, U)  # all at once where a loop over parameters would cost more
        for name in self._otherwise:
            snapped[:, self.columns[name]] = self.dimensions[name].snap(U[:, self.columns[name]])
        return snapped

    def sample(self, rng: np.random.Generator, n: int) -> Array:
        """Coordinates of random points, shape (n, width)."""
        return np.hstack([d.sample(rng, n) for d in self.dimensions.values()])

    def grid(self) -> Array:
        """The coordinates of every point of a discrete space, the last parameter's fastest, shape (size, width)."""
        every = [d.every() for d in self.dimensions.values()]
        counts = [len(places) for places in every]
        indices = np.unravel_index(np.arange(math.prod(counts)), counts)
        return np.hstack([places[index] for places, index in zip(every, indices, strict=True)])


def groups_of(widths: Sequence[int]) -> NDArray[np.int64]:
    """The number of the parameter that each coordinate belongs to."""
    return np.repeat(np.arange(len(widths)), widths)


def slices_of(widths: Sequence[int]) -> list[slice]:
    """The coordinates of each parameter."""
    return [slice(sum(widths[:i]), sum(widths[: i + 1])) for i in range(len(widths))]


def named(parameters: Mapping[str, Any], what: str = "space") -> dict[str, Any]:
    """A copy of a mapping whose names can be used."""
    if not isinstance(parameters, Mapping):
        raise InvalidInputError(f"{what}: expected a mapping of names to parameters, got {type(parameters).__name__}")
    for name, value in parameters.items():
        if not isinstance(name, str) or not name:
            raise InvalidInputError(f"{what}: expected names that are not empty, got {name!r}")
        if value is Bool or (isinstance(value, type) and issubclass(value, Dimension)):
            raise InvalidInputError(f"{name}: expected {value.__name__}(...), got {value.__name__} without parentheses")
    return dict(parameters)


def check_names(what: str, params: Any, *, known: Iterable[str], needed: Iterable[str]) -> None:
    """Raise unless the names are known and none is missing."""
    if not isinstance(params, Mapping):
        raise InvalidInputError(f"{what}: expected a mapping of names to values, got {type(params).__name__}")
    known = list(known)
    unknown = [str(name) for name in params if name not in known]
    missing = [name for name in needed if name not in params]
    if unknown or missing:
        got = [f"unknown {', '.join(unknown)}"] * bool(unknown) + [f"no {', '.join(missing)}"] * bool(missing)
        raise InvalidInputError(f"{what}: expected {', '.join(known)}, got {' and '.join(got)}")
