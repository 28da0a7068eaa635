import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from uncubed._typing import Array
from uncubed.places import Places

numbers = st.sampled_from([0.0, 0.125, 0.3, 0.5, 1.0])
some_places = st.tuples(st.integers(1, 20), st.integers(1, 3)).flatmap(
    lambda shape: st.tuples(arrays(float, shape, elements=numbers), arrays(float, (4, shape[1]), elements=numbers))
)


def distances(places: Array, place: Array, labels: list[int]) -> Array:
    parts = [
        (places[:, j] != place[j]).astype(float) if count else (places[:, j] - place[j]) ** 2
        for j, count in enumerate(labels)
    ]
    total: Array = np.sum(parts, axis=0)
    return total


@given(some_places)
def test_rows_of_equal_places_are_found(given_places: tuple[Array, Array]) -> None:
    places, queries = given_places
    found = Places(places, [0] * places.shape[1])
    first = found.first(queries)
    for query, row in zip(queries, first, strict=True):
        equal = np.flatnonzero((places == query).all(axis=1))
        assert found.rows(query).tolist() == equal.tolist()
        assert row == (equal[0] if len(equal) else -1)
    _, expected = np.unique(places, axis=0, return_index=True)
    assert found.different.tolist() == sorted(expected)


@given(some_places, st.integers(0, 2**32 - 1))
def test_the_nearest_is_that_of_a_scan(given_places: tuple[Array, Array], seed: int) -> None:
    numeric, queries = given_places
    rng, labels = np.random.default_rng(seed), [0] * numeric.shape[1] + [3, 2]
    places = np.column_stack([numeric, rng.integers(3, size=len(numeric)), rng.integers(2, size=len(numeric))])
    queries = np.column_stack([queries, rng.integers(3, size=len(queries)), rng.integers(2, size=len(queries))])
    rows = Places(places, labels).nearest(queries)
    for query, row in zip(queries, rows, strict=True):
        away = distances(places, query, labels)
        assert away[row] <= away.min() + 1e-12


def test_zero_has_one_place() -> None:
    assert Places(np.array([[0.0], [-0.0], [1.0]]), [0]).different.tolist() == [0, 2]
    assert Places(np.array([[0.0], [1.0]]), [0]).first(np.array([[-0.0]])).tolist() == [0]


def test_neighbours_are_different_and_no_more_than_there_are() -> None:
    places = np.repeat(np.linspace(0.0, 1.0, 5), 100)[:, None]
    near = Places(places, [0]).near(np.array([[0.3], [1.0]]), 3)
    assert near.tolist() == [[100, 200, 0], [400, 300, 200]]
    assert sorted(Places(places, [0]).near(np.array([[0.3]]), 32)[0]) == [0, 100, 200, 300, 400]


def test_among_many_labels_the_same_label_is_nearer_than_another() -> None:
    rng = np.random.default_rng(0)
    places = np.column_stack([rng.random((5000, 2)), rng.integers(200, size=(5000, 1))])
    found, labels = Places(places, [0, 0, 200]), [0, 0, 200]
    queries = places[:200] + np.array([1e-3, 0.0, 0.0])
    assert (found.nearest(places[:200]) == np.arange(200)).all()
    assert (found.nearest(queries) == np.arange(200)).all()
    near = found.near(queries, 8)
    typical = np.median([distances(places, query, labels) for query in queries])
    assert np.mean([distances(places[rows], q, labels) for rows, q in zip(near, queries, strict=True)]) < 0.7 * typical


def test_in_many_coordinates_what_is_found_is_near() -> None:
    rng = np.random.default_rng(0)
    places, queries = rng.random((3000, 20)), rng.random((50, 20))
    rows = Places(places, [0] * 20).nearest(queries)
    away = np.array([distances(places, query, [0] * 20) for query in queries])
    assert (away[np.arange(50), rows] < np.quantile(away, 0.1, axis=1)).all()
