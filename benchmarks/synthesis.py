"""Measure synthesis on time-expanded networks: how fast it is, and how good beside bounds, rings and direct messages.

Run it with ``python benchmarks/synthesis.py [PART]...``, the parts being those of ``PARTS`` below; by default all but
``large``, which synthesizes an allgather among 4096 nodes. Seconds are of CPU, the compiled loops being warm.
Networks are those of the TACOS paper; its figures, where they can be reproduced, are printed beside ours.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from math import log

import numpy as np

from topodesign.base import compiled
from topodesign.base.errors import TopodesignError
from topodesign.collectives import as_collective
from topodesign.fabrics.presets import build_fabric
from topodesign.plans.link_times import LinkTimes
from topodesign.plans.plan import Plan
from topodesign.plans.time.simulate import simulate
from topodesign.plans.verify.plans import verify
from topodesign.schedulers.scheduling import schedule
from topodesign.schedulers.time_expanded.greedy import copy_chunks
from topodesign.schedulers.time_expanded.network import Network, chunks_of, network_of
from topodesign.topology.library import build
from topodesign.topology.link_table import LinkTable
from topodesign.topology.topology import Topology

MICRO = Fraction(1, 10**6)
Rates = Mapping[tuple[int, int], int | Fraction]
Table = tuple[Topology, LinkTable]


def mesh(*sides: int, without: tuple[int, ...] = ()) -> Topology:
    """Return a grid that does not wrap round, links both ways."""
    place = np.arange(int(np.prod(sides))).reshape(sides)
    number = {node: at for at, node in enumerate(one for one in range(place.size) if one not in without)}
    links = []
    for axis in range(len(sides)):
        along = np.moveaxis(place, axis, 0)
        for u, v in zip(along[:-1].ravel().tolist(), along[1:].ravel().tolist(), strict=True):
            if u in number and v in number:
                links += [(number[u], number[v], 1), (number[v], number[u], 1)]
    return Topology.from_links(len(number), links)


def unit(topology: Topology) -> Network:
    """Every link takes a chunk in one step."""
    steps = np.ones(len(topology.src), dtype=np.int64)
    return network_of(topology, LinkTimes(Fraction(1), 0 * steps, steps))


def with_rates(nodes: int, rates: Rates) -> Table:
    """Return links with these GB/s, all of one latency."""
    topology = Topology.from_links(nodes, [(u, v, 1) for u, v in sorted(rates)])
    bandwidth = {pair: Fraction(8 * 10**9 * rate) for pair, rate in rates.items()}
    return topology, LinkTable(dict.fromkeys(rates, MICRO / 2), bandwidth)


def dragonfly() -> Table:
    """Four groups of five nodes with 400 GB/s among them, and 200 GB/s between each two groups."""
    rates: dict[tuple[int, int], int | Fraction] = {
        (5 * g + a, 5 * g + b): 400 for g in range(4) for a in range(5) for b in range(5) if a != b
    }
    for g, h in product(range(4), repeat=2):
        if g != h:
            rates[5 * g + (h - g) % 4 - 1, 5 * h + (g - h) % 4 - 1] = 200
    return with_rates(20, rates)


def switch_switch() -> Table:
    """Eight nodes on a switch of 300 GB/s, unwound to all, and four such boxes on switches of 25 GB/s, unwound to 1."""
    rates = {(8 * k + a, 8 * k + b): Fraction(300, 7) for k in range(4) for a in range(8) for b in range(8) if a != b}
    rates |= {(8 * k + a, 8 * ((k + 1) % 4) + a): Fraction(25) for k in range(4) for a in range(8)}
    return with_rates(32, rates)


def ring_fc_switch(boxes: int) -> Table:
    """Boxes of 2x4: two with 200 GB/s times four with 100 GB/s; boxes on switches of 50 GB/s, unwound to 1."""
    rates: dict[tuple[int, int], int | Fraction] = {}
    for k, i, j in product(range(boxes), range(2), range(4)):
        node = 8 * k + 4 * i + j
        rates[node, 8 * k + 4 * (1 - i) + j] = 200
        rates |= {(node, 8 * k + 4 * i + other): 100 for other in range(4) if other != j}
        if boxes > 1:
            rates[node, (node + 8) % (8 * boxes)] = 50
    return with_rates(8 * boxes, rates)


def speed() -> None:
    print(f"{'allgather':16}{'nodes':>6}{'seconds':>9}{'steps':>7}{'bound':>7}   C++, published, on another machine")
    published = {"torus 16x16": "0.52 s, 65", "torus 8x8x8": "3.9 s, 86", "mesh 32x32": "60 s"}
    cases = [
        ("torus 8x8", build("torus(8,8)")),
        ("torus 16x16", build("torus(16,16)")),
        ("torus 32x32", build("torus(32,32)")),
        ("torus 8x8x8", build("torus(8,8,8)")),
        ("mesh 32x32", mesh(32, 32)),
    ]
    taken = {}
    for name, topology in cases:
        seconds, steps = synthesized(topology)
        taken[name] = seconds
        least = -(-(topology.nodes - 1) // int(np.bincount(topology.dst).min()))
        print(f"{name:16}{topology.nodes:6}{seconds:9.3f}{steps:7}{least:7}   {published.get(name, '')}")
    print(f"growth with nodes, 256 to 1024: exponent {log(taken['torus 32x32'] / taken['torus 16x16']) / log(4):.2f}")


def large() -> None:
    seconds, steps = synthesized(build("torus(16,16,16)"))
    print(f"torus 16x16x16, 4096 nodes: {seconds:.1f} s, {steps} steps, bound 683")


def synthesized(topology: Topology) -> tuple[float, int]:
    """Return the seconds of CPU of one allgather, and its steps."""
    network = unit(topology)
    start = time.process_time()
    sends = copy_chunks(network, chunks_of(network, as_collective("allgather"), 1), 0)
    return time.process_time() - start, sends.time


def all_to_all() -> None:
    # Every node sends a chunk to each other over links of one step: the concurrent flow needs (sum of distances) / d.
    for spec, least in (("torus(8,8)", 64), ("hypercube(6)", 32), ("torus(8,8,8)", 512)):
        topology = build(spec)
        options = {"alpha": 0, "bandwidth": 8 * topology.degree, "size": topology.nodes, "tries": 1}
        start = time.process_time()
        plan = schedule(topology, "all-to-all", method="tacos", **options)  # type: ignore[arg-type]
        made = time.process_time() - start
        start = time.process_time()
        right = verify(plan).ok
        checked = time.process_time() - start
        steps = plan.claim["time"]
        print(
            f"all-to-all {spec:14} {made:6.1f} s, {steps} steps, {float(steps / least):.4f} of the concurrent flow's; "
            f"verified in {checked:.1f} s: {right}"
        )


def symmetry() -> None:
    print("one orbit and its copies, beside all chunks: seconds, and steps")
    for spec, collective in product(
        ("torus(16,16)", "torus(8,8,8)", "circulant(512,1,23,-1,-23)", "hypercube(9)"), ("allgather", "all-to-all")
    ):
        texts = []
        for symmetric in (True, False):
            topology = build(spec)
            start = time.process_time()
            plan = schedule(
                topology,
                collective,
                method="tacos",
                symmetric=symmetric,
                alpha=0,
                bandwidth=8 * topology.degree,
                size=topology.nodes,
                tries=1,
            )
            texts.append(f"{time.process_time() - start:.2f} s, {float(plan.claim['time']):g} steps")
        bound = float(Fraction(plan.generator["bound"]))
        print(f"  {collective} {spec}: {texts[0]}; without {texts[1]}; at least {bound:g}", flush=True)


def chunking() -> None:
    print("chunks next to one another as one send, latency 10 us (us): chunks, one by one, merged")
    for spec, collective, size in (
        ("torus(4,4)", "allgather", "1MiB"),
        ("biring(2,16)", "allgather", "16MiB"),
        ("torus(8,8)", "allreduce", "64MiB"),
        ("biring(2,16)", "broadcast", "4MiB"),
    ):
        texts = []
        root = 0 if collective == "broadcast" else None
        for chunks in (4, 16):
            plan = schedule(spec, collective, method="tacos", chunks=chunks, size=size, root=root, tries=2)
            check(plan)
            before = float(Fraction(plan.generator["unmerged"])) * 1e6
            texts.append(f"{chunks}: {before:.0f} -> {float(plan.claim['time']) * 1e6:.0f}")
        best = schedule(spec, collective, method="tacos", chunks="auto", size=size, root=root, tries=2)
        texts.append(f"auto takes {best.generator['chunks']}: {float(best.claim['time']) * 1e6:.0f}")
        print(f"  {collective} {spec} {size}: {'; '.join(texts)}", flush=True)


def tenants() -> None:
    print("several collectives at the same time, over the bound, and in turn")
    mixtures = [
        ("mesh 6x6 (figure 22 b)", mesh(6, 6), ["*=broadcast:2@1MB", "*=reduce:17@1MB", "*=allgather@36MB"]),
        ("torus 8x8", build("torus(8,8)"), ["8x8:0=allgather@8MiB", "8x8:1=all-to-all@8MiB", "*=allreduce@16MiB"]),
    ]
    for name, topology, traffic in mixtures:
        start = time.process_time()
        plan = schedule(topology, traffic=traffic, alpha=0)
        seconds = time.process_time() - start
        check(plan)
        alone = sum(Fraction(one) for one in plan.generator["alone"])
        print(f"  {name}: {over_bound(plan):.3f}; in turn {float(alone / plan.claim['time']):.2f}x; {seconds:.1f} s")


def figures() -> None:
    print("steps of unit links; published in brackets")
    failed = mesh(4, 4, without=(7, 9))
    for name, topology, collective, known in (
        ("scatter on a one-way ring of 4 (figure 5)", build("uniring(1,4)"), "scatter", "3"),
        ("allgather on a 3x3 mesh (figure 20)", mesh(3, 3), "allgather", "4"),
        ("allgather on a 5x5 mesh (figure 19)", mesh(5, 5), "allgather", "12"),
        ("allgather on a 10x10 mesh (figure 6)", mesh(10, 10), "allgather", "50; ring 197, direct 276"),
        ("allreduce on a 4x4 mesh without 7 and 9 (table III)", failed, "allreduce", "optimal"),
        ("broadcast from a corner of a 6x6 mesh (table IV)", mesh(6, 6), "broadcast", "10; direct 39"),
        ("scatter from a corner of a 6x6 mesh (table IV)", mesh(6, 6), "scatter", "18; direct 30"),
        ("gather to a corner of a 6x6 mesh (table IV)", mesh(6, 6), "gather", "18; direct 30"),
    ):
        here = as_collective(collective)
        shards = here.shards(topology.nodes)
        options = {"alpha": 0, "bandwidth": 8 * topology.degree, "size": shards, "root": 0 if here.rooted else None}
        plan = schedule(topology, collective, method="tacos", **options)  # type: ignore[arg-type]
        check(plan)
        bound = plan.generator["bound"]
        print(f"  {name}: {plan.claim['time']}, bound {bound} [{known}]")
    options = {"alpha": 0, "bandwidth": 8 * failed.degree, "size": 14}
    eight = schedule(failed, "allreduce", method="tacos", chunks=8, **options).claim["time"]  # type: ignore[arg-type]
    trees = schedule(failed, "allreduce", method="forest")
    least = 14 * trees.fabric.unit / trees.claim["algorithmic_bandwidth"]
    proof = trees.notes[0].rpartition("; ")[2]
    print(f"  table III in eight chunks a node: {float(eight)}; over trees {least}, {proof}")
    ten = mesh(10, 10)
    for chunks in (1, 8, 64):
        # Chunks of 128 KB, so many at every node; links of 100 GB/s.
        size = Fraction(128000 * chunks * 100)
        beside(f"figure 21, mesh 10x10, {chunks} chunk(s)", (ten, uniform(ten, 100)), size, chunks)
    for side in (8, 10, 12):
        torus = build(f"torus({side},{side})")
        label = f"table II, Ring_Ring {side}x{side}"
        beside(label, (torus, uniform(torus, 100)), Fraction(2**20 * side * side))


def uniform(topology: Topology, rate: int) -> LinkTable:
    pairs = [(u, v) for u, v, _ in topology.links()]
    return LinkTable(dict.fromkeys(pairs, MICRO / 2), dict.fromkeys(pairs, Fraction(8 * 10**9 * rate)))


def systems() -> None:
    print("allreduce, 1 MiB a node, beside the better of rings and direct messages in the order of their steps")
    cases = [
        ("mesh 5x5", (mesh(5, 5), uniform(mesh(5, 5), 100))),
        ("DragonFly 4x5", dragonfly()),
        ("Switch_Switch 8x4", switch_switch()),
        *((f"Ring_FC_Switch 2x4x{n}", ring_fc_switch(n)) for n in (1, 2, 4, 8, 16)),
        ("hypercube 6", (build("hypercube(6)"), uniform(build("hypercube(6)"), 100))),
    ]
    failing = mesh(4, 4, without=(7, 9))
    cases.append(("mesh 4x4 without 2", (failing, uniform(failing, 100))))
    for name, there in cases:
        beside(name, there, Fraction(2**20 * there[0].nodes))


def beside(name: str, there: Table, size: Fraction, chunks: int | None = None) -> None:
    """Print the time of TACOS, and those of others over it."""
    topology, table = there
    start = time.process_time()
    plan = schedule(topology, "allreduce", method="tacos", link_table=table, size=size, chunks=chunks)
    seconds = time.process_time() - start
    check(plan)
    texts = [f"{name}: {float(plan.claim['time']) * 1e6:.1f} us in {seconds:.2f} s"]
    texts.append(f"{over_bound(plan):.3f} of the bound")
    for method in ("ring", "direct", "spff", "taccl-like"):
        try:
            if method == "taccl-like":
                took = schedule(topology, "allreduce", method=method, link_table=table, size=size).claim["time"]
            else:
                other = schedule(topology, "allreduce", method=method)
                took = simulate(other, size=size, links=table, mode="asynchronous").time
            texts.append(f"{method} {float(took / plan.claim['time']):.2f}x")
        except TopodesignError:
            texts.append(f"{method} -")
    print("  " + ", ".join(texts), flush=True)


def check(plan: Plan) -> None:
    """Stop if a plan is wrong."""
    report = verify(plan)
    if not report.ok:
        raise SystemExit(str(report))


def over_bound(plan: Plan) -> float:
    return float(plan.claim["time"] / Fraction(plan.generator["bound"]))


def switches() -> None:
    print("64 MiB in 4 chunks, latency 0.5 us: switches as they are, and unwound (us)")
    for place, collective in product(
        ("dgx_a100(1)", "dgx_a100(2)", "mi250(2)"), ("allgather", "allreduce", "all-to-all")
    ):
        texts = []
        for how in (None, "all", "1", "2", "3", "ring"):
            plan = schedule(
                build_fabric(place), collective, method="tacos", unwind=how, alpha="0.5us", size="64MiB", chunks=4
            )
            check(plan)
            texts.append(f"{how or 'as they are'} {float(plan.claim['time']) * 1e6:.0f}")
        print(f"  {place:12} {collective:10} {', '.join(texts)}", flush=True)


PARTS = {
    "speed": speed,
    "all-to-all": all_to_all,
    "figures": figures,
    "systems": systems,
    "switches": switches,
    "symmetry": symmetry,
    "chunking": chunking,
    "tenants": tenants,
    "large": large,
}


def main() -> None:
    compiled.PATIENCE = 0.0  # machine code from the first call on: what is measured is how fast it is when warm
    for collective in ("allgather", "all-to-all"):
        schedule("torus(3,3)", collective, method="tacos")
    for name in sys.argv[1:] or [name for name in PARTS if name != "large"]:
        PARTS[name]()


if __name__ == "__main__":
    main()
