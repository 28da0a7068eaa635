"""How a run goes, in one line."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from importlib.util import find_spec
from time import monotonic

from uncubed.driver import Status
from uncubed.errors import InvalidInputError

Show = Callable[[Status], None]

_PER_SECOND = 4  # updates of the terminal at most


@contextmanager
def shown(wanted: bool, most: int | None) -> Iterator[Show]:
    """A function to be told how the run goes, which shows it on the standard error while the context lasts.

    On a terminal it is one line that changes; elsewhere a line is printed whenever the evaluations have doubled.

    Args:
        wanted: whether anything is to be shown.
        most: evaluations that may be made.
    """
    if not wanted:
        yield lambda _: None
        return
    with _live(most) if sys.stderr.isatty() else _printed(most) as show:
        yield show


def available() -> bool:
    """Whether what `shown` needs here is installed."""
    return not sys.stderr.isatty() or find_spec("rich") is not None


def line(status: Status, most: int | None, seconds: float) -> str:
    """The best, the evaluations, what runs, the model's order, the gap at the last milestone and the times.

    No search is made for it.
    """
    optimizer = status.optimizer
    failed, made = len(optimizer.failures), optimizer.evaluations
    parts = [
        f"best {optimizer.best.value:.5g}" if made > failed else "no value yet",
        f"{made}{'' if most is None else f'/{most}'} evaluated" + (f", {failed} failed" if failed else ""),
        f"{status.running} running",
        f"model {optimizer.model_order}",
        *(f"gap {last.upper - last.lower:.3g}" for last in optimizer.milestones[-1:]),
        f"ask {1000 * status.asking:.0f} ms",
        str(timedelta(seconds=int(seconds))),
    ]
    return " · ".join(parts)


@contextmanager
def _live(most: int | None) -> Iterator[Show]:
    try:
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text
    except ImportError as error:
        raise InvalidInputError("progress: expected rich, got none: pip install uncubed[progress]") from error
    start = monotonic()
    latest: Status | None = None
    drawn = -1.0

    def render() -> Text:
        text = "" if latest is None else line(latest, most, monotonic() - start)
        return Text(text, no_wrap=True, overflow="ellipsis")

    def show(status: Status) -> None:
        nonlocal latest, drawn
        latest = status
        if monotonic() - drawn >= 1.0 / _PER_SECOND:
            drawn = monotonic()
            live.update(render())

    # What the objective prints goes above the line, unless it is sent to a file.
    live = Live(console=Console(stderr=True), refresh_per_second=_PER_SECOND, redirect_stdout=sys.stdout.isatty())
    with live:
        try:
            yield show
        finally:
            live.update(render())


@contextmanager
def _printed(most: int | None) -> Iterator[Show]:
    start = monotonic()
    latest: Status | None = None
    printed = 0

    def say(status: Status) -> None:
        nonlocal printed
        printed = status.optimizer.evaluations
        print(line(status, most, monotonic() - start), file=sys.stderr, flush=True)

    def show(status: Status) -> None:
        nonlocal latest
        latest = status
        if status.optimizer.evaluations >= max(1, 2 * printed):
            say(status)

    yield show
    if latest is not None and latest.optimizer.evaluations > printed:
        say(latest)
