"""Parts that can be bought: bills recounted, fibres followed and losses added up by other ways than the program's."""

from __future__ import annotations

import csv
import io
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, pairwise, product
from math import pi
from pathlib import Path
from random import Random

import networkx as nx
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from topodesign import bill_wiring, format_inventory, load_wiring, plan_wiring, read_inventory, read_parts, save_wiring
from topodesign.base.errors import FileFormatError, InfeasibleError, ParameterError
from topodesign.base.shipped import copy_examples, find_shipped_folder
from topodesign.cli.main import run
from topodesign.wiring.inventory.devices import (
    Connector,
    Fixed,
    Host,
    Losses,
    Mode,
    Panel,
    PanelPort,
    Place,
    Port,
    Tray,
)
from topodesign.wiring.inventory.inventory import Inventory, distance, tray_way
from topodesign.wiring.parts.bought import RUNS, Purchase
from topodesign.wiring.parts.parts import Part, PartsList, Piece, Sort
from topodesign.wiring.parts.ways import SINGLES, WAYS, Shop, Single, Way, cheapest_cover, runs_of, slot_after
from topodesign.wiring.plan.cross_connects import CrossConnect, fibres
from topodesign.wiring.plan.losses import read_circuit_losses
from topodesign.wiring.plan.plan import WiringPlan

SPEED = Fraction(25 * 10**9)
NEUTRAL = find_shipped_folder("configs") / "parts_neutral.yaml"
KNOWN = Losses(Fraction(3, 10), Fraction(3))


