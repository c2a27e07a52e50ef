"""Switches that take SCPI, as Polatis makes them: ports by number, a line for a command, a line for an answer.

Commands are ``:OXC:SWITch:CONNect:ADD``, ``:SUB`` and ``:ONLY`` with port lists, ``:OXC:SWITch:DISConnect:ALL``. Light
enters by ports 1 to N and leaves by those from N + 1 on: side B of port 12 is 12 and the number of ports of the switch.
They were read in programs that are used with such switches, whose manual is not public.

After every command the switch is asked for its last error, and its answer means that the command was worked through. A
connection on which anything went wrong is given up, so that a late answer is never taken for that to another question.
"""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Collection, Iterable, Iterator

from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.wiring.inventory.devices import Panel
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.switches.kinds import Spelling
from topodesign.wiring.switches.switch import (
    Access,
    Address,
    Driver,
    NoAnswerError,
    Pair,
    Reading,
    RefusedError,
    SwitchStyle,
    port_number,
)

_ADD, _REMOVE, _ONLY = (f":OXC:SWITch:CONNect:{word}" for word in ("ADD", "SUB", "ONLY"))
_NOTHING = ":OXC:SWITch:DISConnect:ALL"
_MAKES = re.compile(r":?oxc:swit(?:ch)?:conn(?:ect)?:(?:add|only)\s+", re.IGNORECASE)
_CLEARS = re.compile(r":?oxc:swit(?:ch)?:disc(?:onnect)?:all", re.IGNORECASE)
_NUMBERS = r"\(\s*@\s*((?:[0-9]{1,9}(?:\s*,\s*[0-9]{1,9})*)?)\s*\)"
_LISTS = re.compile(rf"{_NUMBERS}\s*,\s*{_NUMBERS}")
_MOST_LETTERS = 2**20  # of an answer
_MOST_ERRORS = 32  # that a switch keeps
_ERROR = re.compile(r'\s*([+-]?[0-9]{1,6})\s*(?:,\s*"?([^"]*)"?.*)?')
_SIZE = re.compile(r"\s*\(?\s*([0-9]{1,6})\s*,\s*([0-9]{1,6})\s*\)?\s*")


class Scpi(Driver):
    """Switches as Polatis makes them."""

    name = "scpi"
    summary = "commands for circuit switches as Polatis makes them"
    port = 5025
    users = False
    ending = ".scpi"

    def check_style(self, style: SwitchStyle) -> None:
        """Refuse what only SONiC has."""
        if style.labels or style.spelling != "ocs":
            raise ParameterError("labels and another spelling are for format sonic; scpi has neither")

    def files(self, plan: WiringPlan, panel: Panel, pairs: list[Pair], style: SwitchStyle) -> dict[str, str]:  # noqa: ARG002
        """Return the commands, one a circuit: ``:OXC:SWITch:CONNect:ADD (@1),(@18)``."""
        size = ports_of(panel)
        if style.only:
            lines = [f"{_ONLY} {port_lists(pairs, size)}" if pairs else _NOTHING]
        else:
            lines = _commands(_ADD, pairs, size, batch=style.batch)
        return {self.ending: "".join(f"{line}\n" for line in lines)}

    def stage(self, panel: Panel, remove: list[Pair], add: list[Pair], spelling: Spelling) -> tuple[str, str]:  # noqa: ARG002
        """Return the commands, one for all circuits that go and one for all that come."""
        size = ports_of(panel)
        lines = [*_commands(_REMOVE, remove, size), *_commands(_ADD, add, size)]
        return self.ending, "".join(f"{line}\n" for line in lines)

    def circuits(self, text: str, panel: Panel) -> Iterator[tuple[str, str]]:
        """Yield what commands make, or what a switch answers when it is asked for its circuits."""
        size = ports_of(panel)
        for number, line in enumerate(text.splitlines(), start=1):
            said = line.strip().rstrip(";")
            if not said or _CLEARS.fullmatch(said):
                continue
            lists = _MAKES.sub("", said, count=1)
            found = _LISTS.findall(lists)
            if not found or _LISTS.sub("", lists).strip(" ,;"):
                raise FileFormatError(f"line {number}: expected port lists like (@1,2),(@18,17), or {_ADD} before them")
            for pair in found:
                entries, exits = map(_ports, pair)
                if len(entries) != len(exits):
                    raise FileFormatError(f"line {number}: {len(entries)} ports in and {len(exits)} ports out")
                if not all(0 < a <= size < b for a, b in zip(entries, exits, strict=True)):
                    raise FileFormatError(f"line {number}: not from ports 1 to {size} to those after")
                yield from ((str(a), str(b - size)) for a, b in zip(entries, exits, strict=True))

    def connect(self, address: Address, access: Access) -> ScpiSwitch:
        """Return a connection over TCP."""
        return ScpiSwitch(address, access)


DRIVER = Scpi()


def ports_of(panel: Panel) -> int:
    """Return the number of ports of a switch, all of which must be in the inventory to know it."""
    if sorted(port_number(panel, port.label) for port in panel.ports) != list(range(1, len(panel.ports) + 1)):
        raise ParameterError(f"SCPI numbers all ports of a switch: those of '{panel.name}' must be labelled from 1 on")
    return len(panel.ports)


