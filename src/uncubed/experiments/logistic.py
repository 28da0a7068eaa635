"""A logistic regressor on images of digits, whose accuracy is a function of four hyperparameters.

One training with plain stochastic gradient descent, from zero weights, minimises

    mean over the batch of -log softmax(W x̃ + b)_y  +  ½ l2 ‖W‖²

where x̃ is the image with inputs dropped at random. Everything is float32.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from uncubed import _validation as check
from uncubed._typing import ArrayLike
from uncubed.errors import InvalidInputError
from uncubed.experiments import mnist

Array32: TypeAlias = NDArray[np.float32]
Labels: TypeAlias = NDArray[np.int64]

BLOCK = 2**17
"""Inputs that are gathered and dropped at a time: small batches share the cost of the calls, and it fits a cache."""


@final
@dataclass(frozen=True, eq=False)
class Data:
    """Images with their labels.

    Attributes:
        name: "digits" or "mnist".
        train_x: pixels in [0, 1], shape (n, k), float32.
        train_y: labels from 0, shape (n,).
        valid_x: shape (m, k), float32.
        valid_y: shape (m,).
    """

    name: str
    train_x: Array32
    train_y: Labels
    valid_x: Array32
    valid_y: Labels

    @property
    def classes(self) -> int:
        """How many labels there are."""
        return int(self.train_y.max()) + 1


@cache
def load(name: str, directory: Path | None) -> Data:
    """Read a data set, once per process; its arrays are read-only.

    Args:
        name: "digits" (scikit-learn's, 1,437 training and 360 validation images of 8 x 8, in an order drawn once) or
            "mnist" (the training images of 28 x 28, the first 50,000 for training, the last 10,000 for validation).
        directory: of the MNIST files.
    """
    if name == "digits":
        return _split(name, *_digits(), train=1_437)
    if name == "mnist":
        return _split(name, *_mnist(directory), train=50_000)
    raise InvalidInputError(f"name: expected 'digits' or 'mnist', got {name!r}")


@final
@dataclass(frozen=True)
class Hyperparameters:
    """What is tuned.

    Attributes:
        learning_rate: of every step.
        batch_size: rows per step; a batch larger than the training set is the whole set.
        dropout: probability with which an input is dropped in a step.
        l2: weight of ½ ‖W‖²; the bias is not penalised.
    """

    learning_rate: float
    batch_size: int
    dropout: float
    l2: float

    def __post_init__(self) -> None:
        check.clean(self, "learning_rate", check.positive)
        check.clean(self, "batch_size", check.count)
        check.clean(self, "dropout", check.non_negative)
        check.clean(self, "l2", check.non_negative)
        if self.dropout >= 1:
            raise InvalidInputError(f"dropout: expected a number below 1, got {self.dropout:g}")
        if self.learning_rate * self.l2 >= 2:  # each step multiplies W by 1 - learning_rate · l2
            shrink = self.learning_rate * self.l2
            raise InvalidInputError(f"learning_rate · l2: expected a product below 2, got {shrink:g}")

    @classmethod
    def from_cube(cls, u: ArrayLike) -> "Hyperparameters":
        """Map the unit cube to the hyperparameters.

        Args:
            u: shape (4,), each in [0, 1]: log10 of the learning rate from -6 to 0, batch size from 20 to 2,000,
                dropout from 0 to 0.75, l2 from 0 to 1.

        >>> Hyperparameters.from_cube([0.5, 0.5, 0.4, 0.0])
        Hyperparameters(learning_rate=0.001, batch_size=1010, dropout=0.30000000000000004, l2=0.0)
        """
        u = check.point("u", u, 4)
        if u.min() < 0 or u.max() > 1:
            raise InvalidInputError(f"u: expected coordinates from 0 to 1, got {u.tolist()}")
        rate, batch, dropout, l2 = u.tolist()
        return cls(10.0 ** (6.0 * rate - 6.0), round(20 + 1980 * batch), 0.75 * dropout, l2)


def validation_accuracy(
    data: Data, hyperparameters: Hyperparameters, *, epochs: int, rng: np.random.Generator
) -> float:
    """Train from zero weights and measure the fraction of validation images that the last weights label right.

    Args:
        data: what to train and validate on.
        hyperparameters: of the training.
        epochs: how often the training set is gone through, in a new order each time.
        rng: of the orders and of the dropped inputs.
    """
    weights, bias = _train(data, hyperparameters, check.count("epochs", epochs), rng)
    scores = data.valid_x @ weights.T + bias
    return float(np.mean(scores.argmax(axis=1) == data.valid_y))


def _train(data: Data, how: Hyperparameters, epochs: int, rng: np.random.Generator) -> tuple[Array32, Array32]:
    """Weights, shape (classes, k), and bias, shape (classes,)."""
    weights = np.zeros((data.classes, data.train_x.shape[1]), np.float32)
    bias = np.zeros(data.classes, np.float32)
    targets = np.eye(data.classes, dtype=np.float32)[data.train_y]
    for _ in range(epochs):
        for x, target in _batches(data.train_x, targets, how, rng):
            of_weights, of_bias = _gradient(weights, bias, x, target, how.l2)
            of_weights *= how.learning_rate
            of_bias *= how.learning_rate
            weights -= of_weights
            bias -= of_bias
    return weights, bias


def _batches(
    x: Array32, targets: Array32, how: Hyperparameters, rng: np.random.Generator
) -> Iterator[tuple[Array32, Array32]]:
    """One epoch: every row once, in a new order, with inputs dropped; the last batch may be smaller."""
    (n, k), size = x.shape, how.batch_size
    order, block = rng.permutation(n), size * max(1, BLOCK // (size * k))
    for start in range(0, n, block):
        rows = order[start : start + block]
        kept, target = _drop(x[rows], how.dropout, rng), targets[rows]
        for first in range(0, len(rows), size):
            yield kept[first : first + size], target[first : first + size]


def _drop(x: Array32, dropout: float, rng: np.random.Generator) -> Array32:
    """Drop inputs in place, and scale those that stay so that the expected input is the input.

    Each input takes 16 random bits, a quarter of what one float takes to draw: the probability is rounded to 2⁻¹⁶.
    """
    cut = min(round(dropout * 2**16), 2**16 - 1)
    if cut == 0:
        return x
    words = rng.integers(2**64 - 1, size=-(-x.size // 4), dtype=np.uint64, endpoint=True)
    x *= words.view(np.uint16)[: x.size].reshape(x.shape) >= cut
    x *= 2**16 / (2**16 - cut)
    return x


def _gradient(weights: Array32, bias: Array32, x: Array32, targets: Array32, l2: float) -> tuple[Array32, Array32]:
    """Of the batch's mean loss plus ½ l2 ‖W‖², in the weights and the bias; targets are one-hot rows."""
    residual = _softmax(x @ weights.T + bias)
    residual -= targets
    residual /= len(x)
    of_weights: Array32 = residual.T @ x
    of_weights += l2 * weights
    return of_weights, residual.sum(axis=0)


def _softmax(scores: Array32) -> Array32:
    """Of every row, in place."""
    scores -= scores.max(axis=1, keepdims=True)  # exp does not overflow
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=1, keepdims=True)
    return scores


