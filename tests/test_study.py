from pathlib import Path
from typing import Any

import pytest

from uncubed import Bool, Categorical, Float, Int, InvalidInputError, study
from uncubed.study import Source, Study, load

EXAMPLE = (study.__doc__ or "").split("```")[1].removeprefix("toml")


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "tune.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_example_of_the_docs(tmp_path: Path) -> None:
    assert load(written(tmp_path, EXAMPLE)) == Study(
        space={
            "lr": Float(1e-5, 1.0, log=True),
            "layers": Int(1, 8),
            "act": Categorical(["relu", "tanh"]),
            "bias": Bool(),
            "epochs": 10,
        },
        direction="minimize",
        journal=tmp_path / "study.jsonl",
        logs=tmp_path / "study.logs",
        evaluations=100,
        jobs=4,
        timeout=600.0,
        seed=0,
        value=Source("last line", ""),
    )


LEAST = 'direction = "maximize"\n[space]\nx = { type = "float", low = 0, high = 1 }\n'


def test_the_least_one(tmp_path: Path) -> None:
    assert load(written(tmp_path, LEAST)) == Study(
        space={"x": Float(0.0, 1.0)},
        direction="maximize",
        journal=tmp_path / "tune.jsonl",
        logs=tmp_path / "tune.logs",
    )


def test_everything_may_be_said(tmp_path: Path) -> None:
    more = 'seconds = 60\ntolerance = 0.5\njournal = "/there/a.jsonl"\nlogs = "b"\nvalue = "json:loss"\n'
    read = load(written(tmp_path, more + LEAST))
    assert (read.seconds, read.value) == (60.0, Source("json", "loss"))
    assert (read.journal, read.logs) == (Path("/there/a.jsonl"), tmp_path / "b")
    assert read.options == {"tolerance": 0.5, "seed": None}


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("last line", Source("last line", "")),
        ("json:val loss", Source("json", "val loss")),
        ("file:C:/out-{id}.txt", Source("file", "C:/out-{id}.txt")),
    ],
)
def test_where_the_value_may_be(text: str, source: Source) -> None:
    assert study.source("value", text) == source


@pytest.mark.parametrize("text", ["", "json", "json:", "file:", "last line:", "last line:2", "first line", 3, None])
def test_where_it_may_not_be(text: Any) -> None:
    with pytest.raises(InvalidInputError, match="value: expected 'last line', 'json:KEY' or 'file:PATH', got"):
        study.source("value", text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("direction = ", "expected TOML, got an error"),
        ('direction = "maximize"', "got no space"),
        ("[space]\nx = [1, 2]", "got no direction"),
        ('direction = "up"\n[space]\nx = [1, 2]', "direction: expected 'maximize' or 'minimize', got 'up'"),
        ('direction = "maximize"\nspace = 3', "space: expected dict, got int"),
        (f"evaluation = 3\n{LEAST}", "got unknown evaluation"),
        (f"evaluations = 0\n{LEAST}", "evaluations: expected an integer of at least 1, got 0"),
        (f"jobs = 1.5\n{LEAST}", "jobs: expected an integer, got 1.5"),
        (f'timeout = "1h"\n{LEAST}', "timeout: expected a real number, got '1h'"),
        (f"seed = -1\n{LEAST}", "seed: expected an integer of at least 0"),
        (f"journal = 3\n{LEAST}", "journal: expected str, got int"),
        (f'{LEAST}y = {{ type = "flaot", low = 0, high = 1 }}', "y: expected a type of .* got 'flaot'"),
        (f"{LEAST}y = {{ low = 0, high = 1 }}", "y: expected a type of .* got None"),
        (f'{LEAST}y = {{ type = "int", low = 0, hgih = 1 }}', "y: expected .* hgih"),
        (f'{LEAST}y = {{ type = "int", low = 2, high = 1 }}', "y: high: expected at least low = 2, got 1"),
        (f"{LEAST}y = []", "y: choices: expected a list of at least one choice"),
    ],
)
def test_what_is_wrong_is_said_with_the_file_s_name(tmp_path: Path, text: str, message: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(InvalidInputError, match=message) as raised:
        load(path)
    assert str(raised.value).startswith(f"{path}: ")


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    path = tmp_path / "tune.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInputError, match="expected TOML"):
        load(path)
