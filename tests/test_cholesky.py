from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uncubed._typing import Array
from uncubed.cholesky import JITTERS, CholeskyFactor, inverted
from uncubed.errors import JitterWarning, NotPositiveDefiniteError
from uncubed.kernels import Matern52

POINTS = np.random.default_rng(0).uniform(-2, 2, (300, 2))
KERNEL = Matern52(0.8)


def gram(size: int, noise: float = 0.01) -> Array:
    return KERNEL(POINTS[:size], POINTS[:size]) + noise * np.eye(size)


def appended(A: Array) -> CholeskyFactor:
    factor = CholeskyFactor()
    for m in range(len(A)):
        factor.append(A[m, :m], float(A[m, m]))
    return factor


def assert_factor_of(factor: CholeskyFactor, A: Array) -> None:
    """Everything the factor says is what NumPy says of A; 1e-9 is 1e3 condition numbers of rounding."""
    assert len(factor) == len(A)
    L = np.linalg.cholesky(A)
    close: dict[str, Any] = {"rtol": 1e-9, "atol": 1e-9}
    np.testing.assert_allclose(factor.lower, L, **close)
    np.testing.assert_allclose(factor.inverse, np.linalg.inv(L), **close)
    assert not np.triu(factor.lower, 1).any()
    assert not np.triu(factor.inverse, 1).any()
    assert factor.log_determinant == pytest.approx(np.linalg.slogdet(A)[1], rel=1e-9, abs=1e-9)
    inverse = np.linalg.inv(A)
    np.testing.assert_allclose(factor.solve_diagonal(), np.diagonal(inverse), **close)
    for B in (np.cos(np.arange(len(A))), np.cos(np.arange(100.0 * len(A))).reshape(-1, 100)):
        np.testing.assert_allclose(factor.solve(B), inverse @ B, **close)
        np.testing.assert_allclose(factor.whiten(B), np.linalg.solve(L, B), **close)


@pytest.mark.parametrize("size", [0, 1, 8, 9, 63, 64, 65, 150])
@pytest.mark.parametrize("build", [appended, CholeskyFactor.of], ids=["appended", "of"])
def test_appended_or_at_once_is_the_cholesky_of_the_whole(build: Callable[[Array], CholeskyFactor], size: int) -> None:
    assert_factor_of(build(gram(size)), gram(size))


def test_from_lower_is_the_factor_it_came_from() -> None:
    L = np.asarray(np.linalg.cholesky(gram(20)), float)
    assert_factor_of(CholeskyFactor.from_lower(L), gram(20))


@pytest.mark.parametrize("row", [0, 6, 19])
def test_removed_is_never_added(row: int) -> None:
    factor = appended(gram(20))
    factor.remove(row)
    without = np.delete(np.delete(gram(20), row, 0), row, 1)
    assert_factor_of(factor, without)
    factor.append(np.delete(gram(21)[20, :20], row), float(gram(21)[20, 20]))
    assert_factor_of(factor, np.delete(np.delete(gram(21), row, 0), row, 1))


@pytest.mark.parametrize("row", [0, 6, 19])
@pytest.mark.parametrize("change", [3.0, 0.0, -0.005])
def test_a_changed_diagonal_is_the_factor_of_the_changed_matrix(row: int, change: float) -> None:
    factor = appended(gram(20))
    factor.change_diagonal(row, change)
    A = gram(20)
    A[row, row] += change
    assert_factor_of(factor, A)


@pytest.mark.parametrize("row", [0, 6, 19])
def test_a_removal_maps_whitened_coordinates_by_orthonormal_rows(row: int) -> None:
    factor = appended(gram(20))
    before = factor.lower.copy()
    T = factor.remove(row).apply(np.eye(20))
    np.testing.assert_allclose(T @ T.T, np.eye(19), atol=1e-12)
    np.testing.assert_allclose(factor.lower @ T, np.delete(before, row, axis=0), atol=1e-12)


operations = st.lists(
    st.tuples(st.sampled_from(["append", "append", "remove", "change"]), st.integers(0, 2**16 - 1)),
    min_size=300,
    max_size=300,
)


