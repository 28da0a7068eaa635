import builtins
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import uncubed
from uncubed import cli
from uncubed.experiments import pool, reproduce
from uncubed.experiments.reproduce import Request


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Request]:
    """The requests that would have been carried out."""
    requests: list[Request] = []

    def main(request: Request) -> int:
        requests.append(request)
        return 0

    monkeypatch.setattr(reproduce, "main", main)
    return requests


def test_the_defaults(asked: list[Request]) -> None:
    assert cli.main(["reproduce"]) == 0
    assert asked == [
        Request(
            experiment="all",
            quick=False,
            seeds=None,
            jobs=os.cpu_count() or 1,
            data="digits",
            mnist=Path("data/mnist"),
            box=False,
            out=Path("reproduction"),
        )
    ]


def test_everything_said_is_passed_on(asked: list[Request]) -> None:
    words = "reproduce logistic --quick --seeds 7 --jobs 3 --data mnist --mnist-dir there --box --out here"
    assert cli.main(words.split()) == 0
    assert asked == [Request("logistic", True, 7, 3, "mnist", Path("there"), True, Path("here"))]


def test_the_exit_code_is_the_experiment_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reproduce, "main", lambda _: 130)
    assert cli.main(["reproduce"]) == 130


def refused(words: str, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as stopped:
        cli.main(words.split())
    assert stopped.value.code == 2
    said = capsys.readouterr()
    assert said.out == ""
    return said.err


@pytest.mark.parametrize("option", ["--seeds", "--jobs"])
@pytest.mark.parametrize("text", ["0", "-1", "x", "1.5", "1e3", "²"])
def test_a_number_that_is_none_is_refused(
    option: str, text: str, asked: list[Request], capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(f"reproduce {option} {text}", capsys)
    assert f"argument {option}: expected a whole number of at least 1, got '{text}'" in said
    assert asked == []


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("", "command"),
        ("produce", "'produce'"),
        ("reproduce everything", "'everything'"),
        ("reproduce example tradeoff", "tradeoff"),
        ("reproduce --data cifar", "'cifar'"),
        ("reproduce --fast", "--fast"),
        ("reproduce --out", "--out"),
    ],
)
def test_wrong_words_are_named(
    words: str, named: str, asked: list[Request], capsys: pytest.CaptureFixture[str]
) -> None:
    assert named in refused(words, capsys).splitlines()[-1]
    assert asked == []


def test_a_wrong_experiment_is_told_the_right_ones(capsys: pytest.CaptureFixture[str]) -> None:
    said = refused("reproduce everything", capsys)
    assert all(name in said for name in ("example", "rosenbrock", "logistic", "tradeoff", "all"))


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out == f"uncubed {uncubed.__version__}\n"


def helped(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as stopped:
        cli.main([*words, "--help"])
    assert stopped.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "option"),
    [("run", "--jobs"), ("show", "--plots"), ("ask", "--fixed"), ("tell", "--fail"), ("reproduce", "--quick")],
)
def test_help_is_there(command: str, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert f"\n    {command}" in helped([], capsys)
    said = helped([command], capsys)
    assert said.startswith(f"usage: uncubed {command} ")
    assert option in said


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "1h"])
def test_a_time_that_is_none_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(f"run study.toml --timeout {text} -- true", capsys)
    assert f"argument --timeout: expected a number above 0, got '{text}'" in said


@pytest.mark.parametrize("missing", ["rich", "matplotlib", "markdown_it"])
def test_a_missing_extra_is_told_how_to_come_by(
    missing: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    original: Callable[..., Any] = builtins.__import__

    def without(name: str, *arguments: Any, **named: Any) -> Any:
        if name.partition(".")[0] == missing:
            raise ModuleNotFoundError(f"No module named {missing!r}", name=missing)
        return original(name, *arguments, **named)

    for name in [name for name in sys.modules if name.startswith("uncubed.experiments")]:
        monkeypatch.delitem(sys.modules, name)
    # `from uncubed.experiments import x` takes what is an attribute already.
    monkeypatch.delattr(uncubed, "experiments")
    monkeypatch.setattr(builtins, "__import__", without)
    code = cli.main(["reproduce"])
    monkeypatch.undo()
    said = capsys.readouterr()
    assert code == 1
    assert said.out == ""
    assert "pip install uncubed[reproduce]" in said.err
    assert missing in said.err
    assert len(said.err.splitlines()) == 1


@pytest.mark.parametrize(
    "error",
    [
        uncubed.InvalidInputError("levels: expected 1, got 2"),
        uncubed.StateError("somewhere: expected to be its only writer"),
        OSError(28, "No space left on device", "results.jsonl"),
        PermissionError(13, "Permission denied", "results.jsonl"),
    ],
    ids=repr,
)
def test_errors_are_one_line(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: Request) -> int:
        raise error

    monkeypatch.setattr(reproduce, "main", fail)
    assert cli.main(["reproduce"]) == 1
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", f"uncubed: {error}\n")


def test_an_error_that_is_a_bug_of_ours_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Request) -> int:
        raise ZeroDivisionError

    monkeypatch.setattr(reproduce, "main", fail)
    with pytest.raises(ZeroDivisionError):
        cli.main(["reproduce"])


def test_an_interrupt_outside_the_runs_is_one_line_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_: Request) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(reproduce, "main", interrupted)
    assert cli.main(["reproduce"]) == 130
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("uncubed: interrupted")
    assert len(said.err.splitlines()) == 1


@pytest.fixture
def no_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "rows", lambda *_: pytest.fail("a run was made"))


@pytest.mark.usefixtures("no_runs")
def test_missing_images_say_how_to_get_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["reproduce", "logistic", "--data", "mnist", "--mnist-dir", str(tmp_path), "--out", str(tmp_path / "out")]
    assert cli.main(words) == 1
    said = capsys.readouterr().err
    assert said.startswith("uncubed: mnist: expected ")
    assert "make mnist" in said
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("no_runs")
def test_a_file_in_the_way_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "out").write_text("mine", encoding="utf-8")
    assert cli.main(["reproduce", "example", "--out", str(tmp_path / "out")]) == 1
    said = capsys.readouterr().err
    assert said.startswith("uncubed: ")
    assert str(tmp_path / "out") in said
    assert (tmp_path / "out").read_text(encoding="utf-8") == "mine"


def test_the_command_is_installed() -> None:
    program = Path(sys.executable).with_name("uncubed")
    assert subprocess.check_output([program, "--version"], text=True) == f"uncubed {uncubed.__version__}\n"
