import math

import numpy as np
import pytest

from uncubed._typing import Array
from uncubed.beliefs import ProjectedBelief
from uncubed.kernels import Kernel, Matern52
from uncubed.rippled import Rippled
from uncubed.vicinity import EVERYWHERE, REACHES, WIDE, Place, Vicinity

BEST = np.array([0.5, 0.4, 0.9])
TURNS = range(len(REACHES))
WIDEST = REACHES.index(0.2)


def learned(kernel: Kernel, noise: float = 1e-6, n: int = 30, d: int = 3) -> ProjectedBelief:
    belief, rng = ProjectedBelief(kernel, noise), np.random.default_rng(0)
    for x in rng.random((n, d)):
        belief.update(x, float(np.sin(5.0 * x[0]) + x[1] + 0.3 * np.sin(60.0 * x).sum()))
    return belief


def rippled(ratio: float = 0.02, d: int = 3) -> Rippled:
    return Rippled(Matern52([0.5] * d), 0.2, ratio)


def places(belief: ProjectedBelief, turn: int, told: int = 30) -> list[Place]:
    return Vicinity(np.arange(3)).places(turn, belief, BEST, told)


def holds(place: Place, x: Array) -> bool:
    return bool((place.region.nearest(x) == x).all())


def test_all_of_the_cube_has_its_turn_and_all_else_is_around_the_best_the_nearer_the_less_it_reaches() -> None:
    belief = learned(Matern52([0.5, 0.5, 2.0]))
    sizes = []
    for turn, reach in enumerate(REACHES):
        found = places(belief, turn)
        assert len(found) == (reach < EVERYWHERE)
        for place in found:
            assert holds(place, BEST)
            assert place.unknown == -math.inf
            sizes.append(place.region.size)
        np.testing.assert_equal(places(belief, turn + len(REACHES)), found)
    assert (np.diff(np.array(sizes), axis=0) < 0.0).all()


def test_a_region_reaches_far_where_values_hardly_change_and_parameters_count_once() -> None:
    groups = np.array([0, 1, *[2] * 8])
    scales = np.array([0.4, 3.0, *[0.7] * 8])
    best = np.array([0.5, 0.5, *np.eye(8)[0]])
    belief = learned(Matern52(scales), d=10)
    place = Vicinity(groups).places(WIDEST, belief, best, 30)[0]
    reaches = np.minimum(scales, 1.0)
    away = REACHES[WIDEST] / (0.4 * 1.0 * 0.7) ** (1 / 3) * reaches
    np.testing.assert_allclose(place.region.low, np.maximum(best - away, 0.0))
    np.testing.assert_allclose(place.region.high, np.minimum(best + away, 1.0))


@pytest.mark.parametrize("noise", [1e-4, 1e-2, 0.1, 0.4])
@pytest.mark.parametrize("kernel", [Matern52([0.5] * 3, 2.0), rippled()], ids=["trend", "rippled"])
def test_a_region_in_which_what_differs_is_drowned_by_noise_is_not_looked_at(kernel: Kernel, noise: float) -> None:
    belief = learned(kernel, noise)
    for turn, reach in enumerate(REACHES):
        differs = 2.0 * (kernel.variance - float(kernel(np.zeros((1, 3)), np.array([[reach, 0.0, 0.0]]))[0, 0]))
        assert bool(places(belief, turn)) == (reach < EVERYWHERE and differs > 4.0 * noise)


def test_where_there_is_no_end_of_hills_others_are_looked_at_around_the_best_of_the_trend() -> None:
    belief = learned(rippled())
    for turn, reach in enumerate(REACHES):
        found = places(belief, turn)
        assert len(found) == (2 if WIDE <= reach < EVERYWHERE else reach < EVERYWHERE)
        if len(found) == 2:
            other, near = found
            trend = belief.explained_by(rippled().trend)
            assert holds(other, belief.dictionary[trend.argmax()])
            assert holds(near, BEST)
            assert other.unknown == pytest.approx(0.5 * 0.2)
            assert near.unknown == -math.inf
            assert (belief.predict(belief.dictionary).variance < other.unknown).all()  # on no hill that was tried


def test_the_best_of_the_trend_is_another_than_the_luckiest_point() -> None:
    kernel, X = rippled(), np.random.default_rng(1).random((60, 3))
    y = -3.0 * ((X - 0.7) ** 2).sum(axis=1)
    lucky = int(y.argmin())
    y[lucky] = 0.5
    belief = ProjectedBelief(kernel, 1e-6)
    belief.update_many(X, y, np.full(60, 1e-6))
    other, near = Vicinity(np.arange(3)).places(WIDEST, belief, X[lucky], 30)
    assert belief.dictionary[belief.atom_means().argmax()].tolist() == X[lucky].tolist()
    assert holds(near, X[lucky])
    assert holds(other, np.full(3, 0.7))
    assert not holds(other, X[lucky])


def test_ripples_are_measured_by_their_share_of_the_variance() -> None:
    one, four = rippled(), Rippled(Matern52([0.5] * 3, 4.0), 0.2, 0.02)
    unknown = [places(learned(kernel), WIDEST)[0].unknown for kernel in (one, four)]
    assert unknown[1] == pytest.approx(4.0 * unknown[0])


def test_hills_are_counted_by_parameters_not_by_coordinates() -> None:
    groups, best = np.array([0, *[1] * 8]), np.full(9, 0.5)
    few = learned(Rippled(Matern52([0.5] * 9), 0.2, 0.1), d=9)
    assert len(Vicinity(groups).places(WIDEST, few, best, 30)) == 1
    assert len(Vicinity(np.arange(9)).places(WIDEST, few, best, 30)) == 2


@pytest.mark.parametrize("ratio", [0.02, 0.05, 0.1, 0.3])
@pytest.mark.parametrize("told", [2, 30, 300, 10_000])
def test_hills_are_learned_where_as_many_random_points_would_share_one(ratio: float, told: int) -> None:
    belief = learned(rippled(ratio))
    for turn in TURNS:
        if WIDE <= REACHES[turn] < EVERYWHERE:
            hills = (REACHES[turn] / 0.5 / ratio) ** 3
            assert (len(places(belief, turn, told)) == 1) == (hills <= told**2)


def test_in_many_dimensions_hills_are_counted_without_overflow() -> None:
    belief = learned(rippled(d=400), d=400)
    assert len(Vicinity(np.arange(400)).places(WIDEST, belief, np.full(400, 0.5), 10**6)) == 2
