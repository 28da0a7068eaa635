"""The command line: `uncubed run`, `show`, `ask`, `tell` and `reproduce`."""

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from uncubed import __version__
from uncubed.commands.asking import ask, tell
from uncubed.commands.run import run
from uncubed.commands.show import show
from uncubed.errors import UncubedError

EXAMPLES = """\
examples:
  uncubed run study.toml -- python train.py --lr {lr} --layers {layers}
  uncubed show study.jsonl --plots figures
  uncubed ask study.jsonl --study study.toml
  uncubed tell study.jsonl 0 0.31
"""
RUN = (
    "Run a program with parameters in place of {name}, again and again, for the best value. The same command after "
    "Ctrl-C, or with more evaluations, goes on. The parameters are also in UNCUBED_PARAMS, as JSON, and UNCUBED_ID."
)
SHOW = "Print the best, what can be promised, the failures and the model; also while the study runs."
ASK = "Print what to evaluate next, one JSON object a line: id, params, and whether it is informative."
TELL = "Say what an evaluation gave, and print what it taught as JSON."
REPRODUCE = (
    "Run the paper's experiments and write report.md, report.html, figures and results.jsonl. "
    "Runs that are there are not made again: stop with Ctrl-C and go on later by the same command."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code."""
    chosen = _parsed(sys.argv[1:] if arguments is None else list(arguments))
    try:
        code: int = chosen.act(chosen)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # who reads has read enough, as in `uncubed show study.jsonl | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is flushed at the end
        return 141  # as shells say SIGPIPE
    except (UncubedError, OSError) as error:
        print(f"uncubed: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(
            "uncubed: interrupted; what was finished is kept, and the same command goes on from there", file=sys.stderr
        )
        return 128 + signal.SIGINT  # as shells say it


def _parsed(words: list[str]) -> argparse.Namespace:
    """Options that argparse cannot tell apart are taken out before it looks."""
    program: list[str] = []
    if words[:1] == ["run"] and "--" in words:
        at = words.index("--")
        words, program = words[:at], words[at + 1 :]
    if words[:1] == ["tell"]:  # -1e-05 is a value, not an option
        words = [f" {word}" if word.startswith("-") and _is_number(word) else word for word in words]
    chosen = parser().parse_args(words)
    chosen.program = program
    return chosen


def parser() -> argparse.ArgumentParser:
    """Of all commands."""
    top = argparse.ArgumentParser(
        prog="uncubed",
        description="Finds the best parameters of costly programs and functions in few evaluations.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"uncubed {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="command")
    for name, help, description, add, act in (
        ("run", "tune a program", RUN, _add_run, run),
        ("show", "print how a study stands, and draw it", SHOW, _add_show, show),
        ("ask", "what to evaluate next, for scripts", ASK, _add_ask, ask),
        ("tell", "what an evaluation gave, for scripts", TELL, _add_tell, tell),
        ("reproduce", "run the paper's experiments and write a report", REPRODUCE, _add_reproduce, _reproduce),
    ):
        command = commands.add_parser(name, help=help, description=description)
        command.set_defaults(act=act)
        add(command)
    return top


def _add_run(command: argparse.ArgumentParser) -> None:
    command.usage = "uncubed run [-h] [options] STUDY.toml -- PROGRAM [ARGUMENT ...]"
    command.add_argument("study", type=Path, metavar="STUDY.toml", help="the space, the direction and the limits")
    command.add_argument("--jobs", type=_positive, metavar="N", help="programs at once")
    command.add_argument("--evaluations", type=_positive, metavar="N", help="most of them, those before included")
    command.add_argument("--timeout", type=_seconds, metavar="SECONDS", help="for one program")


def _add_show(command: argparse.ArgumentParser) -> None:
    command.add_argument("journal", type=Path, metavar="STUDY.jsonl")
    command.add_argument("--plots", type=Path, metavar="DIR", help="write figures there: pip install uncubed[plot]")


def _add_ask(command: argparse.ArgumentParser) -> None:
    command.add_argument("journal", type=Path, metavar="STUDY.jsonl")
    command.add_argument("-n", type=_positive, default=1, metavar="N", help="how many (default: 1)")
    command.add_argument(
        "--fixed", action="append", default=[], metavar="NAME=VALUE", help="hold a parameter; may be repeated"
    )
    command.add_argument(
        "--study", type=Path, metavar="STUDY.toml", help="begin the study with this if it is not there"
    )


def _add_tell(command: argparse.ArgumentParser) -> None:
    command.add_argument("journal", type=Path, metavar="STUDY.jsonl")
    command.add_argument("what", metavar="ID|PARAMS", help="of a suggestion, or any params as a JSON object")
    command.add_argument("value", type=float, nargs="?", metavar="VALUE", help="nan and inf are failures")
    command.add_argument("--fail", metavar="REASON", help="instead of a value: why there is none")


def _add_reproduce(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "experiment",
        nargs="?",
        default="all",
        choices=["example", "rosenbrock", "logistic", "tradeoff", "all"],
        help="which one (default: all)",
    )
    command.add_argument("--quick", action="store_true", help="short horizons, short training, 5 seeds: minutes")
    command.add_argument(
        "--seeds", type=_positive, metavar="N", help="seeds 0 to N-1 (default: 20, or 5 with --quick; MNIST 3)"
    )
    command.add_argument(
        "--jobs", type=_positive, metavar="N", default=os.cpu_count() or 1, help="processes (default: one per core)"
    )
    command.add_argument("--data", choices=["digits", "mnist"], default="digits", help="for logistic (default: digits)")
    command.add_argument(
        "--mnist-dir",
        type=Path,
        metavar="DIR",
        default=Path("data/mnist"),
        help="(default: data/mnist; see make mnist)",
    )
    command.add_argument("--box", action="store_true", help="the continuous box instead of the grid; not for tradeoff")
    command.add_argument(
        "--out", type=Path, metavar="DIR", default=Path("reproduction"), help="(default: reproduction)"
    )


def _reproduce(chosen: argparse.Namespace) -> int:
    try:
        from uncubed.experiments import reproduce
    except ModuleNotFoundError as error:
        missing = f"uncubed reproduce needs {error.name}, which is not installed: pip install uncubed[reproduce]"
        print(missing, file=sys.stderr)
        return 1
    return reproduce.main(
        reproduce.Request(
            experiment=chosen.experiment,
            quick=chosen.quick,
            seeds=chosen.seeds,
            jobs=chosen.jobs,
            data=chosen.data,
            mnist=chosen.mnist_dir,
            box=chosen.box,
            out=chosen.out,
        )
    )


def _positive(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, got {text!r}")
    return number


def _seconds(text: str) -> float:
    if not _is_number(text) or not 0 < float(text) < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number above 0, got {text!r}")
    return float(text)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
