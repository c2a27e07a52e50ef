"""Measure allgather schedules on fabrics: optimum, switch removal, tree packing and the whole, with rates and heights.

Run it with ``python benchmarks/forest.py [PATTERN]``, where only families with the pattern are measured. Times are CPU
seconds of one process, the better of two runs, after one that compiles inner loops. The growth of a family is the
exponent e of the line through its sizes: time goes with the number of compute nodes to the power of e.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import numpy as np

from topodesign.base import compiled
from topodesign.expand.library import build
from topodesign.fabrics.presets import build_fabric
from topodesign.forest.fixed import FixedOptimum, fixed_optimum, smallest_trees
from topodesign.forest.optimum import optimum
from topodesign.forest.packing import pack_trees
from topodesign.forest.schedule import forest_schedule
from topodesign.forest.splitting import remove_switches
from topodesign.topology.topology import Topology

FAMILIES = {
    "A100 boxes": [f"dgx_a100({boxes})" for boxes in (2, 4, 8, 16, 32)],
    "MI250 boxes": [f"mi250({boxes})" for boxes in (1, 2, 3, 4)],
    "torus": ["torus(4,4)", "torus(8,8)", "torus(16,16)"],
    "hypercube": ["hypercube(5)", "hypercube(6)", "hypercube(7)"],
}
Result = TypeVar("Result")


def measured(action: Callable[[], Result]) -> tuple[Result, float]:
    times = []
    for _ in range(2):
        start = time.process_time()
        result = action()
        times.append(time.process_time() - start)
    return result, min(times)


def network(text: str) -> Topology:
    return build_fabric(text).topology if text.startswith(("dgx", "mi")) else build(text)


def best(topology: Topology) -> FixedOptimum:
    found = optimum(topology)
    return fixed_optimum(topology, smallest_trees(topology, best=found), best=found)


def main() -> None:
    compiled.PATIENCE = 0.0  # machine code from the first call on: what is measured is how fast it is when warm
    forest_schedule(network("dgx_a100(2)"), "allgather")
    print(f"{'':18}{'nodes':>6}{'1/x':>10}{'k':>4}{'trees':>7}{'height':>7}{'mean':>6}", end="")
    print(f"{'optimum':>10}{'switches':>9}{'packing':>9}{'all':>9}")
    for family, members in FAMILIES.items():
        if len(sys.argv) > 1 and sys.argv[1] not in family:
            continue
        sizes, totals = [], []
        for text in members:
            topology = network(text)
            fixed, first = measured(partial(best, topology))
            split, second = measured(partial(remove_switches, fixed.topology, fixed.trees))
            roots = [(node, fixed.trees) for node in range(len(split.nodes))]
            packing, third = measured(partial(pack_trees, split.topology, roots))
            _, total = measured(partial(forest_schedule, topology, "allgather"))
            mean = np.average(packing.heights, weights=packing.weight)
            print(f"{text:18}{len(roots):6}{fixed.inverse_rate!s:>10}{fixed.trees:4}{len(packing.root):7}", end="")
            print(f"{packing.heights.max():7}{mean:6.2f}{first:8.2f} s{second:7.2f} s{third:7.2f} s{total:7.2f} s")
            sizes.append(len(roots))
            totals.append(total)
        exponent = np.polyfit(np.log(sizes), np.log(totals), 1)[0]
        print(f"{family}: growth {exponent:.2f}\n")


if __name__ == "__main__":
    main()
