"""Hosts of a plan as network namespaces, with a veth pair for every cable: what Linux makes of what is written."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from topodesign.wiring.bringup.bringup import Bringup

End = tuple[str, str]  # a host and one of its interfaces

_LISTEN = """
import socket, sys
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
one = socket.create_server((sys.argv[1], 7000), family=family, backlog=64)
print("ready", flush=True)
while True:
    other, who = one.accept()
    other.sendall(who[0].encode())
    other.close()
"""
_CONNECT = """
import socket, sys
for address in sys.argv[1:]:
    try:
        with socket.create_connection((address, 7000), timeout=10) as one:
            print(address, one.recv(100).decode(), flush=True)
    except OSError as error:
        print(address, "none", error, flush=True)
"""


def refused() -> str | None:
    """Why there can be no namespaces here; None if there can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "network namespaces take root on Linux"
    name = f"topodesign{os.getpid()}"
    try:
        for command in (["add", name], ["exec", name, "ip", "link", "add", "a0", "type", "veth", "peer", "name", "b0"]):
            subprocess.run(["ip", "netns", *command], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        said = error.stderr.decode().strip() if isinstance(error, subprocess.CalledProcessError) else error
        return f"network namespaces are not allowed here: {said}"
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)
    return None


def cables_of(found: Bringup) -> list[tuple[End, End]]:
    """The two ends of every cable as planned."""
    return [((one.a.host, one.a.interface), (one.b.host, one.b.interface)) for one in found.lines]


def exchanged(cables: Sequence[tuple[End, End]], first: int, second: int, side: int) -> list[tuple[End, End]]:
    """The same with one end of each of two cables where that of the other was: the second, or else the first of one."""
    made = list(cables)
    (a, b), (c, d) = made[first], made[second]
    made[first], made[second] = ((a, d), (c, b)) if side else ((a, c), (b, d))
    return made


@dataclass
class Namespaces:
    """Hosts that run."""

    names: Mapping[str, str]

    def command(self, host: str, *command: str) -> list[str]:
        """What runs a command on a host."""
        return ["ip", "netns", "exec", self.names[host], *command]

    def run(self, host: str, *command: str) -> str:
        """What a command prints on a host."""
        done = subprocess.run(self.command(host, *command), check=False, capture_output=True, text=True)
        assert done.returncode == 0, (host, command, done.stderr)
        return done.stdout

    def all_at_once(self, commands: Mapping[str, Sequence[str]]) -> dict[str, str]:
        """What commands print that run on several hosts at the same time."""
        started = {
            host: subprocess.Popen(self.command(host, *one), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for host, one in commands.items()
        }
        said = {host: one.communicate(timeout=600) for host, one in started.items()}
        assert not any(one.returncode for one in started.values()), said
        return {host: out for host, (out, _) in said.items()}

    def job(self, host: str, directory: Path, words: str) -> list[str]:
        """What a host is to do under its own name, with the variables as written, in the words of a shell."""
        said = f"hostname {host}; . {directory / host / 'env.sh'}; {words}"
        return ["unshare", "--uts", "sh", "-c", said]

    def mpirun(self, directory: Path, words: str) -> str:
        """What an MPI program prints, started on the first of the ranks as written, an agent going where ssh would."""
        ranks, agent = directory / "ranks", directory / "agent"
        first = ranks.read_text().splitlines()[0].partition("# ")[2]
        each = self.names[first].removesuffix(first)
        agent.write_text(
            f'#!/bin/sh\nhost=$(sed -n "s/^$1 .*# //p" {ranks})\nshift\n'
            f'exec ip netns exec {each}$host unshare --uts sh -c "hostname $host; $*"\n'
        )
        agent.chmod(0o755)
        start = f"mpirun --allow-run-as-root --mca plm_rsh_agent {agent} --mca mpi_yield_when_idle 1 --hostfile {ranks}"
        return self.run(first, *self.job(first, directory, f"exec {start} {words}"))

    def sent(self) -> dict[End, int]:
        """How many bytes every interface has sent so far."""
        rows = ((host, self.run(host, "cat", "/proc/net/dev").splitlines()[2:]) for host in self.names)
        return {(host, row.split(":")[0].strip()): int(row.split()[9]) for host, some in rows for row in some}

    def forwarded(self) -> int:
        """How many packets of others all hosts have passed on so far."""
        found = 0
        for host in self.names:
            names, values = [
                row.split() for row in self.run(host, "cat", "/proc/net/snmp").splitlines() if row.startswith("Ip:")
            ]
            found += int(dict(zip(names, values, strict=True))["ForwDatagrams"])
        return found

    def unplug(self, ends: Sequence[End]) -> None:
        """Take cables away, by one of their ends."""
        for host, interface in ends:
            self.run(host, "ip", "link", "delete", interface)

    def plug(self, cables: Sequence[tuple[End, End]]) -> None:
        """Join interfaces."""
        for (a, here), (b, there) in cables:
            near, far = self.names[a], self.names[b]
            words = f"ip link add name {here} netns {near} type veth peer name {there} netns {far}"
            subprocess.run(words.split(), check=True, capture_output=True)
        for host, interface in (end for cable in cables for end in cable):
            self.run(host, "sh", "-c", f"echo 0 > /proc/sys/net/ipv6/conf/{interface}/accept_dad || :")

    def reach(self, addresses: Mapping[str, str]) -> dict[tuple[str, str], str]:
        """From which address a host is seen when it connects to another, or why it does not, for all pairs."""
        listening = {
            host: subprocess.Popen(
                self.command(host, sys.executable, "-c", _LISTEN, own), stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            for host, own in addresses.items()
        }
        try:
            for one in listening.values():
                assert one.stdout is not None
                assert one.stdout.readline() == b"ready\n", one.communicate()
            said = self.all_at_once({host: [sys.executable, "-c", _CONNECT, *addresses.values()] for host in addresses})
        finally:
            for one in listening.values():
                one.kill()
                one.communicate()
        owner = {address: host for host, address in addresses.items()}
        return {
            (host, owner[to]): seen
            for host, text in said.items()
            for to, seen in (line.split(" ", 1) for line in text.splitlines())
        }


@contextmanager
def namespaces(hosts: Sequence[str], cables: Sequence[tuple[End, End]]) -> Iterator[Namespaces]:
    """Hosts with cables between them, until the end of the context."""
    made = Namespaces({host: f"topodesign{os.getpid()}-{host}" for host in hosts})
    try:
        for name in made.names.values():
            subprocess.run(["ip", "netns", "add", name], check=True, capture_output=True)
        for host in hosts:
            made.run(host, "ip", "link", "set", "lo", "up")
        made.plug(cables)
        yield made
    finally:
        for name in made.names.values():
            subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)
