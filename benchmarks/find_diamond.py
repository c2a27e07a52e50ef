"""Recover the diamond digraph from its properties, and check its place among all digraphs of its size.

Prints one line for each 2-regular digraph (no self-loops, no parallel links) on 8 nodes with diameter 3 that is not
isomorphic to its transpose, has no bandwidth-optimal SPFF schedule for reduce-scatter or allgather, but has an optimal
schedule of 3 steps with half shards for both: the order of its automorphism group and its links. Takes seconds.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from topodesign.collectives import ALLGATHER
from topodesign.graphs.diamond import diamond
from topodesign.plans.measure import cost_of
from topodesign.pricing.closed_form import price
from topodesign.schedulers.exact_rounds import fewest_rounds
from topodesign.schedulers.steps_bound import lower_bound_lp
from topodesign.topology.topology import Topology

NODES, STEPS, PARTS = 8, 3, 2
OPTIMUM = Fraction(NODES - 1, NODES)

Code = tuple[tuple[int, int], ...]  # the two targets of every node


def all_codes() -> Iterator[Code]:
    """Yield every breadth-first numbering of every connected 2-regular digraph, in lexicographic order.

    A node's targets are numbers already seen or the next ones, so that a digraph appears once for each root and each
    order in which two unseen targets of one node may be numbered.
    """
    targets: list[tuple[int, int]] = []
    used = [0] * NODES

    def extend(seen: int) -> Iterator[Code]:
        node = len(targets)
        if node == NODES:
            yield tuple(targets)
            return
        if node == seen:
            return
        for a, b in itertools.combinations(range(min(seen + 2, NODES)), 2):
            if node in {a, b} or used[a] == 2 or used[b] == 2 or (b > seen and a != seen):
                continue
            targets.append((a, b))
            used[a] += 1
            used[b] += 1
            yield from extend(max(seen, b + 1))
            targets.pop()
            used[a] -= 1
            used[b] -= 1

    return extend(1)


def numberings(code: Code) -> Iterator[Code]:
    """Yield the same digraph in all its breadth-first numberings."""
    for root, flips in itertools.product(range(NODES), itertools.product((False, True), repeat=NODES)):
        number, order = {root: 0}, [root]
        for node, flip in zip(order, flips, strict=False):
            unseen = [target for target in code[node] if target not in number]
            if flip and len(unseen) < 2:
                break  # the same numbering as without the flip
            for target in unseen[::-1] if flip else unseen:
                number[target] = len(order)
                order.append(target)
        else:
            yield tuple(tuple(sorted((number[a], number[b]))) for a, b in (code[node] for node in order))  # type: ignore[misc]


def reverse(code: Code) -> Code:
    return tuple(tuple(u for u in range(NODES) if v in code[u]) for v in range(NODES))  # type: ignore[misc]


def topology_of(code: Code) -> Topology:
    return Topology.from_arrays(NODES, np.repeat(np.arange(NODES), 2), np.array(code))


def has_schedule(topology: Topology) -> bool:
    """Return whether an allgather in half shards is optimal in both terms; the bound often says no, and quickly."""
    if lower_bound_lp(topology, ALLGATHER, steps=STEPS) != OPTIMUM:
        return False
    schedule = fewest_rounds(topology, ALLGATHER, steps=STEPS, chunks=PARTS).schedule
    return schedule is not None and cost_of(topology, schedule).bandwidth == OPTIMUM


def main() -> None:
    seen: set[Code] = set()
    classes = found = 0
    for code in all_codes():
        if code in seen:
            continue
        same = list(numberings(code))
        seen.update(same)
        there, back = topology_of(code), topology_of(reverse(code))
        cost, reverse_cost = price(there), price(back)
        if cost.steps != STEPS:
            continue
        classes += 1
        if min(numberings(reverse(code))) == code or OPTIMUM in {cost.bandwidth, reverse_cost.bandwidth}:
            continue
        if has_schedule(there) and has_schedule(back):
            found += 1
            mark = "  <- diamond()" if there == diamond() else ""
            print(f"{same.count(code)} symmetries, SPFF y = {cost.bandwidth}, {reverse_cost.bandwidth}: {code}{mark}")
    print(f"{found} of {classes} classes of diameter {STEPS}")


if __name__ == "__main__":
    main()
