"""Fabrics from the output of a machine's own tool."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Unpack

from topodesign.base.arguments import as_path
from topodesign.base.errors import ParameterError
from topodesign.base.options import read, takes
from topodesign.base.text_files import naming, read_text
from topodesign.base.wording import suggest
from topodesign.fabrics.drawing import GB
from topodesign.fabrics.machines import hwloc, nccl, nvidia_smi, rocm_smi
from topodesign.fabrics.machines.machine import Machine, Rates, fabric_of
from topodesign.fabrics.options import MachineOptions, MachineTool

if TYPE_CHECKING:
    from topodesign.fabrics.fabric import Fabric

_READERS: Mapping[MachineTool, Callable[[str], Machine]] = {
    "nvidia-smi-topo": nvidia_smi.read,
    "nccl-topo": nccl.read,
    "rocm-smi-topo": rocm_smi.read,
    "lstopo": hwloc.read,
}
_LARGEST = 16 * 2**20


class ReadMachine(NamedTuple):
    """A machine's fabric, with the assumptions made, one sentence each."""

    fabric: Fabric
    assumed: tuple[str, ...]


@takes(MachineOptions)
def fabric_of_machine(path: str | Path, **options: Unpack[MachineOptions]) -> ReadMachine:
    r"""Make a fabric from the output of a machine's own tool.

    Parameters
    ----------
    path
        The tool's output: of ``nvidia-smi topo -m`` (or ``-mp``), the file of NCCL's or RCCL's
        ``NCCL_TOPO_DUMP_FILE``, of ``rocm-smi --showtopo`` or ``amd-smi topology``, or of ``lstopo --of xml``.
    **options
        What counts where the tool does not say.

    Raises
    ------
    FileFormatError
        If the file is no such output; the message names it.
    ParameterError, UnitError, TooLargeError
        If an option is wrong, or what cards carry is open and has to be known.

    Examples
    --------
    >>> from pathlib import Path
    >>> from topodesign import fabric_of_machine
    >>> text = "      GPU0 GPU1\nGPU0  X    NV4\nGPU1  NV4  X\n"
    >>> _ = Path("topo.txt").write_text(text)
    >>> made = fabric_of_machine("topo.txt", tool="nvidia-smi-topo")
    >>> print(made.fabric)
    topo: 2 nodes, 0 switches
    """
    asked = read(MachineOptions, options, "fabric_of_machine")
    if asked["tool"] is None:
        raise ParameterError(f"tool is to be one of {', '.join(_READERS)}")
    path = as_path(path)
    given = {name: asked[name] for name in ("link", "pcie", "sockets", "nic")}
    rates = Rates(**{name: None if bits is None else bits / (8 * GB) for name, bits in given.items()})
    with naming(path):
        machine = _READERS[asked["tool"]](read_text(path, largest=_LARGEST))
    chosen = machine if asked["nics"] is None else _with_cards(machine, asked["nics"])
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", path.stem)[:60] or "machine"
    fabric, assumed = fabric_of(chosen, name, asked["boxes"], rates, asked["with_pcie"])
    return ReadMachine(fabric, tuple(assumed))


def _with_cards(machine: Machine, words: str) -> Machine:
    """Return the machine with the cards that names and patterns choose."""
    chosen: set[str] = set()
    for word in filter(None, (word.strip() for word in words.split(","))):
        found = {name for name in machine.nics if fnmatchcase(name, word)}
        if not found:
            raise ParameterError(f"no network card is called {word!r}; {suggest(word, list(machine.nics))}")
        chosen |= found
    above = {name: top for name, top in machine.above.items() if name in chosen or name not in machine.nics}
    nics = {name: rate for name, rate in machine.nics.items() if name in chosen}
    return replace(machine, above=above, nics=nics)
