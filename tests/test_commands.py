import json
import os
import select
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from uncubed import Float, InvalidInputError, Optimizer, StateError, cli
from uncubed.commands import asking, program, template

PYTHON = [sys.executable, "-I", "-S", "-c"]
UNCUBED = Path(sys.executable).with_name("uncubed")
HILL = "import sys; print('hello'); print(-(float(sys.argv[1]) - 0.3) ** 2)"
STUDY = """
direction = "maximize"
seed = 0
{more}
[space]
x = {{ type = "float", low = 0, high = 1 }}
bias = {{ type = "bool" }}
epochs = 3
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write("evaluations = 3")
    return tmp_path


def write(more: str) -> None:
    Path("study.toml").write_text(STUDY.format(more=more), encoding="utf-8")


def run(code: str, *arguments: str, options: str = "") -> int:
    code = code.replace("{", "{{").replace("}", "}}")
    return cli.main(["run", "study.toml", *options.split(), "--", *PYTHON, code, *(arguments or ("{x}", "{bias}"))])


def study() -> Optimizer:
    return Optimizer.resume("study.jsonl", read_only=True)


def values() -> list[float]:
    return [float(value) for value in study().log.values]


def reasons() -> set[str]:
    return {failure.reason for failure in study().failures}


Said = pytest.CaptureFixture[str]
pytestmark = pytest.mark.usefixtures("folder")


# run


def test_a_program_is_tuned(capsys: Said) -> None:
    assert run(HILL, options="--evaluations 12") == 0
    said = capsys.readouterr().out
    best = study().best
    assert best.params["x"] == pytest.approx(0.3, abs=0.1)
    assert f"best: {best.value:.6g}" in said
    assert "stopped: 12 evaluations were made" in said
    assert "with probability 0.9" in said
    # The last line is the command of the best, ready to be run.
    words = shlex.split(said.splitlines()[-1])
    assert words == [*PYTHON, HILL, str(best.params["x"]), json.dumps(best.params["bias"])]


def test_the_same_command_goes_on(capsys: Said) -> None:
    run(HILL)
    before = values()
    run(HILL, options="--evaluations 5")
    assert values()[:3] == before
    assert len(values()) == 5
    assert run("raise SystemExit('not run')", options="--evaluations 5") == 0
    assert len(values()) == 5


def test_the_log_has_the_command_its_output_and_how_it_ended() -> None:
    run("import sys; print('out'); print('err', file=sys.stderr); print(1.5)", options="--evaluations 1")
    (log,) = Path("study.logs").iterdir()
    first, *rest, last = log.read_text(encoding="utf-8").splitlines()
    assert log.name == "000000.log"
    assert first.startswith(f"$ {PYTHON[0]}")
    assert rest == ["out", "1.5", "# standard error:", "err"]
    assert last.startswith("# exit code 0, ")


def test_parameters_are_in_the_environment_too(capsys: Said) -> None:
    code = (
        "import json, os; p = json.loads(os.environ['UNCUBED_PARAMS']); print(p['x'] + int(os.environ['UNCUBED_ID']))"
    )
    assert run(code, "no", "names", options="--evaluations 2") == 0
    assert "UNCUBED_PARAMS" in capsys.readouterr().err
    assert values() == [study().params(0)["x"], study().params(1)["x"] + 1]


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("last line", "print('9'); print(2.5); print()"),
        ("json:loss", "print('{\"loss\": 1}'); print('{\"loss\": 2.5, \"x\": 1}'); print('done'); print('[3]')"),
        ("file:out.txt", "open('out.txt', 'w').write('9\\n2.5\\n')"),
        ("file:{id}-{bias}.txt", "import sys; open(f'0-{sys.argv[2]}.txt', 'w').write('2.5')"),
    ],
)
def test_where_the_value_is(value: str, code: str) -> None:
    write(f'value = "{value}"')
    assert run(code, options="--evaluations 1") == 0
    assert values() == [2.5]


@pytest.mark.parametrize(
    ("value", "code", "reason"),
    [
        ("last line", "print('done')", "no value: expected a number on the last line, got 'done'"),
        ("last line", "", "no value: expected a number on the last line, got ''"),
        ("last line", "print('nan')", "value: nan"),
        ("last line", "print('-inf')", "value: -inf"),
        ("last line", "print(1); raise KeyError(3)", "exit code 1: KeyError: 3"),
        ("last line", "print(1); raise SystemExit(7)", "exit code 7"),
        ("last line", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "killed by SIGKILL"),
        ("json:loss", "print(1)", "no value: expected a line that is a JSON object, got none"),
        ("json:loss", "print('{}')", "no value: expected a number as 'loss' of the last JSON line, got None"),
        (
            "json:loss",
            "print('{\"loss\": true}')",
            "no value: expected a number as 'loss' of the last JSON line, got True",
        ),
        ("json:loss", "print('{\"loss\": NaN}')", "value: nan"),
        ("file:out.txt", "print(1)", "no value: expected out.txt to be written, got nothing new"),
    ],
)
def test_what_gives_no_value_has_failed(value: str, code: str, reason: str, capsys: Said) -> None:
    Path("out.txt").write_text("1.0", encoding="utf-8")  # of an earlier run
    write(f'value = "{value}"')
    assert run(code, options="--evaluations 2") == 1
    assert reasons() == {reason}
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("uncubed: expected at least one value, got 2 failures")


def test_a_program_that_is_not_there(capsys: Said) -> None:
    assert cli.main(["run", "study.toml", "--", "./no-such-program", "{x}", "{bias}"]) == 1
    assert "program: expected one that can be run, got './no-such-program'" in capsys.readouterr().err


def test_failures_alike_end_it(capsys: Said) -> None:
    write("evaluations = 100")
    assert run("raise ValueError('no data')") == 1
    assert "the first 10 evaluations all failed with exit code 1: ValueError: no data" in capsys.readouterr().err


SLEEPER = """
import os, subprocess, sys, time
held = open("alive", "w")  # whoever reads it reads on while one process lives
{more}
subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"], pass_fds=[held.fileno()])
held.write("started"); held.flush()
time.sleep(600)
"""


@pytest.mark.parametrize("more", ["", "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)"])
def test_a_time_out_ends_all_that_was_started(more: str, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo("alive")
    reader = os.open("alive", os.O_RDONLY | os.O_NONBLOCK)
    wait = subprocess.Popen.wait

    def once_started(process: "subprocess.Popen[bytes]", timeout: float | None = None) -> int:
        """In place of waiting: its time is up when all has begun, however long a busy machine takes for that."""
        if timeout == 600:
            assert select.select([reader], [], [], 300)[0]
            timeout = 0.0
        return wait(process, timeout)

    monkeypatch.setattr(program, "GRACE", 0.2)
    monkeypatch.setattr(subprocess.Popen, "wait", once_started)
    assert run(SLEEPER.format(more=more), options="--evaluations 1 --timeout 600") == 1
    os.set_blocking(reader, True)
    with os.fdopen(reader) as alive:
        assert alive.read() == "started"  # to the end: nobody holds it
    assert reasons() == {"time-out: no end within 600 seconds"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_the_programs_and_keeps_the_study(number: signal.Signals) -> None:
    os.mkfifo("alive")
    code = "import os\nif os.environ['UNCUBED_ID'] == '0': print(1.5); raise SystemExit\n" + SLEEPER.format(more="")
    heard = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"
    words = [str(UNCUBED), "run", "study.toml", "--", *PYTHON, code, "{x}", "{bias}"]
    # Who runs the tests in the background has interrupts ignored, also by all that is started.
    with subprocess.Popen([sys.executable, "-c", heard, *words], stderr=subprocess.PIPE, text=True) as running:
        with open("alive", encoding="utf-8") as alive:  # waits for the second program to begin
            assert alive.read(7) == "started"
            running.send_signal(number)
            assert alive.read() == ""
        said = running.communicate()[1].splitlines()
    assert running.returncode == 130
    assert said[-1].startswith("uncubed: interrupted")
    assert (values(), list(study().pending)) == ([1.5], [1])
    assert run(HILL) == 0
    assert (len(values()), study().evaluations, study().pending) == (3, 3, {})


def test_several_run_at_once() -> None:
    meet = """
