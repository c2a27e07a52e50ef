"""Bring-up: what is written for hosts is what Linux takes, and with it all reach one another along the cables."""

from __future__ import annotations

import ast
import csv
import ipaddress
import itertools
import json
import random
import shutil
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
import yaml
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import few
from tests.floors import reached
from tests.samples.namespaces import End, cables_of, exchanged, namespaces, refused
from tests.samples.plans import plan_of
from tests.samples.topologies import regular_digraphs
from topodesign import bringup, export_wiring
from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.cli.wire import export as export_command
from topodesign.cli.wire import show as show_command
from topodesign.topology.library import build
from topodesign.topology.topology import Topology
from topodesign.wiring.bringup import link_test
from topodesign.wiring.bringup.bringup import LARGEST_RING, NODE, Bringup, find_apart, next_hosts, ring_of
from topodesign.wiring.bringup.host_files import environment, host_list, netplan, networkd, sysctl
from topodesign.wiring.bringup.options import ROUTES, BringupOptions
from topodesign.wiring.check.check import check_wiring
from topodesign.wiring.check.observed import read_link_tests
from topodesign.wiring.exports.formats.bringup import MAX_CABLES, MAX_JACCL, jaccl_of, link_test_of, tenstorrent_of
from topodesign.wiring.plan.files import save_wiring
from topodesign.wiring.plan.plan import WiringPlan

FIVE = plan_of(build("circulant(5,1,2)"), "duplex")
SIX = plan_of(build("circulant(6,1,2)"), "duplex")
NO_NAMESPACES = refused()
shortly = settings(max_examples=20, deadline=None)


def both_ways(nodes: int, pairs: list[tuple[int, int]]) -> Topology:
    return Topology.from_links(nodes, [(u, v) for a, b in pairs for u, v in ((a, b), (b, a))])


@st.composite
def duplex_plans(draw: st.DrawFn, most: int = 8) -> WiringPlan:
    """Plans of any duplex topology, with breakouts or without, behind a panel or a switch."""
    drawn = draw(regular_digraphs(most, 2))
    pairs = [(u, v) for u, v, count in drawn.links() if u != v for _ in range(count)]
    kind: Any = draw(st.sampled_from(["patch panel", "ocs"]))
    return plan_of(both_ways(drawn.nodes, pairs), "duplex", kind=kind, breakout=draw(st.booleans()))


# -- addresses and ways


@shortly
@given(plan=duplex_plans(), subnet=st.sampled_from([24, 30, 31]), routes=st.sampled_from(ROUTES))
def test_every_cable_has_a_subnet_and_routes_are_shortest(plan: WiringPlan, subnet: int, routes: Any) -> None:
    found = bringup(plan, subnet=subnet, routes=routes, ipv6="fd64::/48")
    assert [line.cable for line in found.lines] == [connect.cable for connect in plan.connects]
    seen: list[Any] = []
    for line in found.lines:
        for a, b in ((line.a.address, line.b.address), (line.a.ipv6, line.b.ipv6)):
            here, there = ipaddress.ip_interface(a), ipaddress.ip_interface(b)
            assert here.network == there.network
            assert here.ip != there.ip
            assert subnet == 31 or not {here.ip, there.ip} & {here.network[0], here.network[-1]} or here.version == 6
            seen.append(here.network)
    seen += [ipaddress.ip_network(text) for one in found.hosts for text in (one.address, one.ipv6)]
    assert not any(a.version == b.version and a.overlaps(b) for a, b in itertools.combinations(seen, 2))
    _follow(found)


@shortly
@given(plan=duplex_plans())
def test_ranks_are_nodes_and_a_link_of_theirs_is_a_cable(plan: WiringPlan) -> None:
    """What a plan sends from rank to rank goes by the host list, and on the cable between the two."""
    found = bringup(plan)
    rows = [row.split() for row in host_list(found, plan.hosts).splitlines()]
    ranks = {name: number for number, (_, _, _, name) in enumerate(rows)}
    assert ranks == plan.node
    own = {name: address for address, _, _, name in rows}
    assert own == {one.host: one.address.partition("/")[0] for one in found.hosts}
    for u, v, _ in plan.topology.links():
        here, there = plan.hosts[u], plan.hosts[v]
        (way,) = (one for one in found.routes[here] if one.to == f"{own[there]}/32")
        (end,) = (far for _, near, far in found.ends[here] if near.interface == way.interface)
        assert (end.host, end.address.partition("/")[0]) == (there, way.via)


