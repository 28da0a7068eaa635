"""Several processes work on one study, by a PostgreSQL server and by a journal file, and one of them is killed."""

import json
import multiprocessing
import os
import signal
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.storages import BaseStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from optuna.study import MaxTrialsCallback, Study
from optuna.trial import TrialState

from benchmarks.problems import PROBLEMS
from uncubed.integrations.optuna import UncubedSampler

pytestmark = pytest.mark.cluster

WORKERS, TRIALS, KILLED_AT = 4, 400, 150
POSTGRESQL = "UNCUBED_TEST_POSTGRESQL"


@contextmanager
def opened(where: str) -> Iterator[BaseStorage]:
    """A journal by its path; a database by its address, whose running trials must show that they live."""
    if "://" not in where:
        yield JournalStorage(JournalFileBackend(where))
        return
    storage = RDBStorage(where, heartbeat_interval=1, grace_period=3)
    try:
        yield storage
    finally:
        storage.remove_session()
        storage.engine.dispose()


def ackley(trial: optuna.Trial) -> float:
    """So many hills that nobody is done with them: who is may repeat what he knows."""
    return PROBLEMS["ackley-4"]({f"x{k}": trial.suggest_float(f"x{k}", -5, 10) for k in range(4)})


def work(where: str, name: str, worker: int, diary: str) -> None:
    """Try until there are enough, and write down what was tried; the first dies while it tries something."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def objective(trial: optuna.Trial) -> float:
        value = ackley(trial)
        if worker == 0 and trial.number >= KILLED_AT:
            os.kill(os.getpid(), signal.SIGKILL)
        with Path(diary).open("a") as file:
            file.write(json.dumps([worker, trial.number, trial.params, value]) + "\n")
        return value

    with opened(where) as storage:
        sampler = UncubedSampler(seed=worker)
        study = optuna.load_study(study_name=name, storage=storage, sampler=sampler)
        study.optimize(objective, callbacks=[MaxTrialsCallback(TRIALS)])


@pytest.fixture(params=["postgresql", "journal"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "journal":
        return str(tmp_path / "study.log")
    pytest.importorskip("psycopg", reason="no driver: pip install psycopg[binary]")
    if POSTGRESQL not in os.environ:
        pytest.skip(f"no server: {POSTGRESQL} is not set")
    return os.environ[POSTGRESQL]


@pytest.fixture
def study(where: str) -> Iterator[Study]:
    with opened(where) as storage:
        study = optuna.create_study(study_name=uuid.uuid4().hex, storage=storage)
        yield study
        optuna.delete_study(study_name=study.study_name, storage=storage)


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")  # heartbeats
def test_a_study_is_finished_by_the_others_when_a_worker_is_killed(where: str, study: Study, tmp_path: Path) -> None:
    diary = tmp_path / "diary.jsonl"
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=work, args=(where, study.study_name, k, str(diary))) for k in range(WORKERS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [-signal.SIGKILL, 0, 0, 0]

    complete = study.get_trials(states=[TrialState.COMPLETE])
    tried: list[list[Any]] = [json.loads(line) for line in diary.read_text().splitlines()]
    assert TRIALS <= len(complete) < TRIALS + WORKERS
    assert [trial.number for trial in study.trials] == list(range(len(study.trials)))
    told = [[trial.number, trial.params, trial.value] for trial in complete]
    assert sorted((t[1:] for t in tried), key=lambda t: t[0]) == told  # nothing is lost
    assert {worker for worker, *_ in tried} == set(range(WORKERS))

    (left,) = (trial for trial in study.trials if trial.state != TrialState.COMPLETE)
    assert left.state == (TrialState.FAIL if "://" in where else TrialState.RUNNING)
    different = {tuple(trial.params.values()) for trial in study.trials}
    assert len(different) >= 0.95 * len(study.trials)  # ripples look like noise: the best may be looked at again

    random = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    random.optimize(ackley, n_trials=TRIALS)
    assert study.best_value < 0.5 * random.best_value
