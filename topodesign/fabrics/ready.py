"""When nodes are ready to take part, as ``--ready`` gives it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TypeAlias

from topodesign.base.errors import FileFormatError, ParameterError, UnitError
from topodesign.base.tables import fixed_columns
from topodesign.base.text_files import naming, read_text
from topodesign.base.units import Quantity, as_time, parse_time
from topodesign.base.wording import counted
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.part import nodes_named

Ready: TypeAlias = str | Path | Sequence[Quantity] | Mapping[str, Quantity]
"""What times may be given as: text or a .csv file as :func:`read_ready` takes them, times for the nodes in their order,
or a mapping of names and patterns."""


def as_ready(fabric: Fabric, value: Ready) -> tuple[Fraction, ...]:
    """Return the seconds from the start until each vertex of a fabric is ready; switches always are.

    Examples
    --------
    >>> from topodesign.fabrics.presets import build_fabric
    >>> as_ready(build_fabric("dgx_a100(1)"), {"box0/gpu[67]": "20us"})[5:8]
    (Fraction(0, 1), Fraction(1, 50000), Fraction(1, 50000))
    """
    if isinstance(value, Path) and value.suffix.lower() != ".csv":
        raise ParameterError(f"a file of ready times ends in .csv, not {value}")
    if isinstance(value, str | Path):
        return read_ready(fabric, str(value))
    if isinstance(value, Mapping):
        return _times(fabric, ((str(name), as_time(time)) for name, time in value.items()))
    if not isinstance(value, Iterable):
        raise ParameterError(f"ready times are text, times or a mapping, not {value!r:.60}")
    return _in_order(fabric, [as_time(time) for time in value])


def read_ready(fabric: Fabric, text: str) -> tuple[Fraction, ...]:
    """Read in how many seconds vertices of a fabric are ready, switches included.

    The text is a time for each node in their order, ``NODE=TIME`` with names or patterns, with commas between, or the
    name of a .csv file with the columns ``node,ready``. Nodes that are not named are ready from the start, and of
    several that fit a node the last counts.
    """
    words = [word.strip() for word in text.split(",")]
    if text.lower().endswith(".csv"):
        return _times(fabric, _in_file(Path(text)))
    if all("=" in word for word in words):
        pairs = [word.rpartition("=") for word in words]
        return _times(fabric, ((name.strip(), parse_time(time.strip())) for name, _, time in pairs))
    return _in_order(fabric, [parse_time(word) for word in words])


def _in_order(fabric: Fabric, times: Sequence[Fraction]) -> tuple[Fraction, ...]:
    if len(times) != len(fabric.compute):
        raise ParameterError(
            f"--ready has {counted(len(times), 'time')} for {counted(len(fabric.compute), 'node')}; "
            "write NODE=TIME for single ones"
        )
    names = (fabric.names[node] for node in fabric.compute)
    return _times(fabric, zip(names, times, strict=True))


def _times(fabric: Fabric, pairs: Iterable[tuple[str, Fraction]]) -> tuple[Fraction, ...]:
    times = dict.fromkeys(fabric.names, Fraction(0))
    for name, time in pairs:
        times |= dict.fromkeys(nodes_named(fabric, name), time)
    return tuple(times.values())


def _in_file(path: Path) -> Iterator[tuple[str, Fraction]]:
    with naming(path):
        for line, (node, time) in fixed_columns(read_text(path, (".csv",)), ("node", "ready"), "a row such as 3,20us"):
            try:
                yield node, parse_time(time)
            except UnitError as error:
                raise FileFormatError(f"line {line}: {error}") from None
