"""`uncubed show`: a study as text and as figures."""

import argparse
from pathlib import Path
from typing import Any

from uncubed.commands import text
from uncubed.dimensions import Float, Int
from uncubed.optimizer import Optimizer
from uncubed.space import Space


def show(chosen: argparse.Namespace) -> int:
    """Print the state of a study, also while another process writes it; the exit code."""
    optimizer = Optimizer.resume(chosen.journal, read_only=True)
    print(f"{optimizer.direction} over {', '.join(optimizer.space.names)}")
    if optimizer.evaluations == len(optimizer.failures):
        print("\n".join([text.evaluations(optimizer), *text.failures(optimizer), "no value yet"]))
        return 0
    print(text.report(optimizer, optimizer.certificate(), optimizer.done))
    print(f"model order: {optimizer.model_order}")
    importance = sorted(optimizer.importance().items(), key=lambda item: -item[1])
    print("importance: " + ", ".join(f"{name} {100 * share:.0f} %" for name, share in importance))
    if chosen.plots is not None:
        for path in draw(optimizer, chosen.plots):
            print(path)
    return 0


def draw(optimizer: Optimizer, directory: Path) -> list[Path]:
    """Write the figures; their paths."""
    from uncubed import plot

    directory.mkdir(parents=True, exist_ok=True)
    figures: dict[str, Any] = {
        "progress": plot.progress(optimizer),
        "information": plot.information(optimizer),
        "slices": plot.slices(optimizer),
        "parallel_coordinates": plot.parallel_coordinates(optimizer),
        "importance": plot.importance(optimizer),
    }
    pair = _pair(optimizer)
    if len(pair) == 2:
        figures["posterior"] = plot.posterior(optimizer, pair[0], pair[1])
    for name, figure in figures.items():
        figure.savefig(directory / f"{name}.png")
    return [directory / f"{name}.png" for name in figures]


def _pair(optimizer: Optimizer) -> list[str]:
    """The two numbers that matter most."""
    if not isinstance(optimizer.space, Space):
        return []
    numbers = [name for name, d in optimizer.space.dimensions.items() if isinstance(d, Float | Int)]
    importance = optimizer.importance()
    return sorted(numbers, key=lambda name: -importance[name])[:2]
