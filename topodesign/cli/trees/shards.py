"""Relative shard sizes of nodes, as ``--shards`` gives them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

from topodesign.base.errors import ParameterError
from topodesign.base.tables import fixed_columns
from topodesign.base.text_files import naming, read_text
from topodesign.base.wording import counted
from topodesign.cli.sources import nodes_named
from topodesign.fabrics.fabric import Fabric

_SIZE = re.compile(r"[0-9]{1,15}(\.[0-9]{1,15}|/[0-9]{1,15})?")
_SIZES_HELP = "write 2,1,1,... for the nodes in their order, NODE=SIZE,..., or the name of a .csv file"


def read_shards(fabric: Fabric, text: str) -> tuple[int, ...]:
    """Read relative shard sizes of the nodes of a fabric.

    Parameters
    ----------
    text
        One size for each node in their order, ``NODE=SIZE`` with names or patterns, with commas between, or the name of
        a .csv file with the columns ``node,size``. Sizes are exact numbers such as 2, 0.5 or 2/3; nodes that are not
        named have 1, and of several that fit a node the last counts.

    Returns
    -------
    tuple of int
        The sizes as integers without a common factor.

    Raises
    ------
    ParameterError, FileFormatError
        If the text or the file cannot be read, names no node, or gives all nodes nothing.
    """
    words = [word.strip() for word in text.split(",")]
    if text.lower().endswith(".csv"):
        pairs = list(_sizes_in_file(Path(text)))
    elif all("=" in word for word in words):
        pairs = [(name.strip(), size.strip()) for name, _, size in (word.rpartition("=") for word in words)]
    else:
        if not all(map(_SIZE.fullmatch, words)):
            raise ParameterError(f"--shards {text[:100]!r}: {_SIZES_HELP}")
        if len(words) != len(fabric.compute):
            nodes = counted(len(fabric.compute), "node")
            raise ParameterError(f"--shards has {counted(len(words), 'size')} for {nodes}")
        pairs = [(fabric.names[node], size) for node, size in zip(fabric.compute, words, strict=True)]
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
