"""Routes: proved acyclic by a second checker, channels counted, and files that their consumers take."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
import time
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import few
from topodesign.base.errors import InfeasibleError, ParameterError, TooLargeError, TopodesignError
from topodesign.base.spec import parse
from topodesign.catalog.lookup import Catalog
from topodesign.cli.main import run
from topodesign.finder import sources
from topodesign.finder.question import Objective
from topodesign.finder.question import Question as FindQuestion
from topodesign.topology.library import build
from topodesign.topology.topology import Topology
from topodesign.wiring.routes.engines import ENGINES, Question
from topodesign.wiring.routes.routes import Routes, routes
from topodesign.wiring.routes.ways import Ways, channel_order, problems


def acyclic(ways: Ways) -> bool:
    """By the standard library, way by way: shares nothing with the proof."""
    waits: dict[tuple[int, int], set[tuple[int, int]]] = {}
    hop, lane, start = ways.hop.tolist(), ways.lane.tolist(), ways.start.tolist()
    for begin, end in itertools.pairwise(start):
        for at in range(begin, end - 1):
            waits.setdefault((hop[at + 1], lane[at + 1]), set()).add((hop[at], lane[at]))
    try:
        TopologicalSorter(waits).prepare()
    except CycleError:
        return False
    return True


def delivered(ways: Ways) -> bool:
    """Whether every way is made of links from its source to its target."""
    topology = ways.topology
    for at, (source, target) in enumerate(zip(ways.source.tolist(), ways.target.tolist(), strict=True)):
        node = source
        for link in ways.hop[ways.start[at] : ways.start[at + 1]].tolist():
            assert topology.src[link] == node
            node = int(topology.dst[link])
        if node != target:
            return False
    return True


def all_right(found: Routes) -> bool:
    return all(acyclic(one.ways) and delivered(one.ways) for one in found.found)


COUNTED = {  # lanes of shortest paths that the design notes count
    "mms(5)": 2,
    "dragonflygroups(4,2)": 2,
    "dragonflygroups(6,3)": 3,
    "randomregulargraph(50,7,1)": 3,
    "randomregulargraph(64,4,1)": 4,
    "randomregulargraph(128,6,1)": 5,
    "torus(8,8)": 5,
    "torus(4,4,4)": 5,
}


@pytest.mark.parametrize(("spec", "most"), few([*COUNTED.items()]))
def test_shortest_paths_take_no_more_lanes_than_were_counted(spec: str, most: int) -> None:
    found = routes(spec)
    assert found.chosen.shortest
    assert found.chosen.ways.lanes <= most
    assert found.chosen.ways.lanes == min(one.ways.lanes for one in found.found if one.shortest)
    assert all_right(found)
    stays = [one for one in found.found if one.shortest and one.ways.keeps_lane]
    assert min(one.ways.lanes for one in stays) <= most


AT_512 = {
    "mms(16)": 2,
    "dragonflygroups(8,8)": 3,
    "torus(8,8,8)": 2,
    "hypercube(9)": 1,
    "randomregulargraph(512,7,1)": 5,
    "randomregulargraph(512,16,1)": 3,
    "hamming(3,8)": 1,
    "debruijn(2,9)": 5,
    "genkautz(4,512)": 4,
    "kautz(8,2)": 3,
}
"""Lanes of shortest paths of about 512 nodes: not more than the design notes count for fewer nodes."""


@pytest.mark.thorough
@pytest.mark.parametrize(("spec", "most"), AT_512.items())
def test_families_of_512_nodes(spec: str, most: int) -> None:
    found = routes(spec)
    assert found.chosen.shortest
    assert found.chosen.ways.lanes <= most
    assert acyclic(found.chosen.ways)


def test_published_channel_numbers() -> None:
    """Slim Fly 2, a lane a hop, and 4 for Valiant's ways (Besta and Hoefler); dragonfly 2 and 3 (Kim and others)."""
    counts = {one.engine: one.ways.lanes for one in routes("mms(5)").found}
    assert (counts["hops"], counts["valiant"]) == (2, 4)
    for spec in ("dragonflygroups(4,2)", "dragonflygroups(6,3)"):
        found = routes(spec)
        assert all_right(found)
        counts = {one.engine: one.ways.lanes for one in found.found}
        assert counts["hops"] == build_diameter(spec) == 3
        assert (counts["groups"], counts["valiant"]) == (2, 3)
    assert {one.engine: one.ways.lanes for one in routes("torus(8,8)").found}["dateline"] == 2