def _follow(found: Bringup) -> None:
    """Follow the routes of all hosts, and hold their lengths against those of the wiring."""
    owner: dict[str, tuple[str, str]] = {}
    for line in found.lines:
        for end in (line.a, line.b):
            owner |= {text.partition("/")[0]: (end.host, end.interface) for text in (end.address, end.ipv6)}
    peer = {(here.host, here.interface): there.host for _, here, there in itertools.chain(*found.ends.values())}
    table = {(host, one.to): one for host, some in found.routes.items() for one in some}
    graph = nx.Graph([(line.a.host, line.b.host) for line in found.lines])
    graph.add_nodes_from(one.host for one in found.hosts)
    wanted: list[tuple[str, set[str]]] = []
    if found.options["routes"] != "none":
        wanted += [(text, {one.host}) for one in found.hosts for text in (one.address, one.ipv6)]
    if found.options["routes"] == "all":
        wanted += [
            (str(ipaddress.ip_interface(text).network), {line.a.host, line.b.host})
            for line in found.lines
            for text in (line.a.address, line.a.ipv6)
        ]
    assert {to for _, to in table} <= {to for to, _ in wanted}
    for host, (to, goals) in itertools.product([one.host for one in found.hosts], wanted):
        lengths = [nx.shortest_path_length(graph, host, goal) for goal in goals if nx.has_path(graph, host, goal)]
        assert ((host, to) in table) == bool(lengths and min(lengths)), (host, to)
        at, steps = host, 0
        while at not in goals and (at, to) in table:
            one = table[at, to]
            assert owner[one.via][0] == peer[at, one.interface]
            at, steps = peer[at, one.interface], steps + 1
        assert not lengths or (at in goals and steps == min(lengths))


@settings(max_examples=40, deadline=None)
@given(nodes=st.integers(3, 7), draws=st.lists(st.booleans(), min_size=21, max_size=21))
@pytest.mark.floor(ring=3, none=3)
def test_a_ring_is_found_where_there_is_one(nodes: int, draws: list[bool]) -> None:
    pairs = [pair for pair, drawn in zip(itertools.combinations(range(nodes), 2), draws, strict=False) if drawn]
    near = nx.Graph(pairs)
    neighbours = [sorted(near[node]) if node in near else [] for node in range(nodes)]
    rings = [
        order
        for order in itertools.permutations(range(nodes))
        if order[0] == 0 and not find_apart(neighbours, order, [(n, (n + 1) % nodes) for n in range(nodes)])
    ]
    found = ring_of(neighbours)
    assert (found is None) == (not rings)
    assert found is None or found in rings
    reached("none" if found is None else "ring")


def test_ways_of_graphs_that_fall_apart() -> None:
    assert next_hosts([[1], [0], [3], [2]], [0]) == [-1, 0, -1, -1]
    assert ring_of([[1], [0], [3], [2]]) is None
    assert ring_of([[1], [0]]) == (0, 1)
    assert ring_of([[]]) == (0,)
    assert ring_of([[(n + 1) % 200, (n - 1) % 200] for n in range(LARGEST_RING + 72)]) is None
    found = bringup(plan_of(both_ways(4, [(0, 1), (2, 3)]), "duplex"))
    assert "do not join all hosts" in str(found)
    assert "no ring of cables" in str(found)
    star = plan_of(both_ways(4, [(0, 1), (0, 2), (0, 3)]), "duplex")
    many = [(node, (node + 1) % 130) for node in range(130)]
    assert "not looked for among more than 128 hosts" in str(bringup(plan_of(both_ways(130, many), "duplex")))
    lone = replace(star, connects=star.connects[:2])
    assert "no cable leads to h3" in str(bringup(lone))


def test_what_does_not_fit_is_refused() -> None:
    for options, words in (
        ({"base": "10.0.0.0/27"}, "a /26 is needed"),
        ({"base": "10.0.0.0/24", "subnet": 24}, "or a smaller subnet"),
        ({"base": "10.0.0.1/24"}, "is not an IPv4 network"),
        ({"base": "fd64::/48"}, "is not an IPv4 network"),
        ({"ipv6": "fd64::/64"}, "a /60 is needed"),
        ({"ipv6": "10.0.0.0/8"}, "is not an IPv6 network"),
        ({"subnet": 32}, "subnet must be from 16 to 31"),
        ({"mtu": 100}, "mtu must be from 1280"),
        ({"routes": "some"}, "routes 'some' is not known"),
    ):
        with pytest.raises(ParameterError, match=words):
            bringup(FIVE, **options)
    assert bringup(FIVE, base="10.0.0.0/25").hosts[4].address == "10.0.0.125/32"
    assert bringup(FIVE, base="10.0.0.0/26").hosts[4].address == "10.0.0.61/32"
    with pytest.raises(TypeError, match="did you mean 'mtu'"):
        bringup(FIVE, mtuu=9)  # type: ignore[call-arg]
    named = plan_of(build("circulant(5,1,2)"), "duplex", hosts=("a b", "c", "d", "e", "f"))
    with pytest.raises(ParameterError, match="'a b' is not a name that a network takes"):
        bringup(named)


