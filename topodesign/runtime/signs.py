"""What runtimes say in their logs: ``signs.toml`` has every line that means something here, and where it was read.

To teach the doctor another line, add it there; the first sign that matches a line counts.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from topodesign.runtime.connections import LAZY, RELAY
from topodesign.runtime.rules import SOURCES

Role = Literal[
    "told", "loading", "loaded", "refused", "ready", "call", "ran", "built-in", "trouble",
    "rings", "joined", "trees", "connection", "failed",
]  # fmt: skip
"""What a line says: an environment variable, that a file is read, that it was, that it was not, that the start is over,
that somebody calls a collective, that a program ran, that something else did, and that something is in the way; that
the ranks are joined in rings, which ones trees join, that they do, that two ranks cannot be connected, and that the
start failed, without a reason."""


@dataclass(frozen=True, slots=True)
class Sign:
    """A line of a log, as ``signs.toml`` says it."""

    role: Role
    pattern: re.Pattern[str]
    means: str
    source: str
    runtime: str = ""
    remedy: str = ""


_WORD = re.compile(r"\{\{([\w-]+)\}\}")  # of the table of words, or of SOURCES


def _read(text: str) -> tuple[Sign, ...]:
    document = tomllib.loads(text)
    words = {**SOURCES, "lazy": LAZY, "relay": RELAY, **document["words"]}
    found = []
    for row in document["sign"]:
        said: dict[str, Any] = {key: _WORD.sub(lambda word: words[word[1]], text) for key, text in row.items()}
        found.append(Sign(**{**said, "pattern": re.compile(said["pattern"])}))
    return tuple(found)


SIGNS = _read(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))  # all lines that mean something here
