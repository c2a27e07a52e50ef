"""A circuit switch on the loopback that does what it is told, and goes wrong where it is told to.

One switch has one state, and speaks SCPI as Polatis switches do, or SONiC's commands over SSH. Side A of a port leads
to one side B at a time; ports that are in use are refused. Faults strike at the message of a number: changes and
questions for the circuits are messages.
"""

from __future__ import annotations

import contextlib
import random
import re
import select
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from topodesign.wiring.switches.switch import Pair

PASSWORD = "correct horse"  # noqa: S105  of no real switch
FAULTS = (
    "lost before",  # the connection ends before the message takes effect
    "lost after",
    "refused",  # with an error, and no effect
    "refused for good",  # one port, from then on
    "half",  # of the circuits, with an error
    "half in silence",  # and says that all is well
    "no effect",  # and says that all is well
    "stale",  # the next answer is what it would have been before the last change
    "slow",  # the answer comes after the client has given up
    "garbage",
    "restart",  # the connections end, and there are none for a while
    "power cycle",  # and all circuits are gone then
    "dead before",  # no connection from then on
    "dead after",
    "deaf",  # connections, but no answers from then on
    "other removes",  # another operator removes a circuit
    "other makes",  # makes one between ports that are free
)
HARMLESS = {
    "lost before",
    "lost after",
    "refused",
    "half",
    "half in silence",
    "no effect",
    "stale",
    "slow",
    "garbage",
    "restart",
}
"""After which a plan is applied nevertheless."""


@dataclass
class Fault:
    kind: str
    at: int


class DropError(Exception):
    """The connection ends."""


@dataclass
class Answer:
    """What is said to a message: an error, circuits, or nothing but that it is done."""

    error: str | None = None
    circuits: dict[int, int] | None = None
    garbage: bytes | None = None
    delay: float = 0.0


