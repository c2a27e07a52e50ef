"""Tables 6.2 to 6.20 of Algorithmic Techniques for Optimal Collective Communication, computed again with exact proofs.

``python benchmarks/fluid.py [largest number of GPUs]`` prints for each table the latency per GB, the objective, and
the processor seconds beside the seconds that the dissertation tells. Printed entries that are slips are marked: the
latency of table 6.4 at 8 GPUs, and objectives of table 6.5 from 32 GPUs on, which are below the proven least. Tables
6.9 to 6.11 are those of ForestColl, for which memory is a switch that only forwards: trees are packed and verified in
the time told, and the objective is the least cost of any that are as fast. There, slips are of table 6.10 the latency
at 8 GPUs, that at 256, which is less than 255 GB take into a GPU at 32 GB/s, and the objective at 32; and of table 6.9
the objective at 16, which has less traffic between boxes than that latency needs. Tables 6.12 to 6.20 are those of
TE-CCL, whose chunks stay whole: beside them are plans of as many chunks, verified, of ``--method tacos``.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from fractions import Fraction

from topodesign import build_fabric, schedule, verify
from topodesign.base.errors import TooLargeError
from topodesign.fabrics.fabric import Fabric
from topodesign.optima.optimum import solve
from topodesign.optima.question import make_question
from topodesign.optima.solution import Solution

RAILS = {"NVLink": 1, "InfiniBand": 2}
PCIE = {"PCIe": 1, "InfiniBand": 1}
ALL = {"NVLink": 1, **PCIE}

# Fabric, collective, costs, and the seconds, latency and objective that are printed, from 8 GPUs on.
TABLES: dict[str, tuple[str, str, dict[str, int], list[tuple[str, str, str]]]] = {
    "6.3 allgather, only NVLink": ("dgx_a100_rails", "allgather", RAILS, [
        ("0.247", "0.0233", "112"), ("19.3", "0.0462", "516.9"), ("42.8", "0.12", "2176"), ("254", "0.28", "8960"),
        ("865", "0.60", "36350"), ("5360", "1.24", "146400"),
    ]),
    "6.4 allgather, no NVLink": ("dgx_a100_pcie", "allgather", PCIE, [
        ("0.257", "0.0219 (slip)", "92"), ("3.9", "0.469", "424"), ("22", "0.969", "1808"), ("360", "1.97", "7456"),
        ("4200", "3.97", "30270"), ("-", "-", "-"),
    ]),
    "6.5 allgather, all links": ("dgx_a100_links", "allgather", ALL, [
        ("2.95", "0.0211", "109.7"), ("27.7", "0.0452", "504.9"), ("82.1", "0.12", "2092 (slip)"),
        ("634", "0.28", "8600 (slip)"), ("9870", "0.60", "33640 (slip)"), ("-", "-", "-"),
    ]),
    "6.6 all-to-all, only NVLink": ("dgx_a100_rails", "all-to-all", RAILS, [
        ("0.854", "0.0233", "112"), ("1.04", "0.32", "960"), ("4.36", "0.96", "4864"), ("21.6", "2.24", "21500"),
        ("106", "4.80", "90110"), ("633", "9.92", "368600"),
    ]),
    "6.7 all-to-all, no NVLink": ("dgx_a100_pcie", "all-to-all", PCIE, [
        ("0.198", "0.375", "112"), ("0.902", "0.75", "736"), ("4.58", "1.5", "3520"), ("15.4", "3.0", "15230"),
        ("97.1", "6.0", "63230"), ("467", "12.0", "257500"),
    ]),
    "6.8 all-to-all, all links": ("dgx_a100_links", "all-to-all", ALL, [
        ("1.02", "0.021", "112"), ("2.84", "0.32", "764.2"), ("15.1", "0.96", "3689"), ("75.1", "2.24", "16020"),
        ("330", "4.8", "66610"), ("1550", "9.92", "271500"),
    ]),
}  # fmt: skip
FORESTS: dict[str, tuple[str, dict[str, int], list[tuple[str, str, str]]]] = {
    "6.9 only NVLink": ("dgx_a100_rails", RAILS, [
        ("0.294", "0.0233", "112"), ("0.965", "0.0462", "512 (slip)"), ("2.10", "0.12", "2176"),
        ("7.90", "0.28", "8960"), ("39.2", "0.60", "36350"), ("315", "1.24", "146400"),
    ]),
    "6.10 no NVLink": ("dgx_a100_pcie", PCIE, [
        ("0.189", "0.0219 (slip)", "112"), ("0.670", "0.469", "512"), ("1.69", "0.969", "2177 (slip)"),
        ("4.17", "1.97", "8960"), ("19.4", "3.97", "36350"), ("135", "7.87 (slip)", "146400"),
    ]),
    "6.11 all links": ("dgx_a100_links", ALL, [
        ("0.308", "0.0211", "112"), ("1.31", "0.0452", "512"), ("2.20", "0.12", "2176"), ("10.2", "0.28", "8960"),
        ("55.2", "0.60", "36350"), ("419", "1.24", "146400"),
    ]),
}  # fmt: skip
# Fabric, collective, chunks, and the latency and seconds that are printed, from 8 GPUs on; nothing from there on.
CHUNKS: dict[str, tuple[str, str, int, list[tuple[str, str]]]] = {
    "6.12": ("dgx_a100_rails", "allgather", 1, [("0.0313", "3.15"), ("0.24", "22.74")]),
    "6.13": ("dgx_a100_pcie", "allgather", 1, [("0.313", "17.9")]),
    "6.14": ("dgx_a100_links", "allgather", 1, [("0.0313", "4.89"), ("0.24", "32.76")]),
    "6.15": ("dgx_a100_rails", "allgather", 2, [("0.0313", "6.23"), ("0.16", "91.1")]),
    "6.16": ("dgx_a100_pcie", "allgather", 2, [("0.313", "83.9")]),
    "6.17": ("dgx_a100_links", "allgather", 2, [("0.0313", "9.16"), ("0.16", "107.7")]),
    "6.18": ("dgx_a100_rails", "all-to-all", 1, [("0.0625", "20.0"), ("0.44", "302"), ("1.08", "3170")]),
    "6.19": ("dgx_a100_pcie", "all-to-all", 1, [("0.469", "30.1"), ("0.880", "470")]),
    "6.20": ("dgx_a100_links", "all-to-all", 1, [("0.0625", "55.9"), ("0.52", "810"), ("1.16", "8760")]),
}  # fmt: skip
TREES = ("dgx_a100(2)", "dgx_a100(4)", "dgx_a100(8)", "dgx_a100(16)", "dgx_a100(64)", "dgx_h100(32)", "torus(16,16)")


def solved(spec: str, collective: str, costs: dict[str, int], *, mirrored: bool = True) -> tuple[Solution, float]:
    """Return the optimum, and the processor seconds that it took, without those of drawing the fabric."""
    return least(build_fabric(spec), collective, costs, mirrored=mirrored)


def least(fabric: Fabric, collective: str, costs: dict[str, int], *, mirrored: bool = True) -> tuple[Solution, float]:
    """Return the optimum of a fabric, and the processor seconds that it took."""
    start = time.process_time()
    there = {kind: Fraction(cost) for kind, cost in costs.items() if kind in fabric.classes}
    best = solve(make_question(fabric, collective, costs=there), "fluid", mirrored=mirrored)
    return best, time.process_time() - start


def whole_chunks(largest: int) -> None:
    """Print plans of whole chunks beside those of TE-CCL."""
    print("\ntables 6.12 to 6.20, whole chunks\ntable  GPUs  latency (s/GB)  verified  CPU s   printed: latency, s")
    for title, (name, collective, chunks, rows) in CHUNKS.items():
        for boxes in (1 << power for power in range(6) if 8 << power <= largest):
            start = time.process_time()
            size = 8 * boxes * 10**9
            try:
                plan = schedule(f"{name}({boxes})", collective, method="tacos", chunks=chunks, alpha=0, size=size)
            except TooLargeError:
                print(f"{title:5}  {8 * boxes:4d}  too large")
                break
            took = time.process_time() - start
            there = ", ".join(rows[boxes.bit_length() - 1]) if boxes.bit_length() <= len(rows) else "-"
            sound = "yes" if verify(plan).ok else "NO"
            print(f"{title:5}  {8 * boxes:4d}  {float(plan.claim['time']):<14.5g}  {sound:8}  {took:5.2f}   {there}")


def main(largest: int) -> None:
    """Print all tables."""
    whole_chunks(largest)
    for title, (name, collective, costs, rows) in TABLES.items():
        print(f"\ntable {title}\nGPUs  latency (s/GB)  objective        proven  CPU s   printed: latency, objective, s")
        for power, (seconds, latency, objective) in enumerate(rows):
            if 8 << power > largest:
                break
            best, took = solved(f"{name}({1 << power})", collective, costs)
            print(
                f"{8 << power:4d}  {float(best.inverse_rate * 10**9):<14.8g}  {float(best.cost or 0):<15.9g}  "
                f"{'yes' if best.proven else 'NO':6s}  {took:5.2f}   {latency}, {objective}, {seconds}"
            )
    for title, (name, costs, rows) in FORESTS.items():
        print(f"\ntable {title}, allgather by trees")
        print("GPUs  latency (s/GB)  objective        verified  CPU s   printed: latency, objective, s")
        for power, (seconds, latency, objective) in enumerate(rows):
            if 8 << power > largest:
                break
            drawn = build_fabric(f"{name}({1 << power})")
            fabric = replace(drawn, multicast=frozenset(), aggregation=frozenset(), memory=frozenset())
            start = time.process_time()
            plan = schedule(fabric, "allgather", method="forest")
            sound = verify(plan).ok
            took = time.process_time() - start
            inverse = (8 << power) / plan.claim["algorithmic_bandwidth"] * 10**9
            best, _ = least(fabric, "allgather", costs)
            proven = best.proven and best.inverse_rate * 10**9 == inverse
            print(
                f"{8 << power:4d}  {float(inverse):<14.8g}  {float(best.cost or 0):<15.9g}  "
                f"{'yes' if sound and proven else 'NO':8s}  {took:5.2f}   {latency}, {objective}, {seconds}"
            )
    print("\ntable 6.2: CPU s, standard and mirrored, allgather, all links   printed: standard, mirrored")
    for power, told in enumerate(("60.5, 2.95", "2610, 27.6", "34700, 82.2")):
        if 8 << power <= largest:
            times = [
                solved(f"dgx_a100_links({1 << power})", "allgather", ALL, mirrored=way)[1] for way in (False, True)
            ]
            print(f"{8 << power:4d}  {times[0]:8.2f}  {times[1]:8.2f}   {told}")
    print("\nplans of trees: GB/s, trees, height, CPU s")
    for spec in TREES:
        start = time.process_time()
        plan = schedule(spec, "allgather", method="fluid")
        took = time.process_time() - start
        rate = float(plan.claim["algorithmic_bandwidth"] / 10**9)
        print(
            f"{spec:14s}  {rate:.3f}  {len(plan.to_records())}  {plan.claim['height']}  {took:.2f}  {verify(plan).ok}"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 256)
