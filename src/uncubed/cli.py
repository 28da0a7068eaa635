"""The command line: `uncubed reproduce`."""

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from uncubed import __version__
from uncubed.errors import UncubedError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code."""
    chosen = parser().parse_args(arguments)
    try:
        return _reproduce(chosen)
    except (UncubedError, OSError) as error:
        print(f"uncubed: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(
            "uncubed: interrupted; what was finished is kept, and the same command goes on from there", file=sys.stderr
        )
        return 128 + signal.SIGINT  # as shells say it


def parser() -> argparse.ArgumentParser:
    """Of all commands."""
    top = argparse.ArgumentParser(prog="uncubed", description="Gaussian-process bandits without the cubic cost.")
    top.add_argument("--version", action="version", version=f"uncubed {__version__}")
    commands = top.add_subparsers(dest="command", required=True)
    _add_reproduce(
        commands.add_parser(
            "reproduce",
            help="run the paper's experiments and write a report",
            description="Run the paper's experiments and write report.md, report.html, figures and results.jsonl. "
            "Runs that are there are not made again: stop with Ctrl-C and go on later by the same command.",
        )
    )
    return top


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
