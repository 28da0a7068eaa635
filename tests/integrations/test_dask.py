"""`maximize` on a cluster of processes, some of which die."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import uncubed as uc
from uncubed.errors import EvaluationError
from uncubed.optimizer import Optimizer
from uncubed.space import Params

distributed = pytest.importorskip("distributed", reason="Dask is not installed")
pytestmark = pytest.mark.cluster

SPACE = {"x": uc.Float(-2.0, 2.0), "y": uc.Float(-2.0, 2.0)}
WORKERS = 3


@pytest.fixture
def cluster() -> Iterator[Any]:  # one for each test: not every worker that was killed comes back on a busy machine
    critical = 50  # deaths of workers are meant
    with distributed.LocalCluster(
        n_workers=WORKERS, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=critical
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster: Any) -> Iterator[Any]:
    with distributed.Client(cluster) as client:
        client.wait_for_workers(WORKERS, timeout=120)
        yield client


def hill(params: Params) -> float:
    return -float((params["x"] - 0.3) ** 2 + (params["y"] + 0.5) ** 2)


def dying(folder: Path, at: int) -> Callable[[Params], float]:
    """An objective of which one evaluation kills its worker, the first time; a closure, so that workers know it."""
    height = hill

    def f(params: Params) -> float:
        begun = len(list(folder.iterdir()))
        (folder / str(params)).touch()
        if begun >= at and not (folder / "died").exists():
            (folder / "died").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return height(params)

    return f


def deadly(params: Params) -> float:
    if params["x"] > 1.0:
        os.kill(os.getpid(), signal.SIGKILL)
    return hill(params)


def assert_told_once(optimizer: Optimizer, values: int) -> None:
    """Every value is told, where it belongs, and none is awaited."""
    points = [optimizer.params(i) for i in range(values)]
    assert optimizer.log.values.tolist() == [hill(point) for point in points]
    assert optimizer.pending == {}


def test_a_worker_that_is_killed_loses_nothing(client: Any, tmp_path: Path) -> None:
    executor = client.get_executor(pure=False)
    result = uc.maximize(dying(tmp_path, 10), SPACE, evaluations=30, executor=executor, workers=WORKERS, seed=0)
    assert (tmp_path / "died").exists()
    assert (result.evaluations, result.failures) == (30, ())
    assert_told_once(result.optimizer, 30)
    assert {path.name for path in tmp_path.iterdir()} - {"died"} == {str(result.optimizer.params(i)) for i in range(30)}
    assert result.value > -0.05


def test_an_evaluation_that_kills_its_workers_is_a_failure(client: Any, cluster: Any) -> None:
    cluster.scheduler.allowed_failures = 0
    executor = client.get_executor(pure=False)
    result = uc.maximize(deadly, SPACE, evaluations=15, executor=executor, workers=1, seed=0)
    assert result.evaluations == 15
    assert result.failures
    assert all(failure.params["x"] > 1.0 for failure in result.failures)
    assert all(failure.reason.startswith("KilledWorker: ") for failure in result.failures)
    assert_told_once(result.optimizer, 15 - len(result.failures))


def test_a_client_that_is_closed_loses_nothing_told(client: Any, tmp_path: Path) -> None:
    executor = client.get_executor(pure=False)

    class Closing:
        submitted = 0

        def submit(self, *arguments: Any) -> Any:
            self.submitted += 1
            if self.submitted == 10:
                client.close()
            return executor.submit(*arguments)

    journal = tmp_path / "study.jsonl"
    with pytest.raises(EvaluationError, match="executor: expected one that takes evaluations, got ") as raised:
        uc.maximize(hill, SPACE, journal=journal, executor=Closing(), workers=WORKERS, seed=0)  # type: ignore[arg-type]
    told, failed = raised.value.optimizer.evaluations, raised.value.optimizer.failures
    assert (10 - WORKERS <= told < 10, failed) == (True, [])
    result = uc.maximize(hill, SPACE, journal=journal, evaluations=12)
    assert result.failures == ()
    assert_told_once(result.optimizer, 12)
