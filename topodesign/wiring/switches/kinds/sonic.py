"""SONiC circuit switches: configuration and shell commands.

Commands are those of two documents, which spell them differently:

``ocs``
    ``config ocs cross-connect add 1A-2B update``, of "OCS Support in SONiC", high level design, revision 0.5 of April
    20, 2026 (``doc/ocs/ocs_hld.md`` of sonic-net/SONiC), as the tests of sonic-mgmt use them, too. Takes lists and
    ranges, and a mode: ``update`` moves ports that are in use, ``safe`` refuses them, ``overwrite`` removes everything
    else.
``yang``
    ``config ocs-cross-connect add 1A-2B --a-side 1A --b-side 2B``, which ``sonic-cli-gen`` generates from the YANG
    model, of the "SONiC-OCS Developer Guide", revision 0.2 of August 19, 2026 (sonic-ocs/SONiC), and the example
    outputs beside it. Takes one circuit at a time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Literal

from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.base.strict_json import parse_json
from topodesign.wiring.inventory.devices import Panel
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.switches.kinds import Spelling
from topodesign.wiring.switches.switch import (
    Driver,
    Pair,
    SwitchStyle,
    format_pairs,
    number_ports,
    pair_name,
)

TABLE = "OCS_CROSS_CONNECT"
_PORTS = "OCS_PORT"
_PAIR = re.compile(r"0{0,8}([1-9][0-9]{0,8})A-0{0,8}([1-9][0-9]{0,8})B")  # spreadsheets and people add or drop zeros
_UNSAFE = re.compile(r"[^A-Za-z0-9_./:-]")
_WORDS = {"ocs": "config ocs cross-connect", "yang": "config ocs-cross-connect"}
_ROW = re.compile(r"\s*([1-9][0-9]{0,5})A-([1-9][0-9]{0,5})B\s+(.*)")
_HEAD = re.compile(r"\s*(?:id\s+a_side|cross connect id\s)", re.IGNORECASE)
_LIT = {"tuned", "connected", "enabled"}  # of the design document, and of the developer guide's examples


class Sonic(Driver):
    """Driver of SONiC circuit switches."""

    name = "sonic"
    summary = "cross-connects of SONiC circuit switches: CONFIG_DB (JSON) and commands"
    ending = ".json"
    answers = (".json", ".txt")
    takes = SwitchStyle._fields

    def files(self, plan: WiringPlan, panel: Panel, pairs: list[Pair], style: SwitchStyle) -> dict[str, str]:
        """Return a CONFIG_DB table and the same as commands.

        The table is ``{"OCS_CROSS_CONNECT": {"1A-2B": {"a_side": "1A", "b_side": "2B"}}}``, which ``config load``
        takes, and which leaves there what else is; a command ``config ocs cross-connect add 1A-2B update`` moves ports
        that are in use.
        """
        if style.batch and style.spelling == "yang":
            raise ParameterError(
                "--batch cannot be combined with --spelling yang, which takes one circuit at a time; remove one"
            )
        table: dict[str, dict[str, dict[str, str]]] = {
            TABLE: {pair_name((a, b)): {"a_side": f"{a}A", "b_side": f"{b}B"} for a, b in pairs}
        }
        commands = _list_commands(pairs, style)
        if style.labels:
            labels = _labels(plan, panel)
            table = {_PORTS: {side: {"label": label} for side, label in labels.items()}} | table
            form = "config ocs-port update {} --label {}" if style.spelling == "yang" else "config ocs port label {} {}"
            commands = [*(form.format(*item) for item in labels.items()), *commands]
        return {self.ending: json.dumps(table, indent=4) + "\n", ".sh": _shell_script(commands)}

    def stage(self, panel: Panel, remove: list[Pair], add: list[Pair], spelling: Spelling) -> tuple[str, str]:  # noqa: ARG002
        """Return commands that reject ports in use."""
        return ".sh", _shell_script([*_delete(remove, spelling), *_add(add, spelling, mode="safe")])

    def read_pairs(self, text: str, panel: Panel) -> Iterator[Pair]:  # noqa: ARG002
        """Yield the circuits of CONFIG_DB or ``show ocs cross-connect`` output."""
        if not text.lstrip().startswith("{"):
            yield from _read_table(text)
            return
        for a, b in _read_sides(text):
            match = _PAIR.fullmatch(f"{a}A-{b}B")
            if match is None:
                raise FileFormatError(f"a circuit goes from a side like 1A to one like 2B, not {a!r:.40} to {b!r:.40}")
            yield int(match[1]), int(match[2])

    def circuits(self, text: str, panel: Panel) -> Iterator[tuple[str, str]]:
        """Yield the ports by label, as CONFIG_DB spells them."""
        if text.lstrip().startswith("{") and not any(port.side for port in panel.ports):
            yield from _read_sides(text)
        else:
            yield from super().circuits(text, panel)


DRIVER = Sonic()


def _read_sides(text: str) -> Iterator[tuple[str, str]]:
    """Yield the ports of CONFIG_DB circuits, without side letters."""
    try:
        entries = [(name, entry["a_side"], entry["b_side"]) for name, entry in parse_json(text)[TABLE].items()]
    except (TypeError, KeyError, AttributeError):
        raise FileFormatError(f'expected {{"{TABLE}": {{"1A-2B": {{"a_side": "1A", ...}}}}}}') from None
    for name, a, b in entries:
        if not (isinstance(a, str) and isinstance(b, str) and a.endswith("A") and b.endswith("B")):
            raise FileFormatError(f"a circuit goes from a side like 1A to one like 2B, not {a!r} to {b!r}")
        if _PAIR.fullmatch(name) is not None and name != f"{a}-{b}":
            raise FileFormatError(f"{name!r} joins other ports, {a} and {b[:40]}")
        yield a[:-1], b[:-1]


def _read_table(text: str) -> Iterator[Pair]:
    """Yield circuits printed by ``show ocs cross-connect config`` or ``status``.

    Of a table of states those whose two sides are tuned.
    """
    heads = 0
    for number, line in enumerate(text.splitlines(), start=1):
        match = _ROW.fullmatch(line)
        if _HEAD.match(line):
            heads += 1
        elif match is not None and heads:
            a, b, words = int(match[1]), int(match[2]), match[3].split()
            states = words[2:] if words[:2] == [f"{a}A", f"{b}B"] else words[:1]
            if _LIT.issuperset(states):
                yield a, b
        elif set(line) - set("- "):
            raise FileFormatError(f"line {number}: expected a circuit such as '1A-2B  1A  2B', as 'show' prints it")
    if not heads:
        raise FileFormatError("expected the table that 'show ocs cross-connect config' prints")


def _shell_script(commands: Iterable[str]) -> str:
    """Return a shell script that stops at the first failure."""
    return "#!/bin/sh -e\n" + "".join(f"{'' if line.startswith('for ') else 'sudo '}{line}\n" for line in commands)


def _list_commands(pairs: list[Pair], style: SwitchStyle) -> list[str]:
    if style.only and pairs and style.spelling == "ocs":
        return _add(pairs, "ocs", mode="overwrite")
    adds = _add(pairs, style.spelling, batch=style.batch)
    if not style.only:
        return adds
    delete = _delete([(0, 0)], style.spelling)[0].replace(pair_name((0, 0)), '"${id#*|}"')
    wanted = "|".join([*map(pair_name, pairs), "-"])
    stale = f'case "${{id#*|}}" in {wanted}) ;; *) sudo {delete} ;; esac'
    return [f"for id in $(sonic-db-cli CONFIG_DB keys '{TABLE}|*'); do {stale}; done", *adds]


def _add(
    pairs: Collection[Pair],
    spelling: Spelling,
    *,
    mode: Literal["update", "safe", "overwrite"] = "update",
    batch: bool = True,
) -> list[str]:
    """Return commands that create circuits; only ``ocs`` supports modes and lists."""
    words = f"{_WORDS[spelling]} add"
    if spelling == "yang":
        return [f"{words} {pair_name((a, b))} --a-side {a}A --b-side {b}B" for a, b in pairs]
    named = [format_pairs(pairs)] if batch and pairs else map(pair_name, pairs)
    return [f"{words} {name} {mode}" for name in named]


def _delete(pairs: Collection[Pair], spelling: Spelling) -> list[str]:
    """Return the commands that remove circuits."""
    named = [format_pairs(pairs)] if pairs and spelling == "ocs" else map(pair_name, pairs)
    return [f"{_WORDS[spelling]} delete {name}" for name in named]


def _labels(plan: WiringPlan, panel: Panel) -> dict[str, str]:
    """Return a label, without spaces or quotes, per cabled port side."""
    found: dict[str, str] = {}
    numbers = number_ports(panel)
    for port in panel.ports:
        end = plan.net.end.get((panel.name, port.label))
        if end is not None:
            name = _UNSAFE.sub("_", f"{end.host}:{plan.interface(end)}")
            number = numbers[port.label]
            sides = {"": {"A": ":Tx", "B": ":Rx"}, "1": {"A": ""}, "2": {"B": ""}}[port.side]
            found |= {f"{number}{side}": f"{name}{what}" for side, what in sides.items()}
    return found
