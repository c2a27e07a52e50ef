"""Every collective on every family in three patterns of groups: verified, timed, and where members alone send, run."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from tests.graphs.test_graphs import SAMPLES
from topodesign.base.errors import InfeasibleError
from topodesign.collectives import COLLECTIVES, Collective
from topodesign.compiler.frontends import rounds
from topodesign.compiler.several import compile_groups
from topodesign.plans.group_ops import part_of_topology
from topodesign.plans.plan import Plan
from topodesign.plans.time.simulate import simulate
from topodesign.plans.verify.plans import verify
from topodesign.pricing.closed_form import price
from topodesign.schedulers.scheduling import schedule
from topodesign.topology.library import build
from topodesign.topology.topology import Topology

MAX = 32
MAX_RANKS = 5
"""Of programs that are run."""
SMALL = [spec for spec in SAMPLES if 4 <= build(spec).nodes <= MAX]
RUN = [one for one in rounds.COLLECTIVES if one.label("msccl") is not None]
Groups = list[list[int]]


def patterns(nodes: int) -> Iterator[tuple[str, Groups]]:
    """Neighbours by number, nodes far apart by number, and groups of unequal size that omit nodes."""
    size = next((size for size in (4, 3, 5, 2) if nodes % size == 0), nodes)
    yield "blocks", [list(range(first, first + size)) for first in range(0, nodes, size)]
    yield "strides", [list(range(first, nodes, nodes // size)) for first in range(nodes // size)]
    order = np.random.default_rng(nodes).permutation(nodes).tolist()
    yield "groups", [sorted(order[: nodes // 2]), sorted(order[nodes // 2 : nodes - 1])]


def connected(topology: Topology, groups: Groups) -> bool:
    """Whether all members of each group reach each other over links among them."""
    for group in groups:
        part = part_of_topology(topology, group)
        try:
            price(part) if len(group) > 1 else None
        except Exception:  # noqa: BLE001  whatever says that it is not connected
            return False
    return True


def check(plan: Plan, collective: Collective, groups: Groups) -> None:
    """It is right, of these groups, as dear as claimed, and takes that time."""
    report = verify(plan)
    assert report.ok, report.problems
    assert [list(one.group or ()) for one in plan.collective.single] == groups
    assert plan.collective.like(collective)
    size = Fraction(2**20)
    run = simulate(plan, size=size, alpha="10us", bandwidth="100Gbps")
    assert run.completes
    steps, factor = plan.claim["steps"], plan.claim["bandwidth"]
    assert run.time == steps * Fraction(1, 10**5) + factor * 8 * size / 10**11


def sweep(spec: str, collective: Collective, seen: dict[str, int]) -> None:
    """Check a collective on a topology in all patterns."""
    topology = build(spec)
    for _, groups in patterns(topology.nodes):
        root = "first" if collective.rooted else None
        plan = schedule(topology, collective, group=groups, root=root, others="forward")
        check(plan, collective, groups)
        seen["forward"] = seen.get("forward", 0) + 1
        try:
            plan = schedule(topology, collective, group=groups, root=root)
        except InfeasibleError:
            assert not connected(topology, groups)  # which a rooted one need not be
            seen["refused"] = seen.get("refused", 0) + 1
            continue
        check(plan, collective, groups)
        seen["vanish"] = seen.get("vanish", 0) + 1
        compiles = collective.like(*RUN) and max(map(len, groups)) <= MAX_RANKS
        for part in compile_groups(plan, max_size="1MiB") if compiles else ():
            assert part.compiled.checked().report is not None
            seen["programs"] = seen.get("programs", 0) + 1


@pytest.mark.dear("circulant(8,1,3)-broadcast", "genkautz(2,11)-all-to-all")
@pytest.mark.parametrize(
    ("spec", "name"),
    list(zip(itertools.cycle(["circulant(8,1,3)", "genkautz(2,11)", "diamond()"]), COLLECTIVES, strict=False)),
)
def test_some_families_in_groups(spec: str, name: str) -> None:
    collective = COLLECTIVES[name]
    seen: dict[str, int] = {}
    sweep(spec, collective, seen)
    assert seen["forward"] == 3


@pytest.mark.thorough
@pytest.mark.parametrize("collective", COLLECTIVES.values(), ids=str)
def test_all_families_in_groups(collective: Collective) -> None:
    seen: dict[str, int] = {}
    for spec in SMALL:
        sweep(spec, collective, seen)
    print(f"{collective} on {len(SMALL)} topologies: {seen}")
    assert seen["forward"] == 3 * len(SMALL)