def test_one_way_links_are_refused_and_two_of_them_are_one() -> None:
    with pytest.raises(ParameterError, match=r"one way \(C0001: h0 eth0 -> .*--duplex"):
        bringup(plan_of(build("genkautz(2,5)")))
    pairs = plan_of(both_ways(2, [(0, 1), (0, 1)]), "simplex")
    lines = bringup(pairs).lines
    assert [line.cable for line in lines] == ["C0001+C0003", "C0002+C0004"]


def test_interfaces_have_the_names_that_a_table_says(tmp_path: Path) -> None:
    broken = plan_of(build("circulant(5,1,2)"), "duplex", breakout=True)
    assert {line.a.interface for line in bringup(broken).lines} <= {f"eth0s{lane}" for lane in range(4)}
    table = tmp_path / "names.csv"
    rows = ["host,port,interface,device", *(f"*,eth{n},en{n + 2},rdma_en{n + 2}" for n in range(4))]
    table.write_text("\n".join([*rows, "h3,eth0,np0 np1,mlx5_0 mlx5_1"]))
    found = bringup(FIVE, interfaces=table)
    ends = [end for line in found.lines for end in (line.a, line.b)]
    assert {end.interface for end in ends if end.host != "h3"} == {"en2", "en3", "en4", "en5"}
    assert {end.device for end in ends if end.host == "h3"} == {"mlx5_0", "rdma_en3", "rdma_en4", "rdma_en5"}
    table.write_text("host,port,interface\n" + "\n".join(f"*,eth{n},np{n}a np{n}b" for n in range(4)))
    twins = bringup(FIVE, interfaces=table)
    assert len(twins.lines) == 2 * len(found.lines)
    assert len({line.a.address for line in twins.lines}) == 20
    for text, words in (
        ("host,port,interface\nh9,eth0,a", "line 2: the inventory has no port 'eth0' of host 'h9'"),
        ("host,port,interface\nh1,eth0,a\nh1,eth0,b", "line 3: there are two rows"),
        ("host,port,interface\nh1,eth0,a/b", "'a/b' is not a name of an interface"),
        ("host,port,interface\nh1,eth0,$(reboot)", "is not a name of an interface"),
        (f"host,port,interface\nh1,eth0,{NODE}", "is not a name of an interface"),
        ("host,port,interface,device\nh1,eth0,a,b c", "as many devices"),
        ("host,port,interface,device\nh1,eth0,a,b'c", "is not a name of a device"),
        ("host,port,neighbour_host\n", "this is a list of neighbours, not a table of interfaces"),
    ):
        table.write_text(text)
        with pytest.raises(FileFormatError) as error:
            bringup(FIVE, interfaces=table)
        assert words in str(error.value)
    table.write_text("host,port,interface\n*,eth0,a\n*,eth1,a")
    with pytest.raises(ParameterError, match="interface 'a' of host 'h0' is that of two ports"):
        bringup(FIVE, interfaces=table)
    host, *others = FIVE.inventory.hosts
    ports = tuple(replace(port, name=f"port {n}") for n, port in enumerate(host.ports))
    room = replace(FIVE.inventory, hosts=(replace(host, ports=ports), *others))
    moved = {port.name: other.name for port, other in zip(host.ports, ports, strict=True)}

    def there(end: Any) -> Any:
        return replace(end, port=moved[end.port]) if end.host == "h0" else end

    connects = tuple(replace(one, a=there(one.a), b=there(one.b)) for one in FIVE.connects)
    with pytest.raises(ParameterError, match="'port 0' of host 'h0' is not a name of an interface"):
        bringup(replace(FIVE, inventory=room, connects=connects, fixed=tuple(map(there, FIVE.fixed))))


# -- files


