"""Reader of ``lstopo --of xml`` of hwloc 2.

Packages, bridges, PCIe devices, and bandwidths between GPUs.

Accelerators are what has the class of a 3D controller, a display or a processing accelerator; cards are what the
operating system knows as a network or an OpenFabrics device. Speeds of PCIe are in GB/s. Where hwloc was built with
NVML or RSMI, a matrix ``NVLinkBandwidth`` or ``XGMIBandwidth`` says in MB/s and direction what joins two GPUs, or a GPU
and a port of an NVSwitch.

References
----------
hwloc 2 documentation: XML files, I/O devices, ``hwloc_obj_osdev_type_e``, and heterogeneous distances.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from topodesign.base.errors import FileFormatError
from topodesign.fabrics.machines.machine import Machine, Rate
from topodesign.fabrics.machines.xml import number_of, parse_xml

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_ACCELERATORS = frozenset(("0300", "0302", "0380", "1200"))
_CONSOLES = frozenset(("1a03", "102b"))  # makers of the chips that a server's own console is drawn by
_NETWORKS = frozenset(("2", "3"))
_HOLDERS = frozenset(("Machine", "Package", "Group", "Die"))
_DEPTH = 128
_WHOLE = re.compile(r"[0-9]{1,18}")
_DECIMAL = re.compile(r"[0-9]{1,6}(\.[0-9]{1,9})?")


def read(text: str) -> Machine:
    """Read a box from text; FileFormatError for other text."""
    root = parse_xml(text, "topology", "lstopo")
    found = _ReadState()
    for machine in root.findall("object"):
        found.walk(machine, None, None, 0)
    return found.machine(root)


class _ReadState:
    """What has been read."""

    def __init__(self) -> None:
        self.gpus: list[tuple[str, Element]] = []
        self.above: dict[str, tuple[str, Rate]] = {}
        self.nics: dict[str, Rate] = {}
        self._bridges = 0
        self._places: dict[int, str] = {}  # holders, by identity

    def walk(self, element: Element, top: str | None, rate: Rate, depth: int) -> None:
        """Take in what is below an object."""
        if depth > _DEPTH:
            raise FileFormatError(f"objects are more than {_DEPTH} deep")
        for below in element.findall("object"):
            kind = below.get("type", "")
            if kind in {"Bridge", "PCIDev"}:
                self._device(element, below, top, rate, depth)
            elif kind not in {"OSDev", "Misc"}:
                self.walk(below, None if kind in _HOLDERS else top, None, depth + 1)

    def _device(self, holder: Element, device: Element, top: str | None, rate: Rate, depth: int) -> None:
        here = top or self._place(holder)
        own = _speed(device)
        own = rate if own is None else own if rate is None else min(own, rate)
        if device.get("type") == "Bridge":
            inner = [one for one in device.findall("object") if _matters(one)]
            if len(inner) > 1 and not device.get("bridge_type", "").startswith("0-"):
                name, self._bridges = f"pcie{self._bridges}", self._bridges + 1
                self.above[name] = here, own
                here, own = name, None
            self.walk(device, here, own, depth + 1)
        elif _is_accelerator(device):
            name = f"gpu{len(self.gpus)}"
            self.gpus.append((name, device))
            self.above[name] = here, own
        else:
            for card in _cards(device):
                if card not in self.nics:
                    self.nics[card] = None
                    self.above[card] = here, own

    def _place(self, holder: Element) -> str:
        """Return what a processor is called to whose bridges something hangs."""
        return self._places.setdefault(id(holder), f"cpu{len(self._places)}")

    def machine(self, root: Element) -> Machine:
        """Return the box."""
        kind = "NVLink"
        direct: dict[tuple[str, str], tuple[int, Rate]] = {}
        switched: dict[str, tuple[int, Rate]] = {}
        switches = {one.get("gp_index") for one in root.iter("object") if one.get("subtype") == "NVSwitch"}
        for table in root.findall("distances2hetero") + root.findall("distances2"):
            if table.get("name") in {"NVLinkBandwidth", "XGMIBandwidth"}:
                kind = "NVLink" if table.get("name") == "NVLinkBandwidth" else "Infinity Fabric"
                direct, switched = _matrix(table, self.gpus, switches)
        return Machine(tuple(name for name, _ in self.gpus), kind, direct, switched, above=self.above, nics=self.nics)


_Links: TypeAlias = tuple[dict[tuple[str, str], tuple[int, Rate]], dict[str, tuple[int, Rate]]]


def _matrix(table: Element, gpus: list[tuple[str, Element]], switches: set[str | None]) -> _Links:
    """Return GPU links and links to switches from the bandwidth matrix."""
    size = number_of(table, "nbobjs")
    marks = " ".join(one.text or "" for one in table.findall("indexes")).split()
    words = " ".join(one.text or "" for one in table.findall("u64values")).split()
    if len(marks) != size or len(words) != size * size or not all(map(_WHOLE.fullmatch, words)):
        raise FileFormatError(f"{table.get('name')} is to have {size} objects and {size}x{size} numbers")
    home = {one.get("gp_index"): name for name, device in gpus for one in device.iter("object")}
    numbers = [mark.split(":")[-1] for mark in marks]
    direct: dict[tuple[str, str], tuple[int, Rate]] = {}
    ports: dict[str, Fraction] = {}
    for row, one in enumerate(numbers):
        for column, other in enumerate(numbers):
            rate = Fraction(int(words[row * size + column]), 1000)
            a, b = home.get(one), home.get(other)
            if a is None or a == b or not rate:
                continue
            if b is not None and row < column:
                direct[a, b] = 1, rate
            elif other in switches:
                ports[a] = ports.get(a, Fraction(0)) + rate
    return direct, {gpu: (1, rate) for gpu, rate in ports.items()}


def _speed(device: Element) -> Rate:
    """Return the GB/s of the PCIe link above a device, or None."""
    said = device.get("pci_link_speed", "")
    return Fraction(said) or None if _DECIMAL.fullmatch(said) else None


def _is_accelerator(device: Element) -> bool:
    said = device.get("pci_type", "")
    return said[:4] in _ACCELERATORS and said[6:10] not in _CONSOLES


def _cards(device: Element) -> Iterator[str]:
    """Yield names of network cards, those of OpenFabrics if they have one."""
    names = [(one.get("osdev_type"), one.get("name", "")[:60]) for one in device.findall("object")]
    cards = [(kind, name) for kind, name in names if kind in _NETWORKS and name]
    best = max((kind for kind, _ in cards if kind), default=None)
    yield from (name for kind, name in cards if kind == best)


def _matters(device: Element) -> bool:
    """Return whether a bridge leads to an accelerator or a card, or belongs to one."""
    devices = [one for one in device.iter("object") if one.get("type") == "PCIDev"]
    return any(_is_accelerator(one) or any(True for _ in _cards(one)) for one in devices)
