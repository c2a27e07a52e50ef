"""Kernels: plain Python and machine code give the same numbers, in processes with and without the compiler."""

from __future__ import annotations

import contextlib
import copy
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.samples.forest import fabrics
from tests.samples.scheduled import scheduled
from tests.samples.topologies import regular_digraphs
from tests.samples.verdicts import verify_rounds
from tests.samples.wirings import bare
from topodesign.base import compiled
from topodesign.base.compiled import Kernel, next_random
from topodesign.base.errors import InfeasibleError
from topodesign.base.spec import parse
from topodesign.collectives import as_collective
from topodesign.compiler.compilation import compile_plan
from topodesign.compiler.frontends import packing, rounds_kernels, thread_kernels
from topodesign.compiler.frontends.progress import ends
from topodesign.fabrics.boxes import get_box, join
from topodesign.optima.fluid import arborescence_kernels
from topodesign.optima.fluid.cheapest_tree import cheapest_arborescence, proven_price
from topodesign.optima.forest import lowering_kernels, packing_kernels
from topodesign.optima.forest import repair_kernels as tree_kernels
from topodesign.optima.forest.allreduce import allreduce_optimum
from topodesign.optima.forest.bottleneck import optimum, with_capacity
from topodesign.optima.forest.repair import repair_trees
from topodesign.optima.forest.schedule import forest_schedule
from topodesign.optima.forest.switch_removal import remove_switches
from topodesign.plans.flow import Flow
from topodesign.plans.link_times import link_times
from topodesign.plans.time import clock_kernels
from topodesign.plans.time.steps import time_steps
from topodesign.plans.verify import data_kernels
from topodesign.pricing import deferral_kernels, relay_kernels
from topodesign.pricing import kernels as pricing_kernels
from topodesign.pricing.closed_form import distances, girth, price
from topodesign.pricing.deferral import defer
from topodesign.pricing.split_routes import equal_split
from topodesign.runtime.machine import proof_kernels
from topodesign.schedulers import balanced_paths_kernels, in_order, scheduling
from topodesign.schedulers.balanced_paths import balance_paths
from topodesign.schedulers.spff import spff
from topodesign.schedulers.time_expanded import (
    copying_kernels,
    event_kernels,
    forward_kernels,
    repair_kernels,
    symmetric_kernels,
    trees_kernels,
)
from topodesign.schedulers.time_expanded.forward import forward_chunks
from topodesign.schedulers.time_expanded.greedy import copy_chunks
from topodesign.schedulers.time_expanded.merging import repair_sends
from topodesign.schedulers.time_expanded.network import chunks_of, network_of
from topodesign.solve import flow_kernels
from topodesign.solve.flows import kernels as concurrent_kernels
from topodesign.solve.flows.concurrent import tree
from topodesign.solve.flows.potentials import find_balanced_flow
from topodesign.solve.maxflow import balance_switches
from topodesign.topology import symmetry
from topodesign.topology.library import build
from topodesign.topology.quotient import quotient
from topodesign.topology.topology import Topology
from topodesign.wiring.change import field_kernels, fields
from topodesign.wiring.change.change import fewest_moves
from topodesign.wiring.change.fields import label_links, spread_hosts
from topodesign.wiring.plan import pods_kernels
from topodesign.wiring.plan.planner import order_in_pods

PACKAGE = Path(compiled.__file__).parents[1]
COLUMNS = ("step", "src", "dst", "block", "lo", "hi")


def timed(network: Topology, rounds: Flow, **how: Any) -> None:
    usual: dict[str, Any] = {"alpha": Fraction(1, 10**5), "size": Fraction(2**20), "bandwidth": Fraction(10**11)}
    time_steps(rounds.having(place=network), **usual, **how)


def same(one: object, other: object) -> bool:
    """Whether two results are of the same types and hold the same numbers."""
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and one.dtype == other.dtype and np.array_equal(one, other)
    if isinstance(one, tuple):
        return isinstance(other, tuple) and len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other


def is_entrance(kernel: object) -> bool:
    """Whether it is a kernel that runs in both tiers."""
    return isinstance(kernel, Kernel) and kernel.tiered


def priced(digraph: Topology) -> None:
    price(digraph)
    distances(digraph, 0)
    girth(digraph)
    spff(digraph)


def put_off(digraph: Topology) -> None:
    distances(digraph, 0)
    defer(digraph)
    defer(build("torus(2,3)"))


def turned(digraph: Topology) -> None:
    group = build(f"circulant({digraph.nodes + 2},1,2)").symmetry
    assert group is not None
    assert group.is_free


def shared(digraph: Topology) -> None:
    problem = quotient(digraph)
    tree(problem, 0, np.arange(len(problem.arcs)) % 3 + 1)
    equal_split(problem)
    find_balanced_flow(problem, gap=Fraction(1, 10), seconds=0.02)


