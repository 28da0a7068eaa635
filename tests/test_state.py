import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import uncubed as uc
from tests.helpers import assert_close
from uncubed import _state
from uncubed._typing import Array
from uncubed.schedules import Covered

LINE = np.linspace(-3.0, 3.0, 41)[:, None]
SMALL_BOX: dict[str, int] = {"pool": 32, "starts": 3, "steps": 8}

ACTIONS: dict[str, Callable[[], uc.Finite | uc.Box]] = {
    "finite": lambda: uc.Finite(LINE),
    "box": lambda: uc.Box([-3.0], [3.0], **SMALL_BOX),
}
BELIEFS: dict[str, Callable[[], uc.Belief]] = {
    "exact": lambda: uc.ExactBelief(uc.Matern52(0.8, 1.5), 0.01),
    "projected": lambda: uc.ProjectedBelief(uc.SquaredExponential([0.9]), 0.02, novelty=0.2),
    "sketched": lambda: uc.SketchedBelief(uc.SquaredExponential(), 0.01, oversampling=3.0, seed=4),
}
ACQUISITIONS: dict[str, uc.Acquisition] = {
    "ucb": uc.UpperConfidenceBound(uc.TheoreticalBeta(0.2)),
    "scaled ucb": uc.UpperConfidenceBound(uc.ScaledBeta(0.3, uc.ConstantBeta(7.0))),
    "ei": uc.ExpectedImprovement(),
    "mpi": uc.MostProbableImprovement(),
    "pi": uc.ProbabilityOfImprovement(),
    "exploration": uc.PureExploration(),
    "exploitation": uc.PureExploitation(),
    "thompson": uc.ThompsonSampling(),
}
BUDGETS: dict[str, uc.Budget] = {
    "keep_all": uc.Budget.keep_all(),
    "constant": uc.Budget.constant(0.2),
    "for_horizon": uc.Budget.for_horizon(50, alpha=0.3),
    "for_horizon, alpha of the dimension": uc.Budget.for_horizon(50),
    "absolute": uc.Budget.absolute(-0.5),
    "resolution": uc.Budget.resolution(0.1, relative=True),
    "gap": uc.Budget.gap(1.0),
    "capped": uc.Budget.keep_all(max_model_order=4),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "bandit.json"


@pytest.fixture(autouse=True)
def _small_joint_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("uncubed.actions.JOINT_DRAW", 64)


def bandit(
    actions: str = "finite",
    belief: str = "exact",
    acquisition: str = "ucb",
    budget: str = "keep_all",
    **options: Any,
) -> uc.Bandit:
    return uc.Bandit(
        ACTIONS[actions](), BELIEFS[belief](), ACQUISITIONS[acquisition], BUDGETS[budget], seed=11, **options
    )


def wave(action: Array) -> float:
    return float(np.sin(2.0 * action[0]) + 0.3 * action[0])


def play(player: uc.Bandit, rounds: int, delay: int = 0) -> list[tuple[object, ...]]:
    """Rounds whose values come `delay` rounds late: all that is decided and believed, to the last bit."""
    seen: list[tuple[object, ...]] = []
    for _ in range(rounds):
        d = player.select()
        seen.append((d.action.tolist(), d.variance, d.information_gain, d.epsilon, d.informative, d.round, d.index))
        while len(player.pending) > delay:
            awaited = next(iter(player.pending.values()))
            player.observe(awaited, wave(awaited.action))
    posterior = player.belief.predict(LINE)
    seen.append((posterior.mean.tolist(), posterior.variance.tolist(), player.belief.information_gain))
    seen.append((player.round, player.evaluations, list(player.pending), player.belief.evictions, str(player.budget)))
    return seen


def reloaded(player: uc.Bandit, path: Path) -> uc.Bandit:
    player.save(path)
    return uc.Bandit.load(path, ACTIONS["finite"]() if isinstance(player.actions, uc.Finite) else None)


# Continued = uninterrupted


@pytest.mark.parametrize("actions", ACTIONS)
@pytest.mark.parametrize("belief", BELIEFS)
@pytest.mark.parametrize("acquisition", ACQUISITIONS)
def test_a_loaded_bandit_goes_on_to_the_last_bit_as_the_saved_one(
    actions: str, belief: str, acquisition: str, path: Path
) -> None:
    saved = bandit(actions, belief, acquisition)
    play(saved, 12, delay=2)
    assert len(saved.pending) == 2
    loaded = reloaded(saved, path)
    assert play(loaded, 12, delay=2) == play(saved, 12, delay=2)
    assert play(loaded, 2) == play(saved, 2)
    assert str(loaded.certificate()) == str(saved.certificate())
    assert loaded.certificate().cumulative_regret == saved.certificate().cumulative_regret


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("belief", BELIEFS)
@pytest.mark.parametrize("act", [False, True])
def test_it_does_so_with_every_budget(belief: str, budget: str, act: bool, path: Path) -> None:
    options: dict[str, Any] = {"act": act, "certify": False, "delta": 0.3, "max_pending": 5}
    saved = bandit("finite", belief, "ucb", budget, **options)
    play(saved, 30, delay=1)
    loaded = reloaded(saved, path)
    assert {name: getattr(loaded, name) for name in options} == options
    assert loaded.budget == saved.budget
    assert play(loaded, 30, delay=1) == play(saved, 30, delay=1)
    assert loaded.model_order_bound(steps=20) == saved.model_order_bound(steps=20)


@pytest.mark.parametrize("actions", ACTIONS)
@pytest.mark.parametrize("belief", ["exact", "projected"])
def test_a_bandit_that_was_never_saved_decides_the_same(actions: str, belief: str, path: Path) -> None:
    never, saved = (bandit(actions, belief) for _ in range(2))
    play(never, 15)
    play(saved, 15)
    loaded = reloaded(saved, path)
    for one, two in zip(play(never, 8)[:-2], play(loaded, 8)[:-2], strict=True):
        np.testing.assert_allclose(np.array(one[0]), np.array(two[0]), atol=1e-6)
        assert one[4:] == two[4:]
    assert_close(loaded.belief.predict(LINE), never.belief.predict(LINE), 1e-6)


@pytest.mark.parametrize("actions", ACTIONS)
@pytest.mark.parametrize("belief", BELIEFS)
def test_saving_what_was_loaded_writes_the_same_bytes(actions: str, belief: str, path: Path, tmp_path: Path) -> None:
    saved = bandit(actions, belief, budget="capped")
    play(saved, 20, delay=1)
    loaded = reloaded(saved, path)
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


def test_a_bandit_that_has_done_nothing_can_be_saved(path: Path) -> None:
    for actions in ACTIONS:
        for belief in BELIEFS:
            saved = bandit(actions, belief)
            assert play(reloaded(saved, path), 5) == play(saved, 5)


def test_decisions_from_before_can_be_answered_after(path: Path) -> None:
    saved = bandit()
    first, second = saved.select(), saved.select()
    loaded = reloaded(saved, path)
    for player in (saved, loaded):
        player.observe(second, 1.0)
        player.lose(first)
    assert not loaded.pending
    assert play(loaded, 5) == play(saved, 5)


def test_a_loaded_decision_is_as_frozen_as_a_new_one(path: Path) -> None:
    saved = bandit()
    saved.select()
    awaited = reloaded(saved, path).pending[1]
    with pytest.raises(ValueError, match="read-only"):
        awaited.action[0] = 1.0


def test_points_that_entered_untested_are_remembered_as_such(path: Path) -> None:
    saved = bandit(budget="constant")
    saved.add([-3.0], 0.5)
    saved.add([3.0], 0.5)
    play(saved, 10)
    assert reloaded(saved, path).model_order_bound() == saved.model_order_bound()


def test_the_same_box_may_be_given_again(path: Path) -> None:
    bandit("box").save(path)
    assert uc.Bandit.load(path, ACTIONS["box"]()).round == 0
    with pytest.raises(uc.StateError, match="expected the Box that was saved, got another"):
        uc.Bandit.load(path, uc.Box([-3.0], [3.0]))


NINE: Any = np.int64(9)


@pytest.mark.parametrize("number", [np.float64(0.25), np.float32(0.25), np.array(0.25)], ids=lambda v: type(v).__name__)
@pytest.mark.parametrize(
    "make",
    [
        uc.Budget.constant,
        uc.Budget.absolute,
        uc.Budget.resolution,
        uc.Budget.gap,
        lambda v: uc.Budget.for_horizon(NINE, v, max_model_order=NINE),
    ],
)
def test_numbers_of_numpy_are_saved_as_numbers(make: Callable[[Any], uc.Budget], number: Any, path: Path) -> None:
    acquisition = uc.UpperConfidenceBound(uc.ScaledBeta(number, uc.ConstantBeta(number)))
    belief = uc.ExactBelief(uc.SquaredExponential(number, number), number)
    saved = uc.Bandit(uc.Finite(LINE), belief, acquisition, make(number), delta=number, max_pending=NINE, act=True)
    play(saved, 5, delay=1)
    loaded = reloaded(saved, path)
    assert loaded.budget == saved.budget
    assert play(loaded, 5, delay=1) == play(saved, 5, delay=1)


# Its size


@pytest.mark.parametrize("belief", ["exact", "projected"])
@pytest.mark.parametrize("acquisition", ["ucb", "scaled ucb"])
def test_once_the_model_is_settled_the_file_does_not_grow_with_rounds(
    belief: str, acquisition: str, path: Path
) -> None:
    player = bandit("finite", belief, acquisition, "constant", act=True)
    play(player, 200)
    settled = player.belief.model_order
    player.save(path)
    size = path.stat().st_size
    play(player, 1800)
    player.save(path)
    assert player.belief.model_order == settled
    assert player.evaluations == 2000
    assert path.stat().st_size < size + 150 + 3 * settled**2  # digits may differ, here and there


@pytest.mark.parametrize("belief", BELIEFS)
def test_the_file_does_not_grow_with_the_set(belief: str, path: Path) -> None:
    sizes = []
    for n in (10, 10_000):
        X = np.vstack([LINE[:10], np.random.default_rng(0).normal(size=(n - 10, 1))])
        player = uc.Bandit(uc.Finite(X), BELIEFS[belief](), seed=0)
        for x in LINE[:10]:
            player.add(x, wave(x))
        player.save(path)
        sizes.append(path.stat().st_size)
    assert sizes[1] <= sizes[0] + 10


# What cannot be read


def change(path: Path, **parts: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **parts}))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"version": 2}, "expected version 1, got 2"),
        ({"version": None}, "expected version 1, got None"),
        ({"kind": "optimizer"}, "expected a saved bandit, got 'optimizer'"),
        (
            {"belief": {"type": "Oracle", "kernel": {"type": "Matern12"}, "state": {}}},
            "expected one of .*, got 'Oracle'",
        ),
        ({"belief": {"type": "ExactBelief", "kernel": {"type": "Rbf"}, "state": {}}}, "expected one of .*, got 'Rbf'"),
    ],
    ids=str,
)
def test_a_state_of_another_kind_or_version_raises(parts: dict[str, Any], message: str, path: Path) -> None:
    bandit().save(path)
    change(path, **parts)
    with pytest.raises(uc.StateError, match=message):
        uc.Bandit.load(path, uc.Finite(LINE))