def groups_crossed(ways: Ways, size: int) -> list[int]:
    """Links between groups of each way."""
    src, dst = ways.topology.src[ways.hop] // size, ways.topology.dst[ways.hop] // size
    found: list[int] = np.add.reduceat((src != dst).astype(int), ways.start[:-1]).tolist()
    return found


def test_ways_of_groups_cross_once_and_those_of_valiant_twice() -> None:
    """Shortest paths may cross a third group in two hops, where the one link between two groups takes three."""
    found = {one.engine: one.ways for one in routes("dragonflygroups(4,2)").found}
    assert set(groups_crossed(found["groups"], 4)) == {0, 1}
    assert set(groups_crossed(found["valiant"], 4)) == {0, 1, 2}
    assert max(groups_crossed(found["layers"], 4)) == 2
    longer = found["groups"].lengths - found["layers"].lengths
    assert set(longer.tolist()) == {0, 1}
    assert np.all(np.array(groups_crossed(found["layers"], 4))[longer == 1] == 2)


def test_valiant_spreads_what_shortest_paths_put_on_one_link(tmp_path: Path) -> None:
    """All of each group to the next: one link carries a group's traffic, or any third group does."""
    rows = [f"{6 * g + r},{(6 * g + r + 6) % 114},1" for g in range(19) for r in range(6)]
    (tmp_path / "next.csv").write_text("\n".join(["src,dst,amount", *rows]))
    found = {one.engine: one for one in routes("dragonflygroups(6,3)", lanes=3, traffic=tmp_path / "next.csv").found}
    assert found["groups"].fullest == 6
    assert found["valiant"].fullest < 6


def build_diameter(spec: str) -> int:
    ways = routes(spec, engine="hops").chosen.ways
    return int(ways.lengths.max())


def test_random_topologies(pytestconfig: pytest.Config) -> None:
    thorough = os.environ.get("TOPODESIGN_TESTS") == "thorough" or pytestconfig.getoption("--thorough", default=False)
    draws = np.random.default_rng(3)
    for seed in range(200 if thorough else 30):
        nodes, degree = int(draws.integers(6, 40)), int(draws.integers(3, 6))
        nodes += nodes * degree % 2
        kind = "randomregulargraph" if seed % 2 else "randomregular"
        found = routes(f"{kind}({nodes},{degree},{seed})")
        assert all_right(found), (kind, nodes, degree, seed)
        if seed % 2:
            assert {"up-down", "confined", "turns"} <= {one.engine for one in found.found if one.ways.lanes == 1}


def test_switches_alone_pass_on() -> None:
    found = routes("fat_tree(3,2,2)", lanes=1)
    ways = found.chosen.ways
    assert acyclic(ways)
    inner = np.setdiff1d(np.arange(len(ways.hop)), ways.start[:-1])
    assert set(ways.topology.src[ways.hop[inner]].tolist()) <= set(ways.topology.switches)


def test_a_circle_is_found() -> None:
    """A one-way ring needs two lanes; all in one is a circle, and the proof says so."""
    ring = Topology.from_links(5, [(u, (u + 1) % 5) for u in range(5)])
    with pytest.raises(InfeasibleError, match="one way"):
        routes(ring, lanes=1)
    found = routes(ring)
    assert found.chosen.ways.lanes == 2
    bad = found.chosen.ways.in_lanes(np.zeros_like(found.chosen.ways.lane))
    assert channel_order(bad) is None
    assert not acyclic(bad)
    assert problems(bad, None, np.arange(5)) == ["channels wait for each other in a circle"]
    order = found.chosen.order[::-1].copy()
    assert problems(found.chosen.ways, order, np.arange(5))
    assert problems(found.chosen.ways, found.chosen.order, np.arange(4))


