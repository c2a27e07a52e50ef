"""What was read from switches and sent to them, a line of JSON each, in a file that is on the disk before it is done.

So one who is left with a killed program, or another program, knows what was last read and what was sent after it.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from topodesign.base.errors import FileFormatError
from topodesign.base.strict_json import parse_json
from topodesign.base.text_files import read_text
from topodesign.wiring.switches.switch import Pair, pair_name

_KIND = "topodesign wire apply"
_VERSION = 1


@dataclass(frozen=True)
class Sent:
    """Commands that were sent to a switch."""

    remove: frozenset[Pair]
    add: frozenset[Pair]


@dataclass
class Known:
    """What a journal knows of a switch.

    ``last``: the circuits as they were last read. ``sent``: what was sent after that.
    """

    last: frozenset[Pair] = frozenset()
    sent: list[Sent] = field(default_factory=list)


@dataclass
class Past:
    """What a journal says.

    ``plan``: which plan was applied, by a digest. ``began``: when, as it is written there. ``done``, ``stages``: stages
    that were checked, of how many. ``outcome``: how it ended; None if it did not end. ``switches``: by name.
    """

    plan: str
    began: str
    done: int = 0
    stages: int = 0
    outcome: str | None = None
    switches: dict[str, Known] = field(default_factory=dict)


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
    """Take one entry into account."""
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
