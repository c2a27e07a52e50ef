"""Switches that take SCPI over TCP, as Polatis makes them: a line for a command, a line for an answer.

After every command the switch is asked for its last error, and its answer means that the command was worked through. A
connection on which anything went wrong is given up, so that a late answer is never taken for that to another question.
"""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Collection

from topodesign.wiring.switches.switch import Access, Address, NoAnswerError, Reading, RefusedError
from topodesign.wiring.exports.switch_commands import Pair, read_scpi_lists, scpi_add, scpi_remove

_MOST_LETTERS = 2**20  # of an answer
_MOST_ERRORS = 32  # that a switch keeps
_ERROR = re.compile(r'\s*([+-]?[0-9]{1,6})\s*(?:,\s*"?([^"]*)"?.*)?')
_SIZE = re.compile(r"\s*\(?\s*([0-9]{1,6})\s*,\s*([0-9]{1,6})\s*\)?\s*")


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
        pairs = read_scpi_lists(said)
        if pairs is None:
            raise self._nonsense(said, "port lists such as (@1,2),(@18,17)")
        circuits = frozenset((min(pair), max(pair) - self._size) for pair in pairs)
        sides = {("A", a) for a, _ in circuits} | {("B", b) for _, b in circuits}
        if len(sides) < 2 * len(pairs) or not all(0 < a <= self._size and b > 0 for a, b in circuits):
            raise self._nonsense(said, "every port once")
        return Reading(circuits)

    def remove(self, pairs: Collection[Pair]) -> None:
        """Remove circuits."""
        self._order(scpi_remove(pairs, self._size)[0])

    def add(self, pairs: Collection[Pair]) -> None:
        """Make circuits."""
        self._order(scpi_add(pairs, self._size)[0])

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
