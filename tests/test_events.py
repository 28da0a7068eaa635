import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import uncubed.model
from tests.helpers import EXPECTED_GOT
from uncubed.acquisition import (
    Acquisition,
    ExpectedImprovement,
    MostProbableImprovement,
    ProbabilityOfImprovement,
    PureExploitation,
    PureExploration,
    UpperConfidenceBound,
)
from uncubed.budget import Budget
from uncubed.dimensions import Bool, Categorical, Float, Int
from uncubed.errors import InvalidInputError, StateError
from uncubed.events import decode_space, encode_space
from uncubed.kernels import Matern32
from uncubed.optimizer import Optimizer
from uncubed.space import Params, Space

MIXED = {"x": Float(0.0, 1.0), "n": Int(1, 64, log=True), "c": Categorical(["a", "b", "c"]), "b": Bool(), "seed": 3}

ACQUISITIONS: list[Acquisition] = [
    ExpectedImprovement(),
    UpperConfidenceBound(),
    MostProbableImprovement(),
    ProbabilityOfImprovement(),
    PureExploration(),
    PureExploitation(),
]


def objective(p: Params) -> float:
    return math.sin(5.0 * p["x"]) + 0.1 * math.log(p["n"]) + 0.3 * float(p["c"] == "b") - 0.2 * float(p["b"])


def known(opt: Optimizer) -> Any:
    """All that decides what comes next, to the last bit."""
    model, book = opt._model, opt._book
    return (
        model.belief.state(),
        model.scaling,
        model.history.actions.tolist(),
        model.history.values.tolist(),
        np.nan_to_num(opt.log.nats, nan=-1.0).tolist(),
        opt.log.model_orders.tolist(),
        [(s.id, s.params, s.decision.variance) for s in book.pending.values()],
        [(f.params, f.reason) for f in book.failures],
        [u.tolist() for u in book.queue],
        book.asked,
        book.told,
        opt._outlook.rng.bit_generator.state,
    )


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """States are saved often."""
    monkeypatch.setattr(uncubed.model, "REFRESHED", 7)


def steps(opt: Optimizer, n: int) -> list[Params]:
    asked = []
    for _ in range(n):
        suggestion = opt.ask()
        opt.tell(suggestion, objective(suggestion.params))
        asked.append(suggestion.params)
    return asked


# Resumed is uninterrupted


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize(
    ("acquisition", "checkpoint"),
    [*((a, True) for a in ACQUISITIONS), (ACQUISITIONS[0], False)],
    ids=lambda a: type(a).__name__,
)
def test_25_and_25_evaluations_are_50_to_the_last_bit(
    acquisition: Acquisition, checkpoint: bool, tmp_path: Path
) -> None:
    path = tmp_path / "study.jsonl"
    with Optimizer(MIXED, acquisition=acquisition, seed=1, journal=path) as opt:
        first = steps(opt, 25)
        opt.ask(2)
    if not checkpoint:
        (tmp_path / "study.jsonl.checkpoint").unlink()
    with Optimizer.resume(path) as opt:
        second = steps(opt, 25)
        resumed = known(opt), opt.best, opt.done
    straight = Optimizer(MIXED, acquisition=acquisition, seed=1)
    asked = steps(straight, 25)
    straight.ask(2)
    asked += steps(straight, 25)
    assert first + second == asked
    assert resumed == (known(straight), straight.best, straight.done)


OPERATIONS = ["ask", "ask", "tell", "tell", "noisy", "nan", "fail", "cancel", "fixed", "enqueue", "outside", "many"]

operations = st.lists(
    st.tuples(st.sampled_from([*OPERATIONS, "resume", "resume"]), st.integers(0, 2**32 - 1)), min_size=4, max_size=24
)


def play(opt: Optimizer, what: str, number: int) -> None:
    rng = np.random.default_rng(number)
    points = [opt.space.decode(u) for u in opt.space.sample(rng, 3)]
    if what == "ask":
        opt.ask()
    elif what == "fixed":
        opt.ask(fixed={"c": points[0]["c"]})
    elif what == "enqueue":
        opt.enqueue(points[0])
    elif what == "outside":
        opt.tell(points[0], objective(points[0]), 0.1)
    elif what == "many":
        opt.tell_many(points, [objective(points[0]), math.nan, 1.0], [0.5, 0.1, 2.0])
    elif opt.pending:
        suggestion = list(opt.pending.values())[int(rng.integers(len(opt.pending)))]
        if what in ("tell", "noisy", "nan"):
            value = math.nan if what == "nan" else objective(suggestion.params)
            opt.tell(suggestion, value, 0.01 if what == "noisy" else None)
        elif what == "fail":
            opt.fail(suggestion, "crash")
        else:
            opt.cancel(suggestion)


