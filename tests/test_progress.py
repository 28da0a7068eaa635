import io
import math
import sys
from typing import Any

import pytest

from uncubed import Float, InvalidInputError, Optimizer
from uncubed import progress as module
from uncubed.driver import Status
from uncubed.progress import available, line, shown
from uncubed.run import maximize

SPACE = {"x": Float(-2.0, 2.0)}


def optimizer(values: int, failures: int = 0) -> Optimizer:
    opt = Optimizer(SPACE, seed=0)
    for _ in range(values):
        suggestion = opt.ask()
        opt.tell(suggestion, -(suggestion.params["x"] ** 2))
    for _ in range(failures):
        opt.fail(opt.ask(), "it broke")
    return opt


def test_all_is_in_the_line() -> None:
    opt = optimizer(12, failures=2)
    last = opt.milestones[-1]
    assert line(Status(opt, 3, 0.0124), 200, 61.7).split(" · ") == [
        f"best {opt.best.value:.5g}",
        "14/200 evaluated, 2 failed",
        "3 running",
        f"model {opt.model_order}",
        f"gap {last.upper - last.lower:.3g}",
        "ask 12 ms",
        "0:01:01",
    ]


def test_what_is_not_known_is_left_out() -> None:
    said = line(Status(optimizer(0, failures=1), 1, 0.0), None, 0.0)
    assert said.startswith("no value yet · 1 evaluated, 1 failed · ")
    assert "gap" not in said
    assert "failed" not in line(Status(optimizer(1), 1, 0.0), None, 0.0)


def test_the_line_costs_no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    status = Status(optimizer(12), 1, 0.0)
    monkeypatch.setattr("uncubed.search.Search.maximise", lambda *_, **__: pytest.fail("a search was made"))
    assert "gap" in line(status, None, 0.0)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def terminal_of(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    file = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(sys, "stderr", file)
    return file


def test_nothing_is_shown_unless_wanted(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    terminal = terminal_of(monkeypatch)
    maximize(lambda p: -(p["x"] ** 2), SPACE, evaluations=3)
    assert terminal.getvalue() == ""
    assert capsys.readouterr() == ("", "")


def test_elsewhere_a_line_is_printed_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    maximize(lambda p: -(p["x"] ** 2), SPACE, evaluations=11, progress=True)
    said = capsys.readouterr()
    assert said.out == ""
    assert [text.split(" · ")[1] for text in said.err.splitlines()] == [
        f"{made}/11 evaluated" for made in (1, 2, 4, 8, 11)
    ]


def test_a_study_that_has_ended_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with shown(True, None):
        pass
    assert capsys.readouterr() == ("", "")


def test_on_a_terminal_it_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rich")
    terminal = terminal_of(monkeypatch)
    maximize(lambda p: -(p["x"] ** 2), SPACE, evaluations=5, progress=True)
    assert "5/5 evaluated" in terminal.getvalue()
    assert terminal.getvalue().count("\n") == 1
    assert capsys.readouterr().out == ""


def test_the_terminal_is_not_flooded(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich")
    terminal_of(monkeypatch)
    made: list[int] = []

    def counted(status: Status, *_: Any) -> str:
        made.append(status.optimizer.evaluations)
        return ""

    monkeypatch.setattr(module, "line", counted)
    monkeypatch.setattr(module, "monotonic", lambda: 7.0)  # no time passes
    maximize(lambda p: -(p["x"] ** 2), SPACE, evaluations=5, progress=True)
    assert made == [0, 5]


def test_what_is_printed_to_a_file_stays_there(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("rich")
    terminal = terminal_of(monkeypatch)

    def f(params: Any) -> float:
        print("from the objective")
        return 1.0

    maximize(f, SPACE, evaluations=2, progress=True)
    assert capsys.readouterr().out == "from the objective\n" * 2
    assert "from the objective" not in terminal.getvalue()


def test_the_line_is_shown_to_the_end_of_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich")
    terminal = terminal_of(monkeypatch)
    with pytest.raises(RuntimeError, match="expected at least one value"):
        maximize(lambda _: math.nan, SPACE, evaluations=2, progress=True)
    assert "2 failed" in terminal.getvalue()


def test_without_rich_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal_of(monkeypatch)
    monkeypatch.setitem(sys.modules, "rich.console", None)
    with pytest.raises(InvalidInputError, match=r"pip install uncubed\[progress\]"):
        maximize(lambda _: 1.0, SPACE, evaluations=2, progress=True)


def test_lines_need_no_rich(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    maximize(lambda _: 1.0, SPACE, evaluations=1, progress=True)
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_it_is_known_whether_it_can_be_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda _: None)
    assert available()
    terminal_of(monkeypatch)
    assert not available()
    monkeypatch.setattr(module, "find_spec", lambda _: object())
    assert available()