@pytest.mark.parametrize(
    "content", [b"", b"{", b"round: 3", b"\xff\xfe\x00", b"PK\x03\x04", b'{"kind": "bandit", "vers']
)
def test_what_is_not_json_raises(content: bytes, path: Path) -> None:
    path.write_bytes(content)
    with pytest.raises(uc.StateError, match="expected JSON"):
        uc.Bandit.load(path)


@pytest.mark.parametrize("content", ["[]", "3", "null", "{}", '"bandit"'])
def test_json_that_is_no_bandit_raises(content: str, path: Path) -> None:
    path.write_text(content)
    with pytest.raises(uc.StateError, match="expected a saved bandit, got None"):
        uc.Bandit.load(path)


PARTS = ["settings", "actions", "belief", "random", "ledger", "last", "pending"]


@pytest.mark.parametrize(
    ("part", "how"), [*[(part, "missing") for part in [*PARTS, "round"]], *[(part, "spoilt") for part in PARTS]]
)
def test_a_state_with_a_part_missing_or_spoilt_raises(part: str, how: str, path: Path) -> None:
    player = bandit()
    play(player, 3, delay=1)
    player.save(path)
    state = json.loads(path.read_text())
    if how == "missing":
        del state[part]
    else:
        state[part] = {"spoilt": "yes"}
    path.write_text(json.dumps(state))
    with pytest.raises(uc.StateError):
        uc.Bandit.load(path, uc.Finite(LINE))