def room(racks: int, per_rack: int, switches: int, *, slack: int = 2, connector: str = "MPO-12") -> Inventory:
    """Racks of hosts in a row, each lane of a host to another switch in a row across, as far as there are some."""
    lanes = 4 if connector == "MPO-12" else 1
    kind: Connector = "MPO-12" if connector == "MPO-12" else "LC"
    hosts = tuple(
        Host(f"h{rack}-{unit}", "s", f"r{rack}", unit + 1, (Port("e", kind, SPEED),))
        for rack in range(racks)
        for unit in range(per_rack)
    )
    count = -(-racks * per_rack * lanes // switches) + 4
    ports = tuple(PanelPort(str(number + 1), "simplex", False, Fraction(1, 5)) for number in range(count))
    panels = tuple(
        Panel(f"x{number}", "s", f"w{number}", 10, "ocs", ports, f"x{number}", (), 0, Fraction(1))
        for number in range(switches)
    )
    places = {f"r{rack}": (Fraction(rack), Fraction(0)) for rack in range(racks)}
    places |= {f"w{number}": (Fraction(2 * number), Fraction(3)) for number in range(switches)}
    return Inventory(hosts, panels, racks={"s": places}, slack=Fraction(slack), losses=KNOWN)


def ring(inventory: Inventory, mode: Mode = "duplex") -> WiringPlan:
    lanes = inventory.hosts[0].lanes
    count = len(inventory.hosts)
    degree = min(lanes, 4) if count > 4 else 2
    spec = f"biring(2,{count})" if degree < 4 else f"circulant({count},1,2)"
    if lanes == 1:
        spec = "degree(complete(2),1)" if count == 2 else f"uniring(1,{count})"
        mode = "simplex"
    return plan_wiring(spec, inventory, mode=mode)


def test_splices_of_both_fixed_cables_are_counted() -> None:
    plan = ring(room(2, 4, 1))
    more = replace(plan.inventory, losses=KNOWN._replace(splice=Fraction(1, 10), splices=3))
    before, after = (
        {link.cable: link.loss for link in replace(plan, inventory=one).loss_budget().links}
        for one in (plan.inventory, more)
    )
    assert after == {cable: loss + 2 * 3 * Fraction(1, 10) for cable, loss in before.items()}


@pytest.fixture(scope="module")
def parts() -> PartsList:
    return read_parts(NEUTRAL)


# -- another reading of the list of runs: what each part does to a fibre, and who has which


def across(part: Part, plug: int, fibre: int) -> tuple[int, int]:
    """Where a fibre that goes in at the host's side of a trunk or array cord comes out."""
    width = int(part.connector.removeprefix("MPO-"))
    width, row = (12, (fibre - 1) // 12) if width == 24 else (width, 0)
    place = fibre - row * width
    if part.polarity == "B":
        place = width + 1 - place
    elif part.polarity == "C":
        place = place + 1 if place % 2 else place - 1
    return plug, row * width + place


def behind(part: Part, front: int, side: int) -> tuple[int, int]:
    """The rear plug and the fibre behind a side of a front port of a cassette."""
    each = part.fronts // part.count
    rear, slot = (front - 1) // each + 1, (front - 1) % each + 1
    if part.pairing == "pairs":
        return rear, 2 * slot - (side == 1)
    width = int(part.connector.removeprefix("MPO-"))
    if width == 24:
        return rear, slot + 12 * (side == 2)
    return rear, slot if side == 1 else width + 1 - slot


def audit(plan: WiringPlan, bought: Purchase, parts: PartsList) -> dict[tuple[str, str, int], str]:
    """Follow every lane through the list of runs; return the side of the panel port where it is sent to."""
    rows = list(csv.DictReader(io.StringIO(bought.runs_text())))
    assert not rows or tuple(rows[0]) == RUNS
    known = {part.name: part for part in parts.parts}
    pieces: dict[str, tuple[str, str]] = {}
    fibres: set[tuple[str, int, int, str]] = set()
    lanes: defaultdict[tuple[str, str, int], list[dict[str, str]]] = defaultdict(list)
    for row in rows:
        piece = (row["part"], row["length_m"])
        assert pieces.setdefault(row["name"], piece) == piece
        lanes[row["host"], row["port"], int(row["lane"])].append(row)
        for end in ("in", "out"):
            for which in {row[f"{end}_send"], row[f"{end}_receive"]}:  # the same with one fibre a lane
                fibre = (row["name"], int(row[f"{end}_plug"]), int(which), end)
                assert fibre not in fibres, "two lanes have one fibre"
                fibres.add(fibre)
    for line in bought.lines:  # every piece that is laid is on the bill, and nothing else of these sorts
        assert (line.part, line.length) in {
            (part.name, size) for part in parts.parts for size in part.lengths or (None,)
        }
    laid = Counter(pieces.values())
    for bundle in bought.bundles:  # cassettes and trunks are there even where some of their ports stay free
        for name, size in [item.rsplit(", ", 1) for item in bundle.trunks]:
            assert laid[name, size.removesuffix(" m")] or known[name].count
    listed = Counter(
        {(line.part, "" if line.length is None else f"{float(line.length):g}"): line.count for line in bought.lines}
    )
    patches = sum(plan.inventory.panel[one.a.panel].kind != "ocs" for one in plan.connects)
    assert sum(listed.values()) == len(bought.units) + patches
    assert all(listed[piece] >= count for piece, count in laid.items())
    assert lanes.keys() == {(one.host, one.port, one.lane) for one in plan.fixed}
    return {
        lane: followed(plan, known, lane, sorted(steps, key=lambda row: int(row["step"])))
        for lane, steps in lanes.items()
    }


def followed(
    plan: WiringPlan, known: dict[str, Part], lane: tuple[str, str, int], steps: Sequence[dict[str, str]]
) -> str:
    """Follow a lane through its pieces; return the side where it comes out."""
    host = plan.inventory.host[lane[0]]
    port = next(one for one in host.ports if one.name == lane[1])
    width = {"LC": 2, "MPO-12": 12, "MPO-16": 16, "MPO-24": 24}[port.connector]
    at: tuple[int, ...] = (1, lane[2], lane[2] + 12 if width == 24 else width + 1 - lane[2])
    rack = host.rack
    for row in steps:
        part = known[row["part"]]
        enters = tuple(int(row[f"in_{name}"]) for name in ("plug", "send", "receive"))
        leaves = tuple(int(row[f"out_{name}"]) for name in ("plug", "send", "receive"))
        assert row["from_rack"] == rack
        if part.connector == "LC simplex" or (at == (1, 1, 1) and part.sort == "cassette"):
            assert enters[1] == enters[2]  # a plug of one fibre, in either side of a front port
        else:
            assert enters[1:] == at[1:], "the fibres that meet are not the same"
        if part.sort == "breakout":
            assert leaves == (lane[2], 1, 2)
        elif part.sort == "circulator":
            assert leaves == (1, 1, 1)
            assert set(enters[1:]) == {1, 2}
        elif part.connector == "LC simplex":
            assert enters == leaves == (1, 1, 1)
        elif part.connector == "LC duplex":
            assert part.polarity in {"either", "crossed" if leaves[1:] == enters[1:][::-1] else "straight"}
        elif part.sort in {"cord", "trunk"}:
            for x, y in zip(enters[1:], leaves[1:], strict=True):
                assert across(part, enters[0], x) == (leaves[0], y)
            assert enters[0] <= part.count
        elif part.sort == "cassette":
            front, inside = (enters, leaves) if at_front(steps, row, known) else (leaves, enters)
            assert front[0] <= part.fronts
            for side, fibre in zip(front[1:], inside[1:], strict=True):
                assert behind(part, front[0], side) == (inside[0], fibre)
        at, rack = leaves, row["to_rack"]
    panel = plan.inventory.panel[steps[-1]["panel"]]
    assert rack == panel.rack
    return "AB"[at[1] - 1]


def at_front(steps: Sequence[dict[str, str]], row: dict[str, str], known: dict[str, Part]) -> bool:
    """Whether a lane goes into a cassette at its front: a trunk is still to come."""
    return any(known[other["part"]].sort == "trunk" for other in steps[steps.index(row) :])


@pytest.mark.once
@pytest.mark.parametrize("ways", [("breakouts",), ("trunks",), WAYS])
@pytest.mark.parametrize("mode", ["duplex", "simplex"])
def test_every_fibre_is_in_one_part_and_comes_out_where_it_is_received(
    parts: PartsList, ways: tuple[Way, ...], mode: Mode
) -> None:
    inventory = room(3, 5, 4)
    plan = plan_wiring("circulant(15,1,2)", inventory, mode=mode)
    bought = bill_wiring(plan, parts, ways=ways)
    sides = audit(plan, bought, parts)
    assert len(set(sides.values())) == 1
    assert mode == "duplex" or set(sides.values()) == {"A"}
    assert {line.sort for line in bought.lines} >= ({"breakout"} if ways == ("breakouts",) else set())
    assert not bought.loss.refused
    assert bought.proven


@pytest.mark.parametrize("ways", [("breakouts",), ("trunks",)])
def test_ports_of_one_lane(parts: PartsList, ways: tuple[Way, ...]) -> None:
    inventory = room(2, 4, 2, connector="LC")
    plan = plan_wiring("uniring(1,8)", inventory)
    bought = bill_wiring(plan, parts, ways=ways)
    assert set(audit(plan, bought, parts).values()) == {"A"}


@pytest.mark.parametrize("way", ["breakouts", "trunks"])
def test_one_fibre_goes_both_ways(parts: PartsList, way: Way) -> None:
    plan = plan_wiring("circulant(15,1,2)", room(3, 5, 4))
    bought = bill_wiring(plan, parts, ways=[way], one_fibre="circulators")
    audit(plan, bought, parts)
    circulators = sum(line.count for line in bought.lines if line.sort == "circulator")
    assert circulators == len(plan.fixed) == 60
    pairs = bill_wiring(plan, parts, ways=[way])
    tightest, before = (found.loss.links[0].loss for found in (bought, pairs))
    assert tightest >= before + Fraction(8, 5)  # a circulator at either end, and the cords behind
    if way == "trunks":  # two lanes to a pair of fibres
        assert sum(one.connectors for one in bought.bundles) < sum(one.connectors for one in pairs.bundles)
    lone = plan_wiring("complete(2)", room(2, 1, 1, connector="LC"), mode="duplex")
    count = Counter(unit.piece.part.name for unit in bill_wiring(lone, parts, ways=[way], one_fibre="optics").units)
    assert count["simplex cord"] == (2 if way == "breakouts" else 4)
    assert count.total() - count["simplex cord"] == (0 if way == "breakouts" else 6)
    with pytest.raises(ParameterError, match="one fibre goes both ways, so the plan has to be duplex"):
        bill_wiring(plan_wiring("circulant(15,1,2)", room(3, 5, 4), mode="simplex"), parts, one_fibre="optics")
    with pytest.raises(InfeasibleError, match="optics of one fibre have ports of one lane"):
        bill_wiring(plan, parts, one_fibre="optics")
    with pytest.raises(InfeasibleError, match="no circulator is in the list"):
        bill_wiring(plan, PartsList(parts.parts[:5]), one_fibre="circulators")


def test_sides_of_a_switch(parts: PartsList, tmp_path: Path) -> None:
    """A table from side 1 to side 2 alone: one fibre goes between them both ways, and never from a side to itself."""
    plan = plan_wiring("biring(2,8)", room(2, 4, 2))
    labels = [port.label for port in plan.inventory.panels[0].ports]
    sides = (labels[::2], labels[1::2])
    rows = [["", *sides[1]], *([a, *(["0.7"] * len(sides[1]))] for a in sides[0])]
    table = _file(tmp_path, "\n".join(map(",".join, rows)) + "\n")
    bought = bill_wiring(plan, parts, one_fibre="circulators", tables={"x0": table, "x1": table})
    for link in bought.loss.links:
        one = next(connect for connect in plan.connects if connect.cable == link.cable)
        across = (one.a.panel_port in sides[0]) != (one.b.panel_port in sides[0])
        assert across == (not link.refused)
        assert across == any(part.name == "circuit" and part.loss == Fraction(7, 10) for part in link.parts)
    both = bill_wiring(plan, parts, tables={"x0": table, "x1": table})
    assert all(link.refused for link in both.loss.links)  # two fibres would need it in both directions


def test_losses_are_those_of_the_parts_on_the_way(parts: PartsList) -> None:
    """Added up once more from the list of runs: parts, metres of fibre, ports of panels, circuits."""
    inventory = room(3, 5, 4)
    plan = plan_wiring("circulant(15,1,2)", inventory)
    for way in WAYS:
        bought = bill_wiring(plan, parts, ways=[way])
        known = {part.name: part for part in parts.parts}
        lost: defaultdict[tuple[str, str, int], Fraction] = defaultdict(Fraction)
        for row in csv.DictReader(io.StringIO(bought.runs_text())):
            lane = row["host"], row["port"], int(row["lane"])
            lost[lane] += known[row["part"]].loss or 0
            lost[lane] += Fraction(row["length_m"] or 0) * 3 / 1000
        found = {link.cable: link for link in bought.loss.links}
        for one in plan.connects:
            ends = [(end.host, end.port, end.lane) for end in (one.a, one.b)]
            assert found[one.cable].loss == sum(lost[end] for end in ends) + 2 * Fraction(1, 5) + 1
            assert sum(part.loss for part in found[one.cable].parts) == found[one.cable].loss


# -- no leg longer than it is: a furcation looked for on a grid


def furcates(part: Part, size: Fraction, host: Sequence[int], ends: Sequence[Sequence[int]], slack: int) -> bool:
    """Whether some place for the furcation does, among all of a fine grid; half of the slack at either end."""
    trunk = size - max(part.legs)
    legs = part.legs * len(ends) if len(part.legs) == 1 else part.legs
    half = Fraction(slack, 2)
    for x, y in product(range(-8, 33), repeat=2):
        spot = Fraction(x, 2), Fraction(y, 2)
        if abs(spot[0] - host[0]) + abs(spot[1] - host[1]) + half <= trunk and all(
            abs(spot[0] - end[0]) + abs(spot[1] - end[1]) + half <= leg for end, leg in zip(ends, legs, strict=False)
        ):
            return True
    return False


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**9))
def test_no_leg_is_longer_than_it_is(seed: int) -> None:
    draw = Random(seed)  # noqa: S311  no secret
    slack = draw.randrange(0, 5, 2)
    spots = draw.sample(list(product(range(8), repeat=2)), 5)
    racks = {f"w{number}": (Fraction(x), Fraction(y)) for number, (x, y) in enumerate(spots)}
    base = room(1, 1, 4, slack=slack)
    inventory = replace(base, racks={"s": racks | {"r0": racks["w4"]}})
    size = Fraction(draw.randrange(8, 26))
    legs = tuple(Fraction(draw.randrange(2, 9)) for _ in range(draw.choice((1, 4))))
    part = Part("b", "breakout", "MPO-12", Fraction(1), 1, lengths=(size,), legs=legs)
    shop = Shop(inventory, PartsList((part,)))
    ends = {lane: Place("s", f"w{lane - 1}", 10) for lane in range(1, 5)}
    found = shop.reaches(part, size, Place("s", "w4", 1), ends)
    if furcates(part, size, spots[4], spots[:4], slack):
        assert found
    if found:  # every leg is as long as what it has to span in any case
        half = Fraction(slack, 2)
        for lane, leg in enumerate(legs * 4 if len(legs) == 1 else legs):
            (x, y), (u, v) = spots[lane], spots[4]
            assert abs(x - u) + abs(y - v) + slack <= size - max(legs) + leg
            assert leg >= half or any(spots[lane] == spot for spot in spots[:4])


