import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uncubed.errors import StateError
from uncubed.journal import Journal, count, events

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


def written(path: Path, *lines: dict[str, Any]) -> Path:
    with Journal(path) as journal:
        for line in lines:
            journal.append(line, durable=False)
    return path


@settings(max_examples=30)
@given(lines=st.lists(st.dictionaries(st.text(), values, max_size=3), max_size=4))
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, lines: list[dict[str, Any]]) -> None:
    path = written(tmp_path_factory.mktemp("journal") / "study.jsonl", *lines)
    assert list(events(path)) == lines
    assert count(path) == len(path.read_bytes().splitlines()) == len(lines)


@settings(max_examples=30)
@given(cut=st.integers(1, 200))
def test_a_torn_line_is_repaired_and_all_before_it_is_kept(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    lines = [{"n": n, "text": "ü\n" * n} for n in range(8)]
    path = written(tmp_path_factory.mktemp("journal") / "study.jsonl", *lines)
    whole = path.read_bytes()
    path.write_bytes(whole[: max(0, len(whole) - cut)])
    kept = whole[: max(0, len(whole) - cut)].count(b"\n")
    assert list(events(path)) == lines[:kept]
    written(path, {"n": "after"})
    assert list(events(path)) == [*lines[:kept], {"n": "after"}]


def test_a_long_torn_line_is_removed_whole(tmp_path: Path) -> None:
    path = written(tmp_path / "study.jsonl", {"n": 1})
    with path.open("ab") as file:
        file.write(b'{"n": "' + b"x" * 200_000)
    written(path, {"n": 2})
    assert list(events(path)) == [{"n": 1}, {"n": 2}]


def test_a_journal_can_be_read_while_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    with Journal(path) as journal:
        assert journal.is_new
        journal.append({"n": 1}, durable=False)
        assert list(events(path)) == [{"n": 1}]
        journal.append({"n": 2})
        assert list(events(path)) == [{"n": 1}, {"n": 2}]


def test_a_second_writer_is_refused_and_one_after_it_is_not(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    with Journal(path):
        with pytest.raises(StateError, match=r"study\.jsonl: expected to be its only writer.* in this process"):
            Journal(path)
        list(events(path))  # reading in the same process must not let the lock go
        other = f"from pathlib import Path; from uncubed.journal import Journal; Journal(Path({str(path)!r}))"
        refused = subprocess.run([sys.executable, "-c", other], capture_output=True, text=True, check=False)
        assert refused.returncode == 1
        assert "by another process" in refused.stderr
    Journal(path).close()


def test_on_a_full_disk_the_error_is_the_disks_and_nothing_is_torn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "study.jsonl", {"n": 1})
    with Journal(path) as journal, monkeypatch.context() as patch:
        full = journal._write

        def fills_up(line: bytes) -> None:
            full(line[: len(line) // 2])
            raise OSError(28, "No space left on device")

        patch.setattr(Journal, "_write", lambda self, line: fills_up(line))
        with pytest.raises(OSError, match="No space left"):
            journal.append({"n": 2, "text": "x" * 100})
        patch.undo()
        journal.append({"n": 3})
    assert list(events(path)) == [{"n": 1}, {"n": 3}]


def test_what_json_cannot_hold_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    with Journal(tmp_path / "study.jsonl") as journal:
        with pytest.raises(ValueError, match="JSON compliant"):
            journal.append({"n": float("nan")})
        assert journal.is_new


@pytest.mark.parametrize("line", ["[1]", "not json", '{"a": 1', '"text"'])
def test_a_line_that_is_no_object_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "study.jsonl"
    path.write_text(json.dumps({"n": 1}) + f"\n{line}\n", encoding="utf-8")
    with pytest.raises(StateError, match=r"study\.jsonl, line 2: expected"):
        list(events(path))


def test_a_closed_journal_takes_nothing_more(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "study.jsonl")
    journal.close()
    journal.close()
    with pytest.raises(StateError, match="closed"):
        journal.append({})


def test_a_deleted_journal_is_said_before_a_value_is_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    with Journal(path) as journal:
        journal.append({"n": 1})
        path.unlink()
        with pytest.raises(StateError, match="it was deleted"):
            journal.append({"n": 2})


def test_a_copy_of_the_process_may_not_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "study.jsonl", {"n": 1})
    with Journal(path) as journal:
        monkeypatch.setattr("uncubed.journal.os.getpid", lambda: -1)
        with pytest.raises(StateError, match="made by fork"):
            journal.append({"n": 2})
        monkeypatch.undo()
    assert list(events(path)) == [{"n": 1}]


def test_half_a_character_of_a_file_name_is_written_somehow(tmp_path: Path) -> None:
    path = written(tmp_path / "study.jsonl", {"reason": "no \udcff.txt", "n": 1})
    assert next(events(path))["n"] == 1


def test_a_directory_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StateError, match=r"none.study\.jsonl: expected a directory that exists"):
        Journal(tmp_path / "none" / "study.jsonl")