def port_lists(pairs: Iterable[Pair], size: int) -> str:
    """Return two port lists, ``(@1,2),(@18,17)``, for a switch with so many ports that light enters by."""
    ordered = sorted(pairs)
    entries, exits = (",".join(map(str, side)) for side in ([a for a, _ in ordered], [size + b for _, b in ordered]))
    return f"(@{entries}),(@{exits})"


def read_port_lists(text: str) -> list[Pair] | None:
    """Return the pairs of port numbers that two port lists tell, as a switch numbers them; None if that is not one."""
    match = _LISTS.fullmatch(text.strip())
    entries, exits = ([], [0]) if match is None else map(_ports, match.groups())
    return list(zip(entries, exits, strict=True)) if len(entries) == len(exits) else None


def _ports(listed: str) -> list[int]:
    return [int(port) for port in listed.split(",")] if listed.strip() else []


def _commands(words: str, pairs: Collection[Pair], size: int, *, batch: bool = True) -> list[str]:
    """Return a command for all circuits, or one for each; none for none."""
    groups = [pairs] if batch and pairs else [[pair] for pair in pairs]
    return [f"{words} {port_lists(group, size)}" for group in groups]


class ScpiSwitch:
    """A switch by SCPI; see :class:`topodesign.wiring.switches.switch.Switch`."""

    portion = 32  # lines of some hundred letters, which small buffers take

    def __init__(self, address: Address, access: Access) -> None:
        self._address = address
        self._timeout = access.timeout
        self._socket: socket.socket | None = None
        self._heard = bytearray()
        self._size = 0  # of the ports that light enters by

    def connect(self) -> None:
        """Connect, forget old errors, and ask how many ports there are."""
        if self._socket is not None:
            return
        self._heard.clear()
        try:
            self._socket = socket.create_connection((self._address.host, self._address.port), self._timeout)
        except OSError as error:
            raise NoAnswerError(f"{self._address}: {error.strerror or error}") from None
        self._send("*CLS")
        said = self._ask(":OXC:SWITch:SIZE?")
        match = _SIZE.fullmatch(said)
        if match is None or not int(match[1]):
            raise self._nonsense(said, "its number of ports")
        self._size = int(match[1])

    def close(self) -> None:
        """End the connection."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def read(self) -> Reading:
        """Return the circuits."""
        self.connect()
        said = self._ask(":OXC:SWITch:CONNect:STATe?")
        pairs = read_port_lists(said)
        if pairs is None:
            raise self._nonsense(said, "port lists such as (@1,2),(@18,17)")
        circuits = frozenset((min(pair), max(pair) - self._size) for pair in pairs)
        sides = {("A", a) for a, _ in circuits} | {("B", b) for _, b in circuits}
        if len(sides) < 2 * len(pairs) or not all(0 < a <= self._size and b > 0 for a, b in circuits):
            raise self._nonsense(said, "every port once")
        return Reading(circuits)

    def remove(self, pairs: Collection[Pair]) -> None:
        """Remove circuits."""
        self._order(f"{_REMOVE} {port_lists(pairs, self._size)}")

    def add(self, pairs: Collection[Pair]) -> None:
        """Make circuits."""
        self._order(f"{_ADD} {port_lists(pairs, self._size)}")

    def _order(self, command: str) -> None:
        """Give a command, and raise RefusedError if the switch has an error then."""
        self._send(command)
        refused = ""
        for _ in range(_MOST_ERRORS):
            said = self._ask(":SYSTem:ERRor?")
            match = _ERROR.fullmatch(said)
            if match is None:
                raise self._nonsense(said, 'an error such as 0,"No error"')
            if not int(match[1]):
                break
            refused = refused or f"error {match[1]}{f', {match[2].strip()[:80]}' if match[2] else ''}"
        if refused:
            raise RefusedError(f"{self._address} refuses: {refused}")

    def _ask(self, question: str) -> str:
        self._send(question)
        until = time.monotonic() + self._timeout
        while b"\n" not in self._heard:
            left = until - time.monotonic()
            if left <= 0:
                raise self._lost(f"no answer in {self._timeout:g} s")
            if len(self._heard) > _MOST_LETTERS:
                raise self._lost("an answer without end")
            self._hear(left)
        line, _, rest = bytes(self._heard).partition(b"\n")
        self._heard[:] = rest
        if rest:  # more than was asked for: what belongs to which question is not known
            raise self._lost("more answers than questions")
        try:
            return line.decode("ascii").strip()
        except UnicodeDecodeError:
            raise self._lost("an answer that is no text") from None

    def _hear(self, seconds: float) -> None:
        if self._socket is None:
            raise self._lost("the connection is gone")
        try:
            self._socket.settimeout(seconds)
            some = self._socket.recv(65536)
        except TimeoutError:
            return
        except OSError as error:
            raise self._lost(error.strerror or str(error)) from None
        if not some:
            raise self._lost("it ended the connection")
        self._heard += some

    def _send(self, line: str) -> None:
        if self._socket is None:
            raise self._lost("the connection is gone")
        try:
            self._socket.settimeout(self._timeout)
            self._socket.sendall(f"{line}\n".encode("ascii"))
        except OSError as error:
            raise self._lost(error.strerror or str(error)) from None

    def _lost(self, why: str) -> NoAnswerError:
        self.close()
        return NoAnswerError(f"{self._address}: {why}")

    def _nonsense(self, said: str, expected: str) -> NoAnswerError:
        return self._lost(f"expected {expected}, not '{''.join(c if c.isprintable() else ' ' for c in said[:60])}'")
