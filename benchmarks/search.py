"""Measure how fast lifts are screened: distances by bitsets, one rotation per link and coset, and node by node.

Run it with ``python benchmarks/search.py``. Both look at the same random voltages and must count the same nodes out of
reach; node by node is how lifts are priced, and was how they were screened. Times are CPU seconds.
"""

from __future__ import annotations

import time

import numpy as np

from topodesign.base.compiled import Ints, compile_kernel
from topodesign.base.spec import parse
from topodesign.search.cosets import number_group
from topodesign.search.screening_kernels import Turns, field_of, screen
from topodesign.search.voltage_kernels import _scratch, _walk, _way, _write

CASES = (
    (1, 2, 11, "metacyclic(67,11,9)"),
    (5, 2, 4, "cyclic(5)"),
    (1, 4, 6, "metacyclic(53,26,4)"),
    (1, 3, 8, "metacyclic(157,13,14)"),
    (2, 3, 7, "cyclic(512)"),
    (4, 4, 6, "cyclic(256)"),
    (8, 4, 6, "metacyclic(64,4,33)"),
    (1, 8, 4, "cyclic(1024)"),
    (1, 4, 4, "semidirect(abelian(5,5),8,0,2,1,0)"),
)
DRAWS = 2000


@compile_kernel
def by_bitsets(head: Ints, drawn: Ints, turns: Turns, depth: int, orbits: int) -> int:
    """Return how many nodes all lifts with the drawn voltages exclude, a row of voltages for each."""
    degree, nodes = len(head) // orbits, orbits * len(turns.coset)
    field = field_of(turns, orbits)
    total = 0
    for draw in range(len(drawn)):
        total += screen(head, drawn[draw], degree, degree, turns, depth, orbits * nodes, field)[0]
    return total


@compile_kernel
def node_by_node(ends: tuple[Ints, Ints], drawn: Ints, turns: Turns, depth: int, orbits: int) -> int:
    """Return the same."""
    tail, head = ends
    degree, order = len(head) // orbits, len(turns.coset)
    way, scratch = _way(orbits, degree, order), _scratch(orbits * order, degree)
    loads, total = np.zeros(depth + 1, np.int64), 0
    for draw in range(len(drawn)):
        _write(way, tail, head, drawn[draw], turns)
        for orbit in range(orbits):
            total += _walk(orbit * order, way.dst, degree, depth, orbits * order, loads, 0, scratch)[0]
    return total


def measure(orbits: int, degree: int, depth: int, text: str) -> tuple[float, float]:
    """Return lifts a second by bitsets and node by node."""
    group = number_group(parse(text))
    order, size = group.base.order, orbits * degree
    rng = np.random.Generator(np.random.PCG64(1))
    tail = np.repeat(np.arange(orbits), degree)
    head = np.sort(rng.permutation(tail).reshape(orbits, degree), axis=1).ravel()
    drawn = rng.integers(0, order, size=(DRAWS, size))
    for voltages in (drawn[:1], drawn):  # the first compiles
        began = time.process_time()
        one = by_bitsets(head, voltages, group.turns, depth, orbits)
        middle = time.process_time()
        other = node_by_node((tail, head), voltages, group.turns, depth, orbits)
        end = time.process_time()
        if one != other:
            raise RuntimeError(f"{text}: {one} nodes out of reach by bitsets, {other} node by node")
    return DRAWS / (middle - began), DRAWS / (end - middle)


def main() -> None:
    print("     N  d  steps  orbits  group                                   bitsets  by node   ratio   lifts a second")
    for orbits, degree, depth, text in CASES:
        nodes = orbits * number_group(parse(text)).base.order
        bits, walks = measure(orbits, degree, depth, text)
        print(f"{nodes:6} {degree:2} {depth:6} {orbits:7}  {text:38} {bits:8.0f} {walks:8.0f} {bits / walks:6.1f}x")


if __name__ == "__main__":
    main()
