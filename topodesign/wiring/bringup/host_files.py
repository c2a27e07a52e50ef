"""Host files: addresses and routes in three formats, sysctl and job variables.

The three are alike: ``ip`` commands hold until the next restart, systemd-networkd and netplan for good. A host's own
address is at an interface of its own, ``td0``, that no cable takes down with it; what goes by a neighbour comes from
that address, so that answers find the way back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from topodesign.wiring.bringup.bringup import NODE, Bringup, Point, RoutedHost, bare

MEETING_PORT = 29500  # where ranks of PyTorch meet by default

_LOOSE = 2  # rp_filter: the way back may be another one
_FORWARD = """\
# Docker drops what a host forwards, which looks like a dead cable: let the cables pass
if iptables -n -L DOCKER-USER >/dev/null 2>&1; then
  for cable in {names}; do
    iptables -C DOCKER-USER -i "$cable" -j ACCEPT 2>/dev/null || iptables -I DOCKER-USER -i "$cable" -j ACCEPT
  done
fi
"""


def write_host(path: Path, found: Bringup, host: RoutedHost) -> None:
    """Write the directory of a host."""
    path.mkdir()
    (path / "networkd").mkdir()
    files = {"apply.sh": apply(found, host), "sysctl.conf": sysctl(found, host), "netplan.yaml": netplan(found, host)}
    files["env.sh"] = environment(found, host)
    files |= {f"networkd/{name}": text for name, text in networkd(found, host).items()}
    for name, text in files.items():
        (path / name).write_text(text, encoding="utf-8", newline="\n")


def apply(found: Bringup, host: RoutedHost) -> str:
    """Return the ``ip`` commands as a script that can run again."""
    points = _points(found, host)
    lines = [
        "#!/bin/sh",
        f"# {host.host}: addresses and routes until the next restart; run as root, beside sysctl.conf",
        "set -eu",
        f"for kind in dummy bridge; do ip link show {NODE} || ip link add {NODE} type $kind || :; done >/dev/null 2>&1",
        f"ip link set {NODE} up",
        # routes come from this address at once, which IPv6 else looks for at others before
        *(f"ip address replace {address} dev {NODE}{' nodad' * (':' in address)}" for address in _list_lines(host)),
    ]
    for point in points:
        lines.append(f"ip link set {point.interface} mtu {found.options['mtu']} up")
        lines += [f"ip address replace {address} dev {point.interface}" for address in _list_lines(point)]
    lines.append('sysctl -q -p "$(dirname "$0")/sysctl.conf"')
    for one in found.routes[host.host]:
        lines.append(f"ip route replace {one.to} via {one.via} dev {one.interface} src {_source(host, one.to)}")
    names = " ".join(point.interface for point in points)
    return "\n".join(lines) + "\n" + (_FORWARD.format(names=names) if names else "")


def sysctl(found: Bringup, host: RoutedHost) -> str:
    """Return the kernel settings."""
    rows = [
        "# hosts forward for those that share no cable; they answer on the cable that is asked for, and there alone"
    ]
    rows.append("net/ipv4/ip_forward = 1")
    if host.ipv6:
        rows.append("net/ipv6/conf/all/forwarding = 1")
    for point in _points(found, host):
        for name, value in (("arp_ignore", 1), ("arp_announce", 2), ("rp_filter", _LOOSE)):
            rows.append(f"net/ipv4/conf/{point.interface}/{name} = {value}")
    return "\n".join(rows) + "\n"


def networkd(found: Bringup, host: RoutedHost) -> dict[str, str]:
    """Return systemd-networkd files by name, for /etc/systemd/network."""
    own = [f"Address={address}" for address in _list_lines(host)]
    files = {
        f"10-{NODE}.netdev": f"[NetDev]\nName={NODE}\nKind=dummy\n",
        f"10-{NODE}.network": f"[Match]\nName={NODE}\n\n[Link]\nRequiredForOnline=no\n\n[Network]\n"
        + "\n".join(["LinkLocalAddressing=no", "ConfigureWithoutCarrier=yes", *own])
        + "\n",
    }
    for point in _points(found, host):
        parts = [
            f"[Match]\nName={point.interface}\n",
            f"[Link]\nMTUBytes={found.options['mtu']}\nRequiredForOnline=no\n",
            "[Network]\nDHCP=no\nIPv6AcceptRA=no\nLinkLocalAddressing=ipv6\nLLDP=yes\nEmitLLDP=yes",
            *(f"Address={address}" for address in _list_lines(point)),
        ]
        parts += [
            f"\n[Route]\nDestination={one.to}\nGateway={one.via}\nPreferredSource={_source(host, one.to)}"
            for one in found.routes[host.host]
            if one.interface == point.interface
        ]
        files[f"10-{point.interface}.network"] = "\n".join(parts) + "\n"
    return files


def netplan(found: Bringup, host: RoutedHost) -> str:
    """Return the netplan file, for /etc/netplan."""
    rows = ["network:", "  version: 2", "  renderer: networkd"]
    points = _points(found, host)
    rows += ["  ethernets:"] if points or host.ipv6 else []
    for point in points:
        rows += [
            f"    {point.interface}:",
            f"      mtu: {found.options['mtu']}",
            "      dhcp4: false",
            "      accept-ra: false",
            "      link-local: [ipv6]",
            "      optional: true",
            "      addresses: [" + ", ".join(f'"{address}"' for address in _list_lines(point)) + "]",
        ]
        here = [one for one in found.routes[host.host] if one.interface == point.interface]
        rows += ["      routes:"] if here else []
        rows += [f'        - {{to: "{one.to}", via: "{one.via}", from: "{_source(host, one.to)}"}}' for one in here]
    if host.ipv6:  # routes from an IPv6 address wait for its interface to have a carrier, which that bridge has not
        rows += ["    lo:", f'      addresses: ["{host.ipv6}"]']
    # a bridge without ports, since dummy interfaces came with netplan 1.0
    rows += ["  bridges:", f"    {NODE}:", "      interfaces: []", "      link-local: []", "      optional: true"]
    rows.append(f'      addresses: ["{host.address}"]')
    return "\n".join(rows) + "\n"


def environment(found: Bringup, host: RoutedHost) -> str:
    """Return a host's job variables, as a file to source."""
    points = _points(found, host)
    meet = found.options["management"] or NODE
    order = found.ring or tuple(one.host for one in found.hosts)
    first = next(one for one in found.hosts if one.host == order[0])
    rows = [
        f"# {host.host}: variables of a job; source this before it starts",
        "# ranks meet here; without RDMA data goes here, too",
        f"export NCCL_SOCKET_IFNAME={meet}",
        f"export GLOO_SOCKET_IFNAME={meet}",
        f"export OMPI_MCA_btl_tcp_if_include={meet}",
        f"export OMPI_MCA_oob_tcp_if_include={meet}",
        "# NCCL takes the port whose cable leads to the other rank, by the subnet (from 2.30.7)",
        "export NCCL_IB_SUBNET_AWARE_ROUTING=1",
        f"export NCCL_IB_SUBNET_PREFIX_LEN={found.options['subnet']}",
        "# NCCL_IB_MERGE_NICS and NCCL_IB_GID_INDEX stay as they are by themselves (1 and -1)",
        *_devices(points),
    ]
    if found.ring is not None:
        rows += [
            f"# rank {order.index(host.host)} of a ring of cables: NCCL sends from each node to the next",
            f"export NODE_RANK={order.index(host.host)}",
            f"export NNODES={len(order)}",
        ]
        if not found.options["management"]:
            rows += [f"export MASTER_ADDR={first.address.partition('/')[0]}", f"export MASTER_PORT={MEETING_PORT}"]
        if not found.joined:
            rows += [
                "# NCCL's trees join ranks that share no cable: rings only, and nothing joined before it is used",
                "export NCCL_ALGO=Ring",
                "export NCCL_RUNTIME_CONNECT=1",
                "export NCCL_CUMEM_ENABLE=1",
                "# a ring comes in by one port and leaves by another",
                "export NCCL_CROSS_NIC=1",
            ]
    else:
        rows.append("# no ring of cables through all hosts was found: NCCL's own algorithms cannot run")
    return "\n".join(rows) + "\n"


