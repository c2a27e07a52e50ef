"""Relative shard sizes of nodes, as ``--shards`` gives them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TypeAlias

from topodesign.base.errors import ParameterError
from topodesign.base.tables import fixed_columns
from topodesign.base.text_files import naming, read_text
from topodesign.base.wording import counted
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.part import nodes_named

_SIZE = re.compile(r"[0-9]{1,15}(\.[0-9]{1,15}|/[0-9]{1,15})?")
_SIZES_HELP = "write 2,1,1,... for the nodes in their order, NODE=SIZE,..., or the name of a .csv file"

Shards: TypeAlias = str | Path | Sequence[int] | Mapping[str, int | str | Fraction]
"""What sizes of shards may be given as: text or a .csv file as :func:`read_shards` takes them, numbers for the nodes in
their order, or a mapping of names and patterns."""


def as_shards(fabric: Fabric, value: Shards) -> tuple[int, ...]:
    """Return relative shard sizes of the nodes of a fabric, as integers without a common factor.

    Examples
    --------
    >>> from topodesign.fabrics.presets import build_fabric
    >>> as_shards(build_fabric("dgx_a100(1)"), {"*": 2, "box0/gpu[4-7]": "1/2"})
    (4, 4, 4, 4, 1, 1, 1, 1)
    """
    if isinstance(value, Path) and value.suffix.lower() != ".csv":
        raise ParameterError(f"a file of shard sizes ends in .csv, not {value}")
    if isinstance(value, str | Path):
        return read_shards(fabric, str(value))
    if isinstance(value, Mapping):
        return _sizes(fabric, ((str(name), str(size)) for name, size in value.items()))
    if not isinstance(value, Iterable):
        raise ParameterError(f"shard sizes are text, numbers or a mapping, not {value!r:.60}")
    return _in_order(fabric, [str(size) for size in value])


def read_shards(fabric: Fabric, text: str) -> tuple[int, ...]:
    """Read relative shard sizes of the nodes of a fabric, as integers without a common factor.

    The text is a size for each node in their order, ``NODE=SIZE`` with names or patterns, with commas between, or the
    name of a .csv file with the columns ``node,size``. Sizes are exact numbers such as 2, 0.5 or 2/3; nodes that are
    not named have 1, and of several that fit a node the last counts.
    """
    words = [word.strip() for word in text.split(",")]
    if text.lower().endswith(".csv"):
        return _sizes(fabric, _sizes_in_file(Path(text)))
    if all("=" in word for word in words):
        pairs = [word.rpartition("=") for word in words]
        return _sizes(fabric, ((name.strip(), size.strip()) for name, _, size in pairs))
    if not all(map(_SIZE.fullmatch, words)):
        raise ParameterError(f"--shards {text[:100]!r}: {_SIZES_HELP}")
    return _in_order(fabric, words)


def _in_order(fabric: Fabric, words: Sequence[str]) -> tuple[int, ...]:
    """Return the sizes of the nodes in their order."""
    if len(words) != len(fabric.compute):
        nodes = counted(len(fabric.compute), "node")
        raise ParameterError(f"--shards has {counted(len(words), 'size')} for {nodes}")
    return _sizes(fabric, ((fabric.names[node], size) for node, size in zip(fabric.compute, words, strict=True)))


def _sizes(fabric: Fabric, pairs: Iterable[tuple[str, str]]) -> tuple[int, ...]:
    """Return the sizes of names and patterns; nodes that are not named have 1."""
    sizes = {fabric.names[node]: Fraction(1) for node in fabric.compute}
    for name, size in pairs:
        sizes |= dict.fromkeys(nodes_named(fabric, name), _size(size, name))
    if not any(sizes.values()):
        raise ParameterError("--shards gives no node any data")
    common = math.lcm(*(size.denominator for size in sizes.values()))
    whole = [int(size * common) for size in sizes.values()]
    return tuple(size // math.gcd(*whole) for size in whole)


def _size(text: str, name: str) -> Fraction:
    try:
        if _SIZE.fullmatch(text):
            return Fraction(text)
    except ZeroDivisionError:
        pass
    raise ParameterError(f"the shard size {text[:30]!r} of {name[:100]} is no number such as 2, 0.5 or 2/3")


def _sizes_in_file(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the rows of a .csv file."""
    with naming(path):
        for _, (node, size) in fixed_columns(read_text(path, (".csv",)), ("node", "size"), "a row such as gpu0,2"):
            yield node, size