# -- the cheapest, against all that there is


def all_covers(pieces: Sequence[Piece], needed: int) -> Iterator[Fraction]:
    """The prices of all ways to take pieces until there are enough connectors."""
    if needed <= 0:
        yield Fraction(0)
        return
    for one in pieces:
        for rest in all_covers([other for other in pieces if other.rank >= one.rank], needed - one.part.count):
            yield one.price + rest


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 40)), min_size=1, max_size=4), st.integers(1, 9))
def test_covers_are_the_cheapest(sold: list[tuple[int, int]], needed: int) -> None:
    pieces = [
        Piece(Part(f"t{number}", "trunk", "MPO-12", Fraction(price), 1, count=count))
        for number, (count, price) in enumerate(sold)
    ]
    cover = cheapest_cover(tuple(pieces), needed)
    assert sum(one.part.count for one in cover.pieces) >= needed
    assert sum(one.price for one in cover.pieces) == cover.price == min(all_covers(pieces, needed))


def random_parts(draw: Random) -> PartsList:
    lengths = tuple(Fraction(size) for size in (3, 6, 12, 24))

    def price(low: int, high: int) -> Fraction:
        return Fraction(draw.randrange(low, high))

    def cable(name: str, sort: Sort, ends: str, low: int, high: int) -> Part:
        return Part(name, sort, ends, price(low, high), 1, per_metre=price(0, 4), lengths=lengths)

    return PartsList(
        (
            replace(cable("fan", "breakout", "MPO-12", 10, 90), legs=(Fraction(1),)),
            replace(cable("wide", "breakout", "MPO-12", 40, 260), legs=(Fraction(3),)),
            replace(cable("crossed", "cord", "LC duplex", 2, 9), polarity="crossed"),
            replace(cable("either", "cord", "LC duplex", 2, 9), polarity="either"),
            *(
                replace(cable(f"t{count}{kind}", "trunk", "MPO-12", 10, 60 * count), polarity=kind, count=count)
                for count in (1, 2, 5)
                for kind in draw.sample("ABC", 2)
            ),
            Part("k6", "cassette", "MPO-12", price(10, 60), 1, count=1, fronts=6),
            Part("k12", "cassette", "MPO-12", price(10, 90), 1, count=2, fronts=12),
            Part("e4", "cassette", "MPO-12", price(10, 60), 1, count=1, fronts=4, pairing="ends"),
        )
    )