@settings(max_examples=50)
@given(operations)
def test_after_300_operations_it_is_rebuilt(sequence: list[tuple[str, int]]) -> None:
    factor, rows, noise = CholeskyFactor(), np.empty(0, int), np.empty(0)
    for step, (operation, number) in enumerate(sequence):
        j = number % len(rows) if len(rows) else 0
        if operation == "append" or not len(rows):
            point = step if number % 4 else number % 300  # some points come again
            k = KERNEL(POINTS[rows], POINTS[point : point + 1])[:, 0]
            factor.append(k, 1.0 + 0.01)
            rows, noise = np.append(rows, point), np.append(noise, 0.01)
        elif operation == "remove":
            factor.remove(j)
            rows, noise = np.delete(rows, j), np.delete(noise, j)
        else:
            wanted = 10.0 ** (number % 5 - 3)  # from a tenth of the noise to a thousand times
            factor.change_diagonal(j, wanted - noise[j])
            noise[j] = wanted
        if step % 100 == 99:
            assert_factor_of(factor, KERNEL(POINTS[rows], POINTS[rows]) + np.diag(noise))


@pytest.mark.parametrize(
    ("deficit", "jitter"), [(0.0, 1e-12), (1e-11, 1e-10), (1e-9, 1e-8), (1e-7, 1e-6)], ids=lambda v: f"{v:g}"
)
def test_a_slightly_indefinite_matrix_gets_the_smallest_jitter_that_helps_and_a_warning(
    deficit: float, jitter: float
) -> None:
    A = np.array([[1.0, 1.0], [1.0, 1.0 - deficit]])
    for build in (appended, CholeskyFactor.of):
        with pytest.warns(JitterWarning, match=f"added a jitter of {jitter:g} of the diagonal") as caught:
            factor = build(A)
        assert len(caught) == 1
        np.testing.assert_allclose(factor.lower @ factor.lower.T, A, rtol=0, atol=1.01 * jitter)
        np.testing.assert_allclose(factor.inverse @ factor.lower, np.eye(2), atol=1e-9)


@pytest.mark.parametrize("size", [1, 8, 20])
def test_a_clearly_indefinite_matrix_raises_with_what_was_tried_and_changes_nothing(size: int) -> None:
    factor = appended(gram(size))
    before = factor.lower.tobytes(), factor.inverse.tobytes()
    for diagonal in (0.5, -1.0, float("nan")):
        with pytest.raises(NotPositiveDefiniteError) as caught:
            factor.append(gram(size)[0], diagonal)
        assert all(f"{jitter:g}" in str(caught.value) for jitter in JITTERS)
        assert (factor.lower.tobytes(), factor.inverse.tobytes()) == before
    with pytest.raises(NotPositiveDefiniteError):
        CholeskyFactor.of(gram(size) - 2.0 * np.eye(size))


def test_a_copy_and_its_original_do_not_touch_each_other() -> None:
    factor = appended(gram(20))
    other = factor.copy()
    other.remove(3)
    other.change_diagonal(0, 1.0)
    other.append(np.zeros(19), 1.0)
    assert_factor_of(factor, gram(20))
    third = factor.copy()
    factor.change_diagonal(0, 1.0)
    assert_factor_of(third, gram(20))


@pytest.mark.parametrize("before", [0, 1, 5])
def test_extended_by_known_rows_is_the_factor_of_the_whole(before: int) -> None:
    whole = CholeskyFactor.of(gram(14))
    part = CholeskyFactor.from_lower(whole.lower[:before, :before])
    part.extend(whole.lower[before:], whole.inverse[before:])
    np.testing.assert_array_equal(part.lower, whole.lower)
    np.testing.assert_allclose(part.inverse, whole.inverse, rtol=0, atol=1e-12)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("size", [1, 2, 64, 65, 130, 257])
def test_inverted_by_halves_is_the_inverse_and_looks_at_nothing_above_the_diagonal(
    size: int, order: Literal["C", "F"]
) -> None:
    L = np.linalg.cholesky(gram(size))
    above = np.triu(np.ones((size, size), bool), 1)
    given = np.array(np.where(above, np.nan, L), order=order)
    np.testing.assert_allclose(np.tril(inverted(given)) @ L, np.eye(size), rtol=0, atol=1e-10)