def test_the_three_ways_to_set_a_host_up_say_the_same() -> None:
    more: dict[str, Any] = {"ipv6": "fd64::/48", "subnet": 31, "routes": "all", "mtu": 4200}
    for options in ({}, more):
        found = bringup(SIX, **options)
        for host in found.hosts:
            plan = yaml.safe_load(netplan(found, host))["network"]
            units = networkd(found, host)
            own = [address for address in (host.address, host.ipv6) if address]
            loopback = plan["ethernets"].get("lo", {"addresses": []})["addresses"]
            assert plan["bridges"][NODE]["addresses"] + loopback == own
            assert all(f"Address={address}\n" in units[f"10-{NODE}.network"] for address in own)
            said = set()
            for _, here, _ in found.ends[host.host]:
                part, unit = plan["ethernets"][here.interface], units[f"10-{here.interface}.network"]
                assert part["addresses"] == [address for address in (here.address, here.ipv6) if address]
                assert all(f"Address={address}\n" in unit for address in part["addresses"])
                assert part["mtu"] == found.options["mtu"]
                assert f"MTUBytes={part['mtu']}\n" in unit
                for one in part["routes"]:
                    said.add((one["to"], one["via"], here.interface))
                    route = f"Destination={one['to']}\nGateway={one['via']}\nPreferredSource={one['from']}\n"
                    assert f"[Route]\n{route}" in unit
                    assert one["from"] in {address.partition("/")[0] for address in own}
                assert unit.count("[Route]") == len(part["routes"])
                assert f"net/ipv4/conf/{here.interface}/arp_ignore = 1\n" in sysctl(found, host)
            assert said == {tuple(one) for one in found.routes[host.host]}
            assert ("ipv6/conf/all/forwarding = 1" in sysctl(found, host)) == bool(host.ipv6)


def variables(text: str) -> dict[str, str]:
    """What a shell exports that sources a text."""
    done = subprocess.run(
        ["sh", "-euc", f"{text}\nenv"], env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)


def test_variables_of_jobs(tmp_path: Path) -> None:
    found = bringup(SIX, subnet=31)
    said = [variables(environment(found, host)) for host in found.hosts]
    assert all(one["NCCL_IB_SUBNET_PREFIX_LEN"] == "31" and one["NCCL_IB_SUBNET_AWARE_ROUTING"] == "1" for one in said)
    assert all(one["GLOO_SOCKET_IFNAME"] == one["NCCL_SOCKET_IFNAME"] == NODE for one in said)
    assert {one["NCCL_ALGO"] for one in said} == {"Ring"}
    assert {one["MASTER_ADDR"] for one in said} == {found.hosts[0].address.partition("/")[0]}
    order = sorted(range(6), key=lambda node: int(said[node]["NODE_RANK"]))
    assert found.ring == tuple(f"h{node}" for node in order)
    assert not find_apart(found.neighbours, order, [(n, (n + 1) % 6) for n in range(6)])
    whole = bringup(plan_of(both_ways(4, list(itertools.combinations(range(4), 2))), "duplex"), management="eno1")
    one = variables(environment(whole, whole.hosts[2]))
    assert "NCCL_ALGO" not in one  # trees join neighbours, too
    assert "MASTER_ADDR" not in one
    assert one["GLOO_SOCKET_IFNAME"] == "eno1"
    path = bringup(plan_of(both_ways(3, [(0, 1), (1, 2)]), "duplex"))
    assert "NODE_RANK" not in variables(environment(path, path.hosts[0]))
    table = tmp_path / "names.csv"
    table.write_text("host,port,interface,device\n" + "\n".join(f"*,eth{n},eth{n},mlx5_{n}" for n in range(4)))
    named = bringup(SIX, interfaces=table)
    hca = variables(environment(named, named.hosts[0]))["NCCL_IB_HCA"]
    assert hca.startswith("=mlx5_")
    assert sorted(hca[1:].split(",")) == sorted(here.device for _, here, _ in named.ends["h0"])
    with pytest.raises(ParameterError, match="management"):
        bringup(SIX, management="a b")


