"""Where the values of a parameter lie on an axis."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, final

import numpy as np

from uncubed._shown import Study, short
from uncubed._typing import Array
from uncubed.dimensions import Categorical, Dimension, Float, Int
from uncubed.plot._frame import plain
from uncubed.space import Params, Space

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FINE, COARSE = 101, 24
"""Values of a parameter along which a belief is drawn: as a line, and most that are drawn one by one."""


@final
@dataclass(frozen=True)
class Scale:
    """The axis of one parameter; a category lies at its number.

    Attributes:
        name: of the parameter.
        low: least position.
        high: largest position.
        log: whether it is logarithmic.
        whole: whether there are whole numbers only.
        category: the choices, None for numbers.
    """

    name: str
    low: float
    high: float
    log: bool = False
    whole: bool = False
    category: Categorical | None = None

    def positions(self, values: Sequence[Any]) -> Array:
        """Shape (n,)."""
        if self.category is None:
            return np.array(values, dtype=np.float64)
        return np.array([self.category.index(self.name, value) for value in values], dtype=np.float64)

    def fractions(self, positions: Array) -> Array:
        """From 0 at the low end to 1 at the high one, shape (n,)."""
        if self.low == self.high:
            return np.full(len(positions), 0.5)
        at = np.array([self.low, self.high, *positions])
        low, high, *rest = np.log(at) if self.log else at
        fractions: Array = (np.array(rest) - low) / (high - low)
        return fractions

    def ticks(self) -> dict[float, str]:
        """Labels by position."""
        if self.category is not None:
            shown = np.unique(np.linspace(0, self.category.count - 1, min(self.category.count, 12)).astype(int))
            return {float(i): plain(short(self.category.choices[i], 12)) for i in shown}
        at = [float(x) for x in self._numbers()]
        labels = [number(x) for x in at]
        if self.log and any("$" in label for label in labels):  # all in one way
            labels = [power_of_ten(x) for x in at]
        return dict(zip(at, labels, strict=True))

    def put_on(self, axes: "Axes", which: str) -> None:
        """Make the x or the y axis of a panel this one."""
        self._limit(axes, which)
        ticks = self.ticks()
        axes.set(**{f"{which}label": plain(short(self.name, 40))})
        rotated = which == "x" and self.category is not None and sum(map(len, ticks.values())) > 22
        turn: dict[str, Any] = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"} if rotated else {}
        axis = axes.xaxis if which == "x" else axes.yaxis
        axis.set_ticks(list(ticks), list(ticks.values()), **turn)
        axis.set_ticks([], minor=True)

    def _limit(self, axes: "Axes", which: str) -> None:
        low, high = self.low, self.high
        if self.log:
            apart = (high / low) ** 0.03 if high > low else 1.5
            limits = low / apart, high * apart
        else:
            pad = 0.5 if self.category else 0.03 * (high - low) or 0.5 * (abs(low) or 1.0)
            limits = low - pad, high + pad
        axes.set(**{f"{which}scale": "log" if self.log else "linear", f"{which}lim": limits})

    def _numbers(self) -> Array:
        from matplotlib.ticker import MaxNLocator

        if self.low == self.high:
            return np.array([self.low])
        if self.log:
            return self._powers()
        at = np.asarray(MaxNLocator(5, integer=self.whole, steps=[1, 2, 5, 10]).tick_values(self.low, self.high))
        return at[(at >= self.low) & (at <= self.high)]

    def _powers(self) -> Array:
        """Some powers of ten; where there are few, numbers between too, and then the ends."""
        first, last = np.floor(np.log10(self.low)), np.ceil(np.log10(self.high))
        step = np.ceil((last - first + 1) / 6)
        powers = 10.0 ** np.arange(first, last + 1, step)
        inside: Array = np.empty(0)
        for times in ([1.0], [1.0, 3.0], [1.0, 2.0, 5.0]):
            at = np.outer(powers, times).ravel()
            inside = at[(at >= self.low * (1 - 1e-9)) & (at <= self.high * (1 + 1e-9))]
            if len(inside) > 2:
                return np.clip(inside, self.low, self.high)
        return np.union1d(inside, [self.low, self.high])


def scales(opt: Study, rows: Sequence[Params]) -> list[Scale]:
    """Of each parameter that is searched; those of a table are as in the rows."""
    if isinstance(opt.space, Space):
        return [scale(name, dimension) for name, dimension in opt.space.dimensions.items()]
    names = rows[0] if rows else ()
    return [_of_column(name, [row[name] for row in rows]) for name in names]


def scale(name: str, dimension: Dimension) -> Scale:
    """Of one parameter."""
    if isinstance(dimension, Float | Int):
        return Scale(name, dimension.low, dimension.high, dimension.log, whole=isinstance(dimension, Int))
    return _of_choices(name, along(dimension))


def along(dimension: Dimension, most: int = FINE) -> list[Any]:
    """Values of a parameter in order, evenly spread in its coordinate; all where there are few."""
    if dimension.count is not None and (dimension.count <= most or isinstance(dimension, Categorical)):
        return [dimension.decode(u) for u in dimension.every()]
    places = np.unique(dimension.snap(np.linspace(0.0, 1.0, most)[:, None]), axis=0)
    return [dimension.decode(u) for u in places]


def few(dimension: Dimension) -> bool:
    """Whether its values are drawn one by one."""
    return dimension.count is not None and (dimension.count <= COARSE or isinstance(dimension, Categorical))


def number(value: float) -> str:
    """As people write it."""
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        return f"{value:.4g}" if value != round(value) else f"{value:.0f}"
    return power_of_ten(value)


def power_of_ten(value: float) -> str:
    """Some times a power of ten."""
    mantissa, power = f"{value:.2e}".split("e")
    digits = f"{float(mantissa):g}"
    front = {"1": "", "-1": "-"}.get(digits, rf"{digits}\times")
    return f"${front}10^{{{int(power)}}}$"


def _of_column(name: str, values: Sequence[Any]) -> Scale:
    if all(isinstance(value, Real) and not isinstance(value, bool) for value in values):
        low, high = float(min(values)), float(max(values))
        return Scale(name, low, high, whole=all(isinstance(value, int) for value in values))
    different = sorted(dict.fromkeys((type(value), value) for value in values), key=str)
    return _of_choices(name, [value for _, value in different])


def _of_choices(name: str, choices: list[Any]) -> Scale:
    return Scale(name, 0.0, len(choices) - 1.0, category=Categorical(choices))
