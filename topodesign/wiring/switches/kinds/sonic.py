"""Switches that run SONiC: its configuration, the commands of its shell, and these over SSH.

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

What a switch is configured to do and what it does are two tables; a circuit that is in either takes its ports. One that
is only done, and not configured, cannot be deleted before it is added, which is what the module ``ocs_cross_connect``
of sonic-mgmt does about it, too.
"""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Literal

from topodesign.base.errors import FileFormatError, MissingLibraryError, ParameterError
from topodesign.base.strict_json import parse_json
from topodesign.wiring.inventory.devices import Panel
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.switches.kinds import Spelling
from topodesign.wiring.switches.switch import (
    PASSWORD,
    Access,
    Address,
    Driver,
    NoAnswerError,
    Pair,
    Reading,
    RefusedError,
    SwitchError,
    SwitchStyle,
    listed_pairs,
    pair_name,
    port_number,
)

if TYPE_CHECKING:
    import paramiko

TABLE = "OCS_CROSS_CONNECT"
_PORTS = "OCS_PORT"
_PAIR = re.compile(r"([1-9][0-9]{0,8})A-([1-9][0-9]{0,8})B")
_UNSAFE = re.compile(r"[^A-Za-z0-9_./:-]")
_WORDS = {"ocs": "config ocs cross-connect", "yang": "config ocs-cross-connect"}
_SHOW = {
    "ocs": ("show ocs cross-connect config", "show ocs cross-connect status"),
    "yang": ("show ocs-cross-connect", "show ocs-cross-connect-table"),
}
_ROW = re.compile(r"\s*([1-9][0-9]{0,5})A-([1-9][0-9]{0,5})B\s+(.*)")
_HEAD = re.compile(r"\s*(?:id\s+a_side|cross connect id\s)", re.IGNORECASE)
_LIT = {"tuned", "connected", "enabled"}  # of the design document, and of the developer guide's examples
_MOST_LETTERS = 2**22  # of an answer


class Sonic(Driver):
    """Switches that run SONiC."""

    name = "sonic"
    summary = "cross-connects of SONiC circuit switches: CONFIG_DB (JSON) and commands"
    port = 22
    ending = ".json"

    def check_style(self, style: SwitchStyle) -> None:
        """Refuse lists where they are not known."""
        if style.batch and style.spelling == "yang":
            raise ParameterError("commands spelled as 'yang' take one circuit at a time; leave batch out")

    def files(self, plan: WiringPlan, panel: Panel, pairs: list[Pair], style: SwitchStyle) -> dict[str, str]:
        """Return a table for CONFIG_DB, and the same as commands.

        The table is ``{"OCS_CROSS_CONNECT": {"1A-2B": {"a_side": "1A", "b_side": "2B"}}}``, which ``config load``
        takes, and which leaves there what else is; a command ``config ocs cross-connect add 1A-2B update`` moves ports
        that are in use.
        """
        table: dict[str, dict[str, dict[str, str]]] = {
            TABLE: {pair_name((a, b)): {"a_side": f"{a}A", "b_side": f"{b}B"} for a, b in pairs}
        }
        commands = _all_commands(pairs, style)
        if style.labels:
            labels = _labels(plan, panel)
            table = {_PORTS: {side: {"label": label} for side, label in labels.items()}} | table
            form = "config ocs-port update {} --label {}" if style.spelling == "yang" else "config ocs port label {} {}"
            commands = [*(form.format(*item) for item in labels.items()), *commands]
        return {self.ending: json.dumps(table, indent=4) + "\n", ".sh": _shell_script(commands)}

    def stage(self, panel: Panel, remove: list[Pair], add: list[Pair], spelling: Spelling) -> tuple[str, str]:  # noqa: ARG002
        """Return commands that refuse ports that are in use."""
        return ".sh", _shell_script([*_delete(remove, spelling), *_add(add, spelling, mode="safe")])

    def circuits(self, text: str, panel: Panel) -> Iterator[tuple[str, str]]:  # noqa: ARG002
        """Yield what the table of CONFIG_DB has."""
        try:
            entries = [(name, entry["a_side"], entry["b_side"]) for name, entry in parse_json(text)[TABLE].items()]
        except (TypeError, KeyError, AttributeError):
            raise FileFormatError(f'expected {{"{TABLE}": {{"1A-2B": {{"a_side": "1A", ...}}}}}}') from None
        for name, a, b in entries:
            match = _PAIR.fullmatch(name)
            if not (isinstance(a, str) and isinstance(b, str) and a.endswith("A") and b.endswith("B")):
                raise FileFormatError(f"a circuit goes from a side like 1A to one like 2B, not {a!r} to {b!r}")
            if match is not None and name != f"{a}-{b}":
                raise FileFormatError(f"{name!r} joins other ports, {a} and {b[:40]}")
            yield a[:-1], b[:-1]

    def connect(self, address: Address, access: Access) -> SonicSwitch:
        """Return a connection over SSH."""
        return SonicSwitch(address, access)


DRIVER = Sonic()


def _shell_script(commands: Iterable[str]) -> str:
    """Return commands as a script for the shell of a switch, which stops at the first that fails."""
    return "#!/bin/sh -e\n" + "".join(f"{'' if line.startswith('for ') else 'sudo '}{line}\n" for line in commands)


def _all_commands(pairs: list[Pair], style: SwitchStyle) -> list[str]:
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
    """Return the commands that make circuits, none for none; only ``ocs`` knows modes, and lists for one command."""
    words = f"{_WORDS[spelling]} add"
    if spelling == "yang":
        return [f"{words} {pair_name((a, b))} --a-side {a}A --b-side {b}B" for a, b in pairs]
    named = [listed_pairs(pairs)] if batch and pairs else map(pair_name, pairs)
    return [f"{words} {name} {mode}" for name in named]


def _delete(pairs: Collection[Pair], spelling: Spelling) -> list[str]:
    """Return the commands that remove circuits; none for none."""
    named = [listed_pairs(pairs)] if pairs and spelling == "ocs" else map(pair_name, pairs)
    return [f"{_WORDS[spelling]} delete {name}" for name in named]


def _labels(plan: WiringPlan, panel: Panel) -> dict[str, str]:
    """Return a label, without spaces or quotes, for both sides of every port of a switch that a lane is cabled to."""
    found: dict[str, str] = {}
    for port in panel.ports:
        end = plan.end.get((panel.name, port.label))
        if end is not None:
            name = _UNSAFE.sub("_", f"{end.host}:{plan.interface(end)}")
            number = port_number(panel, port.label)
            found |= {f"{number}A": f"{name}:Tx", f"{number}B": f"{name}:Rx"}
    return found


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
        self._orders(_add(sorted(only_done), self._access.spelling))
        self._orders(_delete(sorted(pairs), self._access.spelling))

    def add(self, pairs: Collection[Pair]) -> None:
        """Add circuits, unless a port is in use."""
        self._orders(_add(sorted(pairs), self._access.spelling, mode="safe"))

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
