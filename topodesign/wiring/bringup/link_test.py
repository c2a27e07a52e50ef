"""Say what is at the other end of each cable of this host, and whether its interfaces are as written.

Run on all hosts at the same time, at each ``python3 link_test.py > HOST.json``, and give the directory of what they
said to ``topodesign wire check PLAN --links DIRECTORY``. Needs Python 3.8 and nothing else, and no rights: every
interface tells its name to whatever is at the other end, by IPv6 multicast that needs no address but the one that
interfaces have by themselves; where IPv6 is off, in frames of their own, which takes root. The hosts' IPv4 addresses
are not needed for that, so they may be wrong; whether a packet of full size gets across with them is said beside.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import select
import socket
import struct
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

LINES: dict[str, dict[str, list[Any]]] = {}  # by host: interfaces, each [port, address, address at the other end, MTU]

GROUP, PORT = "ff02::7464", 7464
ETHERTYPE = 0x88B5  # for experiments on one network, IEEE 802
PERIOD = 0.3  # seconds between two times that an interface tells its name
HEADERS = 28  # bytes of IPv4 and UDP


def main(arguments: Sequence[str] | None = None) -> str | None:
    """Print what was heard."""
    parser = argparse.ArgumentParser(description="Say what is at the other end of each cable of this host.")
    parser.add_argument("--host", default=socket.gethostname(), help="what this host is called in the plan")
    parser.add_argument("--seconds", type=float, default=10, help="how long to listen (10)")
    given = parser.parse_args(arguments)
    name = given.host if given.host in LINES else given.host.partition(".")[0]
    if name not in LINES:
        return f"the plan has no host {name}; say which one this is with --host"
    print(json.dumps(listen(name, LINES[name], given.seconds), indent=1))
    return None


def listen(host: str, interfaces: Mapping[str, Sequence[Any]], seconds: float) -> dict[str, Any]:
    """Tell the name of every interface to its neighbour, and return what was heard and what is not as written."""
    problems: list[str] = []
    sockets: dict[str, Any] = {}
    packets: dict[str, Any] = {}
    for interface, (port, address, peer, mtu) in interfaces.items():
        words = f"{host} {interface}"
        try:
            index = socket.if_nametoindex(interface)
        except OSError:
            problems.append(f"{words} is not there")
            continue
        problems += [f"{words} {fault}" for fault in state(interface, mtu)]
        told = json.dumps({"link test": 1, "host": host, "port": port}).encode()
        try:
            sockets[interface] = (*by_multicast(index), told)
        except OSError:
            try:
                sockets[interface] = (*by_frames(interface), told)
            except (OSError, AttributeError):
                problems.append(f"{words} is down, or without IPv6: set it up, or run this as root")
        try:
            packets[interface] = (*by_address(address, peer), bytes(mtu - HEADERS))
        except OSError:
            problems.append(f"{words} has no address {address}")
    heard, across = exchange(sockets, packets, seconds)
    rows = sorted([interfaces[one][0], *who] for one, some in heard.items() for who in sorted(some))
    for interface in packets.keys() - across:
        port, address, peer, mtu = interfaces[interface]
        problems.append(f"{host} {interface} ({address}) gets no packet of {mtu} bytes from {peer}")
    return {"link test": 1, "host": host, "heard": rows, "problems": sorted(problems)}


def exchange(
    sockets: Mapping[str, Any], packets: Mapping[str, Any], seconds: float
) -> tuple[dict[str, set[tuple[str, str]]], set[str]]:
    """Send and receive for some time; returns who was heard at each interface, and where full packets came in."""
    heard: dict[str, set[tuple[str, str]]] = {one: set() for one in sockets}
    across: set[str] = set()
    where = {found[0]: one for one, found in (*sockets.items(), *packets.items())}
    end, turn = time.monotonic() + seconds, 0.0
    while time.monotonic() < end:
        if time.monotonic() >= turn:
            turn = time.monotonic() + PERIOD
            for sender, to, what in (*sockets.values(), *packets.values()):
                with contextlib.suppress(OSError):  # down for now, or larger than it takes
                    sender.send(what) if to is None else sender.sendto(what, to)
        ready, _, _ = select.select(list(where), [], [], min(PERIOD, max(0.0, end - time.monotonic())))
        for one in ready:
            try:
                data, source = one.recvfrom(65535)
            except OSError:
                continue
            interface = where[one]
            if one is packets.get(interface, [None])[0]:
                if source[0] == packets[interface][1][0] and len(data) == len(packets[interface][2]):
                    across.add(interface)
                continue
            if one.family != socket.AF_INET6:
                if source[2] == 4:  # what it sent itself
                    continue
                data = data[14:].rstrip(b"\0")
            with contextlib.suppress(ValueError, KeyError, TypeError):
                said = json.loads(data.decode())
                heard[interface].add((str(said["host"]), str(said["port"])))
    return heard, across


def by_multicast(index: int) -> tuple[Any, tuple[str, int, int, int]]:
    """Return a socket that speaks and hears at one interface, and where to send."""
    one = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if hasattr(socket, "SO_REUSEPORT"):
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
    one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_LOOP, 0)
    one.bind((GROUP, PORT, 0, index))
    joined = socket.inet_pton(socket.AF_INET6, GROUP) + struct.pack("@I", index)
    one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, joined)
    return one, (GROUP, PORT, 0, index)


def by_frames(interface: str) -> tuple[Any, None]:
    """Return the same by frames to all, without IP."""
    one = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE))
    one.bind((interface, ETHERTYPE))
    head = b"\xff" * 6 + one.getsockname()[4] + struct.pack("!H", ETHERTYPE)
    return _Framed(one, head), None


class _Framed:
    """A socket that puts a head before what it sends."""

    family = None

    def __init__(self, one: Any, head: bytes) -> None:
        self.one, self.head = one, head
        self.fileno, self.recvfrom = one.fileno, one.recvfrom

    def send(self, data: bytes) -> None:
        """Send a frame."""
        self.one.send(self.head + data)


def by_address(address: str, peer: str) -> tuple[Any, tuple[str, int]]:
    """Return a socket for packets that are not cut up, and where to send."""
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    if sys.platform == "linux":
        one.setsockopt(socket.IPPROTO_IP, 10, 2)  # IP_MTU_DISCOVER, IP_PMTUDISC_DO
    one.bind((address, PORT))
    return one, (peer, PORT)


def state(interface: str, mtu: int) -> Iterator[str]:
    """Yield what is not as written, as far as Linux says."""
    folder = Path("/sys/class/net", interface)
    for name, wanted, words in (("carrier", "1", "has no light"), ("mtu", str(mtu), "has an MTU of {}, not {}")):
        try:
            found = (folder / name).read_text(encoding="ascii").strip()
        except OSError:
            continue
        if found != wanted:
            yield words.format(found, wanted)


if __name__ == "__main__":
    sys.exit(main())
