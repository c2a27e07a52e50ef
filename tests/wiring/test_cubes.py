"""Hosts in cubes: slices as published, circuits that make them, and bounds that no circuits get below."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from topodesign import all_to_all, build, copy_examples, read_inventory
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.pricing.closed_form import distances
from topodesign.topology.topology import Topology
from topodesign.wiring.inventory.devices import Fixed, Host, Panel, PanelPort, Port
from topodesign.wiring.inventory.inventory import Inventory
from topodesign.wiring.plan.proof import check_plan
from topodesign.wiring.plant import cubes_kernels
from topodesign.wiring.plant.carry import carry
from topodesign.wiring.plant.cubes import (
    Cubes,
    better_than_tori,
    cubes_of,
    fixed_links,
    is_twisted,
    joined_links,
    least_exchange,
    plan_cubes,
    shapes,
    torus_of,
    twisted,
)

SPEED = Fraction(10**11)


def small_room(count: int, side: int = 2, *, dark: str = "") -> Inventory:
    """Cubes with such a side in two dimensions, squares, and a switch for each axis and position."""
    hosts, cabling = [], []
    for cube, y, x in itertools.product(range(count), range(side), range(side)):
        name = f"c{cube}-{x}{y}"
        ports = []
        for axis, place, position in (("x", x, y), ("y", y, x)):
            for sign, there in (("+", side - 1), ("-", 0)):
                if place == there:
                    ports.append(f"{sign}{axis}")
                    label = str(cube + count * (sign == "+"))
                    if f"{axis}{position}:{label}" != dark:
                        cabling.append(Fixed(name, f"{sign}{axis}", 1, f"{axis}{position}", label))
        hosts.append(Host(name, "", "r", 1, tuple(Port(port, "LC", SPEED) for port in ports), f"cube{cube}"))
    panels = []
    for axis, position in itertools.product("xy", range(side)):
        name = f"{axis}{position}"
        labels = tuple(PanelPort(str(port), "duplex") for port in range(2 * count))
        panels.append(Panel(name, "", "r", 1, "ocs", labels, name))
    return Inventory(tuple(hosts), tuple(panels), tuple(cabling))


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Cubes:
    [path] = copy_examples(["inventory_cubes.yaml"], tmp_path_factory.mktemp("room"))
    room = read_inventory(path)
    assert (len(room.hosts), len(room.panels), len(room.cabling)) == (4096, 48, 6144)
    assert all(len(panel.ports) == 136 for panel in room.panels)
    return cubes_of(room, "4x4x4")


def load(topology: Topology) -> Fraction:
    """Shards on the fullest link in all-to-all."""
    found = all_to_all(topology)
    assert found.exact
    assert found.upper is not None
    return found.upper * topology.nodes / topology.degree


PUBLISHED = [
    ((1, 1, 2), False, "torus(4,4,8)", Fraction(128)),
    ((1, 1, 2), True, "twistedtorus(4,4,8)", Fraction(220, 3)),
    ((1, 2, 2), False, "torus(4,8,8)", Fraction(256)),
    ((1, 2, 2), True, "twistedtorus(4,8,8)", Fraction(184)),
]


@pytest.mark.parametrize(("shape", "twist", "spec", "most"), PUBLISHED)
def test_loads_as_published(published: Cubes, shape: tuple[int, ...], twist: bool, spec: str, most: Fraction) -> None:
    topology, moves, nodes = torus_of(published, shape, twisted=twist)
    assert topology == build(spec)
    assert load(topology) == most
    check_plan(plan_cubes(published, topology, moves, nodes))


@pytest.mark.parametrize("count", [*range(1, 5), *(pytest.param(n, marks=pytest.mark.thorough) for n in range(5, 65))])
def test_every_shape_is_carried(published: Cubes, count: int) -> None:
    for shape in shapes(count, 3):
        for twist in (False, True)[: 1 + is_twisted(published, shape)]:
            topology, moves, nodes = torus_of(published, shape, twisted=twist)
            plan = plan_cubes(published, topology, moves, nodes)
            assert len(plan.connects) == 48 * count
            for connect in plan.connects:  # a '+' to a '-', of one switch
                assert (connect.a.port[0], connect.b.port[0]) == ("+", "-")
                assert connect.a.panel == connect.b.panel
                assert int(connect.a.panel_port) > 64 >= int(connect.b.panel_port)


def test_shapes_are_all_there_are() -> None:
    for count in (1, 6, 8, 12, 64):
        ways = {
            tuple(sorted((a, b, count // a // b)))
            for a in range(1, count + 1)
            for b in range(1, count + 1)
            if count % (a * b) == 0
        }
        assert set(shapes(count, 3)) == ways


def test_no_circuits_are_better_than_the_bound() -> None:
    cubes = cubes_of(small_room(2), "2x2")
    bound = least_exchange(cubes, 2)
    best = None
    swaps = list(itertools.permutations(range(2)))
    for chosen in itertools.product(swaps, repeat=4):  # all permutations of both axes and positions
        moves = [np.array(chosen[:2]), np.array(chosen[2:])]
        ends = [np.concatenate(pair) for pair in zip(joined_links(cubes, moves, 2), fixed_links(cubes, 2), strict=True)]
        topology = Topology.from_arrays(8, np.concatenate(ends), np.concatenate(ends[::-1]))
        if (distances(topology, 0) < 0).any():
            continue
        check_plan(plan_cubes(cubes, topology, moves, np.arange(8)))
        found = all_to_all(topology, effort="exact").upper
        assert found is not None
        assert found >= bound
        best = found if best is None else min(best, found)
    twist = better_than_tori(cubes, 2, 0.1)
    assert twist is not None
    assert all_to_all(twisted(cubes, twist)[0], effort="exact").upper == best


@pytest.mark.thorough
def test_translations_beat_tori(published: Cubes) -> None:
    twist = better_than_tori(published, 2, 0)
    assert twist is not None
    topology, nodes = twisted(published, twist)
    assert topology.symmetry is not None
    topology.symmetry.check(topology)
    assert build(str(topology.spec)) == topology
    check_plan(plan_cubes(published, topology, twist.moves(), nodes))
    found = all_to_all(topology, effort="approximate", gap="1%")
    assert found.upper is not None
    assert found.upper < Fraction(220, 3) * 6 / 128
    assert found.lower >= least_exchange(published, 2)


def test_kernel_in_both_tiers() -> None:
    cubes = cubes_of(small_room(3, 3), "3x3")
    inside = np.stack(fixed_links(cubes, 1))
    ports = np.stack([np.concatenate([face[side] for face in cubes.faces]) for side in (0, 1)])
    times = (np.arange(3)[:, None] + np.arange(3)) % 3
    told = []
    for kernel in (cubes_kernels.shorten.plain, cubes_kernels.shorten):
        voltage, state = np.zeros(ports.shape[1], dtype=np.int64), np.array([7], dtype=np.uint64)
        told.append((kernel(inside, ports, times, voltage, 20, state), voltage.tolist()))
    assert told[0] == told[1]


def test_answer(tmp_path: Path) -> None:
    found = carry(small_room(4), 16, cube="2x2", collective="all-to-all", search=0.2)
    assert {"torus(4,4)", "torus of 1x4 cubes"} <= {one.label for one in found.entries}
    assert found.best.times[0] >= found.least[0]
    assert found.write(tmp_path / "plans").entries[0].file is not None


def test_what_is_no_cube() -> None:
    with pytest.raises(ParameterError, match="4x4x4"):
        cubes_of(small_room(2), "four")
    with pytest.raises(ParameterError, match="pod"):
        cubes_of(small_room(2), "4x4x4")
    with pytest.raises(ParameterError, match="whole cubes"):
        carry(small_room(2), 6, cube="2x2")
    assert len(cubes_of(small_room(3, dark="x0:1"), "2x2").hosts) == 2  # a cube with a dark port is left out
    with pytest.raises(InfeasibleError, match="do not fit"):
        carry(small_room(3, dark="x0:1"), 12, cube="2x2")