@dataclass
class SimulatedSwitch:
    """A switch with ``size`` ports, its circuits, the seed of what is random, and when what goes wrong."""

    size: int
    circuits: dict[int, int]
    faults: list[Fault] = field(default_factory=list)
    seed: int = 0
    late: float = 0.4  # seconds of a slow answer
    away: float = 0.1  # seconds of a restart
    messages: int = 0
    deaf: bool = False
    dead: bool = False
    refuses: int | None = None
    struck: list[str] = field(default_factory=list)
    others: set[Pair] = field(default_factory=set)  # that another operator made or removed
    others_unseen: set[Pair] = field(default_factory=set)  # and was not told twice since
    asked_once: set[Pair] = field(default_factory=set)
    shown_last: dict[int, int] | None = None
    only_done: set[int] = field(default_factory=set)  # sides A of circuits that are not configured (SONiC)
    connections: int = 0

    def __post_init__(self) -> None:
        self.lock = threading.RLock()
        self.rng = random.Random(self.seed)  # noqa: S311
        self.before = dict(self.circuits)
        self.stale = False
        self.up_at = 0.0
        self.sockets: set[socket.socket] = set()

    @property
    def truth(self) -> frozenset[Pair]:
        with self.lock:
            return frozenset(self.circuits.items())

    def message(self, remove: Iterable[Pair] = (), add: Iterable[Pair] = (), *, ask: bool = False) -> Answer:
        """Take a message, and do what it says unless something goes wrong."""
        with self.lock:
            self.messages += 1
            kinds = [fault.kind for fault in self.faults if fault.at == self.messages]
            after, answer = False, Answer()
            effect = 1.0
            self.asked_once = set() if kinds else self.asked_once
            for kind in kinds:
                self.struck.append(kind)
                if kind in {"lost before", "dead before", "restart", "power cycle", "deaf"}:
                    if kind == "power cycle":
                        self.others |= set(self.circuits.items())
                        self.others_unseen |= set(self.circuits.items())
                        self.circuits.clear()
                    self.dead = self.dead or kind == "dead before"
                    self.deaf = self.deaf or kind == "deaf"
                    self._cut(kind)
                    raise DropError
                after = after or kind in {"lost after", "dead after"}
                if kind == "refused for good":
                    named = [a for a, _ in add] or [self.rng.randint(1, self.size)]
                    self.refuses = self.rng.choice(named)
                elif kind == "stale":
                    self.stale = True
                elif kind.startswith("other"):
                    self._other(kind)
                elif kind == "slow":
                    answer.delay = self.late
                elif kind == "garbage":
                    answer.garbage = self.rng.choice(
                        [b"\xff\xfe\x00", b"hello", b"", b"(@1,2),(@9)", b"(@1),(@1,(", b"7" * 99]
                    )
                effect = {"refused": 0.0, "no effect": 0.0, "half": 0.5, "half in silence": 0.5}.get(kind, effect)
                if kind in {"refused", "half"}:
                    answer.error = '-222,"Data out of range"'
            if ask:
                self._asked(answer)
            else:
                self._change(list(remove), list(add), effect, answer)
            if after:
                self.dead = "dead after" in kinds
                self._cut("lost")
                raise DropError
            return answer

    def _asked(self, answer: Answer) -> None:
        answer.circuits = dict(self.before if self.stale else self.circuits)
        if answer.error is None and answer.garbage is None and not answer.delay and not self.stale:
            self.others_unseen -= self.asked_once
            self.asked_once = set(self.others_unseen)
        else:
            self.asked_once = set()
        self.stale = False

    def _change(self, remove: list[Pair], add: list[Pair], effect: float, answer: Answer) -> None:
        self.before = dict(self.circuits)
        for pair in remove[: int(len(remove) * effect)]:
            if self.circuits.get(pair[0]) != pair[1]:
                answer.error = '-221,"Settings conflict: not connected"'
            else:
                del self.circuits[pair[0]]
        for a, b in add[: int(len(add) * effect)]:
            outside = not (0 < a <= self.size and 0 < b <= self.size)
            if outside or a == self.refuses:
                answer.error = '-222,"Data out of range"'
            elif self.circuits.get(a) == b:
                continue
            elif a in self.circuits or b in self.circuits.values():
                answer.error = '-221,"Settings conflict: in use"'
            else:
                self.circuits[a] = b

    def _other(self, kind: str) -> None:
        self.before = dict(self.circuits)
        if kind == "other removes" and self.circuits:
            a = self.rng.choice(sorted(self.circuits))
            pair = a, self.circuits.pop(a)
        else:
            free_a = sorted(set(range(1, self.size + 1)) - self.circuits.keys())
            free_b = sorted(set(range(1, self.size + 1)) - set(self.circuits.values()))
            if not free_a:
                return
            pair = self.rng.choice(free_a), self.rng.choice(free_b)
            self.circuits[pair[0]] = pair[1]
        self.others.add(pair)
        self.others_unseen.add(pair)

    def _cut(self, kind: str) -> None:
        """End all connections if it restarts or is dead."""
        if kind in {"restart", "power cycle"}:
            self.up_at = time.monotonic() + self.away
        if kind in {"restart", "power cycle", "deaf"} or self.dead:
            for one in list(self.sockets):
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

    @property
    def up(self) -> bool:
        return not self.dead and time.monotonic() >= self.up_at

    @contextlib.contextmanager
    def listening(self, protocol: Literal["scpi", "ocs", "yang"] = "scpi") -> Iterator[int]:
        """Serve a protocol on a port of the loopback, which is the value."""
        serve: Callable[[SimulatedSwitch, socket.socket], None] = _scpi if protocol == "scpi" else _ssh(protocol)
        listener = socket.create_server(("127.0.0.1", 0))
        ended = threading.Event()

        def one(connection: socket.socket) -> None:
            with connection, contextlib.suppress(OSError, DropError, EOFError):
                self.sockets.add(connection)
                self.connections += 1
                if self.deaf:
                    while not ended.is_set() and select.select([connection], [], [], 0.05)[0] is not None:
                        if select.select([connection], [], [], 0)[0] and not connection.recv(4096):
                            return
                if self.up:
                    serve(self, connection)
            self.sockets.discard(connection)

        def accept() -> None:
            while not ended.is_set():
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=one, args=(connection,), daemon=True).start()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            ended.set()
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
            for connection in list(self.sockets):
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            thread.join(5)