@settings(max_examples=15)
@given(operations=operations, refreshed=st.sampled_from([3, 512]))
def test_any_sequence_of_calls_may_be_interrupted_anywhere(
    operations: list[tuple[str, int]], refreshed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("study") / "study.jsonl"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(uncubed.model, "REFRESHED", refreshed)
        straight, opt = Optimizer(MIXED, seed=2), Optimizer(MIXED, seed=2, journal=path)
        for what, number in operations:
            if what == "resume":
                opt.close()
                opt = Optimizer.resume(path)
            else:
                play(straight, what, number)
                play(opt, what, number)
            assert known(opt) == known(straight)
        assert opt.milestones == straight.milestones
        opt.close()
        assert known(Optimizer.resume(path, read_only=True)) == known(straight)


def test_killed_at_50_random_moments_nothing_is_lost_and_nothing_doubled(tmp_path: Path) -> None:
    program = Path(__file__).with_name("killed.py")
    ran = subprocess.run(
        [sys.executable, str(program), str(tmp_path), "1"], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("acknowledged") == 5


def test_everything_an_optimizer_is_made_of_is_in_the_journal(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    options: dict[str, Any] = {
        "direction": "minimize",
        "acquisition": UpperConfidenceBound(),
        "budget": Budget.resolution(0.1, relative=True),
        "kernel": Matern32([0.5] * 6),
        "noise_variance": 0.04,
        "max_model_order": 9,
        "delta": 0.2,
        "seed": None,
        "tolerance": 0.5,
        "evaluations": 40,
    }
    opt = Optimizer(MIXED, **options, constraints=[lambda p: p["n"] > 1], journal=path)
    opt.close()
    again = Optimizer.resume(path, constraints=[lambda p: p["n"] > 1], read_only=True)
    for name in (
        "direction",
        "acquisition",
        "budget",
        "noise_variance",
        "max_model_order",
        "delta",
        "seed",
        "tolerance",
    ):
        assert getattr(again, name) == getattr(opt, name)
    assert again.most_evaluations == 40
    assert again.space.parameters == MIXED  # type: ignore[union-attr]
    assert [again.ask().params for _ in range(20)] == [
        s.params for s in Optimizer(MIXED, **{**options, "seed": opt.seed}, constraints=[lambda p: p["n"] > 1]).ask(20)
    ]


# What is on disk


def test_to_look_at_a_study_needs_no_lock_and_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    with Optimizer(MIXED, seed=1, journal=path) as opt:
        steps(opt, 4)
        before = path.read_bytes()
        copy = Optimizer.resume(path, read_only=True)
        steps(copy, 3)
        assert path.read_bytes() == before
        steps(opt, 3)
        assert known(copy) == known(opt)


def test_a_checkpoint_that_cannot_be_used_only_costs_time(tmp_path: Path, often: None) -> None:
    path, checkpoint = tmp_path / "study.jsonl", tmp_path / "study.jsonl.checkpoint"
    with Optimizer(MIXED, seed=1, journal=path) as opt:
        steps(opt, 16)
        expected = known(opt)
    good = json.loads(checkpoint.read_text(encoding="utf-8"))
    for bad in (
        "{",
        json.dumps({**good, "id": "another"}),
        json.dumps({**good, "events": 10**6}),
        json.dumps({**good, "version": 1}),
        "[]",
    ):
        checkpoint.write_text(bad, encoding="utf-8")
        assert known(Optimizer.resume(path, read_only=True)) == expected


def test_a_write_that_fails_leaves_the_study_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Optimizer(MIXED, seed=1, journal=tmp_path / "study.jsonl") as opt:
        steps(opt, 12)
        suggestion = opt.ask()
        before = known(opt)
        with monkeypatch.context() as patch:
            patch.setattr("uncubed.journal.os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left")))
            for call in (
                lambda: opt.tell(suggestion, 1.0),
                lambda: opt.fail(suggestion, "crash"),
                lambda: opt.cancel(suggestion),
                lambda: opt.enqueue(MIXED_POINT),
                lambda: opt.tell_many([MIXED_POINT], [1.0]),
            ):
                with pytest.raises(OSError, match="No space left"):
                    call()
                assert known(opt) == before
        opt.tell(suggestion, 1.0)
        after = known(opt)
    assert known(Optimizer.resume(tmp_path / "study.jsonl", read_only=True)) == after


MIXED_POINT = {"x": 0.5, "n": 2, "c": "a", "b": True}


def test_an_old_study_is_not_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    Optimizer(MIXED, journal=path).close()
    with pytest.raises(StateError, match=r"study\.jsonl: expected a new file, got a study; Optimizer\.resume"):
        Optimizer(MIXED, journal=path)
    Optimizer.resume(path).close()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("", "expected the journal of a study"),
        ('{"kind": "other"}\n', "expected the journal of a study"),
        ('{"kind": "uncubed study", "version": 99}\n', "expected version 1, got 99"),
        ("hello\n", "line 1: expected JSON"),
    ],
)
def test_what_is_no_study_is_said(tmp_path: Path, lines: str, message: str) -> None:
    path = tmp_path / "study.jsonl"
    path.write_text(lines, encoding="utf-8")
    with pytest.raises(StateError, match=message):
        Optimizer.resume(path)
    with pytest.raises(StateError, match="got no file"):
        Optimizer.resume(tmp_path / "none.jsonl")


