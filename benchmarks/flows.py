"""Measure all-to-all on fabrics: tables 6.6 to 6.8 of the dissertation, and larger fabrics, with plans.

Run it with ``python benchmarks/flows.py [PATTERN]``, where only fabrics with the pattern are measured. Times are CPU
seconds of one process. The tables are of *Algorithmic Techniques for Optimal Collective Communication*, section 6.1,
for 1 GB per pair; what is printed there stands beside what is found.
"""

from __future__ import annotations

import sys
import time

from topodesign.collectives import ALL_TO_ALL
from topodesign.fabrics.node_values import as_costs
from topodesign.fabrics.places import as_fabric
from topodesign.optima.flows import FlowSolution, solve_flow
from topodesign.optima.question import Question
from topodesign.plans.verify.plans import verify
from topodesign.schedulers.scheduling import schedule

BOXES = (1, 2, 4, 8, 16, 32)
TABLES = {
    "6.6": ("dgx_a100_rails", ["NVLink=1", "InfiniBand=2"], (0.854, 1.04, 4.36, 21.6, 106, 633)),
    "6.7": ("dgx_a100_pcie", ["PCIe=1", "InfiniBand=1"], (0.198, 0.902, 4.58, 15.4, 97.1, 467)),
    "6.8": ("dgx_a100_links", ["NVLink=1", "PCIe=1", "InfiniBand=1"], (1.02, 2.84, 15.1, 75.1, 330, 1550)),
}
PRINTED = {
    "6.6": "0.0233 112  0.32 960    0.96 4864  2.24 21500  4.80 90110  9.92 368600",
    "6.7": "0.375 112   0.75 736    1.5 3520   3.0 15230   6.0 63230   12.0 257500",
    "6.8": "0.021 112   0.32 764.2  0.96 3689  2.24 16020  4.8 66610   9.92 271500",
}
FABRICS = ("dgx_a100(32)", "dgx_h100(64)", "dgx_h100(128)", "mi250(16)", "fat_tree(16,16,8,2)", "tpu_torus(8,8,8)")
PLANS = ("dgx_a100(8)", "dgx_h100(8)", "mi250(4)", "fat_tree(8,8,4,2)", "dgx_a100_links(8)")


def flow(spec: str, costs: list[str]) -> tuple[FlowSolution, float]:
    start = time.process_time()
    fabric = as_fabric(spec)
    found = solve_flow(Question(fabric, ALL_TO_ALL, costs=as_costs(fabric, costs)))
    return found, time.process_time() - start


def main() -> None:
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    for table, (preset, costs, published) in TABLES.items():
        if wanted not in preset:
            continue
        printed, total = PRINTED[table].split(), 0.0
        print(f"table {table}: {preset}, costs {', '.join(costs)}")
        print(f"{'GPUs':>8}{'s/GB':>10}{'printed':>10}{'cost':>12}{'printed':>10}{'CPU s':>9}{'printed':>9}")
        for row, boxes in enumerate(BOXES):
            there = costs if boxes > 1 else [cost for cost in costs if not cost.startswith("InfiniBand")]
            found, seconds = flow(f"{preset}({boxes})", there)
            total += seconds
            latency, cost = float(found.inverse_rate * 10**9), float(found.cost or 0)
            line = f"{8 * boxes:>8}{latency:>10.6g}{printed[2 * row]:>10}{cost:>12.8g}{printed[2 * row + 1]:>10}"
            print(f"{line}{seconds:>9.2f}{published[row]:>9g}")
        print(f"{'all':>8}{'':42}{total:>9.2f}{sum(published):>9g}")
    for spec in FABRICS:
        if wanted in spec:
            found, seconds = flow(spec, [])
            rate = float(found.bandwidth / 10**9)
            print(f"{spec:24}{len(found.fabric.compute):>6} nodes {rate:9.3f} GB/s{seconds:>8.2f} CPU s")
    for spec in PLANS:
        if wanted in spec:
            start = time.process_time()
            plan = schedule(spec, "all-to-all")
            middle = time.process_time()
            report = verify(plan)
            share = report.figures["algorithmic_bandwidth"] / flow(spec, [])[0].bandwidth
            times = f"made {middle - start:.2f}, verified {time.process_time() - middle:.2f}"
            print(f"{spec:24}{report.heading()}, {share} of the optimum; {times}")


if __name__ == "__main__":
    main()
