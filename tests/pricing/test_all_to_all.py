"""The price of all-to-all: which way is taken, what it says, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import topodesign.pricing.all_to_all as pricing
from tests.samples.topologies import regular_digraphs
from topodesign import all_to_all, build
from topodesign.base.errors import FileFormatError, ParameterError, TopodesignError
from topodesign.fabrics.fabric import Fabric, FabricLink
from topodesign.fabrics.places import as_fabric
from topodesign.pricing import deferral, relays
from topodesign.pricing.closed_form import distances, price
from topodesign.pricing.deferral import defer
from topodesign.pricing.deferral_kernels import CLASSES
from topodesign.pricing.efforts import Effort
from topodesign.pricing.relays import UnitLinks, iterate_balanced_relays
from topodesign.pricing.split_deferral import price_deferred
from topodesign.pricing.traffic_matrix import as_demand, traffic_table
from topodesign.topology.topology import IntArray, Topology


@pytest.mark.parametrize("effort", ["quick", "auto", "exact"])
def test_small_topologies_are_priced_exactly(effort: Effort) -> None:
    found = all_to_all("circulant(12,2,3)", effort=effort)
    assert found.exact
    assert found.bandwidth == found.lower == found.upper == Fraction(14, 9)
    assert (found.moore, found.distances, found.equal_split) == (Fraction(3, 2), Fraction(3, 2), Fraction(5, 3))
    assert found.shortest_paths == Fraction(5, 3)
    assert found.flow is not None
    found.flow.check()
    assert found.record()["bandwidth"] == "14/9"
    assert "14/9 = 1.555556" in str(found)


def test_approximations_say_how_near_they_are() -> None:
    found = all_to_all("genkautz(4,32)", effort="approximate", gap="5%")
    assert found.flow is not None
    assert found.upper is not None
    assert found.gap is not None
    assert found.bandwidth is None
    assert found.record()["bandwidth"] is None
    assert found.lower <= Fraction(85, 32) <= found.upper
    assert 0 < found.gap <= Fraction(1, 20)
    assert f"{float(found.lower):.6f} to {float(found.upper):.6f}" in repr(found)


def test_bounds_alone() -> None:
    found = all_to_all("genkautz(4,32)", effort="bounds")
    assert found.flow is None
    assert (found.lower, found.upper) == (found.distances, found.equal_split)
    assert found.lower < Fraction(85, 32) < Fraction(29, 8) == found.upper
    assert all_to_all("hypercube(4)", effort="bounds").exact


@pytest.mark.dear("hypercube(14)")
@pytest.mark.parametrize(
    "text",
    [pytest.param("debruijn(32,3)", marks=pytest.mark.thorough), "debruijn(16,3)", "hypercube(14)", "torus(100,100)"],
)
def test_loads_of_millions_are_counted(text: str) -> None:
    """Large orbits of nodes and links: more than 64 bits, or the solver's digits, where they are counted carelessly."""
    found = all_to_all(text, effort="quick")
    assert found.moore <= found.lower
    assert found.upper is not None
    assert found.lower <= found.upper


@pytest.mark.thorough
def test_a_program_of_large_numbers_is_solved() -> None:
    found, quick = (all_to_all("debruijn(16,4)", effort=effort) for effort in ("exact", "quick"))
    assert found.exact
    assert found.bandwidth is not None
    assert quick.upper is not None
    assert max(found.moore, quick.lower) <= found.bandwidth <= quick.upper


def test_quick_is_quick() -> None:
    """What takes long is bounded only, and what is too large for that is bounded by distances in any topology."""
    assert all_to_all("genkautz(4,1001)", effort="quick").method == "equal split"
    large = all_to_all("genkautz(4,5001)", effort="quick")
    assert large.upper is None
    assert large.gap is None
    assert large.lower == large.moore
    assert "at least 5" in repr(large)


