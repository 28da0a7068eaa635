import errno
import json
import os
import random
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import EXPECTED_GOT
from uncubed.errors import StateError
from uncubed.experiments.results import FILE, Results, group, measure_from_best_seen, read
from uncubed.experiments.runner import Row, key_of


def row(seed: int = 0, **more: Any) -> Row:
    names = {"setting": "s", "acquisition": "ucb", "method": "größer ε", "seed": seed, "configuration": "0a"}
    return {**names, "regret": 0.5 + seed, **more}


def trained(seed: int, best_seen: float, **more: Any) -> Row:
    curve = {"round": [50, 100], "cumulative_regret": [10.3, 15.47]}
    regrets = {"optimum": 1.0, "mean_average_regret": 0.1547, "simple_regret": 0.0612345}
    return {**row(seed), **regrets, "epochs": 20, "best_seen": best_seen, "curve": curve, **more}


def written(directory: Path, rows: Iterable[Row]) -> Path:
    with Results(directory) as there:
        for each in rows:
            there.append(each)
    return directory / FILE


# On disk


def test_what_is_appended_is_read(tmp_path: Path) -> None:
    directory = tmp_path / "made" / "on the way"
    path = written(directory, [row(0), row(1)])
    assert read(path) == [row(0), row(1)]
    with Results(directory) as there:
        assert there.rows == {key_of(each): each for each in (row(0), row(1))}
        there.append(row(2))
    assert read(path) == [row(0), row(1), row(2)]


def test_a_row_is_on_disk_before_append_returns(tmp_path: Path) -> None:
    with Results(tmp_path) as there:
        there.append(row(0))
        assert read(there.path) == [row(0)]
        there.append(row(1))
        assert read(there.path) == [row(0), row(1)]


def test_where_there_is_no_file_there_are_no_rows(tmp_path: Path) -> None:
    assert read(tmp_path / FILE) == []
    with Results(tmp_path) as there:
        assert there.rows == {}


def test_a_row_made_twice_is_kept_once(tmp_path: Path) -> None:
    path = written(tmp_path, [row(0), row(0, regret=9.0)])
    with Results(tmp_path) as there:
        assert list(there.rows.values()) == [row(0, regret=9.0)]
    assert read(path) == [row(0, regret=9.0)]


def test_a_row_torn_anywhere_is_dropped_and_the_file_repaired(tmp_path: Path) -> None:
    path = written(tmp_path, [row(0), row(1)])
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    for length in range(first, len(whole)):
        path.write_bytes(whole[:length])
        assert read(path) == [row(0)]
        with Results(tmp_path) as there:
            there.append(row(1))
        assert path.read_bytes() == whole


@pytest.mark.parametrize(
    "line",
    [
        b"not json\n",
        b'{"setting":"s"}\n',
        b"[1, 2]\n",
        b"3\n",
        b"\xff\xfe\n",
        b"\0\0\0\n",
        b'{"setting":["s"],"acquisition":"a","method":"m","seed":0,"configuration":"c"}\n',
        b'{"setting":"s","acquisition":"a","method":"m","seed":"0","configuration":"c"}\n',
        b'{"setting":"s","acquisition":"a","method":"m","seed":0,"configuration":null}\n',
    ],
)
def test_a_spoilt_line_is_named_and_nothing_is_changed(tmp_path: Path, line: bytes) -> None:
    path = written(tmp_path, [row(0), row(1)])
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + line + second)
    with pytest.raises(StateError, match=r"results\.jsonl, line 2" + EXPECTED_GOT):
        Results(tmp_path)
    assert path.read_bytes() == first + line + second
    # Repaired by hand, it opens again: the lock was let go.
    path.write_bytes(first + second)
    assert written(tmp_path, []) == path


def test_an_empty_line_is_no_row(tmp_path: Path) -> None:
    path = written(tmp_path, [row(0), row(1)])
    path.write_bytes(path.read_bytes().replace(b"\n", b"\n\n"))
    assert read(path) == [row(0), row(1)]


@pytest.mark.skipif(sys.platform == "win32", reason="no locks there")
def test_there_is_one_writer_at_a_time(tmp_path: Path) -> None:
    with Results(tmp_path) as there:
        with pytest.raises(StateError, match="only writer"):
            Results(tmp_path)
        there.append(row(0))
    with Results(tmp_path) as there:
        there.append(row(1))
    assert read(tmp_path / FILE) == [row(0), row(1)]


def test_two_directories_have_a_writer_each(tmp_path: Path) -> None:
    with Results(tmp_path / "a") as one, Results(tmp_path / "b") as two:
        one.append(row(0))
        two.append(row(1))
    assert (read(one.path), read(two.path)) == ([row(0)], [row(1)])


class FullDisk:
    """A file on a disk with little room left."""

    def __init__(self, file: Any, room: int) -> None:
        self.file, self.room = file, room

    def write(self, text: str) -> None:
        self.file.write(text[: self.room])
        self.file.flush()
        raise OSError(errno.ENOSPC, "No space left on device")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)


