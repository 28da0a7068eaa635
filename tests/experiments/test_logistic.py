import hashlib
import math
import re
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import EXPECTED_GOT, NOT_NUMBERS, NOT_POINTS, central_difference
from uncubed._typing import Array
from uncubed.errors import InvalidInputError
from uncubed.experiments import logistic, mnist
from uncubed.experiments.logistic import Data, Hyperparameters, validation_accuracy

GOOD = Hyperparameters(learning_rate=0.3, batch_size=50, dropout=0.1, l2=1e-4)
WHOLE = Hyperparameters(learning_rate=0.5, batch_size=1_437, dropout=0.0, l2=0.05)


@pytest.fixture
def digits() -> Data:
    pytest.importorskip("sklearn")
    return logistic.load("digits", None)


def random(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def train(data: Data, how: Hyperparameters, epochs: int, seed: int = 0) -> tuple[logistic.Array32, logistic.Array32]:
    return logistic._train(data, how, epochs, random(seed))


def one_hot(data: Data) -> logistic.Array32:
    return np.eye(data.classes, dtype=np.float32)[data.train_y]


def loss(parameters: Array, x: Array, targets: Array, l2: float) -> float:
    weights, bias = np.split(parameters, [targets.shape[1] * x.shape[1]])
    scores = x @ weights.reshape(targets.shape[1], -1).T + bias
    of_rows = np.log(np.exp(scores).sum(axis=1)) - (scores * targets).sum(axis=1)
    return float(of_rows.mean() + 0.5 * l2 * (weights @ weights))


@pytest.mark.parametrize("l2", [0.0, 0.7])
def test_the_gradient_is_the_loss_s_finite_difference(l2: float) -> None:
    rng = random()
    x: Any = rng.random((7, 5))  # float64, for the differences
    targets: Any = np.eye(3)[rng.integers(3, size=7)]
    parameters: Any = rng.standard_normal(3 * 5 + 3)
    of_weights, of_bias = logistic._gradient(parameters[:15].reshape(3, 5), parameters[15:], x, targets, l2)
    expected = central_difference(lambda p: loss(p, x, targets, l2), parameters)
    np.testing.assert_allclose(np.concatenate([of_weights.ravel(), of_bias]), expected, atol=1e-9)


def test_one_step_goes_against_the_gradient(digits: Data) -> None:
    zero = np.zeros((10, 64), np.float32), np.zeros(10, np.float32)
    gradient = logistic._gradient(*zero, digits.train_x, one_hot(digits), WHOLE.l2)
    for got, slope in zip(train(digits, WHOLE, 1), gradient, strict=True):
        np.testing.assert_allclose(got, -WHOLE.learning_rate * slope, rtol=0, atol=1e-6)


def test_a_whole_batch_does_not_depend_on_its_order(digits: Data) -> None:
    weights, bias = np.zeros((10, 64), np.float32), np.zeros(10, np.float32)
    for _ in range(20):
        of_weights, of_bias = logistic._gradient(weights, bias, digits.train_x, one_hot(digits), WHOLE.l2)
        weights, bias = weights - 0.5 * of_weights, bias - 0.5 * of_bias
    for seed in (0, 1):
        for got, unshuffled in zip(train(digits, WHOLE, 20, seed), (weights, bias), strict=True):
            np.testing.assert_allclose(got, unshuffled, rtol=0, atol=1e-5)


def test_a_batch_above_the_training_set_is_the_whole_set(digits: Data) -> None:
    larger = Hyperparameters(WHOLE.learning_rate, 2_000, 0.4, WHOLE.l2)
    whole = Hyperparameters(WHOLE.learning_rate, 1_437, 0.4, WHOLE.l2)
    for one, other in zip(train(digits, larger, 2), train(digits, whole, 2), strict=True):
        np.testing.assert_array_equal(one, other)


def test_many_whole_batches_end_where_scikit_learn_does(digits: Data) -> None:
    how = Hyperparameters(learning_rate=0.5, batch_size=1_437, dropout=0.0, l2=0.2)
    oracle = pytest.importorskip("sklearn.linear_model").LogisticRegression(C=1 / (1_437 * how.l2), tol=1e-8)
    oracle.fit(digits.train_x.astype(np.float64), digits.train_y)
    weights, bias = train(digits, how, 1_000)
    np.testing.assert_allclose(weights, oracle.coef_, rtol=0, atol=5e-5)
    np.testing.assert_allclose(bias, oracle.intercept_, rtol=0, atol=5e-4)


def test_l2_shrinks_the_weights(digits: Data) -> None:
    sizes = [np.linalg.norm(train(digits, Hyperparameters(0.1, 100, 0.2, l2), 3)[0]) for l2 in (0.0, 0.01, 0.1, 1.0)]
    assert all(more < less for less, more in pairwise(sizes))


def black_images() -> Data:
    x, y = np.zeros((6, 2), np.float32), np.array([0, 1, 1, 1, 1, 1])
    return Data("black", x, y, x, y)


def test_of_black_images_the_bias_knows_the_majority() -> None:
    assert validation_accuracy(black_images(), GOOD, epochs=1, rng=random()) == 5 / 6


def test_the_bias_is_not_penalised() -> None:
    (_, free), (weights, penalised) = (train(black_images(), Hyperparameters(0.5, 2, 0.0, l2), 5) for l2 in (0.0, 1.0))
    np.testing.assert_array_equal(free, penalised)
    assert not weights.any()


def test_no_dropout_is_no_mask_and_draws_nothing() -> None:
    rng, x = random(), random(1).random((5, 7), dtype=np.float32)
    before = rng.bit_generator.state
    np.testing.assert_array_equal(logistic._drop(x.copy(), 0.0, rng), x)
    assert rng.bit_generator.state == before


@pytest.mark.parametrize("dropout", [0.001, 0.25, 0.4, 0.75, 0.99])
@pytest.mark.parametrize("generator", [np.random.PCG64, np.random.MT19937])  # one draws 64 bits at a time, one 32
def test_dropout_keeps_the_expected_input(dropout: float, generator: Any) -> None:
    draws, x = 20_000, np.linspace(0.1, 1.0, 9, dtype=np.float32)
    rows = logistic._drop(np.tile(x, (draws, 1)), dropout, np.random.Generator(generator(0)))
    error = x * np.sqrt(dropout / (1 - dropout) / draws)
    assert np.all(np.abs(rows.mean(axis=0, dtype=np.float64) - x) < 4.5 * error)
    kept = rows != 0
    np.testing.assert_allclose(rows[kept], np.tile(x / (1 - dropout), (draws, 1))[kept], rtol=2e-3)
    assert abs(np.corrcoef(kept[:, :-1].ravel(), kept[:, 1:].ravel())[0, 1]) < 4.5 / np.sqrt(8 * draws)


def test_an_input_that_is_always_dropped_would_not_be_divided_by_zero() -> None:
    assert np.isfinite(logistic._drop(np.ones((3, 5), np.float32), 1 - 1e-12, random())).all()


def test_every_step_drops_afresh() -> None:
    how, x = Hyperparameters(0.1, 4, 0.5, 0.0), np.ones((8, 30), np.float32)
    rng = random()
    rows = [row for _ in range(2) for batch, _ in logistic._batches(x, x, how, rng) for row in batch]
    assert len(np.unique(rows, axis=0)) == 16


@given(n=st.integers(1, 40), size=st.integers(1, 50), block=st.integers(1, 200), dropout=st.sampled_from([0.0, 0.5]))
def test_an_epoch_is_every_row_once(n: int, size: int, block: int, dropout: float) -> None:
    x = np.arange(1, 3 * n + 1, dtype=np.float32).reshape(n, 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logistic, "BLOCK", block)
        batches = list(logistic._batches(x, x.copy(), Hyperparameters(0.1, size, dropout, 0.0), random()))
    size = min(size, n)
    assert [len(batch) for batch, _ in batches] == n // size * [size] + ([n % size] if n % size else [])
    targets = np.concatenate([target for _, target in batches])
    np.testing.assert_array_equal(np.sort(targets, axis=0), x)
    kept = np.concatenate([batch for batch, _ in batches])
    assert np.isin(kept / targets, [1.0] if dropout == 0 else [0.0, 2.0]).all()


def test_every_epoch_has_an_order_of_its_own() -> None:
    x, rng = np.arange(30, dtype=np.float32)[:, None], random()
    how = Hyperparameters(0.1, 10, 0.0, 0.0)
    one, other = (np.concatenate([batch for batch, _ in logistic._batches(x, x, how, rng)]) for _ in range(2))
    assert not np.array_equal(one, other)
    assert not np.array_equal(one, x)


def test_softmax_of_large_scores_is_finite() -> None:
    got = logistic._softmax(np.array([[3e38, 0.0], [-3e38, -3e38], [0.0, 1.0]], np.float32))
    np.testing.assert_allclose(got, [[1.0, 0.0], [0.5, 0.5], [1 / (1 + math.e), math.e / (1 + math.e)]], rtol=1e-6)


def test_the_same_seed_gives_the_same_accuracy(digits: Data) -> None:
    one, again = (validation_accuracy(digits, GOOD, epochs=2, rng=random(3)) for _ in range(2))
    assert one == again
    assert not np.array_equal(train(digits, GOOD, 1, 0)[0], train(digits, GOOD, 1, 1)[0])


def test_a_good_setting_learns_and_a_tiny_rate_learns_less(digits: Data) -> None:
    majority = np.bincount(digits.valid_y).max() / len(digits.valid_y)
    good = validation_accuracy(digits, GOOD, epochs=10, rng=random())
    tiny = validation_accuracy(digits, Hyperparameters(1e-6, 50, 0.1, 1e-4), epochs=10, rng=random())
    assert good > 0.9 > majority + 0.7
    assert tiny < good - 0.03


@pytest.mark.parametrize(
    ("u", "expected"),
    [
        ([0, 0, 0, 0], Hyperparameters(1e-6, 20, 0.0, 0.0)),
        ([1, 1, 1, 1], Hyperparameters(1.0, 2_000, 0.75, 1.0)),
        ([1, 0, 0, 0], Hyperparameters(1.0, 20, 0.0, 0.0)),
        ([0, 1, 0, 0], Hyperparameters(1e-6, 2_000, 0.0, 0.0)),
        ([0, 0, 1, 0], Hyperparameters(1e-6, 20, 0.75, 0.0)),
        ([0, 0, 0, 1], Hyperparameters(1e-6, 20, 0.0, 1.0)),
        ([0.5, 0.5, 0.5, 0.5], Hyperparameters(1e-3, 1_010, 0.375, 0.5)),
    ],
)
def test_the_cube_maps_to_the_hyperparameters(u: list[float], expected: Hyperparameters) -> None:
    assert Hyperparameters.from_cube(np.array(u, float)) == expected


@pytest.mark.parametrize("u", [*NOT_POINTS, [0, 0, 0, 1.1], [-0.1, 0, 0, 0], [0, 0, 0, 0, 0]])
def test_what_is_not_in_the_cube_is_refused(u: Any) -> None:
    with pytest.raises(InvalidInputError, match="^u" + EXPECTED_GOT):
        Hyperparameters.from_cube(u)


NOT_SIZES = [0, -1, 20.0, np.nan, "20", None, True, [20]]
WRONG = [(field, value) for field in ("learning_rate", "dropout", "l2") for value in (*NOT_NUMBERS, -1)]


@pytest.mark.parametrize(("field", "value"), [*WRONG, *(("batch_size", value) for value in NOT_SIZES)])
def test_wrong_hyperparameters_are_refused(field: str, value: Any) -> None:
    right = {"learning_rate": 0.1, "batch_size": 20, "dropout": 0.5, "l2": 0.1}
    with pytest.raises(InvalidInputError, match=f"^{field}" + EXPECTED_GOT):
        Hyperparameters(**{**right, field: value})


def test_hyperparameters_that_cannot_train_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="dropout: expected a number below 1, got 1"):
        Hyperparameters(0.1, 20, 1.0, 0.0)
    with pytest.raises(InvalidInputError, match="learning_rate · l2: expected a product below 2, got 2"):
        Hyperparameters(1.0, 20, 0.0, 2.0)