def test_a_finite_set_must_be_given_and_be_the_same(path: Path) -> None:
    bandit().save(path)
    with pytest.raises(uc.StateError, match=r"expected the Finite set of shape \(41, 1\) that was used, got None"):
        uc.Bandit.load(path)
    others: list[uc.Finite | uc.Box] = [
        uc.Finite(LINE[::-1]),
        uc.Finite(LINE[:-1]),
        uc.Finite(np.hstack([LINE, LINE])),
        uc.Finite(np.nextafter(LINE, 9.0)),
        uc.Box([-3.0], [3.0]),
    ]
    for other in others:
        with pytest.raises(uc.StateError, match="expected the Finite that was saved, got another"):
            uc.Bandit.load(path, other)


def test_a_finite_set_for_a_saved_box_raises(path: Path) -> None:
    bandit("box").save(path)
    with pytest.raises(uc.StateError, match="expected the Box that was saved, got another"):
        uc.Bandit.load(path, uc.Finite(LINE))


@pytest.mark.parametrize("wrong", [LINE, LINE.tolist(), "finite", 3], ids=lambda v: type(v).__name__)
def test_actions_that_are_no_action_set_raise(wrong: Any, path: Path) -> None:
    bandit().save(path)
    with pytest.raises(uc.UncubedError, match=r"actions: expected .+ got "):
        uc.Bandit.load(path, wrong)


