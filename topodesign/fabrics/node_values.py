"""Values of nodes, such as shard sizes and ready times.

From a text, a file, a list or a mapping.

A text is a value for each node in their order, ``NODE=VALUE`` with names or patterns, with commas between, or the name
of a .csv file with the columns ``node,size`` or ``node,ready``. Of several that fit a node the last counts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from topodesign.base.errors import FileFormatError, ParameterError, UnitError
from topodesign.base.latency import ALPHA, GAP, HOP, Latency
from topodesign.base.tables import read_fixed_columns
from topodesign.base.text_files import naming, read_text
from topodesign.base.units import Quantity, as_time, format_time, read_number
from topodesign.base.wording import count_noun, suggest
from topodesign.fabrics.fabric import OWN_LATENCIES, Fabric
from topodesign.fabrics.part import nodes_named

if TYPE_CHECKING:
    from topodesign.topology.topology import IntArray

Shards: TypeAlias = "str | Path | Sequence[int] | Mapping[str, int | str | Fraction] | IntArray"
"""What relative sizes of shards may be given as; they are exact numbers such as 2, 0.5 or 2/3. A matrix is traffic."""
Ready: TypeAlias = str | Path | Sequence[Quantity] | Mapping[str, Quantity]
"""What the times from which on nodes are ready may be given as."""

_Value = TypeVar("_Value")
_SIZE = re.compile(r"[0-9]{1,15}(\.[0-9]{1,15}|/[0-9]{1,15})?")


class _Kind(NamedTuple):
    """A kind of node value: its words in messages and files, and its reader."""

    what: str
    option: str
    noun: str
    example: str
    columns: tuple[str, str]
    row: str
    read: Callable[[Any, str], Fraction]


def as_shards(fabric: Fabric, value: Shards) -> tuple[int, ...]:
    """Return integer shard sizes without a common factor; 1 where not given.

    Examples
    --------
    >>> from topodesign.fabrics.presets import build_fabric
    >>> as_shards(build_fabric("dgx_a100(1)"), {"*": 2, "box0/gpu[4-7]": "1/2"})
    (4, 4, 4, 4, 1, 1, 1, 1)
    """
    found = _by_name(fabric, value, _SIZES)
    sizes = [found.get(fabric.names[node], Fraction(1)) for node in fabric.compute]
    if not any(sizes):
        raise ParameterError("--shards gives no node any data")
    common = math.lcm(*(size.denominator for size in sizes))
    whole = [int(size * common) for size in sizes]
    return tuple(size // math.gcd(*whole) for size in whole)


def as_ready(fabric: Fabric, value: Ready) -> tuple[Fraction, ...]:
    """Return the ready time of each vertex in seconds.

    0 for switches and unnamed nodes.

    Examples
    --------
    >>> from topodesign.fabrics.presets import build_fabric
    >>> as_ready(build_fabric("dgx_a100(1)"), {"box0/gpu[67]": "20us"})[5:8]
    (Fraction(0, 1), Fraction(1, 50000), Fraction(1, 50000))
    """
    found = _by_name(fabric, value, _TIMES)
    return tuple(found.get(name, Fraction(0)) for name in fabric.names)


def _by_name(fabric: Fabric, value: Shards | Ready, kind: _Kind) -> dict[str, Fraction]:
    found: dict[str, Fraction] = {}
    for name, said in _pairs(fabric, value, kind):
        found |= dict.fromkeys(nodes_named(fabric, name), said)
    return found


def _pairs(fabric: Fabric, value: Shards | Ready, kind: _Kind) -> Iterator[tuple[str, Fraction]]:
    """Yield names and patterns of nodes with their values."""
    if isinstance(value, str | Path) and str(value).lower().endswith(".csv"):
        yield from _in_file(Path(value), kind)
    elif isinstance(value, Path):
        raise ParameterError(f"a file of {kind.what} ends in .csv, not {value}")
    elif isinstance(value, Mapping):
        yield from ((str(name), kind.read(said, str(name))) for name, said in value.items())
    elif isinstance(value, str) and all("=" in word for word in value.split(",")):
        for word in value.split(","):
            name, _, said = word.rpartition("=")
            yield name.strip(), kind.read(said.strip(), name.strip())
    elif isinstance(value, Iterable):
        words = [word.strip() for word in value.split(",")] if isinstance(value, str) else list(value)
        if len(words) != len(fabric.compute):
            there = f"{count_noun(len(words), kind.noun)} for {count_noun(len(fabric.compute), 'node')}"
            raise ParameterError(
                f"--{kind.option} has {there}; write {kind.example},... for the nodes in their order, "
                f"NODE={kind.noun.upper()},..., or the name of a .csv file"
            )
        names = (fabric.names[node] for node in fabric.compute)
        yield from ((name, kind.read(word, name)) for name, word in zip(names, words, strict=True))
    else:
        raise ParameterError(f"{kind.what} are text, {kind.noun}s or a mapping, not {value!r:.60}")


def _in_file(path: Path, kind: _Kind) -> Iterator[tuple[str, Fraction]]:
    with naming(path):
        for line, (node, said) in read_fixed_columns(read_text(path, (".csv",)), kind.columns, kind.row):
            try:
                yield node, kind.read(said, node)
            except (UnitError, ParameterError) as error:
                raise FileFormatError(f"line {line}: {error}") from None


def _size(value: object, name: str) -> Fraction:
    try:
        if _SIZE.fullmatch(str(value)):
            return Fraction(str(value))
    except ZeroDivisionError:
        pass
    raise ParameterError(f"the shard size {str(value)[:30]!r} of {name[:100]} is not a number such as 2, 0.5 or 2/3")


_SIZES = _Kind("shard sizes", "shards", "size", "2,1,1", ("node", "size"), "a row such as gpu0,2", _size)
_TIMES = _Kind(
    "ready times",
    "ready",
    "time",
    "0s,20us,0s",
    ("node", "ready"),
    "a row such as 3,20us",
    lambda value, _: as_time(value),
)


def as_latency(alpha: Quantity | None = None, gap: Quantity | None = None, hop: Quantity | None = None) -> Latency:
    """Return latencies of messages.

    From text with units or seconds, or ``fabric`` for alpha; None is the default.

    Where links have latencies of their own those out of switches have that of these, so that a hop is 0 if not given.

    Examples
    --------
    >>> from topodesign.fabrics.node_values import as_latency
    >>> as_latency("5us", gap=0)
    Latency(alpha=Fraction(1, 200000), gap=Fraction(0, 1), hop=Fraction(3, 10000000))
    """
    own = alpha == OWN_LATENCIES
    least = Fraction(0) if own else HOP
    return Latency(
        None if own else ALPHA if alpha is None else as_time(alpha, latency=True),
        GAP if gap is None else as_time(gap, latency=True),
        least if hop is None else as_time(hop, latency=True),
    )


def latency_words(latency: Latency, fabric: Fabric) -> str:
    """Describe latencies for a fabric; gaps and hops only with switches."""
    alpha = "the fabric's own latencies" if latency.alpha is None else f"alpha {format_time(latency.alpha)}"
    if not fabric.topology.switches:
        return alpha
    hop = f", hop {format_time(latency.hop)}" if latency.hop else ""
    return f"{alpha}, gap {format_time(latency.gap)}{hop}"


MAX_COST = 10**6  # of a class of links, as the numerator or the denominator of a fraction
Costs = Mapping[str, int | float | str | Fraction] | Iterable[str]
"""Costs of a unit of data on links of a class: by its name or a pattern, or texts such as ``NVLink=1``."""


def as_costs(fabric: Fabric, costs: Costs) -> dict[str, Fraction]:
    """Return the cost of each link class, 0 if absent from ``costs``.

    Empty if no costs are given.
    """
    found = values_by_class(fabric, costs, _cost, "a cost as CLASS=COST, such as NVLink=1")
    return dict.fromkeys(fabric.classes, Fraction(0)) | found if found else {}


def values_by_class(
    fabric: Fabric, values: Mapping[str, Any] | str | Iterable[str], parse: Callable[[str, Any], _Value], form: str
) -> dict[str, _Value]:
    """Return the value of each class of links that is named, by patterns or texts ``CLASS=VALUE`` too."""
    if isinstance(values, Mapping):
        pairs = list(values.items())
    else:
        texts = [values] if isinstance(values, str) else list(map(str, values))
        if (wrong := next((text for text in texts if "=" not in text), None)) is not None:
            raise ParameterError(f"write {form}, not {wrong[:100]!r}")
        pairs = [text.rpartition("=")[::2] for text in texts]
    known, found = dict.fromkeys(fabric.classes), dict[str, _Value]()
    for word, value in pairs:
        meant = [word] if word in known else [kind for kind in known if fnmatchcase(kind, word)]
        if not meant:
            raise ParameterError(f"no link has the class {word!r}; {suggest(word, known)}")
        found |= dict.fromkeys(meant, parse(word, value))
    return found


def _cost(word: str, value: float | str | Fraction) -> Fraction:
    try:
        cost = read_number(value)
    except (ValueError, TypeError, ZeroDivisionError):
        raise ParameterError(f"the cost of {word!r} is a number, not {str(value)[:100]!r}") from None
    if cost < 0 or max(cost.numerator, cost.denominator) > MAX_COST:
        raise ParameterError(f"the cost of {word!r} is to be from 0 to {MAX_COST}, of no more digits than that")
    return cost
