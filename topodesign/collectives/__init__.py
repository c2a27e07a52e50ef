"""Collectives: where data starts, where it ends, and whether it is added.

Imports base alone. To add one, write its value below and list it in ``COLLECTIVES``: the verifier, the simulator and
the files of plans take it from there, and schedulers and compilers say which ones they can do.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from topodesign.base.errors import ParameterError
from topodesign.base.wording import suggest
from topodesign.collectives.collective import Collective, Movement, join_collectives

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
    "join_collectives",
]

_PARSERS = ("msccl", "msccl-executor", "rccl")  # which know no scatter and no gather


def _get_runtime_name(word: str, *runtimes: str, **other: str) -> tuple[tuple[str, str], ...]:
    """Return the name of a collective in runtimes."""
    return tuple((dict.fromkeys(runtimes, word) | other).items())


ALLGATHER = Collective(
    "allgather", (Movement("each", "all"),), labels=_get_runtime_name("allgather", *_PARSERS, "mscclpp")
)
REDUCE_SCATTER = Collective(
    "reduce-scatter",
    (Movement("all", "each"),),
    labels=_get_runtime_name("reducescatter", *_PARSERS, "mscclpp", msccl="reduce_scatter"),
)
ALLREDUCE = Collective(
    "allreduce",
    (Movement("all", "each"), Movement("each", "all")),
    labels=_get_runtime_name("allreduce", *_PARSERS, "mscclpp"),
)
BROADCAST = Collective(
    "broadcast", (Movement("root", "all"),), labels=_get_runtime_name("broadcast", *_PARSERS, "mscclpp")
)
REDUCE = Collective("reduce", (Movement("all", "root"),), labels=_get_runtime_name("reduce", *_PARSERS, "mscclpp"))
SCATTER = Collective("scatter", (Movement("root", "each"),), labels=_get_runtime_name("scatter", "mscclpp"))
GATHER = Collective("gather", (Movement("each", "root"),), labels=_get_runtime_name("gather", "mscclpp"))
ALL_TO_ALL = Collective(
    "all-to-all", (Movement("each", "each"),), labels=_get_runtime_name("alltoall", *_PARSERS, "mscclpp")
)

COLLECTIVES: Mapping[str, Collective] = MappingProxyType(
    {one.name: one for one in (ALLGATHER, REDUCE_SCATTER, ALLREDUCE, BROADCAST, REDUCE, SCATTER, GATHER, ALL_TO_ALL)}
)
"""All collectives by name, as they are without root and group."""


def as_collective(value: Collective | str) -> Collective:
    """Return the collective of a name; a collective as it is.

    Parameters
    ----------
    value
        A collective, or its name, such as ``"allreduce"``.

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
        return join_collectives(map(from_record, parts))
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