@pytest.mark.parametrize("engine", ENGINES)
def test_plain_python_and_machine_code_agree(engine: str) -> None:
    """Every engine is deterministic, and another seed changes at most what is taken."""
    topology = build("torus(3,4)")
    weight = np.ones((12, 12), dtype=np.int64)
    first, second = (ENGINES[engine](Question(topology, weight, 4, seed)) for seed in (0, 0))
    assert (first is None) == (second is None)
    if first is not None and second is not None:
        assert np.array_equal(first.hop, second.hop)
        assert np.array_equal(first.lane, second.lane)


def test_traffic_counts(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("src,dst,amount\n0,2,1.5\n1,2,0.25\n")
    found = routes("torus(4,4)", traffic=table)
    weight = np.zeros((16, 16), dtype=np.int64)
    weight[0, 2], weight[1, 2] = 6, 1
    assert found.chosen.fullest == found.chosen.ways.fullest(weight)
    table.write_text("src,dst,amount\n0,99,1\n")
    with pytest.raises(TopodesignError, match="line 2"):
        routes("torus(4,4)", traffic=table)


def follow(tables: dict[int, dict[int, int]], source: int, target: int) -> list[int]:
    way = [source]
    while way[-1] != target:
        way.append(tables[way[-1]][target])
        assert len(way) < 100
    return way


def test_opensm_tables_lead_to_their_targets_without_a_circle() -> None:
    topology = build("mms(5)")
    text = routes(topology, lanes=1).files("opensm")
    assert isinstance(text, str)
    tables: dict[int, dict[int, int]] = {}
    switch = -1
    for line in text.splitlines():
        if head := re.fullmatch(r"Unicast lids \[0-0x32\] of switch Lid \d+ guid 0x[0-9a-f]{16} \('(\d+)'\):", line):
            switch = int(head[1])
        elif row := re.fullmatch(r"0x([0-9a-f]{4}) (\d{3}) # \d+ portguid 0x[0-9a-f]{16}: 'host-(\d+)'", line):
            port = int(row[2])
            target = int(row[3])
            tables.setdefault(switch, {})[target] = switch if port == 1 else int(topology.neighbours(switch)[port - 2])
    waits: dict[tuple[int, int], set[tuple[int, int]]] = {}
    for source in range(50):
        for target in range(50):
            way = follow(tables, source, target)
            links = list(itertools.pairwise(way))
            for before, after in itertools.pairwise(links):
                waits.setdefault(after, set()).add(before)
    TopologicalSorter(waits).prepare()  # raises CycleError


def test_files_by_node(tmp_path: Path) -> None:
    found = routes("torus(3,3)", lanes=1)
    for form, ending in (("linux", "sh"), ("frr", "conf"), ("sonic", "json")):
        found.save(tmp_path / form, form)
        assert len(list((tmp_path / form).glob(f"*.{ending}"))) == 9
    document = json.loads((tmp_path / "sonic" / "0.json").read_text())["STATIC_ROUTE"]
    assert len(document) == 8
    assert all(len({len(value.split(",")) for value in fields.values()}) == 1 for fields in document.values())
    ports = tmp_path / "ports.csv"
    ports.write_text("node,peer,port\n0,1,Ethernet0\n")
    with pytest.raises(ParameterError, match="--ports has no"):
        found.files("sonic", ports)
    with pytest.raises(ParameterError, match="no lanes"):
        routes("torus(8,8)").files("opensm")


def test_what_is_too_long_is_refused_before_it_is_routed() -> None:
    with pytest.raises(TooLargeError, match="hops"):
        routes("circulant(512,1)")


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["routes", "torus(4,4)", "--format", "opensm", "--lanes", "2", "-o", str(tmp_path / "x")]) == 2
    assert "carry no lanes" in capsys.readouterr().err
    assert run(["routes", "torus(4,4)", "--format", "linux", "-o", str(tmp_path / "x"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["lanes"] == 1
    assert document["file"] == str(tmp_path / "x")
    assert len(document["certificate"]) == len(set(document["certificate"]))


def opensm_net(topology: Topology) -> str:
    """The network of ibsim: every node a switch with an adapter at port 1; an adapter's port has its GUID plus one."""
    number = {pair: 2 + at - int(topology.indptr[pair[0]]) for at, pair in enumerate(
        zip(topology.src.tolist(), topology.dst.tolist(), strict=True)
    )}  # fmt: skip
    lines = []
    for u in range(topology.nodes):
        lines += [
            f"switchguid=0x{(2 << 56) + u:x}",
            f'Switch {1 + len(topology.neighbours(u))} "S{u}"',
            f'[1] "H{u}"[1]',
        ]
        lines += [f'[{number[u, v]}] "S{v}"[{number[v, u]}]' for v in topology.neighbours(u).tolist()] + [""]
    for u in range(topology.nodes):
        lines += [f"caguid=0x{(2 << 56) + (1 << 32) + u - 1:x}", f'Hca 1 "H{u}"', f'[1] "S{u}"[1]', ""]
    return "\n".join(lines)


SIMULATOR = Path("/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so")


@pytest.mark.skipif(
    shutil.which("opensm") is None or shutil.which("ibsim") is None or not SIMULATOR.exists(),
    reason="needs opensm and ibsim",
)
@pytest.mark.parametrize("spec", ["torus(4,4)", "mms(3)", "dragonflygroups(3,2)"])
def test_opensm_loads_the_tables(tmp_path: Path, spec: str) -> None:
    """OpenSM sets on simulated switches what the file says, and nothing else for the adapters."""
    topology = build(spec)
    routes(topology, lanes=1).save(tmp_path / "lfts", "opensm")
    (tmp_path / "net").write_text(opensm_net(topology))
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(["ibsim", "-s", "net"], cwd=tmp_path, stdin=pipe, stdout=nothing) as sim:
        time.sleep(2)
        here = dict.fromkeys(("OSM_TMP_DIR", "OSM_CACHE_DIR"), str(tmp_path))
        here |= {"SIM_HOST": "H0", "LD_PRELOAD": str(SIMULATOR)}
        command = ["opensm", "-o", "-e", "-D", "0x43", "-f", "osm.log", "-R", "file", "-U", "lfts"]
        subprocess.run(command, cwd=tmp_path, env=os.environ | here, timeout=60, check=True, capture_output=True)
        sim.terminate()
    assert "file tables configured on all switches" in (tmp_path / "osm.log").read_text()
    ours, theirs = (entries((tmp_path / name).read_text()) for name in ("lfts", "opensm-lfts.dump"))
    assert len(ours) == topology.nodes**2
    assert {key: theirs.get(key) for key in ours} == ours


def entries(text: str) -> dict[tuple[str, str], int]:
    found, switch = {}, ""
    for line in text.splitlines():
        if head := re.match(r"Unicast lids .* guid (0x[0-9a-f]+)", line):
            switch = head[1]
        elif row := re.match(r"0x[0-9a-f]+ (\d+) .*portguid (0x[0-9a-f]+)", line):
            found[switch, row[2]] = int(row[1])
    return found


def test_families(pytestconfig: pytest.Config) -> None:
    """All topologies that are known of a size; the thorough run takes 512 nodes."""
    thorough = pytestconfig.getoption("--thorough", default=False)
    nodes, degrees = (512, (4, 6, 8)) if thorough else (24, (3, 4))
    count = 0
    for degree in degrees:
        asked = FindQuestion(nodes, degree, False, Objective.read(), Catalog())
        for candidate in (*sources.read_catalog(asked, exchanges=True), *sources.find_members(asked)):
            try:
                topology = candidate.topology
            except TopodesignError:
                continue
            try:
                found = routes(topology)
            except TooLargeError:  # a ring of so many nodes, whose ways have tens of millions of hops
                assert parse(candidate.spec).name in {"biring", "uniring", "dicirculant"}
                continue
            assert acyclic(found.chosen.ways)
            count += 1
    assert count > 10