_LISTS = r"\s*\(@([0-9,]*)\),\(@([0-9,]*)\)"


def _scpi(switch: SimulatedSwitch, connection: socket.socket) -> None:
    """Answer lines until the connection ends."""
    errors: list[str] = []
    pending = Answer()
    heard = b""
    while some := connection.recv(4096):
        heard += some
        while b"\n" in heard:
            line, _, heard = heard.partition(b"\n")
            said = line.decode("ascii").strip().upper()
            answer = b""
            if said == "*CLS":
                errors.clear()
            elif said == "*IDN?":
                answer = b"Polatis,I-OST-simulated,002414,6.5.2.18\n"
            elif said == ":OXC:SWITCH:SIZE?":
                answer = f"{switch.size},{switch.size}\n".encode()
            elif said == ":SYSTEM:ERROR?":
                answer = f"{errors.pop(0) if errors else '0,' + chr(34) + 'No error' + chr(34)}\n".encode()
                answer, pending = _spoilt(answer, pending), Answer()
            elif said == ":OXC:SWITCH:CONNECT:STATE?":
                asked = switch.message(ask=True)
                pairs = sorted((asked.circuits or {}).items())
                entries, exits = ",".join(str(a) for a, _ in pairs), ",".join(str(switch.size + b) for _, b in pairs)
                answer = _spoilt(f"(@{entries}),(@{exits})\n".encode(), asked)
            else:
                match = re.fullmatch(rf":OXC:SWITCH:CONNECT:(ADD|SUB){_LISTS}", said)
                if match is None:
                    errors.append('-113,"Undefined header"')
                    continue
                sides = [[int(port) for port in ports.split(",")] for ports in match.groups()[1:]]
                made = [(a, b - switch.size) for a, b in zip(*sides, strict=True)]
                pending = switch.message(made if match[1] == "SUB" else (), made if match[1] == "ADD" else ())
                errors += [] if pending.error is None else [pending.error]
            if switch.deaf:
                return
            if answer:
                connection.sendall(answer)


def _spoilt(text: bytes, answer: Answer) -> bytes:
    """What is really said: late, or garbage."""
    if answer.delay:
        time.sleep(answer.delay)
    return text if answer.garbage is None else answer.garbage + b"\n"


def host_key() -> Any:
    """The key of all simulated SONiC switches."""
    import paramiko

    if not _KEY:
        _KEY.append(paramiko.ECDSAKey.generate(bits=256))
    return _KEY[0]


_KEY: list[Any] = []


def _ssh(spelling: str) -> Callable[[SimulatedSwitch, socket.socket], None]:
    """Return what serves SONiC's commands, spelled so."""
    import paramiko
    from paramiko import common

    class Server(paramiko.ServerInterface):
        def __init__(self, switch: SimulatedSwitch) -> None:
            self.switch = switch

        def check_auth_password(self, username: str, password: str) -> int:
            fine = (username, password) == ("admin", PASSWORD)
            return int(common.AUTH_SUCCESSFUL if fine else common.AUTH_FAILED)

        def get_allowed_auths(self, username: str) -> str:
            del username
            return "password"

        def check_channel_request(self, kind: str, chanid: int) -> int:
            del kind, chanid
            return int(common.OPEN_SUCCEEDED)

        def check_channel_exec_request(self, channel: Any, command: bytes) -> bool:
            threading.Thread(target=self.run, args=(channel, command.decode()), daemon=True).start()
            return True

        def run(self, channel: Any, command: str) -> None:
            time.sleep(0.005)  # the answer that it is run goes first
            with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
                try:
                    status, said = shell(self.switch, command, spelling)
                except DropError:
                    channel.get_transport().close()
                    return
                if self.switch.deaf:
                    return
                channel.sendall(said)
                channel.send_exit_status(status)
                channel.close()

    def serve(switch: SimulatedSwitch, connection: socket.socket) -> None:
        transport = paramiko.Transport(connection)
        try:
            transport.add_server_key(host_key())
            transport.start_server(server=Server(switch))
            while transport.is_active() and switch.up:
                time.sleep(0.005)
        except (paramiko.SSHException, EOFError):
            pass
        finally:
            transport.close()

    return serve


