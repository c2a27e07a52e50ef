"""A switch as it is read and commanded, and what is not known of it.

What a switch was last read to have is known; every side of a port that a command named which was sent after that is
not, whatever the switch answered, until it is read again. A reading counts if two in a row agree, so that one answer
that is out of date, or given amid a change, does not.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from topodesign.base.errors import FileFormatError
from topodesign.base.strict_json import parse_json
from topodesign.base.text_files import read_text
from topodesign.wiring.switches.switch import NoAnswerError, Pair, Reading, Switch, SwitchError, pair_name

_KIND = "topodesign wire apply"
_VERSION = 1


@dataclass(frozen=True)
class Sent:
    """Commands that were sent to a switch."""

    remove: frozenset[Pair]
    add: frozenset[Pair]


@dataclass
class Known:
    """What a journal knows of a switch."""

    last: frozenset[Pair] = frozenset()  # the circuits as they were last read
    sent: list[Sent] = field(default_factory=list)  # what was sent after that


@dataclass
class Past:
    """What a journal says."""

    plan: str  # which plan was applied, by a digest
    began: str  # when, as it is written there
    done: int = 0  # stages that were checked
    stages: int = 0  # all that there are
    outcome: str | None = None  # how it ended; None if it did not end
    switches: dict[str, Known] = field(default_factory=dict)  # by name


class Journal:
    """Writes a journal; one without a path writes nothing.

    Where it cannot be written any more, ``sends`` says so once, so that a command is not sent; what comes after that,
    to end in order, is not noted.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._failed: FileFormatError | None = None
        try:
            self._stream = None if path is None else path.open("ab")
        except OSError as error:
            raise FileFormatError(f"{path}: {error.strerror or error}") from None
        if self._stream is not None and self._stream.tell():
            self._stream.write(b"\n")  # after a line that was torn; empty ones do not count

    def began(self, plan: str, addresses: Mapping[str, str], stages: int) -> None:
        """Note what is to be applied, where, and in how many stages."""
        self._note({"journal": _KIND, "version": _VERSION, "plan": plan, "stages": stages, "switches": dict(addresses)})

    def read(self, name: str, circuits: Collection[Pair]) -> None:
        """Note what circuits a switch has."""
        self._note({"read": name, "circuits": _names(circuits)})

    def sends(self, name: str, remove: Collection[Pair], add: Collection[Pair]) -> None:
        """Note what is about to be sent."""
        self._note({"send": name, "remove": _names(remove), "add": _names(add)})
        failed, self._failed = self._failed, None
        if failed is not None:
            raise failed

    def stage(self, done: int) -> None:
        """Note how many stages are done and checked."""
        self._note({"done": done})

    def ended(self, outcome: str) -> None:
        """Note how it ended."""
        self._note({"outcome": outcome})

    @property
    def written(self) -> bool:
        """Whether there is a file."""
        return self._path is not None

    def close(self) -> None:
        """End it."""
        if self._stream is not None:
            self._stream.close()

    def _note(self, entry: dict[str, Any]) -> None:
        if self._stream is None:
            return
        when = datetime.now(UTC).isoformat(timespec="seconds")
        try:
            self._stream.write(json.dumps({"at": when} | entry).encode() + b"\n")
            self._stream.flush()
            os.fsync(self._stream.fileno())
        except OSError as error:
            with contextlib.suppress(OSError):
                self._stream.close()
            self._stream = None
            self._failed = FileFormatError(f"{self._path}: {error.strerror or error}")


def read_journal(path: Path) -> Past:
    """Return what a journal says; a torn last line does not count."""
    try:
        lines = [line for line in read_text(path).split("\n") if line]
    except FileFormatError as error:
        raise FileFormatError(f"{path}: {error}") from None
    past: Past | None = None
    for number, line in enumerate(lines, start=1):
        try:
            entry = parse_json(line)
        except FileFormatError:
            if number == len(lines):
                break
            continue  # torn by an end before it was gone on with
        past = _noted(past, entry, f"{path}, line {number}")
    if past is None:
        raise FileFormatError(f"{path}: not a journal of 'wire apply'")
    return past


