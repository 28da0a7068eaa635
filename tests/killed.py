"""Kills studies at random moments: run as a program by test_events, alone in its process so that it may fork.

Each child goes on with the study where the last was killed, and acknowledges each value through a pipe once `tell` has
returned. At the end the journal must have every acknowledged value once, and be as if nobody had been killed.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import uncubed as uc
from uncubed import model

model.REFRESHED = 16  # checkpoints on the way

ACQUISITIONS = [
    uc.ExpectedImprovement(),
    uc.UpperConfidenceBound(),
    uc.MostProbableImprovement(),
    uc.ProbabilityOfImprovement(),
    uc.PureExploration(),
]
SPACE = {"x": uc.Float(0.0, 1.0), "n": uc.Int(0, 20), "c": uc.Categorical(["a", "b"])}
OUT = 2  # suggestions out at once


def begin(acquisition: uc.Acquisition, journal: Path | None = None) -> uc.Optimizer:
    return uc.Optimizer(SPACE, acquisition=acquisition, seed=3, journal=journal)


def objective(params: dict[str, float | str]) -> float:
    return -((float(params["x"]) - 0.3) ** 2) - abs(float(params["n"]) - 7) / 10 + (params["c"] == "b")


def go_on(opt: uc.Optimizer, acknowledge: int, most: int) -> None:
    """Tell the oldest of `OUT` pending suggestions, over and over."""
    while opt.evaluations < most:
        while len(opt.pending) < OUT:
            opt.ask()
        oldest = opt.pending[min(opt.pending)]
        value = objective(oldest.params)
        opt.tell(oldest, value)
        os.write(acknowledge, f"{oldest.id} {value!r}\n".encode())


def killed_once(path: Path, rng: random.Random) -> list[str]:
    """Resume in a child, kill it, and what it had acknowledged."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        os.write(writing, b"begun\n")
        go_on(uc.Optimizer.resume(path), writing, 10**9)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        pipe.readline()
        acknowledged = [pipe.readline().rstrip() for _ in range(rng.randint(0, 8))]
        time.sleep(rng.uniform(0.0, 0.03))  # in the middle of whatever comes next
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return [*acknowledged, *pipe.read().splitlines()]


def uninterrupted(acquisition: uc.Acquisition, evaluations: int) -> uc.Optimizer:
    opt = begin(acquisition)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    go_on(opt, nowhere, evaluations)
    os.close(nowhere)
    return opt


def check(path: Path, acquisition: uc.Acquisition, acknowledged: list[str]) -> None:
    events = [
        json.loads(line) for line in path.read_text(encoding="utf-8").splitlines(keepends=True) if line[-1] == "\n"
    ]
    told = [f"{event['id']} {event['value']!r}" for event in events if event.get("event") == "tell"]
    assert len(told) == len(set(told)), "doubled"
    assert set(acknowledged) <= set(told), "lost"
    assert len(acknowledged) >= len(told) - KILLS, "more than one value per kill was written and not acknowledged"
    resumed, straight = uc.Optimizer.resume(path), uninterrupted(acquisition, len(told))
    while len(resumed.pending) < OUT:
        resumed.ask()
    while len(straight.pending) < OUT:
        straight.ask()
    assert [s.params for s in resumed.pending.values()] == [s.params for s in straight.pending.values()]
    assert resumed.log.values.tolist() == straight.log.values.tolist()
    assert resumed._model.belief.state() == straight._model.belief.state()
    assert resumed.ask().params == straight.ask().params
    print(f"{type(acquisition).__name__}: {len(told)} values, {len(acknowledged)} acknowledged")


KILLS = 10

if __name__ == "__main__":
    random_moments = random.Random(int(sys.argv[2]))
    for acquisition in ACQUISITIONS:
        path = Path(sys.argv[1]) / f"{type(acquisition).__name__}.jsonl"
        begin(acquisition, path).close()
        acknowledged = [line for _ in range(KILLS) for line in killed_once(path, random_moments)]
        check(path, acquisition, acknowledged)
