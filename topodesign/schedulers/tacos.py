"""TACOS-Greedy: timed sends on any network, matched to links event by event (TACOS, section VI, and more)."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from topodesign.base.arguments import as_integer
from topodesign.base.errors import ParameterError
from topodesign.base.units import format_time
from topodesign.collectives import COLLECTIVES, Collective
from topodesign.collectives.collective import EVERYONE
from topodesign.expand.places import named_preset
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.unwinding import unwind
from topodesign.plans.plan import Plan
from topodesign.plans.timed import COLUMNS, Timed
from topodesign.plans.timed_ops import reverse_timed
from topodesign.schedulers.method import Method, Request
from topodesign.schedulers.ten.bound import bound_of
from topodesign.schedulers.ten.copying import copy_chunks
from topodesign.schedulers.ten.forward import forward_chunks
from topodesign.schedulers.ten.network import (
    Chunks,
    Network,
    Sends,
    chunks_of,
    network_of,
    through_switches,
    timed_from,
    wanted,
    within_teams,
)
from topodesign.schedulers.ten.tries import best_of
from topodesign.simulation.timed import simulate_timed
from topodesign.topology.topology import Topology

MOST_CHUNKS = 2**20
_EFFORT = 2**16
"""Sends that are decided before tries end, if nobody says how many there are."""
_MOST = 64
"""Tries at most, if nobody says."""
OPTIONS = frozenset(
    {
        "alpha",
        "bandwidth",
        "chunks",
        "group",
        "jobs",
        "link_table",
        "only",
        "overlap",
        "placement",
        "ready",
        "root",
        "seed",
        "tick",
        "time_limit",
        "tries",
        "unwind",
        "without",
    }
)


class Part(NamedTuple):
    """One movement of a collective, as copies: its own, or backwards in time where it adds up.

    Attributes
    ----------
    collective
        Of one movement that copies.
    network
        Its links: turned round where it is backwards.
    units
        Chunks of a block.
    backwards
        Whether it is.
    """

    collective: Collective
    network: Network
    units: int
    backwards: bool

    def chunks(self) -> Chunks:
        """Return what is to move, all of it there from the start."""
        return chunks_of(self.network, self.collective, self.units)

    def timed(self, sends: Sends, size: Fraction) -> Timed:
        """Return sends of its chunks as those of the collective, forwards in time."""
        timed = timed_from(self.network, self.collective, self.units, size, sends)
        return reverse_timed(self.network.wires, timed) if self.backwards else timed


class Made(NamedTuple):
    """Timed sends, a bound that is proved, in ticks, and how many tries there were."""

    timed: Timed
    bound: int
    tries: int


def _make(request: Request) -> list[Plan]:
    place = request.where
    if request.unwind is not None:
        if not isinstance(place, Fabric):
            raise ParameterError("--unwind is for fabrics with switches; leave it out")
        if request.link_table is not None:
            raise ParameterError("a link table has no rows for unwound switches; leave it out")
        degree = None if request.unwind in {"all", "ring"} else request.unwind
        if degree is not None and not degree.isdecimal():
            raise ParameterError(f"--unwind is a number of links, all, or ring, not {request.unwind!r:.30}")
        ring = request.unwind == "ring"
        place = unwind(place, 1 if ring else None if degree is None else int(degree), both_ways=ring)
    topology = place if isinstance(place, Topology) else place.topology
    collective = _there(request, place)
    units = 1 if request.chunks is None else as_integer("chunks", request.chunks, 1, MOST_CHUNKS)
    ready = request.ready_times if request.unwind is None else _ready_nodes(request)
    times = request.link_times(place, collective, units)
    wires = network_of(topology, times, step=request.tick, ready=ready, overlap=request.overlap)
    network = through_switches(wires) if topology.switches else wires
    if collective.groups is not None:
        network = within_teams(network, collective.teams(topology.nodes, topology.switches))
    first, *rest = collective.parts
    if first.reduces:
        backwards = replace(network, opens=np.zeros_like(network.opens))
        made = _best(request, Part(first.dual, backwards.turned, units, True))
        if any(ready):
            made = made._replace(timed=_not_before(wires, made.timed))
    else:
        made = _best(request, Part(first, network, units, False))
    for one in rest:
        made = _followed(request, made, Part(one, network, units, False), collective)
    return [_told(request, place, network, made)]


def _ready_nodes(request: Request) -> tuple[Fraction, ...]:
    """Return when the nodes are ready, without switches."""
    switches = request.where.topology.switches if isinstance(request.where, Fabric) else ()
    return tuple(time for node, time in enumerate(request.ready_times) if node not in switches)


def _there(request: Request, place: Topology | Fabric) -> Collective:
    """Return the collective with the numbers that its root and its groups have in a place."""
    if request.group not in {"", ()}:
        if request.without or request.unwind is not None or request.others == "forward":
            raise ParameterError("groups send over links of their own; leave --without, --unwind and --others out")
        if len(set(map(len, request.among.groups or ()))) > 1:
            raise ParameterError("groups of different sizes have blocks of different sizes; make a plan for each")
        return request.among
    root = request.root
    if root is None:
        return request.collective
    if isinstance(place, Topology) and not isinstance(root, str):
        return request.collective.at(as_integer("root", root, 0, place.nodes - 1))
    name = request.root_name
    return request.collective.at((place if isinstance(place, Fabric) else request.whole).number(str(name)))


def _best(request: Request, part: Part, chunks: Chunks | None = None) -> Made:
    """Return the best of several seeds, and a bound for it."""
    if chunks is None:
        chunks = part.chunks()
    seed = 0 if request.seed is None else request.seed
    alone = bool(np.all(chunks.goal != EVERYONE))
    rows = len(wanted(chunks)[0])
    tries = request.tries or max(1, min(_MOST, _EFFORT // max(1, rows)))
    bound = bound_of(part.network, chunks)

    def make(number: int) -> Sends:
        if alone:
            turn = number % 2 == 1 and not (part.network.opens.any() or chunks.since.any())
            return forward_chunks(
                part.network,
                chunks,
                seed + number,
                blind=number % 8 == 7,
                shortest=number % 8 in {2, 3},
                backwards=turn,
                noise=number >= 4 and number % 3 == 0,
            )
        rng = np.random.default_rng([seed, number])
        bias = rng.integers(0, 1 + number // 4, chunks.number) if number >= 4 else None
        kind = number % 4
        return copy_chunks(part.network, chunks, seed + number, blind=kind == 2, bias=bias, shy=kind % 2 == 1)

    best, _, tried = best_of(
        make,
        lambda sends: sends.time,
        tries,
        enough=bound,
        jobs=request.jobs or 1,
        time_limit=request.time_limit,
        progress=request.progress,
    )
    return Made(part.timed(best, request.size), bound, tried)


def _followed(request: Request, made: Made, part: Part, collective: Collective) -> Made:
    """Return the second half of an allreduce behind the first: blocks go when their sum is there and links are free."""
    first, network = made.timed, part.network
    link = network.wires.link_index(first.src, first.dst)
    free = np.zeros(len(network.wires.src), dtype=np.int64)
    np.maximum.at(free, link, first.busy_until(link))
    chunks = part.chunks()
    members = collective.members(network.topology.nodes, network.topology.switches)
    number = np.searchsorted(collective.blocks(members, network.topology.nodes), first.block) * part.units + first.lo
    since = chunks.since.copy()
    home = first.dst == chunks.at[number]
    np.maximum.at(since, number[home], first.end[home])
    second = _best(request, part._replace(network=network.open_after(free)), chunks._replace(since=since))
    columns = {
        name: np.concatenate((getattr(first, name), getattr(second.timed, name))) for name in COLUMNS if name != "part"
    }
    halves = np.repeat(np.array([0, 1], dtype=np.int32), [len(first), len(second.timed)])
    timed = first.having(collective=collective, part=halves, **columns)
    bound = max(made.bound, bound_of(network, part.chunks()))
    return Made(timed, bound, max(made.tries, second.tries))


def _not_before(network: Network, timed: Timed) -> Timed:
    """Return timed sends none of which is before the ends of its link are ready."""
    run = simulate_timed(network.topology, timed, opens=network.opens)
    return timed.having(start=np.array(run.start, dtype=np.int64), end=np.array(run.end, dtype=np.int64))


def _told(request: Request, place: Topology | Fabric, network: Network, made: Made) -> Plan:
    """Return the plan with what there is to say of it."""
    bound = made.bound * network.tick
    what = "these chunks over unwound switches" if request.unwind else "these chunks"
    notes = [f"no schedule of {what} is faster"]
    if made.timed.time > bound:
        times = f"{float(made.timed.time / bound):.4f} times " if bound else ""
        notes = [f"{times}{format_time(bound)}, which no schedule of {what} beats"]
    if request.tick is not None:
        notes.append(f"times of links are rounded up to steps of {format_time(request.tick)}")
    generator = {
        "method": "tacos",
        "seed": 0 if request.seed is None else request.seed,
        "tries": made.tries,
        "chunks": made.timed.units,
        "bound": str(bound),
        "unwind": request.unwind,
        "overlap": request.overlap,
        "tick": None if request.tick is None else str(request.tick),
    }
    spec = None if request.only or request.without else named_preset(request.place)
    return Plan(
        place, made.timed, {"time": made.timed.time}, spec if request.unwind is None else None, generator, tuple(notes)
    )


METHOD = Method("tacos", OPTIONS, tuple(COLLECTIVES.values()), _make, movement="sends", fabrics=True)
