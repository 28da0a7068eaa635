"""Covariance functions: values, gradients in the input, gradients in the log hyper-parameters.

Every kernel here is stationary, `k(x, x') = variance * c(r²)` with `r² = Σ_j ((x_j - x'_j) / length_scale_j)²`,
so one pair of functions of r², the correlation c and its slope dc/d(r²), gives everything else.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar, final

import numpy as np
from scipy.integrate import quad
from scipy.spatial.distance import cdist

from uncubed import _validation as check
from uncubed._typing import Array, ArrayLike
from uncubed.errors import InvalidInputError, NotDifferentiableError

_FAR = 1e6  # r² beyond which every correlation is below the smallest float, and r² itself may be infinite


class Kernel(ABC):
    """A stationary kernel with unit variance unless given.

    Args:
        length_scale: one positive number (isotropic), or one per input dimension (ARD).
        variance: prior variance of f, `k(x, x)`.

    >>> kernel = SquaredExponential(length_scale=[1.0, 2.0])
    >>> kernel([[0.0, 0.0]], [[0.0, 0.0], [0.0, 2.0]]).round(4)
    array([[1.    , 0.6065]])
    """

    curvature: ClassVar[float]
    """-c''(0) in units of the length-scale: the variance of ∂f/∂x at unit variance; inf where it does not exist."""

    def __init__(self, length_scale: float | Sequence[float] | Array = 1.0, variance: float = 1.0) -> None:
        try:
            raw = np.asarray(length_scale)
        except ValueError as error:
            raise InvalidInputError(
                "length_scale: expected a number or one per dimension, got a ragged sequence"
            ) from error
        if raw.ndim > 1 or raw.size == 0:
            raise InvalidInputError(f"length_scale: expected a number or one per dimension, got shape {raw.shape}")
        scales = raw.reshape(-1).tolist()
        self.length_scale: Array = np.array([check.positive("length_scale", v) for v in scales])
        self.length_scale.flags.writeable = False
        self.variance = check.positive("variance", variance)
        self.isotropic = raw.ndim == 0

    def __repr__(self) -> str:
        scale = self.length_scale[0] if self.isotropic else self.length_scale.tolist()
        return f"{type(self).__name__}(length_scale={scale}, variance={self.variance})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and isinstance(other, Kernel) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    @cached_property
    def _text(self) -> str:
        return repr(self)

    @abstractmethod
    def correlation(self, r2: Array) -> Array:
        """c(r²), elementwise; may overwrite `r2`."""

    @abstractmethod
    def slope(self, r2: Array) -> Array:
        """dc/d(r²), elementwise, 0 at r² = 0 where it does not exist; may overwrite `r2`."""

    def check_dimension(self, dimension: int) -> None:
        """Raise unless the kernel can be used on inputs of this dimension."""
        if not self.isotropic and self.length_scale.size != dimension:
            raise InvalidInputError(
                f"length_scale: expected 1 or {dimension} numbers for inputs of dimension {dimension}, "
                f"got {self.length_scale.size}"
            )

    def __call__(self, A: ArrayLike, B: ArrayLike) -> Array:
        """Values k(a, b), shape (n, m), for A of shape (n, d) and B of shape (m, d)."""
        return self.at(self.squared_distance(np.asarray(A, float), np.asarray(B, float)))

    def at(self, r2: Array) -> Array:
        """Values at scaled squared distances r²; may overwrite them."""
        values = self.correlation(r2)
        if self.variance != 1.0:
            values *= self.variance
        return values

    def at_with_slope(self, r2: Array) -> tuple[Array, Array]:
        """Values at scaled squared distances r², and their derivatives in r²; may overwrite them."""
        slope = self.slope(r2.copy())
        slope *= self.variance
        return self.at(r2), slope

    def at_with_partials(self, r2: Array) -> tuple[Array, ...]:
        """The same, and derivatives in what `theta` has beyond length-scales and variance; may overwrite r²."""
        return self.at_with_slope(r2)

    def diagonal(self, A: Array) -> Array:
        """Values k(a, a), shape (n,)."""
        return np.full(len(A), self.variance)

    def squared_distance(self, A: Array, B: Array) -> Array:
        """r² between rows, shape (n, m), by differences: exact for close points."""
        scale = self.length_scale
        result: Array = cdist(A / scale, B / scale, "sqeuclidean")
        return result

    def gradient(self, A: Array, B: Array) -> Array:
        """∂k(a, b)/∂a, shape (n, m, d)."""
        slope = self.slope(self.squared_distance(A, B))
        slope *= 2.0 * self.variance
        difference = A[:, None, :] - B[None, :, :]
        difference *= slope[:, :, None]
        difference /= self.length_scale**2
        return difference

    def contracted_gradient(self, A: Array, B: Array, *weights: Array, slope: Array | None = None) -> tuple[Array, ...]:
        """Σ_m weights[n, m] ∂k(a_n, b_m)/∂a_n, shape (n, d), for each array of weights, without the (n, m, d) array.

        `slope`, shape (n, m), the second of `at_with_slope`, saves computing it again.
        """
        if slope is None:
            slope = self.at_with_slope(self.squared_distance(A, B))[1]
        origin = B[0] if len(B) else 0.0  # so that nothing cancels far from zero
        A, B, scale = A - origin, B - origin, 2.0 / self.length_scale**2
        weighted = np.empty((len(weights), *slope.shape))
        for row, w in zip(weighted, weights, strict=True):
            np.multiply(slope, w, out=row)
        return tuple((A * np.add.reduce(weighted, axis=2, keepdims=True) - weighted @ B) * scale)

    @property
    def theta(self) -> Array:
        """Log hyper-parameters: the log length-scale(s), then the log variance."""
        theta: Array = np.log(np.append(self.length_scale, self.variance))
        return theta

    def with_theta(self, theta: ArrayLike) -> "Kernel":
        """The same kernel with other log hyper-parameters."""
        with np.errstate(over="ignore"):  # inf is refused below, by name
            values = np.exp(check.array("theta", theta, ndim=1))
        if values.size != self.length_scale.size + 1:
            raise InvalidInputError(f"theta: expected {self.length_scale.size + 1} numbers, got {values.size}")
        scale = float(values[0]) if self.isotropic else values[:-1]
        return type(self)(scale, float(values[-1]))

    def theta_gradient(self, A: Array, B: Array) -> Array:
        """∂k(a, b)/∂theta, shape (len(theta), n, m)."""
        # r² depends on log ℓ_j through -2 times its own j-th term; the log variance scales k itself.
        r2 = np.minimum(self.squared_distance(A, B), _FAR)  # beyond it the slope is 0, and 0 times inf is not
        slope = -2.0 * self.variance * self.slope(r2.copy())
        if self.isotropic:
            by_scale = [slope * r2]
        else:
            terms = np.clip((A[:, None, :] - B[None, :, :]) / self.length_scale, -_FAR, _FAR) ** 2
            by_scale = [slope * terms[:, :, j] for j in range(terms.shape[2])]
        return np.stack([*by_scale, self.variance * self.correlation(r2)])

    def derivative_tail(self, widths: ArrayLike) -> tuple[float, float]:
        """Constants (log a, b) of `P(sup |∂f/∂u_j| > L) ≤ a exp(-(L/b)²)` on a box scaled to [0, 1]^d.

        u_j is the j-th coordinate divided by its width, so r = 1 in the theoretical β. g = ∂f/∂u_j is a Gaussian
        process with standard deviation s_j. By Borell-TIS `P(sup |g| > L) ≤ 2 exp(-(L - m)² / 2s²)` with m = E sup g,
        and (L - m)² ≥ L²/2 - m² gives b = 2s and a = 2 exp(m²/2s²). m is bounded by Dudley's integral,
        12 ∫_0^s √log N(u) du, over packings in the canonical metric of g. s is the largest of the s_j.

        Args:
            widths: widths of the box, shape (d,), in the units of the inputs.

        Raises:
            NotDifferentiableError: the kernel's sample paths have no derivative (Matérn 1/2).
        """
        if not np.isfinite(self.curvature):
            raise self._no_derivative()
        clean = check.array("widths", widths, ndim=1)
        self.check_dimension(clean.size)
        if clean.min() < 0:
            raise InvalidInputError(f"widths: expected numbers of at least 0, got {clean.min():g}")
        scaled = clean / self.length_scale
        s = float(np.sqrt(self.variance * self.curvature) * scaled.max())
        side = np.sqrt(scaled.size) * scaled

        def root_entropy(u: float) -> float:
            apart = self._separation(u)  # points whose g differ by more than u·s are at least so far apart
            return float(np.sqrt(np.log1p(side / apart).sum()))

        m_over_s = 12.0 * quad(root_entropy, 0.0, 1.0)[0]
        return float(np.log(2.0) + m_over_s**2 / 2.0), 2.0 * s

    def _separation(self, u: float) -> float:
        """Distance in length-scales below which ∂f at two inputs differs by at most u of its standard deviations."""
        raise self._no_derivative()

    def _no_derivative(self) -> NotDifferentiableError:
        return NotDifferentiableError(
            f"{type(self).__name__}: sample paths are not differentiable, so there is no theoretical β on a box; "
            "use a smoother kernel, a Finite action set, or ConstantBeta with certify=False"
        )


@final
class SquaredExponential(Kernel):
    """c = exp(-r²/2): infinitely smooth."""

    curvature = 1.0

    def correlation(self, r2: Array) -> Array:
        r2 *= -0.5
        return np.exp(r2, out=r2)

    def slope(self, r2: Array) -> Array:
        result = self.correlation(r2)
        result *= -0.5
        return result

    def _separation(self, u: float) -> float:
        return u / math.sqrt(3.0)  # 1 - (1 - h_j²) exp(-r²/2) ≤ 3r²/2


@final
class Matern52(Kernel):
    """c = (1 + √5 r + 5r²/3) exp(-√5 r): twice differentiable."""

    curvature = 5.0 / 3.0

    def correlation(self, r2: Array) -> Array:
        s = self._scaled(r2)
        result = s * s
        result /= 3.0
        decay = np.exp(-s)
        s += 1.0
        result += s
        result *= decay
        return result

    def slope(self, r2: Array) -> Array:
        s = self._scaled(r2)
        return (-5.0 / 6.0) * (1.0 + s) * np.exp(-s)

    def at_with_slope(self, r2: Array) -> tuple[Array, Array]:
        # (1 + s) e^-s is in both; each array is used again, which counts for many pairs.
        s = self._scaled(r2)
        decay = np.negative(s)
        np.exp(decay, out=decay)
        decay *= self.variance
        slope = 1.0 + s
        slope *= decay
        s *= s
        s *= decay
        s /= 3.0
        s += slope
        slope *= -5.0 / 6.0
        return s, slope

    @staticmethod
    def _scaled(r2: Array) -> Array:
        """√5 r, in place."""
        s = capped(r2)
        s *= 5.0
        return np.sqrt(s, out=s)

    def _separation(self, u: float) -> float:
        return u / math.sqrt(15.0)  # 1 - (1 + √5 r - 5h_j²) exp(-√5 r) ≤ 15r²/2


@final
class Matern32(Kernel):
    """c = (1 + √3 r) exp(-√3 r): once differentiable."""

    curvature = 3.0

    def correlation(self, r2: Array) -> Array:
        s = np.sqrt(3.0 * capped(r2))
        return (1.0 + s) * np.exp(-s)

    def slope(self, r2: Array) -> Array:
        s = np.sqrt(3.0 * capped(r2))
        return -1.5 * np.exp(-s)

    def at_with_slope(self, r2: Array) -> tuple[Array, Array]:
        # e^-s is in both; each array is used again, which counts for many pairs.
        s = capped(r2)
        s *= 3.0
        np.sqrt(s, out=s)
        slope = np.negative(s)
        np.exp(slope, out=slope)
        slope *= self.variance
        s += 1.0
        s *= slope
        slope *= -1.5
        return s, slope

    def _separation(self, u: float) -> float:
        return u * u / (4.0 * math.sqrt(3.0))  # 1 - (1 - √3 h_j²/r) exp(-√3 r) ≤ 2√3 r


@final
class Matern12(Kernel):
    """c = exp(-r): continuous, nowhere differentiable."""

    curvature = np.inf

    def correlation(self, r2: Array) -> Array:
        return np.exp(-np.sqrt(capped(r2)))

    def slope(self, r2: Array) -> Array:
        r = np.sqrt(capped(r2))
        return np.divide(-0.5 * np.exp(-r), r, out=np.zeros_like(r), where=r > 0)


def capped(r2: Array) -> Array:
    """The same up to what is far, in place; to look whether there is more is faster than to cap it."""
    return r2 if r2.max(initial=0.0) <= _FAR else np.minimum(r2, _FAR, out=r2)
