"""What ``rocm-smi --showtopo`` prints: tables of weights and of kinds of links, and the processor of each GPU.

A link of Infinity Fabric has the least weight that there is, 15; pairs with more reach each other over other GPUs. How
many links are side by side, and what one carries, is not said.

References
----------
ROCm System Management Interface, ``rocm-smi --help``; AMD Instinct MI200 system optimization, hardware verification.
"""

from __future__ import annotations

import re

from topodesign.base.errors import FileFormatError
from topodesign.fabrics.machines.machine import Machine
from topodesign.fabrics.machines.matrices import rows_of, table_at, tree_of

_GPU = re.compile(r"GPU[0-9]+")
_NUMA = re.compile(r"GPU\[?\s*([0-9]+)\]?\s*:\s*\(Topology\) Numa Node:\s*(-?[0-9]+)")
_ONE_HOP = 15


def read(text: str) -> Machine:
    """Return what the text says of a box; FileFormatError if it is no such text."""
    rows = rows_of(text)
    kinds = _table(rows, "Link Type")
    weights = _table(rows, "Weight")
    if kinds is None:
        raise FileFormatError("no table of the link types between GPUs, as 'rocm-smi --showtopo' prints it")
    gpus = [a for a, b in kinds if a == b]
    direct = {}
    for (a, b), kind in kinds.items():
        if kind not in {"XGMI", "PCIE", "0", "N/A", "UNKNOWN"} or (a == b) != (kind == "0"):
            raise FileFormatError(f"{a} and {b} have the link type {kind[:20]!r}, which rocm-smi does not print there")
        if kind == "XGMI" and gpus.index(a) < gpus.index(b):
            weight = (weights or {}).get((a, b), str(_ONE_HOP))
            if not weight.isdecimal():
                raise FileFormatError(f"the weight between {a} and {b} is no number: {weight[:20]!r}")
            if int(weight) <= _ONE_HOP:
                direct[a.lower(), b.lower()] = 1, None
    numa = {f"gpu{int(one)}": place for one, place in _NUMA.findall(text)}
    names = [gpu.lower() for gpu in gpus]
    near = {(a, b): 0 for a in names for b in names if a != b and a in numa and numa[a] == numa.get(b)}
    return Machine(tuple(names), "Infinity Fabric", direct, above=tree_of(names, near, 0) if numa else {})


def _table(rows: list[list[str]], title: str) -> dict[tuple[str, str], str] | None:
    """Return the cells of the table that a line introduces; None if there is none."""
    for place, words in enumerate(rows):
        if title in " ".join(words) and place + 1 < len(rows) and rows[place + 1][:1] == ["GPU0"]:
            return table_at(rows, place + 1, lambda word: bool(_GPU.fullmatch(word)))
    return None
