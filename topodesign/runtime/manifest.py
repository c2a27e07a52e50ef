"""``phases.json``: programs by phase, circuits and buffers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from topodesign.base.declared import Declared
from topodesign.base.errors import FileFormatError, TopodesignError
from topodesign.base.file_kinds import FileKind, expecting
from topodesign.base.strict_json import parse_json
from topodesign.base.text_files import read_bytes
from topodesign.base.units import read_number
from topodesign.collectives import Collective, from_record

MANIFEST = "phases.json"
TARGETS = ("msccl", "mscclpp", "chakra")
"""What programs by phase are made for."""
_FORMAT = "topodesign programs by phase"
_LARGEST = 2**26  # bytes of a manifest
_MAX = 2**31  # chunks of a workspace

Circuit = tuple[int, int, int, int]
"""Node, its port, other node, its port."""


@dataclass(frozen=True)
class Phase:
    """A program with the circuits that it needs."""

    program: str  # the file, or of traces the directory
    circuits: tuple[Circuit, ...]  # those that it sends over

    KEYS = "program circuits"


@dataclass(frozen=True)
class Manifest(Declared):
    """The purpose and order of programs by phase."""

    target: str  # what the programs are made for
    runtime: str  # what loads them
    collective: Collective  # what all of them do together
    ranks: int  # how many there are
    chunks: int  # of the whole collective; 0 of traces, which have none
    workspace: int  # chunks of the workspace of a rank; 0 of traces
    inputs: tuple[int, ...]  # of every rank the first chunk of its input in the workspace
    outputs: tuple[int, ...]  # and of its output
    delay: Fraction  # of a change, in seconds
    dark: str  # which ports send nothing meanwhile: all, or those that moved
    phases: tuple[Phase, ...]  # in their order

    KEYS = (
        "target runtime collective ranks chunks workspace_chunks=workspace input_at=inputs output_at=outputs "
        "delay_s=delay dark phases"
    )

    def text(self) -> str:
        """Return it as a file has it."""
        return json.dumps({"format": _FORMAT, "version": 1} | self.record()) + "\n"

    @property
    def share(self) -> Fraction:
        """The workspace over the data of the collective."""
        return Fraction(self.workspace, max(1, self.chunks))


def read_manifest(path: Path) -> Manifest:
    """Return what ``phases.json`` says."""
    with expecting(path, FileKind.PHASES):
        found = parse_json(read_bytes(path, _LARGEST))
        if not isinstance(found, dict) or found.get("format") != _FORMAT or found.get("version") != 1:
            raise FileFormatError(f"no manifest of programs by phase, whose format is {_FORMAT!r} and version 1")
        try:
            ranks = _whole(found["ranks"], 2**16)
            phases = tuple(
                Phase(_name(one["program"]), tuple(_circuit(row, ranks) for row in one["circuits"]))
                for one in found["phases"]
            )
            manifest = Manifest(
                _name(found["target"]),
                _name(found["runtime"]),
                from_record(found["collective"]),
                ranks,
                _whole(found["chunks"], _MAX),
                _whole(found["workspace_chunks"], _MAX),
                tuple(_whole(at, _MAX) for at in found["input_at"]),
                tuple(_whole(at, _MAX) for at in found["output_at"]),
                read_number(_text(found["delay_s"])),
                _name(found["dark"]),
                phases,
            )
        except (KeyError, TypeError, ValueError, ZeroDivisionError, TopodesignError) as error:
            raise FileFormatError(f"a manifest of programs by phase that makes no sense: {error!r:.100}") from None
        known = manifest.collective.group is None and not manifest.collective.several
        if not known or manifest.collective.rooted or not phases or manifest.target not in TARGETS or ranks < 2:
            raise FileFormatError("a manifest of programs by phase of no collective, target or phase that is known")
        return manifest


def _whole(value: Any, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise ValueError(f"{value!r:.40} is not a number from 0 to {most}")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > 200:
        raise ValueError(f"{value!r:.40} is not a text of at most 200 letters")
    return value


def _name(value: Any) -> str:
    text = _text(value)
    if "/" in text.removesuffix("/"):
        raise ValueError(f"{text!r:.40} is not a name")
    return text


def _circuit(row: Any, ranks: int) -> Circuit:
    a, p, b, q = row
    return _whole(a, ranks - 1), _whole(p, _MAX), _whole(b, ranks - 1), _whole(q, _MAX)
