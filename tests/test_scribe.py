"""What a scribe writes; `test_events.py` has what a study makes of it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from uncubed import model as models
from uncubed.errors import StateError
from uncubed.model import Model
from uncubed.scribe import Scribe


def header(identity: str) -> dict[str, Any]:
    return {"kind": "uncubed study", "id": identity}


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_the_header_comes_first_and_then_what_happened(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    scribe = Scribe.begin(path, header)
    scribe.write(lambda: {"event": "one"})
    scribe.write(lambda: {"event": "two"}, durable=False)
    scribe.close()
    first, *events = read(path)
    assert first == header(first["id"])
    assert events == [{"event": "one"}, {"event": "two"}]


def test_a_study_that_is_there_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    Scribe.begin(path, header).close()
    before = path.read_bytes()
    with pytest.raises(StateError, match="expected a new file, got a study"):
        Scribe.begin(path, header)
    assert path.read_bytes() == before


def test_without_a_journal_events_are_not_even_made(tmp_path: Path) -> None:
    scribe = Scribe()
    scribe.write(lambda: pytest.fail("nobody reads it"))
    scribe.save(Model(np.array([0])))
    scribe.close()
    assert not list(tmp_path.iterdir())


def test_a_checkpoint_has_the_study_and_how_much_it_knows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "REFRESHED", 3)
    path, model = tmp_path / "study.jsonl", Model(np.array([0]))
    scribe = Scribe.begin(path, header)
    saved = []
    for k in range(4):
        scribe.write(lambda: {"event": "tell"})
        model.tell(np.array([k / 4]), float(k))
        scribe.save(model)
        saved += [json.loads(file.read_text(encoding="utf-8")) for file in tmp_path.glob("*.checkpoint")]
    scribe.close()
    assert [checkpoint["events"] for checkpoint in saved] == [3, 3]
    assert {checkpoint["id"] for checkpoint in saved} == {read(path)[0]["id"]}