def replayed(digraph: Topology) -> None:
    schedules = (spff(digraph), scheduled(digraph, "allreduce").schedule)
    for schedule in schedules:
        assert verify_rounds(digraph, schedule).ok
        verify_rounds(digraph, schedule.some(np.arange(1, len(schedule))))
    some = np.arange(digraph.nodes)
    data_kernels.find_heights(np.array([0, digraph.nodes]), some, (some + 1) % digraph.nodes, some >= 0, digraph.nodes)


def clocked(digraph: Topology) -> None:
    for schedule in (spff(digraph), scheduled(digraph, "allreduce").schedule):
        timed(digraph, schedule, mode="asynchronous")
        timed(digraph, schedule, failed=tuple((u, v) for u, v, _ in digraph.links() if u != v)[:1])
    rows = np.arange(digraph.nodes)
    clock_kernels.come_alone(
        rows, (rows % 2).astype(np.int32), np.sort(digraph.src[: len(rows)]).astype(np.int64), np.full(2, -1)
    )


def moved(digraph: Topology) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fields, "_A_LINK", 2**6)  # proposals: short walks, which plain Python ends, too
        wiring = fewest_moves(bare(digraph.nodes, digraph.degree, 2), digraph)
        fewest_moves(wiring.after, digraph.transpose())


def placed(digraph: Topology) -> None:
    nodes = digraph.nodes
    arcs = np.repeat(np.stack((digraph.src, digraph.dst), axis=1), digraph.capacity, axis=0)
    have, want = (label_links(nodes, np.insert(one, 2, 0, axis=1)) for one in (arcs, nodes - 1 - arcs))
    assert sorted(spread_hosts(have, want, np.arange(nodes) % 2, range(nodes), seed=1)) == list(range(nodes))
    lanes = np.array([[node % 2, 1 - node % 2] for node in range(nodes + 2)]) * digraph.degree + 1
    order_in_pods(digraph, lanes, range(nodes), duplex=False, seed=1)


def programmed(digraph: Topology) -> None:
    plan = scheduled(digraph, "allreduce").plan
    compile_plan(plan, threadblocks="merged").checked()
    compile_plan(scheduled(digraph, "reduce-scatter").plan)
    ends(compile_plan(plan, threadblocks="auto").program.columns, 1, 1)


def proved(digraph: Topology) -> None:
    for target in ("msccl", "mscclpp"):
        compile_plan(scheduled(digraph, "allreduce").plan, target=target).checked()


def flowed(fabric: Topology) -> None:
    optimum(fabric)
    balance_switches(fabric, fabric.capacity + 1)
    remove_switches(with_capacity(fabric, fabric.nodes * fabric.capacity), 1)  # enough for a tree of every node
    if not fabric.switches:
        allreduce_optimum(fabric)


def branched(fabric: Topology) -> None:
    prices = np.arange(fabric.nodes**2).reshape(fabric.nodes, -1) * 7919 % 23
    assert proven_price(cheapest_arborescence(prices, 0), prices, 0)


def packed(fabric: Topology) -> None:
    forest_schedule(fabric, "allgather")


def torn(fabric: Topology) -> None:
    trees = forest_schedule(fabric, "allreduce")
    for u, v, _ in fabric.links()[:6]:
        left = Topology.from_links(
            fabric.nodes, [one for one in fabric.links() if one[:2] != (u, v)], switches=fabric.switches
        )
        with contextlib.suppress(InfeasibleError):
            repair_trees(trees, left, range(fabric.nodes), (frozenset(), frozenset()), {})


def spread_out(digraph: Topology) -> None:
    distance = np.array([distances(digraph, node) for node in range(digraph.nodes)], dtype=np.int64)
    keep = digraph.src != digraph.dst
    arcs = digraph.src[keep], digraph.dst[keep], digraph.capacity[keep]
    pairs = np.argwhere(~np.eye(digraph.nodes, dtype=bool))
    for aim in ((), (Fraction(1),) * int(distance.max())):
        balance_paths(distance, arcs, pairs, steps=int(distance.max()), chunks=2, aim=aim)


def synthesized(digraph: Topology) -> None:
    for collective in ("allgather", "all-to-all", "allreduce"):
        scheduling.schedule(digraph, collective, method="tacos", tries=3)
        scheduling.schedule("torus(2,3)", collective, method="tacos", symmetric=True)
    scheduling.schedule(digraph, traffic=["*=allgather@1KiB", "*=all-to-all+3us"], tries=1)


def mended(digraph: Topology) -> None:
    for collective in (as_collective("allgather"), as_collective("gather").at(0)):
        times = link_times(digraph, collective, 1, size=Fraction(2**20), alpha=Fraction(1), bandwidth=Fraction(10**6))
        network = network_of(digraph, times)
        chunks = chunks_of(network, collective, 1)
        send = copy_chunks if collective.name == "allgather" else forward_chunks
        repair_sends(network, chunks, send(network, chunks, 0), 0, schedules=10)


def flown(digraph: Topology) -> None:
    for box in ("pcie_pair", "dgx_h100"):
        fabric = replace(join(get_box(parse(f"{box}()")), digraph), name="wired boxes")
        scheduling.schedule(fabric, "allreduce", method="boxes", chunks=1, size=2**20)


