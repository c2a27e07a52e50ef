"""The reader of plan files of 0.15 to 0.30, whose movements become flows.

Format "topodesign plan", versions 1 and 2, has in ``movement`` the fields of the kind, and how many rows each of its
tables has. Two formats are older: "topodesign schedule" (version 1), of rounds, and "topodesign tree schedule" (version
2). Their headers have the fields of movement, place and plan on one level, and unknown ones are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np

from topodesign.base.arrays import ranges
from topodesign.base.errors import FileFormatError, ScheduleError
from topodesign.collectives import ALLGATHER, ALLREDUCE, REDUCE_SCATTER, Collective, as_collective
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.archive import MAX_INTEGER, MAX_ROWS, MAX_STEPS, Archive, Header, read_fraction
from topodesign.plans.build import build_paths, build_steps, build_trees, lay_out
from topodesign.plans.chunk_ops import MAX_WEIGHT, take_sends
from topodesign.plans.flow import MAX_PORTS, MAX_TICKS, PIECES, Circuits, Clock, Flow, Flows, Routes
from topodesign.plans.flow_ops import join_links
from topodesign.plans.plan import Plan
from topodesign.topology.symmetry import Symmetry
from topodesign.topology.topology import IntArray, Topology

Place = Topology | Fabric
_STAGES = (REDUCE_SCATTER, ALLREDUCE, ALLGATHER)  # what stages do, by number; an allreduce is one-shot
_NARROW = ("src", "dst", "block", "part", "step")  # columns of 32 bits


def read_movement(file: Archive, header: Header, place: Place, collective: Collective) -> Flow | Flows:
    """Return what moves in a plan of version 1 or 2."""
    name = header.get("kind")
    if not isinstance(name, str) or name not in OLD_KINDS:
        raise FileFormatError(f"'kind' in header.json must be one of {', '.join(OLD_KINDS)}")
    movement = header.get("movement")
    header.finish()
    record = Header(movement, "'movement' in header.json")
    moved = OLD_KINDS[name](file, record, collective, place)
    record.finish()
    return moved


def _column(file: Archive, name: str, rows: int) -> Any:
    return file.column(name, rows, np.int32 if name in _NARROW else np.int64)


def _rounds(
    file: Archive,
    record: Header,
    collective: Collective,
    place: Place,
    *,
    ends: tuple[IntArray, IntArray] | None = None,
    block: str = "block",
    **more: Any,
) -> Flow:
    """Return rounds, whose ends are given or columns; ``more`` are other fields."""
    units, steps = record.integer("units", 1, MAX_INTEGER), record.integer("steps", 0, MAX_STEPS)
    adding, rows = record.integer("reduce_steps", 0, MAX_STEPS), record.integer("rows", 0, MAX_ROWS)
    step = _column(file, "step", rows)
    src, dst = ends or (_column(file, name, rows) for name in ("src", "dst"))
    blocks, lo, hi = file.column(block, rows, np.int32), file.column("lo", rows), file.column("hi", rows)
    if np.any(lo >= hi):
        raise ScheduleError(f"intervals must satisfy 0 <= lo < hi <= {units}")
    sends = step, src, dst, blocks, lo, hi
    return build_steps(collective, place, units, steps, [sends], reduce_steps=adding, **more)


def _cuts(file: Archive, record: Header, what: str, pieces: int | None = None) -> tuple[IntArray, IntArray]:
    """Return where routes begin among vertices, and the vertices."""
    start = file.column("hop_start", record.integer("hop_start", 0, MAX_ROWS))
    hop = file.column("hop", record.integer("hops", 0, MAX_ROWS))
    many = max(0, len(start) - 1) if pieces is None else pieces
    if len(start) != many + 1 or start[0] != 0 or start[-1] != len(hop) or np.any(np.diff(start) < 2):
        raise ScheduleError(f"column 'hop_start' must cut 'hop' into {what} of at least two vertices")
    return start, hop


def _routed(file: Archive, record: Header, collective: Collective, place: Place) -> Flow:
    """Return rounds whose rows name shared routes."""
    route = file.column("route", record.integer("rows", 0, MAX_ROWS))
    start, hop = _cuts(file, record, "routes")
    if len(route) and int(route.max()) >= len(start) - 1:
        raise ScheduleError(f"column 'route' must hold numbers from 0 to {len(start) - 2}")
    length = np.diff(start)[route]
    _, at = ranges(start[:-1][route], length)
    ends = hop[start[:-1][route]], hop[start[1:][route] - 1]
    rows = np.arange(len(route))
    ways = Routes(rows, np.ones(len(route), dtype=np.int64), np.concatenate(([0], np.cumsum(length))), hop[at])
    return _rounds(file, record, collective, place, ends=ends, routes=ways)


def _phases(file: Archive, record: Header, collective: Collective, place: Place) -> Flow:
    """Return rounds over circuits that change."""
    ports, delay = record.integer("ports", 1, MAX_PORTS), record.fraction("delay", positive=False)
    begin = file.column("first_step", record.integer("phases", 0, MAX_ROWS)) - 1
    count = record.integer("circuits", 0, MAX_ROWS)
    names = ("phase", "circuit_src", "src_port", "circuit_dst", "dst_port")
    columns = [file.column(name, count) for name in names]
    circuits = Circuits(ports, delay, record.flag("moving"), record.flag("duplex"), begin, *columns)
    return _rounds(file, record, collective, place, circuits=circuits)


def _fold(file: Archive, record: Header, place: Place) -> Symmetry:
    nodes = place.topology.nodes if isinstance(place, Fabric) else place.nodes
    many = record.integer("generators", 0, MAX_ROWS // nodes)
    generators = file.column("generators", many * nodes, np.int32).reshape(many, nodes)
    chosen = file.column("representatives", record.integer("representatives", 0, MAX_ROWS))
    return Symmetry(nodes, tuple(chosen.tolist()), partial(tuple, generators))


def _orbits(file: Archive, record: Header, collective: Collective, place: Place) -> Flow:
    """Return rounds of the blocks of one node of every orbit."""
    return _rounds(file, record, collective, place, fold=_fold(file, record, place))


def _timed(file: Archive, record: Header, collective: Collective, place: Place) -> Flow | Flows:
    """Return timed sends of one collective, or of several in streams."""
    tick, overlap, streams = record.fraction("tick"), record.flag("overlap"), [record]
    several = collective.several if record.get("streams") is not None else (collective,)
    if several is not None and record.get("streams") is not None:
        streams = [Header(one, "a stream in header.json") for one in record.list("streams")]
    if not several or len(streams) != len(several):
        raise FileFormatError("'streams' in header.json must be a list of one object for each collective")
    rows = [one.integer("rows", 0, MAX_ROWS) for one in streams]
    names = ("start", "end", "part", "src", "dst", *PIECES)
    columns = {name: np.split(_column(file, name, sum(rows)), np.cumsum(rows)[:-1]) for name in names}
    links = len(place.topology.src if isinstance(place, Fabric) else place.src)
    latency, per_unit = (
        file.column(name, links * len(streams)).reshape(len(streams), links) for name in ("latency", "per_unit")
    )
    flows = list[Flow]()
    for at, (one, its) in enumerate(zip(streams, several, strict=True)):
        begin = 0 if one is record else one.integer("begin", 0, MAX_TICKS - 1)
        own = one.fraction("size"), overlap, latency[at].copy(), per_unit[at].copy()
        clock = Clock(tick, *own, one.fraction_or_none("bandwidth"), begin)
        sends: dict[str, Any] = {name: column[at].copy() for name, column in columns.items()}
        sends["piece"] = np.arange(rows[at], dtype=np.int32)
        units = one.integer("units", 1, MAX_TICKS)
        flows.append(join_links(Flow(its, place, "clock", units, **sends, clock=clock)))
        if one is not record:
            one.finish()
    return flows[0] if streams[0] is record else Flows(tuple(flows))


def _trees(
    file: Archive,
    record: Header,
    collective: Collective,
    place: Place,
    *,
    rate: Fraction | None = None,
    fold: Symmetry | None = None,
) -> Flow:
    """Return trees as a flow in chunks; those of stages have a rate that is given, and no other fields."""
    trees, edges = record.integer("trees", 0, MAX_ROWS), record.integer("edges", 0, MAX_ROWS)
    routes = record.integer("routes", 0, MAX_ROWS)
    roots = file.column("root", trees), file.column("weight", trees)
    tree, src, dst = (file.column(name, edges) for name in ("tree", "src", "dst"))
    own = file.column("route_edge", routes), file.column("route_weight", routes)
    ways = Routes(*own, *_cuts(file, record, "routes", routes))
    given: dict[str, Any] = {"rate": rate, "fold": fold}
    if rate is None:
        shard = None if record.get("shard") is None else record.integers("shard")
        given |= {"rate": record.fraction("rate"), "shard": shard, "concurrent": record.flag("concurrent")}
        given["reduce_trees"] = record.integer("reduce_trees", 0, MAX_ROWS)
    return build_trees(place, collective, roots, (tree, src, dst), ways, **given)


def _orbit_trees(file: Archive, record: Header, collective: Collective, place: Place) -> Flow:
    """Return trees of one root of every orbit."""
    return _trees(file, record, collective, place, fold=_fold(file, record, place))


def _paths(file: Archive, record: Header, collective: Collective, place: Place) -> Flow:
    """Return paths."""
    many = record.integer("paths", 0, MAX_ROWS)
    start, hop = _cuts(file, record, "paths", many)
    hops = hop.tolist()
    ways = [hops[first:end] for first, end in pairwise(start.tolist())]
    rows = list(zip(file.column("block", many).tolist(), file.column("weight", many).tolist(), ways, strict=True))
    amounts = None if record.get("amounts") is None else record.integers("amounts")
    return build_paths(place, collective, record.integer("units", 1, MAX_WEIGHT), rows, amounts)


def _stages(file: Archive, record: Header, collective: Collective, place: Place) -> Flows:
    """Return the stages of an allreduce from the trees of all, stage after stage."""
    from scipy.sparse import coo_array  # noqa: PLC0415  heavy
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    if not collective.like(ALLREDUCE) or collective.group is not None:
        raise ScheduleError(f"stages are an allreduce of all nodes, not {collective!r}")
    many = record.integer("stages", 0, MAX_ROWS)
    does, counts = file.column("does", many), file.column("trees", many)
    rates = [read_fraction(value, "rates") for value in record.list("rates")]
    whole = _trees(file, record, ALLGATHER, place, rate=Fraction(1))
    if not many or len(rates) != many or int(counts.sum()) != len(whole.block) or int(counts.min()) < 1:
        raise ScheduleError("every stage has a rate and trees, and every tree is of a stage")
    if int(does.max()) >= len(_STAGES):
        raise ScheduleError(f"column 'does' must hold numbers from 0 to {len(_STAGES) - 1}")
    stage, found = np.repeat(np.arange(many), counts), list[Flow]()
    for number, (which, rate) in enumerate(zip(does.tolist(), rates, strict=True)):
        mine = take_sends(whole, np.flatnonzero(stage == number), np.flatnonzero(stage[whole.piece] == number))
        web = coo_array((np.ones(len(mine)), (mine.src, mine.dst)), shape=(whole.nodes,) * 2)
        label, groups = connected_components(web, directed=False)[1], dict[int, list[int]]()
        for node in whole.members.tolist():
            groups.setdefault(int(label[node]), []).append(node)
        one = _STAGES[which].within(sorted(groups.values()))
        found.append(lay_out(replace(mine, collective=one, rate=rate, one_shot=one.like(ALLREDUCE))))
    return Flows(tuple(found))


OLD_KINDS: Mapping[str, Callable[[Archive, Header, Collective, Place], Flow | Flows]] = MappingProxyType(
    {
        "rounds": _rounds,
        "orbitrounds": _orbits,
        "routed": _routed,
        "phases": _phases,
        "timed": _timed,
        "together": _timed,
        "trees": _trees,
        "orbittrees": _orbit_trees,
        "paths": _paths,
        "stages": _stages,
    }
)
"""By the word that files of versions 1 and 2 have for them."""


def read_schedule(file: Archive) -> Plan:
    """Return the plan of a "topodesign schedule"."""
    header, topology = file.header, file.topology()
    rounds = _rounds(file, header, as_collective(header.get("collective") or ""), topology, block="owner")
    claim = None if header.get("claim") is None else header.part("claim")
    claimed = {}
    if claim is not None:
        claimed["steps"] = Fraction(claim.integer("steps", 0, MAX_STEPS))
        claimed["bandwidth"] = claim.fraction("bandwidth", positive=False)
    return Plan(topology, rounds, claimed, *read_origin(header))


def read_trees(file: Archive) -> Plan:
    """Return the plan of a "topodesign tree schedule"."""
    header, topology = file.header, file.topology()
    fabric = Fabric(
        name=header.text("fabric"),
        names=header.texts("names"),
        topology=topology,
        unit=header.fraction("unit"),
        classes=("",) * len(topology.src),
        multicast=frozenset(header.integers("multicast")),
        aggregation=frozenset(header.integers("aggregation")),
    )
    claim = Header(header.get("claim"), "'claim' in header.json")
    claimed = {name: claim.fraction(name) for name in ("k", "inv_x_star", "algorithmic_bandwidth")}
    claimed["height"] = Fraction(claim.integer("height", 0, MAX_ROWS))
    collective = as_collective(header.get("collective") or "")
    roots = file.column("root", header.integer("trees", 0, MAX_ROWS))
    if collective.rooted and len(roots):  # the root is that of the first tree
        collective = collective.at(int(roots[0]))
    return Plan(fabric, _trees(file, header, collective, fabric), claimed, *read_origin(header))


def read_origin(header: Header) -> tuple[str | None, dict[str, Any]]:
    """Return the spec and what made the plan."""
    spec, generator = header.get("spec"), header.get("generator")
    if not (spec is None or isinstance(spec, str)):
        raise FileFormatError("'spec' in header.json must be text or null")
    if not isinstance(generator, dict):
        raise FileFormatError("'generator' in header.json must be an object")
    return spec, generator
