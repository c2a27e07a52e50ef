"""Device tables of ``nvidia-smi`` and ``rocm-smi``, and the tree they imply."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from topodesign.base.errors import FileFormatError
from topodesign.fabrics.machines.machine import Rate

_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")  # headings are underlined where a terminal is written to
MAX = 1024  # devices of a table


def rows_of(text: str) -> list[list[str]]:
    """Return the words of each line without terminal codes."""
    return [_ESCAPE.sub("", line).split() for line in text.split("\n")]


def table_at(rows: Sequence[list[str]], start: int, device: Callable[[str], bool]) -> dict[tuple[str, str], str]:
    """Return the cells by device of the table with its heading at a line.

    Columns and rows whose names are no device are omitted; rows end with the first line that is none.
    """
    names = rows[start]
    columns = [place for place, name in enumerate(names) if device(name)]
    if not columns or columns != list(range(columns[0], columns[0] + len(columns))):
        raise FileFormatError(f"line {start + 1}: columns of devices are expected side by side")
    if len(columns) > MAX or len({names[place] for place in columns}) < len(columns):
        raise FileFormatError(f"line {start + 1}: at most {MAX} devices with different names are expected")
    cells: dict[tuple[str, str], str] = {}
    for number, words in enumerate(rows[start + 1 :], start + 2):
        if not words or not device(words[0]):
            break
        if len(words) <= len(columns):
            raise FileFormatError(f"line {number}: {len(columns)} cells are expected, not {len(words) - 1}")
        for place, cell in zip(columns, words[1:], strict=False):
            if (words[0], names[place]) in cells:
                raise FileFormatError(f"line {number}: {words[0]} is there twice")
            cells[words[0], names[place]] = cell
    missing = next((names[at] for at in columns if (names[at], names[at]) not in cells), None)
    if missing is not None:
        raise FileFormatError(f"line {start + 1}: {missing} has a column and no row")
    return cells


def tree_of(devices: Sequence[str], near: Mapping[tuple[str, str], int], most: int) -> dict[str, tuple[str, Rate]]:
    """Return the parent of each device and switch.

    Processors, named ``cpu0`` and so on, have none.

    ``near``: how far pairs of devices are from each other: 0 for one PCIe switch, 1 for several, 2 for a host bridge, 3
    for a processor; what is further away or not known is not there. ``most``: the level of a processor, below which
    everything hangs on one.
    """
    above: dict[str, tuple[str, Rate]] = {}
    below: dict[str, tuple[str, ...]] = {
        device: (device,) for device in devices
    }  # what hangs on nothing yet, and the devices below it
    for level in range(most + 1):
        whole = level == most
        number = 0
        for group in _groups(devices, {pair for pair, far in near.items() if far <= level}):
            tops = [top for top, those in below.items() if those[0] in group]
            if len(tops) < 2 and not whole:
                continue
            name = f"{'cpu' if whole else ('pcie', 'bridge', 'host')[min(level, 2)]}{number}"
            number += 1
            for top in tops:
                above[top] = name, None
                del below[top]
            below[name] = tuple(group)
    return above


def _groups(devices: Sequence[str], pairs: set[tuple[str, str]]) -> list[list[str]]:
    """Return the devices in groups joined by pairs, each in order."""
    home = {device: [device] for device in devices}
    for a, b in sorted(pairs):
        if home[a] is not home[b]:
            joined = home[a] + home[b]
            for device in joined:
                home[device] = joined
    order = {device: place for place, device in enumerate(devices)}
    groups = {id(group): sorted(group, key=order.__getitem__) for group in home.values()}
    return sorted(groups.values(), key=lambda group: order[group[0]])
