import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uncubed._typing import Array
from uncubed.beliefs import ProjectedBelief
from uncubed.contenders import NEAR, contenders
from uncubed.dimensions import Float, Int
from uncubed.kernels import Matern52
from uncubed.model import Model
from uncubed.space import Space

SPACE = Space({"x": Float(0.0, 1.0), "n": Int(0, 9)})


def told(n: int, f: Callable[[Array], float] = lambda u: float(np.sin(4.0 * u[0]) + u[1]), seed: int = 1) -> Model:
    model = Model(SPACE.groups)
    for u in SPACE.sample(np.random.default_rng(seed), n):
        model.tell(u, f(u))
    return model


def test_they_are_points_told_the_best_believed_first() -> None:
    model = told(15)
    rows, mean, variance = contenders(model, 2.0)
    assert (np.diff(mean) <= 0.0).all()
    assert len(np.unique(rows, axis=0)) == len(rows)
    assert all(row in model.history for row in rows)
    believed = model.predict(rows)
    np.testing.assert_allclose(mean, believed.mean)
    np.testing.assert_allclose(variance, believed.variance, atol=1e-12)
    model.tell(np.array([0.4, 1.0]), 50.0)
    assert contenders(model, 2.0).rows[0].tolist() == [0.4, 1.0]


def test_before_anything_was_told_there_are_none() -> None:
    found = contenders(told(0), 2.0)
    assert found.rows.shape == (0, 2)
    assert found.floor(2.0) == -math.inf


@settings(max_examples=10)
@given(st.integers(0, 2**16), st.sampled_from([0.0, 1.0, 5.0]))
def test_no_atom_has_a_larger_lower_bound(seed: int, width: float) -> None:
    noise = np.random.default_rng(seed)
    model = told(150, lambda u: float(np.sin(9.0 * u[0]) + 0.2 * noise.standard_normal()), seed)
    mean, variance = model.belief.predict(model.belief.dictionary)
    known = contenders(model, width)
    assert float((mean - width * np.sqrt(variance)).max()) <= known.floor(width) + 1e-9
    assert known.mean[0] >= mean.max() - 1e-9


def test_what_cannot_be_the_best_is_left_out() -> None:
    model = told(250)
    assert model.belief.distinct > NEAR
    assert len(contenders(model, 0.0).rows) < model.history.distinct


def test_a_point_of_which_much_is_known_is_one_of_them_though_many_seem_better() -> None:
    model, surely = told(0), np.array([0.5, 4.0 / 9.0])
    model.belief = ProjectedBelief(Matern52(0.001), noise_variance=0.1)
    for u in SPACE.sample(np.random.default_rng(0), 120):
        model.history.add(u, 1.0)
        model.belief.update(u, 1.0)
    model.history.add(surely, 0.5)
    model.belief.update(surely, 0.5, noise_variance=1e-6)
    assert (model.belief.atom_means() > 0.5).sum() > NEAR + len(model.history.best)
    known = contenders(model, 5.0)
    assert surely.tobytes() in {u.tobytes() for u in known.rows}
    assert known.floor(5.0) == pytest.approx(0.5, abs=0.01)
