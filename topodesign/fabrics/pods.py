"""Presets of pods and switched networks.

See :mod:`topodesign.fabrics.presets`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from topodesign.base.arguments import require_at_least
from topodesign.base.errors import ParameterError
from topodesign.fabrics.drawing import check_boxes, duplex, make_fabric, members, mesh, nvswitch_boxes, rails
from topodesign.fabrics.fabric import Fabric, FabricLink
from topodesign.topology.topology import check_buildable

_CUBE = 4  # chips on a side of the cubes that optical switches join
_LINK_OF_MI350 = Fraction(384, 5)  # GB/s in each direction
_POD = 1024  # accelerators that UALink and scale-up Ethernet address in a pod
_WHOLE = 16  # chips on a side of a whole pod of two dimensions


def gb200_nvl72(racks: int) -> Fabric:
    """GB200 NVL72: 72 GPUs a rack on multicasting NVLink switches.

    900 GB/s each; the switches reduce, too; and a 400 Gb/s NIC a GPU.

    The 18 switch chips of a rack, to each of which every GPU has one link of 50 GB/s, are one switch here. With more
    than one rack, NIC i of each tray of four GPUs is on rail i; of the rails nothing but forwarding is assumed.

    References
    ----------
    NVIDIA GB200 NVL72 data sheet (1.8 TB/s a GPU, both directions together); NVIDIA DGX GB200 User Guide.
    """
    return _nvl72(f"gb200_nvl72({racks})", racks, 50)


def gb300_nvl72(racks: int) -> Fabric:
    """GB300 NVL72: as :func:`gb200_nvl72`, with an 800 Gb/s NIC a GPU.

    References
    ----------
    NVIDIA GB300 NVL72 data sheet (1.8 TB/s a GPU, both directions together; ConnectX-8 at 800 Gb/s a GPU).
    """
    return _nvl72(f"gb300_nvl72({racks})", racks, 100)


def _nvl72(name: str, racks: int, nic: int) -> Fabric:
    """Return racks of 72 GPUs on one switch each, with NICs on four rails."""
    check_boxes(racks, 72, "racks")
    return nvswitch_boxes(name, racks, 72, nvlink=900, nic=nic, outer=rails(4), nvls=True, box="rack")


def mi325x(boxes: int) -> Fabric:
    """MI325X boxes, with links as the MI300X.

    As :func:`topodesign.fabrics.presets.mi300x`; only the GPUs' memory differs.

    References
    ----------
    AMD Instinct MI325X Platform data sheet (128 GB/s a link, both directions together).
    """
    return infinity_boxes(f"mi325x({boxes})", boxes)


def mi350x(boxes: int) -> Fabric:
    """MI350X boxes: as the MI300X, with links of 76.8 GB/s.

    See :func:`topodesign.fabrics.presets.mi300x`.

    References
    ----------
    AMD Instinct MI350X Platform data sheet (153.6 GB/s a link, both directions together).
    """
    return infinity_boxes(f"mi350x({boxes})", boxes, _LINK_OF_MI350)


def mi355x(boxes: int) -> Fabric:
    """MI355X boxes: links as in :func:`mi350x`.

    References
    ----------
    AMD Instinct MI355X Platform data sheet (153.6 GB/s a link, both directions together).
    """
    return infinity_boxes(f"mi355x({boxes})", boxes, _LINK_OF_MI350)


def infinity_boxes(name: str, boxes: int, rate: int | Fraction = 64) -> Fabric:
    """Return boxes of eight fully connected GPUs on eight rails.

    A NIC of 50 GB/s a GPU.
    """
    switches = list(rails(8)) if boxes > 1 else []
    links = _meshes(boxes, rate, "Infinity Fabric")
    for box in range(boxes):
        for gpu, rail in enumerate(switches):
            links += duplex(f"box{box}/gpu{gpu}", rail, 50, "Ethernet")
    return make_fabric(name, members(boxes, 8, "gpu"), switches, links)


def gaudi3(boxes: int) -> Fabric:
    """Gaudi 3 boxes: 8 accelerators with 200 Gb/s ports.

    Each has three to every other, and three to switches.

    With more than one box, port i of the three of every accelerator is on the switch ``leaf`` i.

    References
    ----------
    Intel Gaudi documentation, Network Configuration (21 scale-up and three scale-out ports of 200 Gb/s).
    """
    switches = [f"leaf{port}" for port in range(3)] if boxes > 1 else []
    links = _meshes(boxes, 3 * 25, "scale-up")
    for gpu in members(boxes, 8, "gpu"):
        for leaf in switches:
            links += duplex(gpu, leaf, 25, "Ethernet")
    return make_fabric(f"gaudi3({boxes})", members(boxes, 8, "gpu"), switches, links)


def _meshes(boxes: int, rate: int | Fraction, kind: str) -> list[FabricLink]:
    """Return the links of boxes of eight fully connected accelerators."""
    check_boxes(boxes, 8)
    pairs = " ".join(f"{i}-{j}:1" for i, j in itertools.combinations(range(8), 2))
    return [link for box in range(boxes) for link in mesh(f"box{box}/gpu", pairs, rate, kind)]


def trn2(instances: int) -> Fabric:
    """Trn2 instances: 16 chips in a torus of 4 by 4, 128 GB/s links.

    With more than one instance every chip has an equal part, 25 GB/s, of the 3.2 Tb/s of EFA, on one switch.

    References
    ----------
    AWS Neuron documentation, Trn2 architecture (NeuronLink-v3, 1024 GB/s a chip within an instance, both directions of
    four links together); Amazon EC2 Trn2 instances (3.2 Tb/s of EFA).
    """
    return _trainium(f"trn2({instances})", instances, 1)


def trn2_ultra(servers: int) -> Fabric:
    """Trn2 UltraServers: four instances joined by 64 GB/s rings.

    Instances as in :func:`trn2`; chips at one place form a ring.

    References
    ----------
    AWS Neuron documentation, Trn2 architecture (256 GB/s a chip between instances, both directions of two links
    together; 64 chips); Amazon EC2 Trn2 UltraServers (12.8 Tb/s of EFA).
    """
    return _trainium(f"trn2_ultra({servers})", servers, 4)


def _trainium(name: str, count: int, layers: int) -> Fabric:
    """Return tori of 4 by 4 chips, joined in rings if there are layers."""
    check_boxes(count, 16 * layers, "instances" if layers == 1 else "servers")
    unit = "instance" if layers == 1 else "server"
    places = list(itertools.product(range(layers), range(4), range(4)))
    links: list[FabricLink] = []
    nodes: list[str] = []
    for number in range(count):
        chips = {place: f"{unit}{number}/{_chip(place if layers > 1 else place[1:])}" for place in places}
        nodes += chips.values()
        for layer, row, column in places:
            here = chips[layer, row, column]
            links += duplex(here, chips[layer, (row + 1) % 4, column], 128, "NeuronLink")
            links += duplex(here, chips[layer, row, (column + 1) % 4], 128, "NeuronLink")
            if layers > 1:
                links += duplex(here, chips[(layer + 1) % layers, row, column], 64, "NeuronLink")
            if count > 1:
                links += duplex(here, "efa", 25, "EFA")
    return make_fabric(name, nodes, ["efa"] if count > 1 else [], links)


def ualink_pod(accelerators: int, stations: int) -> Fabric:
    """UALink pod: 800 Gb/s stations, station i on switch i.

    A switch of UALink forwards; that it adds or copies is not assumed.

    References
    ----------
    UALink 200G 1.0 specification (four lanes of 200 Gb/s a station, at most 1024 accelerators a pod).
    """
    return _planes(f"ualink_pod({accelerators},{stations})", accelerators, stations, "stations", "UALink")


def sue_pod(accelerators: int, ports: int) -> Fabric:
    """Scale-up Ethernet pod: 800 Gb/s ports, port i on switch i.

    That switches add in the network, as some do, is not assumed.

    References
    ----------
    Scale Up Ethernet Framework, RM101 (one hop over a switch, 800 Gb/s an instance, at most 1024 accelerators).
    """
    return _planes(f"sue_pod({accelerators},{ports})", accelerators, ports, "ports", "scale-up Ethernet")


def _planes(name: str, accelerators: int, ports: int, word: str, kind: str) -> Fabric:
    """Return accelerators with a port of 100 GB/s on every switch."""
    require_at_least("accelerators", accelerators, 2)
    require_at_least(word, ports, 1)
    if accelerators > _POD:
        raise ParameterError(f"a pod has at most {_POD} accelerators")
    check_buildable(accelerators + ports, 2 * accelerators * ports)
    nodes = [f"gpu{number}" for number in range(accelerators)]
    switches = [f"switch{port}" for port in range(ports)]
    links = [link for node in nodes for switch in switches for link in duplex(node, switch, 100, kind)]
    return make_fabric(name, nodes, switches, links)


def pcie_box(boxes: int) -> Fabric:
    """PCIe boxes: 8 GPUs on four PCIe 4.0 switches of two CPUs.

    No links between GPUs.

    Every GPU has 32 GB/s (x16) to the switch that it shares with its neighbour, every switch as much to its CPU, and
    the CPUs have three UPI links of 22.4 GB/s between them. With more than one box each PCIe switch has a 200 Gb/s NIC,
    and all NICs are on one Ethernet switch.

    References
    ----------
    PCI Express Base Specification 4.0 (16 GT/s a lane); Intel Xeon Platinum 8380 product specification (three UPI links
    of 11.2 GT/s, two bytes each).
    """
    check_boxes(boxes, 8)
    links: list[FabricLink] = []
    switches: list[str] = []
    for box in range(boxes):
        sockets = [f"box{box}/cpu{cpu}" for cpu in range(2)]
        switches += sockets
        links += duplex(sockets[0], sockets[1], Fraction(336, 5), "UPI")
        for pcie in range(4):
            switches.append(f"box{box}/pcie{pcie}")
            links += duplex(switches[-1], sockets[pcie // 2], 32, "PCIe")
            for gpu in (2 * pcie, 2 * pcie + 1):
                links += duplex(f"box{box}/gpu{gpu}", switches[-1], 32, "PCIe")
            if boxes > 1:
                links += duplex(switches[-1], "ethernet", 25, "Ethernet")
    switches += ["ethernet"] if boxes > 1 else []
    return make_fabric(f"pcie_box({boxes})", members(boxes, 8, "gpu"), switches, links)


def pcie_pair(boxes: int) -> Fabric:
    """PCIe boxes: 8 GPUs and 8 NICs of 400 Gb/s on two PCIe 5.0 switches.

    No links between GPUs.

    GPUs have 64 GB/s (x16) to their switch, four to each, and the switches as much between them. With more than one
    box each switch has four NICs, and NIC i of every box is on the switch of rail i.

    References
    ----------
    PCI Express Base Specification 5.0 (32 GT/s a lane).
    """
    check_boxes(boxes, 8)
    links: list[FabricLink] = []
    outer = rails(8) if boxes > 1 else ()
    for box in range(boxes):
        links += duplex(f"box{box}/pcie0", f"box{box}/pcie1", 64, "PCIe")
        for gpu in range(8):
            links += duplex(f"box{box}/gpu{gpu}", f"box{box}/pcie{gpu // 4}", 64, "PCIe")
        for nic, rail in enumerate(outer):
            links += duplex(f"box{box}/pcie{nic // 4}", rail, 50, "Ethernet")
    switches = [*members(boxes, 2, "pcie"), *outer]
    return make_fabric(f"pcie_pair({boxes})", members(boxes, 8, "gpu"), switches, links)


def tpu_v4(a: int, b: int, c: int) -> Fabric:
    """TPU v4 slice: three dimensions of 50 GB/s links.

    In cubes that optical switches join.

    Where all sides are multiples of four, links between cubes and round the sides go through optical circuit switches
    (class OCS), which hold one connection and so count as the links that they are: a torus. A smaller slice lies in one
    cube and is a mesh. Chip ``chip1.0.2`` is at 1, 0, 2.

    References
    ----------
    Jouppi et al., TPU v4: An Optically Reconfigurable Supercomputer (2023), section 2; Google Cloud, TPU v4.
    """
    return _cubes(f"tpu_v4({a},{b},{c})", (a, b, c), 50)


def tpu_v5p(a: int, b: int, c: int) -> Fabric:
    """TPU v5p slice: as :func:`tpu_v4`, with links of 100 GB/s.

    References
    ----------
    Google Cloud, TPU v5p (1200 GB/s a chip, both directions of six links together).
    """
    return _cubes(f"tpu_v5p({a},{b},{c})", (a, b, c), 100)


def tpu_v7(a: int, b: int, c: int) -> Fabric:
    """Slice of a TPU7x (Ironwood) pod: as :func:`tpu_v5p`.

    References
    ----------
    Google Cloud, TPU7x (1200 GB/s a chip, both directions of six links together).
    """
    return _cubes(f"tpu_v7({a},{b},{c})", (a, b, c), 100)


def tpu_v5e(a: int, b: int) -> Fabric:
    """TPU v5e slice, up to 16 by 16 chips: two dimensions of 50 GB/s links.

    A side of 16 is a ring, a shorter one a line. Chip ``chip1.0`` is at 1, 0.

    References
    ----------
    Google Cloud, TPU v5e (400 GB/s a chip, both directions of four links together; 256 chips).
    """
    return _pod(f"tpu_v5e({a},{b})", (a, b), 50)


def tpu_v6e(a: int, b: int) -> Fabric:
    """TPU v6e (Trillium) slice: as :func:`tpu_v5e`, with links of 100 GB/s.

    References
    ----------
    Google Cloud, TPU v6e (800 GB/s a chip, both directions of four links together; 256 chips).
    """
    return _pod(f"tpu_v6e({a},{b})", (a, b), 100)


def _pod(name: str, sides: tuple[int, int], rate: int) -> Fabric:
    """Return part of a 16 by 16 torus, with wraps on whole sides only."""
    for side in sides:
        require_at_least("a side", side, 1)
        if side > _WHOLE:
            raise ParameterError(f"a pod has {_WHOLE} chips on a side")
    return _grid(name, sides, rate, [side == _WHOLE for side in sides], lambda _at, _side: "ICI")


def _cubes(name: str, sides: tuple[int, ...], rate: int) -> Fabric:
    """Return a torus of whole cubes, or a mesh within one."""
    for side in sides:
        require_at_least("a side", side, 1)
    whole = all(side % _CUBE == 0 for side in sides)
    if not whole and max(sides) > _CUBE:
        raise ParameterError(f"sides beyond {_CUBE} chips are made of cubes: all have to be multiples of {_CUBE}")
    check_buildable(math.prod(sides), 6 * math.prod(sides))
    return _grid(
        name,
        sides,
        rate,
        [whole] * len(sides),
        lambda at, side: "OCS" if at % _CUBE == _CUBE - 1 or at == side - 1 else "ICI",
    )


def _grid(name: str, sides: Sequence[int], rate: int, rings: Sequence[bool], kind: Callable[[int, int], str]) -> Fabric:
    """Return chips with a ring or line along every side."""
    places = list(itertools.product(*map(range, sides)))
    links: list[FabricLink] = []
    for place in places:
        for axis, side in enumerate(sides):
            if rings[axis] or place[axis] < side - 1:
                other = (*place[:axis], (place[axis] + 1) % side, *place[axis + 1 :])
                links += duplex(_chip(place), _chip(other), rate, kind(place[axis], side))
    return make_fabric(name, [_chip(place) for place in places], [], links)


def _chip(place: tuple[int, ...]) -> str:
    return "chip" + ".".join(map(str, place))


def fat_tree3(  # noqa: PLR0917  arguments of a spec have no names
    pods: int, leaves: int, hosts: int, spines: int, cores: int, over: int = 1, under: int = 1
) -> Fabric:
    """Three-level fat tree: pods of leaf and spine switches.

    ``cores`` core switches for every spine of a pod.

    Hosts have 50 GB/s (400 Gb/s). Leaves do not block; what a pod has to its hosts, together, is ``over / under`` times
    what it has to the cores. Spine i of every pod is linked to cores ``core.i.0``, ``core.i.1``, ...

    References
    ----------
    Al-Fares, Loukissas, Vahdat, A Scalable, Commodity Data Center Network Architecture (2008).
    """
    sizes = {"pods": pods, "leaves": leaves, "hosts": hosts, "spines": spines, "cores": cores}
    for what, value in (sizes | {"over": over, "under": under}).items():
        require_at_least(what, value, 1)
    check_buildable(
        pods * (leaves * (hosts + 1) + spines) + spines * cores, 2 * pods * (leaves * (hosts + spines) + spines * cores)
    )
    nodes, switches, links = [], [], list[FabricLink]()
    for pod in range(pods):
        inner = [f"pod{pod}/spine{spine}" for spine in range(spines)]
        for leaf in range(leaves):
            switch = f"pod{pod}/leaf{leaf}"
            switches.append(switch)
            for host in range(hosts):
                nodes.append(f"pod{pod}/host{leaf * hosts + host}")
                links += duplex(nodes[-1], switch, 50, "host")
            for spine in inner:
                links += duplex(switch, spine, Fraction(50 * hosts, spines), "spine")
        for number, spine in enumerate(inner):
            for core in range(cores):
                rate = Fraction(50 * hosts * leaves * under, over * spines * cores)
                links += duplex(spine, f"core.{number}.{core}", rate, "core")
        switches += inner
    switches += [f"core.{spine}.{core}" for spine in range(spines) for core in range(cores)]
    ratio = "" if (over, under) == (1, 1) else f",{over}" if under == 1 else f",{over},{under}"
    return make_fabric(f"fat_tree3({pods},{leaves},{hosts},{spines},{cores}{ratio})", nodes, switches, links)


def rail_spine(boxes: int, gpus: int, spines: int, over: int = 1, under: int = 1) -> Fabric:
    """Rails with a spine: every rail is linked to every spine.

    Boxes as in :func:`topodesign.fabrics.presets.rail_optimised`.

    What a rail has to the boxes, together, is ``over / under`` times what it has to the spines.

    References
    ----------
    NVIDIA DGX SuperPOD Reference Architecture (DGX H100).
    """
    sizes = {"gpus": gpus, "spines": spines, "over": over, "under": under}
    require_at_least("boxes", boxes, 2)
    for what, value in sizes.items():
        require_at_least(what, value, 1)
    check_buildable(boxes * (gpus + 1) + gpus + spines, 2 * gpus * (2 * boxes + spines))
    nodes, inner, outer = members(boxes, gpus, "gpu"), [f"box{box}/nvswitch" for box in range(boxes)], rails(gpus)
    links: list[FabricLink] = []
    for number, gpu in enumerate(nodes):
        links += duplex(gpu, inner[number // gpus], 450, "NVLink")
        links += duplex(gpu, outer[number % gpus], 50, "InfiniBand")
    for rail in outer:
        for spine in range(spines):
            links += duplex(rail, f"spine{spine}", Fraction(50 * boxes * under, over * spines), "spine")
    ratio = "" if (over, under) == (1, 1) else f",{over}" if under == 1 else f",{over},{under}"
    switches = [*inner, *outer, *(f"spine{spine}" for spine in range(spines))]
    return make_fabric(f"rail_spine({boxes},{gpus},{spines}{ratio})", nodes, switches, links)


def dragonfly_plus(groups: int, leaves: int, hosts: int, spines: int) -> Fabric:
    """Dragonfly+: groups of leaf and spine switches; all links 25 GB/s.

    Leaf switches have hosts and are linked to every spine of their group.

    Spine i of every group has one global link to spine i of each other group.

    References
    ----------
    Shpiner et al., Dragonfly+: Low Cost Topology for Scaling Datacenters (2017).
    """
    for what, value in {"groups": groups, "leaves": leaves, "hosts": hosts, "spines": spines}.items():
        require_at_least(what, value, 1)
    check_buildable(
        groups * (leaves * (hosts + 1) + spines), groups * (2 * leaves * (hosts + spines) + spines * groups)
    )
    nodes, switches, links = [], [], list[FabricLink]()
    for group in range(groups):
        inner = [f"group{group}/spine{spine}" for spine in range(spines)]
        for leaf in range(leaves):
            switches.append(f"group{group}/leaf{leaf}")
            for host in range(hosts):
                nodes.append(f"group{group}/host{leaf * hosts + host}")
                links += duplex(nodes[-1], switches[-1], 25, "host")
            for spine in inner:
                links += duplex(f"group{group}/leaf{leaf}", spine, 25, "local")
        for other in range(group):
            for number, spine in enumerate(inner):
                links += duplex(f"group{other}/spine{number}", spine, 25, "global")
        switches += inner
    return make_fabric(f"dragonfly_plus({groups},{leaves},{hosts},{spines})", nodes, switches, links)