def test_the_directory(tmp_path: Path) -> None:
    target = tmp_path / "up"
    file = tmp_path / "plan.json"
    save_wiring(FIVE, file)
    done = CliRunner().invoke(
        export_command.command, [str(file), "--format", "bringup", "-o", str(target), "--subnet", "31"]
    )
    assert done.exit_code == 0, done.output
    assert {path.name for path in target.iterdir()} == {
        *("links.csv", "hosts", "ranks", "ring", "link_test.py"),
        *FIVE.hosts,
    }
    rows = list(csv.DictReader((target / "links.csv").read_text().splitlines()))
    assert [row["a_address"] for row in rows] == [line.a.address for line in bringup(FIVE, subnet=31).lines]
    listed = [line.split() for line in (target / "hosts").read_text().splitlines()[1:]]
    table = {name: address for address, name in listed}
    assert table[f"h2-{NODE}"] == bringup(FIVE).hosts[2].address.partition("/")[0]
    assert len((target / "ranks").read_text().splitlines()) == 5
    with pytest.raises(FileFormatError, match="already exists"):
        export_wiring(FIVE, "bringup", target)
    with pytest.raises(ParameterError, match="patches takes no --mtu; remove it, or export bringup"):
        export_wiring(FIVE, "patches", tmp_path / "p.csv", mtu=1500)
    named = plan_of(build("circulant(5,1,2)"), "duplex", hosts=("ring", "c", "d", "e", "f"))
    with pytest.raises(ParameterError, match="cannot be called 'ring' here"):
        export_wiring(named, "bringup", tmp_path / "named")
    told = CliRunner().invoke(show_command.command, [str(file), "--addresses", "--subnet", "31", "--json"])
    assert json.loads(told.output)["lines"][0]["a"]["address"] == "10.64.0.0/31"
    assert set(BringupOptions.__annotations__) >= {"base", "subnet", "mtu"}


def test_jaccl_takes_meshes_and_rings(tmp_path: Path) -> None:
    table = tmp_path / "names.csv"

    def cells(pairs: list[tuple[int, int]], nodes: int) -> Any:
        plan = plan_of(both_ways(nodes, pairs), "duplex")
        table.write_text(
            "\n".join(["host,port,interface", *(f"*,eth{n},en{n + 2}" for n in range(plan.topology.degree))])
        )
        found = bringup(plan, interfaces=table)
        files = jaccl_of(found)
        hosts = json.loads(files["mlx.json"])
        rows = json.loads(files["jaccl.json"])
        assert [one["rdma"] for one in hosts] == rows
        order = [one["ssh"] for one in hosts]
        ends = {(end.host, f"rdma_{end.interface}"): line.cable for line in found.lines for end in (line.a, line.b)}
        for i, j in itertools.permutations(range(nodes), 2):
            near, back = rows[i][j], rows[j][i]
            assert (near is None) == (back is None)
            assert near is None or [ends[order[i], name] for name in near] == [ends[order[j], name] for name in back]
        return rows

    mesh = cells(list(itertools.combinations(range(4), 2)), 4)
    assert all((mesh[i][j] is None) == (i == j) for i in range(4) for j in range(4))
    ring = cells([(0, 2), (2, 1), (1, 3), (3, 0)] * 2, 4)
    for rank in range(4):
        assert [len(ring[rank][(rank + step) % 4]) for step in (1, -1)] == [2, 2]
        assert ring[rank][(rank + 2) % 4] is None
    ten = cells([(n, (n + 1) % 10) for n in range(10)], 10)
    assert len(ten) > MAX_JACCL
    assert MAX_CABLES == 4
    with pytest.raises(ParameterError, match=r"no jaccl.json: .* these 4 do neither"):
        cells([(0, 1), (0, 2), (0, 3)], 4)
    plan = plan_of(both_ways(4, [(0, 1), (0, 2), (0, 3)]), "duplex")
    notes = export_wiring(plan, "bringup", tmp_path / "up", interfaces=table)
    assert any("JACCL" in note for note in notes)


def test_the_cabling_descriptor_is_the_wiring() -> None:
    pytest.importorskip("google.protobuf")
    with pytest.raises(ParameterError, match="port 'eth0' of host 'h0' does not say its tray"):
        tenstorrent_of(bringup(FIVE, node_type="N300_LB_DEFAULT"))
    with pytest.raises(ParameterError, match="is not one of Tenstorrent's"):
        tenstorrent_of(bringup(FIVE, node_type='"'))

    def named(end: Any) -> Any:
        number = int(end.port.removeprefix("eth"))
        return replace(end, port=f"QSFP_DD-{number // 2 + 1}-{number % 2 + 1}")

    hosts = tuple(
        replace(
            host,
            ports=tuple(
                replace(port, name=f"QSFP_DD-{number // 2 + 1}-{number % 2 + 1}")
                for number, port in enumerate(host.ports)
            ),
        )
        for host in FIVE.inventory.hosts
    )
    plan = replace(
        FIVE,
        inventory=replace(FIVE.inventory, hosts=hosts),
        fixed=tuple(map(named, FIVE.fixed)),
        connects=tuple(replace(one, a=named(one.a), b=named(one.b)) for one in FIVE.connects),
    )
    found = bringup(plan, node_type="N300_LB_DEFAULT")
    cluster = cluster_descriptor()
    from google.protobuf import text_format

    text_format.Parse(tenstorrent_of(found), cluster)
    graph = cluster.graph_templates["wiring"]
    assert [one.node_ref.node_descriptor for one in graph.children] == ["N300_LB_DEFAULT"] * 5
    ids = {name: one.host_id for name, one in cluster.root_instance.child_mappings.items()}
    assert ids == plan.node
    made = {
        frozenset((port.path[0], port.tray_id, port.port_id) for port in (one.port_a, one.port_b))
        for one in graph.internal_connections["QSFP_DD"].connections
    }
    ends = {
        frozenset((end.host, int(end.port.split("-")[1]), int(end.port.split("-")[2])) for end in (line.a, line.b))
        for line in found.lines
    }
    assert made == ends


