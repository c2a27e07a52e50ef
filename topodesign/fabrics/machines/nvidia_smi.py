"""What ``nvidia-smi topo -m`` prints.

A cell says how two devices are joined: ``NV#`` by so many NVLinks, else by the way over PCIe (``PIX``, ``PXB``,
``PHB``, ``NODE``, ``SYS``). Where a GPU would have more NVLinks than any has, they go to a switch, and each cell says
how many there are to it. Cells of NVLinks hide the way over PCIe; what is left tells it, or ``topo -mp`` does.

References
----------
NVIDIA System Management Interface, ``nvidia-smi topo --help`` and the legend that it prints.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from topodesign.base.errors import FileFormatError
from topodesign.fabrics.machines.machine import Machine
from topodesign.fabrics.machines.matrices import rows_of, table_at, tree_of

_GPU = re.compile(r"GPU[0-9]+")
_CARD = re.compile(r"NIC[0-9]+|(mlx|bnxt_re|irdma|efa|roce|hns|ionic|mana)[\w.-]*")
_NVLINKS = re.compile(r"NV([0-9]{1,3})")
_NEAR = {"PIX": 0, "PXB": 1, "PHB": 2, "NODE": 3}  # how far devices are from each other
_FAR = frozenset(("SYS", "X", "NS", "N/A", "OK"))
_MAX_LINKS = 18  # of a GPU, of NVLink 4 and 5
_MAX_OF_THREE = 12  # of a GPU, of NVLink 3, whose switches neither copy nor add
_LEGEND = re.compile(r"(NIC[0-9]+):")


def read(text: str) -> Machine:
    """Read a box from text; FileFormatError for other or contradictory text."""
    rows = rows_of(text)
    start = next((place for place, words in enumerate(rows) if words[:1] and _GPU.fullmatch(words[0])), None)
    if start is None:
        raise FileFormatError("no line begins with GPU0, as the heading of 'nvidia-smi topo -m' does")
    cells = table_at(rows, start, _is_device)
    for (a, b), cell in cells.items():
        if cells.get((b, a), cell) != cell:
            raise FileFormatError(f"{a} and {b} are joined by {cell} and by {cells[b, a]}")
        if (a == b) != (cell == "X") or not (_NVLINKS.fullmatch(cell) or cell in _NEAR or cell in _FAR):
            raise FileFormatError(f"{a} and {b} have the cell {cell[:20]!r}, which nvidia-smi does not print there")
    names = _names(rows, [a for a, b in cells if a == b])
    gpus = [name for device, name in names.items() if _GPU.fullmatch(device)]
    links = {
        (names[a], names[b]): int(found[1])
        for (a, b), cell in cells.items()
        if names[a] < names[b] and (found := _NVLINKS.fullmatch(cell))
    }
    most = {gpu: sum(count for pair, count in links.items() if gpu in pair) for gpu in gpus}
    above = tree_of(list(names.values()), _nearness(rows, start, cells, names), 3)
    nics = {name: None for device, name in names.items() if not _GPU.fullmatch(device)}
    if any(count > _MAX_LINKS for count in most.values()):
        ports = {gpu: max((count for pair, count in links.items() if gpu in pair), default=0) for gpu in gpus}
        switched = {gpu: (count, None) for gpu, count in ports.items() if count}
        reducing = min(ports.values()) > _MAX_OF_THREE
        return Machine(tuple(gpus), "NVLink", switched=switched, reducing=reducing, above=above, nics=nics)
    direct = {pair: (count, None) for pair, count in links.items()}
    return Machine(tuple(gpus), "NVLink", direct, above=above, nics=nics)


def _is_device(word: str) -> bool:
    return bool(_GPU.fullmatch(word) or _CARD.fullmatch(word))


def _names(rows: list[list[str]], devices: list[str]) -> dict[str, str]:
    """Return fabric names of devices."""
    legend = {found[1]: words[1] for words in rows if len(words) == 2 and (found := _LEGEND.fullmatch(words[0]))}
    names = {device: device.lower() if _GPU.fullmatch(device) else legend.get(device, device) for device in devices}
    if len(set(names.values())) < len(names):
        raise FileFormatError("two network cards have one name")
    return names


def _nearness(
    rows: list[list[str]], start: int, cells: Mapping[tuple[str, str], str], names: Mapping[str, str]
) -> dict[tuple[str, str], int]:
    """Return distances of devices, by cells and processors."""
    near = {(names[a], names[b]): _NEAR[cell] for (a, b), cell in cells.items() if cell in _NEAR}
    numa: dict[str, str] = {}
    width = sum(a == b for a, b in cells)
    for words in rows[start + 1 : start + 1 + width]:
        if _GPU.fullmatch(words[0]) and len(words) >= width + 3 and words[width + 2].isdecimal():
            numa[names[words[0]]] = words[width + 2]  # after the processors that are near
    for a, place in numa.items():
        for b, other in numa.items():
            if a < b and place == other:
                near.setdefault((a, b), 3)
    return near