def sold(part: Part, needed: Fraction) -> Fraction | None:
    return min((part.price + part.per_metre * size for size in part.lengths if size >= needed), default=None)


def least_of_rack(
    parts: PartsList, inventory: Inventory, hosts: Sequence[Host], far: Sequence[str], *, odd: bool
) -> Fraction | None:
    """The least price for a rack whose hosts have lane i at the switch i, each way worked out by itself."""
    by = parts.by_sort
    here = inventory.racks["s"][hosts[0].rack]
    unit = Fraction(4445, 100000)
    top = max(host.unit for host in inventory.hosts if host.rack == hosts[0].rack) + 1
    slack, found = inventory.slack, []

    def away(rack: str) -> Fraction:
        there = inventory.racks["s"][rack]
        return abs(here[0] - there[0]) + abs(here[1] - there[1]) + slack

    def cheapest(options: Iterator[Fraction | None]) -> Fraction | None:
        return min((one for one in options if one is not None), default=None)

    def cord(crossed: bool) -> Fraction | None:
        fits = {"either", "crossed" if crossed else "straight"}
        return cheapest(sold(one, unit + slack) for one in by["cord"] if one.polarity in fits)

    shop = Shop(inventory, parts)  # only for whether a breakout reaches, which has a test of its own
    ends = {lane: Place("s", rack, 10) for lane, rack in enumerate(far, start=1)}
    tops = {lane: Place("s", hosts[0].rack, top) for lane in ends}

    def fans(there: dict[int, Place]) -> Fraction | None:
        each = [
            cheapest(
                one.price + one.per_metre * size
                for one in by["breakout"]
                for size in one.lengths
                if shop.reaches(one, size, Place("s", host.rack, host.unit), there)
            )
            for host in hosts
        ]
        return None if None in each else sum((one for one in each if one is not None), Fraction(0))

    if not odd and (straight := fans(ends)) is not None:
        found.append(straight)
    total = fans(tops)
    for rack in dict.fromkeys(far):
        best, lanes = [], len(hosts) * far.count(rack)
        for kind, pairing in product("ABC", ("pairs", "ends")):
            slots = 6 if pairing == "pairs" else 4
            crossed = kind == "B" or (kind == "C" and pairing == "pairs")
            far_cord = cord(crossed ^ odd)
            long = {one: [size for size in one.lengths if size >= away(rack)] for one in by["trunk"]}
            trunks = [Piece(one, min(sizes)) for one, sizes in long.items() if one.polarity == kind and sizes]
            boxes = [Piece(one) for one in by["cassette"] if one.pairing == pairing]
            if far_cord is not None and trunks:
                count = -(-lanes // slots)
                covers = min(all_covers(trunks, count)) + 2 * min(all_covers(boxes, count))
                best.append(covers + lanes * far_cord)
        total = None if total is None or not best else total + min(best)
    if total is not None:
        found.append(total)
    return min(found, default=None)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**9))
def test_the_choice_is_the_cheapest_of_all(seed: int) -> None:
    draw = Random(seed)  # noqa: S311  no secret
    inventory = room(2, draw.randrange(2, 6), 4)
    plan = plan_wiring(f"biring(2,{len(inventory.hosts)})", inventory)
    listed = random_parts(draw)
    far: dict[str, list[str]] = {}
    for one in plan.fixed:
        far.setdefault(one.host, []).append(plan.inventory.panel[one.panel].rack)
    assert len({tuple(racks) for racks in far.values()}) == 1
    racks = [[host for host in inventory.hosts if host.rack == rack] for rack in ("r0", "r1")]
    least = []
    for odd in (False, True):
        prices = [least_of_rack(listed, inventory, hosts, next(iter(far.values())), odd=odd) for hosts in racks]
        least += [] if None in prices else [sum((one for one in prices if one is not None), Fraction(0))]
    bought = bill_wiring(plan, listed)
    assert bought.fixed_price == min(least), (bought.fixed_price, least)
    assert bought.proven
    audit(plan, bought, listed)
    assert bought.fixed_price <= min(one.price for one in bought.ways if one.price is not None)