@pytest.mark.parametrize("text", ["torus(32,32)", "circulant(1024,1,5,30,200)", "cayley(metacyclic(64,16,3),1,40,100)"])
def test_symmetry_makes_large_ones_exact(text: str) -> None:
    topology = build(text)
    assert topology.nodes == 1024
    assert all_to_all(topology).exact


@pytest.mark.parametrize(
    "call",
    [
        lambda: all_to_all("toros(4,4)"),
        lambda: all_to_all(None),
        lambda: all_to_all("torus(4,4)", effort="great"),  # type: ignore[arg-type]
        lambda: all_to_all("torus(4,4)", gap=0),
        lambda: all_to_all("torus(4,4)", gap="none"),
        lambda: all_to_all("torus(4,4)", gap=float("nan")),
        lambda: all_to_all("torus(4,4)", gap=None),  # type: ignore[arg-type]
        lambda: all_to_all("torus(4,4)", seconds=-1),
        lambda: all_to_all("torus(4,4)", seconds="long"),  # type: ignore[arg-type]
        lambda: all_to_all("dgx_a100(2)"),
        lambda: all_to_all("complete(1)"),
    ],
)
def test_wrong_arguments_are_errors_of_ours(call: Any) -> None:
    with pytest.raises(TopodesignError):
        call()


