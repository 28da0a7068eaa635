"""Runs in parallel, one BLAS thread each, the same rows whatever the number of processes."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice

from uncubed.errors import StateError
from uncubed.experiments.runner import Row, Task, run

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def rows(tasks: Sequence[Task], jobs: int) -> Iterator[Row]:
    """The rows of tasks as they come; interrupted, its processes end at once."""
    # Also for one job a process of its own: the threads of a BLAS are set before it is loaded.
    for name in _THREADS:
        os.environ[name] = "1"
    context = multiprocessing.get_context("spawn")
    waiting, jobs = iter(tasks), min(jobs, len(tasks))
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_prepare, initargs=(tasks[0],)) as executor:
        try:
            # Few at a time, so that an interrupt has nothing to cancel.
            with _interrupts_held():
                running = {executor.submit(run, task): task for task in islice(waiting, 2 * jobs)}
            while running:
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    yield _result(future, running.pop(future))
                    running |= {executor.submit(run, task): task for task in islice(waiting, 1)}
        except BaseException:
            for process in multiprocessing.active_children():
                process.terminate()
            raise


def _result(future: Future[Row], task: Task) -> Row:
    try:
        return future.result()
    except Exception as error:
        what = f"{task.setting.name}, {task.acquisition}, {task.method.name}, seed {task.seed}"
        raise StateError(f"{what}: expected a finished run, got {error!r}; rows made before it are kept") from error


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back while processes start: they inherit the mask, and print no tracebacks of their imports."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _prepare(task: Task) -> None:
    """In each process: leave Ctrl-C to the parent, end with it, and warm up: no run's clock pays for imports."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    for acquisition in ("ucb", "ei", "mpi"):
        for method in task.setting.methods:
            short = replace(task.setting, problem="example", data="", levels=(50,), horizon=5, initial=1)
            run(Task(short, acquisition, method, 0))


def _end_with_parent() -> None:
    """A parent that was killed cannot end its processes, and they would wait for work for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