def cluster_descriptor() -> Any:
    """An empty ClusterDescriptor as tt-metal's cluster_config.proto declares it (33e896e6), as far as is written."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="cluster.proto", package="tt", syntax="proto3")
    kinds = {"string": 9, "uint32": 13}

    def message(name: str, *fields: tuple[str, int, str, bool], maps: tuple[tuple[str, int, str], ...] = ()) -> None:
        made = file.message_type.add(name=name)
        for field, number, kind, many in fields:
            one = made.field.add(name=field, number=number, label=3 if many else 1)
            if kind in kinds:
                one.type = kinds[kind]
            else:
                one.type, one.type_name = 11, f".tt.{kind}"
        for field, number, kind in maps:
            entry = "".join(part.capitalize() for part in field.split("_")) + "Entry"
            nested = made.nested_type.add(name=entry)
            nested.options.map_entry = True
            nested.field.add(name="key", number=1, label=1, type=9)
            nested.field.add(name="value", number=2, label=1, type=11, type_name=f".tt.{kind}")
            made.field.add(name=field, number=number, label=3, type=11, type_name=f".tt.{name}.{entry}")

    message("Port", ("path", 1, "string", True), ("tray_id", 2, "uint32", False), ("port_id", 3, "uint32", False))
    message("Connection", ("port_a", 1, "Port", False), ("port_b", 2, "Port", False))
    message("PortConnections", ("connections", 1, "Connection", True))
    message("NodeRef", ("node_descriptor", 1, "string", False))
    message("ChildInstance", ("name", 1, "string", False), ("node_ref", 2, "NodeRef", False))
    message("ChildMapping", ("host_id", 1, "uint32", False))
    message("GraphInstance", ("template_name", 1, "string", False), maps=(("child_mappings", 2, "ChildMapping"),))
    message(
        "GraphTemplate",
        ("children", 1, "ChildInstance", True),
        maps=(("internal_connections", 2, "PortConnections"),),
    )
    message(
        "ClusterDescriptor",
        ("root_instance", 3, "GraphInstance", False),
        maps=(("graph_templates", 2, "GraphTemplate"),),
    )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("tt.ClusterDescriptor"))()


@pytest.mark.skipif(shutil.which("netplan") is None, reason="netplan is not installed")
def test_netplan_takes_its_file(tmp_path: Path) -> None:
    found = bringup(SIX, ipv6="fd64::/48", routes="all")
    folder = tmp_path / "etc" / "netplan"
    folder.mkdir(parents=True)
    file = folder / "60-cables.yaml"
    file.write_text(netplan(found, found.hosts[1]))
    file.chmod(0o600)
    done = subprocess.run(
        ["netplan", "generate", "--root-dir", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    written = "".join(path.read_text() for path in (tmp_path / "run/systemd/network").glob("*.network"))
    assert all(f"Destination={one.to}\nGateway={one.via}\n" in written for one in found.routes["h1"])


# -- the link test


def said(found: Bringup, cables: list[tuple[End, End]]) -> dict[str, Any]:
    """What the link tests of all hosts print where these cables are plugged in, by ports."""
    heard: dict[str, list[list[str]]] = {one.host: [] for one in found.hosts}
    for a, b in cables:
        for (host, port), (other, far) in ((a, b), (b, a)):
            heard[host].append([port, other, far])
    return {host: {"link test": 1, "host": host, "heard": rows, "problems": []} for host, rows in heard.items()}


def checked(plan: WiringPlan, told: dict[str, Any], folder: Path) -> Any:
    folder.mkdir(exist_ok=True)
    for host, document in told.items():
        (folder / f"{host}.json").write_text(document if isinstance(document, str) else json.dumps(document))
    return check_wiring(plan, links=folder)


def ports_of(found: Bringup) -> list[tuple[End, End]]:
    return [((one.a.host, one.a.port), (one.b.host, one.b.port)) for one in found.lines]


@pytest.mark.dear
@pytest.mark.parametrize(
    "plan", [SIX, pytest.param(plan_of(build("circulant(16,3,4)"), "duplex"), marks=pytest.mark.thorough)]
)
def test_every_miscabling_is_named(plan: WiringPlan, tmp_path: Path) -> None:
    found = bringup(plan)
    cables = ports_of(found)
    names = [line.cable for line in found.lines]
    assert checked(plan, said(found, cables), tmp_path / "said").ok
    for first, second in few([*itertools.combinations(range(len(cables)), 2)]):
        for side in (0, 1):
            result = checked(plan, said(found, exchanged(cables, first, second, side)), tmp_path / "said")
            assert [set(one.cables) for one in result.findings] == [{names[first], names[second]}]
            assert result.findings[0].fault == "swapped"
    chance = random.Random(0)  # noqa: S311
    for _ in few(range(100)):
        picked = chance.sample(range(len(cables)), 4)
        made = exchanged(cables, picked[0], picked[1], chance.randrange(2))
        made = exchanged(made, picked[2], picked[3], chance.randrange(2))
        result = checked(plan, said(found, made), tmp_path / "said")
        wanted = [{names[n] for n in picked[:2]}, {names[n] for n in picked[2:]}]
        assert sorted(map(sorted, (one.cables for one in result.findings))) == sorted(map(sorted, wanted))


def test_both_functions_of_a_port_are_one_cable(tmp_path: Path) -> None:
    told = said(bringup(SIX), ports_of(bringup(SIX)))
    for document in told.values():
        document["heard"] += document["heard"]
    assert checked(SIX, told, tmp_path / "said").ok


def test_what_is_no_link_test_is_refused(tmp_path: Path) -> None:
    found = bringup(FIVE)
    told = said(found, ports_of(found))
    told["h0"]["problems"] = ["h0 eth0 has an MTU of 1500, not 9000"]
    result = checked(FIVE, told, tmp_path / "said")
    assert [one.words for one in result.findings] == told["h0"]["problems"]
    file = tmp_path / "said" / "h0.json"
    for text in ("[]", '{"link test": 2}', '{"link test": 1, "host": "h0", "heard": [["a", "b"]], "problems": []}'):
        file.write_text(text)
        with pytest.raises(FileFormatError, match=r"h0.json: this is not what link_test.py prints"):
            read_link_tests(file, FIVE)
        result = check_wiring(FIVE, links=tmp_path / "said")  # beside others the host is not seen, and the rest checked
        assert "h0.json: this is not what link_test.py prints" in str(result)
    with pytest.raises(FileFormatError, match="there is nothing in it"):
        read_link_tests(tmp_path, FIVE)
    file.write_text('{"lldp": {}}')
    with pytest.raises(FileFormatError, match="this is a list of neighbours, not what a host's link test said"):
        read_link_tests(file, FIVE)


def test_the_program_says_who_it_is(tmp_path: Path) -> None:
    program = tmp_path / "link_test.py"
    program.write_text(link_test_of(bringup(FIVE)))
    ast.parse(program.read_text(), feature_version=(3, 8))
    command = [sys.executable, str(program), "--seconds", "0.1", "--host"]
    done = subprocess.run([*command, "elsewhere"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "the plan has no host elsewhere; say which one this is with --host\n")
    away = plan_of(build("circulant(5,1,2)"), "duplex", hosts=("z0", "z1", "z2", "z3", "z4"))
    ports = bringup(away)
    program.write_text(link_test_of(ports).replace('"eth', '"nowhere'))
    done = subprocess.run([*command, "z1.example.org"], capture_output=True, text=True, check=False)
    document = json.loads(done.stdout)
    assert document["host"] == "z1"
    assert document["problems"] == [f"z1 nowhere{n} is not there" for n in range(4)]
    assert "LINES: dict" in Path(link_test.__file__).read_text()


# -- namespaces


def _brought_up(plan: WiringPlan, tmp_path: Path) -> None:
    found = bringup(plan, ipv6="fd64::/48")
    directory = tmp_path / "up"
    export_wiring(plan, "bringup", directory, ipv6="fd64::/48")
    own = {one.host: one.address.partition("/")[0] for one in found.hosts}
    own6 = {one.host: one.ipv6.partition("/")[0] for one in found.hosts}
    test = {
        host: [sys.executable, str(directory / "link_test.py"), "--host", host, "--seconds", "4"] for host in plan.hosts
    }
    cables = cables_of(found)
    with namespaces(plan.hosts, cables) as made:
        for _ in range(2):  # what is applied may be again
            made.all_at_once({host: ["sh", str(directory / host / "apply.sh")] for host in plan.hosts})
        assert made.reach(own) == {(a, b): own[a] for a in own for b in own}
        assert made.reach(own6) == {(a, b): own6[a] for a in own for b in own}
        routes = {line.split()[0] for line in made.run("h1", "ip", "route", "show", "dev", "eth0").splitlines()}
        meant = {one.to.partition("/")[0] for one in found.routes["h1"] if one.interface == "eth0" and "." in one.to}
        assert routes >= meant
        result = checked(plan, dict(made.all_at_once(test)), tmp_path / "said")
        assert result.ok, result
        made.run("h0", "ip", "link", "set", "eth1", "mtu", "1500")
        for host in ("h0", "h2"):  # frames go without IPv6, and without addresses
            made.run(host, "sh", "-c", "for one in /proc/sys/net/ipv6/conf/*/disable_ipv6; do echo 1 > $one; done")
            made.run(host, "ip", "address", "flush", "dev", "eth0")
        result = checked(plan, dict(made.all_at_once(test)), tmp_path / "said")
        assert {one.fault for one in result.findings} == {"cable"}
        words = "\n".join(one.words for one in result.findings)
        assert "h0 eth1 has an MTU of 1500, not 9000" in words
        assert "h0 eth0 has no address 10.64.0.1" in words
        assert "gets no packet of 9000 bytes from" in words
        for host in ("h0", "h2"):
            made.run(host, "sh", "-c", "for one in /proc/sys/net/ipv6/conf/*/disable_ipv6; do echo 0 > $one; done")
        wrong = exchanged(cables, 1, 4, 1)
        made.unplug([cables[1][0], cables[4][0]])
        made.plug([wrong[1], wrong[4]])
        made.all_at_once({host: ["sh", str(directory / host / "apply.sh")] for host in plan.hosts})
        result = checked(plan, dict(made.all_at_once(test)), tmp_path / "said")
        swapped = [one for one in result.findings if one.fault == "swapped"]
        assert [set(one.cables) for one in swapped] == [{found.lines[1].cable, found.lines[4].cable}]


@pytest.mark.dear
@pytest.mark.skipif(NO_NAMESPACES is not None, reason=str(NO_NAMESPACES))
def test_hosts_reach_one_another_as_written(tmp_path: Path) -> None:
    _brought_up(FIVE, tmp_path)


@pytest.mark.thorough
@pytest.mark.skipif(NO_NAMESPACES is not None, reason=str(NO_NAMESPACES))
def test_sixteen_hosts_reach_one_another_as_written(tmp_path: Path) -> None:
    _brought_up(plan_of(build("circulant(16,3,4)"), "duplex"), tmp_path)


class Neighbour:
    """A socket that hears one packet."""

    family = socket.AF_INET6

    def __init__(self, packet: bytes) -> None:
        self.packet = packet

    def fileno(self) -> int:
        return 0

    def recvfrom(self, _most: int) -> tuple[bytes, tuple[str]]:
        return self.packet, ("fe80::1",)

    def sendto(self, _what: bytes, _to: object) -> None:
        pass


@pytest.mark.parametrize(
    "packet",
    [
        b"[" * 60000, b"[" * 590, b'{"host":' * 70, b"\xff\xfe", b"", b"\0" * 9000, b"7", b"null", b"1e999999",
        b"9" * 65000, b'{"host": 1, "port": 2}', b'{"host": ["a"], "port": {}}', b'{"host": "a"}', b'"host"',
    ],
)  # fmt: skip
def test_any_packet_is_survived(packet: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    channel = link_test.Channel("eth0", Neighbour(packet), ("ff02::1",), b"")  # type: ignore[arg-type]
    monkeypatch.setattr("select.select", lambda *_: ([channel], [], []))
    assert link_test.exchange([channel], 0.002) == (set(), set())
    good = link_test.Channel("eth0", Neighbour(b'{"host": "h1", "port": "p1"}'), ("ff02::1",), b"")  # type: ignore[arg-type]
    monkeypatch.setattr("select.select", lambda *_: ([good, channel], [], []))
    assert link_test.exchange([good], 0.002)[0] == {("eth0", ("h1", "p1"))}
