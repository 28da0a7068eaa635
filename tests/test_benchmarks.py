"""The benchmark's functions have the optima they claim."""

import numpy as np
import pytest
from scipy.optimize import minimize

from benchmarks.problems import PROBLEMS, Problem

EACH = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)


@EACH
def test_optimum_is_where_it_is_said_to_be(problem: Problem) -> None:
    where = np.array(problem.where)
    assert np.all((np.array(problem.low) <= where) & (where <= np.array(problem.high)))
    assert problem.function(where) == pytest.approx(problem.optimum, abs=1e-6)


@EACH
def test_nothing_is_below_the_optimum(problem: Problem) -> None:
    low, high = np.array(problem.low), np.array(problem.high)
    X = low + np.random.default_rng(0).random((2000, len(low))) * (high - low)
    assert min(problem.function(x) for x in X) >= problem.optimum
    refined = minimize(problem.function, problem.where, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12})
    assert refined.fun >= problem.optimum - 1e-9


@EACH
def test_params_are_taken_in_order(problem: Problem) -> None:
    params = {f"x{k}": v for k, v in enumerate(problem.where)}
    assert problem(params) == problem.function(np.array(problem.where))
    assert list(problem.space) == list(params)