def hosts_table(found: Bringup) -> str:
    """Return /etc/hosts lines for host addresses and interfaces."""
    rows = ["# hosts by their own address, whichever cable leads there, and each of their interfaces"]
    for one in found.hosts:
        rows += [f"{bare(address)} {one.host}-{NODE}" for address in _list_lines(one)]
        for _, here, _ in found.ends[one.host]:
            rows += [f"{bare(address)} {one.host}-{here.interface}" for address in _list_lines(here)]
    return "\n".join(rows) + "\n"


def host_list(found: Bringup, order: Iterable[str]) -> str:
    """Return an mpirun host list in rank order.

    Each host is listed by its own address, not by that of an interface.
    """
    own = {one.host: one.address for one in found.hosts}
    return "".join(f"{bare(own[host])} slots=1 # {host}\n" for host in order)


def _devices(points: list[Point]) -> Iterator[str]:
    """Yield NCCL's RDMA device setting, fixed or looked up."""
    devices = [point.device for point in points]
    if all(devices) and devices:
        yield f"export NCCL_IB_HCA='={','.join(devices)}'"
    elif devices:
        names = " ".join(point.interface for point in points)
        yield f'devices=$(for cable in {names}; do ls "/sys/class/net/$cable/device/infiniband" 2>/dev/null || :; done)'
        yield 'if [ -n "$devices" ]; then export NCCL_IB_HCA="=$(echo $devices | tr " " ,)"; fi'


def _points(found: Bringup, host: RoutedHost) -> list[Point]:
    return [here for _, here, _ in found.ends[host.host]]


def _list_lines(one: RoutedHost | Point) -> list[str]:
    return [one.address, *([one.ipv6] if one.ipv6 else [])]


def _source(host: RoutedHost, to: str) -> str:
    return bare(host.ipv6 if ":" in to else host.address)