def test_no_epoch_is_refused(digits: Data) -> None:
    with pytest.raises(InvalidInputError, match="epochs: expected an integer of at least 1, got 0"):
        validation_accuracy(digits, GOOD, epochs=0, rng=random())


def test_digits_are_split_once_and_shared(digits: Data) -> None:
    pixels, labels = pytest.importorskip("sklearn.datasets").load_digits(return_X_y=True)
    assert logistic.load("digits", None) is digits
    assert (digits.train_x.shape, digits.valid_x.shape, digits.classes) == ((1_437, 64), (360, 64), 10)
    together = np.column_stack(
        [16 * np.vstack([digits.train_x, digits.valid_x]), np.concatenate([digits.train_y, digits.valid_y])]
    )
    assert sorted(map(tuple, together)) == sorted(map(tuple, np.column_stack([pixels, labels])))
    assert digits.train_x.dtype == np.float32
    with pytest.raises(ValueError, match="read-only"):
        digits.train_x[0, 0] = 1


def test_another_name_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="name: expected 'digits' or 'mnist', got 'cifar'"):
        logistic.load("cifar", None)


def test_without_scikit_learn_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(InvalidInputError, match=r"expected scikit-learn, got none: pip install uncubed\[reproduce\]"):
        logistic.load.__wrapped__("digits", None)


