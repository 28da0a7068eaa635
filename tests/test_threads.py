import sys
from collections.abc import Iterator

import numpy as np
import pytest

from uncubed import threads


@pytest.fixture(autouse=True)
def _fresh_controller() -> Iterator[None]:
    threads._controller.cache_clear()
    yield
    threads._controller.cache_clear()


def blas_threads() -> set[int]:
    info = pytest.importorskip("threadpoolctl").threadpool_info()
    return {library["num_threads"] for library in info if library["user_api"] == "blas"}


def test_without_threadpoolctl_nothing_is_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = pytest.importorskip("threadpoolctl").threadpool_limits
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    with limits(2, user_api="blas"), threads.one_thread(10):
        monkeypatch.undo()
        assert blas_threads() == {2}
        assert (np.eye(2) @ np.eye(2)).trace() == 2.0


@pytest.mark.parametrize(("rows", "inside"), [(0, 1), (threads.SMALL_MODEL - 1, 1), (threads.SMALL_MODEL, 2)])
def test_a_small_model_has_one_thread_and_gives_the_others_back(rows: int, inside: int) -> None:
    limits = pytest.importorskip("threadpoolctl").threadpool_limits
    with limits(2, user_api="blas"):
        assert blas_threads() == {2}
        with threads.one_thread(rows):
            assert blas_threads() == {inside}
        assert blas_threads() == {2}


def test_where_there_is_one_thread_already_nothing_is_set() -> None:
    limits = pytest.importorskip("threadpoolctl").threadpool_limits
    with limits(2, user_api="blas"), threads.one_thread(10) as outer, threads.one_thread(10) as inner:
        assert outer is not None
        assert inner is None
        assert blas_threads() == {1}
