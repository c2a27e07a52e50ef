"""What a user may name a topology by, and what the files of the commands are: a spec, links, a schedule, a program."""

from __future__ import annotations

import stat
from dataclasses import replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.base.units import parse_bandwidth
from topodesign.expand.library import LIBRARY, build
from topodesign.fabrics.fabric import NODE_BANDWIDTH, Fabric
from topodesign.fabrics.files import FABRIC_ENDINGS, read_fabric
from topodesign.fabrics.presets import FABRICS, build_fabric
from topodesign.topology.files import READERS, read_topology

Kind = Literal["schedule", "program"]
_ENDING: dict[Kind, str] = {"schedule": ".npz", "program": ".xml"}
_HEAD = 4096


def fabric_of(text: str, bandwidth: str | None = None) -> Fabric:
    """Read a fabric from a file, or build one from a spec such as ``dgx_a100(2)`` or that of any topology.

    Parameters
    ----------
    text
        A file if the text has a known ending, or no brackets and another ending or a slash; else a spec.
    bandwidth
        Bandwidth of a node over all its links, for fabrics that do not say their own.

    Raises
    ------
    FileFormatError, SpecError, UnitError
        If the file, the spec or the bandwidth cannot be read.
    ParameterError
        If a bandwidth is given for a fabric that has its own.
    """
    rate = None if bandwidth is None else parse_bandwidth(bandwidth) / 8
    path = Path(text)
    if path.suffix.lower() in FABRIC_ENDINGS or ("(" not in text and (path.suffix or "/" in text)):
        return read_fabric(path, rate)
    name = text.partition("(")[0].strip()
    if name in FABRICS or (name not in LIBRARY and get_close_matches(name, FABRICS)):
        fabric = build_fabric(text)
        if rate is not None:
            raise ParameterError(f"{name} has bandwidths of its own; leave out --bandwidth")
        return fabric
    return Fabric.from_topology(build(text), NODE_BANDWIDTH if rate is None else rate)


def part_of(
    fabric: Fabric, only: tuple[str, ...], others: Literal["vanish", "forward"], without: tuple[str, ...]
) -> Fabric:
    """Return what takes part and works.

    Parameters
    ----------
    fabric
        The whole.
    only
        Names and patterns of nodes, with commas between; all if empty.
    others
        What nodes do that are none of these.
    without
        Links as ``A-B``, or ``A>B`` for one direction, and names of nodes and switches.

    Raises
    ------
    ParameterError, TopologyError
        As :meth:`~topodesign.fabrics.fabric.Fabric.only` and :meth:`~topodesign.fabrics.fabric.Fabric.without`.
    """
    part = fabric
    if without:
        vertices = [text for text in without if text in fabric.names]
        links = [_ends(fabric, text) for text in without if text not in fabric.names]
        part = part.without(
            vertices=vertices,
            links=[(a, b) for a, sign, b in links if sign == "-"],
            one_way=[(a, b) for a, sign, b in links if sign == ">"],
        )
    if only:
        words = [word.strip() for text in only for word in text.split(",")]
        chosen = dict.fromkeys(name for word in words for name in nodes_named(part, word))
        part = part.only(chosen, forward=others == "forward")
    return fabric if part is fabric else replace(part, name=f"part of {fabric.name}")


def _ends(fabric: Fabric, text: str) -> tuple[str, str, str]:
    """Split ``A-B`` or ``A>B`` where both sides are names, which may contain the signs themselves."""
    splits = [(text[:i], sign, text[i + 1 :]) for i, sign in enumerate(text) if sign in "->"]
    known = [split for split in splits if {split[0], split[2]} <= set(fabric.names)]
    if known:
        return known[0]
    for first, _, last in splits[:1]:
        fabric.number(first), fabric.number(last)
    raise ParameterError(
        f"--without {text[:100]!r}: write a link as A-B, one direction of it as A>B, or the name of a node or switch"
    )


def nodes_named(fabric: Fabric, word: str) -> list[str]:
    """Return the nodes that a name or a pattern stands for.

    Raises
    ------
    ParameterError
        If there are none.
    """
    nodes = [fabric.names[node] for node in fabric.compute]
    matches = [word] if word in nodes else [name for name in nodes if fnmatchcase(name, word)]
    if not matches:
        fabric.number(word)
        raise ParameterError(f"'{word}' is a switch; only nodes take part in a collective")
    return matches


def names_fabric(text: str) -> bool:
    """Return whether the text names a fabric and not a plain topology: it has switches, or is none of the latter."""
    path = Path(text)
    if path.suffix.lower() in {".yaml", ".yml"}:
        return True
    if path.suffix.lower() not in READERS:
        return text.partition("(")[0].strip() in FABRICS
    try:
        return bool(read_topology(path).switches)
    except FileFormatError:
        pass
    try:
        return bool(read_fabric(path).names)
    except FileFormatError:
        return False


def kind_of(path: Path) -> Kind | None:
    """Return whether a file begins like a schedule file (a zip archive) or a program (XML), whatever its name is.

    Raises
    ------
    FileFormatError
        If it cannot be read, or is a directory, a pipe or a device.
    """
    try:
        regular = stat.S_ISREG(path.stat().st_mode)  # a pipe or device may never end
        head = _head(path) if regular else b""
    except OSError as error:
        raise FileFormatError(f"cannot read {path}: {error.strerror or error}") from None
    except ValueError as error:  # a null byte in the name
        raise FileFormatError(f"cannot read {path}: {error}") from None
    if not regular:
        raise FileFormatError(f"{path} is not a file")
    if head.startswith(b"PK"):
        return "schedule"
    return "program" if head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<") else None


def _head(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(_HEAD)


def names_schedule(text: str) -> bool:
    """Return whether the text names a schedule file, by its ending or by how the file begins."""
    path = Path(text)
    try:
        return path.suffix.lower() == _ENDING["schedule"] or kind_of(path) == "schedule"
    except FileFormatError:
        return False


def check_ending(output: Path, kind: Kind) -> None:
    """Raise ParameterError if a file that is to be written has the ending of the other kind."""
    others = {ending: other for other, ending in _ENDING.items() if other != kind}
    other = others.get(output.suffix.lower())
    if other is not None:
        raise ParameterError(f"{output} would be a {kind}, not a {other}; give it the ending {_ENDING[kind]}")
