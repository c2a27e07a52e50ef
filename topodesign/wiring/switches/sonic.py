"""Switches that run SONiC, by the commands of its shell over SSH.

Of the two spellings of the commands see :mod:`topodesign.wiring.exports.switch_commands`. What a switch is configured
to do and what it does are two tables; a circuit that is in either takes its ports. One that is only done, and not
configured, cannot be deleted before it is added, which is what the module ``ocs_cross_connect`` of sonic-mgmt does
about it, too.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from topodesign.base.errors import MissingLibraryError
from topodesign.wiring.switches.switch import (
    PASSWORD,
    Access,
    Address,
    NoAnswerError,
    Reading,
    RefusedError,
    SwitchError,
)
from topodesign.wiring.exports.switch_commands import Pair, sonic_add, sonic_delete

if TYPE_CHECKING:
    import paramiko

_SHOW = {
    "ocs": ("show ocs cross-connect config", "show ocs cross-connect status"),
    "yang": ("show ocs-cross-connect", "show ocs-cross-connect-table"),
}
_ROW = re.compile(r"\s*([1-9][0-9]{0,5})A-([1-9][0-9]{0,5})B\s+(.*)")
_HEAD = re.compile(r"\s*(?:id\s+a_side|cross connect id\s)", re.IGNORECASE)
_LIT = {"tuned", "connected", "enabled"}  # of the design document, and of the developer guide's examples
_MOST_LETTERS = 2**22  # of an answer


class SonicSwitch:
    """A switch by SONiC's commands; see :class:`topodesign.wiring.switches.switch.Switch`."""

    def __init__(self, address: Address, access: Access) -> None:
        try:
            import paramiko as library  # noqa: PLC0415  an optional extra
        except ImportError:
            raise MissingLibraryError("SONiC switches need paramiko: pip install 'topodesign[switch]'") from None
        logging.getLogger("paramiko").addHandler(logging.NullHandler())  # what goes wrong is said once, and by us
        self._library = library
        self._address = address
        self._access = access
        self._client: paramiko.SSHClient | None = None
        self._only_done: frozenset[Pair] = frozenset()

    @property
    def portion(self) -> int:
        """Circuits that a command takes."""
        return 64 if self._access.spelling == "ocs" else 1

    def connect(self) -> None:
        """Log in with a key of the user or of an agent, or with a password of the environment."""
        if self._client is not None:
            return
        client = self._library.SSHClient()
        client.set_missing_host_key_policy(self._library.RejectPolicy())
        seconds = self._access.timeout
        try:
            hosts = self._access.known_hosts
            client.load_system_host_keys(None if hosts is None else str(hosts))
            client.connect(
                self._address.host,
                self._address.port,
                username=self._address.user,
                password=self._access.environment.get(PASSWORD),
                timeout=seconds,
                banner_timeout=seconds,
                auth_timeout=seconds,
            )
        except self._library.BadHostKeyException:
            client.close()
            raise SwitchError(f"{self._address} is not the machine that the known hosts say") from None
        except self._library.AuthenticationException:
            client.close()
            raise SwitchError(f"{self._address} lets nobody in with these keys; set {PASSWORD} or USER@") from None
        except (self._library.SSHException, OSError, EOFError) as error:
            client.close()
            if "not found in known_hosts" in str(error):
                raise SwitchError(
                    f"{self._address} is no known host; connect with ssh once and look at its key, or give a file of "
                    "known hosts"
                ) from None
            raise NoAnswerError(f"{self._address}: {_words(error)}") from None
        self._client = client

    def close(self) -> None:
        """Log out."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def read(self) -> Reading:
        """Return the circuits that are configured or done."""
        config, status = _SHOW[self._access.spelling]
        configured = {pair for pair, _ in self._rows(config)}
        done = dict(self._rows(status))
        unlit = {pair for pair in configured if not _LIT.issuperset(done.get(pair, ["missing"]))}
        self._only_done = frozenset(done.keys() - configured)
        return Reading(frozenset(configured | done.keys()), frozenset(unlit))

    def remove(self, pairs: Collection[Pair]) -> None:
        """Delete circuits."""
        only_done = self._only_done.intersection(pairs)
        self._orders(sonic_add(sorted(only_done), self._access.spelling))
        self._orders(sonic_delete(sorted(pairs), self._access.spelling))

    def add(self, pairs: Collection[Pair]) -> None:
        """Add circuits, unless a port is in use."""
        self._orders(sonic_add(sorted(pairs), self._access.spelling, mode="safe"))

    def _orders(self, commands: Iterable[str]) -> None:
        for command in commands:
            status, said = self._run(command if self._address.user == "root" else f"sudo -n {command}")
            low = said.lower()
            if status or ("succe" not in low and re.search(r"\b(error|invalid|fail|denied)", low)):
                words = " ".join(said.split())[:120]
                raise RefusedError(f"{self._address} refuses: {words or f'exit status {status}'}")

    def _rows(self, command: str) -> list[tuple[Pair, list[str]]]:
        """Return circuits of a table, and what the columns after the ports say."""
        status, said = self._run(command)
        head, *lines = [line for line in said.splitlines() if line.strip()] or [""]
        if status or not _HEAD.match(head):
            raise self._lost(f"expected the table of '{command}', not '{' '.join(said.split())[:60]}'")
        found = []
        for line in lines:
            match = _ROW.fullmatch(line)
            if match is not None:
                a, b, words = int(match[1]), int(match[2]), match[3].split()
                words = words[2:] if words[:2] == [f"{a}A", f"{b}B"] else words[:1]
                found.append(((a, b), words))
            elif set(line) - set("- "):
                raise self._lost(f"expected a circuit in the table of '{command}', not '{line.strip()[:60]}'")
        taken = {("A", a) for (a, _), _ in found} | {("B", b) for (_, b), _ in found}
        if len(taken) < 2 * len(found):
            raise self._lost(f"'{command}' has a port twice")
        return found

    def _run(self, command: str) -> tuple[int, str]:
        """Return the exit status of a command and what it says."""
        if self._client is None:
            raise self._lost("the connection is gone")
        until = time.monotonic() + self._access.timeout
        said = bytearray()
        try:
            transport = self._client.get_transport()
            if transport is None:
                raise self._lost("the connection is gone")
            channel = transport.open_session(timeout=self._access.timeout)
            channel.set_combine_stderr(True)
            channel.settimeout(self._access.timeout)
            channel.exec_command(command)
            while some := channel.recv(65536):
                said += some
                channel.settimeout(max(0.001, until - time.monotonic()))
                if len(said) > _MOST_LETTERS:
                    raise self._lost("an answer without end")
            if not channel.status_event.wait(max(0.0, until - time.monotonic())) or channel.exit_status < 0:
                raise self._lost("it ended before it was done")
        except (self._library.SSHException, OSError, EOFError) as error:
            raise self._lost(_words(error)) from None
        return channel.exit_status, said.decode("utf-8", "replace")

    def _lost(self, why: str) -> NoAnswerError:
        self.close()
        return NoAnswerError(f"{self._address}: {why}")


def _words(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    strerror = getattr(error, "strerror", None)
    return str(strerror or error or type(error).__name__)
