"""Reader of ``rocm-smi --showtopo`` and ``amd-smi topology``.

Tables of weights and kinds of links between GPUs.

RCCL takes Infinity Fabric of the weights 13, 15 and 41 for one hop: 13 joins dies of one chip, 41 partitions of chips
that a link joins. Pairs with another weight reach each other over other GPUs. Neither specifies how many links
are side by side; ``amd-smi`` reports the bandwidth of a pair, in MB/s, and ``rocm-smi`` does not.

References
----------
ROCm System Management Interface, ``rocm-smi --help`` and ``amd-smi topology --help``; AMD Instinct MI200 system
optimization, hardware verification; weights of one hop: ROCm/rccl, ``src/misc/rocm_smi_wrap.cc``.
"""

from __future__ import annotations

import re
from fractions import Fraction

from topodesign.base.errors import FileFormatError
from topodesign.fabrics.machines.machine import Machine, Rate
from topodesign.fabrics.machines.matrices import rows_of, table_at, tree_of

_GPU = re.compile(r"GPU[0-9]+")
_NUMA = re.compile(r"GPU\[?\s*([0-9]{1,9})\]?\s*:\s*\(Topology\) Numa Node:\s*(-?[0-9]+)")
_BUS = re.compile(r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-9a-fA-F]")
_WEIGHT = re.compile(r"[0-9]{1,9}")
_RANGE = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")
_ONE_HOP = frozenset((13, 15, 41))


def read(text: str) -> Machine:
    """Read a box from text; FileFormatError for other text."""
    rows = rows_of(text)
    kinds = _table(rows, "link type")
    weights = _table(rows, "weight")
    widths = _table(rows, "numa bw") or {}
    if kinds is None:
        raise FileFormatError("no table of the link types between GPUs, as 'rocm-smi --showtopo' prints it")
    gpus = [a for a, b in kinds if a == b]
    named = {gpu: gpu.lower() if _GPU.fullmatch(gpu) else f"gpu{place}" for place, gpu in enumerate(gpus)}
    direct: dict[tuple[str, str], tuple[int, Rate]] = {}
    far: dict[int, int] = {}
    for (a, b), kind in kinds.items():
        if kind not in {"XGMI", "PCIE", "0", "N/A", "UNKNOWN", "SELF"} or (a == b) != (kind in {"0", "SELF"}):
            raise FileFormatError(f"{a} and {b} have the link type {kind[:20]!r}, which rocm-smi does not print there")
        if kind != "XGMI" or gpus.index(a) > gpus.index(b):
            continue
        weight = "15" if weights is None else weights.get((a, b), "15")
        if not _WEIGHT.fullmatch(weight):
            raise FileFormatError(f"the weight between {a} and {b} is not a number: {weight[:20]!r}")
        if int(weight) in _ONE_HOP:
            found = _RANGE.fullmatch(widths.get((a, b), ""))
            direct[named[a], named[b]] = 1, None if found is None else Fraction(int(found[2]), 1000) or None
        else:
            far[int(weight)] = far.get(int(weight), 0) + 1
    notes = []
    if weights is None and direct:
        notes.append("there are no weights: every pair of type XGMI is taken for a direct link")
    notes += [f"{many} pairs with XGMI of weight {one} reach each other over other GPUs" for one, many in far.items()]
    if weights is not None and "13" in weights.values():
        notes.append("pairs of weight 13 are dies of one chip, and carry what others do (RCCL: 13, 15, 41 are a hop)")
    if any(rate is not None for _, rate in direct.values()):
        notes.append("a link carries the most that NUMA BW TABLE says, in MB/s")
    numa = {f"gpu{int(one)}": place for one, place in _NUMA.findall(text)}
    names = list(named.values())
    near = {(a, b): 0 for a in names for b in names if a != b and a in numa and numa[a] == numa.get(b)}
    above = tree_of(names, near, 0) if numa else {}
    return Machine(tuple(names), "Infinity Fabric", direct, above=above, notes=tuple(notes))


def _table(rows: list[list[str]], title: str) -> dict[tuple[str, str], str] | None:
    """Return the cells of the table below a line, or None."""
    for place, words in enumerate(rows):
        heading = rows[place + 1][:1] if place + 1 < len(rows) else []
        if title in " ".join(words).lower() and heading and _is_gpu(heading[0]):
            return table_at(rows, place + 1, _is_gpu)
    return None


def _is_gpu(word: str) -> bool:
    return bool(_GPU.fullmatch(word) or _BUS.fullmatch(word))