_NAME = re.compile(r"([0-9]+)A(?:\.\.([0-9]+)A)?-([0-9]+)B(?:\.\.([0-9]+)B)?")


def shell(switch: SimulatedSwitch, command: str, spelling: str) -> tuple[int, bytes]:
    """Return the exit status of a command of SONiC and what it says."""
    words = command.removeprefix("sudo -n ").split()
    noun = ["ocs", "cross-connect"] if spelling == "ocs" else ["ocs-cross-connect"]
    if words[:1] == ["show"]:
        return _shown(switch, words[1:], noun, spelling)
    if words[: 1 + len(noun)] != ["config", *noun] or not command.startswith("sudo -n "):
        return 2, b"Error: No such command.\n"
    verb, names, *more = words[1 + len(noun) :]
    pairs = []
    for name in names.split(","):
        match = _NAME.fullmatch(name)
        if match is None or (spelling == "yang" and match[2]):
            return 2, b"Error: Invalid cross-connect\n"
        a, last_a, b, last_b = (int(number) if number else None for number in match.groups())
        assert a is not None
        assert b is not None
        assert ((last_a or a) - a) == ((last_b or b) - b)
        pairs += [(a + step, b + step) for step in range((last_a or a) - a + 1)]
    if spelling == "yang" and verb == "add":
        assert more == ["--a-side", f"{pairs[0][0]}A", "--b-side", f"{pairs[0][1]}B"]
    configured = {pair for pair in switch.truth if pair[0] not in switch.only_done}
    if verb == "delete" and any(pair in switch.truth - configured for pair in pairs):
        return 1, b"Error: cross-connect does not exist\n"
    if verb == "add" and more[:1] == ["update"] and switch.truth.issuperset(pairs):
        switch.only_done.difference_update(a for a, _ in pairs)
        return 0, b"Config cross-connect succeeded\n"
    answer = switch.message(pairs if verb == "delete" else (), pairs if verb == "add" else ())
    said = b"Config cross-connect succeeded\n" if answer.error is None else f"Error: {answer.error}\n".encode()
    return int(answer.error is not None), _spoilt(said, answer)


def _shown(switch: SimulatedSwitch, words: list[str], noun: list[str], spelling: str) -> tuple[int, bytes]:
    """Return a table: of what is configured, which is a message, or of what is done."""
    status = words in (["ocs", "cross-connect", "status"], ["ocs-cross-connect-table"])
    if not status and words not in (["ocs", "cross-connect", "config"], ["ocs-cross-connect"]):
        return 2, b"Error: No such command.\n"
    answer = Answer(circuits=switch.shown_last) if status else switch.message(ask=True)
    if not status:
        switch.shown_last = answer.circuits
    if answer.error is not None:
        return 1, b"Error: database is busy\n"
    titles = "id       a_side    b_side" if spelling == "ocs" else "CROSS CONNECT ID    A SIDE    B SIDE"
    lines = [titles + ("    a_side_status    b_side_status" if status and spelling == "ocs" else ""), "-------  ------"]
    if status and spelling == "yang":
        lines[0] = "CROSS CONNECT ID    STATUS    PHYSICAL PATH"
    for a, b in sorted((answer.circuits or {}).items()):
        if not status and a in switch.only_done:
            continue
        state = {"ocs": f"{a}A  {b}B  tuned  tuned", "yang": f"enabled   {a}A, panel IN {a}, panel OUT {b}"}[spelling]
        lines.append(f"{a}A-{b}B   {state if status else f'{a}A   {b}B'}")
    return 0, _spoilt("\n".join(lines).encode() + b"\n", answer)
