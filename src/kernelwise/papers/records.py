"""Results on disk: one line of JSON per finished cell, also when a run is killed at any moment."""

import errno
import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..whole_files import alone_in
from .spec import Cell


class RecordError(ValueError):
    """A file of records that cannot be used; the message says why and what to do."""


@dataclass(frozen=True)
class Record:
    """The results of one cell."""

    cell: Cell
    results: dict[str, Any]
    seconds: float
    versions: dict[str, str]
    spec: str
    status: Literal["ok", "failed"] = "ok"
    message: str = ""

    @property
    def ok(self) -> bool:
        """Whether there are results."""
        return self.status == "ok"

    def to_line(self) -> str:
        """Return the record as one line of JSON, without its end."""
        return json.dumps({**vars(self), "cell": dict(self.cell)}, sort_keys=True, allow_nan=False)

    @classmethod
    def from_line(cls, line: str) -> "Record":
        """Return the record of a line of JSON."""
        values = json.loads(line)
        return cls(**{**values, "cell": Cell.of(**values["cell"])})


@dataclass(frozen=True)
class RecordFile:
    """The records of one experiment in one file.

    A record is a single write of a whole line to a descriptor opened for appending, followed by fsync. So after a kill
    the file holds every finished cell, and at worst an incomplete last line, which is not read, and which is cut off
    before the next write.
    """

    path: Path
    spec: str

    def read(self) -> dict[Cell, Record]:
        """Return the last record of every cell."""
        records = {}
        whole, _, _incomplete = self._content().rpartition(b"\n")
        for number, line in enumerate(whole.split(b"\n") if whole else [], start=1):
            try:
                record = Record.from_line(line.decode())
            except (ValueError, TypeError, KeyError, RecursionError) as error:
                raise RecordError(f"line {number} of {self.path} is not a record ({error}); remove the line") from error
            if record.spec != self.spec:
                raise RecordError(
                    f"{self.path} holds results of another version of the experiment (spec {record.spec}, now "
                    f"{self.spec}), which must not be mixed; start afresh without resume, or choose another output"
                )
            records[record.cell] = record
        return records

    def _content(self) -> bytes:
        return self.path.read_bytes() if self.path.exists() else b""

    @contextmanager
    def held(self) -> Iterator[None]:
        """Reserve the folder of the file for this process, since a second run there would repeat or spoil the work."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            try:
                stack.enter_context(alone_in(self.path.parent))
            except BlockingIOError as error:
                raise RecordError(
                    f"another run is writing to {self.path}; wait until it is finished, or choose another output"
                ) from error
            yield

    @contextmanager
    def appending(self) -> Iterator[Any]:
        """Give a function that appends a record and returns when the record is on the disk."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        content = self._content()
        if content and not content.endswith(b"\n"):
            os.truncate(self.path, content.rfind(b"\n") + 1)
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

        def append(record: Record) -> None:
            line = (record.to_line() + "\n").encode()
            before = os.fstat(descriptor).st_size
            try:
                if os.write(descriptor, line) != len(line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(descriptor)
            except OSError as error:
                os.ftruncate(descriptor, before)
                reason = f"could not be written ({error.strerror}); finished cells are kept: make room and run again"
                raise OSError(error.errno, reason, str(self.path)) from error

        try:
            yield append
        finally:
            os.close(descriptor)

    def set_aside(self) -> Path | None:
        """Rename an existing file to the first free name, ``records.1.jsonl``, ``records.2.jsonl``, ...; return it."""
        if not self.path.exists():
            return None
        number = 1
        while (aside := self.path.with_suffix(f".{number}{self.path.suffix}")).exists():
            number += 1
        return self.path.rename(aside)
