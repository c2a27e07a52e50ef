"""What deferring gains and takes: the loss of SPFF and of deferred schedules, and CPU seconds for each price.

Run it with ``python benchmarks/deferral.py [SPEC ...]``. The loss is the bandwidth factor over (N-1)/N, less one. Code
is compiled before; "as many prices" is the CPU time in that of the SPFF price from all nodes in the same run.
"""

from __future__ import annotations

import itertools
import math
import sys
import time
from dataclasses import replace
from fractions import Fraction

from topodesign import build
from topodesign.base import compiled
from topodesign.base.cost import Cost
from topodesign.pricing.closed_form import price
from topodesign.pricing.split_deferral import price_deferred
from topodesign.topology.topology import Topology

SPECS = (
    "randomregular(60,3,1)",
    "randomregular(200,3,1)",
    "randomregular(1000,4,2)",
    "randomregular(2000,3,3)",
    "randomregular(929,8,3)",
    "randomregular(300,16,3)",
    "genkautz(4,1500)",
    "lift(successors(3,0,1,1,0,0,1),dicyclic(20),1,5,9,40,33,20)",
    "torus(10,10)",
    "torus(40,40)",
    "torus(128,128)",
    "hypercube(14)",
)
WITHOUT = ("lift(successors(3,0,1,1,0,0,1),dicyclic(20),1,5,9,40,33,20)", "torus(10,10)", "torus(40,40)")
GROWTH = (500, 1000, 2000, 4000)


def loss(topology: Topology, cost: Cost) -> float:
    return float(cost.bandwidth / Fraction(topology.nodes - 1, topology.nodes) - 1)


def row(topology: Topology) -> tuple[Cost, Cost, float, float]:
    """SPFF's price and the deferred one, and CPU seconds for each."""
    start = time.process_time()
    spff = price(topology, all_sources=True)
    middle = time.process_time()
    return spff, price_deferred(topology), middle - start, time.process_time() - middle


def main() -> None:
    compiled.PATIENCE = 0.0
    row(build("genkautz(2,9)"))
    row(build("torus(3,3)"))
    print(f"{'':62}    N steps  SPFF %  deferred %  CPU s  as many prices")
    for spec in sys.argv[1:] or SPECS:
        topology = build(spec)
        spff, deferred, first, second = row(topology)
        losses = f"{100 * loss(topology, spff):8.2f}{100 * loss(topology, deferred):12.2f}"
        print(f"{spec:62}{topology.nodes:5}{spff.steps:6}{losses}{second:7.2f}{second / first:16.1f}", flush=True)
    for spec in WITHOUT if not sys.argv[1:] else ():
        topology = build(spec)
        runs = [row(one) for one in (topology, replace(topology, symmetry=None))]
        few, whole = (100 * loss(topology, run[1]) for run in runs)
        faster = f"{runs[1][3] / runs[0][3]:.1f} times as fast"
        print(f"{spec}: by symmetry {few:.2f} % and {faster}, without {whole:.2f} %")
    if not sys.argv[1:]:
        times = [row(build(f"randomregular({nodes},4,2)"))[3] for nodes in GROWTH]
        exponents = [f"{math.log2(b / a):.2f}" for a, b in itertools.pairwise(times)]
        print(f"randomregular(N,4,2), N = {GROWTH}: {times[-1]:.2f} CPU s at last, exponents {', '.join(exponents)}")


if __name__ == "__main__":
    main()
