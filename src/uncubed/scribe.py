"""What happens in a study, written down as it happens."""

import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import final

from uncubed import events
from uncubed.errors import StateError
from uncubed.events import Json
from uncubed.journal import Journal
from uncubed.model import Model


@final
class Scribe:
    """Writes to a study's journal and saves its checkpoints; does nothing without a journal.

    Args:
        journal: where to.
        identity: of the study.
        written: events that are in it.
    """

    def __init__(self, journal: Journal | None = None, identity: str = "", written: int = 0) -> None:
        self._journal, self._identity, self._written = journal, identity, written

    @classmethod
    def begin(cls, path: Path, header: Callable[[str], Json]) -> "Scribe":
        """In a new file.

        Args:
            path: of the file.
            header: its first line, for a study of this identity.

        Raises:
            StateError: something else is in it, or a study.
        """
        identity = uuid.uuid4().hex
        first = header(identity)
        events.check_new(path)
        journal = Journal(path)
        try:
            if not journal.is_new:
                raise StateError(f"{path}: expected a new file, got a study; Optimizer.resume goes on with it")
            journal.append(first)
        except BaseException:
            journal.close()
            raise
        return cls(journal, identity)

    def write(self, event: Callable[[], Json], *, durable: bool = True) -> None:
        """An event, on the disk before this returns if it is durable."""
        if self._journal is not None:
            self._journal.append(event(), durable=durable)
            self._written += 1

    def save(self, model: Model) -> None:
        """A checkpoint, if the model has settled."""
        if self._journal is not None and model.settled:
            with suppress(OSError):  # it only saves time
                events.write_checkpoint(self._journal.path, self._identity, self._written, model)

    def close(self) -> None:
        """So that another process may go on; nothing can be written afterwards."""
        if self._journal is not None:
            self._journal.close()
