"""Collectives: one a file, each a value that says where data starts, where it must end and whether it is added up.

Imports base alone. To add one, copy a file of this folder and list its value in ``COLLECTIVES``: the verifier, the
simulator and the files of plans take it from there, and schedulers and compilers say which ones they can do.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from topodesign.base.errors import ParameterError
from topodesign.base.wording import suggest
from topodesign.collectives.all_to_all import ALL_TO_ALL
from topodesign.collectives.allgather import ALLGATHER
from topodesign.collectives.allreduce import ALLREDUCE
from topodesign.collectives.broadcast import BROADCAST
from topodesign.collectives.collective import Collective, Movement, together
from topodesign.collectives.gather import GATHER
from topodesign.collectives.reduce import REDUCE
from topodesign.collectives.reduce_scatter import REDUCE_SCATTER
from topodesign.collectives.scatter import SCATTER

__all__ = [
    "ALLGATHER",
    "ALLREDUCE",
    "ALL_TO_ALL",
    "BROADCAST",
    "COLLECTIVES",
    "GATHER",
    "REDUCE",
    "REDUCE_SCATTER",
    "SCATTER",
    "Collective",
    "Movement",
    "as_collective",
    "from_record",
    "together",
]

COLLECTIVES: Mapping[str, Collective] = MappingProxyType(
    {one.name: one for one in (ALLGATHER, REDUCE_SCATTER, ALLREDUCE, BROADCAST, REDUCE, SCATTER, GATHER, ALL_TO_ALL)}
)
"""All collectives by name, as they are without root and group."""


def as_collective(value: Collective | str) -> Collective:
    """Return the collective of a name; a collective as it is.

    Raises
    ------
    ParameterError
        If there is none of that name.

    Examples
    --------
    >>> as_collective("reduce-scatter").dual.name
    'allgather'
    """
    if isinstance(value, Collective):
        return value
    found = COLLECTIVES.get(value) if isinstance(value, str) else None
    if found is None:
        raise ParameterError(f"unknown collective {value!r}; {suggest(value, COLLECTIVES, most=1)}")
    return found


def from_record(record: Any) -> Collective:
    """Return the collective that ``record`` of a collective wrote."""
    if isinstance(record, dict) and set(record) == {"together"}:
        parts = record["together"]
        if not isinstance(parts, list) or any(isinstance(one, dict) and "together" in one for one in parts):
            raise ParameterError("collectives at the same time are a list of objects, one for each")
        return together(map(from_record, parts))
    if isinstance(record, dict) and set(record) == {"name", "groups", "roots"}:
        groups, roots = record["groups"], record["roots"]
        if not (isinstance(groups, list) and all(map(_numbers, groups)) and (roots is None or _numbers(roots))):
            raise ParameterError("the groups of a collective are lists of nodes, and their roots one list or null")
        return as_collective(record["name"]).within(groups, roots)
    if not isinstance(record, dict) or not set(record) <= {"name", "root", "group"}:
        raise ParameterError("a collective is written as an object with name, root and group, or groups and roots")
    root, group = record.get("root"), record.get("group")
    if not (root is None or (type(root) is int and root >= 0)):
        raise ParameterError("the root of a collective is a node's number")
    if not (group is None or _numbers(group)):
        raise ParameterError("the group of a collective is a list of nodes")
    return as_collective(record.get("name", "")).at(root).among(group)


def _numbers(value: object) -> bool:
    return isinstance(value, list) and all(type(node) is int for node in value)
