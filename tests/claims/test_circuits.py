"""What is claimed of plans over circuits that change, against all sequences of permutations of few nodes.

No plan takes less than the steps to the farthest node and the mean load of a port; where a claim is proven, no sequence
is below its time by that count. Code of its own: distances by sets, loads by adding up.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from topodesign import reconfigure
from topodesign.base.claims import Of, Scope
from topodesign.collectives import ALL_TO_ALL
from topodesign.schedulers.circuits.bounds import Room, least

US = Fraction(1, 10**6)


def hops(phases: tuple[tuple[tuple[int, ...], ...], ...], nodes: int, source: int) -> dict[int, int]:
    """Fewest hops to all that can be reached, phase by phase."""
    far = {source: 0}
    for phase in phases:
        for _ in range(nodes):
            for node, done in sorted(far.items()):
                for one in phase:
                    if far.get(one[node], nodes**2) > done + 1:
                        far[one[node]] = done + 1
    return far


@pytest.mark.once
@pytest.mark.parametrize(("nodes", "degree"), [(3, 1), (4, 1), (3, 2), (4, 2), (4, 3)])
@pytest.mark.parametrize("cabling", ["simplex", "duplex"])
def test_no_sequence_of_few_nodes_takes_less_time(nodes: int, degree: int, cabling: str) -> None:
    """An all-to-all has a y of at least the mean hops, and as many steps as the farthest takes; allgathers that too."""
    every = list(itertools.permutations(range(nodes)))
    if cabling == "duplex" and degree == 1:
        every = [one for one in every if all(one[one[v]] == v for v in range(nodes))]
    topologies = list(itertools.combinations_with_replacement(every, degree))
    if cabling == "duplex" and degree > 1:
        topologies = [
            some for some in topologies
            if all(sum(p[v] == u for p in some) == sum(p[u] == v for p in some) for u in range(nodes) for v in range(u))
        ]  # fmt: skip
    most = 2 if len(topologies) > 15 else 3
    figures = []
    for count in range(1, most + 1):
        for phases in itertools.product(topologies, repeat=count) if len(topologies) ** count < 10**4 else ():
            far = [hops(phases, nodes, source) for source in range(nodes)]
            if all(len(one) == nodes for one in far):
                hops_all = sum(sum(one.values()) for one in far)
                ports = nodes * degree - (cabling == "duplex" and nodes * degree % 2)  # one is left over
                steps = max(count, *(max(one.values()) for one in far))  # of a phase without a step: see fewer
                figures.append((steps, Fraction(degree * hops_all, nodes * ports), count - 1))
    assert figures
    for delay in (0, 3, 200):
        for size in (1500, 150000):
            found = reconfigure(
                nodes, degree, alpha="1us", size=size, bandwidth="12Gbps", delay=delay * US, cabling=cabling
            )
            assert (found.claim.of, found.claim.among) == (Of.TIME, Scope.CIRCUITS)
            second = Fraction(8 * size, 12 * 10**9)
            times = [steps * US + factor * second + changes * delay * US for steps, factor, changes in figures]
            assert found.claim.bound is not None
            assert min(times) >= found.claim.bound
            assert found.claim.value >= found.claim.bound


def flow(permutations: list[tuple[int, ...]], phases: list[int]) -> float:
    """The fullest link of every phase, added up, of the best flow in parts of any size; in blocks."""
    nodes, last = len(permutations[0]), max(phases) + 1
    sends = len(permutations) * nodes * nodes
    width = sends + last
    most = np.zeros((len(permutations) * nodes, width))
    for i, phase in enumerate(phases):
        for x in range(nodes):
            most[i * nodes + x, [(s * len(phases) + i) * nodes + x for s in range(nodes)]] = 1
            most[i * nodes + x, sends + phase] = -1
    after, need = [], []
    for s in range(nodes):
        for phase in range(last):
            for x in range(nodes):  # what came up to this phase is at least what is kept and sent
                row = np.zeros(width)
                for i, permutation in enumerate(permutations):
                    if phases[i] <= phase:
                        row[(s * len(phases) + i) * nodes + permutation.index(x)] -= 1
                        row[(s * len(phases) + i) * nodes + x] += 1
                after.append(row)
                begins = nodes if x == s else 0
                need.append(begins - (1 if phase == last - 1 else 0))
    cost = np.zeros(width)
    cost[sends:] = 1
    rows = np.vstack((most, np.array(after)))
    right = np.concatenate((np.zeros(len(most)), np.array(need, dtype=float)))
    return float(linprog(cost, A_ub=rows, b_ub=right, method="highs").fun)


@pytest.mark.parametrize(
    ("nodes", "degree", "phases"),
    [
        (6, 1, [0, 1]),
        pytest.param(6, 2, [0, 0], marks=pytest.mark.thorough),
        pytest.param(7, 2, [0, 0], marks=pytest.mark.thorough),
    ],
)
def test_no_two_permutations_do_better_than_was_searched(nodes: int, degree: int, phases: list[int]) -> None:
    """Those whose mean hops are below the figure have a flow that is not."""
    figure = least(Room(nodes, degree, duplex=False), len(set(phases)), ALL_TO_ALL)
    assert figure is not None
    first = {tuple(sorted(cycles(one))): one for one in itertools.permutations(range(nodes))}
    for one in first.values():
        for other in itertools.permutations(range(nodes)):
            chosen = ((one,), (other,)) if phases[1] else ((one, other),)
            far = [hops(chosen, nodes, source) for source in range(nodes)]
            if all(len(some) == nodes for some in far):
                mean = Fraction(sum(sum(some.values()) for some in far), nodes**2)
                if mean < figure.factor:
                    assert flow([one, other], phases) * degree / nodes >= float(figure.factor) - 1e-9


def cycles(permutation: tuple[int, ...]) -> list[int]:
    """Lengths of the cycles of a permutation."""
    left, found = set(range(len(permutation))), list[int]()
    while left:
        at, length = min(left), 0
        while at in left:
            left.discard(at)
            at, length = permutation[at], length + 1
        found.append(length)
    return found
