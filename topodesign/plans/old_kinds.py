"""Readers of files with kinds of movement that are flows now: rounds, orbits, routed rounds and phases."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple
from zipfile import ZipFile

import numpy as np

from topodesign.base.arrays import ranges
from topodesign.base.errors import ScheduleError
from topodesign.collectives import Collective
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.archive import read_fraction
from topodesign.plans.flow import MAX_PORTS, Circuits, Flow, Routes
from topodesign.plans.flow_ops import flow_of_rounds
from topodesign.plans.movement import FLAG, Column, Field, Fields, Tables, check_cuts, integer, read_tables
from topodesign.plans.rounds import Rounds
from topodesign.topology.symmetry import Symmetry
from topodesign.topology.topology import Topology

Make = Callable[[Collective, Topology | Fabric, Mapping[str, Any]], Flow]


class OldKind(NamedTuple):
    """What a file has of a kind, and the flow that it makes."""

    fields: Fields
    tables: Tables
    make: Make

    def column_names(self) -> tuple[str, ...]:
        """Return the names of all columns."""
        return tuple(column.name for table in self.tables.values() for column in table)

    def header_names(self) -> tuple[str, ...]:
        """Return the names that the header may have."""
        return (*self.fields, *self.tables)

    def read(
        self, archive: ZipFile, header: Mapping[str, Any], place: Topology | Fabric, collective: Collective
    ) -> Flow:
        """Return the flow of a file; its form is checked."""
        topology = place.topology if isinstance(place, Fabric) else place
        return self.make(collective, place, read_tables(archive, header, topology, self.fields, self.tables))


def _rounds(collective: Collective, nodes: int, values: Mapping[str, Any]) -> Rounds:
    head = collective, nodes, values["units"], values["steps"], values["reduce_steps"]
    step, src, dst, block = (values[name].astype(np.int32) for name in ("step", "src", "dst", "block"))
    return Rounds(*head, step, src, dst, block, values["lo"], values["hi"])


def _routed(collective: Collective, place: Topology | Fabric, values: Mapping[str, Any]) -> Flow:
    """Return rounds of which every row names a route, which rows share."""
    route, start, hop = values["route"], values["hop_start"], values["hop"]
    check_cuts(start, hop, max(0, len(start) - 1), "routes")
    if len(route) and int(route.max()) >= len(start) - 1:
        raise ScheduleError(f"column 'route' must hold numbers from 0 to {len(start) - 2}")
    length = np.diff(start)[route]
    _, at = ranges(start[:-1][route], length)
    src, dst = hop[start[:-1][route]], hop[start[1:][route] - 1]
    rows = np.arange(len(route))
    ways = Routes(rows, np.ones(len(route), dtype=np.int64), np.concatenate(([0], np.cumsum(length))), hop[at])
    nodes = place.topology.nodes if isinstance(place, Fabric) else place.nodes
    return flow_of_rounds(place, _rounds(collective, nodes, {**values, "src": src, "dst": dst}), routes=ways)


def _phases(collective: Collective, place: Topology | Fabric, values: Mapping[str, Any]) -> Flow:
    """Return rounds over circuits that change."""
    ports, delay, moving, duplex = (values[name] for name in ("ports", "delay", "moving", "duplex"))
    names = ("phase", "circuit_src", "src_port", "circuit_dst", "dst_port")
    phase, src, src_port, dst, dst_port = (values[name] for name in names)
    begin = values["first_step"] - 1
    circuits = Circuits(ports, delay, moving, duplex, begin, phase, src, src_port, dst, dst_port)
    nodes = place.topology.nodes if isinstance(place, Fabric) else place.nodes
    return flow_of_rounds(place, _rounds(collective, nodes, values), circuits=circuits)


def _plain(collective: Collective, place: Topology | Fabric, values: Mapping[str, Any]) -> Flow:
    """Return rounds."""
    nodes = place.topology.nodes if isinstance(place, Fabric) else place.nodes
    return flow_of_rounds(place, _rounds(collective, nodes, values))


def _orbits(collective: Collective, place: Topology | Fabric, values: Mapping[str, Any]) -> Flow:
    """Return rounds of the blocks of one node of every orbit."""
    nodes = place.topology.nodes if isinstance(place, Fabric) else place.nodes
    generators = values["generators"].reshape(-1, nodes)
    fold = Symmetry(nodes, tuple(values["representatives"].tolist()), partial(tuple, generators))
    return flow_of_rounds(place, _rounds(collective, nodes, values), fold=fold)


OLD_KINDS: Mapping[str, OldKind] = MappingProxyType(
    {
        "rounds": OldKind(Rounds.FIELDS, Rounds.TABLES, _plain),
        "orbitrounds": OldKind(
            Rounds.FIELDS,
            {
                **Rounds.TABLES,
                "generators": (Column("generators", "images of the nodes, generator after generator", np.int32, True),),
                "representatives": (Column("representatives", "one node of every orbit that moves something"),),
            },
            _orbits,
        ),
        "routed": OldKind(
            Rounds.FIELDS,
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
                **Rounds.FIELDS,
                "ports": integer(1, MAX_PORTS),
                "delay": Field(lambda header, name: read_fraction(header, name, positive=False), str),
                "moving": FLAG,
                "duplex": FLAG,
            },
            {
                **Rounds.TABLES,
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
    }
)
"""By the word that files have for them."""
