"""Hosts in cubes with fixed links inside and switches between, as TPU pods have: slices, tori, and what beats them.

A cube is a mesh of A x B x C hosts, x first, joined by links that no switch carries. A host on a face has a lane there,
port ``+x``, ``-x`` to ``-z``; the lanes of opposite faces at the same position end at one switch, whose circuits join a
'+' to a '-'. So to each dimension and position belongs a permutation of cubes, and all of them are free: a torus is
one choice, where all positions of a dimension have the same.

References
----------
Jouppi et al., TPU v4: An Optically Reconfigurable Supercomputer (2023): 64 cubes of 4x4x4 and 48 switches.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from topodesign.base.deadline import Stopwatch
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.progress import Progress, tell
from topodesign.base.spec import LONGEST_SPEC, Spec
from topodesign.pricing.all_to_all import all_to_all
from topodesign.search.groups import groups_to_search
from topodesign.search.lifted import lift_spec
from topodesign.topology.groups import Group
from topodesign.topology.library import build
from topodesign.topology.topology import IntArray, Topology
from topodesign.wiring.inventory.devices import Fixed
from topodesign.wiring.inventory.inventory import Inventory
from topodesign.wiring.plan.cross_connects import CrossConnect
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.proof import check_plan
from topodesign.wiring.plant.cubes_kernels import shorten

AXES = "xyz"
_MOVES = 2000  # voltages that are changed from one start
_MOST_GROUPS = 4  # of an order
_MOST_CUBES = 64  # that are searched


@dataclass(frozen=True)
class Cubes:
    """The cubes of an inventory.

    * ``ends``: for each axis, and for '+' and '-', where the lanes of a cube end, by cube and position on the face.
    """

    inventory: Inventory  # with cabling
    sides: tuple[int, ...]  # hosts along each dimension of a cube
    hosts: tuple[tuple[str, ...], ...]  # names, cube by cube, along x first
    ends: dict[str, tuple[tuple[Fixed, ...], ...]]

    @cached_property
    def size(self) -> int:
        """Hosts of a cube."""
        return math.prod(self.sides)

    @property
    def degree(self) -> int:
        """Ports of a host, fixed ones and those to switches."""
        return 2 * len(self.sides)

    @cached_property
    def faces(self) -> list[tuple[IntArray, IntArray]]:
        """For each axis the hosts on its '+' face by position, and those opposite."""
        return [_faces(self.sides, axis) for axis in range(len(self.sides))]

    @property
    def switched(self) -> tuple[IntArray, IntArray]:
        """The hosts on all '+' faces, axis by axis and by position, and those opposite."""
        leave, enter = map(np.concatenate, zip(*self.faces, strict=True))
        return leave, enter


def _faces(sides: tuple[int, ...], axis: int) -> tuple[IntArray, IntArray]:
    place = np.arange(math.prod(sides)).reshape(sides[::-1])  # place[z, y, x]
    along = len(sides) - 1 - axis
    return np.take(place, -1, along).ravel(), np.take(place, 0, along).ravel()


def cubes_of(inventory: Inventory, cube: str) -> Cubes:
    """Read the cubes of an inventory: each pod is one, its hosts in order; those that lack a lane are left out."""
    if not re.fullmatch(r"[0-9]{1,3}(x[0-9]{1,3}){0,2}", cube):
        raise ParameterError(f"a cube is written 4x4x4, hosts along each dimension, not {cube!r:.40}")
    sides = tuple(map(int, cube.split("x")))
    if min(sides) < 2:
        raise ParameterError(f"a cube has sides of 2 or more, not {cube}")
    pods: dict[str, list[str]] = {}
    for host in inventory.hosts:
        pods.setdefault(host.pod, []).append(host.name)
    wrong = next((pod for pod, names in pods.items() if len(names) != math.prod(sides)), None)
    if wrong is not None:
        words = f"pod '{wrong}' has {len(pods[wrong])} hosts"
        raise ParameterError(f"each pod is a cube of {math.prod(sides)} hosts in the order x, y, z; {words}")
    lane = {(one.host, one.port): one for one in inventory.cabling if one.lane == 1}
    usable, ends = [], []
    for names in pods.values():
        mine = {
            f"{sign}{AXES[axis]}": [lane.get((names[place], f"{sign}{AXES[axis]}")) for place in face.tolist()]
            for axis in range(len(sides))
            for sign, face in zip("+-", _faces(sides, axis), strict=True)
        }
        whole = {port: tuple(one for one in some if one is not None) for port, some in mine.items()}
        if all(len(whole[port]) == len(mine[port]) for port in mine):
            usable.append(tuple(names))
            ends.append(whole)
    if not usable:
        raise InfeasibleError("no cube has all its ports '+x' to '-z' cabled; the cabling names them by host and port")
    return Cubes(inventory, sides, tuple(usable), {port: tuple(one[port] for one in ends) for port in ends[0]})


def shapes(count: int, dimensions: int) -> Iterator[tuple[int, ...]]:
    """Yield the ascending tuples of so many numbers whose product is a number of cubes."""
    for some in itertools.combinations_with_replacement([d for d in range(1, count + 1) if count % d == 0], dimensions):
        if math.prod(some) == count:
            yield some


def is_twisted(cubes: Cubes, shape: tuple[int, ...]) -> bool:
    """Return whether a shape has a twisted torus: two different sides, one twice the other, as published."""
    sides = {side * many for side, many in zip(cubes.sides, shape, strict=True)}
    return len(sides) == 2 and max(sides) == 2 * min(sides)


def torus_of(cubes: Cubes, shape: tuple[int, ...], *, twisted: bool) -> tuple[Topology, list[IntArray], IntArray]:
    """Return a torus of cubes: its topology, the permutations for each axis and position, and its nodes by cube.

    The twisted one shifts all longer dimensions by a side where it wraps; sides are whole cubes, so that shifts are.
    """
    sides = [side * many for side, many in zip(cubes.sides, shape, strict=True)]
    topology = build(Spec("twistedtorus" if twisted else "torus", tuple(sides)))
    cube = np.indices(shape[::-1])[::-1].reshape(len(shape), -1)  # coordinates of each cube, x first
    weight = np.cumprod((1, *shape[:-1]))
    moves = []
    for axis, many in enumerate(shape):
        there = cube.copy()
        there[axis] += 1
        wraps = there[axis] == many
        there[axis, wraps] = 0
        for other in range(len(shape)):
            if twisted and sides[other] > sides[axis]:
                there[other, wraps] += sides[axis] // cubes.sides[other]
        there %= np.array(shape)[:, None]
        moves.append(np.tile(weight @ there, (len(cubes.faces[axis][0]), 1)))
    inside = np.indices(cubes.sides[::-1])[::-1].reshape(len(shape), -1)
    place = cube[:, :, None] * np.array(cubes.sides)[:, None, None] + inside[:, None, :]
    nodes = np.tensordot(np.cumprod((1, *sides[:-1])), place, axes=1).ravel()
    if min(sides) == 2:  # a wrap beside a fixed link, where the family has one link alone
        topology = _joined(cubes, moves, nodes)
    return topology, moves, nodes


def _joined(cubes: Cubes, moves: list[IntArray], nodes: IntArray) -> Topology:
    """Return what circuits and fixed links make."""
    count = len(nodes) // cubes.size
    both = zip(joined_links(cubes, moves, count), fixed_links(cubes, count), strict=True)
    begin, end = (nodes[np.concatenate(pair)] for pair in both)
    return Topology.from_arrays(len(nodes), np.concatenate((begin, end)), np.concatenate((end, begin)))


def joined_links(cubes: Cubes, moves: list[IntArray], count: int) -> tuple[IntArray, IntArray]:
    """Return the two ends of the links that switches make, hosts of so many cubes numbered cube by cube."""
    everyone, begin, end = np.arange(count), [], []
    for (plus, minus), there in zip(cubes.faces, moves, strict=True):
        begin.append((everyone * cubes.size + plus[:, None]).ravel())
        end.append((there * cubes.size + minus[:, None]).ravel())
    return np.concatenate(begin), np.concatenate(end)


def fixed_links(cubes: Cubes, count: int) -> tuple[IntArray, IntArray]:
    """Return the two ends of the links inside so many cubes."""
    place = np.arange(count * cubes.size).reshape(count, *cubes.sides[::-1])
    axes = range(1, 1 + len(cubes.sides))
    begin = [np.delete(place, -1, axis).ravel() for axis in axes]
    return np.concatenate(begin), np.concatenate([np.delete(place, 0, axis).ravel() for axis in axes])


def plan_cubes(cubes: Cubes, topology: Topology, moves: list[IntArray], nodes: IntArray) -> WiringPlan:
    """Return the checked plan of the links that switches make, which with those inside are all of a topology."""
    count = len(nodes) // cubes.size
    begin, end = (nodes[some] for some in joined_links(cubes, moves, count))
    if _joined(cubes, moves, nodes) != topology:
        raise InfeasibleError("the circuits and the fixed links do not make this topology")
    made = Topology.from_arrays(len(nodes), np.concatenate((begin, end)), np.concatenate((end, begin)))
    hosts = [""] * len(nodes)
    for place, name in enumerate(itertools.chain(*cubes.hosts[:count])):
        hosts[nodes[place]] = name
    connects: list[CrossConnect] = []
    for axis, there in enumerate(moves):
        plus, minus = cubes.ends[f"+{AXES[axis]}"], cubes.ends[f"-{AXES[axis]}"]
        for position, cube in itertools.product(range(len(there)), range(count)):
            a, b = plus[cube][position], minus[int(there[position, cube])][position]
            u = nodes[cube * cubes.size + cubes.faces[axis][0][position]]
            v = nodes[int(there[position, cube]) * cubes.size + cubes.faces[axis][1][position]]
            connects.append(CrossConnect(f"C{len(connects) + 1:05}", "duplex", (int(u), int(v)), a, b))
    plan = WiringPlan(cubes.inventory, made, tuple(hosts), "duplex", tuple(connects), cubes.inventory.cabling)
    check_plan(plan)
    return plan


def least_exchange(cubes: Cubes, count: int) -> Fraction:
    """Return what all-to-all takes at least (y), whatever the circuits between so many cubes.

    In the tree-like cover of all ways, every port leads to a cube of its own, entered opposite. At a distance there are
    no more nodes of a position in a cube than in the cover, and of each position as many as cubes; the sum of distances
    is least if the near ones are all there. A load is no less than the mean over links. Hosts that mirrors and
    turns of a cube take to one another have the same sum, as ports are all over the faces.
    """
    place = np.indices(cubes.sides[::-1]).reshape(len(cubes.sides), -1)
    apart = np.abs(place[:, :, None] - place[:, None, :]).sum(axis=0)
    ports = [(int(a), int(b)) for plus, minus in cubes.faces for a, b in zip(plus, minus, strict=True)]
    ports += [(b, a) for a, b in ports]
    total, alike = 0, dict[tuple[tuple[int, int], ...], list[int]]()
    for host, at in enumerate(place.T.tolist()):
        inward = ((side, min(x, side - 1 - x)) for side, x in zip(cubes.sides[::-1], at, strict=True))
        alike.setdefault(tuple(sorted(inward)), []).append(host)
    for start, *others in alike.values():
        left = np.full(cubes.size, count)
        waiting: dict[int, Counter[tuple[int, int]]] = {0: Counter({(start, -1): 1})}
        found: dict[int, IntArray] = {}
        distance = 0
        while left.any():
            for (entry, behind), many in waiting.pop(distance, Counter[tuple[int, int]]()).items():
                for near in range(int(apart[entry].max()) + 1):
                    found.setdefault(distance + near, np.zeros(cubes.size, dtype=np.int64))
                    found[distance + near] += np.minimum(many, count) * (apart[entry] == near)
                for leave, enter in ports:
                    if (entry, behind) != (leave, enter):
                        later = waiting.setdefault(distance + int(apart[entry, leave]) + 1, Counter())
                        later[enter, leave] = min(later[enter, leave] + many, count * len(ports))
            new = np.minimum(left, found.get(distance, 0))
            total += (1 + len(others)) * distance * int(np.sum(new))
            left -= new
            distance += 1
    return Fraction(total, cubes.size * count * cubes.size)


@dataclass(frozen=True)
class Twist:
    """Cubes joined by translations of a group: from "+" of cube g to "-" of g times the voltage of a position."""

    group: Group
    voltage: list[IntArray]

    def moves(self) -> list[IntArray]:
        """Return the permutations for each axis and position."""
        everyone = self.group.elements()
        return [self.group.multiply(everyone, some[:, None]) for some in self.voltage]


def better_than_tori(
    cubes: Cubes, count: int, seconds: float, *, seed: int = 0, progress: Progress | None = None
) -> Twist | None:
    """Return the translations whose all-to-all takes the least of those found in so many seconds of work.

    Voltages are drawn and changed where the sum of distances becomes no more; then the flow is priced.
    """
    if not 2 <= count <= _MOST_CUBES:
        return None
    watch, rng = Stopwatch(), np.random.default_rng(seed)
    groups = groups_to_search(count)[:_MOST_GROUPS]
    best: tuple[Fraction, Twist] | None = None
    begin, end = fixed_links(cubes, 1)
    positions = [len(plus) for plus, _ in cubes.faces]
    leave, enter = cubes.switched
    for turn in itertools.count():
        if best is not None and watch() >= seconds:
            break
        tell(progress, min(watch() / seconds, 1.0) if seconds else 1.0)
        group = groups[turn % len(groups)]
        voltage = rng.integers(0, count, len(leave))
        state = rng.integers(1, 2**63, 1).astype(np.uint64)
        shorten(np.stack((begin, end)), np.stack((leave, enter)), group.table().T.copy(), voltage, _MOVES, state)
        twist = Twist(group, np.split(voltage, np.cumsum(positions)[:-1]))
        found = all_to_all(twisted(cubes, twist)[0], effort="approximate", gap=Fraction(1, 200))
        if found.upper is not None and (best is None or found.upper < best[0]):
            best = found.upper, twist
    return None if best is None else best[1]


def twisted(cubes: Cubes, twist: Twist) -> tuple[Topology, IntArray]:
    """Return the topology of cubes joined by translations, a lift of one cube, and its nodes by cube."""
    order, inside = twist.group.order, fixed_links(cubes, 1)
    leave, enter = cubes.switched
    voltage = np.concatenate(twist.voltage)
    back = twist.group.inverses()[voltage]
    still = np.zeros(2 * len(inside[0]), dtype=np.int64)
    tail = np.concatenate((*inside, leave, enter))
    head = np.concatenate((*inside[::-1], enter, leave))
    turn = np.concatenate((still, voltage, back))
    ends = twist.group.multiply(twist.group.elements(), turn[:, None])
    everyone = twist.group.elements()
    topology = Topology.from_arrays(
        cubes.size * order,
        tail[:, None] * order + everyone,
        head[:, None] * order + ends,
        symmetry=twist.group.action(cubes.size),
    )
    spec = lift_spec(twist.group.spec, tail, head, turn)
    nodes = (np.arange(cubes.size) * order + everyone[:, None]).ravel()
    return replace(topology, spec=spec if len(str(spec)) <= LONGEST_SPEC else None), nodes
