"""Building blocks of presets: links in GB/s, meshes, names in boxes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from topodesign.base.arguments import require_at_least
from topodesign.fabrics.fabric import Fabric, FabricLink
from topodesign.topology.topology import check_buildable

GB = 10**9
_LATENCY = {
    "NVLink": 300,
    "Infinity Fabric": 600,
    "PCIe": 500,
    "memory": 500,
    "UPI": 250,
    "socket": 250,
    "network": 2500,
    "InfiniBand": 2500,
    "Ethernet": 2500,
    "EFA": 2500,
    "host": 2500,
}
"""Nanoseconds of a link by class: two links from GPU to GPU take what NCCL reckons with for its low-latency protocol,
0.6 us by NVLink, 1 us by PCIe and 5 us by network. A link of Infinity Fabric, from GPU to GPU, is taken for as quick as
NVLink, and one between processors for a hop of a switch. Of a network card whose network is not known, and of EFA,
nothing but that is known either. Other classes have no latency of their own."""
_HOP = {"spine": 250, "core": 250, "local": 250, "global": 250}
"""The same from switch to switch, about what data sheets of switches say."""


def make_fabric(
    name: str, nodes: Sequence[str], switches: Sequence[str], links: Iterable[FabricLink], **powers: Any
) -> Fabric:
    """Return the fabric of links with the known latencies of their classes."""
    links = list(links)
    kinds = {link.kind for link in links}
    known = (_LATENCY | _HOP).items()
    latency = {kind: Fraction(time, GB) for kind, time in known if kind in kinds}
    return Fabric.from_links(name, nodes, switches, links, latency=latency, **powers)


def check_boxes(boxes: int, size: int, what: str = "boxes") -> None:
    """Raise an error for no boxes or too many.

    ParameterError for none, TooLargeError for too many nodes.
    """
    require_at_least(what, boxes, 1)
    check_buildable(2 * boxes * size, 16 * boxes * size)


def members(boxes: int, size: int, word: str, box: str = "box") -> list[str]:
    """Return names such as ``box0/gpu3`` of all nodes."""
    return [f"{box}{number}/{word}{at}" for number in range(boxes) for at in range(size)]


def rails(count: int) -> tuple[str, ...]:
    """Return the names of so many rail switches."""
    return tuple(f"rail{number}" for number in range(count))


def mesh(prefix: str, pairs: str, rate: int | Fraction, kind: str) -> Iterator[FabricLink]:
    """Yield the links of text such as ``0-1:4 0-4:2``.

    Each part names two ends and the number of links of ``rate`` GB/s.
    """
    for word in pairs.split():
        ends, count = word.split(":")
        a, b = ends.split("-")
        yield from duplex(prefix + a, prefix + b, rate * int(count), kind)


def duplex(a: str, b: str, rate: int | Fraction, kind: str) -> list[FabricLink]:
    """Return a link in both directions; the rate is in GB/s."""
    return [FabricLink(a, b, Fraction(rate) * GB, kind), FabricLink(b, a, Fraction(rate) * GB, kind)]


def nvswitch_boxes(
    name: str,
    boxes: int,
    gpus: int,
    *,
    nvlink: int,
    nic: int,
    outer: tuple[str, ...],
    nvls: bool = False,
    box: str = "box",
) -> Fabric:
    """Return boxes of GPUs on an NVSwitch.

    With several boxes, NIC i is on rail i modulo the number of rails.
    """
    check_boxes(boxes, gpus)
    nodes = members(boxes, gpus, "gpu", box)
    inner = [f"{box}{number}/nvswitch" for number in range(boxes)]
    links: list[FabricLink] = []
    for number, gpu in enumerate(nodes):
        links += duplex(gpu, inner[number // gpus], nvlink, "NVLink")
        if boxes > 1:
            links += duplex(gpu, outer[number % gpus % len(outer)], nic, "InfiniBand")
    switches = [*inner, *outer] if boxes > 1 else inner
    capable = inner if nvls else []
    return make_fabric(name, nodes, switches, links, multicast=capable, aggregation=capable)