import os, pathlib, time
mine = int(os.environ["UNCUBED_ID"])
pathlib.Path(f"{mine}.here").touch()
while not pathlib.Path(f"{mine ^ 1}.here").exists():
    time.sleep(0.01)
print(1)
"""
    assert run(meet, options="--evaluations 2 --jobs 2 --timeout 600") == 0
    assert values() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["{x}", "{lr}"],
            "program: expected {x}, {bias}, {epochs}, {id}, got {lr}; a brace itself is written twice: {{",
        ),
        (["{x}"], "program: expected all parameters in it, got no {bias}"),
        ([], "program: expected its command after --, got none: uncubed run study.toml -- PROGRAM ..."),
    ],
)
def test_a_wrong_command_is_said_before_anything_runs(words: list[str], message: str, capsys: Said) -> None:
    assert cli.main(["run", "study.toml", "--", *words]) == 1
    assert capsys.readouterr() == ("", f"uncubed: {message}\n")
    assert not Path("study.jsonl").exists()


def test_two_at_once_must_not_write_one_file(capsys: Said) -> None:
    write('value = "file:out.txt"\njobs = 2')
    assert run(HILL) == 1
    assert "value: expected {id} in the file's name" in capsys.readouterr().err
    write('value = "file:{run}.txt"')
    assert run(HILL) == 1
    assert "value: expected {x}, {bias}, {epochs}, {id}, got {run}" in capsys.readouterr().err


def test_another_study_is_refused(capsys: Said) -> None:
    run(HILL)
    Path("study.toml").write_text(STUDY.format(more="").replace("maximize", "minimize"), encoding="utf-8")
    assert run(HILL) == 1
    assert "expected a study that is to minimize, got one to maximize" in capsys.readouterr().err


# Names in braces


def test_values_take_the_place_of_names() -> None:
    values = {"x": 1e-5, "n": 3, "bias": True, "act": "re lu", "a b": 0.5}
    assert template.fill("--x={x},{n} {bias}", values) == "--x=1e-05,3 true"
    assert template.fill("{act}{a b}", values) == "re lu0.5"
    assert template.fill('{{"x": {x}}}', values) == '{"x": 1e-05}'
    for same in ("{} { } {x", '{"x": 1}', "{x:d}", "{[x]}"):
        assert template.fill(same, values) == same


# show


def test_a_study_is_shown(capsys: Said) -> None:
    run("import sys; x = float(sys.argv[1]); print(1 / (x > 0.5))", options="--evaluations 6")
    capsys.readouterr()
    assert cli.main(["show", "study.jsonl"]) == 0
    said = capsys.readouterr().out
    shown, failed = study(), len(study().failures)
    assert 0 < failed < 6
    assert said.startswith(f"maximize over x, bias\nbest: {shown.best.value:.6g} (model: ")
    assert f"  x = {shown.best.params['x']!r}\n" in said
    assert f"evaluations: 6, {failed} of them failed\n" in said
    assert f"  {failed} × exit code 1: ZeroDivisionError: division by zero\n" in said
    assert f"{shown.certificate()}\n" in said
    assert f"model order: {shown.model_order}\n" in said
    assert "importance: " in said


def test_what_another_writes_is_shown(capsys: Said) -> None:
    with Optimizer({"x": Float(0.0, 1.0)}, journal="other.jsonl") as writing:
        suggestion = writing.ask()
        assert cli.main(["show", "other.jsonl"]) == 0
        assert capsys.readouterr().out == "maximize over x\nevaluations: 0, 1 pending\nno value yet\n"
        writing.tell(suggestion, 2.5)
        assert cli.main(["show", "other.jsonl"]) == 0
        assert "best: 2.5 " in capsys.readouterr().out


def test_it_is_drawn(capsys: Said) -> None:
    pytest.importorskip("matplotlib")
    with Optimizer({"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)}, journal="other.jsonl", seed=0) as writing:
        for _ in range(9):
            suggestion = writing.ask()
            writing.tell(suggestion, suggestion.params["x"])
    assert cli.main(["show", "other.jsonl", "--plots", "some/figures"]) == 0
    drawn = {path.stem for path in Path("some/figures").glob("*.png")}
    assert drawn == {"progress", "information", "slices", "posterior", "parallel_coordinates", "importance"}
    said = capsys.readouterr().out
    assert all(str(Path("some/figures") / f"{name}.png") in said for name in drawn)


def test_who_has_read_enough_is_not_told_more() -> None:
    run(HILL)
    shown = subprocess.Popen([UNCUBED, "show", "study.jsonl"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert shown.stdout is not None
    shown.stdout.close()
    assert shown.stderr is not None
    with shown.stderr as errors:
        assert errors.read() == b""
    assert shown.wait() == 128 + signal.SIGPIPE


# ask and tell


def asked(capsys: Said, *words: str) -> list[Any]:
    assert cli.main(["ask", "study.jsonl", *words]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def taught(capsys: Said, *words: str) -> Any:
    assert cli.main(["tell", "study.jsonl", *words]) == 0
    return json.loads(capsys.readouterr().out)


def refused(capsys: Said, *words: str) -> str:
    assert cli.main(list(words)) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.splitlines()) == 1
    return said.err


def test_asking_and_telling_is_a_study(capsys: Said) -> None:
    with Optimizer({"x": Float(0.0, 1.0)}, journal="study.jsonl", seed=0):
        pass
    same = Optimizer({"x": Float(0.0, 1.0)}, seed=0)
    for number in range(6):
        expected = same.ask()
        (line,) = asked(capsys)
        assert line == {"id": number, "params": expected.params, "informative": expected.decision.informative}
        value = -(expected.params["x"] ** 2)
        assert taught(capsys, str(number), str(value)) == same.tell(expected, value)._asdict()


def test_the_first_ask_begins_the_study(capsys: Said) -> None:
    lines = asked(capsys, "--study", "study.toml", "-n", "2")
    assert [line["id"] for line in lines] == [0, 1]
    assert all(set(line["params"]) == {"x", "bias", "epochs"} for line in lines)
    assert [line["id"] for line in asked(capsys, "--study", "study.toml")] == [2]
    assert list(study().pending) == [0, 1, 2]


def test_parameters_may_be_held(capsys: Said) -> None:
    (line,) = asked(capsys, "--study", "study.toml", "--fixed", "x=0.25", "--fixed", "bias=true")
    assert line["params"] == {"x": 0.25, "bias": True, "epochs": 3}
    assert "fixed: expected NAME=VALUE, got 'x'" in refused(capsys, "ask", "study.jsonl", "--fixed", "x")
    assert "x: expected a real number, got 'wide'" in refused(capsys, "ask", "study.jsonl", "--fixed", "x=wide")
    assert "'lr'" in refused(capsys, "ask", "study.jsonl", "--fixed", "lr=1")


def test_text_may_be_held_without_quotes(capsys: Said) -> None:
    Path("study.toml").write_text('direction = "maximize"\n[space]\nact = ["relu", "1", 1]', encoding="utf-8")
    for text, value in {"relu": "relu", "1": 1, '"1"': "1", '"relu"': "relu"}.items():
        assert asked(capsys, "--study", "study.toml", "--fixed", f"act={text}")[0]["params"] == {"act": value}


@pytest.mark.parametrize("value", ["-1e-05", "-.5", "2", "-3"])
def test_any_number_is_a_value(capsys: Said, value: str) -> None:
    asked(capsys, "--study", "study.toml")
    assert taught(capsys, "0", value)["kept"]
    assert values() == [float(value)]


def test_a_point_may_be_told_without_being_asked(capsys: Said) -> None:
    asked(capsys, "--study", "study.toml")
    taught(capsys, '{"x": 0.5, "bias": true}', "1.5")
    assert study().best.params == {"x": 0.5, "bias": True, "epochs": 3}
    assert list(study().pending) == [0]


def test_a_failure_may_be_told(capsys: Said) -> None:
    asked(capsys, "--study", "study.toml", "-n", "2")
    assert taught(capsys, "1", "--fail", "out of memory") == {"failures": 1}
    assert taught(capsys, "0", "nan") == {"kept": False, "nats": 0.0, "model_order": 0, "clipped": False}
    assert [failure.reason for failure in study().failures] == ["out of memory", "value: nan"]
    assert study().pending == {}


def test_what_cannot_be_told(capsys: Said) -> None:
    asked(capsys, "--study", "study.toml")
    for words, message in {
        ("1", "0.5"): "id: expected one whose value is awaited (0), got 1",
        ("0",): "tell: expected a value or --fail REASON, got none",
        ("0", "1", "--fail", "why"): "tell: expected a value or --fail REASON, got both",
        ("zero", "1"): "what: expected an id, or params as a JSON object, got 'zero'",
        ("[0]", "1"): "what: expected an id, or params as a JSON object, got '[0]'",
        ('{"x": 3, "bias": true}', "1"): "x: expected a number from 0.0 to 1.0, got 3.0",
    }.items():
        assert message in refused(capsys, "tell", "study.jsonl", *words)
    assert "expected the journal of a study" in refused(capsys, "tell", "none.jsonl", "0", "1")
    assert study().evaluations == 0


def test_scripts_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("time.sleep", waits.append)
    optimizer = Optimizer({"x": Float(0.0, 1.0)})

    def opened() -> Optimizer:
        if len(waits) < 3:
            raise StateError("busy") from BlockingIOError()
        return optimizer

    assert asking._patiently(opened) is optimizer
    assert len(waits) == 3


@pytest.mark.parametrize(("cause", "patience"), [(None, 30.0), (BlockingIOError(), 0.0)])
def test_they_do_not_wait_for_nothing_or_for_ever(
    cause: Exception | None, patience: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "PATIENCE", patience)
    monkeypatch.setattr("time.sleep", lambda _: pytest.fail("it waited"))

    def opened() -> Optimizer:
        raise StateError("not a study") from cause

    with pytest.raises(StateError, match="not a study"):
        asking._patiently(opened)


def test_the_checks_of_names_say_what_is_missing() -> None:
    template.check("program", ["{a}", "{b}{a}"], known=["a", "b", "c"], needed=["a", "b"])
    with pytest.raises(InvalidInputError, match=r"got no \{c\}"):
        template.check("program", ["{a}"], known=["a", "c"], needed=["a", "c"])