def _split(name: str, x: Array32, y: Labels, *, train: int) -> Data:
    x.setflags(write=False)  # all of a process share them
    y.setflags(write=False)
    return Data(name, x[:train], y[:train], x[train:], y[train:])


def _digits() -> tuple[Array32, Labels]:
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise InvalidInputError("digits: expected scikit-learn, got none: pip install uncubed[reproduce]") from error
    pixels, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    return _unit(pixels[order], 16), labels[order].astype(np.int64)


def _mnist(directory: Path | None) -> tuple[Array32, Labels]:
    names = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte")
    absent = [name for name in (names if directory is None else mnist.missing(directory)) if name in names]
    if directory is None or absent:
        where = "no directory" if directory is None else f"none in {directory}, or a damaged one"
        raise InvalidInputError(f"mnist: expected {absent[0]}, got {where}: run `make mnist`, or give --mnist-dir")
    images, labels = (mnist.read_idx(directory / name) for name in names)
    return _unit(images.reshape(len(images), -1), 255), labels.astype(np.int64)


def _unit(pixels: NDArray[Any], largest: int) -> Array32:
    """Pixels in [0, 1], without a float64 copy."""
    scaled: Array32 = np.divide(pixels, largest, dtype=np.float32, casting="same_kind")
    return scaled