def test_a_file_that_is_not_there_is_the_usual_error(path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        uc.Bandit.load(path)


# A write is whole or not at all


def full_disk(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("target", ["os.fsync", "pathlib.Path.replace", "json.dumps"])
@pytest.mark.parametrize("how", [full_disk, interrupted])
@pytest.mark.parametrize("existing", [True, False])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    target: str, how: Callable[..., None], existing: bool, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    player, twin = bandit(), bandit()
    for p in (player, twin):
        play(p, 5)
        if existing:
            p.save(path)
        play(p, 5)
    before = path.read_bytes() if existing else None
    with monkeypatch.context() as patch:
        patch.setattr(target, how)
        with pytest.raises((OSError, KeyboardInterrupt)):
            player.save(path)
    assert [p.name for p in path.parent.iterdir()] == ([path.name] if existing else [])
    if existing:
        assert path.read_bytes() == before
        assert reloaded(player, path).round == 10
    twin.save(path)
    assert play(player, 5) == play(twin, 5)


def test_the_bytes_are_on_disk_before_the_name_is_taken(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def watched_fsync(file: int) -> None:
        events.append("fsync")
        fsync(file)

    def watched_replace(partial: Path, target: Path) -> Path:
        assert json.loads(partial.read_text())["kind"] == "bandit"
        assert partial.parent == target.parent  # a rename across file systems is not atomic
        events.append("replace")
        return replace(partial, target)

    monkeypatch.setattr(os, "fsync", watched_fsync)
    monkeypatch.setattr(Path, "replace", watched_replace)
    bandit().save(path)
    assert events[:2] == ["fsync", "replace"]


WRITER = """
import sys
import numpy as np
import uncubed as uc
bandit = uc.Bandit(uc.Finite(np.linspace(-3.0, 3.0, 41)[:, None]), uc.ExactBelief(uc.SquaredExponential()), seed=0)
bandit.run(np.zeros(41), int(sys.argv[2]))
print("ready", flush=True)
sys.stdin.readline()
for _ in range(150):
    bandit.save(sys.argv[1])
"""


def test_two_processes_that_save_to_one_file_leave_a_valid_one(path: Path) -> None:
    rounds = (3, 40)
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(n)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for n in rounds
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write(b"go\n")
        writer.stdin.flush()
    while any(writer.poll() is None for writer in writers):
        if path.exists():
            assert uc.Bandit.load(path, uc.Finite(LINE)).round in rounds
    for writer in writers:
        writer.communicate()
        assert writer.returncode == 0
    assert uc.Bandit.load(path, uc.Finite(LINE)).round in rounds
    assert [p.name for p in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("as_text", [True, False])
def test_a_path_may_be_text(as_text: bool, path: Path) -> None:
    target = str(path) if as_text else path
    bandit().save(target)
    assert uc.Bandit.load(target, uc.Finite(LINE)).round == 0


# Classes of one's own


class RationalQuadratic(uc.Kernel):
    curvature = 1.0

    def correlation(self, r2: Array) -> Array:
        return 1.0 / (1.0 + 0.5 * r2)

    def slope(self, r2: Array) -> Array:
        return -0.5 / (1.0 + 0.5 * r2) ** 2


@dataclass(frozen=True)
class Shifted(uc.Acquisition):
    weight: float
    schedule: uc.BetaSchedule

    def parameter(self, round: int, actions: Covered, belief: uc.Belief, rng: np.random.Generator) -> float:
        return self.weight * self.schedule(round, actions, belief)

    def value(self, mean: Array, std: Array, parameter: float) -> Array:
        return mean + parameter * std

    def partials(self, mean: Array, std: Array, parameter: float) -> tuple[Array, Array]:
        return np.ones_like(mean), np.full_like(std, parameter)


@dataclass(frozen=True)
class Halving(uc.Budget):
    start: float

    def threshold(
        self, noise_variance: float, dimension: int, scale: float = 1.0, round: int = 1, *, beta: float | None = None
    ) -> float:
        return self.start / round

    def describe(self) -> str:
        return f"halving from {self.start:g}"


def own() -> uc.Bandit:
    return uc.Bandit(
        uc.Finite(LINE),
        uc.ExactBelief(RationalQuadratic(0.7, 1.2), 0.01),
        Shifted(0.5, uc.ScaledBeta(0.1)),
        Halving(0.5, max_model_order=20),
        seed=0,
    )


def test_classes_of_ones_own_are_saved_once_registered(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_state, "_CLASSES", dict(_state._CLASSES))
    for cls in (RationalQuadratic, Shifted, Halving):
        with pytest.raises(uc.StateError, match=r"register\(\)"):
            own().save(path)
        assert not path.exists()
        assert uc.register(cls) is cls
    saved = own()
    play(saved, 20)
    loaded = reloaded(saved, path)
    assert loaded.acquisition == saved.acquisition
    assert loaded.belief.kernel == saved.belief.kernel
    assert play(loaded, 10) == play(saved, 10)
    _state._CLASSES.pop("Halving")
    with pytest.raises(uc.StateError, match="got 'Halving'"):
        uc.Bandit.load(path, uc.Finite(LINE))


def test_what_is_no_dataclass_cannot_be_saved(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_state, "_CLASSES", dict(_state._CLASSES))

    @uc.register
    class Plain(uc.BetaSchedule):
        def __call__(self, round: int, actions: Covered, belief: uc.Belief) -> float:
            return 1.0

    player = uc.Bandit(uc.Finite(LINE), BELIEFS["exact"](), uc.UpperConfidenceBound(Plain()))
    with pytest.raises(uc.StateError, match="Plain: expected a kernel or a frozen dataclass"):
        player.save(path)
    assert not path.exists()
