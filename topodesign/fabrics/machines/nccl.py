"""The topology that NCCL and RCCL write to the file that ``NCCL_TOPO_DUMP_FILE`` names.

    <system version="1"> <cpu numaid="0"> <pci busid link_speed link_width> ... <gpu dev sm>
      <nvlink target count tclass>

Speeds of PCIe are per lane, those of cards (``net``) in Mb/s. An ``nvlink`` goes to what has the bus number ``target``;
its ``tclass`` is 0x068000 where that is a switch. What a link carries follows from the generation of the GPU (``sm``).

References
----------
NVIDIA Collective Communications Library documentation, environment variables, ``NCCL_TOPO_DUMP_FILE``; data sheets of
V100, A100, H100 (NVLink 2 to 4: 25 GB/s a link and direction) and B200 (NVLink 5: 50 GB/s); of P100 (20 GB/s).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from topodesign.base.errors import FileFormatError
from topodesign.fabrics.machines.machine import Machine, Rate
from topodesign.fabrics.machines.xml import number_of, parse_xml

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_SWITCH = "0x0680"  # how the class of a bridge that is an NVSwitch begins
_DEPTH = 64
_SPEED = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,3})?) GT/s")
_NVLINK = {60: 20, 70: 25, 72: 25, 80: 25, 90: 25, 100: 50, 103: 50}  # GB/s of a link by generation
_NVLS = 90  # the generation from which on switches copy and add


def read(text: str) -> Machine:
    """Return what the text says of a box; FileFormatError if it is no such text."""
    found = _Found()
    root = parse_xml(text, "system", "NCCL")
    for number, cpu in enumerate(root.findall("cpu")):
        found.device(cpu, f"cpu{number}", None, 0)
    return found.machine()


class _Found:
    """What has been read."""

    def __init__(self) -> None:
        self.gpus: dict[str, tuple[int, Element]] = {}  # by bus: number, and what is said of it
        self.above: dict[str, tuple[str, Rate]] = {}
        self.nics: dict[str, Rate] = {}
        self._count: Counter[str] = Counter()

    def device(self, element: Element, top: str, rate: Rate, depth: int) -> None:
        """Take in what is below a processor or a bridge, ``rate`` the least of PCIe on the way."""
        if depth > _DEPTH:
            raise FileFormatError(f"PCIe is more than {_DEPTH} bridges deep")
        for below in element:
            if below.tag == "pci":
                own = min((one for one in (rate, _pcie(below)) if one is not None), default=None)
                inner = [one for one in below if one.tag in {"pci", "gpu", "nic"}]
                place = top
                if len(inner) > 1:
                    place = f"pcie{self._count['pcie']}"
                    self._count["pcie"] += 1
                    self.above[place], own = (top, own), None
                self.device(below, place, own, depth + 1)
            elif below.tag == "gpu":
                number, bus = number_of(below, "dev"), element.get("busid", "")
                if bus in self.gpus or f"gpu{number}" in self.above:
                    raise FileFormatError(f"GPU {number} is there twice")
                self.gpus[bus] = number, below
                self.above[f"gpu{number}"] = top, rate
            elif below.tag == "nic":
                for net in below.iter("net"):
                    name = net.get("name", "")[:60] or "nic"
                    self._count[name] += 1
                    name += f".{self._count[name] - 1}" if self._count[name] > 1 else ""
                    self.nics[name] = Fraction(number_of(net, "speed"), 8000) or None
                    self.above[name] = top, rate

    def machine(self) -> Machine:
        """Return the box."""
        names = {bus: f"gpu{number}" for bus, (number, _) in self.gpus.items()}
        direct: dict[tuple[str, str], tuple[int, Rate]] = {}
        switched: dict[str, tuple[int, Rate]] = {}
        least = min((number_of(gpu, "sm", 0) for _, gpu in self.gpus.values()), default=0)
        kind = "NVLink"
        for bus, (_, gpu) in self.gpus.items():
            for link, count, rate in _links(gpu):
                kind = "Infinity Fabric" if link.tag == "xgmi" else kind
                other = names.get(link.get("target", ""))
                if other is not None:
                    direct[min(names[bus], other), max(names[bus], other)] = count, rate
                elif link.get("tclass", "").startswith(_SWITCH):
                    switched[names[bus]] = switched.get(names[bus], (0, None))[0] + count, rate
        gpus = sorted(names.values(), key=lambda name: int(name[3:]))
        return Machine(tuple(gpus), kind, direct, switched, least >= _NVLS, self.above, self.nics)


def _links(gpu: Element) -> Iterator[tuple[Element, int, Rate]]:
    """Yield the links of a GPU, how many there are side by side, and what one carries."""
    for link in gpu:
        if link.tag in {"nvlink", "xgmi"}:
            rate = _NVLINK.get(number_of(gpu, "sm", 0)) if link.tag == "nvlink" else None
            yield link, number_of(link, "count"), None if rate is None else Fraction(rate)


def _pcie(element: Element) -> Rate:
    """Return what the link of PCIe above a device carries; None if it is not said."""
    speed = _SPEED.match(element.get("link_speed", ""))
    width = number_of(element, "link_width", 0)
    return Fraction(speed[1]) * width / 8 if speed and width else None
