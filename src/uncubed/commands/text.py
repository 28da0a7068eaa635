"""What is printed of a study."""

from collections import Counter

from uncubed.optimizer import Optimizer
from uncubed.records import Promise

_REASONS = 10  # kinds of failures that are listed


def report(optimizer: Optimizer, certificate: Promise, reason: str | None) -> str:
    """The best, and what can be promised; `reason` is why it stopped, if it did."""
    best = certificate.best
    return "\n".join(
        [
            f"best: {best.value:.6g} (model: {best.mean:.6g} ± {best.std:.2g})",
            *(f"  {name} = {value!r}" for name, value in best.params.items()),
            evaluations(optimizer),
            *failures(optimizer),
            f"stopped: {reason}" if reason else "not done yet",
            str(certificate),
        ]
    )


def evaluations(optimizer: Optimizer) -> str:
    """How many there were, and how many are awaited."""
    awaited = f", {len(optimizer.pending)} pending" if optimizer.pending else ""
    failed = f", {len(optimizer.failures)} of them failed" if optimizer.failures else ""
    return f"evaluations: {optimizer.evaluations}{failed}{awaited}"


def failures(optimizer: Optimizer) -> list[str]:
    """By reason, the most frequent first."""
    counted = Counter(failure.reason for failure in optimizer.failures).most_common()
    more = len(counted) - _REASONS
    lines = [f"  {count} × {reason}" for reason, count in counted[:_REASONS]]
    return [*lines, *([f"  and {more} other reasons"] if more > 0 else [])]