@pytest.mark.parametrize("room", [0, 20])
def test_a_full_disk_leaves_earlier_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    path = written(tmp_path, [row(0)])
    with Results(tmp_path) as there:
        there.append(row(1))
        monkeypatch.setattr(there, "_file", FullDisk(there._file, room))
        with pytest.raises(OSError, match="No space left"):
            there.append(row(2))
    assert read(path) == [row(0), row(1)]
    assert read(written(tmp_path, [row(2)])) == [row(0), row(1), row(2)]


def test_a_disk_that_fills_while_rows_are_settled_leaves_them_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = written(tmp_path, [row(1), row(0)])
    with Results(tmp_path) as there:
        before = path.read_bytes()
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            there.settle()
    assert path.read_bytes() == before
    monkeypatch.undo()
    assert read(written(tmp_path, [])) == [row(0), row(1)]


def test_the_lock_is_let_go_even_if_the_last_bytes_cannot_be_written(tmp_path: Path) -> None:
    class Unwritable:
        def close(self) -> None:
            file.close()
            raise OSError(errno.ENOSPC, "No space left on device")

    there = Results(tmp_path)
    file = there._file
    there._file = Unwritable()  # type: ignore[assignment]
    with pytest.raises(OSError, match="No space left"), there:
        pass
    assert written(tmp_path, []) == tmp_path / FILE


# Settled


def test_the_order_of_arrival_is_forgotten(tmp_path: Path) -> None:
    rows = [row(seed, setting=setting, method=method) for seed in (0, 2, 10) for setting in "ab" for method in "xy"]
    contents = set()
    for order in range(3):
        random.Random(order).shuffle(rows)
        with Results(tmp_path / str(order)) as there:
            for each in rows:
                there.append(each)
            there.settle()
        contents.add(there.path.read_bytes())
    (content,) = contents
    seeds = [json.loads(line)["seed"] for line in content.splitlines()]
    assert seeds == [0, 2, 10] * 4


def test_rows_may_come_after_settling(tmp_path: Path) -> None:
    with Results(tmp_path) as there:
        there.append(row(1))
        there.settle()
        there.append(row(0))
        assert read(there.path) == [row(1), row(0)]
        there.settle()
    assert read(there.path) == [row(0), row(1)]


def test_regret_is_measured_from_the_best_seen_in_any_run() -> None:
    rows = [trained(0, 0.95), trained(1, 0.9), trained(2, 0.93, optimum=0.99)]
    measure_from_best_seen(rows)
    for each, excess in zip(rows, (0.05, 0.05, 0.04), strict=True):
        assert each["optimum"] == 0.95
        assert each["mean_average_regret"] == pytest.approx(0.1547 - excess, abs=1e-6)
        assert each["simple_regret"] == pytest.approx(0.0612345 - excess, abs=1e-6)
        expected = [10.3 - 50 * excess, 15.47 - 100 * excess]
        assert each["curve"]["cumulative_regret"] == pytest.approx(expected, abs=1e-4)


def test_measuring_again_changes_nothing() -> None:
    rows = [trained(0, 0.95), trained(1, 0.9)]
    measure_from_best_seen(rows)
    once = json.dumps(rows)
    measure_from_best_seen(rows)
    assert json.dumps(rows) == once


def test_the_best_has_no_regret() -> None:
    rows = [trained(0, 0.972222, simple_regret=0.0277778)]
    measure_from_best_seen(rows)
    assert rows[0]["simple_regret"] == 0.0


def test_measuring_in_between_changes_nothing() -> None:
    # As when a run is interrupted and gone on with.
    def first(seed: int) -> Row:
        return trained(
            seed,
            0.969444,
            mean_average_regret=0.0512345 + 1e-7 * seed,
            simple_regret=0.0312345 + 1e-7 * seed,
            curve={"round": [3, 7], "cumulative_regret": [0.2391 + 1e-4 * seed, 0.7779 + 1e-4 * seed]},
        )

    interrupted, steady = [first(seed) for seed in range(40)], [first(seed) for seed in range(40)]
    measure_from_best_seen(interrupted)
    for rows in (interrupted, steady):
        rows.append(trained(99, 0.972222))
        measure_from_best_seen(rows)
    assert interrupted == steady


def test_every_setting_and_length_of_training_has_its_own_best() -> None:
    rows = [trained(0, 0.95), trained(0, 0.9, setting="other"), trained(0, 0.8, epochs=4)]
    measure_from_best_seen(rows)
    assert [each["optimum"] for each in rows] == [0.95, 0.9, 0.8]


def test_a_known_optimum_stays() -> None:
    known = {**row(), "optimum": 2.0, "mean_average_regret": 0.3}
    rows = [dict(known), trained(1, 0.9)]
    measure_from_best_seen(rows)
    assert rows[0] == known


def test_settling_measures_and_writes(tmp_path: Path) -> None:
    with Results(tmp_path) as there:
        for each in (trained(0, 0.9), trained(1, 0.95)):
            there.append(each)
        there.settle()
    assert [each["optimum"] for each in read(there.path)] == [0.95, 0.95]


def test_groups_are_in_the_order_of_their_seeds() -> None:
    rows = [row(10), row(2), row(3, method="other"), row(1, acquisition="ei")]
    assert group(rows) == {
        ("s", "ei", "größer ε"): [rows[3]],
        ("s", "ucb", "größer ε"): [rows[1], rows[0]],
        ("s", "ucb", "other"): [rows[2]],
    }
