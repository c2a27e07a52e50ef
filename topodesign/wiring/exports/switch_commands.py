"""Commands for optical circuit switches, as text: one by one, in lists and ranges, and port lists as they answer.

SONiC's commands are those of two documents, which spell them differently:

``ocs``
    ``config ocs cross-connect add 1A-2B update``, of "OCS Support in SONiC", high level design, revision 0.5 of April
    20, 2026 (``doc/ocs/ocs_hld.md`` of sonic-net/SONiC), as the tests of sonic-mgmt use them, too. Takes lists and
    ranges, and a mode: ``update`` moves ports that are in use, ``safe`` refuses them, ``overwrite`` removes everything
    else.
``yang``
    ``config ocs-cross-connect add 1A-2B --a-side 1A --b-side 2B``, which ``sonic-cli-gen`` generates from the YANG
    model, of the "SONiC-OCS Developer Guide", revision 0.2 of August 19, 2026 (sonic-ocs/SONiC), and the example
    outputs beside it. Takes one circuit at a time.

SCPI commands are those that Polatis switches take: ``:OXC:SWITch:CONNect:ADD``, ``:SUB`` and ``:ONLY`` with port lists,
``:OXC:SWITch:DISConnect:ALL``. Light enters by ports 1 to N there and leaves by those from N + 1 on. They were read in
programs that are used with such switches, whose manual is not public.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Literal, get_args

Pair = tuple[int, int]
"""A circuit by the numbers of its ports: light enters by side A of the first and leaves by side B of the second."""

Spelling = Literal["ocs", "yang"]
SPELLINGS: tuple[Spelling, ...] = get_args(Spelling)

_NUMBERS = r"\(\s*@\s*([0-9]{0,9}(?:\s*,\s*[0-9]{1,9})*)\s*\)"
_LISTS = re.compile(rf"{_NUMBERS}\s*,\s*{_NUMBERS}")


def pair_name(pair: Pair) -> str:
    """Return a circuit as SONiC names it, such as ``1A-2B``."""
    return f"{pair[0]}A-{pair[1]}B"


def listed_pairs(pairs: Iterable[Pair]) -> str:
    """Return circuits as SONiC takes several: ``1A-5B,10A..12A-20B..22B``, in order of side A."""
    found = []
    for first, last in _runs(sorted(pairs)):
        if first == last:
            found.append(pair_name(first))
        else:
            found.append(f"{first[0]}A..{last[0]}A-{first[1]}B..{last[1]}B")
    return ",".join(found)


def _runs(pairs: list[Pair]) -> Iterator[tuple[Pair, Pair]]:
    """Yield the first and the last of circuits whose ports count up together."""
    first = last = None
    for pair in pairs:
        if last is not None and pair == (last[0] + 1, last[1] + 1):
            last = pair
            continue
        if first is not None and last is not None:
            yield first, last
        first = last = pair
    if first is not None and last is not None:
        yield first, last


def sonic_add(pairs: Iterable[Pair], spelling: Spelling, *, mode: str = "update", batch: bool = True) -> list[str]:
    """Return the commands that make circuits; none for none.

    Only ``ocs`` knows modes (``update``, ``safe`` or ``overwrite``), and lists for one command for all.
    """
    pairs = list(pairs)
    if spelling == "yang":
        return [f"config ocs-cross-connect add {pair_name((a, b))} --a-side {a}A --b-side {b}B" for a, b in pairs]
    if batch and pairs:
        return [f"config ocs cross-connect add {listed_pairs(pairs)} {mode}"]
    return [f"config ocs cross-connect add {pair_name(pair)} {mode}" for pair in pairs]


def sonic_delete(pairs: Iterable[Pair], spelling: Spelling, *, batch: bool = True) -> list[str]:
    """Return the commands that remove circuits; none for none."""
    pairs = list(pairs)
    words = "config ocs-cross-connect delete" if spelling == "yang" else "config ocs cross-connect delete"
    if batch and pairs and spelling == "ocs":
        return [f"{words} {listed_pairs(pairs)}"]
    return [f"{words} {pair_name(pair)}" for pair in pairs]


def sonic_label(side: str, label: str, spelling: Spelling) -> str:
    """Return the command that labels one side of a port, such as ``1A``; the label has no spaces or quotes."""
    if spelling == "yang":
        return f"config ocs-port update {side} --label {label}"
    return f"config ocs port label {side} {label}"


def scpi_lists(pairs: Iterable[Pair], size: int) -> str:
    """Return two port lists, ``(@1,2),(@18,17)``, for a switch with so many ports that light enters by."""
    ordered = sorted(pairs)
    entries, exits = (",".join(map(str, side)) for side in ([a for a, _ in ordered], [size + b for _, b in ordered]))
    return f"(@{entries}),(@{exits})"


def scpi_add(pairs: Iterable[Pair], size: int, *, batch: bool = True) -> list[str]:
    """Return the commands that make circuits; none for none."""
    return _scpi(":OXC:SWITch:CONNect:ADD", pairs, size, batch=batch)


def scpi_remove(pairs: Iterable[Pair], size: int, *, batch: bool = True) -> list[str]:
    """Return the commands that remove circuits; none for none."""
    return _scpi(":OXC:SWITch:CONNect:SUB", pairs, size, batch=batch)


def scpi_only(pairs: Iterable[Pair], size: int) -> str:
    """Return the command that makes these circuits and removes all others."""
    pairs = list(pairs)
    return f":OXC:SWITch:CONNect:ONLY {scpi_lists(pairs, size)}" if pairs else ":OXC:SWITch:DISConnect:ALL"


def read_scpi_lists(text: str) -> list[Pair] | None:
    """Return the pairs of port numbers that two port lists tell, as a switch numbers them; None if that is not one."""
    match = _LISTS.fullmatch(text.strip())
    if match is None:
        return None
    entries, exits = ([int(port) for port in side.split(",")] if side.strip() else [] for side in match.groups())
    return list(zip(entries, exits, strict=True)) if len(entries) == len(exits) else None


def _scpi(words: str, pairs: Iterable[Pair], size: int, *, batch: bool) -> list[str]:
    pairs = list(pairs)
    groups = [pairs] if batch and pairs else [[pair] for pair in pairs]
    return [f"{words} {scpi_lists(group, size)}" for group in groups]
