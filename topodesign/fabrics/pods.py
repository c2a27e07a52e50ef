"""Generators of accelerators that are sold together: racks, boxes and pods; see :mod:`topodesign.fabrics.presets`."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

from topodesign.base.arguments import require_at_least
from topodesign.base.errors import ParameterError
from topodesign.fabrics.drawing import check_boxes, drawn, duplex, members, mesh, rails
from topodesign.fabrics.fabric import Fabric, FabricLink
from topodesign.topology.topology import check_buildable

_CUBE = 4  # chips on a side of the cubes that optical switches join


def gb200_nvl72(racks: int) -> Fabric:
    """GB200 NVL72: 72 GPUs a rack at 900 GB/s to NVLink switches that multicast and reduce, and a 400 Gb/s NIC each.

    The 18 switch chips of a rack, to each of which every GPU has one link of 50 GB/s, are one switch here. With more
    than one rack, NIC i of each tray of four GPUs is on rail i; of the rails nothing but forwarding is assumed.

    References
    ----------
    NVIDIA GB200 NVL72 data sheet (1.8 TB/s a GPU, both directions together); NVIDIA DGX GB200 User Guide.
    """
    check_boxes(racks, 72, "racks")
    gpus = members(racks, 72, "gpu", "rack")
    inner = [f"rack{rack}/nvswitch" for rack in range(racks)]
    outer = rails(4) if racks > 1 else ()
    links: list[FabricLink] = []
    for number, gpu in enumerate(gpus):
        links += duplex(gpu, inner[number // 72], 900, "NVLink")
        if outer:
            links += duplex(gpu, outer[number % 4], 50, "InfiniBand")
    return drawn(f"gb200_nvl72({racks})", gpus, [*inner, *outer], links, multicast=inner, aggregation=inner)


def mi325x(boxes: int) -> Fabric:
    """MI325X boxes: links as in :func:`topodesign.fabrics.presets.mi300x`; only the GPUs' memory differs.

    References
    ----------
    AMD Instinct MI325X Platform data sheet (128 GB/s a link, both directions together).
    """
    return infinity_boxes(f"mi325x({boxes})", boxes)


def infinity_boxes(name: str, boxes: int) -> Fabric:
    """Return boxes of eight GPUs, each joined to every other at 64 GB/s, with a NIC of 50 GB/s a GPU on eight rails."""
    check_boxes(boxes, 8)
    pairs = " ".join(f"{i}-{j}:1" for i in range(8) for j in range(i + 1, 8))
    links = [link for box in range(boxes) for link in mesh(f"box{box}/gpu", pairs, 64, "Infinity Fabric")]
    switches = list(rails(8)) if boxes > 1 else []
    for box in range(boxes):
        for gpu, rail in enumerate(switches):
            links += duplex(f"box{box}/gpu{gpu}", rail, 50, "Ethernet")
    return drawn(name, members(boxes, 8, "gpu"), switches, links)


def pcie_box(boxes: int) -> Fabric:
    """Boxes without links between GPUs: 8 GPUs on four PCIe 4.0 switches of two CPUs.

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
    return drawn(f"pcie_box({boxes})", members(boxes, 8, "gpu"), switches, links)


def tpu_v4(a: int, b: int, c: int) -> Fabric:
    """Slice of a TPU v4 pod: chips with links of 50 GB/s along three dimensions, in cubes that optical switches join.

    Where all sides are multiples of four, links between cubes and round the sides go through optical circuit switches
    (class OCS), which hold one connection and so count as the links that they are: a torus. A smaller slice lies in one
    cube and is a mesh. Chip ``chip1.0.2`` is at 1, 0, 2.

    References
    ----------
    Jouppi et al., TPU v4: An Optically Reconfigurable Supercomputer (2023), section 2; Google Cloud, TPU v4.
    """
    return _cubes(f"tpu_v4({a},{b},{c})", (a, b, c), 50)


def tpu_v5p(a: int, b: int, c: int) -> Fabric:
    """Slice of a TPU v5p pod: as :func:`tpu_v4`, with links of 100 GB/s.

    References
    ----------
    Google Cloud, TPU v5p (1200 GB/s a chip, both directions of six links together).
    """
    return _cubes(f"tpu_v5p({a},{b},{c})", (a, b, c), 100)


def _cubes(name: str, sides: tuple[int, ...], rate: int) -> Fabric:
    """Return a torus of whole cubes, or a mesh that lies in one."""
    for side in sides:
        require_at_least("a side", side, 1)
    whole = all(side % _CUBE == 0 for side in sides)
    if not whole and max(sides) > _CUBE:
        raise ParameterError(f"sides beyond {_CUBE} chips are made of cubes: all have to be multiples of {_CUBE}")
    check_buildable(math.prod(sides), 6 * math.prod(sides))
    places = list(itertools.product(*map(range, sides)))
    links: list[FabricLink] = []
    for place in places:
        for axis, side in enumerate(sides):
            outside = place[axis] % _CUBE == _CUBE - 1 or place[axis] == side - 1
            if whole or place[axis] < side - 1:
                other = (*place[:axis], (place[axis] + 1) % side, *place[axis + 1 :])
                links += duplex(_chip(place), _chip(other), rate, "OCS" if outside else "ICI")
    return drawn(name, [_chip(place) for place in places], [], links)


def _chip(place: tuple[int, ...]) -> str:
    return "chip" + ".".join(map(str, place))
