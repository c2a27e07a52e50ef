"""Bring-up directory: host files and a cable test.

``links.csv`` has the cables with interfaces and addresses, ``hosts`` lines for /etc/hosts, ``ranks`` the hosts in the
order of the nodes (for programs of the plan) and ``ring`` along a ring of cables (for NCCL and whatever sends from each
rank to the next), ``link_test.py`` what runs on all hosts. Each host has a directory of its own, see
:mod:`topodesign.wiring.bringup.host_files`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from topodesign.base.errors import ParameterError
from topodesign.base.tables import write_csv
from topodesign.wiring.bringup import link_test
from topodesign.wiring.bringup.bringup import Bringup, Point, bare, bringup
from topodesign.wiring.bringup.host_files import host_list, hosts_table, write_host
from topodesign.wiring.bringup.options import BringupOptions
from topodesign.wiring.exports.format import Content, Format
from topodesign.wiring.plan.plan import WiringPlan

MAX_JACCL, MAX_CABLES = 8, 4  # ranks of a mesh, and cables between two ranks of a ring, that JACCL takes

_END = ("host", "port", "interface", "device", "address", "ipv6")
COLUMNS = ("cable", *(f"a_{name}" for name in _END), *(f"b_{name}" for name in _END))
_TABLE = re.compile(r"^LINES: .*$", re.MULTILINE)
_MAC = re.compile(r"en[0-9]{1,3}").fullmatch  # what macOS calls them
_TRAY = re.compile(r"(?P<kind>[A-Za-z][A-Za-z0-9_]*?)[-.:](?P<tray>[0-9]{1,4})[-.:](?P<port>[0-9]{1,4})")


def to_bringup(plan: WiringPlan, **options: Unpack[BringupOptions]) -> tuple[Content, tuple[str, ...]]:
    """Return the bring-up files, host directory writers and notes."""
    found = bringup(plan, **options)
    notes = list(found.notes)
    lines = ((one.cable, *(getattr(end, name) for end in (one.a, one.b) for name in _END)) for one in found.lines)
    files: dict[str, Any] = {
        "links.csv": write_csv([COLUMNS, *lines]),
        "hosts": hosts_table(found),
        "ranks": host_list(found, [one.host for one in found.hosts]),
        "link_test.py": link_test_of(found),
    }
    if found.ring is not None:
        files["ring"] = host_list(found, found.ring)
    if found.options["node_type"]:
        files["cabling.textproto"] = tenstorrent_of(found)
    if all(_thunderbolt(point) for line in found.lines for point in (line.a, line.b)):
        try:
            files |= jaccl_of(found)
        except ParameterError as error:
            notes.append(str(error))
        else:
            named = files["jaccl.json"].count("rdma_") // 2
            if named < len(found.lines):
                words = f"up to {MAX_CABLES} cables between two ranks, and between all neighbours the same number"
                notes.append(f"jaccl.json has {named} of {len(found.lines)} cables: JACCL takes {words}")
    hosts = {one.host: partial(write_host, found=found, host=one) for one in found.hosts}
    taken = next(iter(files.keys() & hosts.keys()), None)
    if taken is not None:
        raise ParameterError(f"a host cannot be called '{taken}' here: that is a file beside those of the hosts")
    return files | hosts, tuple(notes)


def link_test_of(found: Bringup) -> str:
    """Return the link test program for the connections of a plan."""
    mtu = found.options["mtu"]
    lines = {
        host: {here.interface: [here.port, bare(here.address), bare(there.address), mtu] for _, here, there in some}
        for host, some in found.ends.items()
    }
    program = Path(link_test.__file__).read_text(encoding="utf-8")
    rows = ",\n".join(f"    {json.dumps(host)}: {json.dumps(some)}" for host, some in lines.items())
    table = f"LINES = {{\n{rows}\n}}"
    return "#!/usr/bin/env python3\n" + _TABLE.sub(lambda _: table, program, count=1)


def jaccl_of(found: Bringup) -> dict[str, str]:
    """Return the JACCL files: ports between ranks, and ranks.

    ``jaccl.json`` lists for each rank the ports towards each other rank, for MLX_IBV_DEVICES. ``mlx.json`` lists the
    ranks for ``mlx.launch``.

    Notes
    -----
    ml-explore/mlx 846d1762, jaccl.cpp:15-56, 141-185, 279-299: a mesh has ports for every pair of at most 8 ranks, and
    uses the first; a ring has the same number of cables, at most 4, between all neighbours by number, and does not look
    at other pairs. So a mesh has all cables, and can be used as a ring (``MLX_JACCL_RING``), too.
    """
    own = {one.host: bare(one.address) for one in found.hosts}
    order: Sequence[str] = list(own)
    cells: dict[tuple[str, str], list[str]] = {}
    for host, some in found.ends.items():
        for _, here, there in some:
            cells.setdefault((host, there.host), []).append(_thunderbolt(here))
    mesh = {(a, b) for a in order for b in order if a != b}
    if not mesh <= cells.keys() or len(order) > MAX_JACCL:
        if found.ring is None:
            raise ParameterError(
                f"no jaccl.json: JACCL joins up to {MAX_JACCL} hosts, all to all, or more in a ring, and "
                f"the cables of these {len(order)} do neither"
            )
        order, mesh = found.ring, set()
    near = {pair for n, host in enumerate(order) for pair in ((host, order[n - 1]), (order[n - 1], host))}
    count = min(MAX_CABLES, *(len(cells[pair]) for pair in near))
    most = {pair: count if pair in near else MAX_CABLES for pair in mesh | near}
    rows = [[cells[a, b][: most[a, b]] if (a, b) in most else None for b in order] for a in order]
    hosts = [{"ssh": host, "ips": [own[host]], "rdma": row} for host, row in zip(order, rows, strict=True)]
    return {
        name: "[\n" + ",\n".join(json.dumps(row) for row in content) + "\n]\n"
        for name, content in (("jaccl.json", rows), ("mlx.json", hosts))
    }


def tenstorrent_of(found: Bringup) -> str:
    """Return Tenstorrent's cabling descriptor: one graph of hosts and cables.

    Hosts are numbered as the nodes of the plan are, and so have to be in the deployment descriptor.

    Notes
    -----
    tenstorrent/tt-metal 33e896e6, tools/scaleout/cabling_descriptor/schemas/cluster_config.proto.
    """
    kind = found.options["node_type"]
    if not re.fullmatch(r"[A-Za-z0-9_.-]{1,100}", kind):
        raise ParameterError(
            f"node type {kind!r:.60} is not one of Tenstorrent's; they are called such as N300_LB_DEFAULT"
        )
    by_kind: dict[str, list[str]] = {}
    for line in found.lines:
        (sort, a), (_, b) = (_tray(point) for point in (line.a, line.b))
        by_kind.setdefault(sort, []).append(
            f"        connections {{\n          port_a {{ {a} }}\n          port_b {{ {b} }}\n        }}"
        )
    rows = ['graph_templates {\n  key: "wiring"\n  value {']
    rows += [
        f'    children {{\n      name: "{one.host}"\n      node_ref {{ node_descriptor: "{kind}" }}\n    }}'
        for one in found.hosts
    ]
    for sort, some in sorted(by_kind.items()):
        rows += [f'    internal_connections {{\n      key: "{sort}"\n      value {{', *some, "      }\n    }"]
    rows += ['  }\n}\nroot_instance {\n  template_name: "wiring"']
    rows += [
        f'  child_mappings {{\n    key: "{one.host}"\n    value {{ host_id: {node} }}\n  }}'
        for node, one in enumerate(found.hosts)
    ]
    return "\n".join([*rows, "}"]) + "\n"


def _thunderbolt(point: Point) -> str:
    """Return a Thunderbolt port's RDMA device, or an empty string."""
    return (
        point.device if point.device.startswith("rdma_en") else f"rdma_{point.interface}" * bool(_MAC(point.interface))
    )


def _tray(point: Point) -> tuple[str, str]:
    """Return the kind and the descriptor text of a port."""
    match = _TRAY.fullmatch(point.port)
    if match is None:
        raise ParameterError(
            f"port '{point.port}' of host '{point.host}' does not say its tray: name ports in the inventory "
            "KIND-TRAY-PORT, such as QSFP_DD-1-2"
        )
    return match["kind"], f'path: ["{point.host}"] tray_id: {int(match["tray"])} port_id: {int(match["port"])}'


FORMATS = {
    "bringup": Format(
        "addresses, routes and variables of every host, and a test of the cables",
        to_bringup,
        takes=tuple(BringupOptions.__annotations__),
    )
}
