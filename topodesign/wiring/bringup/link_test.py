"""Test of neighbours and interface settings of this host's cables.

Run on all hosts at the same time, at each ``python3 link_test.py > HOST.json``, and give the directory of what they
said to ``topodesign wire check PLAN --links DIRECTORY``. Needs Python 3.8 and nothing else, and no rights: every
interface tells its name to whatever is at the other end, by IPv6 multicast that needs no address but the one that
interfaces have by themselves, and as root in frames of their own, too, for where IPv6 is off. The hosts' IPv4 addresses
are not needed for that, so they may be wrong; the output also reports whether a packet of full size gets across with
them.
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
LONGEST = 600  # bytes of what a neighbour says: anybody on the cable may send anything
MAX_HEARD = 1024  # neighbours of all interfaces
HEADERS = 28  # bytes of IPv4 and UDP
OUTGOING = 4  # PACKET_OUTGOING: frames that this host sends


def main(arguments: Sequence[str] | None = None) -> str | None:
    """Run the link test and print the result."""
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
    """Announce every interface, and return neighbours and problems."""
    problems: list[str] = []
    channels: list[Channel] = []
    for interface, (port, address, peer, mtu) in interfaces.items():
        words = f"{host} {interface}"
        try:
            index = socket.if_nametoindex(interface)
        except OSError:
            problems.append(f"{words} is not there")
            continue
        problems += [f"{words} {fault}" for fault in state(interface, mtu)]
        told = json.dumps({"link test": 1, "host": host, "port": port}).encode()
        before = len(channels)
        for found in (by_multicast, by_frames):
            with contextlib.suppress(OSError, AttributeError):
                channels.append(Channel(interface, *found(interface, index), told))
        if len(channels) == before:
            problems.append(f"{words} is down, or without IPv6: set it up, or run this as root")
        try:
            channels.append(Channel(interface, *by_address(address, peer), bytes(mtu - HEADERS)))
        except OSError:
            problems.append(f"{words} has no address {address}")
    heard, across = exchange(channels, seconds)
    rows = sorted({(interfaces[one][0], *who) for one, who in heard})
    for interface in {one.interface for one in channels if one.full} - across:
        port, address, peer, mtu = interfaces[interface]
        problems.append(f"{host} {interface} ({address}) gets no packet of {mtu} bytes from {peer}")
    return {"link test": 1, "host": host, "heard": rows, "problems": sorted(problems)}


class Channel:
    """Socket of an interface with the message that it sends."""

    def __init__(self, interface: str, one: socket.socket, to: tuple[Any, ...], what: bytes) -> None:
        self.interface, self.one, self.to, self.what = interface, one, to, what
        self.full = one.family == socket.AF_INET  # packets of full size
        self.fileno = one.fileno

    def send(self) -> None:
        """Send the message unless the interface is down or rejects it."""
        with contextlib.suppress(OSError):
            self.one.sendto(self.what, self.to)

    def receive(self) -> tuple[str, str] | None:
        """Return the neighbour's host and port, or None.

        Both are empty for a packet of full size from the other end.
        """
        data, source = self.one.recvfrom(65535)
        if self.full:
            return ("", "") if source[0] == self.to[0] and len(data) == len(self.what) else None
        if self.one.family != socket.AF_INET6 and source[2] == OUTGOING:
            return None
        said = json.loads(data[:LONGEST].rstrip(b"\0").decode())
        host, port = said["host"], said["port"]
        return (host, port) if isinstance(host, str) and isinstance(port, str) else None


def exchange(channels: Sequence[Channel], seconds: float) -> tuple[set[tuple[str, tuple[str, str]]], set[str]]:
    """Send and receive for ``seconds``, and return the neighbours seen.

    The second value contains the interfaces that received packets of full size.
    """
    heard: set[tuple[str, tuple[str, str]]] = set()
    across: set[str] = set()
    end, turn = time.monotonic() + seconds, 0.0
    while time.monotonic() < end:
        if time.monotonic() >= turn:
            turn = time.monotonic() + PERIOD
            for one in channels:
                one.send()
        ready, _, _ = select.select(channels, [], [], min(PERIOD, max(0.0, end - time.monotonic())))
        for one in ready:
            with contextlib.suppress(OSError, ValueError, LookupError, TypeError, RecursionError):
                who = one.receive()
                if who is not None and one.full:
                    across.add(one.interface)
                elif who is not None and len(heard) < MAX_HEARD:
                    heard.add((one.interface, who))
    return heard, across


def by_multicast(interface: str, index: int) -> tuple[socket.socket, tuple[Any, ...]]:
    """Return a multicast socket of one interface, and its destination."""
    del interface
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


def by_frames(interface: str, index: int) -> tuple[socket.socket, tuple[Any, ...]]:
    """Return a socket for broadcast frames without IP, and its destination."""
    del index
    one = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETHERTYPE))
    one.bind((interface, ETHERTYPE))
    return one, (interface, ETHERTYPE, 0, 0, b"\xff" * 6)


def by_address(address: str, peer: str) -> tuple[socket.socket, tuple[Any, ...]]:
    """Return a socket for unfragmented packets, and its destination."""
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    if sys.platform == "linux":
        one.setsockopt(socket.IPPROTO_IP, 10, 2)  # IP_MTU_DISCOVER, IP_PMTUDISC_DO
    one.bind((address, PORT))
    return one, (peer, PORT)


def state(interface: str, mtu: int) -> Iterator[str]:
    """Yield the interface settings that differ, if Linux reports them."""
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