@pytest.mark.parametrize(
    "spec",
    [
        "mesh(4,3)",
        "mesh(2,3,2)",
        "torus(3,4)",
        "product(mesh(3),complete(4))",
        "product(randomregular(6,2,0),mesh(3))",
        "power(randomregular(5,2,1),2)",
        "product(line(complete(3)),kautz(2,1))",
    ],
)
def test_of_products_by_their_factors(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What factors say is what the best flow of the product takes."""
    whole = all_to_all(spec, effort="exact")
    monkeypatch.setattr(pricing, "EXACT_ROWS", 0)
    parts = all_to_all(spec, effort="exact")
    assert parts.method == "dimension by dimension"
    assert parts.bandwidth == whole.bandwidth is not None
    assert parts.claims[0].proven == whole.claims[0].proven


def test_of_a_cube_without_ends_that_meet() -> None:
    """Half of the nodes send to the other half over 64 links: 256 * 256 / 64 shards each."""
    found = all_to_all("mesh(8,8,8)", effort="quick")
    assert found.bandwidth == Fraction(6, 512) * 1024 == 12


# -- Matrices of traffic: what is drawn adds up and is the same every time, and files say the line of what is wrong


def drawn(value: Any, nodes: int, **options: Any) -> Any:
    return as_demand(value, as_fabric(f"complete({nodes})"), **options).amounts


@pytest.mark.parametrize(("name", "each"), [("zipf:0", 1), ("zipf:1.5", 1), ("dirichlet:0.2", 1), ("top3:1.2", 3)])
def test_every_node_draws_all_its_tokens(name: str, each: int) -> None:
    matrix = drawn(name, 12, tokens=500, seed=3)
    sent = matrix.sum(axis=1)
    assert (sent <= 500 * each).all()  # what a node has for itself does not count
    assert (matrix <= 500).all()  # the experts of a token are different ones
    assert (sent >= 500 * (each - 1)).all()
    assert (matrix == drawn(name, 12, tokens=500, seed=3)).all()
    assert (matrix != drawn(name, 12, tokens=500, seed=4)).any()


def test_the_popular_are_so_with_all_of_zipf_alone() -> None:
    zipf, own = drawn("zipf:2", 8, tokens=9000), drawn("dirichlet:0.1", 8, tokens=9000)
    assert len(set(zipf.argmax(axis=1).tolist())) <= 2  # all but itself agree
    assert len(set(own.argmax(axis=1).tolist())) > 2


def test_one_of_several_experts_is_drawn_as_one() -> None:
    one, zipf = (drawn(name, 6, tokens=40_000, seed=5).sum(axis=0) for name in ("top1:1", "zipf:1"))
    assert np.allclose(sorted(one), sorted(zipf), rtol=0.05)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0,x\n1,0\n", "line 1: 'x' is no"),
        ("0,1\n1\n", "line 2: 1 numbers"),
        ("# a\n", "no numbers"),
        ("0,-1\n1,0\n", "'-1'"),
        ("src,dst,amount\n0,1,x\n", "line 2: amount"),
        ("src,dst,amount\n0,2,1\n", "line 2: no node"),
        ("src,dst,amount\n1,1,1\n", "line 2: 1 sends to itself"),
        ("src,dst,amount\n0,1,0\n", "no traffic"),
        ("src,to\n0,1\n", "dst"),
    ],
)
def test_files_say_what_is_wrong(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=words):
        drawn(path, 2)


def test_switches_send_nothing(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("src,dst,amount\nbox0/gpu0,box0/nvswitch,1\n")
    with pytest.raises(FileFormatError, match="is a switch"):
        as_demand(path, as_fabric("dgx_a100(1)"))


@pytest.mark.parametrize("value", ["top9:1", "dirichlet:0", "top2:1.2.3", np.zeros((4, 4), dtype=np.int64)])
def test_what_is_no_traffic(value: Any) -> None:
    with pytest.raises(ParameterError):
        drawn(value, 4)


def test_a_table_is_what_was_read(tmp_path: Path) -> None:
    fabric, path = as_fabric("fat_tree(2,2,2)"), tmp_path / "t.csv"
    names = [fabric.names[node] for node in fabric.compute]
    path.write_text(f"src,dst,amount\n{names[0]},{names[3]},0.25\n{names[2]},{names[1]},3\n{names[0]},{names[3]},2\n")
    found = as_demand(path, fabric)
    assert found.unit * int(found.amounts.sum()) == 5.25
    path.write_text(traffic_table(fabric, found))
    again = as_demand(path, fabric)
    assert (again.amounts == found.amounts).all()
    assert again.unit == found.unit


def test_names_that_are_formulas_are_text_to_a_spreadsheet(tmp_path: Path) -> None:
    names = ["=HYPERLINK(1)", "+a", "c"]
    links = [FabricLink(a, b, Fraction(10**9), "x") for a in names for b in names if a != b]
    fabric = Fabric.from_links("f", names, (), links)
    demand = as_demand([[0, 2, 0], [1, 0, 3], [1, 0, 0]], fabric)
    text = traffic_table(fabric, demand)
    assert all(not cell.startswith(("=", "+")) for line in text.splitlines() for cell in line.split(","))
    path = tmp_path / "t.csv"
    path.write_text(text)
    again = as_demand(path, fabric)
    assert np.argwhere(again.amounts).tolist() == np.argwhere(demand.amounts).tolist()
    assert traffic_table(fabric, again) == text


# -- Who must forward what in the last steps: nobody waits in vain, and links are fuller alike than by SPFF


def unit_links(topology: Topology) -> UnitLinks:
    source, target = (
        np.repeat(ends[topology.src != topology.dst], topology.capacity[topology.src != topology.dst])
        for ends in (topology.src, topology.dst)
    )
    by_target = np.lexsort((source, target))
    counts = (np.bincount(ends, minlength=topology.nodes) for ends in (target, source))
    first, out_first = (np.append(0, np.cumsum(count)).astype(np.int64) for count in counts)
    return UnitLinks(first, source[by_target].astype(np.int64), out_first, target.astype(np.int64))


def codes(topology: Topology) -> NDArray[np.int16]:
    """Everybody must have everything as soon as possible."""
    far = np.array([distances(topology, shard) for shard in range(topology.nodes)])
    return (CLASSES * far).astype(np.int16)


@given(regular_digraphs(16, 4))
def test_each_link_has_one_place_among_those_into_nodes(topology: Topology) -> None:
    links = unit_links(topology)
    source = np.repeat(np.arange(topology.nodes), np.diff(links.out_first))
    assert sorted(links.entrance) == list(range(len(links.other)))
    assert np.array_equal(links.other[links.entrance], source)
    owner = np.repeat(np.arange(topology.nodes), np.diff(links.first))
    assert np.array_equal(owner[links.entrance], links.out_other)


@given(regular_digraphs(16, 4), st.sampled_from([2, 3]), st.integers(1, 20))
@settings(max_examples=60)
def test_whoever_is_far_finds_somebody_who_has_a_shard_in_time(topology: Topology, last: int, room: int) -> None:
    links, before = unit_links(topology), codes(topology)
    far, steps = before // CLASSES, int(before.max()) // CLASSES
    assume(steps >= last)
    near = far <= steps - last
    seen = 0
    for code in iterate_balanced_relays(before, links, steps, last, room):
        seen += 1
        assert np.array_equal(code[near], before[near])
        bound = code % CLASSES == 0
        assert np.array_equal(code[~bound] // CLASSES, far[~bound])
        time = np.where(bound, code // CLASSES, steps)
        assert np.all(time >= far)
        assert np.all(time[bound & ~near] < steps)
        for shard, node in np.argwhere(~near):
            into = links.other[links.first[node] : links.first[node + 1]]
            assert (bound[shard, into] & (time[shard, into] < time[shard, node])).any()
    assert seen == 3 * len(relays._SHARES[last])


@pytest.mark.parametrize(
    ("spec", "within"),
    [
        ("turn(congruential(351,-4,0,1,2,3),3)", 10),
        ("transpose(turn(congruential(351,-4,0,1,2,3),3))", 10),
    ],
)
def test_it_is_what_makes_congruential_digraphs_cheap(spec: str, within: int, monkeypatch: pytest.MonkeyPatch) -> None:
    topology = build(spec)
    best = price_deferred(topology)
    least = (topology.nodes - 1) / topology.nodes
    assert best.steps == price(topology).steps
    assert best.bandwidth <= least * (1 + within / 100)

    def none(*_: object, **__: object) -> Iterator[IntArray]:
        yield from ()

    monkeypatch.setattr(deferral, "iterate_balanced_relays", none)
    assert price_deferred(topology).bandwidth > best.bandwidth


@pytest.mark.dear("cover(congruential(100,3,0,1,2),2)")
@pytest.mark.parametrize(
    "spec", ["delete(cover(congruential(100,-3,0,1,2),2),57,3)", "cover(congruential(100,3,0,1,2),2)"]
)
def test_three_steps_are_cheaper_than_two_where_few_nodes_are_far(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    topology = build(spec)
    best = [price_deferred(topology).bandwidth, price_deferred(topology.transpose()).bandwidth]
    monkeypatch.setattr(deferral, "_LAST_STEPS", 2)
    assert price_deferred(topology).bandwidth + price_deferred(topology.transpose()).bandwidth > sum(best)


def test_a_symmetry_of_few_images_is_left_aside_where_that_is_cheaper() -> None:
    topology = build("turn(congruential(120,4,0,1,2,3),0)")
    assert topology.symmetry is not None
    assert len(defer(topology, by_orbits=True).receivers) < topology.nodes
    found = defer(topology)
    assert sum(found.loads) < sum(defer(topology, by_orbits=True).loads)
    assert len(found.receivers) == topology.nodes


@given(st.integers(1, 400), st.integers(1, 60), st.sampled_from(relays._STEEPNESS))
def test_a_fuller_link_is_dearer(goal: int, room: int, steepness: int) -> None:
    prices = relays._prices(goal + 2 * room, goal, steepness, room)
    assert prices.dtype == np.int64
    assert np.all(np.diff(prices) >= 0)
    assert np.all(np.diff(prices[goal:]) > 0)
    assert prices[goal] > 0
    assert 64 * int(prices[-1]) < 2**62


@given(st.integers(1, 3000))
def test_shards_are_all_looked_at(nodes: int) -> None:
    assert sorted(relays._order(nodes)) == list(range(nodes))
