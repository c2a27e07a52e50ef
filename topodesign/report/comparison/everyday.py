"""Standard topology names, with the best instance of each."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.wording import suggest
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.presets import build_fabric
from topodesign.finder.find import pareto
from topodesign.graphs.mms import mms
from topodesign.graphs.torus import factorings
from topodesign.pricing.workload import Workload
from topodesign.schedulers.baselines.trees import two_trees
from topodesign.topology.library import build
from topodesign.topology.topology import Topology

Sides = tuple[int, ...]


class NetworkChoice(NamedTuple):
    """Network with a scheduling method; ``auto`` tries all methods."""

    place: Topology | Fabric
    method: str = "auto"


Find = Callable[[int, int, Workload], NetworkChoice | str]
"""Returns what the name stands for with N nodes of d ports, or why there is none; the best may depend on the work."""


class Everyday(NamedTuple):
    """Standard name with its finder and its meaning."""

    find: Find
    meaning: str


def everyday(name: str, nodes: int, degree: int, work: Workload) -> NetworkChoice:
    """Return the network of a standard name."""
    if name not in EVERYDAY:
        raise ParameterError(f"{name!r} is not an everyday name; {suggest(name, EVERYDAY)}")
    found = EVERYDAY[name].find(nodes, degree, work)
    if isinstance(found, str):
        raise InfeasibleError(f"there is no {name} of {nodes} nodes with {degree} ports: {found}")
    return found._replace(place=_scale_links(found.place, work)) if isinstance(found.place, Fabric) else found


def _scale_links(fabric: Fabric, work: Workload) -> Fabric:
    """Scale all links of a fabric to the requested node bandwidth."""
    most = max(int(fabric.topology.out_ports[node]) for node in fabric.compute)
    return replace(fabric, unit=work.bandwidth / 8 / most)


def _best(nodes: int, degree: int, work: Workload) -> NetworkChoice | str:
    return NetworkChoice(
        pareto(nodes, degree, alpha=work.alpha, sizes=work.sizes, bandwidth=work.bandwidth).best.build()
    )


def _torus(dimensions: int | None) -> Find:
    """Return the finder of the minimum-diameter torus of given dimensions."""

    def find(nodes: int, degree: int, _work: Workload) -> NetworkChoice | str:
        counts = range(1, degree + 1) if dimensions is None else (dimensions,)
        grids = _grids(nodes, degree, counts, lambda side: 1 if side == 2 else 2)
        if not grids:
            return f"{nodes} is not a product of sides whose torus needs at most {degree} ports"
        ports, sides = min(grids, key=lambda grid: (sum(side // 2 for side in grid[1]), -grid[0], grid[1]))
        return NetworkChoice(_make_trunks(f"torus({','.join(map(str, sides))})", ports, degree))

    return find


def _grids(nodes: int, degree: int, counts: Iterable[int], takes: Callable[[int], int]) -> list[tuple[int, Sides]]:
    """Return grids of given dimensions, with the ports per node."""
    every = [(sum(map(takes, sides)), sides) for count in counts for sides in factorings(nodes, count, 2)]
    return [(ports, sides) for ports, sides in every if ports <= degree]


def _make_trunks(spec: str, ports: int, degree: int) -> Topology:
    """Return a topology with parallel links over the available ports."""
    return build(spec if degree < 2 * ports else f"parallel({spec},{degree // ports})")


def _hypercube(nodes: int, degree: int, _work: Workload) -> NetworkChoice | str:
    dimensions = nodes.bit_length() - 1
    if nodes != 2**dimensions or not 1 <= dimensions <= degree:
        return f"it has 2^k nodes with k ports, and k is at most {degree}"
    return NetworkChoice(_make_trunks(f"hypercube({dimensions})", dimensions, degree))


def _hyperx(nodes: int, degree: int, _work: Workload) -> NetworkChoice | str:
    grids = _grids(nodes, degree, range(1, degree + 1), lambda side: side - 1)
    if not grids:
        return "it needs a port for every other value of each coordinate"
    ports, sides = min(grids, key=lambda grid: (len(grid[1]), -grid[0], grid[1]))
    factors = [f"complete({side})" for side in sides]
    spec = factors[0] if len(factors) == 1 else f"product({','.join(factors)})"
    return NetworkChoice(_make_trunks(spec, ports, degree))


def _jellyfish(nodes: int, degree: int, _work: Workload) -> NetworkChoice | str:
    if nodes <= degree or degree < 2 or nodes * degree % 2:
        return "a random regular graph has two ports or more, more nodes than ports, and an even number of ports in all"
    return NetworkChoice(build(f"randomregulargraph({nodes},{degree},0)"))


def _slimfly(nodes: int, degree: int, _work: Workload) -> NetworkChoice | str:
    sizes = [args for ports in range(1, degree + 1) for args in mms.find(nodes, ports)]
    if not sizes:
        return "it has 2q^2 nodes with about 3q/2 ports, for prime powers q: 50 with 7, 98 with 11, 128 with 12, ..."
    return NetworkChoice(build(f"mms({sizes[0][0]})"))


def _dragonfly(nodes: int, _degree: int, _work: Workload) -> NetworkChoice | str:
    """Find the most balanced dragonfly, with about 2p routers per p hosts."""
    best: tuple[float, tuple[int, int, int]] | None = None
    for groups, routers, hosts in _triples(nodes):
        if groups < 2 or groups > routers * hosts + 1:
            continue
        one = abs(math.log(routers / (2 * hosts))), (groups, routers, hosts)
        best = one if best is None else min(best, one)
    if best is None:
        return f"{nodes} is not a product of groups, routers and hosts with few enough groups"
    return NetworkChoice(build_fabric(f"dragonfly({','.join(map(str, best[1]))})"))


def _triples(nodes: int) -> Iterator[tuple[int, int, int]]:
    divisors = [one for one in range(1, nodes + 1) if nodes % one == 0]
    for first, second in itertools.product(divisors, repeat=2):
        if nodes % (first * second) == 0:
            yield first, second, nodes // (first * second)


def _fattree(nodes: int, _degree: int, _work: Workload) -> NetworkChoice | str:
    """Find the non-blocking two-level tree with similar leaf and host counts."""
    sizes = [hosts for hosts in range(2, nodes // 2 + 1) if nodes % hosts == 0]
    if not sizes:
        return f"{nodes} hosts are not divided among leaves"
    hosts = min(sizes, key=lambda one: abs(math.log(one * one / nodes)))
    return NetworkChoice(build_fabric(f"fat_tree({nodes // hosts},{hosts},{hosts})"), "forest")


def _ring(nodes: int, degree: int, _work: Workload) -> NetworkChoice | str:
    if nodes < 3:
        return "a ring has 3 nodes"
    return NetworkChoice(
        build(f"biring({degree - degree % 2},{nodes})" if degree > 1 else f"uniring(1,{nodes})"), "ring"
    )


def _tree(nodes: int, degree: int, _work: Workload) -> NetworkChoice | str:
    """Return the links of the two allreduce trees, repeated to fill the ports."""
    if degree < 4 or nodes < 3:
        return "two binary trees need 4 ports"
    trees = two_trees(Fabric.from_topology(build(f"biring(2,{nodes})")), None)
    ends = np.array([edge for tree in trees for edge in tree.edges])
    u, v = np.concatenate((ends, ends[:, ::-1])).T
    capacity = np.full(len(u), degree // 4)
    return NetworkChoice(Topology.from_arrays(nodes, u, v, capacity), "double-binary-tree")


EVERYDAY: dict[str, Everyday] = {
    "best": Everyday(_best, "what pareto finds for the first size"),
    "ring": Everyday(_ring, "rings both ways over all ports, as NCCL runs them"),
    "tree": Everyday(_tree, "two binary trees for every four ports, as NCCL runs them"),
    "torus": Everyday(_torus(None), "the torus of least diameter"),
    "torus2d": Everyday(_torus(2), "the squarest torus of two dimensions"),
    "torus3d": Everyday(_torus(3), "the torus of three dimensions"),
    "hypercube": Everyday(_hypercube, "the hypercube"),
    "hyperx": Everyday(_hyperx, "complete graphs along every coordinate"),
    "jellyfish": Everyday(_jellyfish, "a random regular graph, duplex, seed 0"),
    "slimfly": Everyday(_slimfly, "the McKay-Miller-Siran graph"),
    "dragonfly": Everyday(_dragonfly, "groups of connected routers, switched"),
    "fattree": Everyday(_fattree, "leaves and spines that do not block, switched"),
}
"""What people would do anyway, by name."""
SWITCHED = ("dragonfly", "fattree")  # those with switches