Case = tuple[tuple[ModuleType, ...], Callable[[Topology], None], st.SearchStrategy[Topology]]
EXERCISES: list[Case] = [
    ((pricing_kernels,), priced, regular_digraphs()),
    ((deferral_kernels, relay_kernels), put_off, regular_digraphs()),
    ((symmetry,), turned, regular_digraphs()),
    ((concurrent_kernels,), shared, regular_digraphs()),
    ((data_kernels,), replayed, regular_digraphs(5, 2)),
    ((clock_kernels,), clocked, regular_digraphs(5, 2)),
    ((balanced_paths_kernels,), spread_out, regular_digraphs(5, 2)),
    ((field_kernels,), moved, st.just(build("randomregular(8,3,0)"))),
    ((pods_kernels,), placed, regular_digraphs(6, 2)),
    (
        (event_kernels, copying_kernels, forward_kernels, symmetric_kernels, trees_kernels),
        synthesized,
        regular_digraphs(6, 2),
    ),
    ((repair_kernels,), mended, regular_digraphs(6, 2)),
    ((in_order,), flown, regular_digraphs(4, 2)),
    ((flow_kernels,), flowed, fabrics(6)),
    ((packing_kernels, lowering_kernels), packed, fabrics(6)),
    ((tree_kernels,), torn, fabrics(6)),
    ((arborescence_kernels,), branched, fabrics(6)),
    ((proof_kernels,), proved, regular_digraphs(4, 2)),
    ((packing, rounds_kernels, thread_kernels), programmed, regular_digraphs(4, 2)),
]


def unchecked(case: Case, checks: settings, monkeypatch: pytest.MonkeyPatch) -> set[object]:
    """Make every call of some modules' tiered kernels in both tiers, with the same arrays; return the kernels left."""
    modules, exercise, networks = case
    entrances = {kernel for module in modules for kernel in vars(module).values() if is_entrance(kernel)}
    checked = set()
    usual = Kernel.__call__

    def call(kernel: Kernel[..., object], *args: object) -> object:
        if kernel not in entrances:
            return usual(kernel, *args)
        mine, others = copy.deepcopy(args), copy.deepcopy(args)
        plain, machine = kernel.plain(*mine), kernel.machine(*others)
        assert same(plain, machine), kernel
        assert same(mine, others), kernel
        checked.add(kernel)
        return kernel.machine(*args)

    @checks
    @given(networks)
    def agree(network: Topology) -> None:
        exercise(network)

    monkeypatch.setattr(Kernel, "__call__", call)
    agree()
    return entrances - checked


@pytest.mark.dear("clocked", "flown", "moved", "programmed", "proved", "put_off", "replayed", "synthesized", "torn")
@pytest.mark.parametrize("case", EXERCISES, ids=[case[1].__name__ for case in EXERCISES])
def test_tiers_agree(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not unchecked(case, settings(max_examples=25), monkeypatch)


def check_all_tiers() -> None:
    """Check the same in a process of its own, with the same samples every time, and say whether numba was loaded."""
    for case in EXERCISES:
        with pytest.MonkeyPatch.context() as patch:
            unchecked(case, settings(max_examples=2, derandomize=True, database=None, deadline=None), patch)
    print("numba" in sys.modules)


@pytest.mark.dear
def test_tiers_agree_where_machine_code_is_loaded_without_numba() -> None:
    code = "from tests.base.test_compiled import check_all_tiers as run; run()"
    runs = (subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True) for _ in range(3))
    assert any(run.stdout == "False\n" or pytest.fail(run.stderr) for run in runs if run.stdout != "True\n")


def test_all_modules_with_two_tiers_are_exercised() -> None:
    exercised = {module.__name__ for modules, *_ in EXERCISES for module in modules}
    names = [".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in PACKAGE.rglob("*.py")]
    tiers = [
        name for name in names if "\n@tier_kernel(" in (PACKAGE.parent / f"{name.replace('.', '/')}.py").read_text()
    ]
    assert exercised == set(tiers)


def test_random_numbers_wrap_round_in_both_tiers() -> None:
    states = [np.array([2**63 + 12345], dtype=np.uint64) for _ in range(2)]
    for _ in range(100):
        assert next_random.plain(states[0]) == next_random.machine(states[1])
    assert states[0] == states[1]


def test_a_kernel_loses_its_patience() -> None:
    ran: list[int] = []

    def machine(steps: int) -> int:
        ran.append(steps)
        return loop(steps)

    def loop(steps: int) -> int:
        total = 0
        for step in range(steps):
            total += step
        return total

    kernel = compiled.tier_kernel(lambda steps: steps)(loop)
    kernel.__dict__["machine"] = machine
    few = int(compiled.PATIENCE * 1e6) // 10
    assert kernel(few) == loop(few)
    assert not ran
    assert kernel(20 * few) == loop(20 * few)
    assert kernel(1) == loop(1)
    assert ran == [20 * few, 1]
