"""Oracles for what changes and repairs of wirings claim: all orders of the hosts, and all links, by counting.

They share no code with the search: patches are pairs of hosts on fields of panels, and what has to be moved is the
difference of two bags of them.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import floors
from tests.samples.wirings import bare, wired
from topodesign.base.claims import PROVEN_NONE, Claim, Of, Scope
from topodesign.base.errors import InfeasibleError
from topodesign.topology.topology import Topology
from topodesign.wiring.change.rewire import Rewiring, change_wiring
from topodesign.wiring.check.check import check_wiring
from topodesign.wiring.check.evidence import Observed
from topodesign.wiring.inventory.devices import Fixed, Host, Lane, Mode, Panel, PanelPort, Port
from topodesign.wiring.inventory.inventory import Inventory
from topodesign.wiring.plan.joint import choose_together
from topodesign.wiring.plan.plan import WiringPlan

Links = Counter[tuple[str, str]]


@dataclass(frozen=True)
class Room:
    """Two topologies with at most as many links at a node as there are lanes."""

    mode: Mode
    lanes: int
    fields: int
    have: Topology
    want: Topology


@st.composite
def topologies(draw: st.DrawFn, nodes: int, lanes: int, mode: Mode) -> Topology:
    """Any with at most so many links out of and into a node; duplex ones if the mode is."""
    out, into, links = Counter[int](), Counter[int](), []
    pairs = [(u, v) for u in range(nodes) for v in range(nodes) if u != v]
    for u, v in draw(st.lists(st.sampled_from(pairs), max_size=nodes * lanes)):
        if out[u] < lanes and into[v] < lanes and (mode == "simplex" or (out[v] < lanes and into[u] < lanes)):
            added = [(u, v)] if mode == "simplex" else [(u, v), (v, u)]
            links += added
            out.update(a for a, _ in added)
            into.update(b for _, b in added)
    return Topology.from_links(nodes, links)


@st.composite
def rooms(draw: st.DrawFn) -> Room:
    mode: Mode = draw(st.sampled_from(["simplex", "duplex"]))
    nodes, lanes, fields = draw(st.integers(2, 6)), draw(st.integers(1, 4)), draw(st.integers(1, 2))
    lanes += lanes % fields
    have = draw(topologies(nodes, lanes, mode))
    return Room(mode, lanes, fields, have, draw(topologies(draw(st.integers(2, nodes)), lanes, mode)))


def plan_of(room: Room) -> WiringPlan | None:
    """The wiring that exists, None if lanes do not do for it in two fields."""
    try:
        return wired(room.have, room.lanes, room.fields, mode=room.mode)
    except InfeasibleError:
        return None


def changed(plan: WiringPlan, want: Topology, *, keep_hosts: bool = False) -> Rewiring | None:
    """The change, None if the two fields of the room cannot be wired so."""
    try:
        return change_wiring(plan, want, downtime=True, throughput=False, keep_hosts=keep_hosts)
    except InfeasibleError:
        return None


def patched(plan: WiringPlan) -> Links:
    """The patches of a plan by their hosts; duplex ones have no direction."""
    pairs = ((connect.a.host, connect.b.host) for connect in plan.connects)
    return Counter(pairs if plan.mode == "simplex" else ((min(pair), max(pair)) for pair in pairs))


def placed(topology: Topology, hosts: tuple[str, ...], mode: Mode) -> Links:
    links: Links = Counter()
    for u, v, capacity in topology.links():
        if u < v or (u > v and mode == "simplex"):
            pair = hosts[u], hosts[v]
            links[pair if mode == "simplex" else (min(pair), max(pair))] += capacity
    return links


def needed(have: Links, want: Links) -> int:
    """Moves that no change can do without: a patch that comes may be one that goes."""
    return max((have - want).total(), (want - have).total())


def fewest(plan: WiringPlan, want: Topology, orders: Iterable[tuple[str, ...]]) -> int | None:
    """Fewest moves over some orders of the hosts and all fields of all links; None if these do not fit."""
    have = Counter(((c.a.host, c.b.host), plan.inventory.panel[c.a.panel].field) for c in plan.connects)
    if plan.mode == "duplex":
        have = Counter({((min(pair), max(pair)), field): count for (pair, field), count in have.items()})
    lanes = Counter((end.host, plan.inventory.panel[end.panel].field) for end in plan.fixed)
    best: int | None = None
    seen = set()
    for order in orders:
        links = placed(want, order, plan.mode)
        most = max(len(plan.connects), links.total())
        if frozenset(links.items()) in seen or (best is not None and needed(patched(plan), links) >= best):
            continue
        seen.add(frozenset(links.items()))
        kept = most_kept(sorted(links.elements()), Counter(have), lanes, -1 if best is None else most - best, plan.mode)
        best = best if kept is None else most - kept
    return best


def most_kept(
    links: Sequence[tuple[str, str]],
    have: Counter[tuple[tuple[str, str], str]],
    lanes: Counter[tuple[str, str]],
    least: int,
    mode: Mode,
) -> int | None:
    """Most patches that stay with these hosts, if they are more than so many, by trying all fields of each link."""
    used: Counter[tuple[str, str, str]] = Counter()
    fields = sorted({field for _, field in lanes})
    sides = "AA" if mode == "duplex" else "AB"
    best: int | None = None

    def go(number: int, kept: int) -> None:
        nonlocal best
        if kept + len(links) - number <= (least if best is None else best):
            return
        if number == len(links):
            best = kept
            return
        pair = links[number]
        for field in fields:
            ends = [(host, side, field) for host, side in zip(pair, sides, strict=True)]
            if all(used[end] < lanes[end[0], field] for end in ends):
                stays = have[pair, field] > 0
                have[pair, field] -= 1
                used.update(ends)
                go(number + 1, kept + stays)
                used.subtract(ends)
                have[pair, field] += 1

    go(0, 0)
    return best


def refuted(claim: Claim, least: int) -> bool:
    """Whether a claim is not so, where so many would do; its bound has to hold, too, proven or not."""
    assert claim.bound is not None
    return claim.bound > least or (claim.proven and claim.value > least)


@pytest.mark.floor(changes=30)
@settings(max_examples=120, deadline=None)
@given(rooms())
def test_no_order_of_the_hosts_needs_fewer_moves(room: Room) -> None:
    plan = plan_of(room)
    found = None if plan is None else changed(plan, room.want)
    if plan is None or found is None:
        return
    (claim,) = found.claims
    least = fewest(plan, room.want, itertools.permutations(plan.hosts, room.want.nodes))
    floors.reached("changes")
    assert (claim.of, claim.among, claim.value) == (Of.MOVES, Scope.CHANGES, found.moves)
    assert least == claim.value == claim.bound
    assert claim.proven


@pytest.mark.floor(changes=30)
@settings(max_examples=120, deadline=None)
@given(rooms())
def test_hosts_that_stay_need_no_fewer_moves(room: Room) -> None:
    plan = plan_of(room)
    if plan is None or room.want.nodes < len(plan.hosts):
        return
    free, found = changed(plan, room.want), changed(plan, room.want, keep_hosts=True)
    if found is None:
        return
    (claim,) = found.claims
    floors.reached("changes")
    assert claim.among is Scope.PLACED_CHANGES
    assert claim.value == fewest(plan, room.want, [plan.hosts]) == claim.bound
    assert claim.proven
    assert free is not None
    assert free.moves <= found.moves


@pytest.mark.floor(repairs=30)
@settings(max_examples=250, deadline=None)
@given(rooms(), st.data())
def test_no_repair_needs_fewer_patches(room: Room, data: st.DataObject) -> None:
    plan = plan_of(room)
    if plan is None or not plan.connects:
        return
    lane = {end: Lane(end.host, end.port, end.lane) for end in plan.net.end.values()}
    order = data.draw(st.permutations(range(len(plan.connects))))
    heard: dict[Lane, Lane] = {}
    have: Counter[tuple[tuple[str, str], str]] = Counter()
    for connect, number in zip(plan.connects, order, strict=True):
        other, field = plan.connects[number].b, plan.inventory.panel[connect.a.panel].field
        if plan.inventory.panel[other.panel].field != field:
            continue  # that patch is out
        pair = connect.a.host, other.host
        have[pair if room.mode == "simplex" else (min(pair), max(pair)), field] += 1
        heard[lane[other]] = lane[connect.a]
        if room.mode == "duplex":
            heard[lane[connect.a]] = lane[other]
    found = check_wiring(plan, Observed(heard))
    want = placed(plan.topology, plan.hosts, room.mode)
    lanes = Counter((end.host, plan.inventory.panel[end.panel].field) for end in plan.fixed)
    most, kept = max(have.total(), want.total()), most_kept(sorted(want.elements()), have, lanes, -1, room.mode)
    assert kept is not None  # as planned
    least = most - kept
    if found.repair.made:
        floors.reached("repairs")
        (claim,) = found.claims
        assert (claim.of, claim.among, claim.value) == (Of.PATCHES, Scope.REPAIRS, found.repair.moves)
        assert claim.value >= least
        assert not refuted(claim, least)
    assert bool(found.claims) == bool(found.repair.moves)


def why_none(topology: Topology, inventory: Inventory, hosts: tuple[str, ...]) -> str:
    try:
        choose_together(topology, inventory, mode="simplex", hosts=hosts, seconds=10, seed=0)
    except InfeasibleError as error:
        return PROVEN_NONE if f"({PROVEN_NONE})" in str(error) else str(error)
    return ""


@pytest.mark.floor(none=10, some=10)
@settings(max_examples=60, deadline=None)
@given(st.integers(2, 4), st.integers(2, 3), st.data())
def test_where_no_plan_is_proven_to_be_there_is_none(nodes: int, lanes: int, data: st.DataObject) -> None:
    """Hosts cabled at random to two panels: each link goes to a panel, and all splits of them over these are tried."""
    port = Port("p0", "MPO-12", Fraction(25 * 10**9))
    hosts = tuple(Host(f"h{number}", "lab", "r1", number + 1, (port,)) for number in range(nodes))
    fixed, labels = [], {"a": 0, "b": 0}
    for host in hosts:
        for lane in range(1, lanes + 1):
            panel = data.draw(st.sampled_from("ab"))
            labels[panel] += 1
            fixed.append(Fixed(host.name, "p0", lane, panel, str(labels[panel])))
    panels = tuple(
        Panel(name, "lab", "r2", row, "ocs", tuple(PanelPort(str(k + 1), "simplex") for k in range(count + 1)), name)
        for row, (name, count) in enumerate(labels.items())
    )
    topology = data.draw(topologies(nodes, lanes, "simplex"))
    names = tuple(host.name for host in hosts)
    links = [(u, v) for u, v, capacity in topology.links() for _ in range(capacity)]
    room = {(one.host, one.panel): 0 for one in fixed}
    for one in fixed:
        room[one.host, one.panel] += 1
    possible = any(
        all(
            count <= room.get((names[node], panel), 0)
            for ends in (0, 1)
            for (node, panel), count in Counter((link[ends], p) for link, p in zip(links, split, strict=True)).items()
        )
        for split in itertools.product("ab", repeat=len(links))
    )
    told = why_none(topology, Inventory(hosts, panels, tuple(fixed)), names)
    floors.reached("some" if possible else "none")
    assert told == ("" if possible else "proven: there is none")


def test_a_random_wiring_has_the_links_that_it_should() -> None:
    """The oracle itself, at a case that can be counted by hand."""
    plan = wired(Topology.from_links(3, [(0, 1), (1, 2), (2, 0)]), 1)
    assert patched(plan) == Counter({("h0", "h1"): 1, ("h1", "h2"): 1, ("h2", "h0"): 1})
    assert needed(patched(plan), placed(Topology.from_links(3, [(1, 0), (0, 2), (2, 1)]), plan.hosts, "simplex")) == 3
    assert change_wiring(plan, Topology.from_links(3, [(1, 0), (0, 2), (2, 1)]), downtime=True).moves == 0
    assert not patched(bare(3, 1))
    assert np.array_equal(plan.topology.src, [0, 1, 2])
