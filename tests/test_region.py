import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from uncubed._typing import Array
from uncubed.region import Region


def drawn(d: int, seed: int, reach: float) -> tuple[Region, Array, Array]:
    """A region, its centre, and points of the cube."""
    rng = np.random.default_rng(seed)
    centre = np.round(rng.uniform(-0.2, 1.2, d), 1).clip(0.0, 1.0)  # some on the cube's faces
    return Region.around(centre, reach * rng.uniform(0.01, 3.0, d)), centre, rng.random((50, d))


@given(d=st.integers(1, 6), seed=st.integers(0, 2**32 - 1), reach=st.floats(0.01, 0.9))
def test_it_lies_in_the_cube_around_its_centre(d: int, seed: int, reach: float) -> None:
    region, centre, U = drawn(d, seed, reach)
    assert (region.low >= 0.0).all()
    assert (region.high <= 1.0).all()
    assert (region.size > 0.0).all()
    np.testing.assert_array_equal(region.nearest(centre), centre)
    for within in (region.nearest(U), region.filled(U)):
        np.testing.assert_allclose(region.nearest(within), within, rtol=0, atol=1e-15)


@given(d=st.integers(1, 6), seed=st.integers(0, 2**32 - 1), reach=st.floats(0.01, 0.9))
def test_to_grow_it_to_the_cube_undoes_to_shrink_the_cube_to_it(d: int, seed: int, reach: float) -> None:
    region, _, U = drawn(d, seed, reach)
    np.testing.assert_allclose(region.spread_out(region.filled(U)), U, rtol=0, atol=1e-9)


def test_it_reaches_as_far_as_it_is_told_and_never_nowhere() -> None:
    region = Region.around(np.full(3, 0.5), np.array([0.1, 0.4, 1e-300]))
    np.testing.assert_allclose(region.size, [0.2, 0.8, 2e-9])


def test_all_of_the_cube_changes_nothing() -> None:
    U = np.random.default_rng(0).random((20, 3))
    whole = Region.whole(3)
    for same in (whole.filled(U), whole.spread_out(U), whole.nearest(U)):
        np.testing.assert_array_equal(same, U)


def test_some_coordinates_may_be_anywhere() -> None:
    region = Region.around(np.full(3, 0.5), np.full(3, 0.1)).but_for(np.array([False, True, False]))
    np.testing.assert_allclose(region.low, [0.4, 0.0, 0.4])
    np.testing.assert_allclose(region.high, [0.6, 1.0, 0.6])
