"""Files of fabrics: what is written is read back, and whatever else a file holds is refused in one clear line."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from topodesign.base.errors import FileFormatError, ParameterError, TopodesignError, UnitError
from topodesign.base.latency import HOP, USUAL
from topodesign.collectives import as_collective
from topodesign.fabrics.drawing import GB
from topodesign.fabrics.fabric import Fabric, FabricLink, Price, Shared
from topodesign.fabrics.files import FABRIC_FORMATS, FabricFormat, read_fabric, write_fabric
from topodesign.fabrics.node_values import Shards, as_costs, as_latency, as_ready, as_shards, latency_words
from topodesign.fabrics.presets import build_fabric
from topodesign.fabrics.traffic import Stream, as_streams
from topodesign.graphs.torus import torus
from topodesign.topology.files import write_links
from topodesign.topology.library import build

CONFIGS = Path(__file__).parents[2] / "configs"
FILES = sorted(CONFIGS.glob("fabric_*.yaml"))
SMALL: dict[str, Any] = {
    "name": "two boxes",
    "nodes": ["g0", "g1", "g2"],
    "switches": ["s0", {"name": "s1", "multicast": True}],
    "links": [
        {"from": "g0", "to": "s0", "bandwidth": "300GB/s", "duplex": True},
        {"from": "g1", "to": "s0", "bandwidth": "300GB/s", "duplex": True, "class": "NVLink"},
        {"from": "s0", "to": "s1", "bandwidth": "200Gbps", "duplex": True},
        {"from": "g2", "to": "s1", "bandwidth": "50/3 GB/s"},
        {"from": "s1", "to": "g2", "bandwidth": "50/3GB/s"},
        {"from": "g2", "to": "s1", "bandwidth": "1GB/s", "duplex": True},
    ],
}
NAMES = st.text(st.characters(categories=("L", "N", "P", "S"), exclude_characters=","), min_size=1, max_size=6)


def _assembled_classes(links: list[FabricLink]) -> list[str]:
    """Return what the classes of links are called, those of links side by side included."""
    kinds: dict[tuple[str, str], dict[str, None]] = {}
    for link in links:
        kinds.setdefault((link.src, link.dst), {})[link.kind] = None
    return sorted({"+".join(filter(None, words)) for words in kinds.values()})


@st.composite
def fabrics(draw: st.DrawFn) -> Fabric:
    """Rings with one-way and duplex chords, so that all is balanced, under names as odd as may be."""
    names = draw(st.lists(NAMES, min_size=3, max_size=7, unique=True))
    nodes = draw(st.integers(2, len(names)))
    rate = st.sampled_from([Fraction(GB), Fraction(50 * GB, 3), Fraction(25 * GB, 2), Fraction(10**9, 7)])
    kind = st.sampled_from(["", "NVLink", "Infinity Fabric", "true"])
    ring, label = draw(rate), draw(kind)
    links = [FabricLink(names[i - 1], names[i], ring, label) for i in range(len(names))]
    pair = st.tuples(st.sampled_from(names), st.sampled_from(names)).filter(lambda ends: ends[0] != ends[1])
    for (a, b), speed, word in draw(st.lists(st.tuples(pair, rate, kind), max_size=5)):
        links += [FabricLink(a, b, speed, word), FabricLink(b, a, speed, word)]
    switches = names[nodes:]
    able = st.sets(st.sampled_from(switches)) if switches else st.just(set[str]())
    there = st.sampled_from(sorted({(link.src, link.dst) for link in links}))
    some = st.lists(there, min_size=1, max_size=4, unique=True).map(tuple)
    limits = draw(st.lists(st.builds(Shared, NAMES, rate, some), max_size=2, unique_by=lambda limit: limit.name))
    times = st.sampled_from([Fraction(0), Fraction(3, 10**7), Fraction(1, 3)])
    named = sorted({link.kind for link in links} - {""})
    latency = draw(st.dictionaries(st.sampled_from(named), times)) if named else {}
    whole = _assembled_classes(links)
    costs = st.sampled_from([Fraction(900), Fraction(1, 10**6), Fraction(25, 2), Fraction(10**9)])
    prices = draw(st.dictionaries(st.sampled_from(whole), st.builds(Price, costs, st.none() | rate)))
    return Fabric.from_links(
        draw(NAMES),
        names[:nodes],
        switches,
        links,
        multicast=draw(able),
        aggregation=draw(able),
        memory=draw(able),
        shared=limits,
        latency=latency,
        prices=prices,
    )


def write(folder: Path, name: str, content: Any) -> Path:
    path = folder / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def refused(path: Path, node_bandwidth: Fraction | None = None) -> str:
    """The message of the refusal, which is one line that names the file."""
    with pytest.raises(FileFormatError) as caught:
        read_fabric(path, node_bandwidth)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    assert len(message) < 500 + len(str(path))
    return message.removeprefix(f"{path}: ")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(fabric=fabrics(), file_format=st.sampled_from(FABRIC_FORMATS))
def test_round_trip(tmp_path: Path, fabric: Fabric, file_format: FabricFormat) -> None:
    assert read_fabric(write(tmp_path, f"some.{file_format}", write_fabric(fabric, file_format))) == fabric


@pytest.mark.parametrize("file_format", FABRIC_FORMATS)
@pytest.mark.parametrize(
    "spec", ["dgx_h100(2)", "dgx_a100_links(2)", "mi250(2)", "fat_tree(4,8,3,3,2)", "tpu_torus(3,2)"]
)
def test_known_fabrics_round_trip(tmp_path: Path, spec: str, file_format: FabricFormat) -> None:
    fabric = build_fabric(spec)
    assert read_fabric(write(tmp_path, f"some.{file_format}", write_fabric(fabric, file_format))) == fabric


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_files_in_configs_are_the_generators(path: Path) -> None:
    fabric = read_fabric(path)
    assert path.stem == f"fabric_{fabric.name.partition('(')[0]}"
    assert fabric == build_fabric(fabric.name)


def test_every_generator_has_a_file() -> None:
    assert len(FILES) == 10


def test_the_fields(tmp_path: Path) -> None:
    fabric = read_fabric(write(tmp_path, "small.json", SMALL))
    assert (fabric.name, fabric.names) == ("two boxes", ("g0", "g1", "g2", "s0", "s1"))
    rates = {(k.src, k.dst, k.kind): k.bandwidth / GB for k in fabric.links()}
    assert rates["g1", "s0", "NVLink"] == rates["s0", "g0", ""] == 300
    assert rates["s1", "s0", ""] == 25
    assert rates["g2", "s1", ""] == rates["s1", "g2", ""] == Fraction(53, 3)  # parallel links add up
    assert (fabric.multicast, fabric.aggregation) == (frozenset({4}), frozenset())


def test_memory_and_shared_limits(tmp_path: Path) -> None:
    limit = {"name": "bus", "bandwidth": "40GB/s", "links": [{"from": "g0", "to": "s0", "duplex": True}]}
    content = SMALL | {"switches": ["s0", {"name": "s1", "memory": True}], "shared": [limit]}
    fabric = read_fabric(write(tmp_path, "small.json", content))
    assert [sorted(able) for able in (fabric.memory, fabric.multicast, fabric.aggregation)] == [[4], [4], []]
    found = [sorted(able) for able in (fabric.copies, fabric.adds, fabric.stores)]
    assert found == [[0, 1, 2, 4], [0, 1, 2], [0, 1, 2, 4]]
    assert fabric.shared == (Shared("bus", Fraction(40 * GB), (("g0", "s0"), ("s0", "g0"))),)
    ends = [fabric.links()[place] for place in fabric.shared_links[0]]
    assert [(link.src, link.dst) for link in ends] == [("g0", "s0"), ("s0", "g0")]
    assert fabric.without(one_way=[("g0", "s0")]).shared[0].links == (("s0", "g0"),)
    assert fabric.without(vertices=["g0"]).shared == ()
    with pytest.raises(ParameterError, match="does not know limits that links share"):
        fabric.check_unshared("this")


def test_yaml_is_the_same_and_takes_scalars_for_text(tmp_path: Path) -> None:
    import yaml

    as_json = read_fabric(write(tmp_path, "small.json", SMALL))
    assert read_fabric(write(tmp_path, "small.yaml", yaml.safe_dump(SMALL))) == as_json
    odd = "nodes: [010, 'no']\nlinks: # a comment\n- {from: 010, to: no, bandwidth: 1e0GB/s, duplex: true}\n"
    fabric = read_fabric(write(tmp_path, "odd.yml", odd))
    assert (fabric.name, fabric.names, fabric.unit) == ("odd", ("010", "no"), Fraction(GB))


# -- graphs and links -------------------------------------------------------------------------------------------------


def graph_of(*, directed: bool) -> Any:
    graph = nx.DiGraph() if directed else nx.Graph()
    graph.add_node("a")
    graph.add_node("b", x=3.5)
    graph.add_node("s", switch=True, aggregation=True)
    ends = [("a", "s"), ("s", "a"), ("b", "s"), ("s", "b")] if directed else [("a", "s"), ("b", "s")]
    for u, v in ends:
        graph.add_edge(u, v, bandwidth="25GB/s", **{"class": "NIC"})
    return graph


@pytest.mark.parametrize("directed", [False, True])
def test_graphs_with_bandwidths(tmp_path: Path, directed: bool) -> None:
    graph = graph_of(directed=directed)
    links = [link for a in "ab" for link in (FabricLink(a, "s", Fraction(25 * GB), "NIC"),)]
    links += [FabricLink("s", a, Fraction(25 * GB), "NIC") for a in "ab"]
    wanted = Fabric.from_links("net", ["a", "b"], ["s"], links, aggregation=["s"])
    assert read_fabric(write(tmp_path, "net.graphml", "\n".join(nx.generate_graphml(graph)))) == wanted
    for edges in ("edges", "links"):
        data = nx.node_link_data(graph, edges=edges)
        assert read_fabric(write(tmp_path, "net.json", data)) == wanted
        assert "give no other" in refused(tmp_path / "net.json", Fraction(GB))


@pytest.mark.parametrize("file_format", ["json", "csv", "graphml"])
def test_links_without_bandwidths(tmp_path: Path, file_format: Any) -> None:
    topology = build("torus(3,4)")
    path = write(tmp_path, f"links.{file_format}", write_links(topology, file_format))
    fabric = read_fabric(path, Fraction(8 * GB))
    assert fabric.topology == topology
    assert (fabric.names[11], fabric.unit) == ("11", Fraction(2 * GB))
    assert read_fabric(path).unit * 4 * 8 == 100 * GB


def test_capacities_compare_links(tmp_path: Path) -> None:
    graph = nx.Graph([("a", "b", {"capacity": 3}), ("b", "c"), ("c", "a")])
    fabric = read_fabric(write(tmp_path, "g.graphml", "\n".join(nx.generate_graphml(graph))), Fraction(8))
    assert {(k.src, k.dst): k.bandwidth for k in fabric.links()} == {
        ("a", "b"): 6, ("b", "a"): 6, ("b", "c"): 2, ("c", "b"): 2, ("a", "c"): 2, ("c", "a"): 2,
    }  # fmt: skip


# -- what is refused --------------------------------------------------------------------------------------------------


def changed(**fields: Any) -> dict[str, Any]:
    return SMALL | fields


def with_limit(**fields: Any) -> dict[str, Any]:
    limit = {"name": "bus", "bandwidth": "1GB/s", "links": [{"from": "g0", "to": "s0", "duplex": True}]}
    return changed(shared=[limit | fields])


def with_link(**fields: Any) -> dict[str, Any]:
    link = {"from": "g0", "to": "g1", "bandwidth": "1GB/s", "duplex": True} | fields
    return changed(links=[*SMALL["links"], {name: value for name, value in link.items() if value is not ...}])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "expected .*, not a list"),
        (3, "not 3"),
        ({}, "'nodes' is missing"),
        ({"nodes": ["a", "b"]}, "'links' is missing"),
        (changed(link=[]), "unknown field 'link'; did you mean 'links'"),
        (changed(colour="red"), "unknown field 'colour'; known are nodes"),
        (changed(nodes="g0"), "nodes: expected a list, not 'g0'"),
        (changed(nodes={"g0": 1}), "nodes: expected a list, not a mapping"),
        (changed(nodes=["g0", 1]), r"nodes\[1\]: expected text, not 1; put it in quotes"),
        (changed(nodes=["g0", None]), r"nodes\[1\]: expected text, not nothing"),
        (changed(nodes=["g0", "g0"]), "'g0' is there twice"),
        (changed(nodes=["g0"]), "names no node or switch 'g1'"),
        ({"nodes": ["g0"], "links": []}, "only one node"),
        (changed(name=7), "name: expected text, not 7"),
        (changed(switches=["s0", "s1", "s2"]), "switch 's2' is connected to no node"),
        (changed(switches=["s0", {"name": "s1", "multicst": True}]), r"switches\[1\]: unknown field 'multicst'; did"),
        (changed(switches=["s0", {"name": "s1", "multicast": "yes"}]), r"switches\[1\].multicast: expected true or f"),
        (changed(switches=["s0", {"multicast": True}]), r"switches\[1\]: the field 'name' is missing"),
        (changed(switches=["s0", {"name": "s1", "memory": 1}]), r"switches\[1\].memory: expected true or false, not 1"),
        (changed(shared={}), "shared: expected a list"),
        (changed(latency=[]), "latency: expected a time for each class"),
        (changed(latency={"NVLink": 3}), "latency.NVLink: expected text, not 3"),
        (changed(latency={"NVLink": "3GB"}), "latency.NVLink: "),
        (changed(latency={"NVLink": "1/0us"}), "divides by zero"),
        (changed(latency={"InfiniBand": "5us"}), "latency of class 'InfiniBand' has no links of that class"),
        (changed(prices=[]), "prices: expected a price for each class"),
        (changed(prices={"NVLink": True}), "prices.NVLink: expected text, not true"),
        (changed(prices={"NVLink": "many"}), "prices.NVLink: a price is a number"),
        (changed(prices={"NVLink": "-3"}), "prices.NVLink: a price is a number"),
        (changed(prices={"NVLink": "9/1"}), "prices.NVLink: bandwidth '1' "),
        (changed(prices={"NVLink": "9/0GB/s"}), "prices.NVLink: .* must be above zero"),
        (changed(prices={"NVLink": "9/5/0GB/s"}), "prices.NVLink: .* divides by zero"),
        (changed(prices={"NVLink": "0"}), "the price of 'NVLink' is to be above 0"),
        (changed(prices={"NVLink": 10**10}), "the price of 'NVLink' is to be above 0"),
        (changed(prices={"NVLink": 1e-9}), "prices.NVLink: a price is a number"),
        (changed(prices={"InfiniBand": "5"}), "price of class 'InfiniBand' has no links of that class"),
        (changed(shared=[{"name": "x", "bandwidth": "1GB/s"}]), r"shared\[0\]: the field 'links' is missing"),
        (with_limit(name=3), r"shared\[0\].name: expected text, not 3"),
        (with_limit(bandwidth="0GB/s"), r"shared\[0\].bandwidth: .* must be above zero"),
        (with_limit(links=[]), "the shared limit 'bus' requires links, each once"),
        (
            with_limit(links=[{"from": "g0", "to": "s0"}, {"from": "g0", "to": "s0"}]),
            "the shared limit 'bus' requires links, each once",
        ),
        (with_limit(links=[{"from": "g0", "to": "s1"}]), "for a link from 'g0' to 's1', which does not exist"),
        (with_limit(links=[{"from": "g0", "too": "s0"}]), r"shared\[0\].links\[0\]: unknown field 'too'; did you"),
        (with_link(bandwith="1GB/s"), r"links\[6\]: unknown field 'bandwith'; did you mean 'bandwidth'"),
        (with_link(bandwidth=...), r"links\[6\]: the field 'bandwidth' is missing"),
        (with_link(bandwidth="0GB/s"), r"links\[6\].bandwidth: .* must be above zero"),
        (with_link(bandwidth="0/3GB/s"), r"links\[6\].bandwidth: .* must be above zero"),
        (with_link(bandwidth="3/0GB/s"), r"links\[6\].bandwidth: .* divides by zero"),
        (with_link(bandwidth="-1GB/s"), "negative"),
        (with_link(bandwidth="1"), "no unit"),
        (with_link(bandwidth="1GBs"), "unknown unit 'GBs'"),
        (with_link(bandwidth=25), r"links\[6\].bandwidth: bandwidth must be text with a unit"),
        (with_link(bandwidth="1e99GB/s"), "too large to be meant"),
        (with_link(bandwidth="9" * 5000), "too long"),
        (with_link(duplex=1), r"links\[6\].duplex: expected true or false, not 1"),
        (with_link(duplex=False), "node 'g0' has 300GB/s in but 301GB/s out, 1GB/s more out"),
        (with_link(to="g0"), "from 'g0' to itself"),
        (with_link(to="g9"), "names no node or switch 'g9'"),
        (with_link(to=["g1"]), r"links\[6\].to: expected text, not a list"),
        (with_link(bandwidth="0.000000001GB/s"), "so small a common divisor"),
        (changed(links=[[0, 1, 1]]), r"links\[0\]: expected fields from, to, bandwidth, not a list"),
    ],
)
def test_refused_content(tmp_path: Path, content: Any, message: str) -> None:
    import yaml

    assert re.search(message, refused(write(tmp_path, "bad.json", content)))
    if not re.search("not (1|7|3|nothing)|text with a unit|nodes.1|connected|node 'g0'", message):
        assert re.search(message, refused(write(tmp_path, "bad.yaml", yaml.safe_dump(content))))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "x", "'x' is not an edge"),
        ("a.yaml", "", "this is an empty file"),
        ("a.yaml", "nodes: [a\nlinks: []\n", "line 2: not YAML"),
        ("a.yaml", "nodes:\n\t- a\n", "line 2: not YAML"),
        ("a.yaml", "nodes: [a]\nnodes: [b]\n", "line 2: the field 'nodes' is there twice"),
        ("a.yaml", "name: x\nnodes: &n [a, b]\nlinks: *n\n", "line 2: anchors and aliases"),
        ("a.yaml", "a: b\n---\nc: d\n", "more than one document"),
        ("a.yaml", "nodes: !!python/object/apply:os.system [ls]\n", "line 1: tags"),
        ("a.yaml", "? [a, b]\n: c\n", "line 1: a field's name must be text"),
        ("a.yaml", "nodes: " + "[" * 100 + "]" * 100, "line 1: nested more than"),
        ("a.yaml", "\x01", "not YAML"),
        ("a.yaml", b"\xff\xfe\x00\xd8", "not a text file"),
        ("a.json", "[", "not JSON"),
        ("a.json", '{"nodes": ["a", "b"], "nodes": []}', "the field 'nodes' is there twice"),
        ("a.json", "[" * 100_000, "not JSON"),
        ("a.json", '{"nodes": ' + "9" * 5000 + "}", "not JSON"),
        ("a.json", '{"nodes": 2, "links": [[0, 1], [1, 0, "x"]]}', r"links\[1\] must be"),
        ("a.csv", "src,dst\n0\n", "line 2: expected src,dst"),
        ("a.graphml", "<graphml>", "not GraphML"),
        ("a.graphml", '<!DOCTYPE x [<!ENTITY y "z">]><graphml/>', "document type"),
    ],
)
def test_refused_files(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    assert re.search(message, refused(write(tmp_path, name, content)))


@pytest.mark.parametrize(
    ("attribute", "value", "message"),
    [
        ("bandwidth", "fast", "link 'a', 's': bandwidth 'fast'"),
        ("class", 3, "class of link 'a', 's': expected text, not 3"),
    ],
)
def test_refused_attributes_of_links(tmp_path: Path, attribute: str, value: Any, message: str) -> None:
    graph = graph_of(directed=True)
    graph.edges["a", "s"][attribute] = value
    assert message in refused(write(tmp_path, "g.json", nx.node_link_data(graph, edges="edges")))


def test_refused_graphs(tmp_path: Path) -> None:
    graph = graph_of(directed=True)
    del graph.edges["a", "s"]["bandwidth"]
    path = write(tmp_path, "g.json", nx.node_link_data(graph, edges="edges"))
    assert "link 'a', 's': bandwidth must be text with a unit" in refused(path)
    graph = graph_of(directed=True)
    graph.nodes["s"]["multicast"] = "perhaps"
    path = write(tmp_path, "g.json", nx.node_link_data(graph, edges="edges"))
    assert "multicast of node 's': expected true or false" in refused(path)
    path = write(tmp_path, "g.json", nx.node_link_data(nx.Graph([("a", "b", {"capacity": 0})]), edges="edges"))
    assert "the capacity must be an integer above zero" in refused(path)


@pytest.mark.once
@pytest.mark.parametrize("ending", ["yaml", "json", "graphml", "csv"])
@pytest.mark.parametrize("kind", ["bytes", "letters", "brackets", "lines"])
def test_garbage_is_refused(tmp_path: Path, ending: str, kind: str) -> None:
    """Ten megabytes, though of what fails late, one suffices."""
    rng = np.random.default_rng(1)
    content = {
        "bytes": rng.bytes(10**7),
        "letters": rng.choice(np.frombuffer(b"abc {}[]:,<>\"'\n-&*!|%@`", np.uint8), 10**7).tobytes(),
        "brackets": b"[{<" * 3_333_333,
        "lines": b"- a\n" * 250_000,
    }[kind]
    assert refused(write(tmp_path, f"garbage.{ending}", content))


@given(st.text(max_size=200) | st.text("ab:[]{},-\n &*!|>'\"#%?", max_size=60))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300, deadline=None)
def test_no_text_breaks_the_reader(tmp_path: Path, text: str) -> None:
    path = tmp_path / "any.yaml"
    path.write_text(text, encoding="utf-8", errors="replace")
    assert refused(path)


def test_what_is_no_file(tmp_path: Path) -> None:
    assert refused(tmp_path / "missing.yaml") == "No such file or directory"
    assert refused(tmp_path).startswith("this is a directory, not a fabric")


# -- Traffic as text: what is written is what is read, and what is wrong is reported


@pytest.mark.parametrize(
    ("text", "stream"),
    [
        ("0,1", Stream("0,1", as_collective("allreduce"), Fraction(2**20))),
        ("0,1=allgather@64MiB", Stream("0,1", as_collective("allgather"), Fraction(2**26))),
        ("*=broadcast:2", Stream("*", as_collective("broadcast"), Fraction(2**20), "2")),
        (
            "4x4:0=scatter:first@1MiB+20us",
            Stream("4x4:0", as_collective("scatter"), Fraction(2**20), "first", Fraction(20, 10**6)),
        ),
        (
            "box0/*=allgather+3us",
            Stream("box0/*", as_collective("allgather"), Fraction(2**20), None, Fraction(3, 10**6)),
        ),
    ],
)
def test_what_is_written_is_read(text: str, stream: Stream) -> None:
    assert as_streams(text) == (stream,)
    assert as_streams([text, stream]) == (stream, stream)


def test_tuples() -> None:
    assert as_streams(("2x2:0", "allgather")) == as_streams("2x2:0=allgather")
    assert as_streams(("2x2:0", "allgather", "1KiB")) == as_streams("2x2:0=allgather@1KiB")
    assert as_streams(("0=allgather", "1=allgather")) == as_streams(["0=allgather", "1=allgather"])


@pytest.mark.parametrize(
    "wrong", ["", "0=", "0=gossip", "0@", "0=allgather@1MiB+soon", [], 3, [3], [("0",)], "=allgather"]
)
def test_what_is_wrong_is_said(wrong: object) -> None:
    with pytest.raises(TopodesignError):
        as_streams(wrong)  # type: ignore[arg-type]
    assert issubclass(ParameterError, TopodesignError)


# -- When nodes are ready: every form says the same, and what is none is refused


FABRIC = build_fabric("dgx_a100(1)")


def test_all_forms_say_the_same(tmp_path: Path) -> None:
    late = Fraction(1, 50000)
    wanted = (Fraction(0),) * 6 + (late, late) + (Fraction(0),) * (len(FABRIC.names) - 8)
    table = tmp_path / "ready.csv"
    table.write_text("node,ready\nbox0/gpu[67],20us\n")
    forms: list[Any] = ["box0/*=20us,box0/gpu[0-5]=0s", table, str(table), {"box0/gpu6": "20us", "box0/gpu7": late}]
    forms += [[0, 0, 0, 0, 0, 0, "20us", 2e-5], "0s,0s,0s,0s,0s,0s,20us,0.02ms"]
    for form in forms:
        assert as_ready(FABRIC, form) == wanted
    assert as_ready(FABRIC, "box0/gpu6=20us")[7] == 0


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("nobody=1us", "no node or switch is named"),
        ("1us,2us", "2 times for 8 nodes"),
        ("box0/gpu1=7", "time '7'"),
        (7, "text, times or a mapping"),
        (Path("x.txt"), "ends in .csv"),
        ({"box0/gpu1": -1}, "-1"),
    ],
)
def test_what_is_no_time_is_refused(wrong: Any, words: str) -> None:
    with pytest.raises(TopodesignError, match=words):
        as_ready(FABRIC, wrong)


def test_a_file_says_in_which_line(tmp_path: Path) -> None:
    path = tmp_path / "ready.csv"
    path.write_text("node,ready\nbox0/gpu1,1us\nbox0/gpu2,soon\n")
    with pytest.raises(TopodesignError, match=r"ready\.csv.*line 3"):
        as_ready(FABRIC, path)


def test_shards_in_all_forms(tmp_path: Path) -> None:
    fabric = build_fabric("dgx_a100(1)")
    table = tmp_path / "shards.csv"
    table.write_text("node,size\nbox0/gpu1,2\n")
    wanted = (1, 2, 1, 1, 1, 1, 1, 1)
    halves: Shards = {"*": Fraction(1, 2), "box0/gpu1": "1"}
    forms: list[Shards] = ["box0/gpu1=2", table, {"box0/gpu1": 2}, halves, wanted, list(wanted)]
    for value in forms:
        assert as_shards(fabric, value) == wanted
    assert as_shards(fabric, "1,2,1,1,1,1,1,1") == wanted
    for wrong in ([1, 2], {"box0/gpu1": -1}, {"box0/gpu1": 0.1 + 0.2}, 7, tmp_path, {"*": 0}, [1.5] * 7 + [None]):
        with pytest.raises(TopodesignError):
            as_shards(fabric, wrong)  # type: ignore[arg-type]


def test_what_is_not_given_is_the_usual() -> None:
    assert as_latency() == USUAL
    assert as_latency("2us", "3us", 0).of_step(2, 5) == Fraction(5, 10**6)
    assert as_latency(hop=Fraction(1, 3)).hop == Fraction(1, 3)
    with pytest.raises(UnitError):
        as_latency(gap="soon")


def test_links_with_latencies_of_their_own_have_no_hops_beside() -> None:
    own = as_latency("fabric")
    assert own.alpha is None
    assert (own.gap, own.hop) == (USUAL.gap, Fraction(0))
    assert as_latency("fabric", hop=HOP).hop == HOP


def test_words_are_of_what_counts() -> None:
    switched, wired = build_fabric("fat_tree(2,2,2)"), Fabric.from_topology(torus(3, 3))
    assert latency_words(USUAL, wired) == "alpha 10us"
    assert latency_words(USUAL, switched) == "alpha 10us, gap 200ns, hop 300ns"
    assert latency_words(as_latency("fabric"), switched) == "the fabric's own latencies, gap 200ns"


def test_of_what_fits_a_class_the_last_counts() -> None:
    """A class without a given cost costs nothing; without any input there are no costs at all."""
    fabric = build_fabric("dgx_a100(2)")
    assert as_costs(fabric, ()) == {}
    assert as_costs(fabric, "NVLink=1/2") == {"NVLink": Fraction(1, 2), "InfiniBand": 0}
    assert as_costs(fabric, {"*": 3, "Infini*": 0.5}) == {"NVLink": 3, "InfiniBand": Fraction(1, 2)}


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        (["NVLink"], "CLASS=COST"),
        ("NVLnk=1", "no link has the class 'NVLnk'"),
        ({"NVLink": -1}, "from 0 to"),
        ("NVLink=1e9", "from 0 to"),
        ("NVLink=dear", "is a number"),
        ("NVLink=1/0", "is a number"),
        ({"NVLink": float("nan")}, "is a number"),
    ],
)
def test_what_is_no_cost_is_refused(costs: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=re.escape(message)):
        as_costs(build_fabric("dgx_a100(1)"), costs)
