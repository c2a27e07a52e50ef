"""Groups of nodes for simultaneous collectives, and placements of ranks.

``--group`` names groups.

Training runs split their ranks along axes: with 8-way tensor, 16-way data and 4-way expert parallelism, rank
``t + 8 (d + 16 e)`` has the place (t, d, e) in an array of 8 x 16 x 4. The groups along an axis are the ranks that
differ in that place alone: ``8x16x4:0`` are 64 groups of 8 ranks each, which follow one another, ``8x16x4:1`` are 32
groups of 16 ranks, 8 apart, and ``8x16x4:0,1`` are 4 groups of 128.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

from topodesign.base.arguments import as_integer
from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.base.tables import read_fixed_columns
from topodesign.base.text_files import naming, read_text
from topodesign.base.wording import count_noun
from topodesign.collectives import Collective
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.part import nodes_named

Groups: TypeAlias = "str | Path | Iterable[str | Path | Iterable[str | int]]"
"""What groups may be given as: see :func:`as_groups`."""
Placement: TypeAlias = "str | Path | Sequence[str | int]"
"""What a placement of ranks on nodes may be given as: see :func:`as_placement`."""

_SHAPE = re.compile(r"(?P<shape>[0-9]{1,9}(?:x[0-9]{1,9})*):(?P<axes>[0-9]{1,3}(?:,[0-9]{1,3})*)")
_GROUPS_HELP = (
    "write the nodes of each group by names or patterns (0,1,2,3 or box0/*), a shape and axes for equal groups "
    "(8x16x4:0), or the name of a .csv file with the columns node,group"
)


def as_groups(fabric: Fabric, value: Groups, placement: Placement | None = None) -> tuple[tuple[int, ...], ...]:
    """Return the numbers of the members of each group.

    A group is a text of names and patterns of nodes with commas between (``0,1,2,3``, ``box0/*``), or a list of names
    or numbers; a text such as ``8x16x4:0`` stands for equal groups along axes of an array of ranks, the first axis
    fastest, and the name of a ``.csv`` file for those of its columns ``node,group``. ``placement`` says on which nodes
    the ranks of such an array are; they are on the nodes in their order if None.

    Examples
    --------
    >>> from topodesign.fabrics.places import as_fabric
    >>> as_groups(as_fabric("torus(2,3)"), "2x3:0")
    ((0, 1), (2, 3), (4, 5))
    >>> as_groups(as_fabric("torus(2,3)"), ["0,1,2", "3,4"])
    ((0, 1, 2), (3, 4))
    """
    places = None if placement is None else as_placement(fabric, placement)
    if not isinstance(value, str | Path | Iterable):
        raise ParameterError(f"groups are text or lists of nodes, not {value!r:.60}")
    groups: list[tuple[int, ...]] = []
    for one in (value,) if isinstance(value, str | Path) else value:
        if isinstance(one, Path) or (isinstance(one, str) and one.lower().endswith(".csv")):
            groups += _in_file(fabric, Path(one))
        elif isinstance(one, str) and (found := _SHAPE.fullmatch(one.strip())):
            shape, axes = ([int(number) for number in re.split("[x,]", found[name])] for name in ("shape", "axes"))
            groups += along(fabric, shape, axes, places)
        elif isinstance(one, str):
            words = [word.strip() for word in one.split(",")]
            if not all(words) or re.fullmatch(r"[0-9]+x[0-9x]+(:.*)?", one):
                raise ParameterError(f"--group {one[:100]!r}: {_GROUPS_HELP}")
            groups.append(_numbers(fabric, dict.fromkeys(name for word in words for name in nodes_named(fabric, word))))
        elif isinstance(one, Iterable):
            groups.append(_numbers(fabric, one))
        else:
            raise ParameterError(f"a group is a list of nodes, not {one!r:.60}")
    return tuple(groups)


def group_collective(
    fabric: Fabric,
    collective: Collective,
    group: Groups,
    placement: Placement | None = None,
    root: str | int | Iterable[str | int] | None = None,
) -> Collective:
    """Return a collective in the groups that are named, each with its root; errors name nodes."""
    groups = as_groups(fabric, group, placement)
    return collective.within(groups, None if root is None else roots_of(fabric, root, groups), fabric.names)


def along(
    fabric: Fabric, shape: Sequence[int], axes: Sequence[int], places: Sequence[int] | None = None
) -> list[tuple[int, ...]]:
    """Return the groups along axes of an array of ranks, first axis fastest."""
    text = "x".join(map(str, shape))
    if math.prod(shape) != len(fabric.compute):
        there = f"there are {count_noun(len(fabric.compute), 'node')}"
        raise ParameterError(f"{text} are {math.prod(shape)} ranks, and {there}; the product must be the same")
    wrong = next((axis for axis in axes if axis >= len(shape)), None)
    if wrong is not None:
        raise ParameterError(f"{text} has axes 0 to {len(shape) - 1}, not {wrong}")
    if len(set(axes)) < len(axes):
        raise ParameterError(f"an axis of {text} is named twice: {','.join(map(str, axes))}")
    node_of = list(fabric.compute) if places is None else list(places)
    strides = [math.prod(shape[:axis]) for axis in range(len(shape))]
    rest = [axis for axis in range(len(shape)) if axis not in axes]

    def offsets(some: Sequence[int]) -> list[int]:
        steps = [[at * strides[axis] for at in range(shape[axis])] for axis in sorted(some, reverse=True)]
        return [sum(parts) for parts in itertools.product(*steps)]

    return [tuple(node_of[start + offset] for offset in offsets(axes)) for start in offsets(rest)]


def as_placement(fabric: Fabric, value: Placement) -> tuple[int, ...]:
    """Return the node of every rank.

    From names or numbers in the order of ranks, or a file of ``rank,node``.
    """
    if isinstance(value, Path) or (isinstance(value, str) and value.lower().endswith(".csv")):
        chosen = _ranks_in_file(fabric, Path(value))
    elif isinstance(value, str):
        chosen = _numbers(fabric, [word.strip() for word in value.split(",")])
    elif isinstance(value, Iterable):
        chosen = _numbers(fabric, value)
    else:
        raise ParameterError(f"a placement is a list of nodes or a .csv file, not {value!r:.60}")
    missing = sorted(set(fabric.compute) - set(chosen))
    if missing or len(chosen) != len(fabric.compute):
        lack = f"it lacks {fabric.names[missing[0]]}" if missing else "one is named twice"
        raise ParameterError(f"a placement names every node once: {lack}")
    return chosen


def _numbers(fabric: Fabric, names: Iterable[str | int]) -> tuple[int, ...]:
    """Return the numbers of nodes given by names or numbers."""
    found: list[int] = []
    for name in names:
        if isinstance(name, str):
            found += [fabric.number(node) for node in nodes_named(fabric, name)]
        else:
            found.append(as_integer("a node of a group", name, 0, len(fabric.names) - 1))
            if found[-1] in fabric.topology.switches:
                raise ParameterError(f"'{fabric.names[found[-1]]}' is a switch; only nodes take part in a collective")
    return tuple(found)


def _in_file(fabric: Fabric, path: Path) -> list[tuple[int, ...]]:
    groups: dict[str, list[int]] = {}
    with naming(path):
        for _, (node, group) in read_fixed_columns(
            read_text(path, (".csv",)), ("node", "group"), "a row such as gpu0,a"
        ):
            groups.setdefault(group, []).extend(fabric.number(name) for name in nodes_named(fabric, node))
    return [tuple(members) for members in groups.values()]


def _ranks_in_file(fabric: Fabric, path: Path) -> tuple[int, ...]:
    nodes: dict[int, int] = {}
    with naming(path):
        for line, (rank, node) in read_fixed_columns(
            read_text(path, (".csv",)), ("rank", "node"), "a row such as 0,gpu0"
        ):
            if not (rank.isascii() and rank.isdecimal() and len(rank) <= 9) or int(rank) in nodes:
                raise FileFormatError(f"line {line}: {rank[:30]!r} is not a rank, or already exists")
            nodes[int(rank)] = fabric.number(node)
        if sorted(nodes) != list(range(len(nodes))):
            raise FileFormatError("the ranks do not count from 0 without a gap")
    return tuple(nodes[rank] for rank in range(len(nodes)))


def roots_of(
    fabric: Fabric, value: str | int | Iterable[str | int], groups: Sequence[Sequence[int]]
) -> tuple[int, ...]:
    """Return the root of each group.

    Named or numbered in the order of groups; ``first`` is the first member.
    """
    if value == "first":
        return tuple(group[0] for group in groups)
    if isinstance(value, str):
        chosen = _numbers(fabric, [word.strip() for word in value.split(",")])
    else:
        chosen = _numbers(fabric, value if isinstance(value, Iterable) else [value])
    if len(chosen) != len(groups):
        raise ParameterError(
            f"{count_noun(len(chosen), 'root')} for {count_noun(len(groups), 'group')}; "
            "name one for each, with commas between, or say 'first'"
        )
    return chosen
