"""Several programs per plan or collective: by group or root.

A program is for one communicator, whose ranks it counts from 0. Groups are communicators of their own, so that each
has a program, in which its members are ranks in ascending order; the links that groups share are shared by running
them at the same time. And no runtime looks at the root of a call, so that calls of every root need a program each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TypeAlias, Unpack

import numpy as np

from topodesign.base.arrays import distinct
from topodesign.base.errors import ParameterError
from topodesign.base.options import takes
from topodesign.compiler.compilation import Compiled, compile_plan
from topodesign.compiler.fitting import compile_fitting
from topodesign.compiler.options import CompileOptions
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.places import PlaceLike, as_place
from topodesign.plans.files import as_plan
from topodesign.plans.plan import Plan
from topodesign.plans.plan_ops import relabel_plan, split_groups
from topodesign.topology.topology import IntArray, Topology

PlanOfRoot: TypeAlias = Callable[[int, int | None], Plan]
"""A root, and how many trees per root or None for the best -> the plan."""


@dataclass(frozen=True)
class Part:
    """One of several programs."""

    name: str  # ``group0`` or ``root0`` and so on
    nodes: tuple[int, ...]  # the node of each rank, by number
    compiled: Compiled  # the program
    names: tuple[str, ...]  # what the nodes are called


@takes(CompileOptions)
def compile_groups(plan: Plan, target: str = "msccl", **options: Unpack[CompileOptions]) -> tuple[Part, ...]:
    """Compile a program for each group's communicator.

    Parameters
    ----------
    plan
        Of rounds, trees or timed sends, in which data of a group goes over links among its members and switches alone;
        or its file. Of several collectives at the same time each is a program, or one for each of its groups.
    target, options
        As for :func:`~topodesign.compiler.compilation.compile_plan`. Groups of one node need no program.

    Raises
    ------
    InfeasibleError
        If data of a group goes through other nodes, or is not in rounds; and as
        :func:`~topodesign.compiler.compilation.compile_plan`.
    ParameterError
        If the plan is of all nodes.

    Examples
    --------
    >>> from topodesign import schedule
    >>> parts = compile_groups(schedule("torus(4,4)", group="4x4:0"))
    >>> [part.name for part in parts], parts[1].nodes
    (['group0', 'group1', 'group2', 'group3'], (4, 5, 6, 7))
    """
    plan = as_plan(plan)
    if plan.collective.several:
        return _of_streams(plan, target, **options)
    if plan.collective.group is None:
        raise ParameterError("the plan is of all nodes, which is one program; use compile_plan")
    parts = []
    for number, (one, alone) in enumerate(zip(plan.collective.single, split_groups(plan), strict=True)):
        members = one.group or ()
        if len(members) > 1:
            names = _names(plan.place, members)
            note = f"ranks 0 to {len(members) - 1} are {', '.join(names[:8])}{' ...' if len(members) > 8 else ''}"
            made = compile_plan(alone, target, **options)
            parts.append(Part(f"group{number}", members, replace(made, notes=(*made.notes, note)), names))
    return tuple(parts)


def _of_streams(plan: Plan, target: str, **options: Unpack[CompileOptions]) -> tuple[Part, ...]:
    """Return the programs of streams, one or several communicators each.

    How links are shared is left to when programs are called: they say in which order each of them sends.
    """
    parts: list[Part] = []
    for number, stream in enumerate(plan.flows):
        alone = Plan(plan.place, stream, {"time": stream.time}, plan.spec, plan.generator)
        if stream.collective.group is not None:
            some = compile_groups(alone, target, **options)
            parts += [replace(one, name=f"stream{number}-{one.name}") for one in some]
            continue
        members = tuple(stream.members.tolist())
        made = compile_plan(alone, target, **options)
        parts.append(Part(f"stream{number}", members, made, _names(plan.place, members)))
    return tuple(parts)


@takes(CompileOptions)
def compile_roots(
    place: PlaceLike, make_plan: PlanOfRoot, target: str = "msccl", **options: Unpack[CompileOptions]
) -> tuple[Part, ...]:
    """Compile a rooted collective for every root.

    A runtime must be given the program of the right root.

    Where a symmetry of the topology is known, only its representatives are scheduled; others have the image of that.

    Parameters
    ----------
    place
        A topology or a fabric, the spec of one, a file, or a networkx graph.
    make_plan
        Makes the plan of a root, with so many trees per root or, with None, the best one.
    target, options
        As for :func:`~topodesign.compiler.compilation.compile_plan`.

    Raises
    ------
    ParameterError
        If a plan is not of the root that was asked for.
    TopodesignError
        As ``make_plan`` and :func:`~topodesign.compiler.fitting.compile_fitting`.

    Examples
    --------
    >>> from topodesign import schedule
    >>> def plan_of(root, k):
    ...     return schedule("biring(2,3)", "broadcast", root=root, fixed_k=k)
    >>> [part.name for part in compile_roots("biring(2,3)", plan_of)]
    ['root0', 'root1', 'root2']
    """
    if not callable(make_plan):
        raise ParameterError(f"a function that makes the plan of a root is needed, not {make_plan!r:.60}")
    found = as_place(place)
    nodes = tuple(range(found.nodes)) if isinstance(found, Topology) else tuple(found.compute)
    made: dict[int, Part] = {}
    for root, plan_of in _plans(found, make_plan, nodes):
        rank = nodes.index(root)
        made[root] = Part(f"root{rank}", nodes, compile_fitting(plan_of, target, **options), _names(found, nodes))
    return tuple(made[root] for root in nodes)


def _names(place: Topology | Fabric, nodes: tuple[int, ...]) -> tuple[str, ...]:
    """Return the names of nodes."""
    return tuple(place.names[node] if isinstance(place, Fabric) else str(node) for node in nodes)


def _plans(
    found: Topology | Fabric, make_plan: PlanOfRoot, nodes: tuple[int, ...]
) -> Iterator[tuple[int, Callable[[int | None], Plan]]]:
    """Yield every root with a function for its plan."""

    @cache
    def plan_of(root: int, k: int | None) -> Plan:
        plan = make_plan(root, k)
        if plan.collective.root != root:
            raise ParameterError(f"the plan for root {root} is of {plan.collective!r}")
        return plan

    def image(root: int, order: IntArray, k: int | None) -> Plan:
        return relabel_plan(plan_of(root, k), order)

    symmetry = found.symmetry if isinstance(found, Topology) else None
    if symmetry is None or np.any(symmetry.represented_by < 0):
        yield from ((root, partial(plan_of, root)) for root in nodes)
        return
    for representative in distinct(symmetry.represented_by).tolist():
        for root, permutation in symmetry.transversals(representative):
            yield root, partial(image, representative, permutation.astype(np.int64))
