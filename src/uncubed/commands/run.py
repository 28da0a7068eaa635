"""`uncubed run`: tune a program."""

import argparse
import shlex
import shutil
import signal
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType

from uncubed import progress
from uncubed.commands import template
from uncubed.commands.program import Program
from uncubed.commands.text import report
from uncubed.driver import Limits
from uncubed.errors import InvalidInputError
from uncubed.optimizer import Optimizer
from uncubed.run import Result, conduct, open_study
from uncubed.space import Space
from uncubed.study import Study, load


def run(chosen: argparse.Namespace) -> int:
    """Evaluate a program until the study ends; the exit code."""
    changes = {name: getattr(chosen, name) for name in ("jobs", "evaluations", "timeout")}
    study = replace(load(chosen.study), **{name: value for name, value in changes.items() if value is not None})
    _check(study, chosen.program, chosen.study)
    program = Program(chosen.program, source=study.value, logs=study.logs, timeout=study.timeout)
    with open_study(study.space, study.direction, study.journal, **study.options) as optimizer:
        result = _conducted(study, program, optimizer)
    print(report(result.optimizer, result.certificate, result.reason))
    print(f"study: {study.journal}\nlogs: {study.logs}")
    print(shlex.join(program.command(result.params, result.evaluations)))
    return 0


def _check(study: Study, words: Sequence[str], path: Path) -> None:
    """All that can be wrong is said before anything runs."""
    if not words:
        raise InvalidInputError(f"program: expected its command after --, got none: uncubed run {path} -- PROGRAM ...")
    if not template.names(words[0]) and shutil.which(words[0]) is None:  # ten failures would be the study's first
        raise InvalidInputError(f"program: expected one that can be run, got {words[0]!r}")
    space = Space(study.space)
    known = [*space.parameters, *(["id"] if "id" not in space.parameters else [])]
    if any(name in space.dimensions for word in words for name in template.names(word)):
        template.check("program", words, known=known, needed=space.dimensions)
    else:
        template.check("program", words, known=known, needed=())
        print("uncubed: no parameter is in the command, so the program must read UNCUBED_PARAMS", file=sys.stderr)
    if study.value.kind == "file":
        template.check("value", [study.value.name], known=known, needed=())
        if study.jobs > 1 and not template.names(study.value.name):
            raise InvalidInputError(
                f"value: expected {{id}} in the file's name, as {study.jobs} programs run at once, "
                f"got {study.value.name!r}"
            )


def _conducted(study: Study, program: Program, optimizer: Optimizer) -> Result:
    limits = Limits(study.evaluations, study.seconds, workers=study.jobs)  # the program keeps to its time itself
    with _terminated_as_interrupted(), ThreadPoolExecutor(study.jobs) as pool:
        try:
            return conduct(optimizer, lambda s: pool.submit(program.evaluate, s), limits, progress=progress.available())
        finally:
            program.stop()  # the pool waits for its threads, and they for what they run


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """The signals that end a process do as Ctrl-C, so that no program is left behind; nohup stays as it is."""

    def interrupt(_: int, __: FrameType | None) -> None:
        raise KeyboardInterrupt

    ending = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    ours = [number for number in ending if signal.getsignal(number) == signal.SIG_DFL]
    for number in ours:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)