def _noted(past: Past | None, entry: Any, where: str) -> Past:
    try:
        if entry.get("journal") == _KIND:
            if entry["version"] != _VERSION:
                raise FileFormatError(f"{where}: written by another version of this program")
            return Past(str(entry["plan"]), str(entry["at"]), stages=int(entry["stages"]))
        if past is None:
            raise FileFormatError(f"{where}: not a journal of 'wire apply'")
        if "read" in entry:
            known = past.switches.setdefault(str(entry["read"]), Known())
            known.last = _pairs(entry["circuits"])
            known.sent = []
        elif "send" in entry:
            known = past.switches.setdefault(str(entry["send"]), Known())
            known.sent.append(Sent(_pairs(entry["remove"]), _pairs(entry["add"])))
        elif "done" in entry:
            past.done = int(entry["done"])
        else:
            past.outcome = str(entry["outcome"])
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        if isinstance(error, FileFormatError):
            raise
        raise FileFormatError(f"{where}: not an entry of a journal") from None
    return past


def _names(pairs: Collection[Pair]) -> list[str]:
    return [pair_name(pair) for pair in sorted(pairs)]


def _pairs(names: list[str]) -> frozenset[Pair]:
    sides = [name.split("-") for name in names]
    return frozenset((int(a.removesuffix("A")), int(b.removesuffix("B"))) for a, b in sides)


Side = tuple[str, int]  # side ``A`` or ``B`` of the port of a number


@dataclass(frozen=True)
class Patience:
    """How long to try."""

    lost: float = 60.0  # seconds to wait for a switch that does not answer
    pause: float = 0.5  # seconds between two readings, and between two attempts
    attempts: int = 3  # how often what did not take effect is sent


class Device:
    """A switch and what is known of it.

    ``name``: of the switch in the inventory. ``circuits``: as they were last read; none before. ``unlit``: those of
    them that the switch did not call tuned. ``doubtful``: sides named in commands that were sent since. ``journal``:
    where it is noted what is read and sent. ``gone``: why it does not answer any more; None as long as it does.
    """

    def __init__(self, name: str, switch: Switch, journal: Journal, patience: Patience) -> None:
        self.name = name
        self.circuits: frozenset[Pair] = frozenset()
        self.unlit: frozenset[Pair] = frozenset()
        self.doubtful: set[Side] = set()
        self.gone: str | None = None
        self._switch = switch
        self.journal = journal
        self._patience = patience

    def look(self) -> bool:
        """Read what is there, and return whether that could be done; if not, it is ``gone``."""
        until = time.monotonic() + self._patience.lost
        last: Reading | None = None
        why = "its answers do not agree"
        while True:
            try:
                self._switch.connect()
                found = self._switch.read()
            except SwitchError as error:
                self._switch.close()
                last, why = None, str(error)
                if not isinstance(error, NoAnswerError):
                    self.gone = why
                    return False
            else:
                if found == last:
                    break
                last = found
            if time.monotonic() > until:
                self.gone = why
                return False
            time.sleep(self._patience.pause)
        self.circuits, self.unlit, self.gone = last.circuits, last.unlit, None
        self.doubtful.clear()
        self.journal.read(self.name, self.circuits)
        return True

    def order(self, remove: Collection[Pair], add: Collection[Pair]) -> None:
        """Remove circuits, then make some."""
        for pairs, adds in ((remove, False), (add, True)):
            ordered = sorted(pairs)
            for start in range(0, len(ordered), self._switch.portion):
                some = ordered[start : start + self._switch.portion]
                try:
                    self._switch.connect()
                except SwitchError:
                    self._switch.close()
                    raise
                self.journal.sends(self.name, () if adds else some, some if adds else ())
                self.doubtful.update(sides(some))
                try:
                    (self._switch.add if adds else self._switch.remove)(some)
                except NoAnswerError:
                    self._switch.close()
                    raise

    def close(self) -> None:
        """End the connection."""
        self._switch.close()


def sides(pairs: Collection[Pair]) -> Iterator[Side]:
    """Yield the sides of ports that circuits take."""
    for a, b in pairs:
        yield "A", a
        yield "B", b
