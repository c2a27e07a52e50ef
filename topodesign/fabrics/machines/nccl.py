"""Reader of the topology dump of NCCL and RCCL.

They write it to the file of ``NCCL_TOPO_DUMP_FILE``.

    <system version="1"> <cpu numaid="0"> <pci busid link_speed link_width> ... <gpu dev sm>
      <nvlink target count tclass>

Speeds of PCIe are per lane, those of cards (``net``) in Mb/s. An ``nvlink`` goes to what has the bus number ``target``;
its ``tclass`` is 0x068000 where that is a switch, and 0x068001 where it is a processor (POWER). Bus numbers are
compared as numbers. What a link carries follows from the generation of the GPU (``sm``). Files that clouds write for
``NCCL_TOPO_FILE`` have no ``gpu`` and no ``nic``: accelerators and cards are then known by the class of their devices.
A domain of several hosts has the ``host_hash`` of each.

References
----------
NVIDIA Collective Communications Library documentation, environment variables, ``NCCL_TOPO_DUMP_FILE``; classes of
devices: NVIDIA/nccl, ``src/graph/topo.cc``; data sheets of V100, A100, H100 (NVLink 2 to 4: 25 GB/s a link and
direction), B200 (NVLink 5: 50 GB/s), P100 (20 GB/s), and RTX A6000 (four links: 112.5 GB/s both ways).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from topodesign.base.errors import FileFormatError
from topodesign.fabrics.machines.machine import CARD, Machine, Rate
from topodesign.fabrics.machines.xml import number_of, parse_xml

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_SWITCH, _PROCESSOR = "0x068000", "0x068001"  # classes of what NVLinks go to, beside GPUs
_GPU_CLASS, _NIC_CLASS = "0x03", "0x02"  # how classes of devices begin
_DEPTH = 64
_SPEED = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,3})?) GT/s")
_NVLINK: dict[int, int | Fraction] = {60: 20, 70: 25, 72: 25, 80: 25, 86: Fraction(225, 16), 90: 25, 100: 50, 103: 50}
"""GB/s of a link by generation of the GPU."""
_NO_GPUS = "no <gpu> is in the file: devices of class 0x03 are taken for accelerators; links between them are unknown"
_NVLS = 90  # the generation from which on switches copy and add


def read(text: str) -> Machine:
    """Read a box from text; FileFormatError for other text."""
    root = parse_xml(text, "system", "NCCL")
    found = _ReadState(with_gpus=next(root.iter("gpu"), None) is not None)
    for number, cpu in enumerate(root.findall("cpu")):
        found.hosts[f"cpu{number}"] = cpu.get("host_hash", "")
        found.device(cpu, f"cpu{number}", None, 0)
    return found.machine()


class _ReadState:
    """What has been read."""

    def __init__(self, *, with_gpus: bool) -> None:
        self.with_gpus = with_gpus
        self.gpus: dict[tuple[str, object], tuple[str, str, Element]] = {}  # by host and bus: name, processor, element
        self.above: dict[str, tuple[str, Rate]] = {}
        self.nics: dict[str, Rate] = {}
        self.hosts: dict[str, str] = {}
        self._cpu = ""
        self._count: Counter[str] = Counter()

    def device(self, element: Element, top: str, rate: Rate, depth: int) -> None:
        """Add the devices below a processor or bridge.

        ``rate`` is the least PCIe rate on the way.
        """
        if depth > _DEPTH:
            raise FileFormatError(f"PCIe is more than {_DEPTH} bridges deep")
        self._cpu = top if depth == 0 else self._cpu
        for below in element:
            if below.tag == "pci":
                own = min((one for one in (rate, _pcie(below)) if one is not None), default=None)
                inner = [one for one in below if one.tag in {"pci", "gpu", "nic"}]
                kind = "" if inner or self.with_gpus else below.get("class", "")
                if kind.startswith(_GPU_CLASS):
                    self.gpu(below, below, top, own)
                elif kind.startswith(_NIC_CLASS):
                    self.card([below], top, own)
                place = top
                if len(inner) > 1:
                    place = f"pcie{self._count['pcie']}"
                    self._count["pcie"] += 1
                    self.above[place], own = (top, own), None
                self.device(below, place, own, depth + 1)
            elif below.tag == "gpu":
                self.gpu(below, element, top, rate)
            elif below.tag == "nic":
                self.card(list(below.iter("net")), top, rate)

    def gpu(self, gpu: Element, device: Element, top: str, rate: Rate) -> None:
        """Add an accelerator, named by its number or rank.

        By rank if several hosts have that number.
        """
        bus = self.hosts[self._cpu], _bus(device.get("busid", ""))
        number = number_of(gpu, "dev") if self.with_gpus else len(self.gpus)
        if f"gpu{number}" in self.above and self.hosts[self._cpu]:
            number = number_of(gpu, "rank")
        if bus in self.gpus or f"gpu{number}" in self.above:
            raise FileFormatError(f"GPU {number} is there twice")
        self.gpus[bus] = f"gpu{number}", self._cpu, gpu
        self.above[f"gpu{number}"] = top, rate

    def card(self, ports: list[Element], top: str, rate: Rate) -> None:
        """Take in a card; several ports share what its PCIe carries."""
        if len(ports) > 1:
            place = f"{CARD}{self._count[CARD]}"
            self._count[CARD] += 1
            self.above[place] = top, rate
            top, rate = place, None
        for net in ports:
            name = net.get("name", "")[:60] or f"nic{self._count['nic']}"
            self._count["nic"] += 1
            self._count[name] += 1
            name += f".{self._count[name] - 1}" if self._count[name] > 1 else ""
            self.nics[name] = Fraction(number_of(net, "speed", 0), 8000) or None
            self.above[name] = top, rate

    def machine(self) -> Machine:
        """Return the box."""
        counts: dict[tuple[str, str], tuple[int, Rate]] = {}
        switched: dict[str, tuple[int, Rate]] = {}
        least = min((number_of(gpu, "sm", 0) for _, _, gpu in self.gpus.values()), default=0)
        kind = "NVLink"
        for (host, _), (name, cpu, gpu) in self.gpus.items():
            for link, count, rate in _links(gpu):
                kind = "Infinity Fabric" if link.tag == "xgmi" else kind
                other = self.gpus.get((host, _bus(link.get("target", ""))), ("", "", None))[0]
                if not other and link.get("tclass", "").startswith(_PROCESSOR):
                    other = cpu
                if other:
                    counts[name, other] = counts.get((name, other), (0, None))[0] + count, rate
                elif link.get("tclass", "").startswith(_SWITCH):
                    switched[name] = switched.get(name, (0, None))[0] + count, rate
        direct: dict[tuple[str, str], tuple[int, Rate]] = {}
        for (a, b), (count, rate) in counts.items():
            back = counts.get((b, a), (count, rate))[0]
            if back != count:
                raise FileFormatError(f"{a} has {count} links to {b}, and {b} has {back} to {a}")
            direct[(a, b) if (b, a) not in direct else (b, a)] = count, rate
        notes = () if self.with_gpus else (_NO_GPUS,)
        gpus = sorted((name for name, _, _ in self.gpus.values()), key=lambda name: int(name[3:]))
        several = self.hosts if len(set(self.hosts.values())) > 1 else {}
        return Machine(tuple(gpus), kind, direct, switched, least >= _NVLS, self.above, self.nics, several, notes)


def _bus(text: str) -> object:
    """Return a bus number as an integer, as NCCL compares them."""
    digits = re.sub(r"[:.]", "", text)
    return int(digits, 16) if re.fullmatch(r"[0-9a-fA-F]{1,16}", digits) else text


def _links(gpu: Element) -> Iterator[tuple[Element, int, Rate]]:
    """Yield the links of a GPU, their number and the rate of one."""
    for link in gpu:
        if link.tag in {"nvlink", "xgmi"}:
            rate = _NVLINK.get(number_of(gpu, "sm", 0)) if link.tag == "nvlink" else None
            yield link, number_of(link, "count"), None if rate is None else Fraction(rate)


def _pcie(element: Element) -> Rate:
    """Return the rate of the PCIe link above a device, or None."""
    speed = _SPEED.match(element.get("link_speed", ""))
    width = number_of(element, "link_width", 0)
    return Fraction(speed[1]) * width / 8 if speed and width else None