def scattered(draw: Random) -> Inventory:
    """Hosts with ports of either kind and panels of either kind in four racks, some of both in one; perhaps trays."""
    base = room(2, draw.randrange(2, 5), draw.choice((1, 2, 4)), slack=draw.randrange(4))
    places = {f"q{number}": (Fraction(draw.randrange(5)), Fraction(draw.randrange(5))) for number in range(4)}
    hosts = []
    for host in base.hosts:
        ports = [Port("e", "LC" if draw.random() < 0.2 else "MPO-12", SPEED)]
        ports += [Port("f", "LC", SPEED)] if draw.random() < 0.3 else []
        hosts.append(replace(host, rack=f"q{draw.randrange(4)}", ports=tuple(ports)))
    panels = [
        replace(panel, rack=f"q{draw.randrange(4)}", kind=draw.choice(("ocs", "patch panel"))) for panel in base.panels
    ]
    trays = [
        Tray("s", a, b, Fraction(1), Fraction(1, 5), Fraction(1, 20))
        for a, b in pairwise(("q0", "q1", "j", "q2", "q3"))
    ]
    more = tuple(trays) if draw.random() < 0.4 else ()
    return replace(base, hosts=tuple(hosts), panels=tuple(panels), racks={"s": places}, trays=more)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from([*WAYS, *SINGLES, None]))
def test_rooms_of_all_kinds(seed: int, asked: Way | Single | None) -> None:
    draw, parts = Random(seed), read_parts(NEUTRAL)  # noqa: S311  no secret
    inventory = scattered(draw)
    try:
        plan = plan_wiring(f"biring(2,{len(inventory.hosts)})", inventory, mode="duplex")
        ways = [one for one in WAYS if asked in (one, None, *SINGLES)]
        single = next((one for one in SINGLES if one == asked), None)
        bought = bill_wiring(plan, parts, ways=ways, one_fibre=single)
    except InfeasibleError:
        assume(False)
    assert len(set(audit(plan, bought, parts).values())) == 1
    assert not bought.loss.refused
    assert bought.fixed_price == sum(unit.piece.price for unit in bought.units)


