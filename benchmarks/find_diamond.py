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
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

from topodesign.graphs.diamond import diamond
from topodesign.solve.spff import price
from topodesign.topology import Topology

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


def has_schedule(code: Code) -> bool:
    """Return whether an allgather of 3 steps in half shards keeps every link busy for 7 halves, by integer programming.

    Variables: part k goes over link e at step t (binary); how many parts a link carries at step t (integer).
    """
    links = [(u, v) for u in range(NODES) for v in code[u]]
    shape = (NODES * PARTS, STEPS, len(links))
    send = np.arange(np.prod(shape)).reshape(shape)
    load = send.size + np.arange(STEPS)
    rows: list[tuple[list[int], list[int], float, float]] = []
    upper = np.concatenate((np.ones(send.size), np.full(STEPS, 2.0 * NODES)))
    into = [[e for e, (_, v) in enumerate(links) if v == node] for node in range(NODES)]
    for part in range(NODES * PARTS):
        owner = part // PARTS
        upper[send[part][:, into[owner]]] = 0
        rows += [
            (received, [1] * len(received), 1, 1)
            for received in (send[part][:, into[v]].ravel().tolist() for v in range(NODES) if v != owner)
        ]
        for (e, (u, _)), t in itertools.product(enumerate(links), range(STEPS)):
            if u != owner:
                before = send[part, :t][:, into[u]].ravel().tolist()
                rows.append(([send[part, t, e], *before], [1] + [-1] * len(before), -np.inf, 0))
    for t, e in itertools.product(range(STEPS), range(len(links))):
        rows.append(([*send[:, t, e].tolist(), load[t]], [1] * (NODES * PARTS) + [-1], -np.inf, 0))
    rows.append((load.tolist(), [1] * STEPS, 0, (NODES - 1) * PARTS // 2))
    entries = [(row, column, value) for row, r in enumerate(rows) for column, value in zip(r[0], r[1], strict=True)]
    row, column, value = zip(*entries, strict=True)
    matrix = coo_array((value, (row, column)), shape=(len(rows), len(upper))).tocsr()
    limits = LinearConstraint(matrix, [r[2] for r in rows], [r[3] for r in rows])
    result = milp(np.zeros(len(upper)), constraints=limits, bounds=Bounds(0, upper), integrality=np.ones(len(upper)))
    return bool(result.status == 0)


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
        if has_schedule(code) and has_schedule(reverse(code)):
            found += 1
            mark = "  <- diamond()" if there == diamond() else ""
            print(f"{same.count(code)} symmetries, SPFF y = {cost.bandwidth}, {reverse_cost.bandwidth}: {code}{mark}")
    print(f"{found} of {classes} classes of diameter {STEPS}")


if __name__ == "__main__":
    main()
