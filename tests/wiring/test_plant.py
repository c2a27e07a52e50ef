"""What a plant can carry: equal to going through all lanes by hand, whatever the plant; and with circuits that hold."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from topodesign import all_to_all, as_topology, build, copy_examples, load_wiring, plain_inventory
from topodesign.base.cost import Cost
from topodesign.base.errors import DisconnectedError, FileFormatError, InfeasibleError, ParameterError
from topodesign.pricing.evaluation import price_both, price_both_deferred
from topodesign.schedulers.price import price_plans
from topodesign.topology.topology import Topology
from topodesign.wiring.inventory.devices import MODES, Fixed, Host, Mode, Panel, PanelPort, Port
from topodesign.wiring.inventory.inventory import Inventory
from topodesign.wiring.plan import decompose
from topodesign.wiring.plan.proof import check_plan
from topodesign.wiring.plant import exhaustive_kernels
from topodesign.wiring.plant.answer import Carried
from topodesign.wiring.plant.carry import carry
from topodesign.wiring.plant.made import find_frontier, search_structured
from topodesign.wiring.plant.plant import explain_no_plan, plan_made, plant_of

SPEED = Fraction(25 * 10**9)
MAX_WAYS = 6_000  # ways to join lanes that the oracle goes through
INVOLUTIONS = [1, 1]
for _ in range(30):
    INVOLUTIONS.append(INVOLUTIONS[-1] + (len(INVOLUTIONS) - 1) * INVOLUTIONS[-2])


def room(lanes: list[list[int]], mode: Mode) -> Inventory:
    """Hosts with so many lanes at each panel, all cabled."""
    fields = len(lanes[0])
    hosts, cabling = [], []
    label = [0] * fields
    for number, row in enumerate(lanes):
        ports = tuple(Port(f"p{port}", "LC", SPEED) for port in range(sum(row)))
        hosts.append(Host(f"h{number}", "", "r", number, ports))
        names = iter(ports)
        for field, count in enumerate(row):
            for _ in range(count):
                label[field] += 1
                cabling.append(Fixed(f"h{number}", next(names).name, 1, f"S{field}", str(label[field])))
    ports_of = [tuple(PanelPort(str(port + 1), mode) for port in range(max(count, 1))) for count in label]
    panels = tuple(Panel(f"S{field}", "", "r", 0, "ocs", ports_of[field], f"S{field}") for field in range(fields))
    return Inventory(tuple(hosts), panels, tuple(cabling))


def ways(counts: list[int], mode: Mode) -> int:
    return math.prod(math.factorial(count) if mode == "simplex" else INVOLUTIONS[count] for count in counts)


def random_room(seed: int) -> tuple[list[list[int]], Mode]:
    """Lanes of a plant of 3 to 10 hosts and 1 to 5 panels, each near some hosts, that the oracle can go through."""
    rng = random.Random(seed)  # noqa: S311  no secret
    nodes = 3 + seed % 8
    mode: Mode = rng.choice(MODES)
    for attempt in itertools.count(1):
        nodes -= attempt % 300 == 0  # simplex plants of many hosts have too many ways
        fields = rng.randint(1, 5)
        lanes = [[0] * fields for _ in range(nodes)]
        for field in range(fields):
            for host in rng.sample(range(nodes), rng.randint(2, nodes if mode == "duplex" else min(nodes, 6))):
                lanes[host][field] = rng.choice([1] * 7 + [2])
        counts = [sum(row[field] for row in lanes) for field in range(fields)]
        joined = {0}
        for _ in range(nodes):
            near = [row for host, row in enumerate(lanes) if host in joined]
            joined |= {v for v, row in enumerate(lanes) for other in near if np.dot(row, other)}
        enough = sum(counts) // 2 >= nodes - 1 if mode == "duplex" else min(map(sum, lanes)) > 0
        if len(joined) == nodes and enough and 10 < ways(counts, mode) <= MAX_WAYS:
            return lanes, mode
    raise AssertionError


def joinings(slots: list[int], mode: Mode) -> Iterator[list[tuple[int, int]]]:
    """All ways to join lanes, given by their hosts: each sends to one, or is paired with one or none."""
    if mode == "simplex":
        for order in itertools.permutations(slots):
            yield list(zip(slots, order, strict=True))
    elif not slots:
        yield []
    else:
        first, *rest = slots
        for other in joinings(rest, mode):
            yield [(first, first), *other]
        for place, mate in enumerate(rest):
            for other in joinings(rest[:place] + rest[place + 1 :], mode):
                yield [(first, mate), (mate, first), *other]


def frontier_by_hand(lanes: list[list[int]], mode: Mode) -> list[Cost]:
    """The frontier of all topologies, one way of joining lanes after the other."""
    nodes, degree = len(lanes), max(map(sum, lanes))
    fields = [[host for host, row in enumerate(lanes) for _ in range(row[field])] for field in range(len(lanes[0]))]
    met = set()
    for chosen in itertools.product(*(list(joinings(slots, mode)) for slots in fields)):
        table = np.zeros((nodes, nodes), dtype=np.int64)
        for u, v in itertools.chain(*chosen):
            table[u, v] += u != v
        met.add(table.tobytes())
    best: dict[int, Fraction] = {}
    for text in met:
        table = np.frombuffer(text, dtype=np.int64).reshape(nodes, nodes).copy()
        np.fill_diagonal(table, degree - np.maximum(table.sum(axis=0), table.sum(axis=1)))
        src, dst = np.nonzero(table)
        try:
            mean = Cost.average_with(*price_both(Topology.from_arrays(nodes, src, dst, table[src, dst])))
        except DisconnectedError:
            continue
        best[mean.steps] = min(mean.bandwidth, best.get(mean.steps, mean.bandwidth))
    front: list[Cost] = []
    for steps, factor in sorted(best.items()):
        if not front or factor < front[-1].bandwidth:
            front.append(Cost(steps, factor))
    return front


def check(found: Carried) -> None:
    """Every plan makes its topology on the inventory, and costs are those of the best plans known of its links."""
    for one in found.entries:
        assert one.plan is not None
        check_plan(one.plan)
        assert one.plan.topology == one.entry.topology
        prices = price_plans(one.entry.topology, all_sources=True)
        assert (one.entry.cost, one.entry.allgather) in [pair for _, pair in prices.ways]
    assert all(one.not_carried_because for one in found.refused)


SEEDS = [*range(8), *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(8, 100))]


@pytest.mark.dear("2", "4", "5", "6", "7")
@pytest.mark.parametrize("seed", SEEDS)
def test_equals_exhaustive_search(seed: int) -> None:
    lanes, mode = random_room(seed)
    wanted = frontier_by_hand(lanes, mode)
    inventory = room(lanes, mode)
    if wanted:
        found = carry(inventory, bidirectional=mode == "duplex")
        check(found)
        means = sorted((one.entry.mean for one in found.entries), key=lambda cost: cost.steps)
        assert all(any(mean.dominates(cost) for mean in means) for cost in wanted)
        assert {one.entry.mean for one in found.entries if not one.entry.deferred} <= set(wanted)
        assert found.exhaustive or found.claims[0].proven or found.best.entry.deferred
    else:
        with pytest.raises(InfeasibleError):
            carry(inventory, bidirectional=mode == "duplex", search=0)


@pytest.mark.parametrize("mode", MODES)
def test_lifts_keep_to_the_plant(mode: Mode) -> None:
    lanes = [[1, 1, 0, 1] if number < 8 else [1, 0, 1, 1] for number in range(16)]
    plant = plant_of(room(lanes, mode), None, None, mode)
    found = search_structured(plant, 0.2)
    assert found
    for cost, made in found:
        plan = plan_made(plant, made)
        check_plan(plan)
        assert cost == Cost.average_with(*price_both(made.topology, all_sources=True))
        assert made.topology.spec is not None
        assert build(made.topology.spec) == made.topology
        if made.topology.symmetry is not None:
            made.topology.symmetry.check(made.topology)


def test_kernels_price_as_python_does() -> None:
    plant = plant_of(room([[2, 1]] * 4, "simplex"), None, None, "simplex")
    made = find_frontier(plant)
    assert made is not None
    least = np.full(exhaustive_kernels.MAX_STEPS + 2, 2**62, dtype=np.int64)
    chosen = np.full(len(least), -1, dtype=np.int64)
    for one in made:
        cost = Cost.average_with(*price_both(one.topology))
        table = np.zeros((1, 4, 4), dtype=np.int64)
        for u, v, count in one.topology.links():
            table[0, u, v] = count * (u != v)
        exhaustive_kernels.cheapest.plain(np.zeros((4, 4), dtype=np.int64), table, False, least, chosen)
        assert chosen[cost.steps] == 0
        assert Fraction(3 * int(least[cost.steps]), 4 * 2 * exhaustive_kernels.PART) == cost.bandwidth
        chosen[:], least[:] = -1, 2**62


def test_what_does_not_fit_says_why() -> None:
    two = plant_of(room([[1, 1]] * 6, "duplex"), None, None, "duplex")
    assert "odd cycle" in str(explain_no_plan(TRIANGLES, two, nothing))
    assert "degree" in str(explain_no_plan(build("complete(6)"), two, nothing))
    odd = plant_of(room([[1, 1]] * 5, "duplex"), None, None, "duplex")
    assert "join 4 pairs" in str(explain_no_plan(build("biring(2,5)"), odd, nothing))
    pods = plant_of(
        room([[4, 0, 0]] * 6 + [[3, 0, 1]] * 2 + [[0, 3, 1]] * 2 + [[0, 4, 0]] * 6, "duplex"), None, None, "duplex"
    )
    four = build("circulant(16,1,6)")
    factor = all_to_all(four).upper
    assert "pods" in str(explain_no_plan(four, pods, lambda: factor))
    assert explain_no_plan(build("biring(2,6)"), two, nothing) is None


def nothing() -> None:
    return None


PAIRS = [(u, v) for u in range(6) for v in range(6) if u != v and u // 3 == v // 3]
TRIANGLES = Topology.from_links(6, PAIRS)


@pytest.mark.dear
def test_petersen_has_no_three_matchings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decompose, "_MAX_TRIES", 1000)  # of what there is none of
    petersen = build("kneser(5,2)")
    found = carry(room([[1, 1, 1]] * 10, "duplex"), bidirectional=True, search=0.2, candidates=[petersen])
    check(found)
    assert any("impossible" in str(one.not_carried_because) for one in found.refused)
    assert found.best.entry.mean.steps == 3  # the Petersen graph alone has two with so few ports
    assert not found.exhaustive


@pytest.mark.dear
def test_uncabled_pods_and_ranking(tmp_path: Path) -> None:
    [path] = copy_examples(["inventory_pods.yaml"], tmp_path)
    found = carry(path, degree=4, bidirectional=True, collective="all-to-all", sizes=["1MiB", "1GiB"])
    check(found)
    assert found.best.entry.all_to_all is not None
    assert found.best.entry.all_to_all.upper <= Fraction(5, 2)
    assert len(found.best.entry.times) == 2
    assert found.record()["topologies"][0]["carried"] is True


def test_deferred_schedules_of_known_topologies_are_priced() -> None:
    found = carry(plain_inventory(13, 2, panels=2, kind="ocs"), search=0)
    deferred = [one for one in found.entries if one.entry.deferred]
    assert deferred
    for one in deferred:
        made, spff = (
            there.average_with(back)
            for there, back in (price_both_deferred(one.entry.topology), price_both(one.entry.topology))
        )
        assert made.steps <= one.entry.mean.steps
        assert made.bandwidth <= one.entry.mean.bandwidth < spff.bandwidth
    assert not (found.exhaustive and found.best.entry.deferred)
    assert "deferred: not by SPFF" in str(found)


def test_plans_are_written(tmp_path: Path) -> None:
    found = carry(plain_inventory(8, 3), search=0).write(tmp_path / "plans")
    for one in found.entries:
        assert one.file is not None
        assert load_wiring(one.file).topology == one.entry.topology
        file = Path(one.file)
        assert (
            as_topology(str(file.with_name(file.name.replace("plan", "links")).with_suffix(".csv")))
            == one.entry.topology
        )
    with pytest.raises(FileFormatError, match="already exists"):
        found.write(tmp_path / "plans")


def test_questions_that_make_no_sense() -> None:
    with pytest.raises(InfeasibleError, match="do not fit"):
        carry(plain_inventory(4, 2), 5)
    with pytest.raises(InfeasibleError, match="no host has 3 lanes"):
        carry(plain_inventory(4, 2), None, 3)
    with pytest.raises(ParameterError, match="has no partner"):
        carry(plain_inventory(4, 2), 1)