@pytest.fixture
def images(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """MNIST with images of one pixel."""
    pixels, labels = random().integers(256, size=(60_000, 1, 1), dtype=np.uint8), np.arange(60_000) % 10
    files = {"train-images-idx3-ubyte": pixels, "train-labels-idx1-ubyte": labels.astype(np.uint8)}
    checksums = {name: hashlib.sha256(mnist._idx(values)).hexdigest() for name, values in files.items()}
    monkeypatch.setattr(mnist, "CHECKSUMS", mnist.CHECKSUMS | checksums)
    for name, values in files.items():
        (tmp_path / name).write_bytes(mnist._idx(values))
    return tmp_path


def test_the_last_ten_thousand_mnist_images_validate(images: Path) -> None:
    data, pixels = logistic.load("mnist", images), mnist.read_idx(images / "train-images-idx3-ubyte")
    assert (data.train_x.shape, data.valid_x.shape) == ((50_000, 1), (10_000, 1))
    np.testing.assert_allclose(255 * np.concatenate([data.train_x, data.valid_x]), pixels[:, 0], rtol=1e-6)
    assert (data.train_x.min(), data.train_x.max()) == (0.0, 1.0)
    assert data.train_x.dtype == np.float32
    np.testing.assert_array_equal(data.valid_y, np.arange(50_000, 60_000) % 10)


@pytest.mark.parametrize("name", ["train-images-idx3-ubyte", "train-labels-idx1-ubyte"])
@pytest.mark.parametrize("damage", [lambda path: path.unlink(), lambda path: path.write_bytes(b"damaged")])
def test_absent_or_damaged_mnist_files_are_told(name: str, damage: Any, images: Path) -> None:
    damage(images / name)
    message = f"mnist: expected {name}, got none in {images}, or a damaged one: run `make mnist`, or give --mnist-dir"
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        logistic.load("mnist", images)


def test_mnist_without_a_directory_is_told() -> None:
    with pytest.raises(InvalidInputError, match="expected train-images-idx3-ubyte, got no directory: run `make mnist`"):
        logistic.load("mnist", None)
