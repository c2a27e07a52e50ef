"""Changes between random pairs of topologies over k circuit switches, pods and trunks: refusals, moves, gaps.

Run it with ``python benchmarks/wire_changes.py [small | large] [PAIRS] [FILE]``. ``small``: up to 8 hosts, and the
moves are held against all orders of the hosts and all switches of the links, gone through by code of its own;
``large``: 16 to 1024 hosts on 4, 8 or 16 switches, or two pods with panels and a switch behind trunks. Both ends of a
pair have a plan over the same cabling. A pair is drawn by its number alone. Pairs that the file has are not done again:
a run can be ended and goes on later. What is summed up is all that the file has; a gap is ``1 - bound / moves``.
"""

from __future__ import annotations

import itertools
import json
import math
import random
import re
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from topodesign import Topology, change_wiring, plan_wiring
from topodesign.base.errors import InfeasibleError
from topodesign.wiring.inventory.devices import Fixed, Host, Panel, PanelPort, Port, Trunk
from topodesign.wiring.inventory.inventory import Inventory
from topodesign.wiring.plan.plan import WiringPlan

_BRANCHES = 3_000_000  # of the search through all switches of a pair
_RATE = 100 * 10**9


def circulant(rng: random.Random, nodes: int, degree: int) -> Topology:
    """Return a random circulant both of whose ways are links, its nodes in a random order."""
    steps = rng.sample(range(1, (nodes + 1) // 2), degree // 2)
    order = rng.sample(range(nodes), nodes)
    links = [(order[u], order[(u + way * step) % nodes]) for u in range(nodes) for step in steps for way in (1, -1)]
    return Topology.from_links(nodes, links)


def digraph(rng: random.Random, nodes: int, degree: int) -> Topology:
    """Return a union of random permutations without self-loops."""
    links: list[tuple[int, int]] = []
    while len(links) < nodes * degree:
        image = rng.sample(range(nodes), nodes)
        links += enumerate(image) if all(u != v for u, v in enumerate(image)) else []
    return Topology.from_links(nodes, links)


def room(nodes: int, switches: int, each: int, mode: str, *, pods: bool) -> Inventory:
    """Return hosts with lanes at each of k switches; with ``pods``, at a panel of their pod and behind trunks."""
    ports = tuple(Port(f"p{n}", "LC", _RATE) for n in range(switches * each))  # type: ignore[arg-type]
    hosts = [Host(f"h{n}", "", "r", n + 1, ports, f"pod{n % 2}" if pods else "") for n in range(nodes)]
    labels = tuple(PanelPort(str(n), mode) for n in range(nodes * each))  # type: ignore[arg-type]
    if not pods:
        panels = [Panel(f"s{k}", "", "s", k + 1, "ocs", labels, f"s{k}") for k in range(switches)]
        return Inventory(tuple(hosts), tuple(panels))
    half = switches // 2 * each
    own = tuple(PanelPort(str(n), mode) for n in range(nodes * half))  # type: ignore[arg-type]
    panels = [Panel(f"in{p}", "", "s", p + 1, "patch panel", own, f"in{p}", (f"pod{p}",)) for p in (0, 1)]
    panels += [Panel(f"x{p}", "", "s", p + 3, "patch panel", own, f"x{p}", (f"pod{p}",)) for p in (0, 1)]
    count = nodes // 2 * half
    core = tuple(PanelPort(str(n), mode) for n in range(2 * count))  # type: ignore[arg-type]
    panels.append(Panel("core", "", "s", 5, "ocs", core, "core"))
    trunks = tuple(Trunk("core", str(p * count + n), f"x{p}", str(n)) for p in (0, 1) for n in range(count))
    taken = Counter[str]()
    fixed = []
    for number, host in enumerate(hosts):
        pod = number % 2
        for place, port in enumerate(ports):
            panel = f"in{pod}" if place < half else "core"
            first = pod * count if panel == "core" else 0
            fixed.append(Fixed(host.name, port.name, 1, panel, str(first + taken[panel + str(pod)])))
            taken[panel + str(pod)] += 1
    return Inventory(tuple(hosts), tuple(panels), tuple(fixed), trunks=trunks)


def most_kept(plan: WiringPlan, wanted: Topology) -> int | None:
    """Return how many patches can stay with any hosts and switches, all gone through; None if that takes too long."""
    names = sorted({one.host for one in plan.fixed})
    number = {name: place for place, name in enumerate(names)}
    field = {panel.name: panel.field for panel in plan.inventory.panels}
    fields = sorted(set(field.values()))
    duplex = plan.mode == "duplex"
    lanes = Counter((number[one.host], fields.index(field[one.panel])) for one in plan.fixed)
    have = Counter[tuple[int, int, int]]()
    for one in plan.connects:
        a, b = number[one.a.host], number[one.b.host]
        have[
            (min(a, b), max(a, b), fields.index(field[one.a.panel]))
            if duplex
            else (a, b, fields.index(field[one.a.panel]))
        ] += 1
    links = [(u, v) for u, v, count in wanted.links() if u != v and (not duplex or u < v) for _ in range(count)]
    best, branches = -1, 0
    seen = set()
    for order in itertools.permutations(range(len(names)), wanted.nodes):
        placed = [(order[u], order[v]) for u, v in links]
        placed = sorted((min(pair), max(pair)) for pair in placed) if duplex else sorted(placed)
        if tuple(placed) in seen:
            continue
        seen.add(tuple(placed))
        room_out, room_in = Counter(lanes), Counter(lanes)
        left = Counter(have)
        there = Counter[tuple[int, int]]()
        for (a, b, _), count in have.items():
            there[a, b] += count
        could = [0] * (len(placed) + 1)
        need = Counter[tuple[int, int]]()
        for place in range(len(placed) - 1, -1, -1):
            need[placed[place]] += 1
            could[place] = could[place + 1] + (need[placed[place]] <= there[placed[place]])

        def go(place: int, kept: int) -> None:
            nonlocal best, branches
            branches += 1
            if kept + could[place] <= best or branches > _BRANCHES:  # noqa: B023
                return
            if place == len(placed):  # noqa: B023
                best = kept
                return
            a, b = placed[place]  # noqa: B023
            into = room_out if duplex else room_in  # noqa: B023
            for f in sorted(range(len(fields)), key=lambda f: -left[a, b, f]):  # noqa: B023
                if room_out[a, f] and into[b, f]:  # noqa: B023
                    stays = left[a, b, f] > 0  # noqa: B023
                    room_out[a, f] -= 1  # noqa: B023
                    into[b, f] -= 1
                    left[a, b, f] -= 1  # noqa: B023
                    go(place + 1, kept + stays)
                    room_out[a, f] += 1  # noqa: B023
                    into[b, f] += 1
                    left[a, b, f] += 1  # noqa: B023

        go(0, 0)
        if branches > _BRANCHES:
            return None
    return best


def pair(rng: random.Random, *, small: bool) -> tuple[str, WiringPlan, WiringPlan]:
    """Return a room in words, and two plans in it."""
    while True:
        k = rng.choice((2, 3, 4) if small else (4, 8, 16))
        pods = rng.random() < 0.25 and k % 2 == 0
        mode = rng.choice(("simplex", "duplex"))
        most = (
            rng.choice((6, 6, 6, 8))
            if small
            else (64 if k == 16 else 128 if pods else rng.choice((32, 64, 128, 256, 512, 1024)))
        )
        nodes = rng.randrange(4 if small else 16, most + 1, 2)
        each = 2 if mode == "duplex" and not small and k == 4 else 1
        degree = k * each - (k * each % 2 if mode == "duplex" else 0)
        if mode == "duplex" and degree // 2 >= (nodes + 1) // 2:
            continue
        make = circulant if mode == "duplex" else digraph
        inventory = room(nodes, k, each, mode, pods=pods)
        try:
            seed = rng.randrange(2**20)
            first = plan_wiring(make(rng, nodes, degree), inventory, mode=mode, seed=seed, time_limit=5)  # type: ignore[arg-type]
            inventory = replace(inventory, cabling=first.fixed)
            plans = [
                plan_wiring(make(rng, nodes, degree), inventory, mode=mode, seed=seed, time_limit=5)  # type: ignore[arg-type]
                for _ in range(2)
            ]
        except InfeasibleError:
            continue
        return f"{nodes} hosts, k={k}{' pods, trunks' if pods else ''}, {mode}", plans[0], plans[1]


def measured(number: int, *, small: bool) -> dict[str, Any]:
    """Return what came of a pair."""
    words, before, target = pair(random.Random(number), small=small)  # noqa: S311  no secret
    start = time.process_time()
    row: dict[str, Any] = {"pair": number, "room": words}
    try:
        free = change_wiring(before, target, downtime=True, throughput=False)
        kept = change_wiring(before, target, downtime=True, throughput=False, keep_hosts=True)
    except InfeasibleError as error:
        return row | {"refused": str(error)}
    row |= {"moves": free.moves, "bound": free.change.at_least, "bound_so": free.change.least_so}
    row |= {"kept": kept.moves, "kept_bound": kept.change.at_least, "cpu_s": round(time.process_time() - start, 1)}
    if small:
        most = most_kept(before, target.topology)
        row["least"] = None if most is None else max(len(before.connects), len(target.connects)) - most
    return row


def likely(nodes: int, degree: int) -> int:
    """Return how many links two random digraphs have in common at most, as far as the mean tells: no proof for a pair.

    The mean number of orders that keep m links is below one from there on, were links to fall anywhere independently:
    N! times binomial(N k, m) (k / (N - 1))^m (the first moment method).
    """
    links, kept, orders = nodes * degree, 0, math.lgamma(nodes + 1)
    while kept < links:
        sets = math.lgamma(links + 1) - math.lgamma(kept + 1) - math.lgamma(links - kept + 1)
        if kept > degree**2 and orders + sets + kept * math.log(degree / (nodes - 1)) < 0:
            break
        kept += 1
    return kept


def summary(rows: list[dict[str, Any]]) -> str:
    """Return what came of all pairs."""
    done = [row for row in rows if "moves" in row]
    lines = [f"{len(rows)} pairs: {len(rows) - len(done)} refused"]
    lines.append(f"more moves than with hosts kept: {sum(row['moves'] > row['kept'] for row in done)}")
    for words, bound, moves in (
        ("any hosts", "bound", "moves"),
        ("with these hosts as nodes", "bound_so", "moves"),
        ("hosts kept", "kept_bound", "kept"),
    ):
        gaps = [1 - row[bound] / row[moves] if row[moves] else 0.0 for row in done] or [0.0]
        lines.append(f"gap to the bound, {words}: mean {sum(gaps) / len(gaps):.1%}, worst {max(gaps):.1%}")
    gaps = []
    for row in done:
        nodes, degree = (int(one) for one in re.findall(r"[0-9]+", row["room"])[:2])
        if "simplex" in row["room"] and row["moves"]:
            gaps.append(1 - (nodes * degree - likely(nodes, degree)) / row["moves"])
    if gaps and "least" not in done[0]:
        lines.append(
            f"random digraphs, to what is likely needed: mean {sum(gaps) / len(gaps):.1%}, worst {max(gaps):.1%}"
        )
    least = [row for row in done if row.get("least") is not None]
    if least:
        equal = sum(row["least"] == row["moves"] for row in least)
        lines.append(f"equal to brute force: {equal} of {len(least)}, {len(done) - len(least)} undecided by it")
    return "\n".join(lines)


def main() -> None:
    """Run it."""
    small = "small" in sys.argv
    pairs = next((int(one) for one in sys.argv[1:] if one.isdecimal()), 100 if small else 200)
    file = next((Path(one) for one in sys.argv[1:] if "." in one), None)
    text = file.read_text() if file is not None and file.exists() else ""
    rows = [json.loads(line) for line in text.splitlines()]
    for number in sorted(set(range(pairs)) - {row["pair"] for row in rows}):
        rows.append(measured(number, small=small))
        line = json.dumps(rows[-1])
        print(line, flush=True)
        if file is not None:
            with file.open("a") as opened:
                opened.write(line + "\n")
    print(summary(rows))


if __name__ == "__main__":
    main()
