import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from uncubed._shown import best_so_far, decimate, short, typical, visible
from uncubed._typing import Array

DIRECTIONS = ["maximize", "minimize"]


@st.composite
def curves(draw: st.DrawFn) -> tuple[Array, Array]:
    """Ascending places, some of them equal, and values, some of them equal."""
    n = draw(st.integers(1, 400))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    x = np.sort(draw(st.sampled_from([rng.random(n), np.log1p(np.arange(n)), np.round(3 * rng.random(n)), np.ones(n)])))
    return x, draw(st.sampled_from([rng.standard_normal(n), np.round(rng.standard_normal(n)), np.zeros(n)]))


@given(curves(), st.integers(4, 100))
def test_of_a_curve_a_few_points_are_kept_with_its_ends_and_extremes(curve: tuple[Array, Array], most: int) -> None:
    x, y = curve
    kept = decimate(x, y, most)
    assert len(kept) <= most
    assert (np.diff(kept) > 0).all()
    assert {0, len(x) - 1} <= set(kept.tolist())
    assert (y[kept].min(), y[kept].max()) == (y.min(), y.max())


@given(curves())
def test_a_short_curve_is_kept_whole(curve: tuple[Array, Array]) -> None:
    x, y = curve
    np.testing.assert_array_equal(decimate(x, y, max(len(x), 4)), np.arange(len(x)))


@given(st.integers(4, 200), st.integers(0, 400), st.sampled_from([-1.0, 1.0]))
def test_peaks_a_stretch_apart_are_all_kept(most: int, first: int, height: float) -> None:
    stretch = 1000 // ((most - 2) // 2) + 1
    peaks = np.arange(first, 1000, stretch)
    y = np.sin(np.arange(1000.0)) / 2.0
    y[peaks] = height
    assert set(peaks.tolist()) <= set(decimate(np.arange(1000.0), y, most).tolist())


def test_no_point_is_decimated_to_none() -> None:
    assert decimate(np.empty(0), np.empty(0), 10).size == 0


@given(curves(), st.integers(2, 50), st.sampled_from(DIRECTIONS))
def test_a_few_typical_values_have_the_best_among_them(curve: tuple[Array, Array], most: int, direction: str) -> None:
    y = curve[1]
    kept = typical(y, direction, most)
    assert 0 < len(kept) <= max(most, 1)
    assert (np.diff(kept) > 0).all()
    assert best_so_far(y[kept], direction)[-1] == best_so_far(y, direction)[-1]


@given(curves())
def test_to_maximise_is_to_minimise_the_opposite(curve: tuple[Array, Array]) -> None:
    y = curve[1]
    np.testing.assert_array_equal(best_so_far(y, "maximize"), -best_so_far(-y, "minimize"))
    low, high = visible(y, "maximize")
    assert visible(-y, "minimize") == (-high, -low)


@given(curves(), st.sampled_from(DIRECTIONS))
def test_most_values_are_visible_and_the_best_is(curve: tuple[Array, Array], direction: str) -> None:
    y = curve[1]
    low, high = visible(y, direction)
    assert y.min() <= low <= high <= y.max()
    assert low <= best_so_far(y, direction)[-1] <= high
    assert np.mean((low <= y) & (y <= high)) >= 0.9 - 1.0 / len(y)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_bad_value_far_off_is_not_visible_and_a_good_one_is(direction: str) -> None:
    usual = np.linspace(0.0, 1.0, 50)
    bad = -1e6 if direction == "maximize" else 1e6
    low, high = visible(np.append(usual, bad), direction)
    assert high - low < 10.0
    low, high = visible(np.append(usual, -bad), direction)
    assert high - low > 1e5


@given(st.text(), st.integers(2, 30))
def test_a_short_text_is_short_and_on_one_line(text: str, length: int) -> None:
    shown = short(text, length)
    assert len(shown) <= length
    assert len(shown.splitlines()) <= 1


def test_numbers_are_rounded_for_readers() -> None:
    assert short(0.1 + 0.2) == "0.3"
    assert short(12345) == "12345"
