"""Stored schedules found by search, with their optimality certificates.

A file of ``data/``, written by ``benchmarks/find_stored.py``, has the schedules of one topology as JSON, a send a line:

    format, version     "topodesign stored schedules", 1
    spec                rebuilds the topology
    links               SHA-256 of the text "u v capacity" of every link, sorted, a line each
    schedules           at most one for each of allgather and reduce-scatter:
        collective, steps, units    as in Flow
        bandwidth                   the claimed y
        bound                       no schedule of so many steps has a smaller y (schedulers.steps_bound.lower_bound_lp)
        search                      chunks, seed and version of the solver of the search that found it
        rows                        step, src, dst, owner, lo, hi
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from topodesign.base.cost import Cost
from topodesign.base.errors import FileFormatError, ScheduleError
from topodesign.base.spec import Spec, parse
from topodesign.collectives import ALLGATHER, ALLREDUCE, COLLECTIVES, REDUCE_SCATTER, Collective
from topodesign.plans.build import build_steps
from topodesign.plans.flow import Flow
from topodesign.plans.flow_ops import relabel
from topodesign.plans.measure import cost_of
from topodesign.plans.plan import Plan
from topodesign.pricing.node_order import node_order
from topodesign.schedulers.method import Method, Request, plan_rounds
from topodesign.topology.library import build
from topodesign.topology.topology import IntArray, Topology

DATA = Path(__file__).parent / "data"
FORMAT = "topodesign stored schedules"
VERSION = 1
_LARGEST = 20  # nodes of the largest topology with stored schedules


@dataclass(frozen=True)
class StoredSchedule:
    """Stored schedule with its cost and certificate."""

    schedule: Flow
    cost: Cost
    bound: Fraction  # no schedule of so many steps has less bandwidth: ``steps_bound.lower_bound_lp`` proves it again
    # Chunks and seed of the search that found it, and its solver's version: ``ortools``, once ``highspy`` or ``scipy``.
    search: Mapping[str, int | str]


def get_stored_schedule(spec: Spec | str | None, collective: Collective) -> Flow | None:
    """Return the stored allgather or reduce-scatter of a topology, or None."""
    found = get_stored(spec, collective)
    return None if found is None else found.schedule


def get_stored(spec: Spec | str | None, collective: Collective) -> StoredSchedule | None:
    """Return a stored schedule with its certificate; as :func:`get_stored_schedule`."""
    if spec is None:
        return None
    text = str(parse(spec) if isinstance(spec, str) else spec)
    return _load(text).get(collective) if text in list_stored_specs() else None


def recognise(topology: Topology, collective: Collective) -> StoredSchedule | None:
    """Return the stored schedule of a topology under any numbering.

    Nodes are put in an order that does not depend on their numbers, so a file of links and a relabelled copy of a
    stored topology have the plan of its spec.
    """
    found = get_stored(topology.spec, collective)
    if found is not None or topology.nodes > _LARGEST or topology.switches:
        return found
    common = int(np.gcd.reduce(topology.capacity))  # as many links more do not change what is best
    once = Topology.from_arrays(topology.nodes, topology.src, topology.dst, topology.capacity // common)
    order, links = _in_order(once)
    for text in list_stored_specs():
        other = build(text)
        if (other.nodes, len(other.src)) != (topology.nodes, len(topology.src)):
            continue
        theirs, same = _in_order(other)
        entry = get_stored(text, collective)
        if links == same and entry is not None:
            name = np.empty(topology.nodes, np.int64)
            name[theirs] = order
            return replace(entry, schedule=relabel(entry.schedule, name, topology))
    return None


def _in_order(topology: Topology) -> tuple[IntArray, list[tuple[int, int, int]]]:
    """Return a node order, and the links renumbered by it."""
    order = node_order(topology)
    place = np.argsort(order)
    columns = place[topology.src].tolist(), place[topology.dst].tolist(), topology.capacity.tolist()
    return order, sorted(zip(*columns, strict=True))


@functools.cache
def list_stored_specs() -> tuple[str, ...]:
    """Return the sorted specs of topologies with stored schedules."""
    return tuple(sorted(_fields(path.read_text(encoding="utf-8"))["spec"] for path in DATA.glob("*.json")))


def file_of(spec: str) -> Path:
    """Return the data file of a spec: ``dbjmod-2-4.json`` for ``dbjmod(2,4)``."""
    return DATA / f"{spec.translate(str.maketrans('(,', '--', ')')).rstrip('-')}.json"


def links_hash(topology: Topology) -> str:
    """Return the SHA-256 of a topology's links, in hexadecimal."""
    lines = (f"{u} {v} {capacity}\n" for u, v, capacity in topology.links())
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def from_text(text: str) -> dict[Collective, StoredSchedule]:
    """Read the text of a data file.

    The form is checked, that it is for the links that its spec has, and that the sends add up to the claimed cost;
    whether they make a schedule is the verifier's to say.
    """
    fields = _fields(text)
    entries: dict[Collective, StoredSchedule] = {}
    try:
        topology = build(fields["spec"])
        if fields["links"] != links_hash(topology):
            raise ScheduleError("they are for other links than the spec has")
        for part in fields["schedules"]:
            entry = _entry(topology, part)
            entries[entry.schedule.collective] = entry
    except (ArithmeticError, KeyError, TypeError, ValueError) as error:
        raise FileFormatError(f"the stored schedules of {fields['spec']} are damaged: {error}") from None
    return entries


def _entry(topology: Topology, part: dict[str, Any]) -> StoredSchedule:
    rows = part["rows"]
    if not all(type(value) is int and 0 <= value < 2**31 for row in rows for value in row):
        raise ScheduleError("rows are of integers from 0 on")
    collective = COLLECTIVES.get(part["collective"])
    if collective not in ALLREDUCE.parts:
        raise ScheduleError("it is for an allgather or a reduce-scatter")
    step, src, dst, block, lo, hi = zip(*rows, strict=True)
    sends = (step, src, dst, block, lo, hi)
    schedule = build_steps(collective, topology, part["units"], part["steps"], [sends])
    cost = Cost(schedule.steps, Fraction(part["bandwidth"]))
    if cost_of(topology, schedule) != cost:
        raise ScheduleError("the sends do not add up to the cost that is claimed")
    return StoredSchedule(schedule, cost, Fraction(part["bound"]), dict(part["search"]))


@functools.cache
def _load(spec: str) -> dict[Collective, StoredSchedule]:
    return from_text(file_of(spec).read_text(encoding="utf-8"))


def _fields(text: str) -> dict[str, Any]:
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"stored schedules are JSON, but: {error}") from None
    if not isinstance(fields, dict) or (fields.get("format"), fields.get("version")) != (FORMAT, VERSION):
        raise FileFormatError(
            f"stored schedules say {FORMAT!r}, version {VERSION}; use data and program of one version"
        )
    if not isinstance(fields.get("spec"), str) or not isinstance(fields.get("schedules"), list):
        raise FileFormatError("stored schedules have a 'spec' and a list 'schedules'")
    return fields


def _make(request: Request) -> list[Plan]:
    found = recognise(request.topology, request.collective)
    return [] if found is None else [plan_rounds(request.topology, found.schedule, "stored")]


METHOD = Method("stored", frozenset(), (ALLGATHER, REDUCE_SCATTER), _make)
