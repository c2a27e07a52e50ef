"""Measure allgather schedules on fabrics: the optimum, the whole schedule and its verification, rates and heights.

Run it with ``python benchmarks/forest.py [PATTERN]``, where only families with the pattern are measured. Times are CPU
seconds of one process, the better of two runs, after one that compiles inner loops; beside them is the height of trees
without use of symmetry, for fabrics of up to so many nodes that it takes seconds, and how long these take. The growth
of a family is the exponent e of the line through its sizes: time goes with the number of compute nodes to the power of
e.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import numpy as np

from tests.samples.verdicts import verify_trees
from topodesign.base import compiled
from topodesign.fabrics.places import as_fabric
from topodesign.optima.forest.bottleneck import optimum, solve_rate
from topodesign.optima.forest.packing import Packing, pack_trees
from topodesign.optima.forest.schedule import forest_schedule
from topodesign.optima.forest.switch_removal import remove_switches
from topodesign.optima.forest.tree_counts import FixedOptimum, find_fixed_optimum, smallest_trees
from topodesign.topology.shifts import find_shifts
from topodesign.topology.topology import Topology

FAMILIES = {
    "A100 boxes": [f"dgx_a100({boxes})" for boxes in (2, 4, 8, 16, 32, 64, 128)],
    "H100 boxes": [f"dgx_h100({boxes})" for boxes in (4, 32, 128)],
    "MI250 boxes": [f"mi250({boxes})" for boxes in (1, 2, 3, 4)],
    "torus": ["torus(4,4)", "torus(8,8)", "torus(16,16)", "torus(32,32)"],
    "hypercube": ["hypercube(5)", "hypercube(6)", "hypercube(7)", "hypercube(9)"],
    "GPUs": [f"dgx_a100({boxes})" for boxes in (32, 128, 512)],
}
MAX_PACKED = 256
Result = TypeVar("Result")


def measured(action: Callable[[], Result], runs: int = 2) -> tuple[Result, float]:
    times = []
    for _ in range(runs):
        find_shifts.cache_clear()
        solve_rate.cache_clear()
        start = time.process_time()
        result = action()
        times.append(time.process_time() - start)
    return result, min(times)


def best(topology: Topology) -> FixedOptimum:
    found = optimum(topology)
    return find_fixed_optimum(topology, smallest_trees(topology, best=found), best=found)


def packed(fixed: FixedOptimum) -> Packing:
    split = remove_switches(fixed.topology, fixed.trees)
    return pack_trees(split.topology, [(node, fixed.trees) for node in range(len(split.nodes))])


def main() -> None:
    compiled.PATIENCE = 0.0  # machine code from the first call on: what is measured is how fast it is when warm
    packed(best(as_fabric("dgx_a100(2)").topology))
    print(f"{'':18}{'nodes':>6}{'1/x':>10}{'k':>4}{'trees':>7}{'height':>7}", end="")
    print(f"{'optimum':>10}{'all':>10}{'verified':>11}{'packed: height, time':>24}")
    for family, members in FAMILIES.items():
        if len(sys.argv) > 1 and sys.argv[1] not in family:
            continue
        sizes, totals = [], []
        for text in members:
            topology = as_fabric(text).topology
            fixed, first = measured(partial(best, topology))
            trees, total = measured(partial(forest_schedule, topology, "allgather"))
            report, check = measured(partial(verify_trees, trees), 1)
            if not report.ok or report.inverse_rate != fixed.inverse_rate:
                sys.exit(f"{text}: {report}")
            nodes = len(trees.members)
            print(f"{text:18}{nodes:6}{fixed.inverse_rate!s:>10}{fixed.trees:4}{len(trees):7}{report.height:7}", end="")
            print(f"{first:8.2f} s{total:8.2f} s{check:9.2f} s", end="", flush=True)
            if nodes <= MAX_PACKED:
                packing, third = measured(partial(packed, fixed))
                print(f"{packing.heights.max():14}{third:8.2f} s", end="")
            print(flush=True)
            sizes.append(nodes)
            totals.append(total)
        exponent = np.polyfit(np.log(sizes), np.log(totals), 1)[0]
        print(f"{family}: growth {exponent:.2f}\n")


if __name__ == "__main__":
    main()
