"""Readers of files of older kinds, which become flows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NamedTuple
from zipfile import ZipFile

import numpy as np

from topodesign.base.arrays import ranges
from topodesign.base.errors import FileFormatError, ScheduleError
from topodesign.collectives import ALLGATHER, ALLREDUCE, REDUCE_SCATTER, Collective
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.archive import MAX_INTEGER, MAX_ROWS, read_column, read_fraction, read_integer
from topodesign.plans.build import build_steps, build_trees, lay_out
from topodesign.plans.chunk_ops import MAX_WEIGHT, flow_of_paths, take_sends
from topodesign.plans.flow import MAX_PORTS, MAX_TICKS, PIECES, SENDS, Circuits, Clock, Flow, Flows, Routes
from topodesign.plans.flow_files import check_fields
from topodesign.plans.flow_ops import join_links
from topodesign.plans.old_columns import (
    FLAG,
    FRACTION,
    FRACTION_OR_NONE,
    INTEGERS_OR_NONE,
    LINKS,
    MAX_STEPS,
    Column,
    Field,
    Fields,
    Tables,
    check_cuts,
    integer,
    read_tables,
)
from topodesign.topology.symmetry import Symmetry
from topodesign.topology.topology import Topology

Make = Callable[[Collective, Topology | Fabric, Mapping[str, Any]], Flow | Flows]


class OldKind(NamedTuple):
    """An older kind in files, and the flow it becomes."""

    fields: Fields
    tables: Tables
    make: Make
    stream_fields: Fields = MappingProxyType({})  # of a kind with several streams: what each has of its own

    def column_names(self) -> tuple[str, ...]:
        """Return the names of all columns."""
        return tuple(column.name for table in self.tables.values() for column in table)

    def header_names(self) -> tuple[str, ...]:
        """Return the names that the header may have."""
        return (*self.fields, *(("streams",) if self.stream_fields else self.tables))

    def read(
        self, archive: ZipFile, header: Mapping[str, Any], place: Topology | Fabric, collective: Collective
    ) -> Flow | Flows:
        """Return the flows of a file, with their form checked."""
        topology = place.topology if isinstance(place, Fabric) else place
        if not self.stream_fields:
            return self.make(collective, place, read_tables(archive, header, topology, self.fields, self.tables))
        shared = {name: field.read(header, name) for name, field in self.fields.items()}
        streams = header.get("streams")
        if not isinstance(streams, list) or len(streams) != len(collective.several) or not streams:
            raise FileFormatError("'streams' in header.json must be a list of one object for each collective")
        if not all(isinstance(one, dict) for one in streams):
            raise FileFormatError("'streams' in header.json must be a list of objects")
        for one in streams:
            check_fields(one, (*self.stream_fields, "rows"), "a stream in header.json")
        links = [len(topology.src)] * len(streams)
        counts = {"rows": [read_integer(one, "rows", 0, MAX_ROWS) for one in streams], LINKS: links}
        columns = {
            name: np.split(read_column(archive, name, sum(counts[table]), dtype), np.cumsum(counts[table])[:-1])
            for table, own in self.tables.items()
            for name, _, dtype, _ in own
        }
        flows = list[Flow]()
        for number, (one, its) in enumerate(zip(streams, collective.several, strict=True)):
            values = shared | {name: field.read(one, name) for name, field in self.stream_fields.items()}
            flows.append(_timed(its, place, values | {name: some[number].copy() for name, some in columns.items()}))
        return Flows(tuple(flows))


def read_rounds(collective: Collective, place: Topology | Fabric, values: Mapping[str, Any], **more: Any) -> Flow:
    """Return rounds as a flow in steps; ``more`` are other fields."""
    steps, adding = values["steps"], values["reduce_steps"]
    rows: Any = tuple(values[name] for name in ("step", "src", "dst", *PIECES))
    if np.any(values["lo"] >= values["hi"]):
        raise ScheduleError(f"intervals must satisfy 0 <= lo < hi <= {values['units']}")
    return build_steps(collective, place, values["units"], steps, [rows], reduce_steps=adding, **more)


def _routed(collective: Collective, place: Topology | Fabric, values: Mapping[str, Any]) -> Flow:
    """Return rounds whose rows name shared routes."""
    route, start, hop = values["route"], values["hop_start"], values["hop"]
    check_cuts(start, hop, max(0, len(start) - 1), "routes")
    if len(route) and int(route.max()) >= len(start) - 1:
        raise ScheduleError(f"column 'route' must hold numbers from 0 to {len(start) - 2}")
    length = np.diff(start)[route]
    _, at = ranges(start[:-1][route], length)
    src, dst = hop[start[:-1][route]], hop[start[1:][route] - 1]
    rows = np.arange(len(route))
    ways = Routes(rows, np.ones(len(route), dtype=np.int64), np.concatenate(([0], np.cumsum(length))), hop[at])
    return read_rounds(collective, place, {**values, "src": src, "dst": dst}, routes=ways)


def _phases(collective: Collective, place: Topology | Fabric, values: Mapping[str, Any]) -> Flow:
    """Return rounds over circuits that change."""
    ports, delay, moving, duplex = (values[name] for name in ("ports", "delay", "moving", "duplex"))
    names = ("phase", "circuit_src", "src_port", "circuit_dst", "dst_port")
    phase, src, src_port, dst, dst_port = (values[name] for name in names)
    begin = values["first_step"] - 1
    circuits = Circuits(ports, delay, moving, duplex, begin, phase, src, src_port, dst, dst_port)
    return read_rounds(collective, place, values, circuits=circuits)


def _orbits(collective: Collective, place: Topology | Fabric, values: Mapping[str, Any]) -> Flow:
    """Return rounds of the blocks of one node of every orbit."""
    nodes = place.topology.nodes if isinstance(place, Fabric) else place.nodes
    generators = values["generators"].reshape(-1, nodes)
    fold = Symmetry(nodes, tuple(values["representatives"].tolist()), partial(tuple, generators))
    return read_rounds(collective, place, values, fold=fold)


def _timed(collective: Collective, place: Topology | Fabric, values: Mapping[str, Any]) -> Flow:
    """Return timed sends, of which each goes over one link."""
    clock = Clock(*(values[name] for name in ("tick", "size", "overlap", "latency", "per_unit", "bandwidth")))
    clock = clock._replace(begin=values.get("begin", 0))
    columns: dict[str, Any] = {name: values[name] for name in (*PIECES, *SENDS) if name != "piece"}
    columns["piece"] = np.arange(len(values["src"]), dtype=np.int32)
    return join_links(Flow(collective, place, "clock", values["units"], **columns, clock=clock))


ROUND_FIELDS: Fields = {
    "units": integer(1, MAX_INTEGER),
    "steps": integer(0, MAX_STEPS),
    "reduce_steps": integer(0, MAX_STEPS),
}
ROUND_TABLES: Tables = {
    "rows": (
        Column("step", "communication step, from 1", np.int32),
        Column("src", "node that sends", np.int32),
        Column("dst", "node that receives", np.int32),
        Column("block", "block of the data", np.int32),
        Column("lo", "first unit of it"),
        Column("hi", "the unit after the last"),
    )
}
TREE_FIELDS: Fields = {
    "rate": FRACTION,
    "reduce_trees": integer(0, MAX_ROWS),
    "shard": INTEGERS_OR_NONE,
    "concurrent": FLAG,
}
TREE_TABLES: Tables = {
    "trees": (
        Column("root", "where the data start or end"),
        Column("weight", "how many equal trees it stands for"),
    ),
    "edges": (
        Column("tree", "tree of an edge, ascending"),
        Column("src", "compute node or relay that sends"),
        Column("dst", "compute node or relay that receives"),
    ),
    "routes": (
        Column("route_edge", "edge of a route, ascending"),
        Column("route_weight", "weight of the tree that goes over it"),
    ),
    "hop_start": (Column("hop_start", "where the vertices of a route begin, and the end of the last"),),
    "hops": (Column("hop", "vertices of routes"),),
}
_DOES = (REDUCE_SCATTER, ALLREDUCE, ALLGATHER)  # stages, by number; an allreduce is one-shot
_STREAM: Fields = {"units": integer(1, MAX_TICKS), "size": FRACTION, "bandwidth": FRACTION_OR_NONE}
_SENDS: Tables = {
    "rows": (
        Column("start", "tick at which it starts"),
        Column("end", "tick at which all of it is there"),
        Column("part", "movement of the collective", np.int32),
        Column("src", "node that sends", np.int32),
        Column("dst", "node that receives", np.int32),
        Column("block", "block of the data", np.int32),
        Column("lo", "first unit of it"),
        Column("hi", "the unit after the last"),
    ),
    LINKS: (Column("latency", "ticks of latency"), Column("per_unit", "ticks of a unit")),
}


def read_trees(collective: Collective, place: Topology | Fabric, values: Mapping[str, Any]) -> Flow:
    """Return trees as a flow in chunks, of which a symmetry may fold some."""
    topology, named = place.topology if isinstance(place, Fabric) else place, dict(values)
    fold = None
    if "generators" in named:
        generators, chosen = named.pop("generators").reshape(-1, topology.nodes), named.pop("representatives")
        fold = Symmetry(topology.nodes, tuple(chosen.tolist()), partial(tuple, generators))
    start, hop = named["hop_start"], named["hop"]
    check_cuts(start, hop, len(named["route_edge"]), "routes")
    return build_trees(
        place,
        collective,
        (named["root"], named["weight"]),
        (named["tree"], named["src"], named["dst"]),
        Routes(named["route_edge"], named["route_weight"], start, hop),
        rate=named["rate"],
        reduce_trees=named["reduce_trees"],
        shard=named["shard"],
        concurrent=named["concurrent"],
        fold=fold,
    )


def _paths(collective: Collective, place: Topology | Fabric, values: Mapping[str, Any]) -> Flow:
    """Return paths."""
    start, hop = values["hop_start"], values["hop"].tolist()
    check_cuts(start, values["hop"], len(values["block"]), "paths")
    ways = [hop[first:end] for first, end in pairwise(start.tolist())]
    rows = list(zip(values["block"].tolist(), values["weight"].tolist(), ways, strict=True))
    return flow_of_paths(place, collective, values["units"], rows, values["amounts"])


def _stages(collective: Collective, place: Topology | Fabric, values: Mapping[str, Any]) -> Flows:
    """Return the stages of an allreduce from the trees of all, stage after stage."""
    from scipy.sparse import coo_array  # noqa: PLC0415  heavy
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    topology, columns = place.topology if isinstance(place, Fabric) else place, dict(values)
    does, counts, rates = (columns.pop(name) for name in ("does", "trees", "rates"))
    if not collective.like(ALLREDUCE) or collective.group is not None:
        raise ScheduleError(f"stages are an allreduce of all nodes, not {collective!r}")
    if not len(does) or len(rates) != len(does) or int(counts.sum()) != len(columns["root"]) or int(counts.min()) < 1:
        raise ScheduleError("every stage has a rate and trees, and every tree is of a stage")
    if int(does.min()) < 0 or int(does.max()) >= len(_DOES):
        raise ScheduleError(f"column 'does' must hold numbers from 0 to {len(_DOES) - 1}")
    common: dict[str, Any] = {"rate": Fraction(1), "reduce_trees": 0, "shard": None, "concurrent": False}
    whole = read_trees(ALLGATHER, place, columns | common)
    stage, found = np.repeat(np.arange(len(does)), counts), list[Flow]()
    for number, (which, rate) in enumerate(zip(does.tolist(), rates, strict=True)):
        mine = take_sends(whole, np.flatnonzero(stage == number), np.flatnonzero(stage[whole.piece] == number))
        web = coo_array((np.ones(len(mine)), (mine.src, mine.dst)), shape=(topology.nodes,) * 2)
        label, groups = connected_components(web, directed=False)[1], dict[int, list[int]]()
        for node in whole.members.tolist():
            groups.setdefault(int(label[node]), []).append(node)
        one = _DOES[which].within(sorted(groups.values()))
        found.append(lay_out(replace(mine, collective=one, rate=rate, one_shot=one.like(ALLREDUCE))))
    return Flows(tuple(found))


def _read_rates(header: Mapping[str, Any], name: str) -> tuple[Fraction, ...]:
    values = header.get(name)
    if not isinstance(values, list):
        raise FileFormatError(f"'{name}' in header.json must be a list")
    return tuple(read_fraction({name: value}, name) for value in values)


OLD_KINDS: Mapping[str, OldKind] = MappingProxyType(
    {
        "rounds": OldKind(ROUND_FIELDS, ROUND_TABLES, read_rounds),
        "orbitrounds": OldKind(
            ROUND_FIELDS,
            {
                **ROUND_TABLES,
                "generators": (Column("generators", "images of the nodes, generator after generator", np.int32, True),),
                "representatives": (Column("representatives", "one node of every orbit that moves something"),),
            },
            _orbits,
        ),
        "routed": OldKind(
            ROUND_FIELDS,
            {
                "rows": (
                    Column("step", "communication step, from 1"),
                    Column("route", "the route that it takes"),
                    Column("block", "block of the data"),
                    Column("lo", "first unit of it"),
                    Column("hi", "the unit after the last"),
                ),
                "hop_start": (Column("hop_start", "where the vertices of a route begin, and the end of the last"),),
                "hops": (Column("hop", "vertices of routes"),),
            },
            _routed,
        ),
        "phases": OldKind(
            {
                **ROUND_FIELDS,
                "ports": integer(1, MAX_PORTS),
                "delay": Field(lambda header, name: read_fraction(header, name, positive=False)),
                "moving": FLAG,
                "duplex": FLAG,
            },
            {
                **ROUND_TABLES,
                "phases": (Column("first_step", "step with which the phase begins"),),
                "circuits": (
                    Column("phase", "phase that the circuit is of, from 0"),
                    Column("circuit_src", "node that sends over it"),
                    Column("src_port", "its port"),
                    Column("circuit_dst", "node that receives"),
                    Column("dst_port", "its port"),
                ),
            },
            _phases,
        ),
        "timed": OldKind({**_STREAM, "tick": FRACTION, "overlap": FLAG}, _SENDS, _timed),
        "together": OldKind(
            {"tick": FRACTION, "overlap": FLAG}, _SENDS, _timed, {**_STREAM, "begin": integer(0, MAX_TICKS - 1)}
        ),
        "trees": OldKind(TREE_FIELDS, TREE_TABLES, read_trees),
        "orbittrees": OldKind(
            TREE_FIELDS,
            {
                **TREE_TABLES,
                "generators": (Column("generators", "images of the nodes, generator after generator", np.int32, True),),
                "representatives": (Column("representatives", "a root of every orbit"),),
            },
            read_trees,
        ),
        "paths": OldKind(
            {"units": integer(1, MAX_WEIGHT), "amounts": INTEGERS_OR_NONE},
            {
                "paths": (Column("block", "block of the data"), Column("weight", "units of it that take this path")),
                "hop_start": (Column("hop_start", "where the vertices of a path begin, and the end of the last"),),
                "hops": (Column("hop", "vertices of paths"),),
            },
            _paths,
        ),
        "stages": OldKind(
            {"rates": Field(_read_rates)},
            {
                **TREE_TABLES,
                "stages": (
                    Column("does", "0 reduce-scatter, 1 one-shot allreduce, 2 allgather"),
                    Column("trees", "trees of the stage"),
                ),
            },
            _stages,
        ),
    }
)
"""By the word that files have for them."""