def test_many_groups_are_not_gone_through(parts: PartsList, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_wiring("circulant(15,1,2)", room(3, 5, 4))
    sure = bill_wiring(plan, parts)
    monkeypatch.setattr("topodesign.wiring.parts.choice._MAX_CHOICES", 1)
    found = bill_wiring(plan, parts)
    assert not found.proven
    assert ", optimal (proven)" not in str(found)
    assert sure.fixed_price <= found.fixed_price <= min(one.price for one in sure.ways if one.price is not None)


# -- light


def test_types_of_trunks() -> None:
    """TIA-568.3: pairs go straight by type A, mirrored and crossed by B, crossed by C; lanes of optics by A and B."""
    assert [slot_after("MPO-12", "pairs", "A", slot) for slot in (1, 6)] == [(1, False), (6, False)]
    assert [slot_after("MPO-12", "pairs", "B", slot) for slot in (1, 6)] == [(6, True), (1, True)]
    assert [slot_after("MPO-12", "pairs", "C", slot) for slot in (1, 6)] == [(1, True), (6, True)]
    assert [slot_after("MPO-12", "ends", "B", slot) for slot in (1, 4)] == [(1, True), (4, True)]
    assert [slot_after("MPO-12", "ends", "C", slot) for slot in (1, 2)] == [(2, False), (1, False)]


def test_what_would_join_tx_to_tx_is_refused(parts: PartsList) -> None:
    plan = plan_wiring("circulant(15,1,2)", room(3, 5, 4), mode="simplex")
    straight = [part for part in parts.parts if part.polarity != "either" and part.sort != "trunk"]
    crossing = [part for part in parts.parts if part.sort == "trunk" and part.polarity == "A"]
    with pytest.raises(InfeasibleError, match=r"none brings Tx to Rx behind these trunks \(polarity\)"):
        bill_wiring(plan, PartsList((*straight, *crossing)), ways=["trunks"])
    both = bill_wiring(replace(plan, mode="simplex"), parts, ways=["trunks"])
    assert set(audit(plan, both, parts).values()) == {"A"}


def test_a_duplex_patch_has_to_cross(parts: PartsList, tmp_path: Path) -> None:
    paths = copy_examples(["inventory_testbed.yaml"], tmp_path)
    plan = plan_wiring("circulant(12,2,3)", read_inventory(paths[0]))
    flat = PartsList(
        tuple(replace(part, polarity="straight") if part.connector == "LC duplex" else part for part in parts.parts)
    )
    with pytest.raises(
        InfeasibleError, match=r"patch C01: no crossed LC duplex cord of .* a straight one would join Tx"
    ):
        bill_wiring(plan, flat)


def test_tables_of_circuits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inventory = room(2, 4, 2)
    plan = plan_wiring("biring(2,8)", inventory)
    labels = [port.label for port in inventory.panels[0].ports]
    pairs = tmp_path / "pairs.csv"
    loss = {(a, b): Fraction(10 + (7 * int(a) + 3 * int(b)) % 20, 10) for a in labels for b in labels}
    pairs.write_text("from,to,loss_db\n" + "".join(f"{a},{b},{float(value)}\n" for (a, b), value in loss.items()))
    matrix = tmp_path / "matrix.csv"
    rows = [["in", *labels], *([a, *(f"{float(loss[a, b])} dB" for b in labels)] for a in labels)]
    matrix.write_text("\n".join(map(",".join, rows)) + "\n")
    assert read_circuit_losses(pairs, labels).loss == read_circuit_losses(matrix, labels).loss
    before = {link.cable: link.loss for link in plan.loss_budget().links}
    after = plan.loss_budget({"x0": matrix, "x1": pairs})
    for link in after.links:
        one = next(connect for connect in plan.connects if connect.cable == link.cable)
        a, b = one.a.panel_port, one.b.panel_port
        assert link.loss == before[link.cable] - 1 + max(loss[a, b], loss[b, a])
    first = next(connect for connect in plan.connects if connect.a.panel == "x0")
    a, b = first.a.panel_port, first.b.panel_port
    rows[1 + labels.index(a)][1 + labels.index(b)] = "-"
    matrix.write_text("\n".join(map(",".join, rows)) + "\n")
    torn = plan.loss_budget({"x0": matrix})
    assert not torn.ok
    assert torn.links[0].refused == f"the table of x0 has none {a} to {b}"
    save_wiring(plan, tmp_path / "plan.json")
    assert run(["wire", "show", "--loss", str(tmp_path / "plan.json"), "--table", f"x0={matrix}"]) == 1
    assert f"refused: {first.cable} " in capsys.readouterr().out
    one_way = read_circuit_losses(_file(tmp_path, "from,to,loss\n1,2,1.5\n"), labels)
    assert (one_way.between("2", "1"), one_way.between("1", "3")) == (Fraction(3, 2), None)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("from,to,loss\n1,99,1\n", "line 2: the switch has no port '99'; "),
        ("from,to,loss\n1,2,x\n", "line 2: 'x' is not a loss such as 1.2"),
        ("from,to,loss\n1,2,1\n1,2,2\n", "line 3: from 1 to 2 is there twice"),
        ("from,to,loss\n1,2\n", "line 2: expected a port, a port and a loss"),
        ("in\n", "line 1: expected the columns from, to and loss, or a port at the head"),
        ("in,1,1\n", "line 1: a port is there twice"),
        ("in,1,9\n1,3,4\n", "line 1: the switch has no port '9'"),
        ("in,1,2\n1,-,\n", "no cross-connect is in it"),
        ("in,1,2\n1,3\n", "line 2: 2 cells, the first line has 3"),
    ],
)
def test_wrong_tables(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(FileFormatError) as caught:
        read_circuit_losses(_file(tmp_path, text), ["1", "2", "3"])
    assert words in str(caught.value)


def _file(folder: Path, text: str, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


# -- lists of parts


CORD = "cords:\n  - {part: c, ends: LC duplex, lengths: [1m, 2m], price: 4, lead: 3d}\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name: x\n", "there are no parts; sections are cords, breakouts"),
        (CORD.replace("lead: 3d", "led: 3d"), "line 2: cords: unknown field 'led'; did you mean 'lead'?"),
        (CORD.replace("price: 4", "price: 4 EUR"), "line 2: cords.price: '4 EUR' is not a price such as 12.50"),
        (CORD.replace("3d", "3 days"), "cords.lead: '3 days' is not a time such as 5d or 3w"),
        (CORD.replace("LC duplex", "LC triplex"), "cords.ends: 'LC triplex' is not one of LC simplex, LC duplex"),
        (CORD.replace("[1m, 2m]", "[]"), "cords.lengths: expected 1 to 200 lengths"),
        (CORD + CORD[7:], "line 3: cords.part: there are two parts 'c'"),
        (CORD.replace("cords", "cord"), "unknown field 'cord'; did you mean 'cords'?"),
        (
            "breakouts:\n  - {part: b, connector: MPO-12, lengths: [5m], legs: [1m, 2m], price: 1, lead: 1d}\n",
            "breakouts.legs: expected one length for all, or 4",
        ),
        (
            "cassettes:\n  - {part: k, connector: MPO-12, rears: 1, fronts: 7, price: 1, lead: 1d}\n",
            "cassettes.fronts: each of 1 rears has as many fronts, at most 6 by MPO-12",
        ),
    ],
)
def test_wrong_lists(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(FileFormatError) as caught:
        read_parts(_file(tmp_path, text, "parts.yaml"))
    assert words in str(caught.value)


def test_other_files_are_told(tmp_path: Path) -> None:
    [room_file] = copy_examples(["inventory_testbed.yaml"], tmp_path)
    with pytest.raises(FileFormatError, match=r"this is an inventory, not a list of parts; .*parts_neutral"):
        read_parts(room_file)
    with pytest.raises(FileFormatError, match="this is a list of parts, not an inventory"):
        read_inventory(NEUTRAL)


# -- the command


def test_what_is_asked_is_looked_at(parts: PartsList) -> None:
    plan = plan_wiring("biring(2,8)", room(2, 4, 2))
    with pytest.raises(ParameterError, match="'many' is not a share of spares such as 3%"):
        bill_wiring(plan, parts, spares="many")
    with pytest.raises(ParameterError, match="from 0% to 100%"):
        bill_wiring(plan, parts, spares="120%")
    with pytest.raises(ParameterError, match="there is no circuit switch 'x9'; did you mean"):
        bill_wiring(plan, parts, tables={"x9": "t.csv"})
    with pytest.raises(ParameterError, match="name at least one way"):
        bill_wiring(plan, parts, ways=[])
    nowhere = replace(plan.inventory, racks={})
    with pytest.raises(InfeasibleError, match="racks r0 and w0 need a site in common and places"):
        bill_wiring(replace(plan, inventory=nowhere), parts)
    some = bill_wiring(plan, parts, spares="10%")
    assert all(line.spares == -(-line.count // 10) for line in some.lines)
    assert some.total == sum(line.price * (line.count + line.spares) for line in some.lines)


def test_cabling_that_exists_is_not_bought(parts: PartsList) -> None:
    plan = plan_wiring("biring(2,8)", room(2, 4, 2))
    there = replace(plan, inventory=replace(plan.inventory, cabling=plan.fixed))
    bought = bill_wiring(there, parts)
    assert (bought.lines, bought.ways, bought.cabled) == ((), (), True)
    assert "the fixed cabling exists" in str(bought)


def test_legs_that_no_breakout_has_are_refused(parts: PartsList) -> None:
    """The room of 1024 hosts: four legs end in four racks 7.2 m apart, which no usual breakout reaches."""
    inventory = read_inventory(find_shipped_folder("configs") / "inventory_room1024.yaml")
    plan = plan_wiring("torus(32,32)", inventory)
    usual = PartsList(tuple(part for part in parts.parts if part.sort != "breakout" or max(part.legs) <= 3))
    with pytest.raises(
        InfeasibleError, match=r"a1-01 eth0: .* end up to 7\.2 m apart, 10\.8 m away with slack; no MPO-12"
    ):
        bill_wiring(plan, usual, ways=["breakouts"])


@pytest.mark.thorough
def test_a_room_of_1024_hosts_is_bought(parts: PartsList) -> None:
    plan = plan_wiring("torus(32,32)", read_inventory(find_shipped_folder("configs") / "inventory_room1024.yaml"))
    bought = bill_wiring(plan, parts)
    assert [one.way for one in bought.ways if one.price is not None] == list(WAYS)
    assert bought.proven
    audit(plan, bought, parts)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = copy_examples(["inventory_testbed.yaml", "parts_neutral.yaml"], tmp_path)
    plan, runs = tmp_path / "plan.json", tmp_path / "runs.csv"
    assert run(["wire", "plan", "circulant(12,2,3)", "--inventory", str(paths[0]), "-o", str(plan)]) == 0
    capsys.readouterr()
    asked = ["wire", "bill", str(plan), "--parts", str(paths[1]), "--spares", "5%", "--runs", str(runs)]
    assert run(asked) == 0
    said = capsys.readouterr().out
    assert "fixed cables by trunks alone: " in said
    assert max(map(len, said.splitlines())) <= 80
    assert len(runs.read_text().splitlines()) == 1 + len(load_wiring(plan).fixed)
    assert run([*asked[:5], "--runs", str(plan)]) == 2
    assert "is read for this; name another file" in capsys.readouterr().err


def test_a_patch_goes_by_a_panel_and_fixed_cables_to_where_hosts_plug_in(parts: PartsList, tmp_path: Path) -> None:
    [path] = copy_examples(["inventory_pods.yaml"], tmp_path)
    plan = plan_wiring("circulant(32,3,4,5)", read_inventory(path))
    bought = bill_wiring(plan, parts)
    patched = sum(connect.a.panel != "ocs" for connect in plan.connects)
    assert {(line.part, line.count) for line in bought.lines} == {("MPO-16 breakout", 32), ("duplex cord", patched)}
    assert all(isinstance(one, Fixed) for one in plan.fixed)
    audit(plan, bought, parts)


# -- trays


def with_trays(inventory: Inventory, width: Fraction, *, fill: Fraction = Fraction(2, 5)) -> Inventory:
    """Trays along the hosts, along the switches, and one across, through which all cables go."""
    racks = [f"r{number}" for number in range(8) if f"r{number}" in inventory.racks["s"]]
    across = [f"w{number}" for number in range(8) if f"w{number}" in inventory.racks["s"]]
    size = (width, Fraction(1, 10), fill)
    trays = [Tray("s", a, b, Fraction(1), *size) for a, b in pairwise(racks)]
    trays += [Tray("s", a, b, Fraction(2), *size) for a, b in pairwise(across)]
    return replace(inventory, trays=(*trays, Tray("s", "r0", "w0", Fraction(3), *size)))


def test_cables_run_in_trays(parts: PartsList, tmp_path: Path) -> None:
    inventory = with_trays(room(3, 5, 4), Fraction(1, 2))
    assert distance(inventory, "h2-0", "x3") == 2 + 3 + 6
    assert distance(inventory, "h2-0", "h2-4") == 4 * Fraction(4445, 100000)
    graph = nx.Graph()
    for tray in inventory.trays:
        graph.add_edge(tray.a, tray.b, weight=tray.length)
    for a, b in combinations(graph, 2):
        way = tray_way(inventory, "s", a, b)
        assert way is not None
        assert way[0] == nx.dijkstra_path_length(graph, a, b) == sum(inventory.trays[one].length for one in way[1])
    plan = plan_wiring("circulant(15,1,2)", replace(inventory, parts=str(NEUTRAL)))
    save_wiring(plan, tmp_path / "plan.json")
    assert load_wiring(tmp_path / "plan.json") == plan
    (tmp_path / "room.yaml").write_text(format_inventory(plan.inventory))
    assert read_inventory(tmp_path / "room.yaml").trays == inventory.trays
    assert read_inventory(tmp_path / "room.yaml").parts == str(NEUTRAL)
    bought = bill_wiring(plan)  # the list that the inventory names
    assert bought.ok
    # Everything goes through the tray across: the area of all cables that leave a rack, counted from the units.
    [across] = [use for use in bought.trays if use.tray == "r0 - w0"]
    known = {part.name: part for part in parts.parts}
    leaving = {
        row["name"]: known[row["part"]].diameter or Fraction(0)
        for row in csv.DictReader(io.StringIO(bought.runs_text()))
        if row["from_rack"][0] != row["to_rack"][0]
    }
    assert across.cables == len(leaving)
    area = float(sum(d * d for d in leaving.values())) * pi / 4
    assert area <= float(across.filled) * 0.05 <= area * (1 + 1e-6)


def test_what_does_not_fit_is_laid_another_way(parts: PartsList) -> None:
    """A tray that is too small for the cheapest; all choices of two racks are gone through for the least that fits."""
    pytest.importorskip("ortools")
    plan = plan_wiring("circulant(24,1,2)", room(2, 12, 4))
    thick = PartsList(
        tuple(replace(part, diameter=Fraction(9, 1000)) if part.sort == "breakout" else part for part in parts.parts)
    )
    wide = bill_wiring(replace(plan, inventory=with_trays(plan.inventory, Fraction(1))), thick)
    assert {one.sort for one in wide.lines} == {"breakout"}
    need = {way: alone_fill(plan, thick, way) for way in ("breakouts", "trunks")}
    assert need["trunks"] < need["breakouts"]
    width = (need["breakouts"] + need["trunks"]) / 2
    tight = bill_wiring(replace(plan, inventory=with_trays(plan.inventory, width)), thick)
    assert tight.ok
    assert tight.proven
    assert wide.fixed_price < tight.fixed_price
    prices = {one.way: one.price for one in tight.ways}
    assert tight.fixed_price <= min(price for way, price in prices.items() if way != "breakouts" and price is not None)
    full = bill_wiring(replace(plan, inventory=with_trays(plan.inventory, Fraction(1, 1000))), thick)
    assert not full.ok
    assert not full.proven
    assert "too full: tray r0 - w0: " in str(full)


def alone_fill(plan: WiringPlan, parts: PartsList, way: Way) -> Fraction:
    """How wide the tray across has to be for one way."""
    found = bill_wiring(replace(plan, inventory=with_trays(plan.inventory, Fraction(1))), parts, ways=[way])
    return max(use.filled / use.fill for use in found.trays)


def test_wrong_trays(tmp_path: Path) -> None:
    text = format_inventory(with_trays(room(2, 1, 2), Fraction(1, 2)))
    for old, new, words in (
        ("length: 1m", "fill: 0.4, length: 1m", "trays.fill: '0.4' is not a share such as 40%"),
        ("to: r1", "to: r0", "both ends are at 'r0'"),
        ("width: 0.5m", "width: 0m", "lengths are above zero"),
        ("length: 1m", "lenght: 1m", "did you mean 'length'?"),
    ):
        with pytest.raises(FileFormatError) as caught:
            read_inventory(_file(tmp_path, text.replace(old, new, 1), "room.yaml"))
        assert words in str(caught.value)
        assert "line " in str(caught.value)


# -- lists of 0.27


def test_lists_of_earlier_versions_are_read_and_name_what_they_ignore(parts: PartsList, tmp_path: Path) -> None:
    more = NEUTRAL.read_text().replace("diameter: 2mm", "diameter: 2mm, fit: 10") + (
        "shuffles:\n  - {part: shuffle 4x4, connector: MPO-12, inputs: 4, outputs: 4, price: 240, lead: 6w}\n"
        "optics:\n  - {part: optic, connector: MPO-12, speed: 100Gbps, price: 95, lead: 2w, budget: 1.9dB}\n"
    )
    cord = "cords:\n  - {part: array, ends: MPO-12, lengths: [1m], price: 22, lead: 5d, polarity: A}\n"
    old = read_parts(_file(tmp_path, more.replace("cords:\n", cord), "old.yaml"))
    assert old.parts == parts.parts
    assert not parts.notes
    [note] = old.notes
    assert note == "ignored in old.yaml, as retired after 0.27: shuffles, optics, fit, cords with MPO ends"
    plan = plan_wiring("biring(2,8)", room(2, 4, 2))
    assert note in " ".join(str(bill_wiring(plan, old)).split())
    assert bill_wiring(plan, old).lines == bill_wiring(plan, parts).lines


def reused(needed: list[Fraction], there: list[Fraction], price: dict[Fraction, Fraction]) -> Fraction:
    """What cords that are there save at most, by a matching of largest weight."""
    graph = nx.Graph()
    for number, metres in enumerate(needed):
        for other, length in enumerate(there):
            if length >= metres:
                graph.add_edge(("n", number), ("t", other), weight=int(100 * price[metres]))
    pairs = nx.max_weight_matching(graph)
    return sum((Fraction(graph.edges[pair]["weight"], 100) for pair in pairs), Fraction(0))


@pytest.mark.parametrize(("old", "new"), [(8, 12), (12, 16), (16, 12)])
def test_an_addition_is_what_the_cables_that_are_there_do_not_do(parts: PartsList, old: int, new: int) -> None:
    """Breakouts counted by hosts that come, cords by a matching of those that are pulled with those that are made."""
    site = room(4, 4, 4)
    boards = tuple(replace(panel, kind="patch panel", circuit_db=None, field="all") for panel in site.panels)
    site = replace(site, panels=boards)
    before, after = (plan_wiring(f"circulant({count},1,3)", site, mode="duplex") for count in (old, new))
    whole = bill_wiring(after, parts, ways=["breakouts"])
    added = bill_wiring(after, parts, ways=["breakouts"], since=before)
    count = {sort: sum(line.count for line in added.lines if line.sort == sort) for sort in ("breakout", "cord")}
    places = {frozenset(fibres(one)) for one in before.connects} & {frozenset(fibres(one)) for one in after.connects}
    shop = Shop(site, parts)

    def metres(one: CrossConnect) -> Fraction:
        return shop.metres(site.place(one.a.panel), site.place(one.b.panel))

    made, pulled = ([metres(c) for c in one.connects if frozenset(fibres(c)) not in places] for one in (after, before))
    cords: dict[Fraction, Piece | None] = {}
    for plan in (before, after):
        for one in plan.connects:
            ends = (site.place(end.panel) for end in (one.a, one.b))
            cords[metres(one)] = shop.cord("LC duplex", *ends, crosses=True)
    price = {size: piece.price for size, piece in cords.items() if piece is not None}
    lengths = [piece.length for size in pulled if (piece := cords[size]) is not None and piece.length is not None]
    wanted = sum((price[size] for size in made), Fraction(0)) - reused(made, lengths, price)
    assert sum((line.total for line in added.lines if line.sort == "cord"), Fraction(0)) == wanted
    assert added.total <= whole.total
    racks = {run.host: run.racks for run in runs_of(before.net)}
    assert count["breakout"] == sum(run.racks != racks.get(run.host) for run in runs_of(after.net))
    assert "in addition to a plan" in str(added)
    assert not bill_wiring(after, parts, ways=["breakouts"], since=after).lines
