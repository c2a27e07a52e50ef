"""Operations on flows: reverse in time and put one after another (in steps), rename; and rounds."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from topodesign.base.arrays import ranges, sealed
from topodesign.base.errors import InfeasibleError, ScheduleError
from topodesign.collectives import ALLREDUCE
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.flow import PIECES, SENDS, Circuits, Flow, Routes, same_fold
from topodesign.plans.rounds import COLUMNS, Rounds
from topodesign.plans.rounds_ops import blocks_named, canonical, check_rows, check_units, find_links, renamed
from topodesign.topology.symmetry import Symmetry
from topodesign.topology.topology import IntArray, Topology


def flow_of_rounds(place: Topology | Fabric, rounds: Rounds, **more: Any) -> Flow:
    """Return rounds as a flow in steps, every row a piece of its own; ``more`` are other fields, such as routes."""
    last = len(rounds.collective.movements) - 1
    part = (rounds.step > rounds.reduce_steps).astype(np.int8) * np.int8(last)
    sends = np.arange(len(rounds), dtype=np.int32), rounds.src, rounds.dst, rounds.step - 1, rounds.step, part
    head = rounds.collective, place, "steps", rounds.units
    return Flow(*head, rounds.block, rounds.lo, rounds.hi, *sends, steps=rounds.steps, **more)  # type: ignore[arg-type]


def rounds_of_flow(flow: Flow) -> Rounds:
    """Return what a flow in steps sends from node to node, without its routes and circuits; a folded one unfolded."""
    if flow.model != "steps":
        raise InfeasibleError(f"a plan in {flow.kind} has no rounds")
    if flow.fold is not None:
        return _all_images(flow, flow.fold)
    return _own_rounds(flow)


def _own_rounds(flow: Flow) -> Rounds:
    ends = (flow.end, flow.src, flow.dst, flow.of_sends(flow.block))
    step, src, dst, block = (sealed(column.astype(np.int32, copy=False)) for column in ends)
    lo, hi = (sealed(flow.of_sends(column).astype(np.int64, copy=False)) for column in (flow.lo, flow.hi))
    head = flow.collective, flow.nodes, flow.units, flow.steps, flow.reduce_steps
    return Rounds(*head, step, src, dst, block, lo, hi)


def unfold(flow: Flow) -> Flow:
    """Return what a flow in steps stands for, in canonical form: all images of its rows."""
    return flow if flow.fold is None else flow_of_rounds(flow.place, rounds_of_flow(flow))


def _all_images(flow: Flow, fold: Symmetry) -> Rounds:
    """Return the rounds of all blocks.

    What moves of node v is that of its representative with every node x called p(x), where p is the permutation that
    takes the representative to v: the one that :meth:`~topodesign.topology.symmetry.Symmetry.transversals` takes,
    composed along a breadth-first tree in the order of the generators and, after them, their inverses. Whatever the
    group, this makes one plan; where no permutation but the identity leaves a node where it is, p is unique.
    """
    own, total = _own_rounds(flow), flow.sends
    check_rows(total)
    columns = {name: np.empty(total, dtype=getattr(own, name).dtype) for name in COLUMNS}
    owner, at = flow.collective.owners(own.block, flow.nodes), 0
    for representative in fold.representatives:
        rows = own.rows(owner == representative)
        for _, names in fold.transversals(representative):
            part = slice(at, at + len(rows))
            columns["src"][part], columns["dst"][part] = names[rows.src], names[rows.dst]
            columns["block"][part] = blocks_named(flow.collective, rows.block, names)
            for name in ("step", "lo", "hi"):
                columns[name][part] = getattr(rows, name)
            at += len(rows)
    return canonical(own.having(**columns))


def gather(flow: Flow) -> Rounds:
    """Return the rows of a folded flow with each link replaced by the first of its orbit; of a symmetry that is free.

    There one permutation of the group takes a row to each link of the orbit. So every link of an orbit carries of the
    whole schedule what the first carries of these rows.
    """
    own, fold, topology = _own_rounds(flow), flow.fold, flow.topology
    if fold is None:
        return own
    fold.check(topology)
    link = fold.link_orbits(topology)[find_links(topology, own)]
    return own.having(src=topology.src[link].astype(np.int32), dst=topology.dst[link].astype(np.int32))


def reverse(flow: Flow, place: Topology | Fabric | None = None) -> Flow:
    """Return a flow in steps backwards in time over reversed links: the dual collective, at the same cost.

    Of what is sent nothing may be superfluous: a delivery of what a node has already would become a partial sum that it
    does not have any more.

    Parameters
    ----------
    place
        The links turned round; None for the transpose of the flow's topology.

    References
    ----------
    Efficient Direct-Connect Topologies, Definition 8 and Theorem 1.
    """
    if flow.model != "steps":
        raise ScheduleError("only flows in steps are reversed")
    last, block = flow.steps, flow.block
    if flow.collective.pairwise:  # what went from s to t now goes from t to s
        source, target = np.divmod(block, flow.nodes)
        block = (target * flow.nodes + source).astype(block.dtype)
    return replace(
        flow,
        collective=flow.collective.dual,
        place=flow.topology.transpose() if place is None else place,
        block=block,
        src=flow.dst,
        dst=flow.src,
        start=last - flow.end,
        end=last - flow.start,
        part=(len(flow.movements) - 1 - flow.part).astype(flow.part.dtype),
        routes=None if flow.routes is None else _reverse_routes(flow.routes, last),
        circuits=None if flow.circuits is None else _reverse_circuits(flow.circuits, flow.steps),
    )


def _reverse_routes(routes: Routes, last: int) -> Routes:
    at = _backwards(routes.hop_start)
    found = routes._replace(hop=routes.hop[at])
    if routes.start is None or routes.end is None:
        return found
    link = _backwards(routes.hop_start - np.arange(len(routes.hop_start)))
    use = None if routes.use is None else routes.use[link]
    return found._replace(start=last - routes.end[link], end=last - routes.start[link], use=use)


def _backwards(cut: IntArray) -> IntArray:
    """Return the places of the entries of every part that ``cut`` cuts, the last of each first."""
    owner, at = ranges(cut[:-1], np.diff(cut))
    found: IntArray = cut[owner] + cut[owner + 1] - 1 - at
    return found


def _reverse_circuits(circuits: Circuits, steps: int) -> Circuits:
    ends = np.append(circuits.begin[1:], steps)
    return circuits._replace(
        begin=steps - ends[::-1],
        phase=circuits.changes - circuits.phase,
        src=circuits.dst,
        src_port=circuits.dst_port,
        dst=circuits.src,
        dst_port=circuits.src_port,
    )


def concatenate(first: Flow, second: Flow) -> Flow:
    """Return the allreduce of a reduce-scatter and, when all of it is over, an allgather on the same place.

    Units of blocks are as many as both count. Circuits are joined by whoever knows what stays in the middle.
    """
    whole = replace(first.collective, name=ALLREDUCE.name, movements=ALLREDUCE.movements, labels=ALLREDUCE.labels)
    if (first.collective, second.collective) != whole.parts:
        raise ScheduleError(
            "an allreduce is made of a reduce-scatter and an allgather, "
            f"not of {first.collective} and {second.collective}"
        )
    alike = (first.topology, first.kind) == (second.topology, second.kind)
    if not alike or first.circuits is not None or first.model != "steps":
        raise ScheduleError("only flows in steps over the same links, which stay, are put after one another")
    if not same_fold(first.fold, second.fold):
        raise InfeasibleError("plans of different symmetries are not put after one another")
    units = math.lcm(first.units, second.units)
    check_units(units)
    pieces = {name: np.concatenate((getattr(first, name), getattr(second, name))) for name in PIECES}
    scale = np.repeat([units // first.units, units // second.units], [len(first.block), len(second.block)])
    shift = {"piece": len(first.block), "start": first.steps, "end": first.steps, "part": 1, "src": 0, "dst": 0}
    sends: dict[str, Any] = {
        name: np.concatenate((getattr(first, name), getattr(second, name) + shift[name])) for name in SENDS
    }
    routes = first.routes
    if routes is not None and second.routes is not None:
        routes = Routes(
            np.concatenate((routes.send, second.routes.send + len(first))),
            np.concatenate((routes.weight, second.routes.weight)),
            np.concatenate((routes.hop_start, second.routes.hop_start[1:] + len(routes.hop))),
            np.concatenate((routes.hop, second.routes.hop)),
        )
    columns: dict[str, Any] = {"block": pieces["block"], "lo": pieces["lo"] * scale, "hi": pieces["hi"] * scale}
    steps = first.steps + second.steps
    return replace(first, collective=whole, units=units, steps=steps, routes=routes, **columns, **sends)


def relabel(flow: Flow, order: IntArray, place: Topology | Fabric) -> Flow:
    """Return a flow with node v called ``order[v]``, on the place whose nodes are called so."""
    if not np.array_equal(np.sort(order), np.arange(flow.nodes)):
        raise ScheduleError(f"relabelling needs a permutation of the nodes 0 to {flow.nodes - 1}")
    if flow.fold is not None:
        raise InfeasibleError(f"a plan in {flow.kind} has no image under {len(order)} names")
    routes, circuits = flow.routes, flow.circuits
    return replace(
        flow,
        collective=renamed(flow.collective, order.tolist()),
        place=place,
        block=blocks_named(flow.collective, flow.block, order).astype(flow.block.dtype),
        src=order[flow.src],
        dst=order[flow.dst],
        routes=None if routes is None else routes._replace(hop=order[routes.hop]),
        circuits=None if circuits is None else circuits._replace(src=order[circuits.src], dst=order[circuits.dst]),
    )
