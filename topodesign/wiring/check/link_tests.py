"""What hosts heard in the link test of ``wire export --format bringup``: who is at the other end of every cable."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from topodesign.base.arguments import as_path
from topodesign.base.errors import FileFormatError
from topodesign.base.file_kinds import FileKind, expecting
from topodesign.base.strict_json import parse_json
from topodesign.base.text_files import read_text
from topodesign.wiring.check.observed import Observed, observed_of
from topodesign.wiring.check.outputs import Neighbour
from topodesign.wiring.plan.plan import WiringPlan

_WRONG = "this is not what link_test.py prints"


def read_link_tests(path: str | Path, plan: WiringPlan) -> Observed:
    """Read what the link tests of hosts printed: a directory of such files, whatever they are called, or one."""
    path = as_path(path)
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    heard: list[Neighbour] = []
    names: list[str] = []
    problems: list[str] = []
    for file in files:
        with expecting(file, FileKind.LINK_TEST):
            host, rows, faults = _said(parse_json(read_text(file, (".json",))))
        names.append(host)
        heard += [Neighbour(host, port, other, (far,), None) for port, other, far in rows]
        problems += faults
    if not names:
        raise FileFormatError(
            f"{path}: there is nothing in it; expected HOST.json of each host, as link_test.py prints"
        )
    seen = observed_of(path, heard, plan, names)
    return replace(seen, faults=(*seen.faults, *problems))


def _said(document: Any) -> tuple[str, list[tuple[str, str, str]], list[str]]:
    """Return the host that said something, what its ports heard of whom, and what is not as written."""
    if not isinstance(document, dict) or document.get("link test") != 1 or not isinstance(document.get("host"), str):
        raise FileFormatError(_WRONG)
    rows, faults = document.get("heard"), document.get("problems")
    if not isinstance(rows, list) or not isinstance(faults, list) or not all(isinstance(one, str) for one in faults):
        raise FileFormatError(_WRONG)
    found = []
    for row in rows:
        if not isinstance(row, list) or len(row) != 3 or not all(isinstance(cell, str) for cell in row):
            raise FileFormatError(_WRONG)
        found.append((row[0], row[1], row[2]))
    return document["host"], found, faults