@pytest.mark.parametrize("event", [{"event": "tell", "id": 99}, {"event": "dance"}, {"no": "event"}])
def test_a_line_that_does_not_fit_is_named(tmp_path: Path, event: dict[str, Any]) -> None:
    path = tmp_path / "study.jsonl"
    Optimizer(MIXED, journal=path).close()
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(event) + "\n")
    with pytest.raises(StateError, match="line 2: expected an event of this study"):
        Optimizer.resume(path)


def test_constraints_must_be_given_again(tmp_path: Path) -> None:
    Optimizer(MIXED, constraints=[lambda p: p["n"] > 1], journal=tmp_path / "study.jsonl").close()
    with pytest.raises(StateError, match="constraints: expected the 1 of before, got 0"):
        Optimizer.resume(tmp_path / "study.jsonl")


# Spaces


def test_a_space_is_the_same_after_json() -> None:
    space = Space({**MIXED, "k": Int(-4, 8, step=3), "o": Categorical([1, 1.0, True, None, "1"]), "t": "text"})
    state = json.loads(json.dumps(encode_space(space)))
    again = Space(decode_space(state))
    assert again.parameters == space.parameters
    assert [type(c) for c in again.parameters["o"].choices] == [int, float, bool, type(None), str]


@pytest.mark.parametrize("parameter", [Categorical([(1, 2)]), object(), np.zeros(2), math.nan])
def test_what_json_cannot_hold_is_refused_before_a_file_is_made(tmp_path: Path, parameter: Any) -> None:
    with pytest.raises(StateError, match="c" + EXPECTED_GOT):
        Optimizer({"x": Float(0, 1), "c": parameter}, journal=tmp_path / "study.jsonl")
    assert not (tmp_path / "study.jsonl").exists()


@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        ({"type": "real"}, "x: expected a type of float, int, categorical or bool, got 'real'"),
        ({"low": 1}, "x: expected a type .* got None"),
        ({"type": "float", "low": 0, "hgih": 1}, "x: expected a float by low, high, log, step, got low, hgih"),
        ({"type": "float", "low": 2, "high": 1}, "high" + EXPECTED_GOT),
    ],
)
def test_a_parameter_that_cannot_be_is_said(parameter: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        decode_space({"x": parameter})


# What must not happen


@pytest.mark.parametrize("content", [b'{"lr": 0.1}', b"a,b\n1,2\n3,4", b"\x93NUMPY\x01\x00", b'{"kind":"other"}\n{"n'])
def test_a_file_that_is_no_study_is_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "mine"
    path.write_bytes(content)
    with pytest.raises(StateError, match="mine"):
        Optimizer(MIXED, journal=path)
    with pytest.raises(StateError, match="mine"):
        Optimizer.resume(path)
    assert path.read_bytes() == content


def test_a_study_killed_in_its_first_line_can_be_begun_again(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    Optimizer(MIXED, journal=path).close()
    path.write_bytes(path.read_bytes()[:40])
    Optimizer(MIXED, journal=path).close()
    Optimizer.resume(path).close()


@pytest.mark.parametrize("scale", [1e-60, 1e60])
@pytest.mark.parametrize("noise", [1e-90, 1e-40, 1.0, 1e90])
def test_noise_of_any_size_is_learned_and_read_again(tmp_path: Path, scale: float, noise: float) -> None:
    path = tmp_path / "study.jsonl"
    with Optimizer({"x": Float(0, 1)}, seed=0, journal=path) as opt:
        for k in range(9):
            opt.tell({"x": k / 8}, scale * math.sin(k), noise)
        expected = known(opt)
    assert known(Optimizer.resume(path, read_only=True)) == expected


def test_the_budget_follows_the_tolerance_unless_it_was_given(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    Optimizer(MIXED, tolerance=0.5, journal=path).close()
    again = Optimizer.resume(path, read_only=True)
    assert again.budget == Budget.gap(0.5)
    again.tolerance = 0.25
    assert again.budget == Budget.gap(0.25)
    given = Optimizer(MIXED, tolerance=0.5, budget=Budget.keep_all())
    given.tolerance = 0.1
    assert given.budget == Budget.keep_all()
